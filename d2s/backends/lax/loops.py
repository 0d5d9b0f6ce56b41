"""`while` and `for` on run-time values: one body in the graph, whatever the number of trips."""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from d2s import record, settings
from d2s.backends.lax import aliases, channels, notes, printing
from d2s.backends.lax.appended import items_of
from d2s.backends.lax.blame import CONDITION, POSITION
from d2s.backends.lax.bounds import Bound, bound_of, tell_limit
from d2s.backends.lax.boxes import boxed, build
from d2s.backends.lax.carry import CODE, Plan, settle
from d2s.backends.lax.dtypes import (
    NUMBERS,
    Type,
    cast,
    is_symbolic,
    type_of,
    varies,
    varying,
)
from d2s.backends.lax.ownership import alone
from d2s.backends.lax.places import WHOLE
from d2s.backends.lax.proof import Refused
from d2s.backends.lax.regions import (
    Region,
    failures,
    is_internal,
    is_traced,
    is_tracer_error,
    leaf_value,
    running,
    scalar_predicate,
    trace,
)
from d2s.backends.lax.rolling import FEW, Rolled, attempt, look_at, trips_of
from d2s.backends.lax.sequences import (
    Sequence,
    Stacked,
    as_sequence,
    at_least,
    has_traced_items,
    refuse_outer_iterator,
)
from d2s.backends.lax.trees import (
    Box,
    Difference,
    Filler,
    Joined,
    Out,
    Rows,
    children,
    leaves,
    map_leaves,
)
from d2s.backends.lax.trips import Hole, State, given
from d2s.backends.lax.unrolled import as_tuple, unroll
from d2s.backends.lax.watch import Watch
from d2s.errors import Error, StagingError
from d2s.settings import Loops, settled
from d2s.values import Maybe

Body = Callable[..., Any]


def _names(body: Body, skip: int) -> list[str]:
    code = body.__code__
    return list(code.co_varnames[skip : code.co_argcount])


def _watch(body: Body, state: State, skip: int, *others: Any) -> Watch:
    only = alone(body, state, skip)
    watch = Watch(*others, body, *state)
    watch.alone = only
    return watch


# -- while ----------------------------------------------------------------------------------------


def while_loop(test: Body, body: Body, state: State) -> State:
    """Python's loop while the test is known; one staged loop from where it is not."""
    if not channels.in_trial():
        # inside the trial of a loop around, nothing stays: trips that are known may just run
        watch = _watch(body, state, 0, test)
        if _reaches_traced(watch) and _becomes_traced(test, body, state, watch):
            return _stage_while(test, body, state, watch=watch)
        rolled = _roll_while(test, body, state, watch)
        if rolled is not None:
            return rolled
    trips = 0
    while True:
        go = test(*state)
        if is_traced(go):
            return _stage_tested(go, test, body, state)
        if not go:
            notes.note(f"unrolled x{trips}", "the condition is known while the graph is built")
            return state
        state = as_tuple(body(*state), len(state))
        trips += 1


def _roll_while(test: Body, body: Body, state: State, watch: Watch) -> State | None:
    """A loop whose test only counts, as a scan, if that changes nothing; None if it stays."""
    how, count = settings.loops(), len(state)
    if how == "unroll" or (how == "auto" and not _reaches_traced(watch)):
        return None

    def step(position: Any, *values: Any) -> State:
        return as_tuple(body(*values), count)

    def trips(plan: Plan, numbers: dict[int, Any]) -> int:
        tested = _trace_test(test, plan, count, watch)
        length = trips_of(plan, tested, test, count, numbers)
        if length == 0 or (length <= FEW and how == "auto"):
            raise Refused("there are few trips")
        return length

    rolled = attempt(
        how,
        body,
        lambda: look_at(step, [type_of(0)], state, _names(body, 0), watch, trips),
        None,
    )
    if rolled is None:
        return None
    return _run_scan(rolled.plan, [], count, rolled.length, rolled.numbers)


def _reaches_traced(watch: Watch) -> bool:
    return any(is_traced(value) for value in watch.reached())


