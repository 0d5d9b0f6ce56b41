"""Rolling: a loop with a known number of trips as one `lax.scan`, where that changes nothing.

    for i in range(100):        =>      lax.scan over the positions 0 .. 99, with the graph of one
        x = x + i * w                   trip in which `i` is an integer of the graph

The body is traced with a run-time index. It stays Python's loop, unrolled, when the body needs the
index as a Python value, when it carries Python numbers that would no longer be exact, when
something could happen on the host, and when a second look at the body gives another graph.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jax.extend.core import Literal

from d2s.backends.lax.control.carry import LoopTraits, settle
from d2s.backends.lax.control.memory import Memory
from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.control.trips import Hole, State
from d2s.backends.lax.failures.whose import is_internal
from d2s.backends.lax.forms.dtypes import NUMBERS, Type
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Out, leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.jaxprs.ranges import wraps
from d2s.backends.lax.jaxprs.ranges.rolled import NotRolled, refuse_other_results
from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.jaxprs.ranges.values import Value
from d2s.backends.lax.jaxprs.ranges.walk import GraphWalk
from d2s.backends.lax.regions.regions import Region, failures, is_traced
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.boxes import build
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError
from d2s.options.loop_options import Loops

logger = logging.getLogger("d2s")

#: loops of so many trips are unrolled: a graph of one body is not worth the search for it
FEW = 8
#: a loop at one site that was refused so often, in trips of a loop around it, is not tried again
OFTEN = 2
#: the most trips for which the test of a `while` is asked to find out how many there are
MOST = 1_000_000

Step = Callable[..., State]


class _Refusals(threading.local):
    """Bodies that were refused while a loop around them is being looked at."""

    def __init__(self) -> None:
        self.depth = 0
        self.reasons: dict[Any, str] = {}


_refusals = _Refusals()


@dataclass
class Rolled:
    """A loop that can be rolled: its plan, its trips, and the Python numbers that come out."""

    plan: Plan
    length: int
    numbers: dict[int, Any]


#: a number after so many trips, one at least
After = Callable[[int], Any]


def attempt(
    how: Loops,
    body: Callable[..., Any],
    look: Callable[[], Rolled],
    length: int | None,
    known: Memory,
) -> Rolled | None:
    """The rolled loop, or None when it stays Python's; an error if it must be rolled."""
    if how == "unroll" or (how == "auto" and length is not None and length <= FEW):
        return None
    refused_here = _refused_here(length)
    if known.refusal is None:
        known.refusal = _refusals.reasons.get(body.__code__)
    if known.refusal is None and len(refused_here) >= OFTEN:
        known.refusal = refused_here[-1]
    reason = known.refusal
    if reason is None:
        _refusals.depth += 1
        rolled: Rolled | None = None
        try:
            with scopes.without_choices(unless=lambda: rolled is not None):
                rolled = look()
            return rolled
        except NotRolled as refused:
            reason = refused.what
        except Exception as error:
            if not is_internal(error):
                raise
            reason = str(error).splitlines()[0]
        finally:
            _refusals.depth -= 1
            if not _refusals.depth:
                _refusals.reasons = {}
        known.refusal = reason
        refused_here.append(reason)
        if _refusals.depth:
            _refusals.reasons[body.__code__] = reason
    site = sites.where()
    if how == "roll":
        raise StagingError(
            f"this loop cannot be rolled: {reason}",
            code="D2S044",
            site=site,
            fix='d2s.unroll(...) around what it runs over, or loops="auto"',
        )
    logger.info("%s:%s: unrolled: %s", site.filename, site.line, reason)
    return None


def _refused_here(length: int | None) -> list[str]:
    """Why a loop of so many trips was not rolled before, at this place of the program."""
    store, key = scopes.memories(), (_Refusals, sites.path(), length)
    found: list[str] = [] if store is None else store.setdefault(key, [])
    return found


