"""`while` and `for` while a graph is built: unrolled, rolled or staged.

    while x > 1:  x = x / 2             staged: the test is a run-time value; `lax.while_loop`
    while n < 3:  n += 1                unrolled: the test is known, and there are few trips
    for i in range(100):  x = x * w     rolled: the trips are known, and one body serves for all
    for row in xs:  ...                 staged: items are rows of an array; `lax.scan`

How it is decided: a test that is a run-time value, or will become one (`prediction`), is staged.
Otherwise rolling is tried (`rolling`), and where that is refused Python runs the loop (`unrolled`).
A staged body is traced until the types of what it carries settle (`carry`), and put into the graph
(`emit`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import jax.numpy as jnp

from d2s.backends.lax.control import memory, notes
from d2s.backends.lax.control.carry import LoopTraits, settle
from d2s.backends.lax.control.emit import run_scan, run_while
from d2s.backends.lax.control.memory import Memory
from d2s.backends.lax.control.ownership import solely_owned
from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.control.prediction import becomes_traced, reaches_traced
from d2s.backends.lax.control.rolling import FEW, Rolled, attempt, look_at, trips_of
from d2s.backends.lax.control.trips import State
from d2s.backends.lax.control.unrolled import as_tuple, count_trip, unroll
from d2s.backends.lax.failures.whose import is_internal, is_tracer_error
from d2s.backends.lax.forms.dtypes import NUMBERS, Type, is_symbolic, type_of
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.trees import Box, children, leaves
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.jaxprs.ranges.rolled import NotRolled
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.output import printing
from d2s.backends.lax.regions.regions import Region, is_traced, scalar_predicate
from d2s.backends.lax.regions.trace import Role, trace
from d2s.backends.lax.semantics.sequences import (
    Sequence,
    Stacked,
    as_sequence,
    has_traced_items,
    refuse_outer_iterator,
)
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.blame import CONDITION, POSITION
from d2s.backends.lax.trace.blocks import runs
from d2s.backends.lax.trace.boxes import boxed, build
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import Error, StagingError
from d2s.options import loop_options
from d2s.options.loop_options import Loops, settled
from d2s.runtime import record

Body = Callable[..., Any]


def _names(body: Body, skip: int) -> list[str]:
    """The user's names of the state: the parameters of the body, without its first `skip`."""
    code = body.__code__
    return list(code.co_varnames[skip : code.co_argcount])


def _watch(body: Body, state: State, skip: int, *others: Any) -> Snapshot:
    only = solely_owned(body, state, skip)
    watch = Snapshot(*others, body, *state)
    watch.solely_owned = only
    return watch


# -- while ----------------------------------------------------------------------------------------


def while_loop(test: Body, body: Body, state: State) -> State:
    """Python's loop while the test is known; one staged loop from where it is not."""
    watch, known = _watch(body, state, 0, test), Memory()
    in_graph = reaches_traced(watch)
    if in_graph:
        known = memory.of(watch, test, body, *state)
        if becomes_traced(test, body, state, watch, known):
            return _stage_while(test, body, state, watch=watch, known=known)
    rolled = _roll_while(test, body, state, watch, known)
    if rolled is not None:
        return rolled
    trips = 0
    while True:
        if known.is_short and trips == FEW + 1:
            # the prediction that it is short was wrong: the rest of it may be rolled
            rolled = _roll_while(test, body, state, _watch(body, state, 0, test), Memory())
            if rolled is not None:
                return rolled
        go = test(*state)
        if is_traced(go):
            return _stage_tested(go, test, body, state)
        if not go:
            notes.note(f"unrolled x{trips}", "the condition is known while the graph is built")
            return state
        state = as_tuple(body(*state), len(state))
        trips += 1
        if in_graph:  # a loop on Python values alone puts nothing into the graph
            count_trip()


