"""``if done: break`` behind work that the rest of the body needs: that is done one trip ahead.

    while more:                         work, done = head(state)
        work, done = head(state)        while more and not done:
        if done:                  ==>       state = rest(state, work)
            break                           work, done = head(state)
        state = rest(state, work)

The head runs once more than in the plain loop, on the last state. So it must be nothing but array
operations, and what it hands on must be flags or integers: a float would have a gradient there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun, jaxprs_in_params
from jax.extend.core.primitives import cond_p, scan_p, while_p

from d2s.backends.lax.jaxprs.bounded.loop import loop_p
from d2s.backends.lax.jaxprs.early_exit import (
    ExitedLoop,
    as_flag,
    inlined,
    is_taken,
    kinds_of,
    needed,
    used_besides,
    with_parts,
)


@dataclass
class Rotated(ExitedLoop):
    """The loop with the work and the answer of the next trip in its carry."""

    head: Any
    is_left: Any

    def start(self, consts: list[Any], values: list[Any]) -> list[Any]:
        return [*values, *jaxpr_as_fun(self.head)(*consts, *values)]

    def finish(self, tests: list[Any], consts: list[Any], values: list[Any]) -> list[Any]:
        left = self.is_left(*tests, *values)
        return self.leave(left, consts, values[: len(self.way_out.jaxpr.outvars)])


def rotate(test: Any, tests: int, body: Any, consts: int, branch: Any, side: int) -> Rotated | None:
    """The loop with its head one trip ahead; None where a program could tell the difference."""
    jaxpr = body.jaxpr
    question = needed(jaxpr, branch.invars[0])
    used = used_besides(jaxpr, branch, question)
    shared = [v for e in question for v in e.outvars if v in used]
    if not _is_plain(question) or any(jnp.issubdtype(v.aval.dtype, jnp.inexact) for v in shared):
        return None
    flag, when = as_flag(with_parts(jaxpr, question, [branch.invars[0]]), side)
    head = with_parts(jaxpr, question, [*shared, flag.outvars[0]])
    is_flag = flag.outvars[0].aval.dtype == jnp.bool_
    known = set(shared)
    rest = jaxpr.replace(
        invars=[*jaxpr.invars, *shared],
        eqns=[e for e in jaxpr.eqns if not known.intersection(e.outvars)],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    stay, leave = inlined(rest, branch, 1 - side), inlined(jaxpr, branch, side)
    heads = ClosedJaxpr(head, [])
    count, both = len(jaxpr.outvars), jaxpr_as_fun(heads)

    def step(*args: Any) -> list[Any]:
        given = args[:consts]
        after = jaxpr_as_fun(stay)(*args[:-1])
        return [*after, *both(*given, *after)]

    def asked(*args: Any) -> tuple[Any, Any]:
        more = jaxpr_as_fun(test)(*args[: tests + count])[0]
        return more, args[-1]

    def going(*args: Any) -> list[Any]:
        more, answer = asked(*args)
        return [jnp.logical_and(more, is_taken(answer, 1 - when, is_flag))]

    def is_left(*args: Any) -> Any:
        more, answer = asked(*args)
        return jnp.logical_and(more, is_taken(answer, when, is_flag))

    ahead = kinds_of(head.outvars)
    new_test = jax.make_jaxpr(going)(*kinds_of(test.jaxpr.invars), *ahead)
    new_body = jax.make_jaxpr(step)(*kinds_of(jaxpr.invars), *ahead)
    reads = [n < tests for n in range(tests + consts)]
    return Rotated(new_test, new_body, reads, None, leave, heads, is_left)


def _is_plain(question: list[Any]) -> bool:
    """Whether the head may run once more, on any state: no loops, branches or callbacks in it."""
    return not any(
        e.primitive in _BLOCKS or e.primitive.name in _CALLBACKS for e in _every(question)
    )


_BLOCKS = frozenset({while_p, loop_p, scan_p, cond_p})
#: JAX exports no operations for its callbacks: their names are all there is to know them by
_CALLBACKS = ("pure_callback", "io_callback")


def _every(eqns: list[Any]) -> Iterator[Any]:
    for equation in eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from _every(getattr(inner, "jaxpr", inner).eqns)
