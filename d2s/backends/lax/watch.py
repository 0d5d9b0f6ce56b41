"""What code under trial may have changed: found by comparing, undone without a trace.

A region of the graph is built by running the user's code, perhaps several times, perhaps for a
branch that is not taken. Whatever that run stored in a closure cell, a list, a dict or an object
is found afterwards (even when C code did it), taken out as a value where that is possible, and
undone.
"""

from __future__ import annotations

import functools
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from d2s.conversion import is_made_by_d2s
from d2s.errors import StagingError
from d2s.libraries import is_library_file

EMPTY = object()
_ATOMS = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, type, range, slice)


class Slot:
    """A place that holds one value: a closure cell, an entry of a list or dict, an attribute."""

    def __init__(self, owner: Any, key: Any) -> None:
        self.owner, self.key = owner, key

    def get(self) -> Any:
        if isinstance(self.owner, types.CellType):
            return _contents(self.owner)
        return self.owner[self.key]

    def set(self, value: Any) -> None:
        if not isinstance(self.owner, types.CellType):
            self.owner[self.key] = value
        elif value is EMPTY:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value

    @property
    def identity(self) -> tuple[int, Any]:
        return id(self.owner), self.key


def _contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Watch:
    """A snapshot of everything mutable that some roots reach.

    `outside` says that it watches what exists beside a whole static function; functions made while
    that runs are none of its business.
    """

    def __init__(self, *roots: Any, outside: bool = False) -> None:
        self.outside = outside
        self._seen: dict[int, Any] = {}
        self._snapshots: list[tuple[Any, Any]] = []
        for root in roots:
            self.add(root)

    def add(self, root: Any) -> None:
        stack = [root]
        while stack:
            value = stack.pop()
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            stack.extend(self._take(value))

    def knows(self, value: Any) -> bool:
        return id(value) in self._seen

    def _take(self, value: Any) -> list[Any]:
        """Snapshot one object; returns what it reaches."""
        if isinstance(value, types.FunctionType):
            return self._take_function(value)
        if isinstance(value, types.MethodType):
            return [value.__func__, value.__self__]
        if isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords]
        if isinstance(value, tuple | frozenset):
            return list(value)
        if isinstance(value, types.CellType):
            self._snapshots.append((value, _contents(value)))
            return [_contents(value)]
        if isinstance(value, jax.Array):
            return []
        if isinstance(value, np.ndarray):
            if value.flags.writeable:
                self._snapshots.append((value, value.copy()))
            return []
        if isinstance(value, list | deque | bytearray):
            self._snapshots.append((value, list(value)))
            return list(value)
        if isinstance(value, set):
            self._snapshots.append((value, set(value)))
            return list(value)
        if isinstance(value, dict):
            self._snapshots.append((value, dict(value)))
            return list(value.values())
        if type(value).__module__.startswith("d2s."):
            # of what is ours only the user's function behind a static one can be read
            return [getattr(value, "original", None)]
        attributes = getattr(value, "__dict__", None)
        return [attributes] if type(attributes) is dict else []

    def _take_function(self, function: types.FunctionType) -> list[Any]:
        reached: list[Any] = list(function.__closure__ or ())
        if is_library_file(function.__code__.co_filename) and not is_made_by_d2s(function):
            # d2s wraps the user's functions in functions of its own; those of others are theirs
            own = function.__module__.startswith("d2s.")
            return [_contents(cell) for cell in reached] if own else []
        names = _global_names(function.__code__)
        bound = {n: function.__globals__[n] for n in names if n in function.__globals__}
        if bound:
            self._snapshots.append((_Globals(function.__globals__), bound))
        return [*reached, *bound.values(), function.__defaults__, function.__kwdefaults__]

    def changed(self) -> Iterator[tuple[Any, Any]]:
        for owner, before in self._snapshots:
            if not _unchanged(owner, before):
                yield owner, before

    def is_unchanged(self) -> bool:
        return next(self.changed(), None) is None

    def slots(self) -> list[Slot]:
        """The places whose value changed; refuses changes that are more than a new value."""
        found: list[Slot] = []
        for owner, before in self.changed():
            found += _slots(owner, before)
        return found

    def cells(self) -> list[Slot]:
        """Every closure cell that is watched."""
        return [Slot(o, None) for o, _ in self._snapshots if isinstance(o, types.CellType)]

    def undo(self) -> None:
        for owner, before in self.changed():
            if isinstance(owner, types.CellType):
                Slot(owner, None).set(before)
            elif isinstance(owner, np.ndarray):
                owner[...] = before
            elif isinstance(owner, list | bytearray):
                owner[:] = before
            elif isinstance(owner, _Globals):
                owner.globals.update(before)
            else:
                owner.clear()
                owner.extend(before) if isinstance(owner, deque) else owner.update(before)


class _Globals:
    """The global names that a function reads."""

    def __init__(self, names: dict[str, Any]) -> None:
        self.globals = names


@functools.lru_cache(maxsize=4096)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(_global_names(constant))
    return tuple(names)


def _unchanged(owner: Any, before: Any) -> bool:
    if isinstance(owner, types.CellType):
        return _contents(owner) is before
    if isinstance(owner, _Globals):
        now = owner.globals
        return all(now.get(name, EMPTY) is value for name, value in before.items())
    if isinstance(owner, np.ndarray):
        return bool(np.array_equal(owner, before, equal_nan=owner.dtype.kind in "fc"))
    if isinstance(owner, dict):
        return len(owner) == len(before) and all(
            k is k2 and v is v2
            for (k, v), (k2, v2) in zip(owner.items(), before.items(), strict=True)
        )
    if isinstance(owner, set):
        return owner == before
    return len(owner) == len(before) and all(a is b for a, b in zip(owner, before, strict=True))


def _slots(owner: Any, before: Any) -> list[Slot]:
    if isinstance(owner, types.CellType):
        return [Slot(owner, None)]
    if isinstance(owner, list) and len(owner) == len(before):
        return [Slot(owner, n) for n, v in enumerate(owner) if v is not before[n]]
    if isinstance(owner, dict) and list(owner) == list(before):
        return [Slot(owner, k) for k, v in owner.items() if v is not before[k]]
    what = "global names" if isinstance(owner, _Globals) else f"a {type(owner).__name__}"
    raise StagingError(
        f"{what} is changed where the change depends on a run-time value (it was {_short(before)})",
        code="D2S024",
        fix="keep the values in variables or arrays of fixed size and assign those",
    )


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