def look_at(
    step: Step,
    extra: list[Type],
    state: State,
    names: list[str],
    watch: Snapshot,
    length: int | Callable[[Plan, dict[int, After]], int],
) -> Rolled:
    """Trace the body with a run-time index, and prove that it is the same loop."""

    def settled(length: int | None) -> Plan:
        traits = LoopTraits(
            extra,
            numbers=True,
            code_inside=True,
            is_counted=True,
            stacks=True,
            length=length,
            makes_a_trip=length is None or length > 0,
        )
        return settle(step, state, watch, names, traits)

    first = settled(length if isinstance(length, int) else None)
    if first.region.raised:
        raise NotRolled("with a run-time index it fails")
    if first.region.effects:
        raise NotRolled("something happens on the host in it")
    if not isinstance(length, int):
        length = length(first, _Own(first, extra).after())
    plan = settled(length)
    if not _same_graph(first.region, plan.region):
        raise NotRolled("the body does not give the same graph twice")
    _check_failures(plan.region)
    if plan.replaced or plan.aliased:
        raise NotRolled("lists, dicts or objects would come out of it as new ones")
    written = [*(slot.owner for slot in plan.slots), *(owner for owner, _ in plan.appended)]
    if plan.region.code is not None and observers.is_any_observed(written):
        raise NotRolled("a handler could see how far it got")
    plan.refuse_other_reads(plan.region)
    own = _Own(plan, extra)
    numbers = own.after()
    outvars = plan.region.jaxpr.jaxpr.outvars
    for leaf in (leaf for _, tree in plan.appended for leaf in leaves(tree)):
        if isinstance(leaf, Out) and not own.is_run_time(outvars[leaf.index]):
            raise NotRolled("Python numbers are appended to a list in it")
    own.prove(length)
    for equation in plan.region.risky:
        if not any(own.is_run_time(v) for v in equation.invars):
            raise NotRolled("Python integers in it may leave the range of the graph")
    return Rolled(plan, length, {leaf: value(length) for leaf, value in numbers.items()})


def trips_of(
    plan: Plan, tested: Region, test: Callable[..., Any], count: int, numbers: dict[int, After]
) -> int:
    """The number of trips of a `while` whose test reads nothing but Python numbers.

    The numbers after any number of trips are known, so the test is asked for each until it says no.
    """
    if not tested.is_pure or not isinstance(tested.value, Out):
        raise NotRolled("its test does more than to compare numbers")
    known = {id(j.sides[0]) for j in plan.carried if id(j) in numbers}
    changed = {id(j.sides[0]) for j in plan.carried} - known
    if any(id(hole) in changed and tested.reads(n) for n, hole in enumerate(plan.holes)):
        raise NotRolled("its test looks at run-time values")

    read = {id(hole) for n, hole in enumerate(plan.holes) if tested.reads(n)}
    lines = [numbers[id(j)] for j in plan.carried if id(j) in numbers and id(j.sides[0]) in read]
    # From the second trip on every number moves by the same step in each trip. If all of them stand
    # still, the test says the same forever, and two answers are enough.
    most = MOST if any(line(1) != line(2) for line in lines) else 2
    before = [slot.get() for slot in plan.slots]
    try:
        for trips in range(most):
            state = _state_after(plan, trips, numbers)
            for slot, value in zip(plan.slots, state[count:], strict=True):
                slot.set(value)
            go = test(*state[:count])
            if is_traced(go):
                raise NotRolled("its test looks at run-time values")
            if not go:
                return trips
    finally:
        for slot, value in zip(plan.slots, before, strict=True):
            slot.set(value)
    raise NotRolled("its test does not say when it ends")


def _state_after(plan: Plan, trips: int, numbers: dict[int, After]) -> list[Any]:
    """What the test reads: the numbers after so many trips, everything else as before the loop."""

    def value(leaf: Any) -> Any:
        if isinstance(leaf, Joined):
            hole = leaf.sides[0]
            after = numbers.get(id(leaf)) if trips else None
            return after(trips) if after else getattr(hole, "init", hole)
        return leaf.init if isinstance(leaf, Hole) else leaf

    state: list[Any] = build(plan.tree, value, {})
    return state


def _check_failures(region: Region) -> None:
    if region.nested_overflow:
        raise NotRolled("Python integers in it may leave the range of the graph")
    for number in region.numbers:
        failure = failures().all[number - 1][0]
        if not failures().is_overflow(number) and not failure.is_stated:
            raise NotRolled(f"with a run-time index it may fail with {failure.kind.__name__}")


def _same_graph(one: Region, other: Region) -> bool:
    if str(one.unguarded().jaxpr) != str(other.unguarded().jaxpr):
        return False
    pairs = zip(one.jaxpr.consts, other.jaxpr.consts, strict=True)
    return all(
        a is b or (isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.array_equal(a, b))
        for a, b in pairs
    )


def _constant(value: Any, trips: int) -> Any:
    return value


