"""Programs that print: the text of plain Python, in its order, on every call."""

import dataclasses
import functools
import sys

import jax
import jax.numpy as jnp

import d2s

from . import codes
from .harness import case


@case((1.0,), (2.0,), vmap=True)
def known_and_run_time_values_in_turn(x):
    print("a")
    print(x)
    print("b")
    return x


@case((1.0,), (2.0,), grad=True, vmap=True)
def only_known_values(x):
    print("begin", 1, None, [2, "three"])
    print()
    print("end")
    return x * x


@case((1.0, 2), (-2.0, 3), vmap=True)
def separators_and_ends(x, n):
    print(x, n, "c", sep="-", end="|")
    print(x, n, sep="", end="\n\n")
    print(x, n, sep=None, end=None, flush=True)
    print(x, end="")
    print(sep="never", end="")
    return x


@case((1.0,), (2.0,))
def separator_of_a_wrong_type(x):
    try:
        print(x, x, sep=1)
    except TypeError as error:
        print(error)
    print(x)
    return x


@case((1.5, 12), (-2.25, -7), vmap=True)
def f_strings(x, n):
    print(f"{x:.3f}|{x:>10.1f}|{x:+.2e}|{n:04d}|{n:x}|{n:,}|{n!s:>6}|{x=:.1f}")
    width = 9
    print(f"{x:{width}.{2}f}|{n:{width}d}|{{}}|{'text':>7}|{None}")
    return x


@case((1.5, 12), (-2.25, -7), vmap=True)
def percent(x, n):
    print("%.2f and %d" % (x, n), "%5.1f%%" % x)
    print("%(n)05d" % {"n": n}, "%s" % n, "%-8d|" % n)
    return x


@case((1.5, 12), (-2.25, -7), vmap=True)
def format_methods(x, n):
    print("{:.2f} {}".format(x, n), "{1} {0:5d}".format(n, "one"), "{n:x}".format(n=n))
    print(format(x, ".2f"), format(n), str(n) + "!", "<" + str(x) + ">")
    print(", ".join([str(n), "and", f"{x:.1f}"]), "{}".format("plain"))
    return x


@case((1.5, 12), (-2.25, -7), vmap=True)
def texts_in_variables(x, n):
    head = f"{x:.1f}"
    tail = "<" + head + ">"
    tail += f" of {n}"
    print(head, tail, f"[{tail}]", [tail], sep=f" {n} ")
    return x


@case((1.0,), (2.0,), error_ok=codes.LETTERS)
def letters_are_needed(x):
    text = f"{x:.1f}"
    print(len(text), text == "1.0", text.upper(), text[0], "." in text)
    return x


@case((1.0,), (2.0,), error_ok=codes.LETTERS)
def text_decides(x):
    text = str(x)
    if text == "1.0":
        print("one")
    return {text: x}


@case((1.0,), (2.0,), error_ok=codes.LETTERS)
def text_is_returned(x):
    return f"{x:.1f}"


@case((jnp.arange(3.0), jnp.ones((2, 2), jnp.int32)), (jnp.zeros(3), jnp.eye(2, dtype=jnp.int32)))
def arrays(x, m):
    print(x, m, x.sum(), m[0, 1])
    print([x, {"a": m}], (m[0],), repr(x), f"{m!r}", sep="\n")
    print(f"{x} {x.sum():.2f} {x[0]:6.2f}", x.shape, x.dtype)
    return x


@case((1, 2.5), (3, -0.5), error_ok=codes.LOOKS)
def numbers_in_containers(n, x):
    print([n, x], {"n": n}, (x,))
    print(repr(n), f"{x!r}", "%r" % n)
    return n


@case((True, 1.0), (False, 2.0), error_ok=codes.LOOKS)
def bools(flag, x):
    print(flag, not flag, [flag], x > 1, f"{x > 1}")
    return x


@case((1.0,), (-1.0,), vmap=True)
def in_branches(x):
    if x > 0:
        print("POS", x)
        y = x * 2
    else:
        print("NEG", x)
        y = -x
    print("after", y)
    return y


@case((1.0,), (-1.0,), vmap=True)
def in_one_branch_only(x):
    if x > 0:
        print("positive")
    return x


