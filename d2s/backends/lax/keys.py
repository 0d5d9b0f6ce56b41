"""Keys: what a graph was built for, as far as that is known before the graph runs.

The things that a call can reach are taken apart into run-time leaves and a key. The key is a flat
tuple of tokens in the order of the walk, so it can be compared in one step and read again from
left to right to make the same structure anew. A type stands for a leaf of that type.
"""

from __future__ import annotations

import enum
from typing import Any

import numpy as np

from d2s.backends.lax.dtypes import NUMBERS
from d2s.backends.lax.places import copy_of_array, slot_names


class Token:
    """A part of a key; `exact` is all that is compared."""

    __slots__ = ("_hash", "exact")

    def __init__(self, exact: Any) -> None:
        self.exact = exact
        self._hash = hash(exact)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and bool(self.exact == other.exact)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.exact!r})"


class Static(Token):
    """A value that is a constant of the graph; equal only to one that behaves the same."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__(exact_key(value))
        self.value = value

    def __repr__(self) -> str:
        return repr(self.value)


class Number(Static):
    """A Python number found in an object, a global or a closure: a constant until it changes."""

    __slots__ = ()


class Changing(Token):
    """A number that did change: a leaf, after all others."""

    __slots__ = ()


class Itself(Token):
    """An object that stays what it is inside the graph: a function, a lock, an iterator."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__(id(value))
        self.value = value


class Contents(Token):
    """A NumPy array that is a constant of the graph, by what is in it."""

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray) -> None:
        self.value = copy_of_array(value)
        super().__init__((layout(value), self.value.tobytes()))

    def is_in(self, other: np.ndarray) -> bool:
        return bool((layout(other), other.tobytes()) == self.exact)


def layout(array: np.ndarray) -> tuple[Any, ...]:
    """What a program can see of an array, and assign, besides its elements."""
    return array.shape, array.dtype.str, array.flags.writeable


class Again(Token):
    """A mutable object that was met before, by its number."""

    __slots__ = ()


class Pairs(int):
    """The size of a dict whose keys are objects; they are parts like the values."""


class Node(Token):
    """An object with parts; their tokens follow."""

    __slots__ = ("kind", "names")

    def __init__(self, kind: Any, names: Any, exact: Any = None) -> None:
        super().__init__((kind, names if exact is None else exact))
        self.kind, self.names = kind, names

    def __repr__(self) -> str:
        size = self.names if isinstance(self.names, int) else getattr(self.names, "__len__", int)()
        return f"a {self.kind.__name__} of {size} parts"


def exact_key(value: Any) -> Any:
    """A key that tells 0.0 from -0.0 and 1 from True, inside hashable objects too."""
    kind: Any = type(value)
    if kind is str or kind is type(None):
        return kind, value
    if kind in NUMBERS:
        return kind, repr(value)
    if isinstance(value, tuple):
        return kind, *(exact_key(v) for v in value)
    if isinstance(value, frozenset):
        return kind, frozenset(exact_key(v) for v in value)
    if isinstance(value, str | bytes | type | enum.Enum) or not _defines_equality(kind):
        return kind, value
    names = [*getattr(value, "__dict__", ()), *slot_names(kind)]
    parts = [(name, exact_key(getattr(value, name))) for name in names if hasattr(value, name)]
    return kind, value, *parts


def _defines_equality(kind: type) -> bool:
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])
