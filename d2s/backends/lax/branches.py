"""`if`, the ternary, `and` and `or` on run-time conditions: both sides in one graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from d2s.backends.lax import channels
from d2s.backends.lax.channels import Halt
from d2s.backends.lax.regions import (
    Region,
    difference,
    failures,
    fill,
    is_traced,
    leaf_value,
    scalar_predicate,
    target_names,
    trace,
)
from d2s.backends.lax.trees import FILLER, Difference, Join, Out
from d2s.backends.lax.watch import Watch
from d2s.errors import StagingError

#: equations that may run although their value is not needed
CHEAP = 12


def cond(
    test: Any, then: Callable[..., Any], orelse: Callable[..., Any], state: tuple[Any, ...]
) -> Any:
    """`lax.cond` of two pieces of code, with everything they wrote, and their failures, joined."""
    predicate = scalar_predicate(test)
    watch = Watch(then, orelse, *state)
    one = trace(lambda: then(*state), [], watch)
    other = trace(lambda: orelse(*state), [], watch)
    return join_branches(predicate, one, other, watch)


def join_branches(predicate: Any, one: Region, other: Region, before: Watch) -> Any:
    """The branch on two traced pieces of code; `before` knows what existed before them."""
    slots = {**one.slots, **other.slots}
    joining = Join()
    try:
        tree = joining.join(_results(one, slots, other), _results(other, slots, one))
    except Difference as found:
        names = target_names()
        what = "when the condition holds|otherwise"
        raise difference(found, names, "[0]", what, channels.where()) from None
    outs: list[Any] = []
    if joining.dynamic or one.effects or other.effects:

        def branch(region: Region, side: int) -> Callable[[], list[Any]]:
            def run() -> list[Any]:
                own = region.run()
                return [leaf_value(j.sides[side], own, j.type) for j in joining.dynamic]

            return run

        outs = jax.lax.cond(predicate, branch(one, 0), branch(other, 1))
    value, contents, code, payload = fill(tree, outs)
    channels.joined((value, *contents), joining.replaced, before)
    for (slot, _), content in zip(slots.values(), contents, strict=True):
        slot.set(content)
    if one.code is not None or other.code is not None:
        channels.report(code, payload, one.numbers | other.numbers, failures())
    if one.raised and other.raised:
        raise Halt
    return value


def _results(region: Region, slots: dict[Any, Any], other: Region) -> tuple[Any, ...]:
    contents = [
        region.slots[key][1] if key in region.slots else slot.get()
        for key, (slot, _) in slots.items()
    ]
    payload = {n: region.payload.get(n, FILLER) for n in sorted({*region.payload, *other.payload})}
    return region.value, contents, 0 if region.code is None else region.code, payload


def and_(first: Any, rest: tuple[Callable[[], Any], ...]) -> Any:
    return _short_circuit(first, rest, stop_when=False)


def or_(first: Any, rest: tuple[Callable[[], Any], ...]) -> Any:
    return _short_circuit(first, rest, stop_when=True)


def _short_circuit(first: Any, rest: tuple[Callable[[], Any], ...], stop_when: bool) -> Any:
    while rest:
        if is_traced(first):
            return _staged(first, rest, stop_when)
        if bool(first) is stop_when:
            return first
        first, rest = rest[0](), rest[1:]
    return first


def _staged(first: Any, rest: tuple[Callable[[], Any], ...], stop_when: bool) -> Any:
    predicate = scalar_predicate(first)
    watch = Watch(*rest)
    later = trace(lambda: _short_circuit(rest[0](), rest[1:], stop_when), [], watch)
    if _is_cheap_bool(first, later):
        value = later.run()[later.value.index] if isinstance(later.value, Out) else later.value
        # not `|`: to the graph that is the sum of two bools, which Python computes otherwise
        return jnp.where(predicate, True, value) if stop_when else jnp.logical_and(predicate, value)
    now = trace(lambda: first, [], Watch())
    one, other = (now, later) if stop_when else (later, now)
    try:
        return join_branches(predicate, one, other, watch)
    except StagingError as error:
        if error.code != "D2S010" or not later.is_pure:
            raise
        # a flag beside a value of one element: what such operands are joined for is their truth
        one, other = (trace(lambda r=r: _truth(r), [], Watch()) for r in (one, other))
        return join_branches(predicate, one, other, watch)


def _truth(region: Region) -> Any:
    value = region.run()[region.value.index] if isinstance(region.value, Out) else region.value
    return scalar_predicate(value) if is_traced(value) else bool(value)


def _is_cheap_bool(first: Any, later: Region) -> bool:
    """Whether a logical operation is exact: boolean scalars, nothing that fails or takes long."""
    value = later.value
    scalar = type(value) is bool or (
        isinstance(value, Out) and value.type.dtype == jnp.bool_ and value.type.shape == ()
    )
    equations = later.jaxpr.jaxpr.eqns
    plain = len(equations) <= CHEAP and not any(_has_graphs(e) for e in equations)
    flag = first.dtype == jnp.bool_ and first.shape == ()
    return scalar and flag and later.is_pure and plain


def _has_graphs(equation: Any) -> bool:
    graphs = jax.extend.core.jaxprs_in_params(equation.params)
    return any(True for _ in graphs) and equation.primitive.name not in ("jit", "pjit")