def _roll_while(
    test: Body, body: Body, state: State, watch: Snapshot, known: Memory
) -> State | None:
    """A loop whose test only counts, as a scan, if that changes nothing; None if it stays."""
    how, count = loop_options.loops(), len(state)
    if how == "unroll" or (how == "auto" and (known.is_short or not reaches_traced(watch))):
        return None

    @runs(body)
    def step(position: Any, *values: Any) -> State:
        return as_tuple(body(*values), count)

    def trips(plan: Plan, numbers: dict[int, Any]) -> int:
        tested = _trace_test(test, plan, count, watch)
        length = trips_of(plan, tested, test, count, numbers)
        if length == 0 or (length <= FEW and how == "auto"):
            raise NotRolled("there are few trips")
        return length

    rolled = attempt(
        how,
        body,
        lambda: look_at(step, [type_of(0)], state, _names(body, 0), watch, trips),
        None,
        known,
    )
    if rolled is None:
        return None
    return run_scan(rolled.plan, [], count, rolled.length, rolled.numbers)


def _stage_tested(go: Any, test: Body, body: Body, state: State, limit: int | None = None) -> State:
    """A loop whose test was evaluated already and came out as a run-time value."""

    @runs(body)
    def step(go: Any, *values: Any) -> Any:
        with printing.only_if(lambda: go):
            after = as_tuple(body(*values), len(values))
            return (test(*after), *after) if after else test()

    flag = scalar_predicate(go)
    names = [CONDITION, *_names(body, 0)]
    done = _stage_while(lambda go, *_: go, step, (flag, *state), names, is_tested=True, limit=limit)
    return done[1:]


def _stage_while(
    test: Body,
    body: Body,
    state: State,
    names: list[str] | None = None,
    watch: Snapshot | None = None,
    counted: bool = False,
    is_tested: bool = False,
    limit: int | None = None,
    known: Memory | None = None,
) -> State:
    count = len(state)
    watch = watch or _watch(body, state, 0, test)
    known = known or memory.of(watch, test, body, limit, *state)
    if known.asks_ahead:
        return _ask_ahead(test, body, state, limit)
    names = names if names is not None else _names(body, 0)

    @runs(body)
    def step(*values: Any) -> State:
        return as_tuple(body(*values), count)

    def settled(code_inside: bool) -> Plan:
        return _settle_either_way(
            *(step, [], state, watch, names, known),
            code_inside=code_inside,
            counted=counted,
            stacks=False,
            length=limit,
        )

    plan = settled(code_inside=known.carries_code)
    tested = _trace_test(test, plan, count, watch)
    prints = printing.prints(plan.region.effects)
    if prints and is_tested and plan.region.code is not None and not plan.with_code:
        known.carries_code = True
        plan = settled(code_inside=True)  # a lane that has failed prints no more
        tested = _trace_test(test, plan, count, watch)
    plan.refuse_other_reads(tested)
    if not is_tested and (prints or not tested.is_pure):
        known.asks_ahead = True
        return _ask_ahead(test, body, state, limit)
    return run_while(plan, tested, count, limit)


def _ask_ahead(test: Body, body: Body, state: State, limit: int | None) -> State:
    """A staged loop whose test is asked once before it, and then at the end of each trip.

    So whatever the test does happens as often, and in the same order, as in plain Python.
    """
    go = test(*state)
    go = go if is_traced(go) else jnp.asarray(bool(go))
    return _stage_tested(go, test, body, state, limit)


def _settle_either_way(
    step: Callable[..., State],
    extra: list[Type],
    state: State,
    watch: Snapshot,
    names: list[str],
    known: Memory,
    code_inside: bool,
    counted: bool,
    stacks: bool,
    makes_a_trip: bool = False,
    length: Any = None,
) -> Plan:
    """Settle the carry with all Python numbers in it; where that fails, with those that change.

    A number that the body needs as a Python value, a shape say, must not be carried.
    """

    def attempt(numbers: bool) -> Plan:
        traits = LoopTraits(
            extra,
            numbers=numbers,
            code_inside=code_inside,
            with_code=known.carries_code,
            is_counted=counted,
            stacks=stacks,
            makes_a_trip=makes_a_trip,
            length=length if type(length) is int else None,
        )
        return settle(step, state, watch, names, traits)

    if known.keeps_numbers:
        return attempt(numbers=False)
    start = record.mark()
    try:
        return attempt(numbers=True)
    except Exception as error:
        if not is_internal(error) or not any(type(leaf) in NUMBERS for leaf in leaves(list(state))):
            raise
        record.back_to(start)
        try:
            plan = attempt(numbers=False)
        except Error:
            raise error from None
        known.keeps_numbers = True
        return plan


