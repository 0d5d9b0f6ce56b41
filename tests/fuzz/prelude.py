"""What generated programs may use. Their text takes in the parts that it mentions."""

import collections  # noqa: F401 - programs use it
import functools  # noqa: F401
import heapq  # noqa: F401
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


SCORE = 1
SHELF = [1, 2, 3]


def score(n):
    global SCORE
    SCORE = (SCORE + n) % 7
    return SCORE


def score_if(n, p):
    if p:
        return score(n) + 1
    return n


def shelve(n):
    for c in range(3):
        if c == n % 3:
            SHELF[c] = (SHELF[c] + n) % 5
    return SHELF[0]


def charge(o, n):
    o.n = (o.n + n) % 7
    if o.n > 4:
        raise Trouble(f"over {o.n}")
    return o.n


def raise_all(items, n):
    for c in range(3):
        items[c] = (items[c] + n) % 6
    return items[-1]


def tallied(n):
    def add(h):
        nonlocal n
        n = (n + h) % 9
        return n

    return add


class Ledger:
    def __init__(self):
        self.n = 0
        self.rows = [0, 0]

    def post(self, n):
        if n > 2:
            self.rows[0] = n % 5
        else:
            self.rows[1] = (self.rows[1] + n) % 5
        self.n = (self.n + n) % 7
        return self.n


LEDGER = Ledger()


class Money:
    def __init__(self, n):
        self.n = n

    def __add__(self, other):
        return Money(self.n + other.n)

    @property
    def half(self):
        return self.n // 2


class Lent:
    def __init__(self, o, n):
        self.o = o
        self.n = n

    def __enter__(self):
        self.o.n, self.n = self.n, self.o.n
        return self

    def __exit__(self, kind, error, trace):
        self.o.n, self.n = self.n, self.o.n


class Spill(Exception):
    def __init__(self, n, rest):
        super().__init__("spilt", n)
        self.n = n
        self.rest = rest


def gcd(a, b):
    while b:
        a, b = b, a % b
    return a


def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def power(s, n):
    if n == 0:
        return 1
    half = power(s, n // 2)
    return half * half * s if n % 2 else half * half


def total(items):
    if not items:
        return 0
    return items[0] + total(items[1:])


def depth(n, limit=3):
    if n <= 0 or limit == 0:
        return 0
    return 1 + max(depth(n - 1, limit - 1), depth(n - 2, limit - 1))


def put(items, i, v):
    items[i] = v


def push(items, v):
    items.append(v)
    return len(items)


def swap(items, i, j):
    items[i], items[j] = items[j], items[i]


def bump(table, key):
    table[key] = table.get(key, 0) + 1


def scale(buf, s):
    buf *= s
    return buf


def fill_from(buf, i, s):
    for c in range(3):
        if c >= i:
            buf[c] = s


def find(items, v):
    for c, item in enumerate(items):
        if item == v:
            return c
    return None


def label(n):
    if n < 0:
        return "negative"
    if n == 0:
        return "zero"
    return "positive"


class Stack:
    def __init__(self):
        self.items = []

    def push(self, v):
        self.items.append(v)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def __len__(self):
        return len(self.items)


class Node:
    def __init__(self, n, after=None):
        self.n = n
        self.after = after
