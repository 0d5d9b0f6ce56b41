"""Slots: what holds one value of a program. A cell, an entry, an attribute, a global name.

In ``self.count += 1`` the slot is the entry "count" of the dict of attributes of `self`, which is
``Slot(vars(self), "count")``. ``items.append(x)`` gives the list another length, so the slot is the
list as a whole: ``Slot(items, WHOLE)``.

An *owner* is what a slot is in. Where Python has no object for that (attributes in `__slots__`, the
bytes of a buffer), one of the small classes below stands for it. For each kind of owner this module
knows how to compare what it holds with what it held (`is_unchanged`), how to put that back
(`restore`), and which of its slots have changed (`changed_slots`).
"""

from __future__ import annotations

import array
import functools
import inspect
import threading
import types
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.conversion import MARKS

#: stands for the value of a slot that holds none
EMPTY = object()

#: attributes of classes that Python itself changes: `copy` stores `__slotnames__` when it is used,
#: and abstract classes keep what they found out about others in `_abc_impl`
OF_PYTHON = ("__dict__", "__weakref__", "__slotnames__", "_abc_impl")

#: the key of a slot that is all of a list, dict or deque, or all attributes in `__slots__`
WHOLE = object()


class Slot:
    """What holds one value: a closure cell, an entry of a list or dict, an attribute.

    With the key `WHOLE` it is all that a list, dict or object holds, for the case that there are
    more or fewer entries than before.
    """

    def __init__(self, owner: Any, key: Any) -> None:
        self.owner, self.key = owner, key

    def get(self) -> Any:
        if isinstance(self.owner, types.CellType):
            return cell_contents(self.owner)
        if self.key is WHOLE:
            return _copy(self.owner)
        if isinstance(self.owner, SlotAttributes):
            return getattr(self.owner.owner, self.key)
        return self.owner[self.key]

    def set(self, value: Any) -> None:
        if self.key is WHOLE:
            _refill(self.owner, value)
        elif isinstance(self.owner, SlotAttributes):
            object.__setattr__(self.owner.owner, self.key, value)
        elif not isinstance(self.owner, types.CellType):
            self.owner[self.key] = value
        elif value is EMPTY:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value

    @property
    def is_there(self) -> bool:
        """Whether there is such a slot at all: the entry or attribute may be gone."""
        if isinstance(self.owner, types.CellType) or self.key is WHOLE:
            return True
        if isinstance(self.owner, SlotAttributes):
            return hasattr(self.owner.owner, self.key)
        if isinstance(self.owner, dict):
            return self.key in self.owner
        return bool(self.key < len(self.owner))

    @property
    def is_global(self) -> bool:
        """Whether it is a global name of a module.

        Python puts `__builtins__` into every dict that code runs in as its globals.
        """
        return isinstance(self.owner, dict) and "__builtins__" in self.owner

    @property
    def holder(self) -> Any:
        """The object of the program that holds the value."""
        return self.owner.owner if isinstance(self.owner, SlotAttributes) else self.owner

    @property
    def identity(self) -> tuple[int, Any]:
        return id(self.holder), self.key


def _copy(owner: Any) -> Any:
    if isinstance(owner, SlotAttributes):
        kind: Any = type(owner.owner)
        names = slot_names(kind)
        return {n: getattr(owner.owner, n) for n in names if hasattr(owner.owner, n)}
    return dict(owner) if isinstance(owner, dict) else list(owner)


def _refill(owner: Any, value: Any) -> None:
    if isinstance(owner, SlotAttributes):
        kind: Any = type(owner.owner)
        held = dict.fromkeys(slot_names(kind), EMPTY) | value
        _restore_attributes(owner, held)
    elif isinstance(owner, list):
        owner[:] = value
    else:
        owner.clear()
        owner.extend(value) if isinstance(owner, deque) else owner.update(value)


