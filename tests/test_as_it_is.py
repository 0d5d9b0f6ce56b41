"""What d2s does not convert says so, once; what it tried in vain leaves nothing behind."""

from __future__ import annotations

import logging
import pickle

import jax
import jax.numpy as jnp

import d2s


def counted(n):
    for i in range(n):
        yield i


@d2s.do_not_convert
def marked(x):
    return x + 1


async def later(x):
    return x


def summed(x):
    for i in counted(3):
        x = x + i
    return marked(x)


def test_a_generator_says_once_why_it_runs_as_it_is(caplog):
    with caplog.at_level(logging.WARNING, logger="d2s"):
        static = d2s.to_static(summed)
        assert [float(static(jnp.float32(x))) for x in (1, 2)] == [5.0, 6.0]
        assert [d2s.convert(summed)(x) for x in (1, 2)] == [5, 6]
    told = [record.getMessage() for record in caplog.records if "counted" in record.getMessage()]
    assert len(told) == 1
    assert "it is a generator" in told[0]
    assert f"{__file__}:{counted.__code__.co_firstlineno}" in told[0]


def test_generators_and_coroutines_are_what_they_were():
    for change in (d2s.convert, d2s.to_static):
        assert change(counted) is counted
        assert change(later) is later
        assert list(change(counted)(3)) == [0, 1, 2]


def positions(x):
    """The trial of a staged loop fails: the body needs its position as a Python value."""
    total = 0.0
    for i, row in enumerate(x):
        total = total + row * {0: 1.0, 1: 10.0, 2: 100.0}[i]
    return total


def by_hand(x):
    total = 0.0
    for i in range(3):
        total = total + x[i] * [1.0, 10.0, 100.0][i]
    return total


def test_a_failed_trial_leaves_no_equation():
    x = jnp.arange(3.0)
    assert float(d2s.to_static(positions)(x)) == float(by_hand(x)) == 210.0
    primitives = [
        [equation.primitive.name for equation in jax.make_jaxpr(f)(x).eqns]
        for f in (d2s.convert(positions), by_hand)
    ]
    assert len(primitives[0]) <= len(primitives[1])
    assert not {"scan", "while", "cond"} & set(primitives[0])


@d2s.to_static
def pickled(x):
    return x + 1 if x > 0 else x


def test_a_static_function_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(pickled)) is pickled
    again = pickle.loads(pickle.dumps(d2s.to_static(positions)))
    assert float(again(jnp.arange(3.0))) == 210.0


@jax.custom_vjp
def sized(x):
    if x > 0:
        return x * 2.0
    return x


def _forward(x):
    return sized(x), x


def _backward(x, ct):
    if x > 0:
        return (ct * 100.0,)
    return (ct * 7.0,)


sized.defvjp(_forward, _backward)
jitted = jax.jit(sized)
mapped = jax.vmap(sized)
again = jax.checkpoint(sized)


@d2s.to_static
def wrapped(x):
    return jitted(x) + mapped(x[None])[0] + again(x)


def test_bodies_behind_wrappers_are_converted_and_keep_their_gradient():
    for x in (2.0, -2.0):
        value = 3 * (2 * x if x > 0 else x)
        assert float(wrapped(jnp.float32(x))) == value
        assert float(jax.grad(wrapped)(jnp.float32(x))) == 3 * (100.0 if x > 0 else 7.0)


def chain(n, x):
    match n:
        case 0:
            return x
        case 1 | 2:
            return -x
        case 7:
            raise ValueError("seven")
        case _:
            return x * x


def test_a_chain_of_integers_is_one_switch():
    jaxpr = jax.make_jaxpr(d2s.convert(chain))(1, 2.0)
    branches = [len(e.params["branches"]) for e in jaxpr.eqns if e.primitive.name == "cond"]
    assert branches == [4]
