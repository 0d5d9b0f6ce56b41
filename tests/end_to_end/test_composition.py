"""Converted and static functions under and around jax's transformations."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s


def piecewise(x):
    if x > 1:
        y = x * x
    elif x > 0:
        y = x * 3
    else:
        y = -x
    for k in range(3):
        y = y + jnp.sin(x) * k
    return y


def searched(x):
    n = 0
    while x < 100.0:
        x = x * 3 + 1
        n += 1
        if n > 6:
            break
    return x


def summed(xs):
    total = jnp.float32(0)
    for x in xs:
        if x < 0:
            continue
        total = total + x * x
    return total


POINTS = [jnp.float32(v) for v in (2.0, 0.5, -1.0)]
BOTH = pytest.mark.parametrize("made", [d2s.convert, d2s.to_static], ids=["convert", "to_static"])


@BOTH
@pytest.mark.parametrize("x", POINTS)
def test_gradients_of_branches(made, x):
    function = made(piecewise)
    np.testing.assert_allclose(jax.grad(function)(x), jax.grad(piecewise)(x), rtol=1e-6)
    np.testing.assert_allclose(
        jax.grad(jax.grad(function))(x), jax.grad(jax.grad(piecewise))(x), rtol=1e-6
    )
    got = jax.jvp(function, (x,), (jnp.float32(1),))
    want = jax.jvp(piecewise, (x,), (jnp.float32(1),))
    np.testing.assert_allclose(got, want, rtol=1e-6)


@BOTH
def test_value_and_grad_of_a_loop_over_rows(made):
    xs = jnp.array([1.0, -2.0, 3.0])
    got = jax.jit(jax.value_and_grad(made(summed)))(xs)
    want = jax.value_and_grad(summed)(xs)
    np.testing.assert_allclose(got[0], want[0])
    np.testing.assert_allclose(got[1], want[1])


@BOTH
def test_forward_mode_through_a_while(made):
    for x in POINTS:
        got = jax.jvp(made(searched), (x,), (jnp.float32(1),))
        want = jax.jvp(searched, (x,), (jnp.float32(1),))
        np.testing.assert_allclose(got, want, rtol=1e-5)


@BOTH
@pytest.mark.parametrize("function", [piecewise, searched])
def test_vmap_is_a_loop_over_examples(made, function):
    xs = jnp.stack(POINTS)
    want = jnp.stack([function(x) for x in xs])
    np.testing.assert_allclose(jax.vmap(made(function))(xs), want, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.vmap(made(function)))(xs), want, rtol=1e-6)
    if function is piecewise:
        slopes = jnp.stack([jax.grad(function)(x) for x in xs])
        np.testing.assert_allclose(jax.vmap(jax.grad(made(function)))(xs), slopes, rtol=1e-6)


def loss(w, x):
    if w > x:
        return (w - x) ** 2
    return jnp.abs(w - x)


def step(w, x):
    slope = jax.grad(loss)(w, x)
    if slope > 0:
        w = w - 0.1 * slope
    else:
        w = w + 0.1
    return w


def mapped(xs):
    return jax.vmap(lambda x: x * 2 if x > 0 else -x)(xs)


def compiled_inside(x):
    return jax.jit(piecewise)(x) + jax.checkpoint(piecewise)(x)


def scanned(xs):
    def body(carry, x):
        if x > carry:
            carry = x
        return carry, carry

    return jax.lax.scan(body, jnp.float32(0), xs)


def folded(xs):
    return functools.reduce(lambda a, b: a if a > b else b, [xs[0], xs[1], xs[2]])


def test_functions_handed_to_transformations_are_converted():
    static = d2s.to_static(step)
    for w, x in ((3.0, 1.0), (1.0, 3.0)):
        w, x = jnp.float32(w), jnp.float32(x)
        np.testing.assert_allclose(static(w, x), step(w, x), rtol=1e-6)
    xs = jnp.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(d2s.to_static(mapped)(xs), [2.0, 2.0, 6.0])
    x = POINTS[1]
    np.testing.assert_allclose(d2s.to_static(compiled_inside)(x), 2 * piecewise(x), rtol=1e-6)
    last, all_of_them = d2s.to_static(scanned)(xs)
    assert float(last) == 3.0
    np.testing.assert_allclose(all_of_them, [1.0, 1.0, 3.0])
    assert float(d2s.to_static(folded)(xs)) == 3.0


@d2s.to_static
def inner(x):
    if x < 0:
        raise ValueError(f"negative: {x:.1f}")
    return x * 2


@d2s.to_static
def outer(x):
    y = inner(x) + 1
    while y < 10:
        y = inner(y)
    return y


@d2s.to_static
def forgiving(x):
    try:
        y = inner(x)
    except ValueError:
        y = x * 0
    return y


def test_static_functions_inside_static_functions():
    assert float(outer(jnp.float32(1))) == 12.0
    assert float(outer(jnp.float32(1))) == 12.0
    with pytest.raises(ValueError, match=r"^negative: -1\.0$"):
        outer(jnp.float32(-1))
    assert float(forgiving(jnp.float32(-3))) == 0.0
    assert float(forgiving(jnp.float32(3))) == 6.0


def test_an_error_code_passes_to_the_caller_or_through_a_callback():
    assert float(jax.jit(inner)(jnp.float32(2))) == 4.0
    for failing in (jax.jit(inner), jax.jit(d2s.convert(inner))):
        with pytest.raises(Exception, match=r"negative: -1\.0"):
            jax.block_until_ready(failing(jnp.float32(-1)))
            jax.effects_barrier()
    with pytest.raises(Exception, match=r"negative: -2\.0"):
        jax.block_until_ready(jax.vmap(inner)(jnp.array([1.0, -2.0])))
        jax.effects_barrier()
    doubled = d2s.to_static(lambda xs: jax.vmap(inner)(xs))
    np.testing.assert_allclose(doubled(jnp.array([1.0, 2.0])), [2.0, 4.0])
    with pytest.raises(ValueError, match=r"negative: -2\.0"):
        doubled(jnp.array([1.0, -2.0]))
