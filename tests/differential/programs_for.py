"""Programs around `for`."""

import itertools

import jax.numpy as jnp

from . import codes
from .harness import case

ROWS = jnp.arange(6.0).reshape(3, 2)


@case((1.0,), (2.0,), grad=True, vmap=True)
def static_range(x):
    for i in range(4):
        x = x * 0.5 + i
    return x


@case((1.0, 3), (1.0, 0), (1.0, -2), vmap=True)
def traced_range(x, n):
    for i in range(n):
        x = x + i
    return x


@case((2, 6), (6, 2), (0, 0))
def range_with_start(a, b):
    total = 0
    for i in range(a, b):
        total += i * i
    return total


@case((2, 11, 3), (11, 2, -3), (2, 11, -1), (0, 1, 5), (7, 0, -7))
def range_with_traced_step(a, b, step):
    total = 0
    last = -1
    for i in range(a, b, step):
        total = total * 2 + i
        last = i
    return total, last


@case((10,), (3,), (0,))
def range_with_negative_step(n):
    total = 0
    for i in range(n, 1, -2):
        total = total * 10 + i
    return total


@case((3, 0), (3, 1), (0, 0), error_ok=codes.MESSAGE)
def range_step_of_zero(n, step):
    total = 0
    for i in range(0, n, step):
        total += i
    return total


@case((ROWS,), (-ROWS,), grad=True)
def rows(m):
    total = jnp.zeros(2)
    for row in m:
        total = total + row * row
    return total


@case((jnp.arange(4.0),), (jnp.ones(4),), grad=True, vmap=True)
def elements(v):
    total = 0.0
    for e in v:
        total = total + e * e
    return total


@case((jnp.zeros((0,)),), (jnp.zeros((0,)),))
def empty_array(v):
    total = 1.5
    for e in v:
        total = total + e
    return total


@case((jnp.zeros((0, 2)),), (jnp.zeros((0, 2)),), error_ok=codes.UNBOUND)
def empty_array_and_its_target(m):
    for row in m:
        pass
    return row


@case((ROWS,), (ROWS + 1,), grad=True)
def matrix_by_two_loops(m):
    total = 0.0
    for row in m:
        for e in row:
            total = total * 0.5 + e
    return total


@case(([1.0, 2.0, 3.0],), ([4.0, -2.0, 0.5],))
def numeric_list(items):
    total = 0.0
    best = items[0]
    for item in items:
        total += item
        if item > best:
            best = item
    return total, best


@case(((1.0, 2),), ((3.0, 4),))
def numeric_tuple(items):
    total = 0
    for item in items:
        total = total + item
    return total


@case(([],), ([],))
def empty_list(items):
    total = 0
    for item in items:
        total = total + item
    return total


@case((1.0,), (2.0,), grad=True)
def list_of_arrays_of_different_shape(x):
    total = 0.0
    for part in [jnp.ones(2), jnp.ones((2, 2)), 3.0]:
        total = total + jnp.sum(part * x)
    return total


@case(({"b": 1.0, "a": 2.0},), ({"b": 3.0, "a": -1.0},))
def dict_keys(d):
    name = ""
    total = 0.0
    for key in d:
        name += key
        total = total * 10 + d[key]
    return name, total


@case(({"b": 1.0, "a": 2.0},), ({"b": 3.0, "a": -1.0},))
def dict_items(d):
    total = 0.0
    for key, item in d.items():
        total = total * 10 + (item if key == "a" else -item)
    return total


@case((1.0,), (0.1,))
def list_of_strings(x):
    for name in ["sin", "cos", "sin"]:
        x = getattr(jnp, name)(x)
    return name, x


@case((1.0,), (0.1,), grad=True)
def list_of_functions(x):
    for f in (jnp.sin, lambda v: v * v, abs):
        x = f(x) + 0.5
    return x


@case((ROWS,), (-ROWS,), grad=True)
def unpacked_rows(m):
    total = 0.0
    for a, b in m:
        total = total + a * b
    return total


@case((ROWS,), (-ROWS,))
def enumerate_rows(m):
    total = 0.0
    last = -1
    for i, row in enumerate(m):
        total = total + i * row.sum()
        last = i
    return total, last


@case((ROWS, 1), (ROWS, 5))
def enumerate_with_start_and_unpacking(m, start):
    total = 0.0
    for i, (a, b) in enumerate(m, start):
        total = total + i * (a - b)
    return total


@case((ROWS,), (ROWS * 2,))
def enumerate_without_unpacking(m):
    total = 0.0
    for pair in enumerate(m, start=1):
        total = total + pair[0] * pair[1][0]
    return total


@case((ROWS, jnp.arange(3.0)), (ROWS, jnp.ones(3)), grad=True)
def zip_of_arrays(m, v):
    total = jnp.zeros(2)
    for row, e in zip(m, v):
        total = total + row * e
    return total


