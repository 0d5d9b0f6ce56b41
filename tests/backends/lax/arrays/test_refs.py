"""References of JAX's (`jax.new_ref`): read and written in a graph as by plain code."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

R = jax.new_ref(jnp.zeros(3))
SCENARIOS = []


class Holder:
    shared = jax.new_ref(jnp.zeros(2))

    def __init__(self):
        self.r = jax.new_ref(jnp.zeros(3))


def scenario(function):
    SCENARIOS.append(function)
    return function


def leaves(value):
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in leaves(part)]
    return [np.asarray(value)]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
def test_references(scenario):
    R[...] = jnp.zeros(3)
    expected = leaves(scenario(lambda f: f))
    R[...] = jnp.zeros(3)
    found = leaves(scenario(d2s.to_static))
    assert len(expected) == len(found)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def three(f, *more):
    return [f(2.0, *more), f(3.0, *more), f(2.0, *more)]


@scenario
def global_name(S):
    def f(x):
        R[0] += x
        R[1:] = R[1:] * 2 + 1
        return R[...].sum() + R.shape[0] + len(R)

    return three(S(f)), R[...]


@scenario
def argument(S):
    def f(x, r):
        r[0] = r[0] + x
        return r[...].sum()

    r = jax.new_ref(jnp.ones(3))
    return three(S(f), r), r[...]


@scenario
def attribute_and_list(S):
    o, refs = Holder(), [jax.new_ref(jnp.ones(2)), jax.new_ref(jnp.int32(3))]

    def f(x):
        o.r[1] += x
        refs[0][...] = refs[0][...] * x
        refs[1][...] += 1
        return o.r[...].sum() * refs[1][...]

    return three(S(f)), o.r[...], refs[0][...], refs[1][...]


@scenario
def two_names(S):
    r = jax.new_ref(jnp.zeros(2))
    refs = [r, r]

    def f(x):
        refs[0][0] += x
        return refs[1][...].sum() + r[0]

    return three(S(f)), r[...]


@scenario
def local(S):
    def f(x):
        r = jax.new_ref(jnp.zeros(3))
        for i in range(3):
            r[i] = x * i
        return r[...], jax.freeze(r)

    return three(S(f))


@scenario
def branch_and_loop(S):
    def f(x, n):
        if x > 2.5:
            R[0] += x
        for i in range(n):
            R[i] = R[i] + i
        while R[2] < x:
            R[2] += 1.0
        return R[...].sum()

    return three(S(f), jnp.int32(3)), R[...]


@scenario
def failure(S):
    def f(x):
        R[0] += x
        if x > 2.5:
            raise ValueError("large")
        R[1] += x
        return x

    g = S(f)
    seen = [g(2.0), R[...]]
    with pytest.raises(ValueError, match="large"):
        g(3.0)
    return [*seen, R[...]]


@scenario
def caught(S):
    def f(x):
        try:
            R[0] += x
            if x > 2.5:
                raise ValueError
            R[1] += x
        except ValueError:
            R[2] += x
        return R[...]

    return three(S(f))


@scenario
def changed_outside(S):
    f = S(lambda x: R[...] * x)
    seen = [f(2.0)]
    R[0] = 7.0
    return [*seen, f(2.0), f(1.0)]


@scenario
def returned(S):
    def f(x):
        r = jax.new_ref(x * 2)
        r[0] += 1
        return r, R

    made, same = S(f)(jnp.ones(2))
    assert same is R
    made[1] = 5.0
    return made[...]


@scenario
def gradient(S):
    def f(x):
        def loss(w):
            r = jax.new_ref(w)
            r[0] = r[0] * x
            return (r[...] ** 2).sum()

        return jax.grad(loss)(jnp.ones(2))

    return three(S(f))


@scenario
def asked_what_it_is(S):
    return S(lambda x: x if isinstance(R, jax.Ref) else -x)(1.0)


@scenario
def wrong_dtype(S):
    def f(x):
        try:
            R[0] = jnp.int32(1)
        except ValueError:
            return x
        return -x

    return three(S(f))


def of_a_class(x):
    Holder.shared[0] += x
    return x


def handed_on(x):
    return jax.lax.fori_loop(0, 3, lambda i, r: r, R)


def by_the_address(x):
    return x + len(str(R.sharding))


@pytest.mark.parametrize("function", [of_a_class, handed_on, by_the_address])
def test_references_that_are_refused(function):
    before = Holder.shared[...]
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(function)(jnp.float32(2))
    assert caught.value.code == "D2S081"
    assert caught.value.site.line
    np.testing.assert_array_equal(before, Holder.shared[...])
