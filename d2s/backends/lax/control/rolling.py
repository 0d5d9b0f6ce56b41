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
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from jax.extend.core import Literal
from jax.extend.core.primitives import add_p, cond_p, convert_element_type_p, mul_p, sub_p

from d2s.backends.lax.control.carry import LoopTraits, settle
from d2s.backends.lax.control.memory import Memory
from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.control.trips import Hole, State
from d2s.backends.lax.failures.whose import is_internal
from d2s.backends.lax.forms.dtypes import NUMBERS, Type
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Out, leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.jaxprs.proof import NotRolled, Range, follow
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
    plan.region.relieve(follow(plan.region.jaxpr.jaxpr, own.ranges(length)))
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


def _own_values(jaxpr: Any, inputs: set[Any]) -> set[Any]:
    """The variables that Python would compute by itself from these inputs, in some trip or all."""
    own = set(inputs)
    for equation in jaxpr.eqns:
        flags = [isinstance(v, Literal) or v in own for v in equation.invars]
        if all(flags):
            own.update(equation.outvars)
        elif equation.primitive is cond_p and flags[0]:
            # Python would take one of the branches, and know what it gives
            for branch in equation.params["branches"]:
                inner = branch.jaxpr
                given = {v for v, flag in zip(inner.invars, flags[1:], strict=True) if flag}
                known = _own_values(inner, given)
                pairs = zip(equation.outvars, inner.outvars, strict=True)
                own.update(o for o, v in pairs if isinstance(v, Literal) or v in known)
    return own


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
        self.made = {v: e for e in self.jaxpr.eqns for v in e.outvars}
        self.steps: dict[Any, tuple[int, int]] = {}
        numbers = [h for h in plan.holes if type(h.init) in NUMBERS]
        while True:
            own = {self.position, *(self.vars[id(h)] for h in numbers)}
            own = _own_values(self.jaxpr, own)
            kept = [h for h in numbers if self._stays(h, own)]
            if len(kept) == len(numbers):
                break
            numbers = kept
        self.own, self.numbers = own, numbers
        self.fixed = {self.vars[id(h)]: h.init for h in numbers if id(h) not in self.carried}

    def _stays(self, hole: Hole, own: set[Any]) -> bool:
        """Whether a number of Python's is one after a trip, too."""
        joined = self.carried.get(id(hole))
        if joined is None or not isinstance(joined.sides[1], Out):
            return True
        out = self.jaxpr.outvars[joined.sides[1].index]
        return isinstance(out, Literal) or out in own

    def is_run_time(self, var: Any) -> bool:
        return not isinstance(var, Literal) and var not in self.own

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

    def ranges(self, length: int) -> dict[Any, Range | None]:
        """The least and largest values of what Python knows; None where it is no integer."""
        found: dict[Any, Range | None] = {self.vars[id(hole)]: None for hole in self.numbers}
        found[self.position] = 0, length - 1
        for var, value in self.fixed.items():
            found[var] = (value, value) if type(value) is int else None
        for var, (first, step) in self.steps.items():
            last = first + length * step
            if not -(2**31) <= last < 2**31:
                raise NotRolled("a Python number leaves the range of the graph")
            found[var] = min(first, last), max(first, last)
        return found

    def _line(self, var: Any, start: Any) -> tuple[int, int, int] | None:
        """A number as a * itself + b * index + c."""
        if isinstance(var, Literal):
            return (0, 0, int(var.val)) if np.asarray(var.val).dtype.kind in "iu" else None
        if var is start:
            return 1, 0, 0
        if var is self.position:
            return 0, 1, 0
        if type(self.fixed.get(var)) is int:
            return 0, 0, self.fixed[var]
        equation = self.made.get(var)
        if equation is None:
            return None
        operation = equation.primitive
        if operation not in (add_p, sub_p, mul_p, convert_element_type_p):
            return None
        parts = [self._line(v, start) for v in equation.invars]
        one, other = parts[0], parts[-1]
        if one is None or other is None:
            return None
        if operation is convert_element_type_p:
            return one
        if operation is mul_p:
            if one[:2] != (0, 0):
                one, other = other, one
            if one[:2] != (0, 0):
                return None
            return one[2] * other[0], one[2] * other[1], one[2] * other[2]
        sign = 1 if operation is add_p else -1
        return one[0] + sign * other[0], one[1] + sign * other[1], one[2] + sign * other[2]
