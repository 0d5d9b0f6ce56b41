"""The models that papers of this field start with."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import d2s

X = jnp.arange(6.0).reshape(3, 2)
W1 = jnp.ones((4, 3))
W2 = -jnp.ones((4, 3))
B = jnp.float32(0.5)


def two_branches(flag):
    if flag > 0:
        y = jnp.matmul(W1, X)
    else:
        y = jnp.matmul(W2, X)
    y = y + B
    return jax.nn.relu(y)


def test_both_branches_are_in_one_graph_and_picked_at_run_time():
    static = d2s.to_static(two_branches)
    for flag in (1.0, -1.0, 2.0):
        flag = jnp.float32(flag)
        np.testing.assert_allclose(static(flag), two_branches(flag))
    graph = jax.make_jaxpr(d2s.convert(two_branches))(jnp.float32(1))
    (branch,) = [e for e in graph.eqns if e.primitive.name == "cond"]
    for side in branch.params["branches"]:
        assert "dot_general" in str(side)


@d2s.to_static
def add_and_relu(x, b):
    y = x + b
    if y.sum() > 0:
        return jax.nn.relu(y)
    return y * 0.0


def test_a_static_function_inside_an_eager_model():
    def model(w, x):
        return jnp.sum(add_and_relu(x @ w, 0.5) ** 2)

    def plain(w, x):
        return jnp.sum(add_and_relu.original(x @ w, 0.5) ** 2)

    w, x = jnp.array([[1.0, -2.0], [0.5, 1.0]]), jnp.array([[1.0, 2.0], [-1.0, 3.0]])
    np.testing.assert_allclose(model(w, x), plain(w, x), rtol=1e-6)
    for argument in (0, 1):
        got, want = jax.grad(model, argument)(w, x), jax.grad(plain, argument)(w, x)
        np.testing.assert_allclose(got, want, rtol=1e-6)


class Adder:
    def __init__(self, z):
        self.z = z

    @d2s.to_static
    def add_three_times(self, x):
        for _ in range(3):
            x = x + self.z
        return x

    @d2s.to_static
    def projected(self, x, y):
        return jnp.sum((x * self.z) @ y)


def test_a_loop_in_a_method():
    adder = Adder(jnp.array([1]))
    np.testing.assert_array_equal(adder.add_three_times(jnp.array([1, 2, 3])), [4, 5, 6])
    np.testing.assert_array_equal(adder.add_three_times(jnp.array([0, 0, 0])), [3, 3, 3])
    adder.z = jnp.array([10])
    np.testing.assert_array_equal(adder.add_three_times(jnp.array([1, 2, 3])), [31, 32, 33])


def test_the_gradient_through_a_static_method():
    adder = Adder(jnp.array([2.0, 3.0]))
    x, y = jnp.array([[1.0, 2.0], [3.0, 4.0]]), jnp.array([[1.0], [-1.0]])
    got = jax.grad(lambda x: adder.projected(x, y))(x)
    want = jax.grad(lambda x: jnp.sum((x * adder.z) @ y))(x)
    np.testing.assert_allclose(got, want)
