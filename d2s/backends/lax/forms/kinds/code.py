"""Owners that belong to code: cells, global names, classes, functions, attributes in `__slots__`.

Where Python has no object that holds the values, a small class stands for it.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from d2s.backends.lax.forms.kinds.attributes import slot_names
from d2s.backends.lax.forms.kinds.form import EMPTY, WHOLE, Form, register
from d2s.conversion import MARKS

#: attributes of classes that Python itself changes: `copy` stores `__slotnames__` when it is used,
#: and abstract classes keep what they found out about others in `_abc_impl`
OF_PYTHON = ("__dict__", "__weakref__", "__slotnames__", "_abc_impl")


def cell_contents(cell: types.CellType) -> Any:
    """The value in a cell, or `EMPTY`."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class _Cell(Form):
    """A variable of a function around: one entry, whose key is None."""

    base = types.CellType

    def keys(self, owner: Any) -> list[Any]:
        return [None]

    def get(self, owner: Any, key: Any) -> Any:
        return cell_contents(owner)

    def set(self, owner: Any, key: Any, value: Any) -> None:
        if value is EMPTY:
            del owner.cell_contents
        else:
            owner.cell_contents = value

    def has(self, owner: Any, key: Any) -> bool:
        return True

    def held(self, owner: Any) -> Any:
        return cell_contents(owner)

    def is_same(self, owner: Any, held: Any) -> bool:
        return cell_contents(owner) is held

    def restore(self, owner: Any, held: Any) -> None:
        self.set(owner, None, held)

    def changed(self, owner: Any, held: Any) -> list[Any]:
        return [None]


class GlobalName:
    """A global name, as the owner of its value."""

    def __init__(self, space: dict[str, Any], name: str) -> None:
        self.space, self.name = space, name


class _GlobalName(Form):
    base = GlobalName

    def held(self, owner: GlobalName) -> Any:
        return owner.space.get(owner.name, EMPTY)

    def is_same(self, owner: GlobalName, held: Any) -> bool:
        return self.held(owner) is held

    def restore(self, owner: GlobalName, held: Any) -> None:
        if held is EMPTY:
            owner.space.pop(owner.name, None)
        else:
            owner.space[owner.name] = held

    def changed(self, owner: GlobalName, held: Any) -> list[Any] | None:
        return None if held is EMPTY or owner.name not in owner.space else [owner.name]


