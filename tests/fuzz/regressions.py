"""Programs that once came out different, one function each, with the seed that wrote it.

`@found(*rows)` registers the function with its arguments; `test_fuzz.py` asks all oracles
about each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from .program import Row

FOUND: list[tuple[Callable[..., Any], tuple[Row, ...], str, tuple[str, ...]]] = []


def found(*rows: Row, flavour: str = "traced", refused: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Register a program; `refused` are the codes with which d2s may stop instead."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        FOUND.append((fn, rows, flavour, refused))
        return fn

    return register


class Box:
    def __init__(self, n: Any, s: Any = 8.0) -> None:
        self.n = n
        self.s = s


def bad(x):
    if x > 0:
        raise ValueError("v")
    return 5


# seed 65: unrolled after a failed trial, the loop made no trip
@found(lambda: (jnp.ones(3), 4))
def reversed_rows(u, a):
    for i in reversed(u):
        a = False
    return a


# seed 9000578
@found(lambda: (jnp.array([1.5, 0.5]),))
def left_by_an_object(v):
    for i, j in enumerate(v):

        def g(h):
            return h

        return g(4.0)
    return j


# seed 9000346: the mark of a name came out as its value
@found(lambda: (0,), lambda: (1,))
def bound_before_a_finally(p):
    try:
        while p:
            raise ValueError("x")
        d = c = 3
    finally:
        o = 0
    return d


# seed 31000039
@found(lambda: (0,))
def read_in_a_finally(p):
    try:
        d, z = (0, (a if p else 0.75) % 8.0)  # noqa: F821
    finally:
        e = z
    d = a = e % 3
    return d


# seed 31000104
@found(lambda: (1,), lambda: (0,))
def bound_beside_a_raise(p):
    try:
        if p:
            w1 = 0
            w1 += 1
        else:
            raise KeyError
    except ZeroDivisionError:
        pass
    else:
        a = w1 % 3
    return a


# seed 9000113: a name deleted in a loop and read in its test
@found(lambda: (3,))
def deleted_before_the_test(a):
    while a % 4:
        del a


# seed 8000044
@found(lambda: (5, 7), lambda: (1, 7))
def deleted_under_a_condition(x, z):
    w = 0
    while w < 3 and x < z:
        w += 1
        if w > x:
            del z
    return w


# seed 8000103: what the body of a class reads was not known
@found(lambda: (4,))
def read_by_a_class(a):
    try:
        pass
    except ValueError:
        b = (a := 0) % 7
        return 7

    class Local:
        part = a

    a = 0
    return Local.part


# seed 3000386: a name that may be unbound, augmented
@found(lambda: (1, 1.5), lambda: (4, 1.5))
def augmented_in_an_else(a, z):
    try:
        if a > 1:
            return 5.0
        y = z % 2.0
    except ValueError:
        pass
    else:
        y -= z
    return y


# seed 9000593
@found(lambda: (0.5,))
def augmented_after_del(u):
    for i in range(4):
        if jnp.any(u > 9.0):
            return 1.0
        del u
    else:
        u += u  # noqa: F821
    return u


# seed 4000049: an exception of the engine came out
@found(lambda: (6,), lambda: (3,))
def other_kinds_before_a_failure(a):
    try:
        if a:
            o = 0
        else:
            raise KeyError("missed")
        o = Box(0)
    except ValueError:
        pass
    return o.s % 4.0


# an annotation of a name that a block shares
@found(lambda: (1,))
def annotated(a):
    try:
        b: int = a + 1
    except ValueError:
        b = 2
    return b


# seed 3000187: known arrays in Python's own max
@found(lambda: (1.0,))
def largest(x):
    return max([jnp.int32(1), jnp.int32(3), jnp.int32(2)]) + x


# seed 32000274: flags of the try kept its finally from running
@found(lambda: (1, 6))
def returns_in_finallys(u, a):
    try:
        return 0
    finally:
        w1 = 0
        while 2:
            try:
                pass
            finally:
                if 1:
                    return 1


# seed 33000235: a choice by a known array inside a transformation
@found(lambda: (2, 0.5), lambda: (3, 0.5))
def known_subject(a, u):
    match a:
        case 0 | 3:
            return u
        case 1:
            return u * 2
    return u * 3


# seed 33000033: what follows a certain failure
@found(lambda: (5,))
def fails_in_the_else(a):
    try:
        for i1 in reversed(range(a % 4)):
            pass
    except KeyError:
        x = 0
    else:
        raise ValueError("always")
    return x


# seed 41000174
@found(lambda: ())
def fails_in_every_trip():
    for i1 in jnp.ones(2):
        return i2  # noqa: F821
    x = i2  # noqa: F821


# a name that `:=` binds in a last statement which then fails
@found(lambda: (3,), lambda: (-3,))
def bound_before_a_failure(x):
    y = 0
    try:
        if x > 0:
            z = (y := 1) + bad(x)
    except ValueError:
        x = 7
    return y


# a finally that leaves: what was written after the failure must not be seen
@found(lambda: (3,))
def written_after_a_failure(n):
    total = 0
    for i in range(n):
        try:
            if i == 1:
                raise ValueError
            total = total + 1
        finally:
            continue
    return total


# seed 52000557: under a gradient inside a graph the failure passed its handler by
@found(lambda: (jnp.ones(3),), lambda: (jnp.zeros(3),))
def caught_inside_a_gradient(k):
    try:
        assert jnp.sum(k) < 3, "claim"
    except Exception:
        return 5
    return jnp.sum(k) * 2


# seed 62000924: a body that always fails, and so does its handler
@found(lambda: (3,), lambda: (0,))
def fails_in_the_handler(r):
    try:
        if r:
            d, z = 0
        else:
            raise KeyError
    except Exception:
        d, *rest = 3
    return d


# seed 62001242: two failures in one finally
@found(lambda: (0,), lambda: (1,), flavour="static")
def fails_twice_in_a_finally(x):
    try:
        if not x:
            o = o  # noqa: F821
        a = b = 0
    finally:
        raise ZeroDivisionError(f"at {b}")


# found by hand: an object made in a branch held a value of the branch when it came out of it
@found(lambda: (jnp.float32(1.5),), lambda: (jnp.float32(-2.0),))
def object_after_a_return(x):
    if x > 0:
        return x
    o = Box(x * 2)
    x = x + 1
    return o.n + x


# seed 1000094: a branch that is never taken ends the loop: its flag is a constant of the graph
@found(lambda: (0, (5, -0.25)))
def leaves_on_a_constant(a, t):
    for _ in range(a, 0):
        if 0:
            return x  # noqa: F821
        a, x = t  # noqa: F841


# seed 5000060: a test that changed nothing was said to change a dict; and so without an end
@found(lambda: ({"a": 5}, jnp.bool_(True), 2), lambda: ({"a": 2}, jnp.bool_(False), 3))
def dict_that_is_deleted_in_a_loop(r, p, a):
    w = 0
    while True:
        if w >= 2:
            break
        w += 1
        try:
            for _ in range(a % 4):
                del r
                if p:
                    continue
            if p:
                return r
            r = {"a": a}
        except AssertionError:
            a += 1
    return r


# seed 31000678: a name that a branch binds after a possible failure was said to be unbound, maybe
@found(lambda: (0, {"a": 5.0}), lambda: (1, {"a": 5.0}), lambda: (-9, {"a": 5.0}))
def bound_after_a_possible_failure(x, r):
    if x > 0:
        o = Box(3)
    else:
        assert x > -5
        o = Box(r["a"])
    o.w = 5
    held = lambda: o  # noqa: E731, F841
    return o.w


# seed 141000252: a name that is bound only where nothing reaches is local all the same
@found(lambda: (0,), lambda: (2,))
def import_that_nothing_reaches(n):
    while n:
        n -= 1
        while 0:
            n += 1
        else:
            break
        import jnp
    return jnp.ceil(0)


# seed 151000433: `in` in a converted function, with a graph around it that is not d2s's
@found(lambda: (0, 3.0), lambda: (2, 3.0))
def membership_under_a_gradient(a, x):
    if a in (1, 2):
        return x * 2
    return x


# seed 151001064: a `finally` around another did not see what was written before the failure
@found(lambda: ({"a": 5},), lambda: ({"a": 0},))
def finally_around_a_finally(r):
    try:
        try:
            if r["a"]:
                a = 0
                raise KeyError("a")
        except ValueError:
            pass
        finally:
            g = 0  # noqa: F841
    finally:
        print(a)


# seed 302000407: a handler that only raises left a sure name behind as doubtful
@found(lambda: (0.0,), lambda: (2.0,))
def handler_that_only_raises(x):
    try:
        b = int(x)
        d = 0
    except ValueError:
        raise
    return d % 3 + b


SCORE = 1


def score(n):
    global SCORE
    SCORE = (SCORE + n) % 7
    return SCORE


# seed 501000153: what a generator inside the function calls runs as it is, outside
@found(lambda: (1,), lambda: (2,), refused=("D2S080",))
def generator_with_a_helper(n):
    def made():
        yield score(1) % 7

    for i in made():
        n = n + i
    return n


# seed 601000201: bound on both sides of a branch, on one of them by an operand of its test
@found(lambda: (0,), lambda: (5,))
def bound_by_an_operand_or_after_it(x):
    if 5 - x or (c := 1):
        c = 7
    return c


def tallied(n):
    def add(h):
        nonlocal n
        n = (n + h) % 9
        return n

    return add


# seed 9001000966: the variable of a function made in a branch was taken for one from before it
@found(lambda: (6, 0), lambda: (6, 1))
def made_in_a_branch(t, a):
    if a:
        return 0
    add = tallied(t % 3)
    add(0)
    return 0


class Logged:
    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log.append(1)
        return self

    def __exit__(self, kind, error, trace):
        self.log.append(2)


# seed 9101001590: a name that only blocks inside a `with` bind, and an operand after it
@found(lambda: (0,), lambda: (3,))
def bound_by_an_operand_after_a_with(x):
    log = []
    with Logged(log):
        if not log:
            b = 0  # noqa: F841
    return not x or (b := x) < 8, log


# seed 103001878: where no static function is around, the letters of a text were those of an object
@found(lambda: (0,), flavour="static", refused=("D2S020",))
def a_number_of_a_text(a):
    return int(str(a)) + 1 if str(a) != "7" else 8


# seed 103000290: the views of mapped arrays, which only a static function knows
@found(lambda: (np.array([3.0, 3.75, 2.75], np.float32),), refused=("D2S070", "D2S071"))
def written_by_way_of_a_view(buf):
    alias = buf.ravel()
    alias[0] = 7
    return buf


# seed 104000542: a mapped function gave back what was written under another name
@found(lambda: (np.array([-1.75, 2.25, 4.0], np.float32),), refused=("D2S070", "D2S071"))
def written_under_another_name(buf):
    other = buf
    other[:] = 0
    return buf


# seed 201002004: an item of a list that has grown was written though the call had failed before
@found(lambda: ([[-2, 4], [-1, 1]], 1), lambda: ([[-2, 4], [-1, 1]], 0), refused=("D2S013",))
def an_item_written_after_a_failure(table, x):
    table.append(0)
    if x:
        raise ValueError
    table[0] = table[2] = 1


# seed 201004490: where no static function is around, `join` did not know the texts of d2s
@found(lambda: (0,), lambda: (3,))
def joined_texts(a):
    words = ",".join([repr(a), "b"])
    return a if words else 0


# seed 203000020: a run-time number has no items, but the key is evaluated before that is found
@found(lambda: (0,), lambda: (3,))
def a_key_without_a_value(a):
    return a[unknown_name] % 11  # noqa: F821


# seed 301002630: a difference of equal numbers is known, and was none of the terms
@found(lambda: (3, True), lambda: (2, False), refused=("D2S020",))
def counted_by_a_difference(a, p):
    n = 0
    while n < 5:
        n += a - a + 1
    trips = 0
    while trips < n % 4 and p:
        trips += 1
    return n, trips