def _trace_test(test: Body, plan: Plan, count: int, watch: Snapshot) -> Region:
    untouched: set[Any] = set()

    def run(*inputs: Any) -> Any:
        given = dict(zip(map(id, plan.holes), inputs, strict=True))
        values = build(plan.tree, _settled(given), {})
        for slot, value in zip(plan.slots, values[count:], strict=True):
            slot.set(value)
        before = [boxed(slot.get()) for slot in plan.slots]
        go = test(*values[:count])
        for slot, was in zip(plan.slots, before, strict=True):
            if _is_untouched(was, boxed(slot.get()), is_copy=slot.key is WHOLE):
                untouched.add(slot.identity)
        return scalar_predicate(go) if is_traced(go) else bool(go)

    kinds = [hole.type for hole in plan.holes]
    spans = [hole.asked for hole in plan.holes]
    role = Role(is_test=True)
    region = trace(run, kinds, watch, role, stand_for=list(plan.holes), spans=spans)
    region.slots = {key: held for key, held in region.slots.items() if key not in untouched}
    return region


def _settled(given: dict[int, Any]) -> Callable[[Any], Any]:
    def put(leaf: Any) -> Any:
        if isinstance(leaf, Joined):
            return given[id(leaf.sides[0])]
        return given.get(id(leaf), leaf)

    return put


def _is_untouched(was: Any, now: Any, is_copy: bool = False) -> bool:
    """Whether a slot holds the very value that it held, and that has the same contents."""
    if isinstance(was, Box) and (not is_copy and was.identity != getattr(now, "identity", None)):
        return False
    one, other = children(was), children(now)
    if one is None or other is None:
        return was is now
    if type(was) is not type(now) or [name for name, _ in one[0]] != [name for name, _ in other[0]]:
        return False
    return all(_is_untouched(a, b) for (_, a), (_, b) in zip(one[0], other[0], strict=True))


# -- for ------------------------------------------------------------------------------------------


def for_loop(iterable: Iterable[Any], body: Body, state: State, test: Body | None) -> State:
    iterable, how = settled(iterable)
    refuse_outer_iterator(iterable)
    sequence = as_sequence(iterable)
    if sequence is not None:
        if sequence.is_used_up():
            return state
        if how == "unroll" and not is_traced(sequence.length):
            return unroll(sequence.items(), body, state, test)
        if is_traced(sequence.length) or is_symbolic(sequence.length) or sequence.length:
            return _stage_for_or_unroll(sequence, body, state, test)
        return state
    rolled = _roll_for(iterable, how, body, state, test)
    if rolled is not None:
        return rolled
    steps = isinstance(iterable, range) and len(iterable)
    if test is not None and steps and _becomes_traced_for(iterable, body, state, test):
        sequence = as_sequence(iterable, with_ranges=True)
        assert sequence is not None
        return _stage_for_or_unroll(sequence, body, state, test)
    return unroll(iterable, body, state, test)


def _roll_for(
    iterable: Any, how: Loops, body: Body, state: State, test: Body | None
) -> State | None:
    """A loop over a range or a list as a scan, if that changes nothing; None if it stays."""
    if test is not None or not isinstance(iterable, range | list | tuple) or not iterable:
        return None
    length, count = len(iterable), len(state)
    if how == "unroll" or (how == "auto" and length <= FEW):
        return None
    watch = _watch(body, state, 1)
    if how == "auto" and not reaches_traced(watch) and not has_traced_items(iterable):
        return None  # nothing of it would be in the graph, however many trips there are
    sequence: Sequence | None = None

    def look() -> Rolled:
        nonlocal sequence
        sequence = as_sequence(iterable, with_ranges=True) or Stacked(list(iterable))
        rows = [_row(a) for a in sequence.arrays()]
        step = _scanned(sequence, body, count, len(rows), guarded=bool(rows))
        return look_at(step, [type_of(0), *rows], state, _names(body, 1), watch, length)

    known = memory.of(watch, body, iterable, *state) if type(iterable) is range else Memory()
    rolled = attempt(how, body, look, length, known)
    if rolled is None or sequence is None:
        return None
    return run_scan(rolled.plan, sequence.arrays(), count, length, rolled.numbers)


