"""Programs around `break`, `continue` and `return`."""

import jax.numpy as jnp

from . import codes
from .harness import case


@case((3, 10), (20, 10), (0, 10))
def break_in_while(n, limit):
    total = 0
    while n > 0:
        total += n
        if total > limit:
            break
        n -= 1
    return total, n


@case((8, 5), (3, 50), (0, 1))
def break_in_traced_for(n, limit):
    total = 0
    for i in range(n):
        total = total + i
        if total > limit:
            break
    return total


@case((2.0,), (100.0,))
def traced_break_in_static_for(limit):
    total = 0.0
    last = -1
    for i in range(6):
        last = i
        total = total + i
        if total > limit:
            break
    return total, last


@case((jnp.array([1.0, -1.0, 2.0]),), (jnp.array([1.0, 2.0, 3.0]),), (-jnp.ones(3),))
def break_over_rows(v):
    total = 0.0
    for e in v:
        if e < 0:
            break
        total = total + e
    return total, e


@case((3,), (7,))
def break_as_last_statement(n):
    k = 0
    for i in range(n):
        k = k + i
        break
    return k


@case((6,), (0,))
def continue_in_for(n):
    total = 0
    for i in range(n):
        if i % 2 == 0:
            continue
        total += i
    return total


@case((6,), (0,))
def continue_in_while(n):
    total = 0
    while n > 0:
        n -= 1
        if n % 3 == 1:
            continue
        total = total * 2 + n
    return total


@case((1.0,), (-1.0,), grad=True)
def continue_in_static_for(x):
    y = 0.0
    for i in range(4):
        if x * i > 1.5:
            continue
        y = y + x * i
    return y


@case((jnp.array([1.0, -1.0, 2.0]),), (jnp.array([-1.0, 2.0, 3.0]),), grad=True)
def continue_over_rows(v):
    total = 0.0
    for e in v:
        if e < 0:
            continue
        total = total + e * e
    return total


@case((7,), (3,))
def several_continues(n):
    a = b = 0
    for i in range(n):
        if i == 1:
            continue
        a += i
        if i % 2:
            if i > 4:
                continue
            b += i
            continue
        b = b * 2
    return a, b


@case((9, 20), (9, 3), (2, 20))
def break_and_continue(n, limit):
    total = 0
    for i in range(n):
        if i % 2:
            continue
        elif total > limit:
            break
        total += i
    return total


@case((5,), (2,))
def dead_code_after_break_and_continue(n):
    total = 0
    for i in range(n):
        if i > 3:
            total += 100
            break
            total = 0
        else:
            total += i
            continue
            total = -1
        total = 999
    return total


@case((4, 3), (2, 6))
def break_in_inner_loop(n, m):
    total = 0
    for i in range(n):
        for j in range(m):
            if j > i:
                break
            total += 10 * i + j
    return total


@case((4, 3), (1, 5))
def continue_in_inner_loop(n, m):
    total = 0
    for i in range(n):
        j = 0
        while j < m:
            j += 1
            if j == i:
                continue
            total += j
        total *= 2
    return total


@case((5, 7), (5, 100), (0, 0))
def break_from_both_loops(n, limit):
    total = 0
    for i in range(n):
        for j in range(n):
            total += j
            if total > limit:
                break
        if total > limit:
            break
        total += 1
    return total, limit


@case((6, 3), (6, 9))
def break_then_another_if(n, stop):
    a = b = 0
    for i in range(n):
        if i == stop:
            break
        if i % 2:
            a += i
        else:
            b += i
    return a, b


@case((6, 4.0), (6, 40.0))
def correlated_breaks(n, x):
    hits = 0
    while n > 0:
        n -= 1
        x = x - 1.0
        if x < 0:
            hits += 1
            break
        if n == 2:
            hits += 10
            break
        hits += 100
    return hits, x, n


@case((3, 1.0), (9, 1.0))
def break_in_nested_ifs(n, x):
    while True:
        n -= 1
        if n < 5:
            if x > 0:
                if n < 2:
                    break
                x = x - 0.25
        else:
            x = x + 1
    return n, x


@case((2.0,), (5.0,), (50.0,))
def two_traced_breaks_in_static_loop(limit):
    total = 0.0
    why = 0
    for i in range(8):
        total += i
        if total > limit:
            why = 1
            break
        if i == 4:
            why = 2
            break
    return total, why


@case((4.0, True), (4.0, False), keep=(1,))
def static_break(x, stop):
    for i in range(3):
        x = x + i
        if stop:
            break
    return x


@case((1.0,), (-1.0,), grad=True, vmap=True)
def early_return(x):
    if x > 0:
        return x * 2
    return x * 3


@case((0.5,), (1.5,), (2.5,), (-1.0,), grad=True)
def several_early_returns(x):
    if x < 0:
        return -x
    y = x * x
    if y < 1:
        return y
    y = y + 1
    if x < 2:
        return y * 2
    y = y - x
    return y


@case((1.0, 1), (-1.0, 1), (1.0, -1), grad=True)
def all_paths_return(x, n):
    if x > 0:
        if n > 0:
            return x, n
        else:
            return x * 2, n
    else:
        return x * 3, n
    return 0.0, 99


@case((1.0, 1), (1.0, -1), (-1.0, 1))
def temporarily_undefined_return(x, n):
    if x > 0:
        if n > 0:
            return 1
    return 2


@case((1.0,), (-1.0,))
def return_in_else_then_default(x):
    y = x
    if x > 0:
        y = y + 1
    else:
        return y - 1
    return y * 2


@case((1.0,), (2.0,))
def superfluous_returns(x):
    return x + 1
    return x + 2