@case((jnp.arange(3.0), [1.0, 2.0]), (jnp.ones(3), [3.0, 4.0]))
def zip_of_array_and_shorter_list(v, items):
    total = 0.0
    for e, item in zip(v, items):
        total = total * 2 + e * item
    return total


@case((jnp.arange(3.0),), (jnp.ones(3),))
def enumerate_of_zip(v):
    total = 0.0
    for i, (a, b) in enumerate(zip(v, v * 2)):
        total = total + i * a + b
    return total


@case((ROWS,), (-ROWS,))
def reversed_rows(m):
    total = jnp.zeros(2)
    for row in reversed(m):
        total = total * 2 + row
    return total


@case((4,), (0,))
def reversed_range(n):
    total = 0
    for i in reversed(range(n)):
        total = total * 3 + i
    return total


@case(([1, 2, 3],), ([4, 5, 6],))
def reversed_list(items):
    total = 0
    for item in reversed(items):
        total = total * 10 + item
    return total


@case((3,), (5,))
def target_is_read_after(n):
    for i in range(n):
        pass
    return i


@case((3,), (0,), error_ok=codes.UNBOUND)
def target_may_be_unbound(n):
    for i in range(n):
        pass
    return i


@case((3,), (0,))
def target_keeps_its_old_value(n):
    i = 77
    for i in range(n):
        pass
    return i


@case((3, 10), (0, 10))
def target_is_altered_in_the_body(n, i):
    total = 0
    for i in range(n):
        i = i * 2 + 1
        total += i
    return total, i


@case((3,), (0,), error_ok=codes.UNBOUND)
def created_inside_or_not(n):
    for i in range(n):
        y = i * 2
    return y


@case((3.0,), (4.0,))
def created_inside_a_static_range(x):
    for i in range(2):
        y = x + i
    return y


@case((4, 2), (2, 5))
def bounds_are_fixed_at_the_start(n, x):
    for i in range(n):
        n = n + 1
        x = x + i
    return n, x


@case((jnp.arange(3.0),), (jnp.ones(3),))
def iterated_array_is_rebound(v):
    for e in v:
        v = v + e
    return v


@case((3,), (1,))
def iterates_over_a_call(n):
    calls = 0

    def bounds(k):
        nonlocal calls
        calls += 1
        return range(k)

    total = 0
    for i in bounds(n):
        total += i
    return total, calls


@case((jnp.arange(5.0),), (jnp.ones(5),), grad=True)
def iterates_over_a_slice(v):
    total = 0.0
    for e in v[1:4] * 2:
        total = total + e
    return total


@case((jnp.arange(4.0),), (jnp.ones(4),), grad=True)
def static_range_indexes_an_array(v):
    total = 0.0
    for i in range(len(v) - 1):
        total = total + v[i] * v[i + 1]
    return total


@case((jnp.arange(4.0), 3), (jnp.ones(4), 0))
def traced_range_indexes_an_array(v, n):
    total = 0.0
    for i in range(n):
        total = total + v[i]
    return total


@case((3, [1.0, 2.0, 4.0]), (2, [5.0, 6.0, 7.0]), error_ok=codes.OBJECTS)
def traced_range_indexes_a_list(n, items):
    total = 0.0
    for i in range(n):
        total = total + items[i]
    return total


@case((2, 1.0), (1, 1.0), error_ok=codes.OBJECTS)
def traced_range_indexes_functions(n, x):
    steps = [jnp.sin, jnp.cos]
    for i in range(n):
        x = steps[i](x)
    return x


@case((3,), (1,), error_ok=codes.SHAPE)
def carry_grows(n):
    v = jnp.zeros(1)
    for i in range(n):
        v = jnp.concatenate([v, jnp.ones(1)])
    return v


@case((3.0,), (1.0,))
def carry_grows_in_a_static_range(x):
    v = jnp.zeros(1)
    for i in range(3):
        v = jnp.concatenate([v, v + x])
    return v


@case((jnp.arange(3.0),), (jnp.ones(3),), grad=True)
def int_start_joins_float(v):
    total = 0
    for e in v:
        total = total + e
    return total


@case((jnp.arange(3.0),), (jnp.ones(3),))
def structure_through_a_helper(v):
    def step(state, e):
        return {"sum": state["sum"] + e, "max": e if e > state["max"] else state["max"]}

    state = {"sum": 0.0, "max": -1.0}
    for e in v:
        state = step(state, e)
    return state


@case((3, 2), (0, 2), (2, 0))
def traced_in_traced(n, m):
    total = 0
    for i in range(n):
        for j in range(m):
            total += i * 10 + j
    return total


