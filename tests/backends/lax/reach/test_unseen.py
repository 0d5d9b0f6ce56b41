"""Code that runs as it is while a graph is built: what it does outside is seen, or refused."""

from __future__ import annotations

import contextlib
import contextvars
import copy
import functools
import io
import pdb
import re
import sys
import threading
import warnings
import weakref

import jax
import jax.numpy as jnp
import pytest

import d2s
from d2s.errors import Error

COUNT = 0
LOG: list[object] = []
LEVEL = contextvars.ContextVar("LEVEL", default=1)
LOCAL = threading.local()


class Held:
    k = 1


HELD = Held()
WEAK = weakref.ref(HELD)


def count():
    global COUNT
    COUNT += 1


@contextlib.contextmanager
def counting():
    count()
    yield
    count()


@contextlib.contextmanager
def telling():
    print("in")
    yield
    print("out")


@contextlib.contextmanager
def quiet():
    yield 3


@functools.singledispatch
def dispatched(value):
    count()
    return value


@functools.lru_cache
def cached(n):
    print("miss")
    return n


def replaced(match):
    LOG.append(match.group())
    return "b"


class Number:
    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        print("adding")
        return Number(self.value + other.value)

    def __sub__(self, other):
        with contextlib.suppress(Exception):
            print("subtracting")
        return Number(self.value - other.value)

    def __mul__(self, other):
        sys.stdout.write("multiplying\n")
        return Number(self.value * other.value)

    def __bool__(self):
        print("asked")
        return True

    @property
    def shown(self):
        print("shown")
        return self.value


class Steps:
    def __init__(self):
        self.n = 0

    def __iter__(self):
        return self

    def __next__(self):
        print("next")
        self.n += 1
        if self.n > 2:
            raise StopIteration
        return self.n


def manager_counts(x):
    with counting():
        return x + 1


def manager_prints(x):
    with telling():
        return x + 1


def dispatch_counts(x):
    return dispatched(x) + 1


def miss_prints(x):
    return x + cached(3)


def library_calls_back(x):
    re.sub("a", replaced, "aa")
    return x


def stack_calls_back(x):
    with contextlib.ExitStack() as stack:
        stack.callback(count)
        return x + 1


def operator_prints(x):
    return (Number(x) + Number(x)).value


def swallowed_print(x):
    return (Number(x) - Number(x)).value


def operator_writes(x):
    return (Number(x) * Number(x)).value


def truth_prints(x):
    return x + 1 if Number(x) else x


def property_prints(x):
    return Number(x).shown


def iterator_prints(x):
    for n in Steps():
        x = x + n
    return x


@pytest.mark.parametrize(
    "function, code",
    [
        (manager_counts, "D2S080"),
        (manager_prints, "D2S023"),
        (dispatch_counts, "D2S080"),
        (miss_prints, "D2S023"),
        (library_calls_back, "D2S080"),
        (stack_calls_back, "D2S080"),
        (operator_prints, "D2S023"),
        (swallowed_print, "D2S023"),
        (operator_writes, "D2S023"),
        (truth_prints, "D2S023"),
        (property_prints, "D2S023"),
        (iterator_prints, "D2S023"),
    ],
    ids=lambda case: getattr(case, "__name__", case),
)
def test_what_would_happen_only_once_is_refused(function, code, capsys):
    cached.cache_clear()
    out = sys.stdout
    for _ in range(2):
        with pytest.raises(Error) as caught:
            d2s.to_static(function)(jnp.float32(1))
        assert caught.value.code == code
    assert sys.stdout is out
    assert (COUNT, LOG, capsys.readouterr().out) == (0, [], "")


def test_the_refusal_names_who_prints():
    with pytest.raises(Error, match=r"Number\.__add__ prints") as caught:
        d2s.to_static(operator_prints)(jnp.float32(1))
    assert 'print("adding")' in str(caught.value)


def quiet_manager(x):
    with quiet() as n:
        return x + n


def own_function(x):
    seen = []

    def note():
        seen.append(x)

    with contextlib.ExitStack() as stack:
        stack.callback(note)
    return seen[0] + len(seen)


def test_what_does_nothing_outside_runs_as_it_is():
    for x in (1.0, 2.0):
        assert float(d2s.to_static(quiet_manager)(jnp.float32(x))) == x + 3
        assert float(d2s.to_static(own_function)(jnp.float32(x))) == x + 1


def by_context(x):
    return x * LEVEL.get()


