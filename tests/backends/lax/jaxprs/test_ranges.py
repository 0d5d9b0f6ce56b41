"""The analysis of integers: graphs in, ranges out, and what that saves in graphs of programs."""

import operator
import random
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.backends.lax.jaxprs.ranges.induction import TRIPS
from d2s.backends.lax.jaxprs.ranges.walk import GraphWalk

INT = -(2**31), 2**31 - 1


def ranges(function, *args, known=()):
    """The ranges of what a function gives; `known` are those of its first arguments."""
    graph = jax.make_jaxpr(function)(*args)
    walk = GraphWalk()
    spans = [*known, *[None] * len(args)]
    inputs = [walk.input(v.aval, s) for v, s in zip(graph.jaxpr.invars, spans, strict=False)]
    consts = [walk.constant(value) for value in graph.consts]
    return [value.span for value in walk.run(graph.jaxpr, inputs, consts)]


def span(function, *known, dtype=jnp.int32):
    """The range of the one result of a function of scalars in the given ranges."""
    return ranges(function, *[jnp.zeros((), dtype)] * len(known), known=known)[0]


@pytest.mark.parametrize(
    "function, known, expected",
    [
        (lambda a: a - 50, [(0, 99)], (-50, 49)),
        (lambda a: 7 * (a - 50), [(0, 99)], (-350, 343)),
        (lambda a: a + 1, [(0, INT[1])], INT),
        (lambda a: -a, [(INT[0], 0)], INT),
        (lambda a: abs(a), [(-5, 3)], (0, 5)),
        (lambda a: abs(a), [(-5, -3)], (3, 5)),
        (lambda a: abs(a), [INT], INT),
        (lambda a: a % 97, [INT], (0, 96)),
        (lambda a: a % 97, [(3, 9)], (3, 9)),
        (lambda a: a % -97, [INT], (-96, 0)),
        (lambda a, b: a % b, [INT, (0, 10)], (0, 9)),
        (lambda a, b: a % b, [INT, (-3, 10)], (-2, 9)),
        (lambda a: a // 10, [(-25, 25)], (-3, 2)),
        (lambda a: a // -1, [INT], INT),
        (jax.lax.div, [(-25, 25), (0, 10)], (-25, 25)),
        (jax.lax.div, [(0, 0), (0, 10)], (-1, 0)),
        (jax.lax.rem, [(-25, 25), (1, 10)], (-9, 9)),
        (jax.lax.rem, [(-25, 4), (0, 10)], (-25, 4)),
        (lambda a: a & 15, [INT], (0, 15)),
        (lambda a, b: a | b, [(0, 5), (0, 9)], (0, 15)),
        (lambda a, b: a ^ b, [(-1, 5), (0, 9)], INT),
        (lambda a: ~a, [(0, 5)], (-6, -1)),
        (lambda a: a << 3, [(-2, 5)], (-16, 40)),
        (lambda a: a << 30, [(0, 2)], INT),
        (lambda a, b: a << b, [(0, 2), (0, 40)], INT),
        (lambda a: a >> 1, [(-3, 8)], (-2, 4)),
        (lambda a: jax.lax.shift_right_logical(a, 1), [(-3, 8)], INT),
        (lambda a: a**2, [(-3, 2)], (0, 9)),
        (lambda a: a**3, [(-3, 2)], (-27, 8)),
        (lambda a: jnp.clip(a, 0, 9), [INT], (0, 9)),
        (lambda a: jnp.where(a > 5, a, 0), [(0, 9)], (0, 9)),
        (lambda a: jnp.where(a > 50, a, 0), [(0, 9)], (0, 0)),
        (lambda a: a.astype(jnp.int8).astype(jnp.int32), [(0, 200)], (-128, 127)),
        (lambda a: a.astype(jnp.int8).astype(jnp.int32), [(0, 100)], (0, 100)),
        (lambda a: a.astype(jnp.uint32), [(-1, 1)], (0, 2**32 - 1)),
        (lambda a: a.astype(jnp.float32).astype(jnp.int32), [(0, 9)], (0, 9)),
        (lambda a: a.astype(jnp.float32).astype(jnp.int32), [(0, 2**25)], INT),
        (lambda a: a.astype(jnp.bool_).astype(jnp.int32), [(1, 9)], (1, 1)),
        (lambda a: jnp.arange(5)[a], [INT], (0, 4)),
        (lambda a: jnp.arange(5) + a, [(0, 3)], (0, 7)),
        (lambda a: jnp.sum(jnp.arange(5) % 3 + a), [(0, 3)], (0, 25)),
        (lambda a: jax.lax.cond(a > 3, lambda: a, lambda: -a), [(0, 9)], (-9, 9)),
        (lambda a: jax.lax.cond(a > 30, lambda: 7, lambda: 1), [(0, 9)], (1, 1)),
    ],
)
def test_ranges_of_operations(function, known, expected):
    assert span(function, *known) == expected


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.uint8, jnp.int16, jnp.uint32])
def test_a_result_that_leaves_its_type_may_be_anything(dtype):
    info = jnp.iinfo(dtype)
    whole = int(info.min), int(info.max)
    assert span(lambda a: a + 1, whole, dtype=dtype) == whole
    assert span(lambda a: a - 1, whole, dtype=dtype) == whole
    assert span(lambda a: a - 1, (whole[0] + 1, whole[1]), dtype=dtype) == (whole[0], whole[1] - 1)