@case((1.0,), (-1.0,), error_ok=codes.RETURN_NONE)
def falls_off_the_end(x):
    if x > 0:
        return x


@case((1.0,), (-1.0,))
def no_return_at_all(x):
    if x > 0:
        x = x + 1


@case((1.0,), (-1.0,))
def bare_returns(x):
    if x > 0:
        return
    x = x + 1
    return None


@case((1.0,), (-1.0,), error_ok=codes.RETURN_NONE)
def explicit_none_on_one_side(x):
    if x > 0:
        return None
    return x


@case((1.0,), (-1.0,), error_ok=codes.STRUCTURE)
def returns_of_different_length(x):
    if x > 0:
        return x, x
    return x, x, x


@case((1.0,), (-1.0,))
def returns_of_different_kind(x):
    if x > 0:
        return 1
    return 0.5


@case((jnp.arange(3.0),), (-jnp.arange(3.0),), error_ok=codes.SHAPE)
def returns_of_different_shape(v):
    if v.sum() > 0:
        return v
    return v[:1]


@case((5, 3), (5, 9), (0, 3))
def return_in_traced_for(n, wanted):
    for i in range(n):
        if i * i > wanted:
            return i
    return -1


@case((4.0,), (400.0,))
def return_in_static_for(limit):
    total = 0.0
    for i in range(6):
        total = total + i
        if total > limit:
            return total * 100
    return total


@case((10, 7), (0, 7), (3, 50))
def return_in_while(n, m):
    while n > 0:
        m = m - n
        if m < 0:
            return n, m
        n -= 1
    return n, m + 1000


@case((jnp.array([3.0, 5.0, 7.0]), 5.0), (jnp.array([3.0, 5.0, 7.0]), 6.0))
def return_over_rows(v, wanted):
    for i, e in enumerate(v):
        if e == wanted:
            return i
    return -1


@case((3,), (1,))
def unconditional_return_in_for(n):
    for i in range(n):
        return n * 10
    return -1


@case((3,), (0,), error_ok=codes.RETURN_NONE)
def unconditional_return_in_for_may_fall_off(n):
    for i in range(n):
        return i + 10


@case((3,), (8,))
def unconditional_return_in_while_true(n):
    while True:
        n += 1
        return n


@case((3, 1.0), (0, 1.0), (3, -1.0))
def both_sides_return_in_a_loop(n, x):
    while n > 0:
        if x > 0:
            return x
        else:
            return x * 2
    return 0.0


@case((3, 4), (3, 100), (0, 1))
def return_from_inner_loop(n, limit):
    total = 0
    for i in range(n):
        for j in range(n):
            total += i * j
            if total > limit:
                return total, i, j
        total += 1
    return total, -1, -1


@case((4, 4), (4, 30), (0, 0))
def return_break_and_continue(n, limit):
    total = 0
    for i in range(n):
        j = 0
        while True:
            j += 1
            if j > 3:
                break
            if j == 2:
                continue
            total += i + j
            if total > limit:
                return -total
        if i == 2:
            continue
        total += 1
    return total


@case((-1.0, 3), (1.0, 3), (1.0, 0))
def return_before_a_loop(x, n):
    if x < 0:
        return x
    for i in range(n):
        x = x + i
    return x * 2


@case((1.0,), (-1.0,))
def return_of_a_captured_name(x):
    y = x

    def inner():
        return y * 2

    if x > 0:
        y = x + 10
        return inner()
    y = x - 10
    return inner()


@case((1.0,), (-1.0,))
def return_in_a_nested_function(x):
    def inner(v):
        if v > 0:
            return v * 2
        return v

    y = inner(x)
    return y + 1


@case((5.0,), (0.0,))
def names_that_clash(returned):
    broke = 0.0
    done = 1.0
    result = 0.0
    do_break = 0.0
    for value in range(3):
        if returned > value + 3:
            broke = broke + 1.0
            break
        do_break = do_break + done
    if do_break > 2:
        return result, broke, do_break
    return returned, broke, do_break


@case((30,), (3,))
def thirty_ways_out(n):
    if n == 0:
        return 5
    if n == 1:
        return 4
    if n == 2:
        return 8
    if n == 3:
        return 2
    if n == 4:
        return 1
    if n == 5:
        return 0
    if n == 6:
        return 7
    if n == 7:
        return 3
    if n == 8:
        return 6
    if n == 9:
        return 9
    return n * 2


@case((6,), (2,))
def code_after_the_loop_is_skipped_by_return(n):
    total = 0
    for i in range(n):
        if i == 4:
            return -1
        total += i
    while total > 2:
        total -= 2
    return total


@case((1.0, 4), (-1.0, 4))
def loop_in_a_branch_with_return(x, n):
    if x > 0:
        for i in range(n):
            x = x * 2
            if x > 5:
                return x
    else:
        while n > 0:
            n -= 1
            if n == 1:
                break
            x = x - 1
    return x + n


@case((1.0, 2), (1.0, 20), error_ok=codes.OBJECTS)
def traced_break_over_objects(x, limit):
    name = "none"
    total = 0.0
    for f in (jnp.sin, lambda v: v * 10, lambda v: v + 1):
        x = f(x)
        total = total + x
        if x > limit:
            break
    return total, name


@case(
    lambda: (iter([1.0, 2.0, 3.0]), 2.5),
    lambda: (iter([1.0, 2.0, 3.0]), 9.0),
    error_ok=codes.ITERATOR,
)
def traced_break_over_an_iterator(it, limit):
    total = 0.0
    for v in it:
        total = total + v
        if total > limit:
            break
    return total
