"""Integers that a loop carries: between which numbers they lie at the head of a trip.

While a trip is traced, that is a guess: a Python integer moves by one in a trip, as counters do.

    n = 0                       `n` lies in -TRIPS .. TRIPS, so ``n + 1`` needs no check
    while x > 0:                a trip moves it by 0 .. 1: the guess was right
        if x > 9: n += 1
        x = f(x)

When the graph of the trip is there, the ranges are proven (`jaxprs.ranges.induction`). Where a
guess was wrong, and something in the trip has relied on it, the trip is traced again with the range
that is proven. Where the proof says more than the guess, checks that the trip has got are dropped.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax.core import ShapedArray

from d2s.backends.lax.control.trips import Hole
from d2s.backends.lax.forms.dtypes import Type
from d2s.backends.lax.forms.trees import Filler, Joined, Out
from d2s.backends.lax.graph.spans import span_of
from d2s.backends.lax.jaxprs.ranges import induction, wraps
from d2s.backends.lax.jaxprs.ranges.induction import TRIPS
from d2s.backends.lax.jaxprs.ranges.rules import Span, full, hull, inside
from d2s.backends.lax.jaxprs.ranges.walk import Value, Walk
from d2s.backends.lax.regions.regions import Region


def guess(hole: Hole) -> Span | None:
    """The range that a hole has while a trip is traced; None for all numbers of its type."""
    whole = full(hole.type)
    if hole.span is not None or whole is None or not hole.type.weak or hole.type.shape:
        return hole.span
    begin = _begin(hole)
    if begin is None:
        return None
    span = begin[0] - TRIPS, begin[1] + TRIPS
    return span if inside(span, whole) else None


def _begin(hole: Hole) -> Span | None:
    return (0, 0) if isinstance(hole.init, Filler) else span_of(hole.init)


class CarriedSpans:
    """What is proven of the integers that a loop carries, from the graph of one trip."""

    def __init__(
        self,
        region: Region,
        holes: list[Hole],
        carried: list[Joined],
        extra: list[Span | None],
        trips: int | None,
    ) -> None:
        walk, graph = Walk(), region.jaxpr.jaxpr
        outer = zip(graph.constvars, map(span_of, region.jaxpr.consts), strict=True)
        consts = [walk.input(v.aval, span) for v, span in outer]
        first = len(graph.invars) - len(holes)
        given = zip(graph.invars[:first], extra, strict=True)
        inputs = [walk.input(v.aval, span) for v, span in given]
        sides = {id(joined.sides[0]): joined for joined in carried}

        def trip(heads: list[Value]) -> list[Value]:
            outs = walk.run(graph, [*inputs, *heads], consts)
            return [
                _after(walk, sides.get(id(hole)), head, outs)
                for hole, head in zip(holes, heads, strict=True)
            ]

        kinds = [v.aval for v in graph.invars[first:]]
        inits = [
            walk.input(kind, _begin(hole)) for hole, kind in zip(holes, kinds, strict=True)
        ]
        found = induction.follow(walk, kinds, inits, trip, trips, is_sure=False)
        #: the range of each hole at the head of a trip
        self.heads = [head.span for head in found.heads]
        #: the same, or after the last trip
        self.asked = [hull(*(v.span for v in both)) for both in zip(found.heads, found.after, strict=True)]
        #: the Python integers that may leave 32 bits, those of graphs inside included
        self.wrapping = wraps.wrapping(walk)


def _after(walk: Walk, joined: Joined | None, head: Value, outs: list[Value]) -> Value:
    """What a leaf is after a trip."""
    after = None if joined is None else joined.sides[1]
    if joined is None or isinstance(after, Filler):
        return head
    value = outs[after.index] if isinstance(after, Out) else walk.input(_aval(joined.type), span_of(after))
    if isinstance(after, Out) and after.type.dtype == joined.type.dtype:
        return value
    whole = full(joined.type)
    return walk.value(value.span if inside(value.span, whole) else whole)


def _aval(kind: Type) -> Any:
    return ShapedArray(kind.shape, jnp.dtype(kind.dtype))
