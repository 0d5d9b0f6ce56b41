"""Reverse mode of a loop without a bound: some states are kept, the others are computed again.

The run keeps at most `count` states, evenly apart; when there is no room left, every second one is
dropped. With ``count = 4`` the states before these trips are kept ::

    after 4 trips   0  1  2  3
    after 8 trips   0  2  4  6
    after 9 trips   0  4  8

The way back goes from the last kept state to the first: it runs the trips after that state again,
keeps at most `count` states of those, and goes back through them trip by trip. So memory does not
depend on the number of trips, and up to ``count ** 2`` trips each is computed twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import jaxpr_as_fun

from d2s.backends.lax.jaxprs.bounded.flags import chosen, merged, others

State = list[Any]


def checkpointed_while(
    test: Any, tests: State, body: Any, consts: State, values: State, count: int
) -> State:
    """``while test(tests, state): state = body(consts, state)``, with gradients by reverse mode."""
    go_on, step = jaxpr_as_fun(test), jaxpr_as_fun(body)
    count += count % 2

    def going(tests: State, carry: State) -> Any:
        return go_on(*tests, *carry)[0]

    @jax.custom_vjp
    def run(tests: State, consts: State, values: State) -> State:
        return list(
            jax.lax.while_loop(partial(going, tests), lambda carry: step(*consts, *carry), values)
        )

    def forward(tests: State, consts: State, values: State) -> tuple[State, Any]:
        def trip(state: Any) -> Any:
            at, apart, kept, carry = state
            full = at == count * apart
            kept, apart = jax.lax.cond(full, _thinned, lambda *same: same, kept, apart)
            kept = _put(kept, jnp.where(at % apart == 0, at // apart, count), carry)
            return at + 1, apart, kept, step(*consts, *carry)

        start = jnp.int32(0), jnp.int32(1), _room(values, count), values
        trips, apart, kept, carry = jax.lax.while_loop(lambda s: going(tests, s[3]), trip, start)
        return list(carry), (trips, apart, kept, tests, consts)

    def backward(residuals: Any, cotangents: State) -> tuple[State, State, State]:
        trips, apart, kept, tests, consts = residuals
        trip = _TripAndBack(step, consts, _at(kept, 0))

        def part(state: Any) -> Any:
            number, *cts = state
            first = number * apart
            length = jnp.minimum(apart, trips - first)
            return number - 1, *_back(trip, _at(kept, number), length, count, *cts)

        sums = [jnp.zeros_like(c) for c in chosen(trip.float_consts, consts)]
        moving = chosen(trip.float_carry, cotangents)
        last = (trips + apart - 1) // apart - 1
        _, sums, moving = jax.lax.while_loop(lambda s: s[0] >= 0, part, (last, sums, moving))
        none: State = [None] * len(consts)
        return (
            [None] * len(tests),
            merged(trip.float_consts, sums, others(trip.float_consts, none)),
            merged(trip.float_carry, moving, [None] * trip.float_carry.count(False)),
        )

    run.defvjp(forward, backward)
    return run(tests, consts, values)


class _TripAndBack:
    """One trip of the loop, and its way back."""

    def __init__(self, step: Any, consts: State, carry: State) -> None:
        self._step, self._consts = step, consts
        self.float_consts, self.float_carry = map(_floats, (consts, carry))

    def forward(self, carry: State) -> State:
        return list(self._step(*self._consts, *carry))

    def back(self, carry: State, sums: State, cts: State) -> tuple[State, State]:
        def moved(consts: State, floats: State) -> State:
            given = merged(self.float_consts, consts, others(self.float_consts, self._consts))
            fixed = others(self.float_carry, carry)
            outs = self._step(*given, *merged(self.float_carry, floats, fixed))
            return chosen(self.float_carry, outs)

        consts = chosen(self.float_consts, self._consts)
        _, pull = jax.vjp(moved, consts, chosen(self.float_carry, carry))
        more, cts = pull(cts)
        return [one + other for one, other in zip(sums, more, strict=True)], cts


def _back(
    trip: _TripAndBack, start: State, length: Any, count: int, sums: State, cts: State
) -> Any:
    """The way back through `length` trips from a state on; some states between are kept."""
    apart = (length + count - 1) // count

    def again(at: Any, state: Any) -> Any:
        kept, carry = state
        place = jnp.where(at % apart == 0, at // apart, count)
        return _put(kept, place, carry), trip.forward(carry)

    kept, _ = jax.lax.fori_loop(0, length, again, (_room(start, count), start))

    def one(state: Any) -> Any:
        at, *rest = state
        near = at // apart
        carry = _at(kept, near)
        carry = jax.lax.fori_loop(near * apart, at, lambda _, carry: trip.forward(carry), carry)
        return at - 1, *trip.back(carry, *rest)

    return jax.lax.while_loop(lambda state: state[0] >= 0, one, (length - 1, sums, cts))[1:]


def _thinned(kept: State, apart: Any) -> tuple[State, Any]:
    """Every second state, moved to the first half of the room; they are twice as far apart."""
    half = [jnp.concatenate([k[:-1:2], jnp.zeros_like(k[: (len(k) + 1) // 2])]) for k in kept]
    return half, apart * 2


def _room(values: Sequence[Any], count: int) -> State:
    """Room for so many states, and for one more, where those are written that nobody keeps."""
    return [jnp.zeros((count + 1, *v.shape), v.dtype) for v in map(jnp.asarray, values)]


def _put(kept: State, place: Any, carry: Sequence[Any]) -> State:
    return [
        jax.lax.dynamic_update_index_in_dim(k, jnp.asarray(c), place, 0)
        for k, c in zip(kept, carry, strict=True)
    ]


def _at(kept: State, place: Any) -> State:
    return [jax.lax.dynamic_index_in_dim(k, place, keepdims=False) for k in kept]


def _floats(values: State) -> list[bool]:
    return [bool(jnp.issubdtype(jnp.asarray(v).dtype, jnp.inexact)) for v in values]