@case((1, 1), (1, -1), (-1, 1), (-1, -1), vmap=True)
def in_nested_branches(a, b):
    print("start", a, b)
    if a > 0:
        print("a")
        if b > 0:
            print("both", a)
        else:
            print("only a")
        print("end of a")
    elif b > 0:
        print("only b")
    return a + b


def said(word, value):
    print(word, value)
    return value


@case((1,), (-1,), (0,), vmap=True)
def in_operands(n):
    if said("first", n > 0) and said("second", n > -5):
        print("and")
    if said("third", n > 0) or said("fourth", n == 0):
        print("or")
    y = said("yes", 1) if n > 0 else said("no", 2)
    return n + y


@case((0,), (1,), (2,), (7,), vmap=True)
def in_a_match(n):
    match n:
        case 0:
            print("none")
        case 1 | 2:
            print("few", n)
        case _:
            print("many")
    return n


@case((0,), (1,), (3,), vmap=True)
def in_a_while_loop(n):
    while n > 0:
        print("at", n)
        n -= 1
    print("end", n)
    return n


@case((0, 3), (4, 3), (2, 1), vmap=True)
def in_a_loop_with_exits(n, stop):
    for i in range(n):
        if i == stop:
            print("stop at", i)
            break
        if i % 2:
            print("odd", i)
            continue
        print("even", i)
    else:
        print("all of them")
    return n


@case((2, 3), (3, 0), (0, 2), vmap=True)
def in_nested_loops(n, m):
    for i in range(n):
        print("outer", i)
        k = m
        while k > 0:
            print("  inner", i, k)
            k -= 1
    return n


@case((jnp.array([[1.0, 2.0], [3.0, 4.0]]),), (jnp.array([[0.0, -1.0], [5.0, 6.0]]),))
def over_rows(x):
    total = jnp.zeros(2)
    for row in x:
        print("row", row, f"{row[0]:.1f}")
        total = total + row
    for i, (a, b) in enumerate(zip(x[0], x[1])):  # noqa: B905
        print(i, a, b)
    print(total)
    return total


@case((1.0,), (2.0,))
def only_known_values_in_loops(x):
    for row in jnp.arange(3.0):
        print("row")
        x = x * row + x
    for name in "ab":
        print(name)
    return x


@case((3,), (-1,), (0,))
def after_a_failed_assertion(n):
    print("before")
    assert n >= 0, f"negative {n}"
    while n != 0:
        n -= 1
    print("done")
    return n


@case((3,), (-1,), (5,))
def failures_in_a_loop(n):
    for i in range(4):
        print("item", i)
        if i == n:
            raise ValueError(f"stopped at {i}")
        print("passed", i)
    print("end")
    return n


@case((1,), (-1,))
def failure_that_is_caught(n):
    try:
        print("before", n)
        if n < 0:
            raise ValueError
        print("after", n)
    except ValueError:
        print("caught")
    else:
        print("fine")
    finally:
        print("finally")
    print("end")
    return n


@case((1,), (2,))
def failure_that_is_certain(n):
    print("before", n)
    raise ValueError(f"always {n}")


@case((1,), (-1,))
def failure_passes_a_finally(n):
    try:
        print("body")
        assert n > 0
        print("unreached")
    finally:
        print("finally", n)
    return n


@case((3,), (0,), (-2,))
def unbound_names(n):
    for i in range(n):
        last = i
        print(last)
    print("last")
    print(last)
    return n


@case((2.0,), (3.0,), vmap=True)
def in_functions(x):
    def inner(y):
        print("inner", y)
        return y + 1

    return said("outer", inner(said("argument", x)))


class Named:
    def __init__(self, value):
        self.value = value

    def __str__(self):
        return f"Named({self.value})"


@dataclasses.dataclass
class Pair:
    a: object
    b: object


@case((jnp.array([1.0]),), (jnp.array([2.0]),))
def objects(x):
    print(Named("static"), Named(x), Pair(x, 1))
    return x


@case((jnp.array([1.0]),), (jnp.array([2.0]),))
def changed_afterwards(x):
    items, pair = [1, x], [x]
    print(items, pair)
    items.append(2)
    pair[0] = x + 1
    print(items, pair)
    return x


@case((1.0,), (2.0,))
def standard_files(x):
    print("out", x, file=sys.stdout)
    print("err", x, file=sys.stderr)
    print("none", file=None)
    return x


@case((46341,), (2,), flavours=("static",))
def beyond_32_bits(n):
    print("n", n)
    n = n * n
    print("squared", n)
    return n


