"""One small program for each row of the table; its docstring is the first cell."""

from __future__ import annotations

import jax.numpy as jnp

ONE, TWO = jnp.float32(1.0), jnp.int32(2)
ROWS = jnp.arange(6.0).reshape(3, 2)
PROGRAMS = {}


def row(*args, group, says=None):
    """`says` is the cell where `explain` has no row: an expression, or plain Python."""

    def keep(function):
        PROGRAMS[function.__name__] = (function, args, group, says)
        return function

    return keep


# -- branches -------------------------------------------------------------------------------------


@row(ONE, group="Branches")
def if_traced(x):
    """`if`, `elif`, `else` on a run-time value"""
    if x > 0:
        y = x
    else:
        y = -x
    return y


@row(ONE, True, group="Branches")
def if_known(x, flag):
    """`if` on a Python value"""
    if flag:
        x = -x
    return x


@row(TWO, group="Branches")
def chain(n):
    """`if`/`elif` that compare one run-time integer with constants"""
    if n == 0:
        y = 1.0
    elif n == 1:
        y = 2.0
    elif n == 2:
        y = 4.0
    else:
        y = 0.0
    return y


@row(TWO, group="Branches")
def match_numbers(n):
    """`match` on a run-time integer"""
    match n:
        case 0:
            y = 1.0
        case 1 | 2:
            y = 2.0
        case _:
            y = 0.0
    return y


@row({"kind": "scale", "by": ONE}, group="Branches", says="Python")
def match_structure(order):
    """`match` on structures and texts, with names bound by patterns"""
    match order:
        case {"kind": "scale", "by": factor}:
            return factor * 2
        case _:
            return ONE


@row(ONE, group="Branches")
def ternary(x):
    """`a if c else b`"""
    return x if x > 0 else -x


@row(ONE, group="Branches")
def early_return(x):
    """`return` out of a branch: the rest becomes the other branch"""
    if x > 0:
        return x
    return -x * 2


# -- conditions -----------------------------------------------------------------------------------


@row(
    ONE,
    group="Conditions",
    says="a logical operation; `lax.cond` where an operand is dear or may fail",
)
def and_or(x):
    """`and`, `or`, `not`, with their short circuit and their operand as the value"""
    return (x > 0 and x < 2) or not x > 5


@row(ONE, group="Conditions", says="as `and`; the middle is evaluated once")
def chained(x):
    """`a < b < c`"""
    return 0 < x < 2


@row(ONE, group="Conditions", says="one comparison with each entry")
def membership(x):
    """`x in (a, b)`, in a list or a `range`"""
    return x in (1, 2)


@row(ONE, None, group="Conditions", says="Python")
def is_none(x, mask):
    """`is`, `is not`, `in` on Python values"""
    return x if mask is None and "a" in ("a", "b") else -x


# -- loops ----------------------------------------------------------------------------------------


@row(TWO, group="Loops")
def while_traced(n):
    """`while` on a run-time value"""
    steps = 0
    while n > 0:
        n = n - 1
        steps += 1
    return steps


@row(ONE, group="Loops")
def while_known(x):
    """`while` on Python values"""
    n = 3
    while n > 0:
        x = x * 2
        n -= 1
    return x


@row(ONE, group="Loops")
def while_becomes(x):
    """`while` whose test becomes a run-time value (`t = 0`, then `if done: break`)"""
    t = 0
    while t < 8:
        x = x * 2
        if x > 5:
            break
        t += 1
    return x, t


@row(TWO, group="Loops")
def for_traced(n):
    """`for i in range(n)` with a run-time `n`"""
    total = 0
    for i in range(n):
        total = total + i
    return total


@row(ROWS, group="Loops")
def for_rows(rows):
    """`for row in array`; also `enumerate`, `zip`, `reversed` of arrays"""
    total = jnp.zeros(2)
    for row in rows:
        total = total + row
    return total


@row(ONE, group="Loops")
def for_list(x):
    """`for` over a list, a dict, objects"""
    for factor in [2.0, 3.0]:
        x = x * factor
    return x


