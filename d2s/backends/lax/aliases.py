"""Writes into arrays are seen by one name: who else has the array may not use it any more.

Jax arrays are values. ``x[i] = v`` gives the name `x` a new array; in NumPy every other name and
every view of it would see the write. So the old array is spent: whatever uses it afterwards is
refused, at its own line. What a piece of the graph spends is given back when its trace ends, and
spent again once the piece is part of the graph.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from d2s.backends.lax import channels
from d2s.conversion import is_block
from d2s.errors import Site, StagingError
from d2s.items import Item


class _Spent(threading.local):
    def __init__(self) -> None:
        #: for each piece of the graph being traced, the arrays it has spent, with their classes
        self.logs: list[dict[int, tuple[Any, type]]] = []
        #: where they were written
        self.sites: dict[int, Site] = {}
        #: arguments that are NumPy arrays outside
        self.arguments: dict[int, Any] = {}


_state = _Spent()


@functools.cache
def _spent_class(kind: type) -> type:
    def aval(self: Any) -> Any:
        refuse_alias(_state.sites.get(id(self)))

    return type("SpentTracer", (kind,), {"__slots__": (), "aval": property(aval)})


def refuse_alias(written: Site | None = None) -> None:
    line = f" (line {written.line})" if written is not None else ""
    raise StagingError(
        f"an array is used that was written{line} under another name, or through a view; jax "
        "arrays are values, so this name would not see the write",
        code="D2S024",
        site=written if written is not None and not channels.in_user_code() else channels.where(),
        fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
    )


def spend(array: Any) -> None:
    """An array was written: nothing may use its old value."""
    if id(array) in _state.arguments and _state.arguments[id(array)] is array:
        raise StagingError(
            "an argument that is a NumPy array is written; the caller's array would not change",
            code="D2S024",
            site=channels.where(),
            fix="a jax array as argument, or a copy (`x = jnp.array(x)`), returned to the caller",
        )
    if isinstance(array, jax.core.Tracer):
        if not is_spent(array):
            if _state.logs:
                _state.logs[-1][id(array)] = (array, type(array))
            array.__class__ = _spent_class(type(array))
        _state.sites[id(array)] = channels.where()
    elif isinstance(array, jax.Array):
        _refuse_other_names(array)


def is_spent(array: Any) -> bool:
    return type(array).__name__ == "SpentTracer"


def argument(array: Any) -> Any:
    """An argument that is a NumPy array for the caller."""
    _state.arguments[id(array)] = array
    return array


@contextmanager
def arguments() -> Iterator[None]:
    """The arguments of one static function, while its graph is built."""
    before = _state.arguments, _state.logs, _state.sites
    _state.arguments, _state.logs, _state.sites = {}, [{}], {}
    try:
        yield
    finally:
        _state.arguments, _state.logs, _state.sites = before


@contextmanager
def piece() -> Iterator[dict[int, tuple[Any, type]]]:
    """A piece of the graph: what it spends is given back at its end."""
    log: dict[int, tuple[Any, type]] = {}
    _state.logs.append(log)
    try:
        yield log
    finally:
        _state.logs.pop()
        for array, kind in log.values():
            array.__class__ = kind


@contextmanager
def given_back() -> Iterator[None]:
    """What was spent can be used: for values as they were when a failure happened."""
    spent = [pair for log in _state.logs for pair in log.values()]
    for array, kind in spent:
        array.__class__ = kind
    try:
        yield
    finally:
        for array, kind in spent:
            array.__class__ = _spent_class(kind)


def _refuse_other_names(array: Any) -> None:
    """A jax array that is no part of the graph: other names of it are looked for."""
    for watch in channels.watches():
        if watch.outside and watch.knows(array):
            raise StagingError(
                "an array is written that lives outside the static function; others would not "
                "see the write",
                code="D2S024",
                site=channels.where(),
                fix="a copy of it (`x = jnp.array(x)`), or the array as an argument",
            )
    names = set()
    seen: dict[int, Any] = {}
    for frame, owner in _user_frames():
        for name, value in frame.f_locals.items():
            if value is array:
                names.add((owner, name))
            elif _occurrences(array, value, seen):
                names.add((owner, f"{name}[…]"))
    if len(names) > 1:
        raise StagingError(
            "an array is written that has several names; jax arrays are values, so the others "
            "would not see the write",
            code="D2S024",
            site=channels.where(),
            fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
        )


# -- NumPy arrays ---------------------------------------------------------------------------------


def refuse_shared(array: np.ndarray[Any, Any], owner: Any) -> None:
    """A NumPy array gets a run-time value, so a jax array takes its place: nobody may see both."""
    if not _is_alone(array, owner):
        raise StagingError(
            "a NumPy array that has other names or views, or is passed to a function, gets a "
            "run-time value; they would not see it",
            code="D2S024",
            site=channels.where(),
            fix="jnp.zeros(...) and the like instead of np.zeros(...), and one name for the array",
        )


def _is_alone(array: np.ndarray[Any, Any], owner: Any) -> bool:
    """Whether every reference to an array is of one variable, or of d2s while it works on it."""
    if array.base is not None and sys.getrefcount(array.base) > _REFERENCES_OF_A_BASE:
        return False
    holders: set[tuple[Any, str]] = set()
    known = 0
    seen: dict[int, Any] = {}
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        code, space = frame.f_code, frame.f_locals
        if space is not frame.f_globals:
            for name, value in space.items():
                if value is array:
                    # up to Python 3.12 the dict of a frame's variables holds them as well
                    known += (name not in code.co_freevars) + _FRAMES_HOLD
                    if channels.is_user_code(code):
                        holders.add((_owner(frame), name))
                elif not channels.is_user_code(code):
                    known += _occurrences(array, value, seen)
        frame = frame.f_back
    known += _occurrences(array, vars(channels._stack), seen)
    if type(owner) is Item:
        known += 1  # the list or dict around it
        if holders:
            return False
    return len(holders) <= 1 and sys.getrefcount(array) - known <= 1


_FRAMES_HOLD = int(sys.version_info < (3, 13))


def _references_of_a_base() -> int:
    view = np.zeros(2)[:1]
    return sys.getrefcount(view.base)


_REFERENCES_OF_A_BASE = _references_of_a_base()


def _owner(frame: types.FrameType) -> Any:
    """The function of the user's that a frame, perhaps that of a block, belongs to."""
    name = frame.f_code.co_qualname
    code = frame.f_code
    while is_block(code) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code if channels.is_user_code(frame.f_code) else code
        name = code.co_qualname
    return name