# -- loops -----------------------------------------------------------------------------------------


def fori(trips, body, *start):
    return jax.lax.scan(lambda carry, _: (body(*carry), None), start, length=trips)[0]


def until(test, body, *start):
    return jax.lax.while_loop(lambda carry: test(*carry), lambda carry: body(*carry), start)


def test_a_counter_stepped_at_most_once_in_each_of_200_trips_stays_below_201():
    def count(x):
        return fori(200, lambda n: (jax.lax.cond(x > 0, lambda: n + 1, lambda: n),), 0)

    assert ranges(count, 1.0) == [(0, 200)]


@pytest.mark.parametrize(
    "trips, body, expected",
    [
        (0, lambda n: n + 1, (5, 5)),
        (1, lambda n: n + 1, (6, 6)),
        (10, lambda n: n + 3, (35, 35)),
        (10, lambda n: n - 3, (-25, -25)),
        (10, lambda n: (n + 1) + 1, (25, 25)),
        (10, lambda n: jnp.where(n > 7, n + 2, n - 1), (-5, 25)),
        (2**30, lambda n: n + 2, INT),
        (10, lambda n: n * 2, INT),
        (10, lambda n: (31 * n + 7) % 97, (0, 96)),
        (10, lambda n: n, (5, 5)),
        (10, lambda n: -n, (-5, 5)),
        (10, lambda n: 0 * n + 3, (3, 3)),
    ],
)
def test_numbers_that_a_loop_carries(trips, body, expected):
    assert ranges(lambda: fori(trips, lambda n: (body(n),), jnp.int32(5))) == [expected]


def test_what_one_number_moves_another_by():
    def sums():
        return fori(200, lambda c, t: (c + 1, t + 1000 * c), 0, 0)

    assert ranges(sums) == [(200, 200), (0, 200 * 199 * 1000)]


def test_two_numbers_that_change_places():
    assert ranges(lambda: fori(9, lambda a, b: (b, a + b), 0, 1)) == [INT, INT]
    assert ranges(lambda: fori(9, lambda a, b: (b, a), 0, 1)) == [(0, 1), (0, 1)]


def test_a_wrapped_counter_of_a_small_type():
    small = jnp.int8(0)
    assert ranges(lambda: fori(100, lambda n: (n + jnp.int8(1),), small)) == [(100, 100)]
    assert ranges(lambda: fori(128, lambda n: (n + jnp.int8(1),), small)) == [(-128, 127)]
    unsigned = jnp.uint32(5)
    assert ranges(lambda: fori(5, lambda n: (n - jnp.uint32(1),), unsigned)) == [(0, 0)]
    assert ranges(lambda: fori(6, lambda n: (n - jnp.uint32(1),), unsigned)) == [(0, 2**32 - 1)]


