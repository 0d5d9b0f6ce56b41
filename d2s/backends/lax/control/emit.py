"""Loops whose plan is settled, as parts of the graph: `lax.while_loop` and `lax.scan`.

    carry of a while  =  (code?, payload, values)
    carry of a scan   =  (position?, code?, payload, values);  its rows = what lists got appended

`code` is the error code, with the values that its message quotes as payload; `values` are the
leaves that the plan carries. A `while` makes no trip after a failure, and a scan keeps the first
one. After the loop `_finish` builds the state again.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.control import notes
from d2s.backends.lax.control.bounds import LoopBound, bound_of, tell_limit
from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.control.trips import Hole, State
from d2s.backends.lax.failures import failing
from d2s.backends.lax.forms.appended import items_of
from d2s.backends.lax.forms.dtypes import is_symbolic, of_type, own_text, type_of, varies, varying
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Out, StackedRows, leaves
from d2s.backends.lax.graph import sites
from d2s.backends.lax.regions.checks import CODE
from d2s.backends.lax.regions.regions import Region, failures, leaf_value, running
from d2s.backends.lax.semantics.sequences import at_least
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.boxes import build
from d2s.errors import StagingError
from d2s.runtime.values import Maybe


def run_while(plan: Plan, tested: Region, count: int, limit: int | None) -> State:
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
    exact = all(
        isinstance(j.sides[1], Out) and j.sides[1].type.bare == j.type.bare for j in plan.carried
    )
    regions = (plan.region, tested)
    pure = not any(r.effects or r.risky for r in regions)
    return exact and pure and isinstance(tested.value, Out) and bool(plan.carried)


def _bind_while(plan: Plan, tested: Region, values: list[Any], bound: LoopBound) -> list[Any]:
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
            # after a trip, what the variable was before the loop is gone
            last = leaf.sides[1]
            is_last = is_run and not isinstance(last, Filler)
            kind = (last.type if isinstance(last, Out) else type_of(last)).kind if is_last else None
            kind = leaf.type._replace(kind=kind) if is_last else leaf.type
            return of_type(values[positions[id(leaf)]], kind)
        return leaf.init if isinstance(leaf, Hole) else leaf

    def bound(value: Any) -> Any:
        """The value of a name that every trip binds, where there was a trip for sure."""
        sure = isinstance(value, Maybe) and isinstance(value.bound, Joined)
        return value.value if sure and is_run and value.bound.sides[1] is True else value

    tree = [bound(value) for value in plan.tree]
    memo: dict[Any, Any] = {}
    state = [build(value, put, memo) for value in tree]
    observers.joined(plan.replaced, [memo[n] for n in plan.aliased if n in memo])
    for slot, value in zip(plan.slots, state[count:], strict=True):
        slot.set(value)
    if code is not None:
        failing.report(code, payload, plan.region.numbers, failures())
    plan.spend()
    plan.link(values, is_run)
    notes.loop(plan.names, plan.tree, trips if is_scan else None)
    return tuple(state[:count])


def run_scan(
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
        # JAX takes no named dimension as the length of a scan, but rows of an array it counts
        xs, known = [*xs, jnp.arange(length)], None
    else:
        known = length
    (_, code, payload, values), stacked = jax.lax.scan(step, start, xs, length=known)
    plan.refuse_rows()
    rows = dict(zip(map(id, appended), stacked, strict=True))
    _append(plan, rows, length)
    state = _finish(plan, values, code, payload, count, trips=length, numbers=numbers, is_scan=True)
    plan.link_rows(rows, values)
    first = int(plan.with_code) + 1
    for array in (array for n, array in enumerate(arrays, first) if n in region.written.inputs):
        aliases.spend(array, by_rows=True)
    return state


def _append(plan: Plan, stacked: dict[int, Any], length: int) -> None:
    """Give the lists what all trips have appended to them."""

    def put(leaf: Any) -> Any:
        return stacked.get(id(leaf), leaf)

    def flat(leaf: Any) -> Any:
        array = put(leaf)
        return array if array is leaf else array.reshape(-1, *array.shape[2:])

    if plan.appended and is_symbolic(length):
        raise StagingError(
            f"a list gets as many items as the named dimension {own_text(length)} has; the "
            "length of a list is part of the graph",
            code="D2S063",
            site=sites.where(),
            fix="an array, written at an index: out = out.at[i].set(value); or jax.vmap",
        )
    for owner, tree in plan.appended:
        if isinstance(tree, StackedRows):
            owner += items_of(StackedRows(tree.item, length * tree.count), flat, build)
        else:
            for items in items_of(StackedRows(tree, length), put, build):
                owner += items