def _user_frames() -> Iterator[tuple[types.FrameType, Any]]:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if channels.is_user_code(frame.f_code) and frame.f_locals is not frame.f_globals:
            yield frame, _owner(frame)
        frame = frame.f_back


def _occurrences(array: Any, value: Any, seen: dict[int, Any], depth: int = 0) -> int:
    """How often an array occurs in a value, in its containers and in objects of d2s."""
    if depth > 8 or id(value) in seen:
        return 0
    parts: list[Any] = []
    if isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.FunctionType) and value.__module__.startswith("d2s."):
        cells = [c.cell_contents for c in value.__closure__ or () if c != types.CellType()]
        parts = [*cells, *(value.__defaults__ or ())]
    elif isinstance(value, types.MethodType):
        parts = [value.__self__]
    elif type(value).__module__.startswith("d2s."):
        slots = [n for n in getattr(type(value), "__slots__", ()) if n != "__dict__"]
        parts = [object.__getattribute__(value, n) for n in slots if _has(value, n)]
        parts += getattr(value, "__dict__", {}).values() if not slots else []
    else:
        return 0
    seen[id(value)] = value
    found = sum(part is array for part in parts)
    return found + sum(_occurrences(array, part, seen, depth + 1) for part in parts)


def _has(value: Any, name: str) -> bool:
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True