def _becomes_traced(test: Body, body: Body, state: State, watch: Watch) -> bool:
    """Whether the test is, or will be, a run-time value: tried on abstract values, undone."""
    plan = [boxed(value) for value in state]
    for _ in range(len(leaves(plan)) + 2):
        holes: list[Hole] = []

        def hole(leaf: Any, holes: list[Hole] = holes) -> Any:
            if isinstance(leaf, Hole):
                holes.append(leaf)
            elif is_traced(leaf):
                leaf = Hole(leaf, type_of(leaf))
                holes.append(leaf)
            return leaf

        plan = map_leaves(hole, plan)

        def run(*inputs: Any, plan: list[Any] = plan, holes: list[Hole] = holes) -> Any:
            values = given(plan, holes, inputs)
            go = test(*values)
            if is_traced(go) or not go:
                return go, values
            return go, as_tuple(body(*values), len(values))

        try:
            with channels.trial():
                region = trace(run, [h.type for h in holes], watch)
        except Exception as error:
            if is_internal(error):
                return False  # Python's own loop will say it better, if it is reached at all
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
            return False
        plan = grown
    return False


def _is_constant(test: Body) -> bool:
    """``while True``: the test reads nothing."""
    loads = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_CLOSURE")
    return not any(i.opname.startswith(loads) for i in dis.get_instructions(test.__code__))


def _is_same(now: Any, later: Any) -> bool:
    """Whether an iteration leaves the state as it was, but for run-time values."""
    if isinstance(now, Hole) or isinstance(later, Out):
        return isinstance(now, Hole)
    one, other = children(now), children(later)
    if one is None or other is None:
        return now is later or (type(now) in NUMBERS and type(now) is type(later) and now == later)
    return len(one[0]) == len(other[0]) and all(
        _is_same(a, b) for (_, a), (_, b) in zip(one[0], other[0], strict=True)
    )


def _tracedness(plan: list[Any], after: list[Any]) -> list[Any] | None:
    """The plan with leaves that an iteration made run-time values; None when there are no more."""
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


def _stage_tested(go: Any, test: Body, body: Body, state: State, limit: int | None = None) -> State:
    """A loop whose test was evaluated already and came out as a run-time value."""

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
    watch: Watch | None = None,
    counted: bool = False,
    is_tested: bool = False,
    limit: int | None = None,
) -> State:
    count = len(state)
    watch = watch or _watch(body, state, 0, test)
    names = names if names is not None else _names(body, 0)

    def step(*values: Any) -> State:
        return as_tuple(body(*values), count)

    def settled(code_inside: bool) -> Plan:
        return _settle_either_way(
            *(step, [], state, watch, names),
            code_inside=code_inside,
            counted=counted,
            stacks=False,
        )

    plan = settled(code_inside=False)
    tested = _trace_test(test, plan, count, watch)
    prints = printing.prints(plan.region.effects)
    if prints and is_tested and plan.region.code is not None:
        plan = settled(code_inside=True)  # a lane that has failed prints no more
        tested = _trace_test(test, plan, count, watch)
    plan.refuse_other_reads(tested)
    if not is_tested and (prints or not tested.is_pure):
        go = test(*state)
        go = go if is_traced(go) else jnp.asarray(bool(go))
        return _stage_tested(go, test, body, state, limit)
    return _run_while(plan, tested, count, limit)


def _settle_either_way(
    step: Callable[..., State],
    extra: list[Type],
    state: State,
    watch: Watch,
    names: list[str],
    code_inside: bool,
    counted: bool,
    stacks: bool,
) -> Plan:
    """Carry Python numbers from the start; if the body needs one as it is, those it changes."""

    def attempt(numbers: bool) -> Plan:
        return settle(
            *(step, extra, state, watch, names),
            numbers=numbers,
            code_inside=code_inside,
            counted=counted,
            stacks=stacks,
        )

    start = record.mark()
    try:
        return attempt(numbers=True)
    except Exception as error:
        if not is_internal(error) or not any(type(leaf) in NUMBERS for leaf in leaves(list(state))):
            raise
        record.back_to(start)
        try:
            return attempt(numbers=False)
        except Error:
            raise error from None


def _trace_test(test: Body, plan: Plan, count: int, watch: Watch) -> Region:
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
    region = trace(run, kinds, watch, stand_for=list(plan.holes), tests=True)
    region.slots = {key: held for key, held in region.slots.items() if key not in untouched}
    return region


