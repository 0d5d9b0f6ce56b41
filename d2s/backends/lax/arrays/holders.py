"""Who has an array: names of the user's, entries of lists and dicts, attributes.

NumPy arrays, and jax arrays that are no part of a graph, cannot be marked as written. So others
that have one are looked for: by name in the frames that run, and by counting references.
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.slots import own_dict, slot_names
from d2s.backends.lax.reach.mentions import global_names
from d2s.backends.lax.trace.snapshot import Watch
from d2s.conversion import is_block, is_made_code
from d2s.runtime.items import Attribute, Item


def is_alone(array: np.ndarray[Any, Any], owner: Any) -> bool:
    """Whether nobody has a NumPy array but the name, the entry or the attribute that is written."""
    inside = isinstance(owner, Item | Attribute)
    return _has_only(array, owner, names=int(not inside), places=int(inside))


def is_forgotten(array: Any) -> bool:
    """Whether nobody who runs, and no caller, can get to an array, or to a view of it."""
    held = Watch(*(value for _, value in _variables()))
    for frame in user_frames():
        for name in global_names(frame.f_code):
            held.add(frame.f_globals.get(name))
    copies = scopes.copies()
    for copy in copies.made if copies is not None else ():
        held.add(copy)
    return not any(_may_be(array, value) for value in held.reached())


def _may_be(array: Any, value: Any) -> bool:
    both = isinstance(array, np.ndarray) and isinstance(value, np.ndarray)
    return np.may_share_memory(array, value) if both else value is array


def _has_only(array: np.ndarray[Any, Any], owner: Any, names: int, places: int) -> bool:
    if _is_seen_less(array, owner, names, places):
        return True
    gc.collect()  # what only waits to be collected sees nothing
    return _is_seen_less(array, owner, names, places)


def _is_seen_less(array: np.ndarray[Any, Any], owner: Any, names: int, places: int) -> bool:
    """Whether all references are of so many names and places, or of d2s while it works on it."""
    if array.base is not None and not isinstance(array.base, np.ndarray):
        return False  # `as_strided` puts an object in between: who has the array behind is not seen
    if array.base is not None and sys.getrefcount(array.base) > _REFERENCES_OF_A_BASE:
        return False
    seen: dict[int, Any] = {}
    found = _places(array, owner, seen)
    known = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        space = frame.f_locals
        if space is not frame.f_globals:
            for name, value in space.items():
                if value is array:
                    # up to Python 3.12 the dict of a frame's variables holds them as well
                    known += (name not in frame.f_code.co_freevars) + _FRAMES_HOLD
                elif not sites.is_user_code(frame.f_code):
                    known += _occurrences(array, value, seen)
        frame = frame.f_back
    known += _occurrences(array, scopes.held(), seen)
    known += _occurrences(array, scopes.copies(), seen)
    if found > places or len(set(_names(array))) > names:
        return False
    return sys.getrefcount(array) - known - found <= 1


def _names(array: Any) -> Iterator[tuple[Any, str]]:
    """The variables that have an array; those of a block hide those of the code around it."""
    hidden: set[tuple[Any, str]] = set()
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if sites.is_user_code(frame.f_code) and frame.f_locals is not frame.f_globals:
            owner = _owner(frame)
            for name, value in frame.f_locals.items():
                if (owner, name) not in hidden and value is array:
                    yield owner, name
            hidden |= {(owner, name) for name in frame.f_locals}
        frame = frame.f_back


def _places(array: Any, owner: Any, seen: dict[int, Any]) -> int:
    """In how many entries and attributes of the user's an array is, as far as they are found."""
    found = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        if sites.is_user_code(frame.f_code) and frame.f_locals is not frame.f_globals:
            found += sum(_occurrences(array, v, seen) for v in frame.f_locals.values())
        frame = frame.f_back
    copies = scopes.copies()
    for copy in copies.made if copies is not None else ():
        found += _occurrences(array, copy, seen) or _in_attributes(array, copy, seen)
    if isinstance(owner, Item):
        found += _occurrences(array, owner.container, seen)
    elif isinstance(owner, Attribute):
        found += _in_attributes(array, owner.base, seen)
    return found


def _in_attributes(array: Any, value: Any, seen: dict[int, Any]) -> int:
    kind: Any = type(value)
    if id(value) in seen or _is_ours(kind):
        return 0
    seen[id(value)] = value
    held = [*(own_dict(value) or {}).values()]
    held += [getattr(value, name, None) for name in slot_names(kind)]
    return sum(part is array for part in held)


_FRAMES_HOLD = int(sys.version_info < (3, 13))


def _references_of_a_base() -> int:
    view = np.zeros(2)[:1]
    return sys.getrefcount(view.base)


_REFERENCES_OF_A_BASE = _references_of_a_base()


def names_of(array: Any) -> set[tuple[Any, str]]:
    """The variables, and those that have it in a list or dict, of the code that is running."""
    found = set()
    seen: dict[int, Any] = {}
    for (owner, name), value in _variables():
        if value is array:
            found.add((owner, name))
        elif _occurrences(array, value, seen):
            found.add((owner, f"{name}[…]"))
    return found


def _variables() -> Iterator[tuple[tuple[Any, str], Any]]:
    """The variables of the code that is running, with their owners."""
    hidden: set[tuple[Any, str]] = set()
    for frame in user_frames():
        owner = _owner(frame)
        for name, value in frame.f_locals.items():
            if name not in frame.f_code.co_freevars and (owner, name) not in hidden:
                hidden.add((owner, name))  # the function around has it, or no longer
                yield (owner, name), value


def _owner(frame: types.FrameType) -> Any:
    """The function of the user's that a frame, perhaps that of a block, belongs to."""
    name = frame.f_code.co_qualname
    code = frame.f_code
    while is_block(code) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code if sites.is_user_code(frame.f_code) else code
        name = code.co_qualname
    return name


def user_frames() -> Iterator[types.FrameType]:
    """The converted code of the user's that is running, innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_made_code(frame.f_code):
            yield frame
        frame = frame.f_back


def _occurrences(array: Any, value: Any, seen: dict[int, Any], depth: int = 0) -> int:
    """How often an array occurs in a value, in its containers and in objects of d2s."""
    if depth > 8 or id(value) in seen:
        return 0
    parts: list[Any] = []
    if isinstance(value, Recorder):
        parts = [value.owner, value.added, value.last]
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.FunctionType) and _is_ours(value):
        cells = [c.cell_contents for c in value.__closure__ or () if c != types.CellType()]
        parts = [*cells, *(value.__defaults__ or ())]
    elif isinstance(value, types.MethodType):
        parts = [value.__self__]
    elif _is_ours(type(value)):
        slots = [n for n in getattr(type(value), "__slots__", ()) if n != "__dict__"]
        parts = [object.__getattribute__(value, n) for n in slots if _has(value, n)]
        parts += getattr(value, "__dict__", {}).values() if not slots else []
    else:
        return 0
    seen[id(value)] = value
    found = sum(part is array for part in parts)
    return found + sum(_occurrences(array, part, seen, depth + 1) for part in parts)


def _is_ours(value: Any) -> bool:
    return str(value.__module__).startswith("d2s.")


def _has(value: Any, name: str) -> bool:
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True
