"""Under `vmap`, loops make no trips in lanes that plain Python would not have sent into them.

Under `vmap`, JAX makes of a branch that differs between lanes both sides and a selection: each side
runs for all lanes, also for those that do not take it. A loop in it may never end there::

    if x > 0:                    In a lane with ``x = -1`` the test stays true forever, and with it
        while x != 1:            the loop of all lanes runs forever.
            x = x // 2

In the same way the body of a loop runs on for lanes that are done, and a loop inside of it may
never end on the values they were left with. Such lanes are called *absent*. A graph gets a flag for
each lane as its first input, which says whether the lane is present, and the loops in the graph ask
it in their tests.

The graphs are changed when lanes differ and not before: a graph that nobody maps stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Primitive, Var, jaxprs_in_params, new_jaxpr_eqn
from jax.extend.core.primitives import call_p, closed_call_p, cond_p, jit_p, remat_p, scan_p
from jax.extend.core.primitives import while_p as jax_loop_p
from jax.interpreters import ad, batching, mlir

from d2s.backends.lax.jaxprs.bounded.flags import either
from d2s.backends.lax.jaxprs.bounded.loop import by_lane, graph, loop_p
from d2s.backends.lax.private import UNSPECIFIED, JaxprInputEffect, batch_jaxpr

_FLAG = ShapedArray((), jnp.dtype(bool))

#: ``present and go_on``: the flag of the lane, and the test of the loop. It is an operation of its
#: own because `vmap` has to know which of the two is which.
asks_p = Primitive("asks")


def _batch_question(args: Sequence[Any], dims: Sequence[Any]) -> tuple[Any, Any]:
    """A test that is the same for all lanes goes on while any of them is present."""
    (on, go), (flags, goes) = args, dims
    if goes is None:
        return asks_p.bind(jnp.any(on, axis=flags), go), None
    go = jnp.moveaxis(go, goes, 0)
    if flags is None:
        on, flags = jnp.broadcast_to(on, (go.shape[0], *on.shape)), 0
    return asks_p.bind(jnp.moveaxis(on, flags, 0), go), 0


def _both(on: Any, go: Any) -> Any:
    """The test may have lanes of its own, behind those of the flag."""
    return by_lane(on, go, jnp.zeros_like(go))


def _derivative(primals: Sequence[Any], _: Sequence[Any]) -> tuple[Any, Any]:
    asked = asks_p.bind(*primals)
    return asked, ad.Zero(jax.typeof(asked).to_tangent_aval())


asks_p.def_impl(_both)
asks_p.def_abstract_eval(lambda on, go: ShapedArray(go.shape, go.dtype))
mlir.register_lowering(asks_p, mlir.lower_fun(_both, multiple_results=False))
batching.primitive_batchers[asks_p] = _batch_question
ad.primitive_jvps[asks_p] = _derivative


@lru_cache(maxsize=1024)
def with_flag(closed: Any) -> Any:
    """The graph with a flag as its first input: no loop in it makes a trip where that is off."""
    on = Var(_FLAG)
    equations = [_asked(equation, on) for equation in closed.jaxpr.eqns]
    return _made(closed, [on, *closed.jaxpr.invars], equations, closed.jaxpr.outvars)


def _made(closed: Any, invars: list[Any], equations: list[Any], outvars: list[Any]) -> Any:
    unknown = closed.jaxpr.debug_info.with_unknown_names()
    jaxpr = closed.jaxpr.replace(invars=invars, eqns=equations, outvars=outvars, debug_info=unknown)
    return ClosedJaxpr(jaxpr, closed.consts)


def _has_loop(jaxpr: Any) -> bool:
    return any(
        equation.primitive in (jax_loop_p, loop_p)
        or any(map(_has_loop, jaxprs_in_params(equation.params)))
        for equation in jaxpr.eqns
    )


def _asked(equation: Any, on: Any) -> Any:
    """An equation with the flag in its loops."""
    rule = _RULES.get(equation.primitive)
    loops = equation.primitive in (jax_loop_p, loop_p)
    inside = any(map(_has_loop, jaxprs_in_params(equation.params)))
    # An effect that numbers the inputs of its equation belongs to a `jax.Ref`. One more input
    # would change the numbers, and JAX does not map such a branch in any case.
    if rule is None or any(isinstance(e, JaxprInputEffect) for e in equation.effects):
        return equation
    return rule(equation, on) if loops or inside else equation


def _test(closed: Any) -> Any:
    """The test of a loop that also asks the flag, its first input."""
    inner = with_flag(closed)
    (go,), on = inner.jaxpr.outvars, inner.jaxpr.invars[0]
    both = Var(go.aval)
    asks = new_jaxpr_eqn([on, go], [both], asks_p, {}, set())
    return _made(inner, inner.jaxpr.invars, [*inner.jaxpr.eqns, asks], [both])


def _while(equation: Any, on: Any) -> Any:
    params, invars = dict(equation.params), list(equation.invars)
    tests = params["cond_nconsts"]
    params |= {
        "cond_jaxpr": _test(params["cond_jaxpr"]),
        "cond_nconsts": tests + 1,
        "body_jaxpr": with_flag(params["body_jaxpr"]),
        "body_nconsts": params["body_nconsts"] + 1,
    }
    return equation.replace(invars=[on, *invars[:tests], on, *invars[tests:]], params=params)


def _loop(equation: Any, on: Any) -> Any:
    test, body, form = (equation.params[name] for name in ("test", "body", "form"))
    invars = list(equation.invars)
    # a loop without a test makes a given number of trips, its first operand: nothing to ask there
    given = form.tests if test is not None else 1
    params = {
        "test": test and _test(test),
        "body": with_flag(body),
        "form": form._replace(tests=form.tests + (test is not None), consts=form.consts + 1),
    }
    flags = [on] if test is not None else []
    return equation.replace(invars=[*flags, *invars[:given], on, *invars[given:]], params=params)


def _cond(equation: Any, on: Any) -> Any:
    index, *operands = equation.invars
    branches = tuple(map(with_flag, equation.params["branches"]))
    return equation.replace(
        invars=[index, on, *operands], params={**equation.params, "branches": branches}
    )


def _scan(equation: Any, on: Any) -> Any:
    params = dict(equation.params)
    params |= {"jaxpr": with_flag(params["jaxpr"]), "num_consts": params["num_consts"] + 1}
    return _with_first(equation, on, params, linear=False)


def _jit(equation: Any, on: Any) -> Any:
    params = {**equation.params, "jaxpr": with_flag(equation.params["jaxpr"])}
    return _with_first(
        equation, on, params, in_shardings=UNSPECIFIED, in_layouts=None, donated_invars=False
    )


def _remat(equation: Any, on: Any) -> Any:
    whole = with_flag(ClosedJaxpr(equation.params["jaxpr"], ()))
    return _with_first(equation, on, {**equation.params, "jaxpr": whole.jaxpr})


def _call(equation: Any, on: Any) -> Any:
    graph = equation.params["call_jaxpr"]
    is_closed = isinstance(graph, ClosedJaxpr)
    whole = with_flag(graph if is_closed else ClosedJaxpr(graph, ()))
    params = {**equation.params, "call_jaxpr": whole if is_closed else whole.jaxpr}
    return _with_first(equation, on, params)


def _with_first(equation: Any, on: Any, params: dict[str, Any], **firsts: Any) -> Any:
    """The equation with one more operand; `firsts` is what parameters say of it, where they do."""
    params |= {name: (one, *params[name]) for name, one in firsts.items() if name in params}
    return equation.replace(invars=[on, *equation.invars], params=params)


_RULES: dict[Any, Callable[[Any, Any], Any]] = {
    jax_loop_p: _while,
    loop_p: _loop,
    cond_p: _cond,
    scan_p: _scan,
    jit_p: _jit,
    remat_p: _remat,
    call_p: _call,
    closed_call_p: _call,
}


@lru_cache(maxsize=1024)
def _sides(branches: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The sides of a branch with a flag for each of them, which are its first operands."""
    if not any(_has_loop(side.jaxpr) for side in branches):
        return None
    made = []
    for number, side in enumerate(map(with_flag, branches)):
        own, *invars = side.jaxpr.invars
        flags = [own if n == number else Var(_FLAG) for n in range(len(branches))]
        made.append(_made(side, [*flags, *invars], side.jaxpr.eqns, side.jaxpr.outvars))
    return tuple(made)


