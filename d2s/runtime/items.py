"""Subscript writes as expressions: what ``x[i] = v`` becomes, for all kinds of containers.

``x = d2s.at(x)[i].set(v)`` gives back `x` itself where it was changed in place (lists, dicts, NumPy
arrays), and the new array where arrays are values. ``d2s.ref(o).w[i] = v`` stores a new array back
in the slot ``o.w``, and stores nothing where the array was changed in place. Parts are evaluated
and read in Python's order.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from d2s.runtime.engines import active
from d2s.runtime.values import Stored

#: the methods of a place, named as in `operator`
AUGMENTED = {
    "add": operator.iadd,
    "sub": operator.isub,
    "mul": operator.imul,
    "truediv": operator.itruediv,
    "floordiv": operator.ifloordiv,
    "mod": operator.imod,
    "pow": operator.ipow,
    "matmul": operator.imatmul,
    "and_": operator.iand,
    "or_": operator.ior,
    "xor": operator.ixor,
    "lshift": operator.ilshift,
    "rshift": operator.irshift,
}


class At:
    """The value of a name, whose items are written: ``d2s.at(x)[i]``."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getitem__(self, key: Any) -> Item:
        return Item(self, self.value, key)

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        """``d2s.at(x).add(v)`` is ``x += v``."""
        change = AUGMENTED[name]
        return lambda value: active().augmented_name(change, self.value, value, self)

    def store(self, value: Any) -> Any:
        """The new value of the name."""
        return value


class Item:
    """An item of a container, to be written."""

    __slots__ = ("container", "key", "owner")

    def __init__(self, owner: Any, container: Any, key: Any) -> None:
        self.owner, self.container, self.key = owner, container, key

    def __getitem__(self, key: Any) -> Item:
        return Item(self, active().items(self.container)[self.key], key)

    def __getattr__(self, name: str) -> Callable[[Any], Any]:
        """``.add(v)`` and the like: the item is read here, before `v` is evaluated."""
        return ItemChange(self, AUGMENTED[name], active().old_item(self.container, self.key))

    def set(self, value: Any) -> Any:
        """Write the item; the new value of the name at the root."""
        new = active().set_item(self.container, self.key, value, self.owner)
        if new is self.container:
            return root(self)
        return self.owner.store(new)

    def store(self, value: Any) -> Any:
        """A new array takes the place of an item that was written into."""
        if active().is_copy(self.container, self.key):
            return root(self)  # what was written into was a copy
        if isinstance(self.container, tuple):
            active().refuse_store(self.container)
        return self.set(value)


class ItemChange:
    """An item on its way to a new value: ``d2s.at(x)[i].add``."""

    __slots__ = ("change", "old", "place")

    def __init__(self, place: Item, change: Callable[[Any, Any], Any], old: Any) -> None:
        self.place, self.change, self.old = place, change, old

    def __call__(self, value: Any) -> Any:
        new = active().augmented(self.change, self.old, value, self.place)
        return self.place.set(new)


def root(item: Any) -> Any:
    """The value of the name that a path of items starts from."""
    while type(item) is Item:
        item = item.owner
    return getattr(item, "value", None)


class Ref:
    """An object with an attribute or entry that is written into: ``d2s.ref(o).w[i] = v``."""

    __slots__ = ("_d2s_base",)

    def __init__(self, base: Any) -> None:
        object.__setattr__(self, "_d2s_base", base)

    def __getattribute__(self, name: str) -> Part:
        base = object.__getattribute__(self, "_d2s_base")
        return Part(Attribute(base, name), getattr(base, name))

    def __getitem__(self, key: Any) -> Part:
        base = object.__getattribute__(self, "_d2s_base")
        return Part(Item(Nowhere(base), base, key), active().old_item(base, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        base = object.__getattribute__(self, "_d2s_base")
        Part(Nowhere(base), base)[key] = value


class Attribute:
    """The slot for a new array that replaces the value of an attribute."""

    __slots__ = ("base", "name")

    def __init__(self, base: Any, name: str) -> None:
        self.base, self.name = base, name

    def store(self, value: Any) -> None:
        try:
            setattr(self.base, self.name, value)
        except AttributeError:  # a namedtuple, a frozen dataclass, a property
            active().refuse_store(self.base)


class Nowhere:
    """Stands for the slot of a value that no name and no attribute has: nothing can be stored."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def store(self, value: Any) -> None:
        active().refuse_store(None)


class Part:
    """A value inside an object, and the slot that holds it.

    A write into the value may give a new array, which is stored in the slot; if that is an item of
    an array itself, there is a new array again, for the slot of that one.
    """

    __slots__ = ("place", "value")

    def __init__(self, place: Any, value: Any) -> None:
        self.place, self.value = place, value

    def __getitem__(self, key: Any) -> Part:
        item = Item(self.place, self.value, key)
        return Part(item, active().old_item(self.value, key))

    def __setitem__(self, key: Any, value: Any) -> None:
        Item(self.place, self.value, key).set(value.value if type(value) is Stored else value)


def _in_place(change: Callable[[Any, Any], Any]) -> Callable[[Part, Any], Stored]:
    def method(self: Part, value: Any) -> Stored:
        return Stored(active().augmented(change, self.value, value, self.place))

    return method


for _name, _change in AUGMENTED.items():
    setattr(Part, f"__i{_name.rstrip('_')}__", _in_place(_change))
