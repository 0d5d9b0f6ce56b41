"""Programs that once came out silently different, hung or crashed."""

from __future__ import annotations

import random
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from .differential.harness import check


def refused(function, *args):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(function)(*args)
    return caught.value.code


def alias_of_a_list(x):
    a = [0]
    b = a
    if x > 0:
        b = [1]
    b[0] = 7
    return a


def alias_in_a_loop(x):
    a = [0.0]
    b = a
    while x > 0:
        a = [a[0] + x]
        x -= 1
    a[0] += 100
    return b


def row_of_rows(x):
    rows = [[1.0], [2.0]]
    r = rows[0]
    if x > 0:
        r = rows[1]
    r[0] = 77.0
    return rows


@pytest.mark.parametrize("function", [alias_of_a_list, alias_in_a_loop, row_of_rows])
def test_a_change_in_place_after_a_join_is_refused(function):
    check(function, (1.0,), (-1.0,), error_ok="D2S024")
    assert refused(function, jnp.float32(1)) == "D2S024"


def new_containers(x):
    state = {"x": x, "n": [1.0]}
    if x > 0:
        state = {"x": x + 1, "n": [2.0]}
    return {**state, "more": x}


def test_new_containers_are_welcome():
    check(new_containers, (1.0,), (-1.0,))


class Thing:
    pass


def made_object(x):
    o = Thing()
    o.v = x
    return o


@pytest.mark.parametrize(
    "function",
    [made_object, lambda x: (lambda v: v + x), lambda x: map(abs, [x]), lambda x: iter([1, 2])],
)
def test_results_that_would_hold_tracers_are_refused(function):
    assert refused(function, jnp.float32(1)) == "D2S031"


def test_a_returned_set_is_new_on_every_call():
    static = d2s.to_static(lambda x: {1, 2})
    static(1.0).add(9)
    assert static(1.0) == {1, 2}


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self):
        self.a, self.b = 0, 1


def slots_in_a_branch(x):
    m = Slotted()
    if x > 0:
        m.a = 1
    return m.a


def slots_in_a_loop(x):
    s = Slotted()
    while s.a < x:
        s.a += 1
        s.b *= 2
    return s.a, s.b


def test_slots_are_state_too():
    check(slots_in_a_branch, (1,), (-3,))
    check(slots_in_a_loop, (3,), (0,))


i = 100


def takes_no_global(x):
    if x > 0:
        x = i  # noqa: F823
    for i in range(2):
        x = x + 1
    return x


def read_too_early(x):
    t = z if x > 0 else 0.0  # noqa: F821
    z = 1.0
    return t + z


def test_an_unbound_local_is_no_global():
    check(takes_no_global, (1,), (-1,))
    check(read_too_early, (1.0,), (-1.0,))


def thousands(x):
    n = 1
    try:
        for _ in range(x):
            n = n * 3
    except Exception:
        return -1
    return n % 1000


def test_handlers_do_not_see_the_overflow_of_d2s():
    assert d2s.to_static(thousands)(30) == thousands(30)
    with pytest.raises(d2s.IntegerOverflow):
        d2s.to_static(thousands)(jnp.int32(30))


def writes_numpy(x):
    a = np.zeros(2)
    try:
        a[0] = x
    except (TypeError, ValueError):
        return -1
    return a


def test_handlers_do_not_see_what_numpy_makes_of_a_tracer():
    assert refused(writes_numpy, jnp.float32(1)) == "D2S020"


class Kind:
    w = 2.0

    def __call__(self, x):
        return x * self.w


class Counted:
    n = 0


def counts(x):
    Counted.n += 1
    return x


def helper(x, k=1.0):
    return x + k


def calls_helper(x):
    return helper(x)


def asks_for_later(x):
    try:
        return x + later
    except NameError:
        return x