@case((4,), (1,))
def dependent_ranges(n):
    total = 0
    for i in range(n):
        for j in range(i, n):
            total = total + j
    return total


@case((3, 1.0), (0, 1.0))
def static_in_traced(n, x):
    for i in range(n):
        for k in range(2):
            x = x * 0.5 + k + i
    return x


@case((1.0, 3), (1.0, 0))
def traced_in_static(x, n):
    for k in range(2):
        for i in range(n):
            x = x * 0.5 + k + i
    return x


@case((4,), (1,))
def while_in_for_and_dependent(n):
    total = 0
    for i in range(n):
        while i > 0:
            total += i
            i -= 2
    return total


@case((3,), (2,), (0,))
def invariant_set_in_the_first_round(n):
    total = 0
    base = 0
    for i in range(n):
        if i == 0:
            base = n * 10
        total += base
    return total


@case((1.0,), (2.0,))
def invariant_made_in_the_first_static_round(x):
    total = 0.0
    for i in range(3):
        if i == 0:
            base = x * 10
        total += base
    return total


@case((3,), (2,), (0,), error_ok=codes.UNBOUND)
def made_in_the_first_round(n):
    total = 0
    for i in range(n):
        if i == 0:
            base = n * 10
        total += base
    return total


@case((3, 1.0), (1, 1.0))
def local_temporary_under_if(n, x):
    for i in range(n):
        if i > 0:
            t = x * i
            x = x + t
    return x


@case((3,), (4,))
def comprehension_in_the_body(n):
    i = 100
    total = 0
    for k in range(n):
        total += sum([k * i for i in range(3)])
    return total, i


@case((1.0,), (2.0,))
def product_of_static_ranges(x):
    for i, j in itertools.product(range(2), range(2)):
        x = x * 0.5 + i - j
    return x, i, j


@case(
    lambda: (iter([1.0, 2.0, 3.0]), True),
    lambda: (iter([1.0, 2.0, 3.0]), False),
    error_ok=codes.ITERATOR,
)
def iterator_with_static_break(it, done):
    got = 0.0
    for v in it:
        got += v
        if done:
            break
    return got, next(it, None)


@case((1.0,), (2.0,))
def generator_expression(x):
    total = 0.0
    for v in (x * i for i in range(3)):
        total = total + v
    for v in (x for _ in []):
        total = total - 100
    return total


@case((3, 1.0), (0, 1.0))
def names_that_clash(d2s, state):
    test_2 = 0
    for body_3 in range(d2s):
        then_4 = body_3 + state
        state = state + then_4
        test_2 += 1
    return state, test_2, d2s


@case((1.0, (1, 2)), (1.0, (3, 4)), keep=(1,))
def starred_target(x, pair):
    for first, *rest in [(1, 2, 3), pair]:
        x = x * first + sum(rest)
    return x, rest


@case((3,), (2,))
def zip_of_range_and_array(n):
    total = 0.0
    for i, e in zip(range(n), jnp.arange(5.0)):
        total = total + i * e
    return total


@case((3, jnp.arange(4.0)), (3, jnp.ones(4)))
def nested_loops_over_one_array(n, v):
    total = 0.0
    for a in v:
        for b in v:
            if a < b:
                total = total + b - a
    return total * n


@case((3,), (0,))
def underscore_target(n):
    x = 1
    for _ in range(n):
        x = x * 2
    return x


@case((jnp.arange(4),), (jnp.arange(4) * -1,))
def integer_elements(v):
    odd = 0
    for e in v:
        odd = odd + (e % 2 == 1)
    return odd


@case((2.0,), (0.0,), (-1.5,), vmap=True)
def range_of_a_truth(x):
    total = 0
    for i in range(bool(x)):
        total += 1 + i
    for _ in range(int(x > 1.0), 3):
        total += 10
    return total


@case((jnp.int32(3),), (jnp.int32(0),), (jnp.uint8(2),), (jnp.int16(-4),))
def range_of_an_array(n):
    total = 0
    for i in range(n):
        total += i
    for i in range(0, 5, abs(n) + 1):
        total += i * 10
    return total


@case((2.0,), (jnp.float32(2),), (jnp.array([2]),), (jnp.array(True),))
def range_of_no_integer(x):
    try:
        for _ in range(x):
            pass
    except TypeError:
        return -1
    return 1


@case((3,), (2,))
def range_of_too_many(n):
    try:
        range(0, n, 1, 1)
    except TypeError:
        return n
    return -n


@case((2.0,), (3.0,))
def range_of_known_arrays(x):
    for n in (jnp.int32(3), True, jnp.array(2)):
        for i in range(n):
            x += i
    try:
        for _ in range(jnp.float32(3)):
            x += 1
    except TypeError:
        x += 100
    return x