def _is_untouched(was: Any, now: Any, is_copy: bool = False) -> bool:
    """Whether the value of a shared name is the very one that it was, and holds what it held."""
    if isinstance(was, Box) and (not is_copy and was.identity != getattr(now, "identity", None)):
        return False
    one, other = children(was), children(now)
    if one is None or other is None:
        return was is now
    if type(was) is not type(now) or [name for name, _ in one[0]] != [name for name, _ in other[0]]:
        return False
    return all(_is_untouched(a, b) for (_, a), (_, b) in zip(one[0], other[0], strict=True))


def _settled(given: dict[int, Any]) -> Callable[[Any], Any]:
    def put(leaf: Any) -> Any:
        if isinstance(leaf, Joined):
            return given[id(leaf.sides[0])]
        return given.get(id(leaf), leaf)

    return put


def _run_while(plan: Plan, tested: Region, count: int, limit: int | None) -> State:
    """The staged loop. A `limit` is that of a `for`: at most so many trips, the first is sure."""
    bound = bound_of(plan, tested, limit)
    trips = 1 if limit is not None and at_least(limit, 1) else None
    region = plan.region
    fails = region.code is not None
    before = running()
    values = [j.sides[0].before() for j in plan.carried]
    if not fails and not before and _is_direct(plan, tested):
        values = _bind_while(plan, tested, values, bound)
        if bound.is_asked_for:
            tell_limit(bound, tested.run(*plan.inputs(values))[tested.value.index])
        return _finish(plan, values, None, None, count, trips)
    flag, axes = tested.value, _axes(plan)

    def test(carry: Any) -> Any:
        code, _, values = carry
        go = flag
        if isinstance(flag, Out):
            go = tested.run(*plan.inputs(values))[flag.index]
        for earlier in before:
            go = jnp.logical_and(earlier == 0, go)
        return jnp.logical_and(code == 0, go) if fails else go

    def body(carry: Any) -> Any:
        code, payload, values = carry
        start = [code] if plan.with_code else []
        outs = region.run(*start, *plan.inputs(values))
        if fails:
            code = varying(leaf_value(region.code, outs, CODE), axes)
            payload = _payload(region, outs, axes)
        return code, payload, plan.outputs(outs, values)

    start = (varying(jnp.int32(0), axes) if fails else None, _payload_zeros(region, axes), values)
    end = bound.loop(test, body, start)
    if bound.is_asked_for:
        tell_limit(bound, test(end))
    code, payload, values = end
    return _finish(plan, values, code, payload, count, trips)


def _is_direct(plan: Plan, tested: Region) -> bool:
    """Whether the traced graphs can be the loop's as they are, without a cast or a check."""
    exact = all(isinstance(j.sides[1], Out) and j.sides[1].type == j.type for j in plan.carried)
    regions = (plan.region, tested)
    pure = not any(r.effects or r.risky for r in regions)
    return exact and pure and isinstance(tested.value, Out) and bool(plan.carried)


def _bind_while(plan: Plan, tested: Region, values: list[Any], bound: Bound) -> list[Any]:
    """`lax.while_loop` on graphs that are there already: nothing is traced again."""
    carried = [j.sides[0] for j in plan.carried]
    fixed = [h for h in plan.holes if not any(h is c for c in carried)]

    def graph(region: Region, outs: list[Out]) -> tuple[Any, list[Any]]:
        jaxpr = region.jaxpr.jaxpr
        inputs = dict(zip(map(id, plan.holes), jaxpr.invars, strict=True))
        invars = [*jaxpr.constvars, *(inputs[id(h)] for h in (*fixed, *carried))]
        made = jaxpr.replace(
            constvars=[],
            invars=invars,
            outvars=[jaxpr.outvars[out.index] for out in outs],
            debug_info=jaxpr.debug_info.with_unknown_names(),
        )
        return ClosedJaxpr(made, []), [*region.jaxpr.consts, *(h.before() for h in fixed)]

    test, test_consts = graph(tested, [tested.value])
    body, body_consts = graph(plan.region, [j.sides[1] for j in plan.carried])
    return bound.bind(test, test_consts, body, body_consts, values)


def _axes(plan: Plan) -> frozenset[str]:
    """The axes of a mesh along which anything in a loop differs: so does how it fails."""
    kinds = [hole.type.varies for hole in plan.holes]
    return frozenset().union(*kinds, *map(varies, plan.region.jaxpr.out_avals))


