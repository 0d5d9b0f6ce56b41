"""Programs around `:=`, in every place where an expression may stand."""

import jax.numpy as jnp

from . import codes
from .harness import case

SEEN = 0


# --- tests of statements -------------------------------------------------------------------------


@case((3.0,), (-3.0,), grad=True)
def in_the_test_of_an_if(x):
    if (y := x * 2) > 1:
        x = y + 1
    else:
        x = y - 1
    return x, y


@case((3,), (-3,), (0,))
def in_an_elif(n):
    if n > 2:
        return 0
    elif (m := n + 1) > 0:
        return m
    return m * 100


@case((1,), (50,), (200,))
def in_the_test_of_a_while(n):
    while (y := n * 2) < 100:
        n = y + 1
    return n, y


@case((1, 20), (50, 20), (1, 1000))
def while_with_break_and_else(n, stop):
    steps = 0
    while (y := n * 3) < 500:
        steps = steps + 1
        if y > stop:
            break
        n = y
    else:
        steps = -steps
    return n, y, steps


@case((1,), (30,))
def while_with_continue(n):
    total = 0
    while (n := n + 1) < 20:
        if n % 3 == 0:
            continue
        total = total + n
    return total, n


@case((1,), (40,))
def while_with_two_bindings(n):
    while (a := n + 1) < 30 and (b := a * 2) < 50:
        n = b
    return n, a


@case((1,), (40,), error_ok=codes.UNBOUND)
def while_whose_second_operand_may_not_run(n):
    while n < 30 and (b := n * 2) < 50:
        n = b
    return n, b


@case((1,), (9,))
def nested_whiles(n):
    total = 0
    while (i := n) < 5:
        while (j := i + total) < 8:
            total = total + j + 1
        n = i + 1
    return total, n


@case((4,), (0,))
def in_the_iterable_of_a_for(n):
    total = 0
    for i in range(last := n + 1):
        total = total + i * last
    return total, last


@case((4,), (0,))
def in_the_body_of_a_for(n):
    total = y = 0
    for i in range(n):
        total = total + (y := i * 2) + y
    return total, y


@case((3,), (-3,))
def in_an_assert(n):
    assert (m := n + 1) > 0, m
    return m


@case((3,), (-3,))
def in_a_return(n):
    return (m := n + 1), m * 2


@case((3,), (-3,))
def in_an_assignment(n):
    a = (b := n) + 1
    c, d = (e := a), e + b
    a += (f := 5) + f
    return a, b, c, d, e, f


@case(([1, 2, 3],), ([4, 5, 6],), flavours=("static", "traced"))
def in_subscripts(items):
    first = items[(i := 1)]
    rest = items[i : (j := i + 1)]
    return first, rest, i, j


# --- operands that may be left out ---------------------------------------------------------------


@case((3,), (-3,), (1,))
def first_operand(n):
    if (y := n * 2) > 0 and n > 2:
        return y
    return y + 1


@case((3,), (-3,), (1,))
def second_operand(n):
    if n > 0 and (y := n * 2) > 3:
        return y
    return n


@case((3,), (-3,), (1,), error_ok=codes.UNBOUND)
def second_operand_read_outside(n):
    if n > 0 and (y := n * 2) > 3:
        n = 0
    return y + n


@case((3,), (-3,), (1,))
def second_operand_with_a_value_before(n):
    y = -1
    if n > 0 and (y := n * 2) > 3:
        n = 0
    return y, n


@case((3,), (-3,), (1,))
def operand_of_or(n):
    if n > 2 or (y := n * 2) > 0:
        return 1
    return y


@case((3, 1), (-3, 1), (3, -1), (-3, -1))
def several_operands(a, b):
    x = y = z = 0
    if (a > 0 and (x := a + 1) > 2 and (y := x + b) > 4) or (z := b) > 0:
        got = 1
    else:
        got = 2
    return got, x, y, z


@case((3,), (-3,), (1,))
def operand_outside_a_test(n):
    y = 0
    got = n > 0 and (y := n + 1) > 2
    return bool(got), y


@case((3,), (-3,))
def negated(n):
    if not ((y := n) > 0):
        return y - 1
    return y + 1


@case((3,), (-3,), (1,))
def side_of_a_ternary(n):
    y = 0
    got = (y := n * 2) if n > 0 else (y := 5) + 1
    return got, y


@case((3,), (-3,), (1,), error_ok=codes.UNBOUND)
def one_side_of_a_ternary(n):
    got = (y := n * 2) if n > 0 else 7
    return got, y