def test_loops_of_which_nobody_knows_when_they_end():
    def count(x, step):
        return until(lambda n, x: x > 0, lambda n, x: (n + step, x - 1), 0, x)[0]

    assert ranges(lambda x: count(x, 1), 1.0) == [(0, TRIPS)]
    assert ranges(lambda x: count(x, -1), 1.0) == [(-TRIPS, 0)]
    assert ranges(lambda x: count(x, 1000), 1.0) == [INT]


def test_a_counter_in_loops_inside_of_each_other():
    def count(x):
        def inner(n, x):
            return until(lambda n, x: x > 1, lambda n, x: (n + 1, x - 1), n, x)

        return until(lambda n, x: x > 0, inner, 0, x)[0]

    assert ranges(count, 1.0) == [(0, TRIPS)]

    def counted(x):
        def body(n):
            return (fori(10, lambda m: (m + 1,), n)[0],)

        return fori(20, body, 0)

    assert ranges(counted, 1.0) == [(200, 200)]

    def mixed(x):
        def inner(n, x):
            return fori(10, lambda m: (m + 1,), n)[0], x - 1

        return until(lambda n, x: x > 0, inner, 0, x)[0]

    assert ranges(mixed, 1.0) == [(0, TRIPS)]


def test_a_counter_that_starts_near_the_limit():
    def count(x, start):
        return until(lambda n, x: x > 0, lambda n, x: (n + 1, x - 1), start, x)[0]

    assert ranges(lambda x: count(x, 2**31 - 5), 1.0) == [INT]
    assert ranges(lambda x, start: count(x, start), 1.0, jnp.int32(0)) == [INT]


def test_arrays_of_integers_in_a_loop():
    start = jnp.zeros(3, jnp.int32)
    assert ranges(lambda: fori(5, lambda a: (a + 1,), start)) == [INT]
    assert ranges(lambda: fori(5, lambda a: ((a + 1) % 7,), start)) == [(0, 6)]


def test_lanes():
    def count(x):
        return fori(5, lambda n: (jnp.where(x > 0, n + 1, n),), 0)[0]

    assert ranges(jax.vmap(count), jnp.ones(3)) == [INT]


# -- random graphs ---------------------------------------------------------------------------------

_BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.floordiv, operator.mod, operator.and_),
    *(operator.or_, operator.xor, jnp.maximum, jnp.minimum, jax.lax.div, jax.lax.rem),
    *(jax.lax.shift_left, jax.lax.shift_right_arithmetic, jax.lax.shift_right_logical),
]
_UNARY = [operator.neg, operator.abs, operator.invert, jnp.sign, lambda a: a**2, lambda a: a**3]
_DTYPES = [jnp.int8, jnp.uint8, jnp.int16, jnp.int32, jnp.uint32]


def _random_graph(rng, dtype):
    """A function of two integers: all the values that random operations make of them."""
    plan = [rng.random() for _ in range(12)]

    def constant(n):
        info = jnp.iinfo(dtype)
        edge = [int(info.min), int(info.max), 0, 1, 2, 3, 97 % 2**7, -1 if info.min < 0 else 1]
        return jnp.asarray(edge[int(n * 1e6) % len(edge)], dtype)

    def graph(a, b):
        values = [a, b]
        for n in plan:
            one, other = (values[int(n * k) % len(values)] for k in (1e3, 1e4))
            kind = int(n * 10)
            if kind < 5:
                other = constant(n) if int(n * 1e5) % 2 else other
                values.append(_BINARY[int(n * 1e7) % len(_BINARY)](one, other))
            elif kind == 5:
                values.append(_UNARY[int(n * 1e7) % len(_UNARY)](one).astype(dtype))
            elif kind == 6:
                small = _DTYPES[int(n * 1e7) % len(_DTYPES)]
                values.append(one.astype(small).astype(dtype))
            elif kind == 7:
                values.append(jnp.where(one < other, one, other - 1))
            else:
                trips = int(n * 1e5) % 4

                def body(c, one=one, other=other, n=n):
                    c = jax.lax.cond(one < other, lambda: c + one, lambda: c - constant(n))
                    return (c % jnp.asarray(7, dtype) if int(n * 1e6) % 3 == 0 else c,)

                values.append(fori(trips, body, other)[0])
        return values

    return graph