def _payload_zeros(region: Region, axes: frozenset[str]) -> dict[int, list[Any]]:
    return {
        n: [varying((v.type if isinstance(v, Out) else type_of(v)).zeros(), axes) for v in values]
        for n, values in region.payload.items()
    }


def _payload(region: Region, outs: list[Any], axes: frozenset[str]) -> dict[int, list[Any]]:
    def quoted(v: Any) -> Any:
        return leaf_value(v, outs, v.type if isinstance(v, Out) else type_of(v))

    return {n: [varying(quoted(v), axes) for v in vs] for n, vs in region.payload.items()}


def _finish(
    plan: Plan,
    values: list[Any],
    code: Any,
    payload: Any,
    count: int,
    trips: int | None,
    numbers: dict[int, Any] | None = None,
    is_scan: bool = False,
) -> State:
    """The state after the loop; shared names are set, failures go to the scope around.

    `numbers` are leaves that are Python numbers again.
    """
    positions = {id(j): n for n, j in enumerate(plan.carried)}
    is_run = trips is not None and at_least(trips, 1)

    def put(leaf: Any) -> Any:
        if numbers and id(leaf) in numbers:
            return numbers[id(leaf)]
        if isinstance(leaf, Joined):
            value = values[positions[id(leaf)]]
            return value if type_of(value) == leaf.type else cast(value, leaf.type)
        return leaf.init if isinstance(leaf, Hole) else leaf

    def bound(value: Any) -> Any:
        """After one trip at least, what every iteration binds is bound."""
        sure = isinstance(value, Maybe) and isinstance(value.bound, Joined)
        return value.value if sure and is_run and value.bound.sides[1] is True else value

    tree = [bound(value) for value in plan.tree]
    memo: dict[Any, Any] = {}
    state = [build(value, put, memo) for value in tree]
    channels.joined([*plan.replaced, *(memo[n] for n in plan.aliased if n in memo)])
    for slot, value in zip(plan.slots, state[count:], strict=True):
        slot.set(value)
    if code is not None:
        channels.report(code, payload, plan.region.numbers, failures())
    plan.spend()
    plan.link(values, is_run)
    notes.loop(plan.names, plan.tree, trips if is_scan else None)
    return tuple(state[:count])


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
            return _stage_for_orunroll(sequence, body, state, test)
        return state
    rolled = _roll_for(iterable, how, body, state, test)
    if rolled is not None:
        return rolled
    steps = isinstance(iterable, range) and len(iterable)
    if test is not None and steps and _becomes_traced_for(iterable, body, state, test):
        sequence = as_sequence(iterable, with_ranges=True)
        assert sequence is not None
        return _stage_for_orunroll(sequence, body, state, test)
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
    if how == "auto" and not _reaches_traced(watch) and not has_traced_items(iterable):
        return None  # plain Python, whatever the trips
    sequence: Sequence | None = None

    def look() -> Rolled:
        nonlocal sequence
        sequence = as_sequence(iterable, with_ranges=True) or Stacked(list(iterable))
        rows = [_row(a) for a in sequence.arrays()]
        step = _scanned(sequence, body, count, len(rows), guarded=bool(rows))
        return look_at(step, [type_of(0), *rows], state, _names(body, 1), watch, length)

    rolled = attempt(how, body, look, length)
    if rolled is None or sequence is None:
        return None
    return _run_scan(rolled.plan, sequence.arrays(), count, length, rolled.numbers)


def _row(array: Any) -> Type:
    return type_of(array)._replace(shape=array.shape[1:], weak=False)


def _scanned(
    sequence: Sequence, body: Body, count: int, rows: int, guarded: bool = False
) -> Callable[..., State]:
    """One iteration, given the position and the rows there; guarded, it leaves its item alone."""

    def scanned(position: Any, *values: Any) -> State:
        # what is printed in a loop depends on it, or jax would take it out of there
        printing_ = printing.only_if(lambda: position >= 0)
        with channels.at_position(position, sequence.length), printing_:
            item = sequence.item(position, list(values[:rows]))
            before = Watch(item) if guarded else None
            after = as_tuple(body(item, *values[rows:]), count)
            if before is not None and not before.is_unchanged():
                raise Refused("an item is changed in place in it")
            return after

    return scanned


def _becomes_traced_for(items: Any, body: Body, state: State, test: Body) -> bool:
    watch = Watch(test, body, *state)
    if not _reaches_traced(watch):
        return False

    def first(*values: Any) -> Any:
        return body(items[0], *values)

    return _becomes_traced(test, first, state, watch)


