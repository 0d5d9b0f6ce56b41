"""Reverse mode of loops without a bound: `with d2s.options(checkpoints=...)`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

W = jnp.array([[0.9, 0.1], [-0.2, 0.8]])


def exact(w, x, trips):
    """The same by Python's own loop: jax keeps everything."""
    for n in range(trips):
        x = jnp.tanh(w @ x) * 0.99 + 0.001 * n
    return jnp.sum(x**2)


def halved(x, goal):
    while x > goal:
        x = x * 0.75
    return x * x


def with_checkpoints(function, count):
    def run(*args):
        with d2s.options(checkpoints=count):
            return d2s.convert(function)(*args)

    return run


def run(w, x, steps, checkpoints):
    """So many trips that only the graph knows."""

    def loop(w, x, steps):
        n = jnp.float32(0)
        while n < steps:
            x = jnp.tanh(w @ x) * 0.99 + 0.001 * n
            n = n + 1
        return jnp.sum(x**2)

    return with_checkpoints(loop, checkpoints)(w, x, steps)


@pytest.mark.full
@pytest.mark.parametrize("trips", [0, 1, 2, 3, 4, 5, 8, 9, 16, 17, 31, 70])
@pytest.mark.parametrize("checkpoints", [1, 3, 4, 100])
def test_gradients_are_exact(trips, checkpoints):
    x = jnp.array([1.0, -0.5])
    ours = jax.jit(jax.value_and_grad(run, (0, 1)), static_argnums=3)
    value, found = ours(W, x, jnp.float32(trips), checkpoints)
    wanted, expected = jax.value_and_grad(exact, (0, 1))(W, x, trips)
    np.testing.assert_allclose(value, wanted, rtol=1e-5)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_lanes_with_different_trips():
    xs = jnp.array([1.0, 10.0, 0.1, 500.0])
    made = d2s.to_static(with_checkpoints(halved, 2))
    ours = jax.vmap(jax.grad(made), (0, None))(xs, jnp.float32(0.5))
    plain = [jax.grad(with_checkpoints(halved, 50))(x, jnp.float32(0.5)) for x in xs]
    np.testing.assert_allclose(ours, jnp.stack(plain), rtol=1e-5)


def test_value_is_that_of_the_plain_loop():
    x, goal = jnp.float32(37.0), jnp.float32(0.5)
    assert d2s.to_static(with_checkpoints(halved, 4))(x, goal) == halved(x, goal)


def test_a_bound_is_preferred():
    """A loop with a bound of its own needs no checkpoints, and keeps all modes."""

    @d2s.to_static
    def bounded(x, goal):
        with d2s.options(checkpoints=4):
            for _ in range(20):
                if x < goal:
                    break
                x = x * 0.75
        return x

    value, tangent = jax.jvp(bounded, (jnp.float32(8), jnp.float32(1)), (1.0, 0.0))
    assert value < 1
    assert tangent == value / 8


def test_settings_do_not_leak():
    with d2s.options(checkpoints=4):
        pass
    with pytest.raises(d2s.StagingError, match=r"D2S043(.|\n)*checkpoints"):
        jax.grad(d2s.to_static(halved))(jnp.float32(8), jnp.float32(1))


@pytest.mark.parametrize("count", [0, -3])
def test_wrong_number(count):
    with pytest.raises(d2s.Error, match=r"D2S033(.|\n)*checkpoints"):
        d2s.options(checkpoints=count)


def test_memory_does_not_grow_with_the_trips():
    """The graph has room for so many states and no more."""
    graph = jax.make_jaxpr(jax.grad(run, 1), static_argnums=3)(W, jnp.ones(2), jnp.float32(9), 6)
    sizes = {v.aval.shape[0] for v in _outs(graph.jaxpr) if len(v.aval.shape) == 2}
    assert max(sizes) == 7


def _outs(jaxpr):
    for equation in jaxpr.eqns:
        yield from equation.outvars
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from _outs(getattr(inner, "jaxpr", inner))
