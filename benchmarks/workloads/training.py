"""Training loops inside of the graph."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

# -- stochastic gradient descent ------------------------------------------------------------------


def linear(params: Any, x: Any) -> Any:
    return x @ params["w"] + params["b"]


def perceptron(params: Any, x: Any) -> Any:
    return jax.nn.relu(x @ params["w1"] + params["b1"]) @ params["w2"] + params["b2"]


def loss_of(params: Any, x: Any, y: Any) -> Any:
    logits = linear(params, x) if "w" in params else perceptron(params, x)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(logits) * y, axis=1))


def sgd(params: Any, x: Any, y: Any, rates: Any) -> Any:
    loss = 0.0
    for rate in rates:
        loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
        for name in params:
            params = {**params, name: params[name] - rate * gradient[name]}
    return params, loss


def sgd_by_hand(params: Any, x: Any, y: Any, rates: Any) -> Any:
    def step(carry: Any, rate: Any) -> Any:
        params, _ = carry
        loss, gradient = jax.value_and_grad(loss_of)(params, x, y)
        return (jax.tree.map(lambda p, g: p - rate * g, params, gradient), loss), None

    (params, loss), _ = lax.scan(step, (params, jnp.float32(0)), rates)
    return params, loss


def sgd_arguments(hidden: int, batch: int, steps: int) -> tuple[Any, ...]:
    keys = jax.random.split(jax.random.key(0), 4)
    x = jax.random.normal(keys[0], (batch, 28 * 28))
    y = jax.nn.one_hot(jax.random.randint(keys[1], (batch,), 0, 10), 10)
    rates = jnp.linspace(0.1, 0.01, steps)
    if not hidden:
        return {"b": jnp.zeros(10), "w": jnp.zeros((28 * 28, 10))}, x, y, rates
    params = {
        "b1": jnp.zeros(hidden),
        "b2": jnp.zeros(10),
        "w1": jax.random.normal(keys[2], (28 * 28, hidden)) / 28,
        "w2": jax.random.normal(keys[3], (hidden, 10)) / hidden**0.5,
    }
    return params, x, y, rates


# -- meta-learning on sinusoids -------------------------------------------------------------------


def wave(params: Any, x: Any) -> Any:
    w1, b1, w2, b2, w3, b3 = params
    return jnp.tanh(jnp.tanh(x @ w1 + b1) @ w2 + b2) @ w3 + b3


def error(params: Any, x: Any, y: Any) -> Any:
    return jnp.mean((wave(params, x) - y) ** 2)


def maml(params: Any, tasks: Any) -> Any:
    def after_adapting(params: Any, task: Any) -> Any:
        x, y, new_x, new_y = task
        for _ in range(3):
            gradient = jax.grad(error)(params, x, y)
            params = [p - 0.05 * g for p, g in zip(params, gradient, strict=True)]
        return error(params, new_x, new_y)

    def of_all(params: Any, batch: Any) -> Any:
        return jnp.mean(jax.vmap(after_adapting, (None, 0))(params, batch))

    loss = 0.0
    for batch in zip(*tasks, strict=True):
        loss, gradient = jax.value_and_grad(of_all)(params, batch)
        params = [p - 0.01 * g for p, g in zip(params, gradient, strict=True)]
    return params, loss


def maml_by_hand(params: Any, tasks: Any) -> Any:
    def after_adapting(params: Any, task: Any) -> Any:
        x, y, new_x, new_y = task
        for _ in range(3):
            gradient = jax.grad(error)(params, x, y)
            params = [p - 0.05 * g for p, g in zip(params, gradient, strict=True)]
        return error(params, new_x, new_y)

    def of_all(params: Any, batch: Any) -> Any:
        return jnp.mean(jax.vmap(after_adapting, (None, 0))(params, batch))

    def step(carry: Any, batch: Any) -> Any:
        params, _ = carry
        loss, gradient = jax.value_and_grad(of_all)(params, batch)
        return ([p - 0.01 * g for p, g in zip(params, gradient, strict=True)], loss), None

    (params, loss), _ = lax.scan(step, (params, jnp.float32(0)), tasks)
    return params, loss


def maml_arguments(steps: int, tasks: int, hidden: int) -> tuple[Any, ...]:
    keys = jax.random.split(jax.random.key(0), 6)
    shapes = [(1, hidden), (hidden,), (hidden, hidden), (hidden,), (hidden, 1), (1,)]
    params = [
        jax.random.normal(key, shape) / hidden**0.5 if len(shape) > 1 else jnp.zeros(shape)
        for key, shape in zip(keys, shapes, strict=True)
    ]
    phase = jax.random.uniform(keys[0], (steps, tasks, 1, 1), maxval=3.0)
    x, new_x = jax.random.uniform(keys[1], (2, steps, tasks, 10, 1), minval=-3.0, maxval=3.0)
    return params, (x, jnp.sin(x + phase), new_x, jnp.sin(new_x + phase))
