"""Plain against static: the same arguments, and everything that somebody could see compared."""

from __future__ import annotations

import contextlib
import copy
import inspect
import io
import math
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.errors import Error

#: how many seconds a run that was stopped may take to put things back
PATIENCE = 10


class TooLong(BaseException):
    """A run did not end in time; no handler of the user's may catch it."""


@dataclass(frozen=True)
class Outcome:
    """How a call ended: its value or its exception, what it printed, what it left behind."""

    value: Any
    error: BaseException | None
    printed: str
    arguments: Any
    globals: dict[str, Any]

    def __str__(self) -> str:
        text = f"{type(self.error).__name__}: {self.error}" if self.error else f"{self.value!r}"
        return f"{text}, printed {self.printed!r}" if self.printed else text


def outcome(function: Callable[..., Any], args: Any, kwargs: Any, seconds: float) -> Outcome | None:
    """Call a function on copies of the arguments; None when it takes too long.

    Its globals are those of its own module: who compares two functions loads the module twice.
    """
    args, kwargs = copy.deepcopy((args, kwargs))
    printed = io.StringIO()
    value, failed = None, None
    try:
        with contextlib.redirect_stdout(printed), limit(seconds):
            value = function(*args, **kwargs)
    except TooLong:
        return None
    except Exception as error:
        failed = error
    return Outcome(value, failed, printed.getvalue(), (args, kwargs), _globals_of(function))


def _globals_of(function: Any) -> dict[str, Any]:
    """The data that a module holds under names of its own."""
    space = getattr(inspect.unwrap(function), "__globals__", {})
    return {
        name: value
        for name, value in space.items()
        if not name.startswith("__") and not callable(value) and not inspect.ismodule(value)
    }


def needs_numpy(plain: Outcome) -> bool:
    """Whether a plain function writes into its arrays, which must be NumPy's then."""
    return "JAX arrays are immutable" in str(plain.error)


def as_numpy(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(as_numpy, value))
    if type(value) is dict:
        return {key: as_numpy(part) for key, part in value.items()}
    is_array = _is_number(value) and hasattr(value, "dtype")
    return np.array(value) if is_array and value.shape else value


@contextlib.contextmanager
def limit(seconds: float, work: bool = False) -> Iterator[None]:
    """Stop after some time, where the system can; a graph that runs is not stopped.

    With `work`, only the time that this process computes counts: on a busy machine, or while the
    process is paused, an hour may pass in which it does nothing.
    """
    if not seconds or threading.current_thread() is not threading.main_thread():
        yield
        return
    sent = signal.SIGPROF if work else signal.SIGALRM
    clock = signal.ITIMER_PROF if work else signal.ITIMER_REAL
    waited = 0

    def stop(*_: object) -> None:
        nonlocal waited
        # What was heard is on its way out: raised again, it would cut short what puts things
        # back. That has an end as well.
        if isinstance(sys.exc_info()[1], TooLong) and waited < PATIENCE:
            waited += 1
            return
        raise TooLong

    before = signal.signal(sent, stop)
    # again and again: raised in a callback of the garbage collector's, it would be lost
    signal.setitimer(clock, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(clock, 0)
        signal.signal(sent, before)


def difference(plain: Outcome, static: Outcome) -> str:
    """The first thing in which two calls differ; empty when there is none."""
    if isinstance(static.error, Error) and not isinstance(plain.error, Error):
        return f"d2s stops: {static.error}"
    if _kind(plain.error) != _kind(static.error) or str(plain.error) != str(static.error):
        return f"plain ends with {plain}\nstatic ends with {static}"
    if plain.printed != static.printed:
        return f"plain printed {plain.printed!r}\nstatic printed {static.printed!r}"
    for label, one, other in (
        ("the value", plain.value, static.value),
        ("the arguments afterwards", plain.arguments, static.arguments),
        ("the globals afterwards", plain.globals, static.globals),
    ):
        where = _unequal(one, other, "")
        if where is not None:
            return f"{label}{where}\nplain: {one!r}\nstatic: {other!r}"
    return ""


def _unequal(one: Any, other: Any, path: str) -> str | None:
    """Where two values differ: a path, empty for the whole; None when they do not."""
    if _is_number(one) and _is_number(other):
        return None if _close(np.asarray(one), np.asarray(other)) else path
    if _kind(one) != _kind(other):
        return path
    if isinstance(one, dict):
        if list(one) != list(other):
            return f"{path}: the keys"
        pairs = [(f"{path}[{key!r}]", one[key], other[key]) for key in one]
    elif isinstance(one, list | tuple):
        if len(one) != len(other):
            return f"{path}: the lengths"
        pairs = [(f"{path}[{n}]", a, b) for n, (a, b) in enumerate(zip(one, other, strict=True))]
    elif hasattr(one, "__dict__") and not isinstance(one, type) and not callable(one):
        pairs = [(f"{path}.{k}", v, vars(other).get(k)) for k, v in vars(one).items()]
    else:
        return None if one is other or callable(one) or one == other else path
    return next((found for p, a, b in pairs if (found := _unequal(a, b, p)) is not None), None)


def _kind(value: Any) -> tuple[str, str]:
    """The name of a class: of a module that was loaded twice, there are two."""
    return type(value).__module__, type(value).__qualname__


def _is_number(value: Any) -> bool:
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray):
        return True
    return hasattr(value, "dtype") and hasattr(value, "shape") and hasattr(value, "__array__")


def _close(one: Any, other: Any) -> bool:
    if one.shape != other.shape or (one.dtype == np.bool_) != (other.dtype == np.bool_):
        return False
    if one.dtype.kind in "iub" and other.dtype.kind in "iub":
        return bool(np.array_equal(one, other))
    if one.dtype.kind in "iu" or other.dtype.kind in "iu":
        one, other = one.astype(np.float64), other.astype(np.float64)
    narrow = min(_digits(one.dtype), _digits(other.dtype))
    wide = np.complex128 if "c" in (one.dtype.kind, other.dtype.kind) else np.float64
    return bool(
        np.allclose(one.astype(wide), other.astype(wide), 10.0**-narrow, 10.0**-narrow, True)
    )


def _digits(dtype: Any) -> int:
    """How many digits two ways of computing the same may be expected to share."""
    return max(1, math.floor(dtype.itemsize * 8 / 7)) if dtype.itemsize < 4 else 4
