"""Programs that once came out silently different, hung or crashed."""

from __future__ import annotations

import dataclasses
import random
import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from ..differential.harness import check
from . import review_module


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
    check(function, (1.0,), (-1.0,), error_ok="D2S077")
    assert refused(function, jnp.float32(1)) == "D2S077"


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
    [lambda x: lambda v: v + x, lambda x: map(abs, [x]), lambda x: iter([1, 2])],
)
def test_results_that_would_hold_tracers_are_refused(function):
    assert refused(function, jnp.float32(1)) == "D2S031"


def test_an_object_made_inside_is_a_new_one_on_every_call():
    static = d2s.to_static(made_object)
    one, other = static(jnp.float32(1)), static(jnp.float32(2))
    assert type(one) is Thing and (float(one.v), float(other.v)) == (1.0, 2.0)


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
    check(writes_numpy, (1.0,), (2.0,))


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
    assert refused(counts, 1.0) == "D2S080"
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
    # to an array, JAX decides: an integer on one side of the branch, a float on the other
    assert refused(negative_power, jnp.asarray(-7)) == "D2S012"


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


def test_functions_of_libraries_are_refused_with_a_word():
    for function in (jax.vmap(jnp.sin), jnp.linalg.norm, jax.nn.softplus):
        with pytest.raises(d2s.ConversionError, match="belongs to a library"):
            d2s.to_static(function)


def reports(x):
    if x < 0:
        raise ValueError({"x": x}, [x, 1])
    return x


def test_values_inside_the_arguments_of_an_exception():
    with pytest.raises(ValueError) as caught:
        d2s.to_static(reports)(-1)
    assert caught.value.args == ({"x": -1}, [-1, 1])


FACTOR = 2.0


def sized(x, n):
    return jnp.ones(n) * FACTOR + x


def through_a_module(x):
    return review_module.helper(x) + review_module.SCALE


def writes_a_module(x):
    review_module.LAST = x
    return x


def grows_a_module(x):
    review_module.ITEMS.append(x)
    return x


@d2s.to_static
def inner_static(x):
    return review_module.helper(x)


def outer_of_static(x):
    return inner_static(x) + 1


def test_every_graph_is_guarded(monkeypatch):
    static, module = d2s.to_static(sized), d2s.to_static(through_a_module)
    nested = d2s.to_static(outer_of_static)
    assert float(static(1.0, 2)[0]) == 3.0
    assert module(1.0) == 4.0
    assert nested(1.0) == 3.0
    monkeypatch.setitem(globals(), "FACTOR", 5.0)
    monkeypatch.setattr(review_module, "SCALE", 3.0)
    assert float(static(1.0, 2)[0]) == 6.0
    assert module(1.0) == 6.0
    assert nested(1.0) == 4.0
    assert refused(writes_a_module, jnp.float32(1)) == "D2S080"
    assert refused(grows_a_module, jnp.float32(1)) == "D2S080"
    assert not hasattr(review_module, "LAST")
    assert review_module.ITEMS == []


@jax.tree_util.register_pytree_node_class
class Tagged:
    def __init__(self, value, tag):
        self.value, self.tag = value, tag

    def tree_flatten(self):
        return (self.value,), self.tag

    @classmethod
    def tree_unflatten(cls, tag, parts):
        return cls(parts[0], tag)


def tag_of(p):
    return p.tag


def tagged(x):
    p = Tagged(x, "a")
    if x > 0:
        p = Tagged(x, "b")
    return p


def test_what_a_pytree_keeps_beside_its_leaves_counts():
    static = d2s.to_static(tag_of)
    assert [static(Tagged(1.0, "a")), static(Tagged(1.0, "b"))] == ["a", "b"]
    assert refused(tagged, jnp.float32(1)) == "D2S013"


def writes_in_the_test(x):
    flag = 0

    def more():
        nonlocal flag
        flag = 1
        return x > 0

    while more():
        flag = 2
        x -= 1
    return flag


def list_in_a_try(x):
    values = [0.0]
    try:
        values[0] = 1.0
        if x > 0:
            raise ValueError
        values[0] = 2.0
    except ValueError:
        pass
    return values[0]


def message_in_a_handler(x):
    try:
        raise ValueError(f"bad {x}")
    except ValueError as e:
        return len(str(e)) * x


def leaves_by_exit(x):
    if x < 0:
        raise SystemExit(3)
    return x


def test_exceptions_and_what_they_leave():
    check(writes_in_the_test, (2,), (0,))
    check(list_in_a_try, (1.0,), (-1.0,))
    check(message_in_a_handler, (1,), (2,), error_ok="D2S020")
    static = d2s.to_static(leaves_by_exit)
    assert static(jnp.float32(1)) == 1
    with pytest.raises(SystemExit):
        static(jnp.float32(-1))


class Told(Exception):
    def __init__(self, text, value):
        super().__init__(text)
        self.value = value


def tells(x):
    if x < 0:
        raise Told("negative", x)
    return x


def test_attributes_of_an_exception():
    with pytest.raises(Told) as caught:
        d2s.to_static(tells)(jnp.float32(-2))
    assert float(caught.value.value) == -2.0


