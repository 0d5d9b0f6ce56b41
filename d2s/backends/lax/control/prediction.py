"""Prediction: whether the test of a loop will be a run-time value, before a trip of it has run.

    n = 0
    while n < 9:            The test is known before the first trip. A trial of one trip on abstract
        n = n + int(x)      values finds that `n` is a run-time value after it, so the test will be
                            one, too: the loop is staged from its first trip on.

The trial is undone. It is repeated while more of the state becomes run-time values.
"""

from __future__ import annotations

import dis
from collections.abc import Callable
from typing import Any

from d2s.backends.lax.control.carried_spans import guess
from d2s.backends.lax.control.memory import Memory
from d2s.backends.lax.control.rolling import FEW
from d2s.backends.lax.control.trips import Hole, State, given
from d2s.backends.lax.control.unrolled import as_tuple
from d2s.backends.lax.failures.whose import is_internal
from d2s.backends.lax.forms.dtypes import NUMBERS, type_of
from d2s.backends.lax.forms.join import Difference
from d2s.backends.lax.forms.trees import Box, Filler, Out, children, leaves, map_leaves
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.regions.regions import Region, is_traced
from d2s.backends.lax.regions.trace import trace
from d2s.backends.lax.trace.boxes import boxed
from d2s.backends.lax.trace.snapshot import Snapshot

Body = Callable[..., Any]


def reaches_traced(watch: Snapshot) -> bool:
    return any(is_traced(value) for value in watch.reached())


def becomes_traced(test: Body, body: Body, state: State, watch: Snapshot, known: Memory) -> bool:
    """Whether the test is, or will be, a run-time value: tried once for all loops like this one."""
    if known.becomes_traced is None:
        known.becomes_traced = _try(test, body, state, watch, known)
    return known.becomes_traced


def _try(test: Body, body: Body, state: State, watch: Snapshot, known: Memory) -> bool:
    """Trips on abstract values, undone, until no more of the state becomes a run-time value.

        plan  = the state, with a hole for each leaf that is a run-time value
        trial = (whether the test holds, the state after a trip), of the holes' types

    Where the test stays a Python value, the last trial also says whether the loop is a short one.
    """
    plan = [boxed(value) for value in state]
    for _ in range(len(leaves(plan)) + 2):
        plan, holes = _with_holes(plan)

        def run(*inputs: Any, plan: list[Any] = plan, holes: list[Hole] = holes) -> Any:
            values = given(plan, holes, inputs)
            go = test(*values)
            go = go if is_traced(go) else bool(go)
            if go is not True:
                return go, tuple(values)
            return go, as_tuple(body(*values), len(values))

        try:
            with scopes.trial():
                region = trace(run, [h.type for h in holes], watch, spans=list(map(guess, holes)))
        except Exception as error:
            if is_internal(error):
                # the loop of Python raises it with a better message, if it comes to that at all
                return False
            raise
        if isinstance(region.value, Filler):
            return False
        go, after = region.value
        if isinstance(go, Out):
            return True
        if not go:
            return False
        if region.code is not None and (
            _is_constant(test) or (not region.slots and _is_same(plan, list(after)))
        ):
            return True  # only a failure at run time ends it
        try:
            grown = _tracedness(plan, list(after))
        except Difference:
            return False
        if grown is None:
            known.is_short = _is_short(test, plan, holes, region, watch)
            return False
        plan = grown
    return False


def _with_holes(plan: list[Any]) -> tuple[list[Any], list[Hole]]:
    """The plan with a hole for each run-time value, and all its holes in order."""
    holes: list[Hole] = []

    def hole(leaf: Any) -> Any:
        if isinstance(leaf, Hole):
            holes.append(leaf)
        elif is_traced(leaf):
            leaf = Hole(leaf, type_of(leaf))
            holes.append(leaf)
        return leaf

    return map_leaves(hole, plan), holes


def _is_short(
    test: Body, plan: list[Any], holes: list[Hole], region: Region, watch: Snapshot
) -> bool:
    """Whether the test ends the loop soon if each trip changes numbers as the first one did.

    It is a guess: a loop that goes on in spite of it is looked at again.
    """
    _, after = region.value
    written = [(slot, slot.get(), then) for slot, then in region.slots.values()]

    def run(*inputs: Any) -> bool:
        values = given(plan, holes, inputs)
        for trips in range(1, FEW + 1):
            for slot, now, then in written:
                slot.set(_stepped(now, then, trips))
            go = test(*map(_stepped, values, after, [trips] * len(values)))
            if is_traced(go):
                return False
            if not go:
                return True
        return False

    if not any(type(now) is int for now in (*plan, *(now for _, now, _ in written))):
        return False
    try:
        with scopes.trial():
            spans = list(map(guess, holes))
            return trace(run, [h.type for h in holes], watch, spans=spans).value is True
    except Exception as error:
        if is_internal(error):
            return False
        raise


def _stepped(now: Any, then: Any, trips: int) -> Any:
    """A number after some trips that change it as the first one did; others as they are."""
    is_number = type(now) is int and type(then) is int
    return now + trips * (then - now) if is_number else now


def _is_constant(test: Body) -> bool:
    """Whether the test reads nothing, as that of ``while True``.

    What a function reads is in its bytecode alone. The converter knows it as well, but the test
    that it writes is a function like any other, and so may be one of a text that d2s wrote before.
    """
    loads = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_CLOSURE")
    return not any(i.opname.startswith(loads) for i in dis.get_instructions(test.__code__))


def _is_same(now: Any, later: Any) -> bool:
    """Whether a trip leaves the state as it was, but for run-time values."""
    if isinstance(now, Hole) or isinstance(later, Out):
        return isinstance(now, Hole)
    one, other = children(now), children(later)
    if one is None or other is None:
        return now is later or (type(now) in NUMBERS and type(now) is type(later) and now == later)
    return len(one[0]) == len(other[0]) and all(
        _is_same(a, b) for (_, a), (_, b) in zip(one[0], other[0], strict=True)
    )


def _tracedness(plan: list[Any], after: list[Any]) -> list[Any] | None:
    """The plan with a hole for each leaf that a trip made a run-time value; None for none."""
    grown = [_grown(now, later) for now, later in zip(plan, after, strict=True)]
    return None if all(a is b for a, b in zip(grown, plan, strict=True)) else grown


def _grown(now: Any, later: Any) -> Any:
    if isinstance(later, Out):
        return now if isinstance(now, Hole | Box) else Hole(now, later.type)
    one, other = children(now), children(later)
    if one is None or other is None or len(one[0]) != len(other[0]):
        return now
    parts = [_grown(a, b) for (_, a), (_, b) in zip(one[0], other[0], strict=True)]
    same = all(a is b for a, (_, b) in zip(parts, one[0], strict=True))
    return now if same else one[1](parts)