def by_thread(x):
    return x * LOCAL.k


def by_weak_reference(x):
    return x * WEAK().k


def test_what_depends_on_who_asks_is_asked_on_every_call():
    LOCAL.k = 1
    static = [d2s.to_static(f) for f in (by_context, by_thread, by_weak_reference)]
    assert [float(f(jnp.float32(2))) for f in static] == [2, 2, 2]
    token = LEVEL.set(5)
    LOCAL.k = HELD.k = 5
    try:
        assert [float(f(jnp.float32(2))) for f in static] == [10, 10, 10]
    finally:
        LEVEL.reset(token)
        LOCAL.k = HELD.k = 1
    assert [float(f(jnp.float32(2))) for f in static] == [2, 2, 2]


def sets_context(x):
    LEVEL.set(7)
    return x


def sets_local(x):
    LOCAL.k = 7
    return x


@pytest.mark.parametrize("function", [sets_context, sets_local])
def test_changes_of_what_depends_on_who_asks_are_refused(function):
    LOCAL.k = 1
    token = LEVEL.set(1)
    try:
        with pytest.raises(Error) as caught:
            d2s.to_static(function)(jnp.float32(1))
        assert caught.value.code == "D2S080"
        assert (LEVEL.get(), LOCAL.k) == (1, 1)
    finally:
        LEVEL.reset(token)


class Slow:
    """An operator during which another thread prints."""

    def __init__(self, value):
        self.value = value

    def __add__(self, other):
        other_thread = threading.Thread(target=print, args=("from another thread",))
        other_thread.start()
        other_thread.join()
        return self.value + other.value


def test_other_threads_print_as_ever(capsys):
    assert float(d2s.to_static(lambda x: Slow(x) + Slow(x))(jnp.float32(2))) == 4
    assert capsys.readouterr().out == "from another thread\n"


class Debugged:
    def __init__(self, value):
        self.value = value

    def __neg__(self):
        commands = io.StringIO("continue\n")
        pdb.Pdb(stdin=commands, stdout=sys.stdout, nosigint=True).set_trace()
        return -self.value


def test_a_debugger_may_talk(capsys):
    assert float(d2s.to_static(lambda x: -Debugged(x))(jnp.float32(2))) == -2
    assert "(Pdb)" in capsys.readouterr().out


# --- Functions of `functools` that look at their arguments ---------------------------------------


@functools.singledispatch
def kind(value):
    return -1.0


@kind.register(float)
def _(value):
    return value * 2


@kind.register(int)
def _(value):
    return value * 3


@kind.register(jax.Array)
def _(value):
    if value > 100:
        return value
    return value + 1


@kind.register(list)
def _(value):
    return value[0]


class Kinds:
    @functools.singledispatchmethod
    def kind(self, value):
        return -1.0

    @kind.register(float)
    def _(self, value):
        return value * 2

    @kind.register(jax.Array)
    def _(self, value):
        return value + 1


KINDS = Kinds()


@pytest.mark.parametrize("value", [3.0, 3, jnp.float32(3), jnp.float32(300)])
def test_single_dispatch_knows_what_run_time_values_are(value):
    assert float(d2s.to_static(lambda x: kind(x))(value)) == float(kind(value))
    assert float(d2s.to_static(lambda x: kind([x]))(value)) == float(value)
    assert d2s.to_static(lambda x: x + kind("text"))(value) == value - 1
    # from 3.12 on Python notes each object in a cache of its own, which is refused as a change
    if not isinstance(value, int) and sys.version_info < (3, 12):
        assert float(d2s.to_static(lambda x: KINDS.kind(x))(value)) == float(KINDS.kind(value))


SCALE = {"k": 1.0}


@functools.lru_cache(None)
def scaled(n):
    return SCALE["k"] * n


class Cached:
    def __init__(self):
        self.x = 2.0

    @functools.lru_cache  # noqa: B019
    def times(self, k):
        return self.x * k


CACHED = Cached()


def writes_what_a_cache_reads(v):
    SCALE["k"] = v
    return scaled(3)


def asks_a_cache_for_an_object(v):
    return v + CACHED.times(2)


@pytest.mark.parametrize(
    "function, code",
    [(writes_what_a_cache_reads, "D2S080"), (asks_a_cache_for_an_object, "D2S023")],
)
def test_caches_that_a_graph_would_deceive_are_refused(function, code):
    with pytest.raises(Error) as caught:
        d2s.to_static(function)(2.0)
    assert caught.value.code == code
    assert SCALE == {"k": 1.0}