def iterator_in_branches(x):
    it = iter([1.0, 2.0, 3.0])
    total = 0.0
    if x > 0:
        for v in it:
            total = total + v
    else:
        for v in it:
            total = total - v
    return total


def zipped_twice(a):
    pairs = zip(a, a)
    total = jnp.float32(0)
    for p, q in pairs:
        total = total + p * q
    for p, q in pairs:
        total = total + p * q
    return total


def test_iterators_are_used_up_once():
    check(iterator_in_branches, (1.0,), (-1.0,), error_ok="D2S025")
    check(zipped_twice, (jnp.arange(3.0),), (jnp.ones(3),))


def squares_in_a_branch(n):
    if n > 0:
        return n * n
    return 0


def root_by_trial(n):
    i = 0
    while i * i <= n:
        i += 1
    return i


def wraps_into_its_own_check(n, m):
    p = n * m
    if p < 0:
        raise ValueError("negative")
    return p


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (squares_in_a_branch, (100_000,)),
        (root_by_trial, (2_147_400_000,)),
        (wraps_into_its_own_check, (50_000, 50_001)),
        (lambda n: n + 1, (2**31 - 1,)),
        (lambda x: int(x), (3e9,)),
    ],
)
def test_integers_beyond_the_graph(function, args):
    static = d2s.to_static(function)
    assert int(static(*args)) == function(*args)


def counter_beside_a_sum(a):
    s = 0
    k = 1
    for v in a:
        if v > 0:
            k = k * 100_000
            s = s * 2
        s = s + v
    return s, k


def test_a_sum_of_arrays_does_not_hide_an_integer():
    with pytest.raises(d2s.IntegerOverflow):
        d2s.to_static(counter_beside_a_sum)(jnp.ones(4, jnp.int32))


@dataclasses.dataclass
class Prepared:
    x: float

    def __post_init__(self):
        self.extra = 10.0


def test_dataclasses_keep_what_is_no_field():
    got = d2s.to_static(lambda p: (p, p.x + p.extra))(Prepared(1.0))
    assert float(got[1]) == 11.0
    assert float(got[0].extra) == 10.0


def keeps_count():
    def make(x):
        n = [0]

        def inc():
            n[0] += 1
            return n[0]

        return inc

    return make


def test_a_function_with_a_state_is_not_returned():
    assert refused(keeps_count(), 1.0) == "D2S031"


def mentions_tracers(x):
    try:
        raise ValueError("no Tracer here")
    except ValueError:
        return x


def test_a_text_is_only_a_text():
    assert d2s.convert(mentions_tracers)(1.0) == 1.0


def alias_in_a_try(x):
    a = [0]
    b = a
    try:
        b = [1]
        if x > 0:
            raise ValueError
        b = a
    except ValueError:
        pass
    b[0] = 8
    return a, b


def alias_of_another(x):
    previous, current = [0], [1]
    for _ in range(x):
        previous = current
    current[0] = 9
    return previous, current


def alias_swapped(x):
    a, b = [0], [1]
    kept = a
    while x > 0:
        a, b = b, a
        a[0] += x
        x -= 1
    return a, b, kept


def early_read(x):
    for _ in (x, 1):
        if z > 0:  # noqa: F821
            x = x + 1
    for z in range(2):
        if x > 0:
            z = z + x
    return z


def test_more_aliases():
    check(alias_swapped, (3,), (0,), error_ok="D2S077")
    check(early_read, (3,), (0,))
    check(alias_in_a_try, (1.0,), (-1.0,), error_ok="D2S077")
    check(alias_of_another, (3,), (0,), error_ok="D2S077")


def counts_from_far(n):
    x = 2**31 - 1
    for _ in range(n):
        x = x + 1
    return x


def raises_in_a_helper(x):
    def following(a):
        if a > x:
            raise ValueError
        return a + 1

    a = 0
    try:
        while True:
            a = following(a)
    except ValueError:
        pass
    return a


def fails_before_a_transformation(xs, k):
    if k > 5:
        raise KeyError("first")

    def doubled(v):
        if v < 0:
            raise ValueError("second")
        return v * 2

    return jax.vmap(doubled)(xs)


def test_second_round():
    assert d2s.to_static(counts_from_far)(1) == 2**31
    with pytest.raises(d2s.IntegerOverflow):
        d2s.to_static(counts_from_far)(jnp.int32(1))
    assert int(d2s.to_static(lambda n: -n)(-(2**31))) == 2**31
    check(raises_in_a_helper, (5,), (-1,))
    static = d2s.to_static(fails_before_a_transformation)
    for k, error in ((6, KeyError), (1, ValueError)):
        with pytest.raises(error):
            static(jnp.array([1.0, -1.0]), jnp.int32(k))
    with pytest.raises(Told):
        jax.grad(d2s.to_static(tells))(-1.0)
    assert d2s.to_static(lambda x: -(x > 1))(3) == -1
    with pytest.raises(KeyError) as caught:
        d2s.to_static(lambda x: {}[x])(3)
    assert caught.value.__context__ is None
    assert not hasattr(caught.value, "__notes__")