TWO = (jnp.arange(2.0),), (jnp.array([3.0, -1.0]),)


def one_by_one(x):
    return jnp.stack([lane(v) for v in x])


@case(*TWO, oracle=one_by_one, modes=("static",))
def vmap_inside(x):
    return jax.vmap(lane)(x)


def lane(v):
    print("lane")
    if v > 0:
        print("positive", v)
    return v * 2


def both(x):
    one_by_one(x)
    print("between")
    return one_by_one(x)


@case(*TWO, oracle=both, modes=("static",))
def two_vmaps_inside(x):
    jax.vmap(lane)(x)
    print("between")
    return jax.vmap(lane)(x)


def thrice(x):
    for _ in range(3):
        one_by_one(x)
    return x


@case(*TWO, oracle=thrice, modes=("static",))
def vmap_in_a_loop(x):
    for _ in jnp.arange(3):
        jax.vmap(lane)(x)
    return x


@d2s.do_not_convert
def left_alone():
    said("alone", 1)
    return 1


@case((1.0,), (2.0,), error_ok=codes.UNSEEN_PRINT)
def in_code_that_is_not_converted(x):
    return x + left_alone()


@case((1.0,), (2.0,), error_ok=codes.UNSEEN_PRINT)
def in_a_generator(x):
    def items():
        print("next")
        yield 1

    for item in items():
        x = x + item
    return x


@case((1.0,), (2.0,))
def by_other_names(x):
    show = print
    show("alias", x)
    functools.partial(print, "partial", sep="_")(x, 1)
    list(map(print, [x, "mapped"]))
    print(" ".join(map(str, [x, 2])))
    print(*[x, 1], **{"sep": ":"})
    return x


@case((3,), (2,), (0,), vmap=True)
def in_the_test_of_a_loop(n):
    while said("test", n) > 0:
        n -= 1
    return n


@case((3, 2), (0, 5), (4, 0), vmap=True)
def deep(n, m):
    out = 0
    for i in range(n):
        if i % 2 == 0:
            for j in range(m):
                if j == i:
                    print("same", i, j)
                    break
                print(i, j)
            else:
                print("else", i)
        else:
            while out < m:
                out += 1
                if out == 3:
                    continue
                print("out", out)
    return out


@case((3,), (-1,), (7,))
def exceptions_in_a_loop(n):
    for i in range(5):
        try:
            print("try", i)
            if i == n:
                raise ValueError("x")
            if i == n - 1:
                raise KeyError(i)
            print("fine", i)
        except ValueError:
            print("caught", i)
        finally:
            print("finally", i)
    return n


@case((1.0,), (-1.0,), vmap=True)
def text_of_a_branch(x):
    if x > 0:
        text = f"value {x}"
    else:
        text = f"value {x * 2}"
    print(text)
    return x


@case((1.0,), (-1.0,), error_ok=codes.STATIC_VALUES)
def texts_that_differ(x):
    if x > 0:
        text = f"positive {x}"
    else:
        text = f"negative {x}"
    print(text)
    return x


@case((3,), (0,), (1,))
def text_of_the_last_trip(n):
    for i in range(n):
        text = f"<{i}>"
    print("before")
    print(text)
    return n


@case((5,), (2,))
def formats_that_do_not_fit(n):
    try:
        print("%d %d" % n)  # noqa: F507
    except TypeError:
        print("percent")
    try:
        print(f"{n:s}")
    except ValueError:
        print("format")
    return n


@case((5.0,), (2.0,), (0.5,))
def messages_from_variables(x):
    text = f"is {x:.1f}"
    assert x < 3, text
    assert x < 1, f"{text}!"
    return x


@case((0.1, 1e20, 1e-7), (0.7, 123456.0, 3.0), flavours=("static",))
def python_floats(a, b, c):
    print(a, b, c, f"{a:.10f}", a * 1j)
    return a


KINDS = jnp.ones(2, jnp.bfloat16), jnp.arange(3, dtype=jnp.uint8)


@case(KINDS, KINDS)
def dtypes(a, b):
    half, turned, none, flags = a.astype(jnp.float16), a * 1j, b[:0], b > 1
    print(a, b, half, turned, none, flags, a[0], b[1], turned[0], flags[0])
    print([a, b, half, turned, none, flags, a[0]], f"{b[1]:3d} {half[0]:.2f}")
    return a
