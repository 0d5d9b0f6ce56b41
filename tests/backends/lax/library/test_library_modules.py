"""Objects of libraries as static functions: their code runs as it is, their arrays are inputs."""

from __future__ import annotations

import copy

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import linen as nn
from flax import nnx

import d2s

X = jnp.arange(6.0).reshape(3, 2) - 2


def perceptron(**options):
    return eqx.nn.MLP(2, 2, 4, 1, key=jax.random.key(0), **options)


@pytest.mark.parametrize(
    ("make", "x"),
    [
        (perceptron, X[0]),
        (lambda: nnx.Linear(2, 3, rngs=nnx.Rngs(0)), X),
        (lambda: nnx.BatchNorm(2, rngs=nnx.Rngs(0)), X),
        (lambda: nnx.Dropout(0.5, rngs=nnx.Rngs(0)), X),
        (lambda: nnx.Sequential(nnx.Linear(2, 2, rngs=nnx.Rngs(0)), jnp.tanh), X),
    ],
    ids=["equinox", "flax", "statistics", "random", "several"],
)
def test_a_module_of_a_library(make, x, tmp_path):
    plain, static = make(), d2s.to_static(make())
    d2s.save(make(), tmp_path / "f.d2s", d2s.spec(f"f32{list(x.shape)}"))
    loaded = d2s.load(tmp_path / "f.d2s")
    for n in range(3):
        expected = plain(x * n)
        np.testing.assert_allclose(static(x * n), expected, rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(loaded(x * n), expected, rtol=1e-5, atol=1e-6)


def test_its_arrays_are_inputs():
    linear = nnx.Linear(2, 3, rngs=nnx.Rngs(0))
    static = d2s.to_static(linear)
    assert static(X).any()
    linear.kernel[...] = linear.kernel[...] * 0
    assert not static(X).any()


def test_what_it_has_can_be_read():
    module = perceptron()
    for static in (d2s.to_static(module), copy.deepcopy(d2s.to_static(module))):
        assert static.layers[0].weight.shape == (4, 2) and static.depth == 1
        with pytest.raises(AttributeError, match="nothing"):
            static.nothing
    assert d2s.to_static(module, backend="python").depth == 1
    with pytest.raises(AttributeError, match="there is no graph"):
        d2s.to_static(module, backend="python").jaxpr
    with pytest.raises(AttributeError, match="depth"):
        d2s.to_static(lambda x: x).depth
    assert "def __call__(self, x" in d2s.to_static(module).code


def test_functions_of_the_user_in_it():
    def activation(x):
        if x.sum() > 0:
            return x * 2
        return -x

    converted = perceptron(activation=d2s.convert(activation))
    for x in (X[0], X[2]):
        np.testing.assert_allclose(d2s.to_static(converted)(x), converted(x), rtol=1e-6)
    with pytest.raises(d2s.Error, match="activation needs .*MLP.__call__ calls it") as caught:
        d2s.to_static(perceptron(activation=activation))(X[0])
    assert caught.value.code == "D2S021"
    assert "above the definition of activation" in caught.value.fix
    assert caught.value.site.function == "activation"


def test_a_loaded_function_is_one_too(tmp_path):
    class Model:
        def __init__(self):
            self.w = jnp.ones(2)

        def __call__(self, x):
            return (x * self.w).sum()

    d2s.save(Model(), tmp_path / "f.d2s", "f32[2]", vjp_order=1)
    loaded = d2s.load(tmp_path / "f.d2s")
    static, gradient = d2s.to_static(loaded), d2s.to_static(lambda x: jax.grad(loaded)(x))
    for by in (1, 7):
        loaded.state["w"] = jnp.ones(2) * by
        assert static(X[2]) == 5 * by and gradient(X[2]).tolist() == [by, by]
    with pytest.raises(d2s.Error, match="around a Loaded") as caught:
        d2s.to_static(jax.grad(loaded))
    assert caught.value.code == "D2S001" and "lambda x: jax.grad(net)(x)" in caught.value.fix


class Dense(nn.Module):
    @nn.compact
    def __call__(self, x):
        if x.sum() > 0:
            x = x * 2
        return nn.Dense(2)(x)


class Converted(nn.Module):
    @nn.compact
    @d2s.convert
    def __call__(self, x):
        if x.sum() > 0:
            x = x * 2
        return nn.Dense(2)(x)


def test_methods_of_the_user_that_a_library_calls():
    def applied(model):
        parameters = model.init(jax.random.key(0), X)
        return lambda x: model.apply(parameters, x)

    with pytest.raises(d2s.Error, match=r"^D2S021: Dense.__call__ needs .*Module.apply") as caught:
        d2s.to_static(applied(Dense()))(X)
    assert caught.value.site.function == "__call__"
    assert "`@d2s.convert` above the definition of Dense.__call__" in caught.value.fix
    static = d2s.to_static(applied(Converted()))
    for x in (X, -X):
        np.testing.assert_allclose(static(x), applied(Dense())(x), rtol=1e-5)