@lru_cache(maxsize=1024)
def _body(test: Any, tests: int, body: Any) -> Any:
    """The body of a loop whose inner loops ask whether the lane is done, by the test of the outer.

    inputs = [operands of the test] [consts] [carry]
    """
    inner = with_flag(body)
    on, *invars = inner.jaxpr.invars
    count = len(test.in_avals) - tests
    given = [Var(aval) for aval in test.in_avals[:tests]]
    operands = [*given, *invars[len(invars) - count :]]
    go = Var(test.out_avals[0])
    asks = [
        new_jaxpr_eqn(operands, [go], closed_call_p, {"call_jaxpr": test}, test.effects),
        # a test that has lanes already says for each of them whether it goes on
        new_jaxpr_eqn([go], [on], closed_call_p, {"call_jaxpr": graph(_any, [go.aval])}, set()),
    ]
    return _made(inner, [*given, *invars], [*asks, *inner.jaxpr.eqns], inner.jaxpr.outvars)


def _any(go: Any) -> list[Any]:
    return [jnp.any(go)]


_jax_cond = batching.fancy_primitive_batchers[cond_p]
_jax_while = batching.fancy_primitive_batchers[jax_loop_p]


def _batch_cond(
    axis: Any, args: Sequence[Any], dims: Sequence[Any], *, branches: Any, **params: Any
) -> Any:
    index, place = args[0], dims[0]
    # a branch by the platform is the same for all lanes
    differs = place is not None and "branches_platforms" not in params
    sides = _sides(branches) if differs else None
    if sides is None:
        return _jax_cond(axis, args, dims, branches=branches, **params)
    flags = [jnp.equal(index, number) for number in range(len(branches))]
    args, dims = [index, *flags, *args[1:]], [place, *(place for _ in flags), *dims[1:]]
    return _jax_cond(axis, args, dims, branches=sides, **params)


