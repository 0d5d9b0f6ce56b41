"""To a library, a Python number of a graph is a Python number, and an array an array."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

import d2s


class Net(eqx.Module):
    w: jax.Array
    scale: float

    def __call__(self, x):
        return self.scale * jnp.dot(self.w, x)


def same(want, got):
    assert jax.tree.structure(want) == jax.tree.structure(got)
    for a, b in zip(jax.tree.leaves(want), jax.tree.leaves(got), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def fit(m, x, steps):
    for _ in range(steps):
        grads = eqx.filter_grad(lambda m: (m(x) - 1.0) ** 2)(m)
        m = eqx.apply_updates(m, jax.tree.map(lambda a: -0.05 * a, grads))
        if abs(m(x) - 1.0) < 1e-3:
            break
    return m


def test_a_float_field_is_not_trained():
    static = d2s.to_static(fit)
    for scale in (0.5, 0.5, 0.25, 2.0):
        net = Net(jnp.ones(3), scale)
        trained = static(net, jnp.ones(3), 20)
        assert trained.scale == scale
        same(fit(net, jnp.ones(3), 20), trained)


def test_a_float_field_that_the_loop_changes_is_refused():
    def decayed(m, x, n):
        while n > 0:
            m = eqx.tree_at(lambda m: m.scale, m, m.scale * 0.5)
            n = n - 1
        return m(x)

    with pytest.raises(d2s.Error):
        d2s.to_static(decayed)(Net(jnp.ones(3), 0.5), jnp.ones(3), jnp.int32(3))


def test_predicates():
    def kinds(tree):
        found = [eqx.is_array, eqx.is_inexact_array, eqx.is_array_like, eqx.is_inexact_array_like]
        return [[bool(ask(leaf)) for ask in found] for leaf in jax.tree.leaves(tree)]

    static = d2s.to_static(kinds)
    for tree in ({"w": jnp.ones(2), "t": 10.0, "n": 3, "flag": True}, [2, 2.5, jnp.arange(3)]):
        assert static(tree) == kinds(tree)


def test_partition_and_combine():
    def halved(m):
        arrays, rest = eqx.partition(m, eqx.is_inexact_array)
        return eqx.combine(jax.tree.map(lambda a: a / 2, arrays), rest)

    static = d2s.to_static(halved)
    for scale in (0.5, 3.0, 4.0):
        made = static(Net(jnp.ones(2), scale))
        same(halved(Net(jnp.ones(2), scale)), made)
        assert made.scale == scale
    assert bool(d2s.to_static(lambda n: eqx.tree_equal([n], [2.5]))(2.5))
    assert not bool(d2s.to_static(lambda n: eqx.tree_equal([n], [2.5]))(3.5))


def test_a_number_that_was_computed():
    def norm(tree, n):
        tree = {**tree, "count": n + 1}
        arrays = jax.tree.leaves(eqx.filter(tree, eqx.is_inexact_array))
        return sum(jnp.sum(a**2) for a in arrays)

    static = d2s.to_static(norm)
    for n in (1, 2.5):
        same(norm({"w": jnp.ones(2)}, n), static({"w": jnp.ones(2)}, n))


def test_numbers_stay_inputs_for_libraries_that_compute_with_them():
    def step(params, grads, rate):
        tx = optax.sgd(rate)
        updates, _ = tx.update(grads, tx.init(params))
        return optax.apply_updates(params, updates)

    static = d2s.to_static(step)
    for rate in (0.1, 0.2, 0.3):
        same(step(jnp.ones(2), jnp.ones(2), rate), static(jnp.ones(2), jnp.ones(2), rate))
    assert len(static.cache_info().graphs) == 1


class Meter:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):  # it runs as it is
        return 1 if isinstance(other, jax.Array) else 2


def test_code_that_runs_as_it_is_gets_pythons_answer():
    def add(n, x):
        return Meter(0) + n, Meter(0) + x, Meter(0) + x[0] * n, Meter(0) + (n + 1)

    check = d2s.to_static(add)
    for n in (3, 2.5, 4):
        assert check(n, jnp.ones(2)) == add(n, jnp.ones(2))
