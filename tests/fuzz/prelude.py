"""What generated programs may use. Their text takes in the parts that it mentions."""

import functools  # noqa: F401 - programs use it
import math  # noqa: F401
import operator  # noqa: F401

import jax.numpy as jnp  # noqa: F401
import numpy as np  # noqa: F401

LIMIT = 3
TALLY = 0


class Trouble(Exception):
    """An error of the program's own."""


class Sore(Trouble):
    """A kind of trouble."""


class Box:
    def __init__(self, n, s):
        self.n = n
        self.s = s

    def total(self, z):
        if z > self.n:
            return z - self.n
        return self.n


class Guard:
    def __init__(self, name, quiet):
        self.name = name
        self.quiet = quiet

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        return self.quiet


class Logged:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(2)


def step(n):
    if n % 2 == 0:
        return n // 2
    return (3 * n + 1) % 11


def pick(n, s=1.5):
    for c in range(3):
        if c * n > 4:
            return s + c
    return s - 1.0


def risky(n):
    if n > 4:
        raise Trouble("risky")
    if n < -2:
        raise ValueError("low")
    return n + 1


def both(t):
    n, s = t
    return (n + 1) % 5, (s - 0.5) % 4.0


def count(n):
    c = 0
    while n > 0:
        n = n - 2
        c += 1
    return c


def adder(n):
    def add(h):
        return (h + n) % 9

    return add


def spread(*parts, scale=2, **named):
    total = scale
    for part in parts:
        if part > 1:
            total = total + part
    return total + named.get("more", 0)
