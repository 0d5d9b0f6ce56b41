"""What was being handled when an exception was raised: `__context__`, `__cause__` and notes."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import d2s


def chain(error):
    """What Python would show of an exception and of all that led to it."""
    shown = []
    while error is not None:
        notes = getattr(error, "__notes__", None)
        cause = error.__cause__ and type(error.__cause__).__name__
        shown.append((type(error), str(error), error.__suppress_context__, cause, notes))
        assert error.__cause__ is None or error.__cause__ is error.__context__
        error = error.__context__
    return shown


def outcome(function, *args, inside_a_handler=False):
    try:
        if not inside_a_handler:
            return function(*args)
        try:
            raise OSError("around the call")
        except OSError:
            return function(*args)
    except Exception as error:
        return chain(error)


def surely(x):
    try:
        return {}["k"] + x
    except KeyError:
        raise ValueError("v")  # noqa: B904


def known_exception_in_a_branch(x):
    if x > 0:
        try:
            return {}["k"]
        except KeyError:
            raise ValueError("v")  # noqa: B904
    return x


def both_at_run_time(x):
    try:
        if x > 0:
            raise KeyError(f"k {x}")
    except KeyError:
        raise ValueError(f"v {x}")  # noqa: B904
    return x


def raised_from(x):
    try:
        if x > 0:
            raise KeyError(f"k {x}")
    except KeyError as error:
        raise ValueError("v") from error
    return x


def raised_from_none(x):
    try:
        if x > 0:
            raise KeyError("k")
    except KeyError:
        raise ValueError("v") from None
    return x


def check(x):
    if x > 1:
        raise ValueError("too large")
    return x


def in_a_function_called_by_the_handler(x):
    try:
        if x > 0:
            raise KeyError(f"k {x}")
    except KeyError as error:
        error.add_note("seen")
        check(x)
        raise
    return x


def three_of_them(x):
    try:
        try:
            if x > 0:
                raise KeyError("k")
        except KeyError:
            if x > 1:
                raise ValueError(f"v {x}")  # noqa: B904
            raise IndexError("small")  # noqa: B904
    except (ValueError, IndexError) as error:
        raise RuntimeError(str(error))  # noqa: B904
    return x


def after_the_handler(x):
    try:
        {}["k"]
    except KeyError:
        x = x + 1
    if x > 1:
        raise ValueError("nothing is being handled")
    return x


def in_a_loop(x):
    n = 0
    while n < 3:
        try:
            if x > n:
                raise KeyError("k")
        except KeyError:
            if x > 1:
                raise ValueError(f"at {n}")  # noqa: B904
        n += 1
    return x


def seen_by_a_handler(x):
    try:
        try:
            if x > 0:
                raise KeyError("k")
        except KeyError:
            raise ValueError("v")  # noqa: B904
    except ValueError as error:
        return type(error.__context__).__name__
    return ""


PROGRAMS = [
    surely,
    known_exception_in_a_branch,
    both_at_run_time,
    raised_from,
    raised_from_none,
    in_a_function_called_by_the_handler,
    three_of_them,
    after_the_handler,
    in_a_loop,
    seen_by_a_handler,
]


@pytest.mark.parametrize("first", [False, True], ids=["plain", "in a handler"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_what_led_to_it(program, first):
    """The graph is built by a call in a handler, or not; that must not show in the other."""
    static = d2s.to_static(program)
    for inside in (first, not first, first):
        for x in (1.0, 2.0, -1.0):
            expected = outcome(program, x, inside_a_handler=inside)
            assert outcome(static, x, inside_a_handler=inside) == expected


@pytest.mark.parametrize("program", PROGRAMS[1:-1], ids=lambda f: f.__name__)
def test_saved(program, tmp_path):
    path = tmp_path / "saved.d2s"
    d2s.save(d2s.to_static(program), path, d2s.spec("float32[]"))
    loaded = d2s.load(path)
    for x in (1.0, 2.0, -1.0):
        expected = outcome(program, jnp.float32(x))
        assert outcome(loaded, jnp.float32(x)) == expected
