"""The primitive: what it takes and gives, and what it means in terms of `lax.while_loop`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import Primitive, jaxpr_as_fun
from jax.interpreters import mlir

from d2s.errors import Site

COUNT = ShapedArray((), jnp.dtype("int32"))


class LoopForm(NamedTuple):
    """How many operands of each kind there are, and what kind of loop it is.

    operands       = [count if there is no test] [tests] [consts] [carry] [xs]
    inputs of test = [tests] [carry]
    inputs of body = [consts] [carry] [row of each of xs]
    its outputs    = [carry] [row of each of ys]
    results        = [carry] [ys] [trips?]
    """

    #: how many operands the test alone reads, the body alone reads, and a trip changes
    tests: int
    consts: int
    carry: int
    #: the most trips that there can be; None where no bound is known: no reverse mode then
    limit: int | None
    #: whether the loop has to count trips to keep the limit; otherwise its test does
    checked: bool = True
    #: whether the number of trips is a result
    trips: bool = False
    #: whether rows are read and written from the last to the first
    reverse: bool = False
    #: whether the first of the carry is a flag for each lane; lanes that are off keep their values
    masked: bool = False
    #: the line of the user's that the loop stands in
    site: Site | None = None

    def __str__(self) -> str:
        """What a reader of the graph may want to know."""
        place = "" if self.site is None else f"line {self.site.line}, "
        return f"{place}{'any number of' if self.limit is None else f'at most {self.limit}'} trips"


class Operands(NamedTuple):
    """Operands of the loop, or what is known of each of them, by kind."""

    number: list[Any]
    tests: list[Any]
    consts: list[Any]
    carry: list[Any]
    xs: list[Any]

    @classmethod
    def of(cls, args: Sequence[Any], test: Any, form: LoopForm) -> Operands:
        rest = list(args)

        def take(number: int) -> list[Any]:
            taken = rest[:number]
            del rest[:number]
            return taken

        first = take(int(test is None)), take(form.tests), take(form.consts), take(form.carry)
        return cls(*first, rest)

    def all(self) -> list[Any]:
        return [*self.number, *self.tests, *self.consts, *self.carry, *self.xs]


loop_p = Primitive("bounded_while")
loop_p.multiple_results = True


def rows(body: Any, form: LoopForm) -> list[Any]:
    """Types of the rows of ys."""
    return list(body.out_avals[form.carry :])


def _abstract(*_: Any, test: Any, body: Any, form: LoopForm) -> list[Any]:
    carry = body.out_avals[: form.carry]
    ys = [stacked(form.limit, row) for row in rows(body, form)]
    return [*carry, *ys, *([COUNT] if form.trips else [])]


def stacked(limit: int | None, row: Any) -> Any:
    return ShapedArray((limit, *row.shape), row.dtype)


def run(*args: Any, test: Any, body: Any, form: LoopForm) -> list[Any]:
    """What the primitive means, by `lax.while_loop`."""
    if form.masked:
        operands, body, form = unmasked(args, test, body, form)
        return run(*operands, test=test, body=body, form=form)
    number, tests, consts, carry, xs = Operands.of(args, test, form)
    made = rows(body, form)
    if test is not None and not (form.checked or form.trips or xs or made):
        whole: list[Any] = jax.lax.while_p.bind(
            *tests,
            *consts,
            *carry,
            cond_nconsts=form.tests,
            cond_jaxpr=test,
            body_nconsts=form.consts,
            body_jaxpr=body,
        )
        return whole
    go_on, step = test and jaxpr_as_fun(test), jaxpr_as_fun(body)

    def going(state: Any) -> Any:
        at, carry, _ = state
        if go_on is None:
            return at >= 0 if form.reverse else at < number[0]
        (go,) = go_on(*tests, *carry)
        return jnp.logical_and(at < form.limit, go) if form.checked else go

    def trip(state: Any) -> Any:
        at, carry, ys = state
        row = partial(jax.lax.dynamic_index_in_dim, keepdims=False, allow_negative_indices=False)
        outs = step(*consts, *carry, *(row(x, at) for x in xs))
        put = partial(
            jax.lax.dynamic_update_index_in_dim, index=at, axis=0, allow_negative_indices=False
        )
        ys = [put(y, new) for y, new in zip(ys, outs[form.carry :], strict=True)]
        return at - 1 if form.reverse else at + 1, outs[: form.carry], ys

    start = number[0] - 1 if form.reverse else jnp.int32(0)
    ys = [jnp.zeros((form.limit, *row.shape), row.dtype) for row in made]
    at, carry, ys = jax.lax.while_loop(going, trip, (start, carry, ys))
    return [*carry, *ys, *([at] if form.trips else [])]


def unmasked(
    args: Sequence[Any], test: Any, body: Any, form: LoopForm, safe: Sequence[bool] = ()
) -> tuple[list[Any], Any, LoopForm]:
    """The same loop, with the flags of the lanes in its body.

    `safe` says which of the carry must not reach the body in lanes that are off: their last values
    are those for which the test said no, and the derivative of the body need not exist there. They
    get what the lane started with, or another lane if this one never was on.
    """
    operands = Operands.of(args, test, form)
    carry = operands.carry
    guarded = [n for n, is_safe in enumerate(safe) if is_safe and n > 0 and carry[0].size]
    on, stand_ins = carry[0], []
    for n in guarded:
        other = jax.lax.dynamic_index_in_dim(carry[n], jnp.argmax(on), keepdims=True)
        start = jax.lax.stop_gradient(carry[n])
        stand_ins.append(by_lane(on, start, jnp.broadcast_to(other, carry[n].shape)))
    function = jaxpr_as_fun(body)

    def step(*inputs: Any) -> list[Any]:
        _, _, consts, carry, xs = Operands.of(inputs, True, form._replace(tests=0, consts=total))
        given, on = list(carry), carry[0]
        for n, stand_in in zip(guarded, consts[form.consts :], strict=True):
            given[n] = by_lane(on, carry[n], stand_in)
        outs = function(*consts[: form.consts], *given, *xs)
        new = [by_lane(on, n, c) for n, c in zip(outs, carry, strict=False)]
        return [*new, *outs[form.carry :]]

    total = form.consts + len(guarded)
    avals = list(body.in_avals)
    avals[form.consts : form.consts] = [body.in_avals[form.consts + n] for n in guarded]
    operands.consts.extend(stand_ins)
    return operands.all(), graph(step, avals), form._replace(consts=total, masked=False)


def by_lane(on: Any, one: Any, other: Any) -> Any:
    """One value in the lanes that are on, the other elsewhere."""
    return jnp.where(on.reshape(on.shape + (1,) * (one.ndim - on.ndim)), one, other)


def graph(function: Callable[..., list[Any]], avals: Sequence[Any]) -> Any:
    """The graph of a function that closes over nothing."""
    return jax.make_jaxpr(function)(*(jax.ShapeDtypeStruct(a.shape, a.dtype) for a in avals))


@lru_cache(maxsize=256)
def _compiled(test: Any, body: Any, form: LoopForm) -> Callable[..., list[Any]]:
    return jax.jit(partial(run, test=test, body=body, form=form))


def _evaluate(*args: Any, test: Any, body: Any, form: LoopForm) -> list[Any]:
    return _compiled(test, body, form)(*args)


loop_p.def_impl(_evaluate)
loop_p.def_abstract_eval(_abstract)
mlir.register_lowering(loop_p, mlir.lower_fun(run, multiple_results=True))
