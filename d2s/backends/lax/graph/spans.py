"""Between which numbers an integer of the graph that is being built lies, as far as that is known.

    for i in range(len(x) - 2):         `i` is the position of a loop, and lies in 0 .. len(x) - 3
        y = y + x[i : i + 3]            so the slice is inside of `x`, and needs no check

A position is known to whoever runs the loop (`scopes.at_position`), and so is what a loop carries,
as far as it is proven when the loop is done. What is computed from them is found by going back
through the graph as far as it is there, with the rules of `jaxprs.ranges`.
"""

from __future__ import annotations

import weakref
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.graph import scopes
from d2s.backends.lax.jaxprs.ranges.rules import Span, full
from d2s.backends.lax.jaxprs.ranges.walk import GraphWalk
from d2s.backends.lax.private import aval_of, constant_of, finished, maker_of

#: how many operations one behind the other are looked at
_DEEP = 24
#: so many ranges are remembered
_MANY = 10_000
#: for an equation, by its identity: a reference to it, and the ranges of its results
_known: dict[int, tuple[Any, list[Span | None]]] = {}


def span_of(value: Any, deep: int = _DEEP) -> Span | None:
    """The least and the largest number that an integer may be; None for what is no integer."""
    if not isinstance(value, jax.core.Tracer):
        is_held = isinstance(value, bool | int | np.generic | np.ndarray | jax.Array)
        return GraphWalk().constant(value).span if is_held and _fits(value) else None
    whole = full(aval_of(value))
    if whole is None:
        return None
    span = _made(value, deep) or whole
    for known in scopes.spans_of(value):
        span = max(span[0], known[0]), min(span[1], known[1])
    return span


def _fits(value: Any) -> bool:
    return not isinstance(value, int) or -(2**63) <= value < 2**63


def _made(value: Any, deep: int) -> Span | None:
    """The range of what an operation of the graph has made; None where nothing is known."""
    equation = maker_of(value)
    if equation is None:
        held = constant_of(value)
        return None if held is None else span_of(held, deep)
    number = next((n for n, v in enumerate(equation.outvars) if v is value.val), None)
    if number is None or not deep:
        return None
    known = _known.get(id(equation))
    if known is None or known[0]() is not equation:
        walk = GraphWalk()
        given = [walk.input(aval_of(v), span_of(v, deep - 1)) for v in equation.invars]
        spans = [result.span for result in walk.apply(finished(equation), given)]
        if deep < _DEEP // 2:
            return spans[number]  # another question may see further
        if len(_known) > _MANY:
            _known.clear()
        known = _known[id(equation)] = weakref.ref(equation), spans
    return known[1][number]


def is_of_positions(value: Any, deep: int = _DEEP) -> bool:
    """Whether Python would know an integer if the loops around were unrolled."""
    if not isinstance(value, jax.core.Tracer) or scopes.position_span(value) is not None:
        return True
    equation = maker_of(value)
    if equation is None:
        held = constant_of(value)
        return held is not None and is_of_positions(held, deep)
    return deep > 0 and all(is_of_positions(v, deep - 1) for v in equation.invars)