@pytest.mark.parametrize("seed", range(40))
def test_values_of_random_graphs_lie_in_their_ranges(seed):
    rng = random.Random(seed)
    dtype = _DTYPES[seed % len(_DTYPES)]
    info = jnp.iinfo(dtype)
    graph = _random_graph(rng, dtype)
    known = []
    for _ in range(2):
        ends = [rng.choice([info.min, info.max, 0, 1, 5, rng.randint(info.min, info.max)])] * 2
        ends[1] = min(int(info.max), ends[0] + rng.choice([0, 1, 10, 100, int(info.max)]))
        known.append((int(ends[0]), int(ends[1])))
    zero = jnp.zeros((), dtype)
    spans = ranges(graph, zero, zero, known=known)
    run = jax.jit(graph)
    for _ in range(25):
        args = [np.asarray(rng.choice([*ends, rng.randint(*ends)]), dtype) for ends in known]
        for value, (least, most) in zip(run(*args), spans, strict=True):
            assert least <= int(value) <= most


# -- programs --------------------------------------------------------------------------------------


def counts_in_a_loop(x):
    count = total = 0
    for i in range(200):
        if x[i] > 0:
            count += 1
        total = total + 1000 * count
    return count * 10_000_000, total


def counts_rows(x):
    count = total = 0
    for v in x:
        if v > 0:
            count += 1
            total = total + 1000 * count
    return count * 10_000_000, total


def counts_until_it_breaks(x):
    count = 0
    for i in range(200):
        if x[i] > 1:
            break
        if x[i] > 0:
            count += 1
    return count * 10_000_000


def counts_in_two_loops(x):
    count = 0
    for i in range(20):
        for j in range(10):
            if x[10 * i + j] > 0:
                count += 1
    return count * 10_000_000


def counter_as_an_index(x):
    count, table = 0, [2.0 * n for n in range(201)]
    for v in x:
        if v > 0:
            count += 1
    return table[count]


def windows(x):
    total = 0.0
    for i in range(len(x) - 2):
        total = total + x[i : i + 3].sum()
    return total


def windows_from_the_end(x):
    total = 0.0
    for i in range(len(x) - 3, -1, -1):
        total = total + x[i : i + 3].sum() * (i + 1)
    return total


def windows_until_it_breaks(x):
    total = 0.0
    for i in range(len(x) - 2):
        total = total + x[i : i + 3].sum()
        if total > 50:
            break
    return total


TABLE = [float(3 * n % 97) for n in range(97)]


def index_after_a_remainder(x):
    return TABLE[(x[0] > 0) * 1000 % 97]


def hashed(x):
    h = 0
    for i in range(200):
        h = (31 * h + (7 if x[i] > 0 else 3)) % 97
    return TABLE[h]


ROWS = jnp.asarray(np.random.default_rng(0).normal(size=200), jnp.float32)


@pytest.mark.parametrize(
    "fn",
    [
        *(counts_in_a_loop, counts_rows, counts_until_it_breaks, counts_in_two_loops),
        *(counter_as_an_index, windows, windows_from_the_end, windows_until_it_breaks),
        *(index_after_a_remainder, hashed),
    ],
)
def test_what_is_proven_is_not_checked(fn):
    static = d2s.to_static(fn)
    np.testing.assert_allclose(static(ROWS), fn(ROWS), rtol=1e-4)
    graph = static.jaxpr(ROWS)
    assert len(graph.jaxpr.outvars) == len(jax.tree.leaves(fn(ROWS)))  # no error code