class _Own:
    """What Python would compute by itself in each trip: the index, and numbers made of it."""

    def __init__(self, plan: Plan, extra: list[Type]) -> None:
        self.plan = plan
        self.jaxpr = plan.region.jaxpr.jaxpr
        first = int(plan.with_code)
        self.position = self.jaxpr.invars[first]
        holes = self.jaxpr.invars[first + len(extra) :]
        self.vars = {id(h): v for h, v in zip(plan.holes, holes, strict=True)}
        self.carried = {id(j.sides[0]): j for j in plan.carried}
        self.steps: dict[Any, tuple[int, int]] = {}
        numbers = [h for h in plan.holes if type(h.init) in NUMBERS]
        while True:
            self.numbers, (self.walk, self.known) = numbers, self._walked(numbers)
            kept = [h for h in numbers if self._stays(h)]
            if len(kept) == len(numbers):
                break
            numbers = kept

    def _walked(
        self, numbers: list[Hole], length: int | None = None
    ) -> tuple[GraphWalk, dict[Any, Value]]:
        """The values of a trip; what Python would compute from the index and `numbers` is marked.

        With the number of trips, the ranges are those of the integers of the graph; without, terms
        say what they would be if nothing left its range.
        """
        walk = GraphWalk()
        own = {self.vars[id(hole)]: hole for hole in numbers}
        inputs = []
        for var in self.jaxpr.invars:
            hole = own.get(var)
            is_fixed = hole is not None and id(hole) not in self.carried and type(hole.init) is int
            if hole is not None and is_fixed:
                inputs.append(walk.constant(hole.init))
                continue
            span = None if length is None else self._span(var, length)
            inputs.append(walk.input(var.aval, span, own=hole is not None or var is self.position))
        found = dict(zip(self.jaxpr.invars, inputs, strict=True))
        with walk.guessing() if length is None else nullcontext():
            found |= walk.values(self.jaxpr, inputs)
        return walk, found

    def _span(self, var: Any, length: int) -> Span | None:
        """The least and largest values of an input that Python knows."""
        if var is self.position:
            return 0, length - 1
        if var not in self.steps:
            return None
        first, step = self.steps[var]
        last = first + length * step
        if not -(2**31) <= last < 2**31:
            raise NotRolled("a Python number leaves the range of the graph")
        return min(first, last), max(first, last)

    def prove(self, length: int) -> None:
        """Refuse the loop if the graph could compute something else than Python would."""
        walk, _ = self._walked(self.numbers, length)
        for seen in walk.seen:
            refuse_other_results(seen)
        self.plan.region.relieve(wraps.wrapping(walk))

    def _stays(self, hole: Hole) -> bool:
        """Whether a number of Python's is one after a trip, too."""
        joined = self.carried.get(id(hole))
        if joined is None or not isinstance(joined.sides[1], Out):
            return True
        out = self.jaxpr.outvars[joined.sides[1].index]
        return not self.is_run_time(out)

    def is_run_time(self, var: Any) -> bool:
        return not isinstance(var, Literal) and not (var in self.known and self.known[var].own)

    def after(self) -> dict[int, After]:
        """The Python numbers that come out, by the leaf they belong to."""
        found: dict[int, After] = {}
        for joined in self.plan.carried:
            hole, out = joined.sides
            is_number = any(hole is n for n in self.numbers)
            is_new = isinstance(getattr(hole, "init", hole), Filler)
            if not is_number and not is_new:
                continue
            if not isinstance(out, Out):
                if type(out) in NUMBERS:
                    found[id(joined)] = partial(_constant, out)
                continue
            var = self.jaxpr.outvars[out.index]
            if not self.is_run_time(var):
                found[id(joined)] = self._stepped(joined, var, is_number)
        return found

    def _stepped(self, joined: Joined, var: Any, is_number: bool) -> After:
        """The values of a number that steps, or that the index gives."""
        hole = joined.sides[0]
        start = self.vars[id(hole)] if is_number else None
        line = self._line(var, start)
        inexact = NotRolled("a Python number changes in it, and would no longer be exact")
        if line is None or not np.issubdtype(joined.type.dtype, np.integer):
            raise inexact
        own, steps, offset = line
        if own == 0:
            return lambda trips: steps * (trips - 1) + offset
        if own != 1 or steps != 0 or type(hole.init) is not int:
            raise inexact
        self.steps[start] = hole.init, offset
        return lambda trips: hole.init + trips * offset

    def _line(self, var: Any, start: Any) -> tuple[int, int, int] | None:
        """A number as a * itself + b * index + c."""
        if isinstance(var, Literal):
            return (0, 0, int(var.val)) if np.asarray(var.val).dtype.kind in "iu" else None
        if self.known[var].span is None or var.aval.dtype == np.bool_:
            return None
        parts, offset = self.known[var].term.summed()
        own = 0 if start is None else parts.pop(self.known[start].term, 0)
        steps = parts.pop(self.known[self.position].term, 0)
        return None if parts else (own, steps, offset)
