"""Who holds an array: names of the user's, entries of lists and dicts, attributes.

NumPy arrays, and jax arrays that are no part of a graph, cannot be marked as spent. So everybody
else who holds one is looked for: among the variables of the frames that are running, in what these
hold, and by counting references. A reference that is neither the user's nor d2s's own belongs to
somebody unknown.

    a = np.zeros(3)
    l = [a]
    a[0] = x        # with a run-time `x`: the name `a` and the entry `l[0]` both hold the array
"""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np

from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.reach.mentions import global_names
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.conversion import is_block, is_made_code
from d2s.libraries import is_d2s_class, is_d2s_function
from d2s.runtime.items import Attribute, Item


def has_sole_owner(array: np.ndarray[Any, Any], owner: Any) -> bool:
    """Whether nobody holds a NumPy array but the name, entry or attribute that is written.

    `owner` is that entry or attribute, or None for a name.
    """
    inside = isinstance(owner, Item | Attribute)
    return _has_only(array, owner, names=int(not inside), slots=int(inside))


def is_forgotten(array: Any) -> bool:
    """Whether no running code of the user's, and no caller, can reach an array or a view of it."""
    held = Snapshot(*(value for _, value in _variables()))
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


def _has_only(array: np.ndarray[Any, Any], owner: Any, names: int, slots: int) -> bool:
    if _is_held_by_few(array, owner, names, slots):
        return True
    gc.collect()  # objects that only wait to be collected hold references as well
    return _is_held_by_few(array, owner, names, slots)


def _is_held_by_few(array: np.ndarray[Any, Any], owner: Any, names: int, slots: int) -> bool:
    """Whether at most so many names and slots of the user's hold an array, and nobody unknown.

    All references to the array are either found or the holder is unknown:

        references = found (slots of the user's) + known (variables, objects of d2s) + unknown

    and one reference is left over, which the count itself takes.
    """
    if array.base is not None and not isinstance(array.base, np.ndarray):
        return False  # `as_strided` puts an object in between: who has the array behind is not seen
    if array.base is not None and sys.getrefcount(array.base) > _REFERENCES_OF_A_BASE:
        return False
    seen: dict[int, Any] = {}
    found = _slots(array, owner, seen)
    known = 0
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        space = frame.f_locals
        if space is not frame.f_globals:
            for name, value in space.items():
                if value is array:
                    # Up to Python 3.12 the dict of a frame's variables holds them once more.
                    known += (name not in frame.f_code.co_freevars) + _FRAMES_HOLD
                elif not sites.is_user_code(frame.f_code):
                    known += _occurrences(array, value, seen)
        frame = frame.f_back
    known += _occurrences(array, scopes.held(), seen)
    known += _occurrences(array, scopes.copies(), seen)
    if found > slots or len(set(_names(array))) > names:
        return False
    return sys.getrefcount(array) - known - found <= 1


def _names(array: Any) -> Iterator[tuple[Any, str]]:
    """The variables that hold an array.

    A block of the converted code has variables of the function around it, with newer values: those
    of the block hide those of the same name in the frames below.
    """
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


def _slots(array: Any, owner: Any, seen: dict[int, Any]) -> int:
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
    if id(value) in seen or is_d2s_class(kind):
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
    """The variables of the running code that hold an array, directly or in a list or dict."""
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
                hidden.add((owner, name))  # an older value of the function around is not used
                yield (owner, name), value


def _owner(frame: types.FrameType) -> int:
    """The function of the user's that a frame, perhaps that of a block, belongs to.

    It is told by the identity of the function's code: calls of one function count as one owner.
    """
    code = frame.f_code
    while is_block(code) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code if sites.is_user_code(frame.f_code) else code
    return id(code)


def user_frames() -> Iterator[types.FrameType]:
    """The converted code of the user's that is running, innermost first."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_made_code(frame.f_code):
            yield frame
        frame = frame.f_back


def _occurrences(array: Any, value: Any, seen: dict[int, Any], depth: int = 0) -> int:
    """How often an array occurs in a value: in containers, and in objects of d2s's own."""
    if depth > 8 or id(value) in seen:
        return 0
    parts: list[Any] = []
    if isinstance(value, Recorder):
        parts = [value.owner, value.added, value.last]
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.FunctionType) and is_d2s_function(value):
        cells = [c.cell_contents for c in value.__closure__ or () if c != types.CellType()]
        parts = [*cells, *(value.__defaults__ or ())]
    elif isinstance(value, types.MethodType):
        parts = [value.__self__]
    elif is_d2s_class(type(value)):
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
