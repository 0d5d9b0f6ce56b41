"""Lists of operands chosen by flags, and graphs with their inputs in another order."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr
from jax.interpreters.partial_eval import dce_jaxpr

Flags = list[bool]


def either(one: Flags, other: Flags) -> Flags:
    """Flags that are on in one list or the other."""
    return list(map(operator.or_, one, other))


def chosen(flags: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    """The values whose flag is on."""
    return [value for flag, value in zip(flags, values, strict=True) if flag]


def others(flags: Sequence[bool], values: Sequence[Any]) -> list[Any]:
    """The values whose flag is off."""
    return [value for flag, value in zip(flags, values, strict=True) if not flag]


def merged(flags: Sequence[bool], ones: Sequence[Any], rest: Sequence[Any]) -> list[Any]:
    """One list of two: `ones` where the flag is on, `rest` where it is off."""
    one, other = iter(ones), iter(rest)
    return [next(one if flag else other) for flag in flags]


def laid_out(closed: Any, invars: Sequence[Any], outvars: Sequence[Any]) -> Any:
    """A graph with its inputs and outputs in another order, some perhaps left out.

    Equations that no output needs are dropped: they may read inputs that were left out.
    """
    jaxpr = closed.jaxpr
    unknown = jaxpr.debug_info.with_unknown_names()
    made = jaxpr.replace(invars=list(invars), outvars=list(outvars), debug_info=unknown)
    smaller, _ = dce_jaxpr(made, [True] * len(made.outvars), True)
    return ClosedJaxpr(smaller, closed.consts)