def quotes_a_pair(x, y):
    if x > y:
        raise ValueError(f"{(x, y)}")
    return x


def test_containers_in_messages():
    check(quotes_a_pair, (3, 2), (1, 2), error_ok="D2S020")


def raises_its_value(x):
    if x < 0:
        raise KeyError(x)
    try:
        if x > 10:
            raise ValueError("large", x)
    except ValueError:
        x = x - 100
    return x


def test_an_exception_with_a_run_time_value_is_the_user_s():
    for x in (-1.5, 20.0, 1.0):
        x = jnp.float32(x)
        if x < 0:
            with pytest.raises(KeyError) as caught:
                d2s.to_static(raises_its_value)(x)
            assert float(caught.value.args[0]) == float(x)
        else:
            assert float(d2s.to_static(raises_its_value)(x)) == float(raises_its_value(x))


def raises_what_it_computed(x):
    error = ValueError(x + 1, [x])
    error.value = x * 2
    raise error


def raises_exceptions_inside(x):
    if x > 0:
        raise RuntimeError("outer", ValueError(x))
    return x


def raises_with_a_function(x):
    if x > 0:
        error = ValueError("late")
        error.value = lambda: x + 1
        raise error
    return x


@pytest.mark.parametrize(
    "function", [raises_what_it_computed, raises_exceptions_inside, raises_with_a_function]
)
def test_no_run_time_value_is_left_in_an_exception(function):
    static = d2s.to_static(function)
    for x in (2, jnp.float32(3.0), 4):
        with pytest.raises((ValueError, RuntimeError, d2s.StagingError)) as caught:
            static(x)
        error = caught.value
        if isinstance(error, d2s.StagingError):
            assert error.code == "D2S031" and not isinstance(x, int)
            continue
        held = [*error.args, *vars(error).values()]
        assert "Tracer" not in repr(held)
        if callable(getattr(error, "value", None)):
            assert error.value() == x + 1


def fields_of_exceptions(x):
    if x == 1:
        raise SystemExit(3)
    if x == 2:
        raise StopIteration(7)
    if x == 3:
        raise UnicodeDecodeError("utf8", b"a", 0, 1, "why")
    if x == 4:
        raise ValueError("hidden") from None
    return x


def test_exceptions_have_the_fields_of_python_s_own():
    static = d2s.to_static(fields_of_exceptions)
    for x in range(1, 5):
        ends = []
        for function in (fields_of_exceptions, static):
            with pytest.raises(BaseException) as caught:  # noqa: B017, PT011
                function(jnp.int32(x))
            error = caught.value
            fields = [getattr(error, name, None) for name in ("code", "value", "reason")]
            ends.append((type(error), str(error), fields, error.__suppress_context__))
        assert ends[0] == ends[1]


class Depth:
    def __init__(self):
        self.depth = 0

    def __enter__(self):
        self.depth += 1

    def __exit__(self, *rest):
        self.depth -= 1


class Silent(Depth):
    def __enter__(self):
        pass

    def __exit__(self, *rest):
        pass


def test_a_manager_that_does_something_at_its_end_must_see_a_failure():
    def enters(manager, x):
        with manager:
            if x > 0:
                raise ValueError("w")
        return x

    assert refused(enters, Depth(), jnp.int32(1)) == "D2S027"
    with pytest.raises(ValueError, match="w"):
        d2s.to_static(enters)(Silent(), jnp.int32(1))
    assert d2s.to_static(enters)(Silent(), jnp.int32(-1)) == -1


class Announced:
    def __init__(self, v):
        print("made", v)
        self.v = v


def test_a_constructor_that_prints_is_refused():
    assert refused(lambda x: Announced(x).v, jnp.int32(1)) == "D2S023"


def test_after_an_overflow_objects_hold_what_they_held():
    held = [2**31 - 1]

    def add(x):
        held[0] += x
        return held[0]

    static = d2s.to_static(add)
    static(0)
    for _ in range(2):
        with pytest.raises(d2s.IntegerOverflow):
            static(1)
        assert held[0] == 2**31 - 1


def test_numbers_that_come_and_go_in_objects():
    class Thing:
        pass

    thing = Thing()
    thing.v = 1

    def keeps(x):
        thing.l = [x]
        return x

    static = d2s.to_static(keeps)
    static(1), static(1)
    thing.l, thing.v = [0], 3
    assert static(1) == 1 and thing.l == [1]


def test_ranges_are_for_loops():
    for function in (lambda x: range(x)[0], lambda x: range(x).stop):
        assert refused(function, jnp.int32(3)) == "D2S020"
        assert d2s.to_static(function)(3) == function(3)
    with pytest.raises(AttributeError, match="'range' object has no attribute 'end'"):
        d2s.to_static(lambda x: range(x).end)(jnp.int32(3))


@pytest.mark.parametrize(("item", "held"), [(1, jnp.ones((2, 2))), (jnp.arange(3), jnp.arange(3))])
def test_in_arrays_that_jax_refuses(item, held):
    for function in (lambda a, b: a in b, d2s.to_static(lambda a, b: a in b)):
        with pytest.raises((ValueError, d2s.StagingError)):
            function(item, held)
