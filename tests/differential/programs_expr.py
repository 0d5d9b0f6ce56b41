"""Programs around conditional expressions, `and`, `or`, `not` and comparisons."""

import operator

import jax.numpy as jnp

from . import codes
from .harness import case


@case((1.0,), (-1.0,), grad=True, vmap=True)
def ternary(x):
    return x * 2 if x > 0 else -x


@case((1.0, 2), (-1.0, 2), (1.0, -2), error_ok=codes.LOSSY_JOIN)
def consecutive_ternaries(x, n):
    a = x if n > 0 else -x
    b = n if x > 0 else n * 3
    return a + b, (a if a > b else b)


@case((1.0,), (-1.0,), grad=True)
def ternary_of_tuples(x):
    a, b = (x, x + 1) if x > 0 else (x * x, -x)
    return a * b


@case((0.5,), (1.5,), (-1.0,), vmap=True)
def nested_ternary(x):
    return 1 if x < 0 else 2 if x < 1 else 3


@case((0.5,), (-0.5,))
def ternary_int_joins_float(x):
    y = 1 if x > 0 else 0.5
    return y + x


@case((1.0, True), (1.0, False), keep=(1,))
def ternary_is_lazy(x, safe):
    table = {"a": 1.0}
    return x + (table["a"] if safe else table.get("b", 7.0)) + (0 if safe else 1)


@case((1.0, None), (2.0, None))
def ternary_guards_none(x, other):
    return x if other is None else x + other.missing


@case((1.0,), (-1.0,))
def ternary_as_argument(x):
    def add(a, b=0.0):
        return a + b

    return add(x if x > 0 else 0.0, b=1.0 if x < 0 else x)


@case((0,), (3,), (-1,))
def or_returns_the_operand(n):
    return n or 7


@case((0.0, 2.0), (3.0, 0.0), (0.0, 0.0), (1.0, 2.0))
def and_returns_the_operand(a, b):
    return a and b


@case((0, 0, 3), (0, 2, 3), (1, 2, 3), (1, 0, 0))
def chains_of_and_and_or(a, b, c):
    return a or b or c, a and b and c, a and b or c, a or b and c


@case((0, 0), (0, 1), (1, 0), (1, 1))
def truth_tables(a, b):
    p = a > 0
    q = b > 0
    return p and q, p or q, not p, not (p and q), not p or not q


@case((1.0, True), (-1.0, True), (1.0, False), keep=(1,))
def static_and_traced_operands(x, flag):
    a = 1 if flag and x > 0 else 2
    b = 1 if x > 0 and flag else 2
    c = 1 if flag or x > 0 else 2
    d = 1 if not flag and not x > 0 else 2
    return a, b, c, d


@case((1.0, None), (-1.0, None))
def guards_with_is_none(x, other):
    if other is not None and other.k > 0:
        x = x + other.k
    if other is None or other.k > 0:
        x = x * 2
    return x


@case((1.0, ""), (1.0, "abc"))
def operands_that_are_no_numbers(x, s):
    name = s or "default"
    both = s and "yes"
    none = None or s
    return name, both, none, [] or {"k": x}, () and x


@case((0, 5), (3, 5))
def or_is_lazy_with_calls(a, b):
    def left():
        return a

    def right():
        return b + 1

    return left() or right(), left() and right()


@case((1.0,), (-1.0,), error_ok=codes.EFFECT)
def short_circuit_calls_are_counted(x):
    calls = 0

    def seen(v):
        nonlocal calls
        calls += 1
        return v

    r = seen(x > 0) and seen(x < 5)
    return r, calls


@case((1.0,), (2.0,))
def short_circuit_static_calls_are_counted(x):
    calls = 0

    def seen(v):
        nonlocal calls
        calls += 1
        return v

    a = seen(False) or seen("") or seen(3)
    b = seen(1) and seen(0) and seen(x)
    return a, b, calls, x


@case((0.0,), (2.0,), (True,))
def not_of_values(x):
    return not x, not not x, not None, not "a"


@case((1, 2, 3), (3, 2, 1), (2, 2, 2), vmap=True)
def chained_comparison(a, b, c):
    return a < b <= c, a == b == c, a <= b >= c, a != b < c


@case((1,), (5,), (9,))
def chained_middle_evaluated_once(n):
    calls = 0

    def middle():
        nonlocal calls
        calls += 1
        return n

    inside = 2 < middle() <= 8
    return inside, calls


@case((1, 5), (7, 5), (3, 5), error_ok=codes.EFFECT)
def chained_end_evaluated_only_if_needed(n, m):
    calls = 0

    def end():
        nonlocal calls
        calls += 1
        return m

    inside = 2 < n < end()
    return inside, calls


@case((1, [1, 2]), (3, [1, 2]), keep=(0, 1))
def membership_and_identity(n, items):
    other = items
    return n in items, n not in items, items is other, items is not None, -n, ~n


@case((1.0, 2.0), (2.0, 2.0))
def equality(a, b):
    same = a == b
    if a != b:
        a = b
    return same, a == b, a


@case((0.5, 1), (2.5, 1), (0.5, 0))
def compound_test_of_an_if(x, n):
    if 0 < x < 1 and n > 0 or x > 2 and not n < 0:
        y = x
    else:
        y = -x
    return y