@case((3,), (-3,))
def test_of_a_ternary(n):
    return y + 1 if (y := n * 2) > 0 else y - 1


@case((1, 2, 3), (2, 1, 3), (1, 3, 2))
def chained_comparison(a, b, c):
    if a < (m := b + 0) < c:
        return m
    return -m


@case((1, 2, 3), (2, 1, 3), (1, 3, 2))
def end_of_a_chained_comparison(a, b, c):
    m = 0
    if a < b < (m := c * 2):
        a = m
    return a, m


@case((3,), (None,), flavours=("static",))
def after_a_test_for_none(n):
    if n is not None and (y := n * 2) > 3:
        return y
    return 0


# --- comprehensions ------------------------------------------------------------------------------


@case(([1, 5, 2],), ([],), flavours=("static", "traced"))
def binds_outside_a_comprehension(items):
    last = None
    total = 0
    doubled = [(total := total + x, last := x)[0] for x in items]
    return doubled, last, total


@case(([1, 5, 2],), ([3, 0, 9],), flavours=("static",))
def condition_of_a_comprehension(items):
    kept = [y for x in items if (y := x * 2) > 3]
    return kept, y


@case(([1, 5, 2],), ([],), flavours=("static",))
def unbound_after_an_empty_comprehension(items):
    kept = [(y := x) for x in items]
    return kept, y


@case(([1, 5, 2],), ([1, 1],), flavours=("static",))
def witness_of_any(items):
    if any((found := x) > 3 for x in items):
        return found
    return None, found


@case(([1, 5, 2],), ([1, 1],), flavours=("static",))
def while_with_a_comprehension(items):
    items = list(items)
    while any((found := x) > 1 for x in items):
        items.remove(found)
    return items


@case(([[1, 2], [3]],), ([[]],), flavours=("static",))
def nested_comprehensions(rows):
    count = 0
    made = [[(count := count + 1) * x for x in row] for row in rows]
    return made, count


@case((3,), (4,))
def comprehension_of_a_run_time_value(n):
    total = 0
    parts = {k: (total := total + n * k) for k in range(3)}
    return parts, total


@case((3,), (-4,), error_ok=codes.TRUTH)
def comprehension_with_a_run_time_ternary(n):
    got = [((y := k) + n if n > 0 else -n) for k in range(3)]
    return got


# --- scopes --------------------------------------------------------------------------------------


@case((3,), (4,), error_ok=codes.EFFECT)
def binds_a_global_name(n):
    global SEEN
    if (SEEN := n) > 3:
        return SEEN
    return 0


@case((3,), (-4,))
def binds_a_nonlocal_name(n):
    y = 0

    def inner():
        nonlocal y
        if n > 0 and (y := n) > 1:
            return 1
        return 2

    return inner(), y


@case((3,), (4,))
def in_a_lambda(n):
    f = lambda k: (y := k + 1) * y
    y = 100
    return f(n), y


@case((3,), (4,))
def in_a_default(n):
    def inner(k=(y := n + 1)):
        return k * y

    return inner(), y


@case((3,), (4,), error_ok=codes.CHANGE)
def closure_over_the_name(n):
    fs = []
    if (y := n) > 0:
        fs.append(lambda: y)
    y = y + 10
    return [f() for f in fs]


@case((3.5,), (4.5,))
def in_an_argument(x):
    return jnp.maximum(y := x * 2, y - 1) + y


@case((3,), (4,), flavours=("static",))
def in_an_f_string(n):
    return f"{(m := n + 1)} {m} {(k := 2):>{m}}"


@case((3,), (0,))
def in_a_try(n):
    try:
        if (y := n) == 0:
            raise ValueError("zero")
        z = (w := y + 1)
    except ValueError:
        z = w = y - 1
    return y, z, w


@case((3,), (0,))
def before_a_failure_in_the_same_statement(n):
    def fail(k):
        if k > 0:
            raise ValueError("positive")
        return k

    y = 0
    try:
        if n > -1:
            z = (y := 1) + fail(n)
    except ValueError:
        n = 7
    return y, n


@case((3,), (0,))
def deleted_and_bound_again(n):
    y = n
    del y
    if (y := n + 1) > 2:
        n = y
    return n, y


@case((3,), (1,), error_ok=codes.RETURN_NONE)
def in_a_case_of_match(n):
    match m := n + 1:
        case 2:
            return m
        case k if (j := k * 2) > 5:
            return j + m