def cell_contents(cell: types.CellType) -> Any:
    """The value in a cell, or `EMPTY`."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


@dataclass(frozen=True, eq=False)
class OuterSlot:
    """A slot outside of a static function that is an input of its graph.

    It is a global name of a module, a cell (which has no name), or the defaults of a function.
    """

    owner: Any
    name: str | None

    #: a name is a slot whether or not it has a value
    is_there = True

    @property
    def is_fixed(self) -> bool:
        """Whether nothing can be stored in the slot, only in the objects that it holds."""
        return isinstance(self.owner, types.FunctionType)

    def get(self) -> Any:
        if self.is_fixed:
            return self.owner.__defaults__, self.owner.__kwdefaults__
        if self.name is None:
            return cell_contents(self.owner)
        return self.owner.get(self.name, EMPTY)

    def set(self, value: Any) -> None:
        if self.name is not None:
            if value is EMPTY:
                self.owner.pop(self.name, None)
            else:
                self.owner[self.name] = value
        elif value is EMPTY:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class GlobalName:
    """A global name, as the owner of its value."""

    def __init__(self, space: dict[str, Any], name: str) -> None:
        self.space, self.name = space, name

    def restore(self, before: Any) -> None:
        if before is EMPTY:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = before


class SlotAttributes:
    """The attributes of an object that its class keeps in `__slots__`, as an owner."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


def instance_slot(value: Any, name: str) -> Slot:
    """An attribute of an object as a slot: in its dict, or else in its `__slots__`."""
    own = own_dict(value)
    if own is not None and name in own:
        return Slot(own, name)
    return Slot(SlotAttributes(value), name)


class FunctionAttributes:
    """The attributes of a function, as an owner; marks of d2s among them do not count."""

    def __init__(self, function: types.FunctionType) -> None:
        self.items = function.__dict__


class Elsewhere:
    """What Python keeps for a thread or a context, or only weakly, as an owner."""

    KINDS = (ContextVar, threading.local, weakref.ref, *weakref.ProxyTypes)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def contents(self) -> dict[str, Any]:
        if self.is_weak:
            # Only a flag is remembered, because a snapshot must not keep the object alive.
            return {"is alive": self._referent() is not None}
        if isinstance(self.owner, ContextVar):
            return {"value": self.owner.get(EMPTY)}
        return dict(self.owner.__dict__)

    @property
    def is_weak(self) -> bool:
        # not `isinstance`: a proxy would ask its object, which may be gone
        return issubclass(type(self.owner), (weakref.ref, *weakref.ProxyTypes))

    def _referent(self) -> Any:
        if issubclass(type(self.owner), weakref.ref):
            return self.owner()
        try:
            # A proxy hands every question to its object, so a bound method has the object itself.
            return self.owner.__sizeof__.__self__
        except ReferenceError:
            return None

    def held(self) -> list[Any]:
        if self.is_weak:
            referent = self._referent()
            return [] if referent is None else [referent]
        return [value for value in self.contents().values() if value is not EMPTY]

    def restore(self, before: dict[str, Any]) -> None:
        if self.is_weak:
            return
        if isinstance(self.owner, threading.local):
            self.owner.__dict__.clear()
            self.owner.__dict__.update(before)
        elif isinstance(self.owner, ContextVar) and before["value"] is not EMPTY:
            self.owner.set(before["value"])