def test_a_cache_of_numbers_works():
    assert d2s.to_static(lambda x: x * scaled(3))(2.0) == 6


# --- What else is done outside -------------------------------------------------------------------


def leaves_if_large(x):
    if x > 100:
        sys.exit(3)
    return x


def test_an_exit_that_is_not_reached_ends_nothing():
    static = d2s.to_static(leaves_if_large)
    assert static(jnp.float32(1)) == 1
    with pytest.raises(SystemExit) as caught:
        static(jnp.float32(101))
    assert caught.value.code == 3


NAME = 0.0


def writes_by_globals(x):
    globals()["NAME"] = x
    return NAME


def reads_by_globals(x):
    return globals()["NAME"] + x


def test_globals_may_be_read():
    assert d2s.to_static(reads_by_globals)(2.0) == 2


def test_globals_may_be_written():
    static = d2s.to_static(writes_by_globals)
    try:
        for value in (2.0, 3.0):
            assert static(value) == value
            assert value == NAME
    finally:
        globals()["NAME"] = 0.0


def warned(x):
    if x > 1:
        warnings.warn("large", stacklevel=1)
    return x


def test_warnings_are_refused():
    with pytest.raises(Error, match="D2S023"):
        d2s.to_static(warned)(jnp.float32(0))


class Copied:
    def __init__(self, a):
        self.a = a


def copies(x):
    one = Copied(x)
    other, third = copy.copy(one), copy.deepcopy(one)
    other.a = other.a + 1
    return one.a, other.a, third.a


def test_objects_can_be_copied():
    assert d2s.to_static(copies)(jnp.float32(1)) == (1, 2, 1)


class Lit:
    def __init__(self, n):
        self.n = n

    def __bool__(self):
        return self.n > 0


LIT = Lit(3)


def while_lit(x):
    while LIT:
        x = x * 2
        LIT.n -= 1
    return x


def test_an_object_is_the_test_of_a_loop():
    static = d2s.to_static(while_lit)
    assert [float(static(jnp.float32(1))) for _ in range(2)] == [8, 1]
    assert LIT.n == 0


# --- any() and all() stop where they know --------------------------------------------------------


ASKED = {"n": 0}


def is_large(v):
    ASKED["n"] += 1
    if v < 0:
        raise ValueError("negative")
    print("asked", v)
    return v > 4


@pytest.mark.parametrize(
    "function",
    [
        lambda x: any(is_large(v) for v in x),
        lambda x: all(is_large(v) for v in x),
        lambda x: any(map(is_large, x)),
        lambda x: any(is_large(v) for v in x) and all(map(is_large, x)),
    ],
    ids=["any", "all", "map", "both"],
)
@pytest.mark.parametrize("values", [[1, 5, -3], [5, 5, 5], [1, 2, -1], [0, 1, 2]])
def test_any_and_all_ask_no_further_than_python(function, values, capsys):
    def outcome(call):
        ASKED["n"] = 0
        try:
            end = bool(call(jnp.array(values, jnp.float32)))
        except ValueError as error:
            end = str(error)
        return end, int(ASKED["n"]), capsys.readouterr().out

    assert outcome(d2s.to_static(function)) == outcome(function)


def raised_from_another(x):
    try:
        if x > 1:
            raise ValueError(f"large {x}")
    except ValueError as e:
        raise KeyError("key") from e
    return x


def test_the_cause_of_an_exception_has_its_values():
    static = d2s.to_static(raised_from_another)
    for x in (2.0, 3.0):
        with pytest.raises(KeyError) as caught:
            static(jnp.float32(x))
        assert repr(caught.value.__cause__) == f"ValueError('large {x}')"


class Square:
    def __init__(self):
        self.w = jnp.float32(2)

    def __call__(self, x):
        return self.w * x * x


SQUARE = Square()
SLOPE = jax.grad(SQUARE)
MAPPED = jax.vmap(SQUARE.__call__)


def test_objects_inside_wrappers_of_jax_may_change_between_calls():
    slope = d2s.to_static(lambda x: SLOPE(x))
    mapped = d2s.to_static(lambda x: MAPPED(x))
    for w in (2, 5, 2):
        SQUARE.w = jnp.float32(w)
        assert float(slope(jnp.float32(1))) == 2 * w
        assert mapped(jnp.ones(2)).tolist() == [w, w]
