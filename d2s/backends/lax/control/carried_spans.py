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

from collections.abc import Iterable
from typing import Any

from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.control.trips import Hole
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Out
from d2s.backends.lax.graph.spans import span_of
from d2s.backends.lax.jaxprs.ranges import induction, wraps
from d2s.backends.lax.jaxprs.ranges.induction import TRIPS
from d2s.backends.lax.jaxprs.ranges.rules import Span, full, hull, inside
from d2s.backends.lax.jaxprs.ranges.values import Value
from d2s.backends.lax.jaxprs.ranges.walk import GraphWalk
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


class _Trip:
    """A trip of a loop, to be walked through: what is carried after it, by what it was before."""

    def __init__(
        self, region: Region, holes: list[Hole], carried: list[Joined], extra: list[Span | None]
    ) -> None:
        self.walk, self._graph, self._holes = GraphWalk(), region.jaxpr.jaxpr, holes
        self._carried = {id(joined.sides[0]): joined for joined in carried}
        invars = self._graph.invars
        first = len(invars) - len(holes)
        self._consts = self._inputs(self._graph.constvars, map(span_of, region.jaxpr.consts))
        self._extra = self._inputs(invars[:first], extra)
        self.kinds = [v.aval for v in invars[first:]]
        self.inits = self._inputs(invars[first:], map(_begin, holes))

    def _inputs(self, variables: list[Any], spans: Iterable[Span | None]) -> list[Value]:
        return [self.walk.input(v.aval, s) for v, s in zip(variables, spans, strict=True)]

    def __call__(self, heads: list[Value]) -> list[Value]:
        outs = self.walk.run(self._graph, [*self._extra, *heads], self._consts)
        pairs = zip(self._holes, heads, strict=True)
        return [self._after(self._carried.get(id(hole)), head, outs) for hole, head in pairs]

    def _after(self, joined: Joined | None, head: Value, outs: list[Value]) -> Value:
        """What a leaf is after a trip."""
        if joined is None or isinstance(joined.sides[1], Filler):
            return head
        after, whole = joined.sides[1], full(joined.type)
        if not isinstance(after, Out):
            span = span_of(after)
            if type(after) in (int, bool) and inside(span, whole):
                return self.walk.constant(after)
        elif after.type.dtype == joined.type.dtype:
            same: Value = outs[after.index]
            return same
        else:
            span = outs[after.index].span
        return self.walk.value(span if inside(span, whole) else whole)


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
        trip = _Trip(region, holes, carried, extra)
        found = induction.follow(trip.walk, trip.kinds, trip.inits, trip, trips, is_sure=False)
        #: the range of each hole at the head of a trip
        self.heads = [head.span for head in found.heads]
        #: the same, or after the last trip
        ends = zip(found.heads, found.after, strict=True)
        self.asked = [hull(head.span, last.span) for head, last in ends]
        #: the Python integers that may leave 32 bits, those of graphs inside included
        self.wrapping = wraps.wrapping(trip.walk)


def most_trips(plan: Plan, tested: Region) -> int | None:
    """A number of trips that the loop surely does not exceed; None if no counter gives one."""
    if not isinstance(tested.value, Out):
        return None
    extra: list[Span | None] = [None] * (len(plan.region.jaxpr.jaxpr.invars) - len(plan.holes))
    trip = _Trip(plan.region, plan.holes, plan.carried, extra)
    number: int = tested.value.index

    def goes_on(heads: list[Value]) -> Value:
        return trip.walk.run(tested.jaxpr.jaxpr, heads)[number]

    return induction.most_trips(trip.walk, trip.kinds, trip.inits, trip, goes_on)