class SlotAttributes:
    """The attributes of an object that its class keeps in `__slots__`, as an owner."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


class _SlotAttributes(Form):
    base = SlotAttributes
    is_by_attribute = can_grow = True

    def keys(self, owner: SlotAttributes) -> list[Any]:
        kind: Any = type(owner.owner)
        return [name for name in slot_names(kind) if hasattr(owner.owner, name)]

    def get(self, owner: SlotAttributes, key: Any) -> Any:
        return getattr(owner.owner, key)

    def set(self, owner: SlotAttributes, key: Any, value: Any) -> None:
        object.__setattr__(owner.owner, key, value)

    def has(self, owner: SlotAttributes, key: Any) -> bool:
        return hasattr(owner.owner, key)

    def held(self, owner: SlotAttributes) -> dict[str, Any]:
        return {name: getattr(owner.owner, name) for name in self.keys(owner)}

    def is_same(self, owner: SlotAttributes, held: dict[str, Any]) -> bool:
        return not self._changed(owner, held)

    def restore(self, owner: SlotAttributes, held: dict[str, Any]) -> None:
        for name in self._changed(owner, held):
            if name in held:
                object.__setattr__(owner.owner, name, held[name])
            else:
                delattr(owner.owner, name)

    def changed(self, owner: SlotAttributes, held: dict[str, Any]) -> list[Any]:
        names = self._changed(owner, held)
        there = all(name in held and hasattr(owner.owner, name) for name in names)
        return names if there else [WHOLE]

    def _changed(self, owner: SlotAttributes, held: dict[str, Any]) -> list[str]:
        kind: Any = type(owner.owner)
        return [
            name
            for name in slot_names(kind)
            if not _is_same(getattr(owner.owner, name, EMPTY), held.get(name, EMPTY))
        ]


def _is_same(one: Any, other: Any) -> bool:
    # Some fields of exceptions are integers in C, which become new objects on each look.
    return one is other or (type(one) is type(other) is int and one == other)


class _Class(Form):
    """What a class has of its own: its attributes, and the classes it inherits from."""

    base = type
    has_slots = False

    def held(self, owner: Any) -> dict[str, Any]:
        own = {name: value for name, value in vars(owner).items() if name not in OF_PYTHON}
        return {**own, "__bases__": owner.__bases__}

    def is_same(self, owner: Any, held: dict[str, Any]) -> bool:
        own = owner.__dict__
        if len(own) - sum(name in own for name in OF_PYTHON) + 1 != len(held):
            return False
        for name, value in held.items():
            if own.get(name, EMPTY) is not value and not (
                name == "__bases__" and owner.__bases__ is value
            ):
                return False
        return True

    def restore(self, owner: Any, held: dict[str, Any]) -> None:
        for name in [name for name in self.held(owner) if name not in held]:
            delattr(owner, name)
        for name, value in held.items():
            if attribute_of(owner, name) is not value:
                setattr(owner, name, value)

    def changed(self, owner: Any, held: Any) -> None:
        return None


class _FunctionParts(Form):
    """The parts of a function that a program may assign: those that are in `held`."""

    base = types.FunctionType
    has_slots = False

    def is_same(self, owner: Any, held: dict[str, Any]) -> bool:
        return all(_is_same(getattr(owner, name), value) for name, value in held.items())

    def restore(self, owner: Any, held: dict[str, Any]) -> None:
        for name, value in held.items():
            if getattr(owner, name) is not value:
                setattr(owner, name, value)

    def changed(self, owner: Any, held: Any) -> None:
        return None


class FunctionAttributes:
    """The attributes of a function, as an owner; marks of d2s among them do not count."""

    def __init__(self, function: types.FunctionType) -> None:
        self.items = function.__dict__


class _FunctionAttributes(Form):
    base = FunctionAttributes
    has_slots = False

    def held(self, owner: FunctionAttributes) -> dict[str, Any]:
        return {n: v for n, v in owner.items.items() if n not in MARKS}

    def is_same(self, owner: FunctionAttributes, held: dict[str, Any]) -> bool:
        now = self.held(owner)
        return now.keys() == held.keys() and all(now[n] is held[n] for n in now)

    def restore(self, owner: FunctionAttributes, held: dict[str, Any]) -> None:
        marks = {n: v for n, v in owner.items.items() if n in MARKS}
        owner.items.clear()
        owner.items.update(held | marks)

    def changed(self, owner: FunctionAttributes, held: Any) -> None:
        return None


class Answer:
    """A question that was asked while a graph was built, as an owner: has the answer changed?"""

    def __init__(self, is_same: Callable[[], bool]) -> None:
        self.is_same = is_same


class _Answer(Form):
    base = Answer
    has_slots = False

    def is_same(self, owner: Answer, held: Any) -> bool:
        return owner.is_same()

    def restore(self, owner: Answer, held: Any) -> None:
        """Nothing: what the answer depends on is put back by itself."""

    def changed(self, owner: Answer, held: Any) -> None:
        return None


def attribute_of(owner: Any, name: str) -> Any:
    """An attribute of a class itself, or of an object or a function; `EMPTY` if it has none."""
    if isinstance(owner, type):
        return owner.__bases__ if name == "__bases__" else vars(owner).get(name, EMPTY)
    return getattr(owner.owner if isinstance(owner, SlotAttributes) else owner, name, EMPTY)


for kind in (
    _Cell,
    _GlobalName,
    _SlotAttributes,
    _Class,
    _FunctionParts,
    _FunctionAttributes,
    _Answer,
):
    register(kind())