class Buffer:
    """The bytes in an object of C, as `ctypes` and `mmap` have them, as an owner."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    @staticmethod
    def of(value: Any) -> Buffer | None:
        """The buffer of an object whose bytes Python code can change; None for all others."""
        try:
            return None if memoryview(value).readonly else Buffer(value)
        except (TypeError, ValueError, BufferError):
            return None

    def contents(self) -> bytes:
        return memoryview(self.owner).tobytes()

    def restore(self, before: bytes) -> None:
        memoryview(self.owner).cast("B")[:] = before


class Answer:
    """A question that was asked while a graph was built, as an owner: has the answer changed?"""

    def __init__(self, is_same: Callable[[], bool]) -> None:
        self.is_same = is_same


def copy_of_array(value: np.ndarray) -> np.ndarray:
    """Another array with the same elements, shape, dtype and flag."""
    made = value.copy()
    made.flags.writeable = value.flags.writeable
    return made


def _restore_array(owner: Any, before: np.ndarray) -> None:
    with warnings.catch_warnings():
        # NumPy advises to make another array, but the one that the program has must be restored.
        warnings.simplefilter("ignore", DeprecationWarning)
        if owner.dtype != before.dtype:
            owner.dtype = before.dtype
        if owner.shape != before.shape:
            owner.shape = before.shape
    owner.flags.writeable = True
    owner[...] = before
    owner.flags.writeable = before.flags.writeable


def restore(owner: Any, before: Any) -> None:
    """Put back what was in something before it changed."""
    if isinstance(owner, types.CellType):
        Slot(owner, None).set(before)
    elif isinstance(owner, GlobalName | Elsewhere | Buffer):
        owner.restore(before)
    elif isinstance(owner, Answer):
        return
    elif isinstance(owner, np.ndarray):
        _restore_array(owner, before)
    elif isinstance(owner, list | bytearray | array.array):
        owner[:] = before
    elif isinstance(owner, type | types.FunctionType | SlotAttributes):
        _restore_attributes(owner, before)
    elif isinstance(owner, FunctionAttributes):
        marks = {n: v for n, v in owner.items.items() if n in MARKS}
        owner.items.clear()
        owner.items.update(before | marks)
    else:
        owner.clear()
        owner.extend(before) if isinstance(owner, deque) else owner.update(before)


def _restore_attributes(owner: Any, before: dict[str, Any]) -> None:
    target = owner.owner if isinstance(owner, SlotAttributes) else owner
    setter = setattr if isinstance(owner, type | types.FunctionType) else object.__setattr__
    for name in [n for n in _attributes(owner, before) if n not in before]:
        delattr(target, name)
    for name, value in before.items():
        if attribute_of(owner, name) is not value:
            delattr(target, name) if value is EMPTY else setter(target, name, value)


def _attributes(owner: Any, before: dict[str, Any]) -> list[str]:
    if isinstance(owner, type):
        return list(class_attributes(owner))
    return list(before)


def class_attributes(kind: type) -> dict[str, Any]:
    """What a class has of its own: its attributes, and the classes it inherits from."""
    own = {name: value for name, value in vars(kind).items() if name not in OF_PYTHON}
    return {**own, "__bases__": kind.__bases__}


def attribute_of(owner: Any, name: str) -> Any:
    if isinstance(owner, type):
        return owner.__bases__ if name == "__bases__" else vars(owner).get(name, EMPTY)
    return getattr(owner.owner if isinstance(owner, SlotAttributes) else owner, name, EMPTY)


def own_dict(value: Any) -> dict[str, Any] | None:
    """The dict of an object's attributes, whatever its class answers for `__dict__`."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if type(own) is dict else None


@functools.cache
def slot_names(kind: Any) -> tuple[str, ...]:
    """The attributes that objects of a class keep elsewhere than in a dict.

    Those are the ones in `__slots__`; of exceptions, also the fields of Python's own classes, such
    as `args` and the `filename` of an `OSError`.
    """
    if issubclass(kind, BaseException):
        fields = exception_fields(kind)
        return tuple(n for n in fields if inspect.getattr_static(kind, n) is fields[n])
    # A slot of a base that another class hides, as by a property of that name, cannot be set.
    names = [(name, base) for base in kind.__mro__ for name in _slots(base)]
    return tuple(n for n, base in names if inspect.getattr_static(kind, n) is vars(base).get(n))