def steps_too_far(x):
    n = 0
    for _ in x:
        n += 2**28
    return n


def steps_down_too_far(x):
    n = 0
    for v in x:
        if v > 0:
            n -= 2**27
    return n


def steps_under_a_condition(x):
    n = 2**31 - 5
    for v in x:
        if v > 0:
            n += 1
    return n


def one_more_than_a_product(x):
    h = one = 1
    for v in x:
        if v > 0:
            h = h * 46341
            one = h - 1
            h = h % 46342
    return one + h


def near_the_limit_in_one_trip(x):
    h = best = 0
    for v in x:
        h = 2147483647 if v > 0 else h
        best = h + 1
    return best


def grows_by_what_grows(x):
    a, b = 0, 1
    for _ in x:
        a, b = b, a + b
    return a


def counts_fast_until(x):
    n, v = 0, x[0]
    while v > 0:
        n += 10**7
        v = v - 0.001
    return n


def counts_in_a_loop_inside(x):
    n = 0
    for v in x:
        w = v
        while w > 0:
            n += 10**6
            w = w - 0.01
    return n


def a_counter_set_in_between(x):
    n = 0
    for v in x:
        n = n + 1 if v > 0 else 2147483600
    return n


def squares_of_a_counter(x):
    n = 0
    v = 1e5 * x[0]
    while v > 0:
        n += 1
        v = v - 1
    return n * n


def negated_in_a_loop(x):
    n = -(2**31)
    for v in x:
        if v > 0:
            n = -n - 1
    return n - 1


def left_shift_of_a_counter(x):
    n = 0
    for v in x:
        if v > 0:
            n += 1
    return n << 25


@pytest.mark.parametrize(
    "fn",
    [
        *(steps_too_far, steps_down_too_far, steps_under_a_condition, one_more_than_a_product),
        *(near_the_limit_in_one_trip, grows_by_what_grows, counts_fast_until),
        *(counts_in_a_loop_inside, a_counter_set_in_between, squares_of_a_counter),
        *(negated_in_a_loop, left_shift_of_a_counter),
    ],
)
@pytest.mark.parametrize("x", [ROWS, jnp.ones(200), -jnp.ones(200), jnp.zeros(200)])
def test_no_integer_wraps_in_silence(fn, x):
    want = fn(x)
    static = d2s.to_static(fn)
    try:
        assert static(x) == want
    except d2s.IntegerOverflow:
        seen = []
        # some integer on the way is too large for 32 bits, or the product of its check nearly is
        largest(fn, x, seen)
        assert max(seen) >= 2147483000


def largest(fn, x, seen):
    """The largest integers that a function computes, as a debugger would see its variables."""

    def trace(frame, event, arg):
        if frame.f_code is fn.__code__:
            seen.extend(abs(v) for v in frame.f_locals.values() if type(v) is int)
            return trace
        return None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        seen.append(abs(fn(x)))
    finally:
        sys.settrace(before)


@pytest.mark.parametrize("wide", [False, True])
def test_with_wide_numbers_on_and_off(wide):
    with jax.enable_x64(wide):
        rows = jnp.asarray(np.asarray(ROWS))
        assert d2s.to_static(counts_in_a_loop)(rows) == counts_in_a_loop(rows)
        if wide:
            assert d2s.to_static(steps_too_far)(rows) == steps_too_far(rows)
        else:
            with pytest.raises(d2s.IntegerOverflow):
                d2s.to_static(steps_too_far)(rows)


def test_small_integers_of_arrays_wrap_as_they_do():
    def f(x):
        n = jnp.int8(100)
        for _ in range(200):
            n = n + jnp.int8(1)
        return n

    assert d2s.to_static(f)(ROWS) == f(ROWS)


def test_lanes_of_a_program():
    x = jnp.stack([ROWS, -ROWS])
    want = [counts_rows(row) for row in x]
    got = jax.vmap(d2s.to_static(counts_rows))(x)
    np.testing.assert_array_equal(np.stack(got, 1), want)