def _batch_while(
    axis: Any,
    args: Sequence[Any],
    dims: Sequence[Any],
    *,
    cond_nconsts: int,
    cond_jaxpr: Any,
    body_nconsts: int,
    body_jaxpr: Any,
) -> Any:
    if _has_loop(body_jaxpr.jaxpr):
        flags = [place is not None for place in dims]
        tests, consts = flags[:cond_nconsts], flags[cond_nconsts : cond_nconsts + body_nconsts]
        carry = flags[cond_nconsts + body_nconsts :]
        while True:
            _, out = batch_jaxpr(body_jaxpr, axis, [*consts, *carry], carry)
            if list(out) == carry:
                break
            carry = either(carry, out)
        _, (differs,) = batch_jaxpr(cond_jaxpr, axis, [*tests, *carry], False)
        if differs:
            body_jaxpr = _body(cond_jaxpr, cond_nconsts, body_jaxpr)
            body_nconsts += cond_nconsts
            args, dims = [*args[:cond_nconsts], *args], [*dims[:cond_nconsts], *dims]
    return _jax_while(
        axis,
        args,
        dims,
        cond_nconsts=cond_nconsts,
        cond_jaxpr=cond_jaxpr,
        body_nconsts=body_nconsts,
        body_jaxpr=body_jaxpr,
    )


#: the rules that stand for JAX's own: a branch may be mapped long after it was made
BATCHERS = {cond_p: _batch_cond, jax_loop_p: _batch_while}
