"""``if done: break`` at the head of a body: the loop asks before the trip, not in it.

    while more:                            while more and not done(state):
        if done(state):                        state = rest(state)
            state = exit(state)    ==>     if more and done(state):
        else:                                  state = exit(state)
            state = rest(state)

The way out runs once at most, so it need not be in the loop; without the branch the trip is faster,
and much more so on the way back of a gradient. It is done where the question ``done(state)`` is
cheap enough to be asked twice; `rotation` does it where the rest of the body needs its work.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Var, jaxpr_as_fun, jaxprs_in_params
from jax.extend.core.primitives import and_p, cond_p, convert_element_type_p, jit_p, not_p
from jax.interpreters.partial_eval import dce_jaxpr

#: equations that may run twice, in the question and in the trip
CHEAP = 12


@dataclass
class ExitedLoop:
    """The loop with the question in its test, and what is left to do behind it."""

    test: Any
    body: Any
    #: which operands of the old test and of the body the new test reads
    reads: list[bool]
    _asked: Any
    way_out: Any

    def tests(self, tests: list[Any], consts: list[Any]) -> list[Any]:
        given = [*tests, *consts]
        return [value for value, is_read in zip(given, self.reads, strict=True) if is_read]

    def start(self, consts: list[Any], values: list[Any]) -> list[Any]:
        """The carry before the first trip."""
        return values

    def finish(self, tests: list[Any], consts: list[Any], values: list[Any]) -> list[Any]:
        """The state after the loop."""
        left = jaxpr_as_fun(self._asked)(*tests, *consts, *values)[0]
        return self.leave(left, consts, values)

    def leave(self, left: Any, consts: list[Any], values: list[Any]) -> list[Any]:
        """The way out, if the loop was left by it."""
        jaxpr = self.way_out.jaxpr
        inputs = jaxpr.invars[len(consts) :]
        pairs = list(zip(jaxpr.outvars, inputs, strict=True))
        changed = [n for n, (out, given) in enumerate(pairs) if out is not given]
        outvars = [jaxpr.outvars[n] for n in changed]
        smaller = ClosedJaxpr(with_parts(jaxpr, jaxpr.eqns, outvars), [])

        def way_out() -> list[Any]:
            return list(jaxpr_as_fun(smaller)(*consts, *values))

        before = [values[n] for n in changed]
        simple = all(_size(v) == 1 for v in outvars)
        if simple and not any(list(jaxprs_in_params(e.params)) for e in jaxpr.eqns):
            after = [
                jax.lax.select(left, jnp.asarray(a, jnp.asarray(b).dtype), jnp.asarray(b))
                for a, b in zip(way_out(), before, strict=True)
            ]
        else:
            after = jax.lax.cond(left, way_out, lambda: before)
        done = list(values)
        for n, value in zip(changed, after, strict=True):
            done[n] = value
        return done


def way_out(test: Any, tests: int, body: Any, consts: int) -> tuple[Any, int] | None:
    """The branch of a body that leaves the loop, and which side of it does."""
    flags = _flags(test.jaxpr, tests)
    for equation in body.jaxpr.eqns:
        side = _side_that_leaves(equation, body.jaxpr, consts, flags)
        if side is not None:
            return equation, side
    return None


def exit_in_test(
    test: Any, tests: int, body: Any, consts: int, equation: Any, side: int
) -> ExitedLoop | None:
    """The loop with its way out behind it; None where to ask twice would cost too much."""
    jaxpr = body.jaxpr
    question = needed(jaxpr, equation.invars[0])
    if not _is_cheap(jaxpr, equation, question):
        return None
    leaves = with_parts(jaxpr, question, [equation.invars[0]])
    going, asked = _questions(test, tests, ClosedJaxpr(leaves, []), consts, side)
    stay, leave = (inlined(jaxpr, equation, n) for n in (1 - side, side))
    fixed = tests + consts
    keep = [n >= fixed for n in range(len(going.jaxpr.invars))]
    smaller, reads = dce_jaxpr(going.jaxpr, [True], keep)
    going = ClosedJaxpr(smaller, going.consts)
    return ExitedLoop(going, stay, list(reads[:fixed]), asked, leave)


def _flags(test: Any, tests: int) -> set[int]:
    """The parts of the carry that end the loop when they are true."""
    made = {v: e for e in test.eqns for v in e.outvars}
    places = {v: n for n, v in enumerate(test.invars[tests:])}
    found, ways = set(), [test.outvars[0]]
    while ways:
        way = ways.pop()
        equation = None if isinstance(way, Literal) else made.get(way)
        operation = None if equation is None else equation.primitive
        if equation is not None and operation in (and_p, convert_element_type_p):
            ways += equation.invars
        elif equation is not None and operation is not_p and isinstance(equation.invars[0], Var):
            found.update([places[equation.invars[0]]] if equation.invars[0] in places else [])
    return found


def _side_that_leaves(equation: Any, jaxpr: Any, consts: int, flags: set[int]) -> int | None:
    """Which side of a branch sets a flag that the other leaves as it is."""
    if equation.primitive is not cond_p or len(equation.params["branches"]) != 2:
        return None
    sides = [branch.jaxpr for branch in equation.params["branches"]]
    for flag in flags:
        given, out = jaxpr.invars[consts + flag], jaxpr.outvars[flag]
        places = [n for n, v in enumerate(equation.outvars) if v is out]
        for place in places:
            for n, one in enumerate(sides):
                other = sides[1 - n].outvars[place]
                sets = one.outvars[place]
                kept = [
                    v
                    for v, o in zip(sides[1 - n].invars, equation.invars[1:], strict=True)
                    if o is given
                ]
                if isinstance(sets, Literal) and bool(sets.val) and any(v is other for v in kept):
                    return n
    return None


def _size(var: Any) -> int:
    size: int = np.prod(var.aval.shape, dtype=int)
    return size


def needed(jaxpr: Any, var: Any) -> list[Any]:
    """The equations that a value comes from."""
    wanted, found = {var}, []
    for equation in reversed(jaxpr.eqns):
        if any(v in wanted for v in equation.outvars):
            found.append(equation)
            wanted.update(v for v in equation.invars if isinstance(v, Var))
    return found[::-1]


def _is_cheap(jaxpr: Any, branch: Any, question: list[Any]) -> bool:
    """Whether the question may be asked twice: what the trip needs of its work is a few scalars."""
    if any(list(jaxprs_in_params(e.params)) and e.primitive is not jit_p for e in question):
        return False
    used = used_besides(jaxpr, branch, question)
    shared = {v for e in question for v in e.outvars if v in used}
    twice = [e for v in shared for e in needed(jaxpr, v)]
    return len(twice) <= CHEAP and all(_size(v) == 1 for e in twice for v in e.outvars)


def used_besides(jaxpr: Any, branch: Any, question: list[Any]) -> set[Any]:
    """What the rest of the body reads."""
    own = {id(e) for e in question}
    used = {
        v
        for e in jaxpr.eqns
        if id(e) not in own and e is not branch
        for v in e.invars
        if isinstance(v, Var)
    }
    return used | {v for v in (*branch.invars[1:], *jaxpr.outvars) if isinstance(v, Var)}


def is_taken(answer: Any, side: int, is_flag: bool) -> Any:
    """Whether a branch goes to one of its two sides."""
    return answer == side if not is_flag else answer if side else jnp.logical_not(answer)


def kinds_of(variables: Sequence[Any]) -> list[jax.ShapeDtypeStruct]:
    return [jax.ShapeDtypeStruct(v.aval.shape, v.aval.dtype) for v in variables]


def _questions(test: Any, tests: int, leaves: Any, consts: int, side: int) -> tuple[Any, Any]:
    """Whether to go on, and whether the way out is to be taken."""
    which, side = as_flag(leaves.jaxpr, side)
    more = test.jaxpr
    is_flag = which.outvars[0].aval.dtype == jnp.bool_
    carry = more.invars[tests:]
    rename: dict[Any, Any] = dict(zip(which.invars[consts:], carry, strict=True))
    eqns = [*more.eqns, *_renamed(which.eqns, rename)]
    answer = rename.get(which.outvars[0], which.outvars[0])
    inputs = [*more.invars[:tests], *which.invars[:consts], *carry]
    first = ClosedJaxpr(
        more.replace(
            invars=inputs,
            eqns=eqns,
            outvars=[more.outvars[0], answer],
            debug_info=more.debug_info.with_unknown_names(),
        ),
        [],
    )
    both = jaxpr_as_fun(first)

    def going(*args: Any) -> list[Any]:
        more, index = both(*args)
        return [jnp.logical_and(more, is_taken(index, 1 - side, is_flag))]

    def asked(*args: Any) -> list[Any]:
        more, index = both(*args)
        return [jnp.logical_and(more, is_taken(index, side, is_flag))]

    kinds = kinds_of(inputs)
    return jax.make_jaxpr(going)(*kinds), jax.make_jaxpr(asked)(*kinds)


def as_flag(which: Any, side: int) -> tuple[Any, int]:
    """The question whether a branch goes to a side, asked of the flag that its index is made of.

    JAX makes the index of a branch from a flag by a cast. Without it, the answer of the graph
    `which` is the flag itself; the side changes where there was a `not`.
    """
    while True:
        last = next((e for e in which.eqns if which.outvars[0] in e.outvars), None)
        operation = None if last is None else last.primitive
        if last is None or operation not in (convert_element_type_p, not_p):
            return which, side
        (flag,) = last.invars
        if flag.aval.dtype != jnp.bool_:
            return which, side
        side = 1 - side if operation is not_p else side
        which = with_parts(which, [e for e in which.eqns if e is not last], [flag])


def inlined(jaxpr: Any, branch: Any, side: int) -> Any:
    """The graph with one side of a branch in its place."""
    inner = branch.params["branches"][side]
    rename: dict[Any, Any] = dict(zip(inner.jaxpr.invars, branch.invars[1:], strict=True))
    eqns: list[Any] = []
    for equation in jaxpr.eqns:
        if equation is not branch:
            eqns += _renamed([equation], rename)
            continue
        eqns += _renamed(inner.jaxpr.eqns, rename)
        results = [v if isinstance(v, Literal) else rename.get(v, v) for v in inner.jaxpr.outvars]
        rename.update(zip(branch.outvars, results, strict=True))
    outvars = [v if isinstance(v, Literal) else rename.get(v, v) for v in jaxpr.outvars]
    smaller, _ = dce_jaxpr(with_parts(jaxpr, eqns, outvars), [True] * len(outvars), True)
    return ClosedJaxpr(smaller, [])


def _renamed(eqns: Sequence[Any], names: dict[Any, Any]) -> list[Any]:
    return [
        e.replace(invars=[v if isinstance(v, Literal) else names.get(v, v) for v in e.invars])
        for e in eqns
    ]


def with_parts(jaxpr: Any, eqns: Sequence[Any], outvars: Sequence[Any]) -> Any:
    """A graph with other equations and outputs."""
    unknown = jaxpr.debug_info.with_unknown_names()
    return jaxpr.replace(eqns=list(eqns), outvars=list(outvars), debug_info=unknown)
