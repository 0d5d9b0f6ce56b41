"""Layers: a block of a transformer, and the same step many times."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


def normal(x: Any) -> Any:
    centred = x - jnp.mean(x, axis=-1, keepdims=True)
    return centred / jnp.sqrt(jnp.mean(centred**2, axis=-1, keepdims=True) + 1e-5)


def transformer(params: Any, x: Any, causal: Any) -> Any:
    time, width = x.shape
    heads = params["heads"].shape[0]
    y = normal(x)
    q, k, v = (y @ params[name] for name in ("q", "k", "v"))
    q, k, v = (part.reshape(time, heads, width // heads) for part in (q, k, v))
    weights = jnp.einsum("qhd,khd->hqk", q, k) / (width // heads) ** 0.5
    if causal:
        weights = jnp.where(jnp.tril(jnp.ones((time, time), bool)), weights, -1e9)
    mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(weights), v)
    x = x + (mixed * params["heads"][:, None]).reshape(time, width) @ params["o"]
    return x + jax.nn.gelu(normal(x) @ params["up"]) @ params["down"]


def transformer_by_hand(params: Any, x: Any, causal: Any) -> Any:
    time, width = x.shape
    heads = params["heads"].shape[0]
    y = normal(x)
    q, k, v = (y @ params[name] for name in ("q", "k", "v"))
    q, k, v = (part.reshape(time, heads, width // heads) for part in (q, k, v))
    weights = jnp.einsum("qhd,khd->hqk", q, k) / (width // heads) ** 0.5
    weights = lax.cond(
        causal,
        lambda w: jnp.where(jnp.tril(jnp.ones((time, time), bool)), w, -1e9),
        lambda w: w,
        weights,
    )
    mixed = jnp.einsum("hqk,khd->qhd", jax.nn.softmax(weights), v)
    x = x + (mixed * params["heads"][:, None]).reshape(time, width) @ params["o"]
    return x + jax.nn.gelu(normal(x) @ params["up"]) @ params["down"]


def transformer_arguments(time: int, width: int, heads: int) -> tuple[Any, ...]:
    keys = iter(jax.random.split(jax.random.key(0), 8))

    def matrix(*shape: int) -> Any:
        return jax.random.normal(next(keys), shape) / shape[0] ** 0.5

    params = {name: matrix(width, width) for name in ("q", "k", "v", "o")}
    params |= {"up": matrix(width, 4 * width), "down": matrix(4 * width, width)}
    return {**params, "heads": jnp.ones(heads)}, matrix(time, width), jnp.bool_(True)


def steps(count: int) -> Any:
    def run(w: Any, x: Any) -> Any:
        for i in range(count):
            x = jnp.tanh(w @ x) + 0.001 * i
        return x

    return run


def steps_by_hand(count: int) -> Any:
    def run(w: Any, x: Any) -> Any:
        return lax.fori_loop(0, count, lambda i, x: jnp.tanh(w @ x) + 0.001 * i, x)

    return run


def steps_arguments(width: int) -> tuple[Any, ...]:
    return jax.random.normal(jax.random.key(0), (width, width)) / width**0.5, jnp.ones(width)
