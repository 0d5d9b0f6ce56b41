"""Python integers outside of loops and arguments: exact, or an error at the line, never wrapped."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import d2s


def joined_twice(x):
    h = 1
    if x > 0:
        h = h * 100000
    if x > 0:
        h = h * 100000
    return h


def joined_in_an_unrolled_loop(x):
    h = 1
    for _ in range(3):
        if x > 0:
            h = h * 10000
    return h


def index_of_a_loop(x):
    last = 0
    for i in range(50):
        if x > i:
            last = i
    return last * 10**8


def counter_of_a_loop(x):
    n = 0
    while x > 0:
        x = x - 1
        n += 1
    n = n * n
    n = n * n
    return n * n * n


def an_array_as_an_integer(x):
    n = int(x) * 1000
    return n * n


def shifted(x):
    n = 1
    if x > 0:
        n = 4
    return n << int(x > 0) * 30


def raised_to_a_power(x):
    n = 1
    if x > 0:
        n = 2000
    return n**3


def negated(x):
    n = -(2**31)
    if x > 200:
        n = 0
    return -n


OTHER = "another type: x: float32[] became int8[]"
WRAPS = [
    joined_twice,
    joined_in_an_unrolled_loop,
    index_of_a_loop,
    counter_of_a_loop,
    an_array_as_an_integer,
    shifted,
    raised_to_a_power,
    negated,
]


@pytest.mark.parametrize("fn", WRAPS)
def test_it_is_an_error_where_it_would_wrap(fn):
    static = d2s.to_static(fn)
    assert abs(fn(jnp.float32(100))) >= 2**31
    with pytest.raises(d2s.IntegerOverflow) as caught:
        static(jnp.float32(100))
    assert caught.value.site.function == fn.__name__
    if fn is not negated:
        assert static(jnp.float32(0)) == fn(jnp.float32(0))  # the same graph, and nothing wraps


def few_steps(x):
    n = 0
    if x > 0:
        n += 1
    if x > 1:
        n += 2
    return n * 1000 - 1


def sum_of_bools(x):
    return int(x > 0) + int(x > 1) * 5


def steps_and_one(x):
    n = 0
    while x > 0:
        x = x - 1
        n += 1
    return n + 1


def position_and_one(x):
    found = -1
    for i, v in enumerate(jnp.arange(20.0)):
        if v > x:
            found = i
            break
    return found + 1


def last_index(x):
    last = 0
    for i in range(50):
        if x > i:
            last = i
    return last * 1000


def masked_and_reduced(x):
    n = x.astype(jnp.int32)
    k = 3 if x > 0 else -3
    return k * 100 + (k & 7) + k // 2 + k % 5, n * n


FITS = [few_steps, sum_of_bools, steps_and_one, position_and_one, last_index, masked_and_reduced]


@pytest.mark.parametrize("fn", FITS)
def test_what_surely_fits_is_not_checked(fn):
    static = d2s.to_static(fn)
    for value in (-1.0, 0.5, 3.0):
        assert static(jnp.float32(value)) == fn(jnp.float32(value))
    results = len(static.jaxpr(jnp.float32(1)).jaxpr.outvars)
    assert results == (2 if fn is masked_and_reduced else 1)  # no error code


def test_a_graph_for_other_types_is_checked_too():
    static = d2s.to_static(an_array_as_an_integer)
    assert static(jnp.float32(3)) == 9_000_000
    assert static(jnp.int8(3)) == 9_000_000
    with pytest.raises(d2s.IntegerOverflow):
        static(jnp.int8(100))
    assert [graph.reason for graph in static.cache_info().graphs][1:] == [OTHER]


def counts_on_from_anywhere(x):
    n = int(x * 2147483)
    for v in jnp.ones(100):
        if v > 0:
            n += 3000000
    return n


def reset_to_a_constant(x):
    c = 0
    for v in jnp.array([1.0, -1.0, 2.0, 3.0, 1.0, 1.0, 2.0, 2.0, 2.0, 2.0]):
        if v > 0 and x > 0:
            c = 100000
        else:
            c += 1
    return c * 100000


@jax.jit
def sign(a):
    return a * a


def named_like_a_function_of_jax(x):
    return int(sign(int(x) * 10)) * 10000


@pytest.mark.parametrize(
    "fn", [counts_on_from_anywhere, reset_to_a_constant, named_like_a_function_of_jax]
)
def test_what_ranges_do_not_say(fn):
    static = d2s.to_static(fn)
    want = fn(jnp.float32(1000)), fn(jnp.float32(0))
    assert abs(want[0]) >= 2**31
    with pytest.raises(d2s.IntegerOverflow):
        static(jnp.float32(1000))
    assert static(jnp.float32(0)) == want[1]


def test_counting_by_one_from_near_the_limit():
    def f(x, rows):
        n = int(x)
        for _ in rows:
            n += 1
        return n

    static, rows = d2s.to_static(f), jnp.ones(100)
    assert static(jnp.int32(5), rows) == 105
    with pytest.raises(d2s.IntegerOverflow):
        static(jnp.int32(2147483600), rows)


def test_unsigned_integers_as_pythons():
    static = d2s.to_static(lambda x: int(x) // 2)
    assert static(jnp.uint32(40)) == 20
    with pytest.raises(d2s.IntegerOverflow):
        static(jnp.uint32(4_000_000_000))


def test_two_loops_count_on_without_checks():
    def f(x):
        n = 0
        while x > 0:
            x, n = x - 1, n + 1
        while x > -10:
            x, n = x - 1, n + 1
        return n

    static = d2s.to_static(f)
    assert static(jnp.float32(3)) == f(jnp.float32(3)) == 13
    assert len(static.jaxpr(jnp.float32(3)).jaxpr.outvars) == 1