def test_classes_and_functions_are_read_afresh(monkeypatch):
    thing = Kind()
    static = d2s.to_static(thing)
    assert static(1.0) == 2.0
    monkeypatch.setattr(Kind, "w", 5.0)
    assert static(1.0) == 5.0
    static = d2s.to_static(calls_helper)
    assert static(1.0) == 2.0
    monkeypatch.setattr(helper, "__defaults__", (9.0,))
    assert static(1.0) == 10.0
    static = d2s.to_static(asks_for_later)
    assert static(1.0) == 1.0
    monkeypatch.setitem(globals(), "later", 4.0)
    assert static(1.0) == 5.0
    assert refused(counts, 1.0) == "D2S024"
    assert Counted.n == 0


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x + random.random(),
        lambda x: x + np.random.rand(),
        lambda x: x + time.perf_counter(),
    ],
)
def test_what_gives_something_else_on_every_call_is_refused(function):
    assert refused(function, 1.0) == "D2S023"


def narrow(p):
    x = 300
    if p:
        x = jnp.int8(100)
    return x


def bool_or_number(p):
    x = 1
    if p:
        x = True
    return x


def test_joins_that_change_a_value_are_refused():
    assert refused(narrow, jnp.asarray(False)) == "D2S012"
    assert refused(bool_or_number, jnp.asarray(False)) == "D2S010"


def looks_at_a_number(x):
    return x.shape if hasattr(x, "shape") else "number"


def negative_power(n):
    if n < 0:
        return 2**n
    return 0.5


def test_python_numbers_are_what_they_are():
    assert d2s.to_static(looks_at_a_number)(5) == "number"
    assert d2s.to_static(lambda x: isinstance(x, jax.Array))(5) is False
    assert d2s.to_static(lambda n: n < 2**40)(3)
    check(negative_power, (-7,), (3,), flavours=("static",))
    assert refused(negative_power, jnp.asarray(-7)) == "D2S020"


def ended_by_an_exception(x):
    a = 0
    try:
        while True:
            a += 1
            if a > x + 2:
                raise ValueError
    except ValueError:
        a += 100
    return a


def counts_in_the_test(n):
    k = 0

    def more():
        nonlocal k
        k += 1
        return k < n

    while more():
        pass
    return k


def one_element(v, n):
    while v < 2:
        v = v + 1
        if n > 1:
            break
    return v


def test_loops_end_where_they_end():
    check(ended_by_an_exception, (3,), (0,))
    check(counts_in_the_test, (4,), (0,))
    one = jnp.zeros(1)
    check(one_element, (one, 1), (one, 2))


@pytest.mark.parametrize("error", [KeyError("q"), NameError("n"), UnboundLocalError("u")])
def test_a_function_that_always_fails(error):
    def fails(x):
        raise error

    static = d2s.to_static(fails)
    for x in (1, 1.0, jnp.float32(1)):
        with pytest.raises(type(error)) as caught:
            static(x)
        assert caught.value.args == error.args


class Private:
    def __init__(self):
        self.__scale = 3.0

    def scaled(self, x):
        if x > 0:
            x = x * self.__scale
        return x


def test_private_names_are_those_of_the_class():
    check(Private().scaled, (1.0,), (-1.0,))


@d2s.to_static
def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def test_a_static_function_may_call_itself():
    assert factorial(5) == 120
    with pytest.raises(d2s.Error, match="D2S026"):
        factorial(jnp.int32(5))


def picks(i, x):
    return jax.lax.switch(i, [lambda v: v if v > 0 else -v, lambda v: v * 2], x)


def test_functions_in_lists_are_converted_too():
    static = d2s.to_static(picks)
    assert [float(static(jnp.int32(n), jnp.float32(-3))) for n in (0, 1)] == [3.0, -6.0]


def test_what_jax_made_is_refused_with_a_word():
    with pytest.raises(d2s.ConversionError, match="belongs to a library"):
        d2s.to_static(jax.vmap(lambda x: x))


def reports(x):
    if x < 0:
        raise ValueError({"x": x}, [x, 1])
    return x


def test_values_inside_the_arguments_of_an_exception():
    with pytest.raises(ValueError) as caught:
        d2s.to_static(reports)(-1)
    assert caught.value.args == ({"x": -1}, [-1, 1])
