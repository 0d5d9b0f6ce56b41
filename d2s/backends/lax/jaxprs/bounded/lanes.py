"""`vmap` of the loop: one loop for all lanes, in which each lane stops on its own.

Where the number of trips differs between lanes, the loop goes on while any of them does, and a lane
that is done keeps its values. With a count, a lane is on while ``at < count``; with a test, the
flag of each lane is part of the carry (`LoopForm.masked`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun
from jax.interpreters import batching

from d2s.backends.lax.jaxprs.bounded.absent_lanes import with_flag
from d2s.backends.lax.jaxprs.bounded.flags import either
from d2s.backends.lax.jaxprs.bounded.loop import (
    LoopForm,
    Operands,
    by_lane,
    graph,
    loop_p,
    rows,
    stacked,
    unmasked,
)
from d2s.backends.lax.private import batch_jaxpr


def _batch(
    axis: Any, args: Sequence[Any], dims: Sequence[Any], *, test: Any, body: Any, form: LoopForm
) -> tuple[list[Any], list[Any]]:
    """Which parts of the carry have lanes is a fixed point; if the test has, all of them do."""
    if form.masked:
        return _batch_masked(axis, args, dims, test, body, form)
    batched = Operands.of([d is not None for d in dims], test, form)
    places = Operands.of(dims, test, form)
    given = Operands.of(args, test, form)
    values = Operands(*(list(map(_front, *pair)) for pair in zip(given, places, strict=True)))
    values = values._replace(xs=[_front(x, d, 1) for x, d in zip(given.xs, places.xs, strict=True)])
    carry = batched.carry
    while True:
        flags = [*batched.consts, *carry, *batched.xs]
        instantiate = [*carry, *(False for _ in rows(body, form))]
        lanes, out = batch_jaxpr(body, axis, flags, instantiate)
        if list(out[: form.carry]) == carry:
            break
        carry = either(carry, out[: form.carry])
    by_itself = any(batched.number)
    if test is not None:
        tested, (by_itself,) = batch_jaxpr(test, axis, [*batched.tests, *carry], False)
    if by_itself:
        carry = [True] * form.carry
        flags = [True, *batched.consts, *carry, *batched.xs]
        asked = with_flag(body)  # loops inside make no trips in lanes that are done
        lanes, out = batch_jaxpr(asked, axis, flags, [*carry, *out[form.carry :]])
        if test is not None:
            tested, _ = batch_jaxpr(test, axis, [*batched.tests, *carry], True)
    given_carry = zip(values.carry, batched.carry, carry, strict=True)
    values = values._replace(
        carry=[
            jnp.broadcast_to(v, (axis.size, *jnp.shape(v))) if now and not before else v
            for v, before, now in given_carry
        ]
    )
    ys = [1 if flag else None for flag in out[form.carry :]]
    if not by_itself:
        outs = loop_p.bind(*values.all(), test=test and tested, body=lanes, form=form)
        return outs, [*(0 if flag else None for flag in carry), *ys, *([None] * form.trips)]
    if test is None:
        return _counted_lanes(values, lanes, form), [*(0 for _ in carry), *ys]
    outs = _tested_lanes(values, tested, lanes, form)
    return outs, [*(0 for _ in carry), *ys, *([0] * form.trips)]


def _front(value: Any, dim: Any, place: int = 0) -> Any:
    return value if dim is None else jnp.moveaxis(value, dim, place)


def _counted_lanes(values: Operands, lanes: Any, form: LoopForm) -> list[Any]:
    """Each lane has its own number of trips; the loop makes the most of them."""
    (counts,) = values.number
    function = jaxpr_as_fun(lanes)
    inner = form._replace(tests=0, consts=form.consts + 1)

    def step(*inputs: Any) -> list[Any]:
        _, _, (counts, *consts), carry, (at, *xs) = Operands.of(inputs, True, inner)
        outs = function(at < counts, *consts, *carry, *xs)
        new = [by_lane(at < counts, n, c) for n, c in zip(outs, carry, strict=False)]
        return [*new, *outs[form.carry :]]

    ins = Operands.of(lanes.in_avals[1:], True, form._replace(tests=0))
    at = jnp.arange(form.limit, dtype=jnp.int32)
    row = jax.typeof(at).update(shape=())
    avals = [jax.typeof(counts), *ins.consts, *ins.carry, row, *ins.xs]
    outs: list[Any] = loop_p.bind(
        jnp.max(counts, initial=0),
        counts,
        *values.consts,
        *values.carry,
        at,
        *values.xs,
        test=None,
        body=graph(step, avals),
        form=inner,
    )
    return outs


def _tested_lanes(values: Operands, tested: Any, lanes: Any, form: LoopForm) -> list[Any]:
    """Each lane has a flag; the loop goes on while one of them is on."""
    function, go_on = jaxpr_as_fun(lanes), jaxpr_as_fun(tested)
    own = 1 + form.trips
    inner = form._replace(
        tests=0,
        consts=form.tests + form.consts,
        carry=own + form.carry,
        trips=False,
        masked=True,
    )

    def step(*inputs: Any) -> list[Any]:
        _, _, consts, carry, xs = Operands.of(inputs, True, inner)
        outs = function(carry[0], *consts[form.tests :], *carry[own:], *xs)
        (on,) = go_on(*consts[: form.tests], *outs[: form.carry])
        return [on, *(n + 1 for n in carry[1:own]), *outs]

    (on,) = go_on(*values.tests, *values.carry)
    trips = [jnp.zeros(on.shape, jnp.int32)] * form.trips
    ins = Operands.of(lanes.in_avals[1:], True, form._replace(tests=0))
    state = [*map(jax.typeof, (on, *trips)), *ins.carry]
    avals = [*tested.in_avals[: form.tests], *ins.consts, *state, *ins.xs]
    outs = loop_p.bind(
        *values.tests,
        *values.consts,
        on,
        *trips,
        *values.carry,
        *values.xs,
        test=graph(lambda on, *_: [jnp.any(on)], state),
        body=graph(step, avals),
        form=inner,
    )
    return [*outs[own:], *outs[1:own]]


def _batch_masked(
    axis: Any, args: Sequence[Any], dims: Sequence[Any], test: Any, body: Any, form: LoopForm
) -> tuple[list[Any], list[Any]]:
    """`vmap` of a loop that has lanes already: the flags of those become part of the body."""

    def whole(*args: Any) -> list[Any]:
        operands, inner, shape = unmasked(args, test, body, form, [True] * form.carry)
        outs: list[Any] = loop_p.bind(*operands, test=test, body=inner, form=shape)
        return outs

    ins = Operands.of(body.in_avals, True, form._replace(tests=0))
    xs = [stacked(form.limit, row) for row in ins.xs]
    avals = [*test.in_avals[: form.tests], *ins.consts, *ins.carry, *xs]
    flags = [d is not None for d in dims]
    lanes, out = batch_jaxpr(graph(whole, avals), axis, flags, False)
    outs = jaxpr_as_fun(lanes)(*map(_front, args, dims))
    return outs, [0 if flag else None for flag in out]


batching.fancy_primitive_batchers[loop_p] = _batch
