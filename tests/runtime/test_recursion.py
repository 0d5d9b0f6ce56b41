"""Recursion goes as deep as in plain Python, and leaves the limit as it was."""

from __future__ import annotations

import sys

import jax.numpy as jnp

import d2s

DEEP = 850


def depth(n):
    if n == 0:
        return 0
    return 1 + depth(n - 1)


def is_even(n):
    if n == 0:
        return True
    return is_odd(n - 1)


def is_odd(n):
    if n == 0:
        return False
    return is_even(n - 1)


def climb(n, x):
    if n == 0:
        return x
    y = climb(n - 1, x)
    for _ in range(1):
        y = y + 1
    return y


def test_as_deep_as_plain_python():
    limit = sys.getrecursionlimit()
    assert d2s.convert(depth)(DEEP) == depth(DEEP)
    assert d2s.convert(is_even)(DEEP) is is_even(DEEP)
    assert float(d2s.to_static(climb)(DEEP, jnp.float32(1))) == DEEP + 1
    assert sys.getrecursionlimit() == limit
