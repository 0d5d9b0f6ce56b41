"""A program whose lines the tests of positions count on."""

import jax.numpy as jnp


def looping(x, w):
    s = x
    while s.sum() < 10.0:
        s = s + x @ w
    return s


def counting(x):
    s = x
    while s < 10.0:
        s = s * 2
        if s > 7.0:
            s = s + jnp.sin(s)
    return s
