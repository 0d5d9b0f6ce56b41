"""Code that runs as it is while a graph is built: what it does outside is seen, or refused."""

from __future__ import annotations

import contextlib
import contextvars
import functools
import io
import pdb
import re
import sys
import threading
import weakref

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
        (manager_counts, "D2S024"),
        (manager_prints, "D2S023"),
        (dispatch_counts, "D2S024"),
        (miss_prints, "D2S023"),
        (library_calls_back, "D2S024"),
        (stack_calls_back, "D2S024"),
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
        assert caught.value.code == "D2S024"
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