def _row(array: Any) -> Type:
    return type_of(array)._replace(shape=array.shape[1:], weak=False)


def _scanned(
    sequence: Sequence, body: Body, count: int, rows: int, guarded: bool = False
) -> Callable[..., State]:
    """One trip, given the position and the rows there; `guarded`, it must not change its item."""

    @runs(body)
    def scanned(position: Any, *values: Any) -> State:
        # A print must depend on the position: JAX would move it out of the loop otherwise.
        printing_ = printing.only_if(lambda: position >= 0)
        with scopes.at_position(position, sequence.length), printing_:
            item = sequence.item(position, list(values[:rows]))
            before = Snapshot(item) if guarded else None
            after = as_tuple(body(item, *values[rows:]), count)
            if before is not None and not before.is_unchanged():
                raise NotRolled("an item is changed in place in it")
            return after

    return scanned


def _becomes_traced_for(items: Any, body: Body, state: State, test: Body) -> bool:
    watch = Snapshot(test, body, *state)
    if not reaches_traced(watch):
        return False

    @runs(body)
    def first(*values: Any) -> Any:
        return body(items[0], *values)

    known = memory.of(watch, test, body, items, *state)
    return becomes_traced(test, first, state, watch, known)


def _stage_for_or_unroll(sequence: Sequence, body: Body, state: State, test: Body | None) -> State:
    start = record.mark()
    try:
        return _stage_for(sequence, body, state, test)
    except Exception as error:
        needs_value = is_tracer_error(error) or (
            isinstance(error, Error) and error.code in ("D2S013", "D2S020", "D2S010", "D2S011")
        )
        if not needs_value or is_traced(sequence.length) or is_symbolic(sequence.length):
            raise
        # the body needs positions or items as Python values: unrolled, each trip has them
        record.back_to(start)
        try:
            return unroll(sequence.items(), body, state, test)
        except Exception as again:
            raise (error if is_internal(again) else again) from None


def _stage_for(sequence: Sequence, body: Body, state: State, test: Body | None) -> State:
    """A scan where the number of trips is known and nothing ends them early; else a `while`."""
    count, names = len(state), _names(body, 1)
    if test is None and not is_traced(sequence.length):
        arrays = sequence.arrays()
        rows = [_row(a) for a in arrays]

        watch = _watch(body, state, 1)
        step = _scanned(sequence, body, count, len(rows))
        known = memory.of(watch, body, sequence, *state)
        plan = _settle_either_way(
            *(step, [type_of(0), *rows], state, watch, names, known),
            code_inside=True,
            counted=True,
            stacks=True,
            makes_a_trip=is_symbolic(sequence.length) or sequence.length > 0,
            length=sequence.length,
        )
        written = [*(slot.owner for slot in plan.slots), *(owner for owner, _ in plan.appended)]
        if plan.region.code is None or not observers.is_any_observed(written):
            return run_scan(plan, arrays, count, sequence.length)
        # a handler can see what was written, so no trip may run after a failure: not a scan
        if plan.appended:
            owner = plan.appended[0][0]
            raise StagingError(
                f"a loop that may fail appends to {watch.label_of(Slot(owner, WHOLE))}, and how "
                "far it got could be seen",
                code="D2S075",
                site=scopes.change_of(owner),
                fix="an array of fixed size, written at an index",
            )

    @runs(body)
    def trip(position: Any, *values: Any) -> Any:
        with scopes.at_position(position, sequence.length):
            after = as_tuple(body(sequence.at(position), *values), count)
        return (position + 1, *after) if after else position + 1

    def going(position: Any, *values: Any) -> Any:
        more = position < sequence.length
        if test is None:
            return more
        go = test(*values)
        return jnp.logical_and(more, scalar_predicate(go) if is_traced(go) else bool(go))

    names = [POSITION, *names]
    limit = None if is_traced(sequence.length) else sequence.length
    return _stage_while(going, trip, (0, *state), names, counted=True, limit=limit)[1:]