def _stage_for_orunroll(sequence: Sequence, body: Body, state: State, test: Body | None) -> State:
    start = record.mark()
    try:
        return _stage_for(sequence, body, state, test)
    except Exception as error:
        needs_value = is_tracer_error(error) or (
            isinstance(error, Error) and error.code in ("D2S013", "D2S020", "D2S010", "D2S011")
        )
        if not needs_value or is_traced(sequence.length) or is_symbolic(sequence.length):
            raise
        # the body needs positions or items as Python values: unrolled, each iteration has them
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
        plan = _settle_either_way(
            *(step, [type_of(0), *rows], state, watch, names),
            code_inside=True,
            counted=True,
            stacks=True,
        )
        written = [*(slot.owner for slot in plan.slots), *(owner for owner, _ in plan.appended)]
        if plan.region.code is None or not channels.is_any_observed(written):
            return _run_scan(plan, arrays, count, sequence.length)
        # a handler can see what was written: nothing may run on after a failure
        if plan.appended:
            raise StagingError(
                "a loop that may fail appends to a list, and how far it got could be seen",
                code="D2S024",
                site=channels.where(),
                fix="an array of fixed size, written at an index",
            )

    def trip(position: Any, *values: Any) -> Any:
        with channels.at_position(position):
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


def _run_scan(
    plan: Plan,
    arrays: list[Any],
    count: int,
    length: int,
    numbers: dict[int, Any] | None = None,
) -> State:
    region = plan.region
    fails = region.code is not None
    uses_position = region.reads(int(plan.with_code))
    appended = [out for _, tree in plan.appended for out in leaves(tree) if isinstance(out, Out)]
    width, axes = len(arrays), _axes(plan)

    def step(carry: Any, rows: list[Any]) -> Any:
        at, code, payload, values = carry
        start = [jnp.int32(0) if code is None else code] if plan.with_code else []
        outs = region.run(*start, 0 if at is None else at, *rows[:width], *plan.inputs(values))
        if fails:
            first = code == 0
            now = _payload(region, outs, axes)
            payload = {
                n: [jnp.where(first, v, o) for v, o in zip(now[n], old, strict=True)]
                for n, old in payload.items()
            }
            code = varying(leaf_value(region.code, outs, CODE), axes)
        rows = [outs[out.index] for out in appended]
        return (at if at is None else at + 1, code, payload, plan.outputs(outs, values)), rows

    values = [j.sides[0].before() for j in plan.carried]
    start = (
        0 if uses_position else None,
        varying(jnp.int32(0), axes) if fails else None,
        _payload_zeros(region, axes),
        values,
    )
    xs = [a if a.shape[0] == length else a[:length] for a in arrays]
    if is_symbolic(length):
        # jax takes a number for a length; the rows of an array may be as many as they are
        xs, known = [*xs, jnp.arange(length)], None
    else:
        known = length
    (_, code, payload, values), stacked = jax.lax.scan(step, start, xs, length=known)
    _append(plan, dict(zip(map(id, appended), stacked, strict=True)), length)
    state = _finish(plan, values, code, payload, count, trips=length, numbers=numbers, is_scan=True)
    first = int(plan.with_code) + 1
    for array in (array for n, array in enumerate(arrays, first) if n in region.spent_inputs):
        aliases.spend(array, by_rows=True)
    return state


def _append(plan: Plan, stacked: dict[int, Any], length: int) -> None:
    """Give the lists what all iterations have appended to them."""

    def put(leaf: Any) -> Any:
        return stacked.get(id(leaf), leaf)

    def flat(leaf: Any) -> Any:
        array = put(leaf)
        return array if array is leaf else array.reshape(-1, *array.shape[2:])

    if plan.appended and is_symbolic(length):
        raise StagingError(
            f"a list gets as many items as the named dimension {length} has; the length of a list "
            "is part of the graph",
            code="D2S063",
            site=channels.where(),
            fix="an array, written at an index: out = out.at[i].set(value); or jax.vmap",
        )
    for owner, tree in plan.appended:
        if isinstance(tree, Rows):
            owner += items_of(Rows(tree.item, length * tree.count), flat, build)
        else:
            for items in items_of(Rows(tree, length), put, build):
                owner += items