def _slots(kind: type) -> Iterator[str]:
    """The attributes for which a class itself has slots, by the names that Python gives them."""
    slots = vars(kind).get("__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        if not name.startswith("__"):
            yield name
        elif not name.endswith("__"):
            yield f"_{kind.__name__.lstrip('_')}{name}"  # private, as Python spells it


@functools.cache
def exception_fields(kind: Any) -> dict[str, Any]:
    """The descriptors of the fields of exceptions, by name, even if a subclass hides one."""
    kinds = (types.MemberDescriptorType, types.GetSetDescriptorType)
    # The fields of a group repeat its arguments, and cannot be set.
    bases = [base for base in reversed(kind.__mro__) if base is not BaseExceptionGroup]
    found = {n: v for base in bases for n, v in vars(base).items() if isinstance(v, kinds)}
    return {name: field for name, field in found.items() if not name.startswith("__")}


def is_unchanged(owner: Any, before: Any) -> bool:
    """Whether an owner holds what it held before, by identity of the values."""
    if isinstance(owner, types.CellType):
        return cell_contents(owner) is before
    if isinstance(owner, type):
        return _is_same_class(owner, before)
    if isinstance(owner, types.FunctionType | SlotAttributes):
        return all(_is_same(attribute_of(owner, name), value) for name, value in before.items())
    if isinstance(owner, FunctionAttributes):
        now = {n: v for n, v in owner.items.items() if n not in MARKS}
        return now.keys() == before.keys() and all(now[n] is before[n] for n in now)
    if isinstance(owner, np.ndarray):
        same = owner.shape == before.shape and owner.dtype == before.dtype
        same = same and owner.flags.writeable == before.flags.writeable
        return bool(same and owner.tobytes() == before.tobytes())
    if isinstance(owner, array.array):
        return bool(owner.tobytes() == before.tobytes())
    if isinstance(owner, bytearray):
        return bool(owner == before)
    if isinstance(owner, Buffer):
        return owner.contents() == bytes(before)
    if isinstance(owner, Answer):
        return owner.is_same()
    if isinstance(owner, Elsewhere):
        owner = owner.contents()
    if isinstance(owner, dict):
        return len(owner) == len(before) and all(
            k is k2 and v is v2
            for (k, v), (k2, v2) in zip(owner.items(), before.items(), strict=True)
        )
    if isinstance(owner, set):
        return bool(owner == before)
    return len(owner) == len(before) and all(a is b for a, b in zip(owner, before, strict=True))


def _is_same_class(kind: type, before: dict[str, Any]) -> bool:
    own: Any = kind.__dict__
    if len(own) - sum(name in own for name in OF_PYTHON) + 1 != len(before):
        return False
    for name, value in before.items():
        if own.get(name, EMPTY) is not value and not (
            name == "__bases__" and kind.__bases__ is value
        ):
            return False
    return True


def _is_same(one: Any, other: Any) -> bool:
    # Some fields of exceptions are integers in C, which become new objects on each look.
    return one is other or (type(one) is type(other) is int and one == other)


def changed_slots(owner: Any, before: Any) -> list[Slot] | None:
    """The slots of an owner whose value changed; None if that is not all that changed."""
    if isinstance(owner, types.CellType):
        return [Slot(owner, None)]
    if isinstance(owner, GlobalName) and before is not EMPTY and owner.name in owner.space:
        return [Slot(owner.space, owner.name)]
    if isinstance(owner, list) and len(owner) == len(before):
        return [Slot(owner, n) for n, v in enumerate(owner) if v is not before[n]]
    if isinstance(owner, dict) and list(owner) == list(before):
        return [Slot(owner, k) for k, v in owner.items() if v is not before[k]]
    if isinstance(owner, SlotAttributes):
        names = [n for n, v in before.items() if attribute_of(owner, n) is not v]
        new = any(before[n] is EMPTY or attribute_of(owner, n) is EMPTY for n in names)
        return [Slot(owner, WHOLE)] if new else [Slot(owner, n) for n in names]
    return [Slot(owner, WHOLE)] if isinstance(owner, list | dict | deque) else None


def path_to(owner: Any, roots: Iterable[tuple[str, Any]], is_known: Callable[[Any], bool]) -> str:
    """How a program gets to an owner from one of some variables: ``model.layers[0]``.

    The path to the attributes of an object ends with a dot. Empty if no way is found.
    """
    wanted = owner.owner if isinstance(owner, SlotAttributes) else owner
    queue = list(roots)
    seen: set[int] = set()
    for path, value in queue:
        if id(value) in seen or not is_known(value) or isinstance(value, type):
            continue
        seen.add(id(value))
        if value is wanted:
            return f"{path}." if isinstance(owner, SlotAttributes) else path
        attributes = getattr(value, "__dict__", None)
        if attributes is wanted:
            return f"{path}."
        kind = next((k for k in (list, tuple, deque) if isinstance(value, k)), None)
        if kind is not None:
            # By the method of the base class: a recorder that stands for a list refuses to be read.
            parts: Iterable[Any] = kind.__iter__(value)
            queue += [(f"{path}[{n}]", part) for n, part in enumerate(parts)]
        elif isinstance(value, dict):
            queue += [(f"{path}[{key!r}]", part) for key, part in value.items()]
        elif type(attributes) is dict and not callable(value):
            queue += [(f"{path}.{name}", part) for name, part in attributes.items()]
    return ""
