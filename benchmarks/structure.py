"""What a graph is made of: its primitives, what its loops carry, how many equations it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params

#: what has no work of its own: one side may have it where the other has none
_WRAPPERS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "copy")


@dataclass(frozen=True)
class Structure:
    """Equations by primitive; sizes of what loops carry, in numbers, the largest first."""

    equations: Counter[str]
    carries: list[int]

    @property
    def count(self) -> int:
        return sum(self.equations.values())


def structure(graph: Any) -> Structure:
    """Of a jaxpr; a loop of our own counts as the one of `lax` that it becomes."""
    equations: Counter[str] = Counter()
    carries = []
    for equation in every(graph.jaxpr):
        name = equation.primitive.name.removeprefix("bounded_")
        if name not in _WRAPPERS:
            equations[name] += 1
        if name in ("while", "scan"):
            carries.append(sum(out.aval.size for out in equation.outvars))
    return Structure(equations, sorted(carries, reverse=True))


def every(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from every(getattr(inner, "jaxpr", inner))


def of(function: Any, *args: Any) -> Structure:
    return structure(jax.make_jaxpr(function)(*args))