@row(ONE, group="Loops")
def for_list_left(x):
    """the same, left by a run-time condition"""
    for factor in [2.0, 3.0, 4.0]:
        x = x * factor
        if x > 5:
            break
    return x


@row(ROWS, group="Loops")
def break_continue(rows):
    """`break`, `continue`, `return` in a loop"""
    total = 0.0
    for row in rows:
        if row[0] < 1:
            continue
        total = total + row[0]
        if total > 3:
            break
    return total


@row(TWO, group="Loops")
def loop_else(n):
    """`else` of a loop"""
    while n > 0:
        n = n - 1
        if n == 5:
            break
    else:
        n = n - 10
    return n


@row(ONE, group="Loops", says="Python, in the graph as often as it runs")
def comprehension(x):
    """comprehensions and generator expressions"""
    return sum([x * n for n in range(3)])


# -- failures -------------------------------------------------------------------------------------


@row(ONE, group="Failures")
def assertion(x):
    """`assert` on a run-time value"""
    assert x > 0, f"{x} is not positive"
    return x


@row(ONE, group="Failures")
def raising(x):
    """`raise` under a run-time condition: the caller gets it"""
    if x < 0:
        raise ValueError(f"{x} is negative")
    return x


@row(ONE, group="Failures")
def catching(x):
    """`try`/`except` around it: caught in the graph"""
    y = 0.0
    try:
        if x < 0:
            raise ValueError("negative")
        y = x
    except ValueError:
        y = -x
    return y


@row(ONE, group="Failures", says="part of the graph")
def finally_(x):
    """`try`/`finally`, `with`"""
    try:
        y = x * 2
    finally:
        x = x + 1
    return x, y


# -- names and functions --------------------------------------------------------------------------


@row(
    ONE,
    group="Names and functions",
    says="Python; a name without a value raises `UnboundLocalError`",
)
def deletion(x):
    """`del`, names that only some paths bind"""
    y = x
    del y
    return x


@row(ONE, group="Names and functions", says="Python")
def walrus(x):
    """`:=`"""
    return (y := x * 2) + y


@row(ONE, group="Names and functions", says="converted when they are first called")
def calls(x):
    """functions, methods, lambdas, `functools.partial`, callable objects"""

    def double(y):
        return y * 2 if y > 0 else y

    return (lambda z: double(z))(x)


@row(ONE, group="Names and functions", says="carried where a block writes them")
def nonlocals(x):
    """`nonlocal`, `global`, closures"""
    count = 0

    def add():
        nonlocal count
        count = count + 1

    if x > 0:
        add()
    return count


@row(ONE, group="Names and functions", says="Python")
def inner_class(x):
    """classes and imports inside functions"""
    import math

    class Scale:
        by = math.sqrt(4.0)

    return x * Scale.by


# -- writes and effects ---------------------------------------------------------------------------


@row(jnp.arange(3.0), TWO, group="Writes and effects", says="`x = x.at[i].set(v)`")
def subscript_write(x, i):
    """`x[i] = v`, `x[a:b] += v` on jax arrays"""
    y = x * 1
    y[i] = 5.0
    y[0:2] += 1.0
    return y


@row(jnp.arange(6.0), TWO, group="Writes and effects", says="`lax.dynamic_slice`, or an error")
def window(x, i):
    """`x[i : i + 3]` at a run-time position"""
    start = i if i > 0 else 0
    return x[start : start + 3]


@row(ROWS, group="Writes and effects")
def appends(rows):
    """`l.append(v)` in a staged loop: stacked outputs"""
    sums = []
    for row in rows:
        sums.append(row.sum())
    return jnp.stack(sums)


@row(ONE, group="Writes and effects", says="printed by every call, in order")
def printing(x):
    """`print` and texts with run-time values"""
    if x > 0:
        print(f"x is {x:.2f}")
    return x


@row({"best": ONE}, ONE, group="Writes and effects", says="outputs of the graph, written back")
def attributes(record, x):
    """`d[k] = v`, `o.x = v`, also of arguments, globals and closures"""
    if x > record["best"]:
        record["best"] = x
    return x