@case((0.0, 4), (5.0, 4), (0.0, 0))
def compound_test_of_a_while(x, n):
    k = 0
    while k < n and not x > 3 or k == 0:
        x = x + 1.5
        k += 1
    return x, k


@case((jnp.array([1.0, -1.0]), 1.0), (jnp.array([2.0, 3.0]), -1.0), grad=True)
def array_operands_in_branches(v, x):
    return v * 2 if x > 0 else v.sum() * v


@case((1.0,), (-1.0,))
def ternary_in_comprehension(x):
    return [v * 2 if v > 1 else v for v in (0, 1, 2, 3)], [x + i for i in range(3) if i != 1]


@case((3,), (4,))
def ternary_in_subscript_and_call_chain(n):
    table = jnp.array([10, 20, 30])
    return table[0 if n % 2 else 2] + (table.sum() if n > 3 else table.max())


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def ternary_picks_a_function(x):
    f = jnp.sin if x > 0 else jnp.cos
    return f(x)


@case((1.0,), (-1.0,))
def lambda_with_ternary(x):
    f = lambda v, w=2.0: v * w if v > 0 else v - w
    return f(x) + f(-x, 3.0)


# --- in ------------------------------------------------------------------------------------------


@case((1,), (3,), (2,))
def in_a_tuple(x):
    if x in (1, 2):
        return x * 10
    return x


@case((1,), (3,), (4,))
def not_in_a_list_with_run_time_values(x):
    found = [x + 1, 3, x * 2]
    return (x not in found) + (4 in found) * 2


@case((1,), (3,), (-2,), (8,))
def in_a_range(x):
    return (x in range(4)) + (x in range(8, -3, -5)) * 2 + (x in range(0)) * 4


@case((1, 3), (3, 3), (-1, 5), (2, 0), (5, -2))
def in_a_range_with_run_time_ends(x, n):
    up, down = range(1, n, 2), range(n, -3, -2)
    return (x in range(n)) + (x in up) * 2 + (x not in down) * 4


@case((1.0,), (2.5,), (float("nan"),))
def in_with_floats(x):
    held = (x,)
    return (x in (1, 2)) + (x in range(1, 4)) * 2 + (x in held) * 4


@case((1,), (5,))
def in_a_loop_until_the_end(x):
    steps = 0
    while x not in (7, 9):
        x += 2
        steps += 1
    return steps, x


@case((1,), (5,))
def in_nothing(x):
    return x in (), x in [], x not in ()


@case((1,), (5,))
def in_of_other_things(x):
    return x in ("a", None, "b"), "a" in {"a": x}, None in (x, None), x in (x,)


@case((1,), (4,), error_ok=codes.TRUTH)
def in_a_set_of_numbers(x):
    if x in {1, 2} or x in {4: "four"}:
        return x
    return -x


@case((1,), (4,))
def chained_with_in(x):
    return 0 < x in (1, 2, 3)


@case((jnp.arange(4), 2), (jnp.arange(4), 7))
def in_an_array(values, x):
    return x if x in values else -x


class Odd:
    def __contains__(self, item):
        return item % 2 == 1


@case((3,), (4,), error_ok=codes.TRUTH)
def in_an_object(x):
    return x in Odd()


@case((3,), (4,))
def in_filters(x):
    return [n for n in (1, 2, 3) if n not in (1, 5)], any(x in (n, n + 1) for n in (1, 3))


@case((2,), (-2,), (0,), (3.5,), (-1.0,))
def flag_and_a_number(x):
    return (x > 0 and x) + 1, (x and x > 1) + 1, (x < 0 or x) + 1, (x or x > -1) + 1


@case((2,), (-2,), (0,))
def flag_and_a_constant(x):
    return (
        (x > 0 or 5) + 1,
        (x > 0 and 3) + 1,
        (x < 0 and 2.5) + 1,
        (x or False) + 1,
        (x and True) + 1,
    )


@case((2,), (-2,), (0,), (3.5,))
def flag_and_a_number_in_a_test(x):
    if (x > 0 and x) or x < -1 and x + 2:
        return 1
    return 2


@case((0, 3.0), (4, 3.0), (-2, 1.0))
def mean_of_none_is_zero(n, total):
    mean = n and total / n
    return mean + 0.5, (n and n and total) * 2


@case((0, 3.0, 2.0), (4, 0.0, 2.0), (4, 2.0, -3.0))
def a_chain_of_numbers(n, x, y):
    if (n and x and y) < 1:
        return y + (n and x)
    return y


THREE, FIVE = 3, 5
NO_NUMBER = "no number"


@case((3,), (5,), (1,), error_ok=codes.KIND)
def identity_of_small_integers(n):
    count = 0
    while count < n:
        count += 1
    return count is FIVE, count is not THREE, (lambda k: k is n)(count)


@case((3,), (2,), error_ok=codes.KIND)
def identity_by_operator(n):
    count = 0
    while count < n:
        count += 1
    return operator.is_(count, 3), operator.is_not(count, FIVE)


@case((3.0,), (2.0,), error_ok=codes.KIND)
def identity_of_a_truth(x):
    found = bool(x > 2.0)
    return found is (x > 0.0)


@case((jnp.array([3, 4]),), (jnp.array([1, 2]),))
def identity_of_other_values(x):
    y = x + 1
    same = y
    return same is y, y is NO_NUMBER, y is None, y is not x, y is FIVE, NO_NUMBER is NO_NUMBER
