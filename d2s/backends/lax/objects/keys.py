"""Keys: what a graph was built for, as far as that is known before the graph runs.

The things that a call can reach are taken apart into run-time leaves and a key. The key is a flat
tuple of tokens in the order of the walk, so it can be compared in one step and read again from
left to right to make the same structure anew. A type stands for a leaf of that type. For the
arguments ``([x, 2], "mean", items, items)``, with an array `x` and an empty list `items`, it is

    Node(tuple, 4)  Node(list, 2) ARRAY int  Static("mean")  Node(list, 0)  Again(1)

with the leaves `x` and 2. Lists and other mutable objects are numbered as they are met, and `items`
has the number 1.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import pathlib
import struct
import types
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.attributes import slot_names
from d2s.backends.lax.forms.buffers import copy_of_array
from d2s.backends.lax.forms.form import EMPTY


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
    """A value that is a constant of the graph; equal only to one that no program can tell apart."""

    __slots__ = ("holders", "value")

    def __init__(self, value: Any) -> None:
        #: the objects in it that can change
        self.holders: Holders = {}
        super().__init__(exact_key(value, self.holders))
        self.value = value

    def is_frozen(self) -> bool:
        """Whether nothing in it can change, except by tricks that get around a frozen dataclass."""
        kinds = (type(holder) for holder in self.holders.values())
        parameters = (getattr(kind, "__dataclass_params__", None) for kind in kinds)
        return all(known is not None and known.frozen for known in parameters)

    def __repr__(self) -> str:
        return repr(self.value)


class Number(Static):
    """A Python number found in an object, a global or a closure: a constant until it changes."""

    __slots__ = ()


class ChangingNumber(Token):
    """A number found in an object that has changed once: a leaf from then on, after all others."""

    __slots__ = ()


class Itself(Token):
    """An object that stays what it is inside the graph: a function, a lock, an iterator."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__(id(value))
        self.value = value


class Contents(Token):
    """A NumPy array that is a constant of the graph, compared by its elements."""

    __slots__ = ("value",)

    def __init__(self, value: np.ndarray) -> None:
        self.value = copy_of_array(value)
        super().__init__((layout(value), self.value.tobytes()))

    def is_in(self, other: np.ndarray) -> bool:
        return bool((layout(other), other.tobytes()) == self.exact)


def layout(array: np.ndarray) -> tuple[Any, ...]:
    """What a program can see and assign of an array besides its elements."""
    return array.shape, array.dtype.str, array.flags.writeable


class Again(Token):
    """A mutable object that was met before, by the number that it got then."""

    __slots__ = ()


class Pairs(int):
    """The size of a dict or set whose keys are objects, which are parts like the values."""


class Node(Token):
    """An object with parts; their tokens follow.

    `names` says how many parts there are and what they are called, `exact` what is compared of it.
    A container of a class of the user's has the dict of its attributes as its last part.
    """

    __slots__ = ("has_attributes", "kind", "names")

    def __init__(
        self, kind: Any, names: Any, exact: Any = None, has_attributes: bool = False
    ) -> None:
        super().__init__((kind, names if exact is None else exact))
        self.kind, self.names, self.has_attributes = kind, names, has_attributes

    def __repr__(self) -> str:
        size = self.names if isinstance(self.names, int) else getattr(self.names, "__len__", int)()
        return f"a {self.kind.__name__} of {size} parts"


class _Same(Token):
    """A value in a key that is compared by identity; the key keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__(id(value))
        self.value = value


#: the objects that a key was read from and that can change, by identity
Holders = dict[int, Any]


def exact_key(value: Any, holders: Holders | None = None) -> Any:
    """A key that is the same for two values only if no program can tell them apart.

    Equality does not say that: `0.0 == -0.0`, `1 == True`, `Decimal(1) == Decimal("1.00")`, and a
    class may leave parts of its objects out of `__eq__`. So values of classes whose state is known
    are taken apart, and all others are known by their identity.
    """
    kind = type(value)
    if kind in _BY_VALUE:
        return kind, value
    how = _EXACT.get(kind)
    if how is not None:
        return kind, how(value)
    return _taken_apart(value, {} if holders is None else holders)


def _taken_apart(value: Any, holders: Holders) -> Any:
    kind: Any = type(value)
    if isinstance(value, np.dtype):
        plain = value.metadata is None and value.fields is None and value.subdtype is None
        return (np.dtype, value.num, value.str) if plain else _Same(value)
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return kind, exact_key(value.dtype), value.tobytes()
    if kind is slice:
        return kind, *(exact_key(v, holders) for v in (value.start, value.stop, value.step))
    if kind is types.MethodType:
        return kind, _Same(value.__func__), exact_key(value.__self__, holders)
    if issubclass(kind, _BY_IDENTITY):
        return _Same(value)
    # Classes of JAX have no base class in common, and those in C no file: the package is all that
    # tells that one is JAX's.
    if kind.__module__.partition(".")[0] in ("jax", "jaxlib"):
        return _of_jax(value, holders)
    base = next((base for base in _CONTENTS if issubclass(kind, base)), object)
    is_fixed = base in (tuple, frozenset, str, bytes, int, float, complex)
    names = () if kind is base else _attributes(value)
    if not _is_open(kind, base):
        return _Same(value)
    if names or not is_fixed:
        if id(value) in holders:
            return kind, list(holders).index(id(value))
        holders[id(value)] = value
    parts = [(name, exact_key(_attribute(value, name), holders)) for name in names]
    content = _CONTENTS[base](value, holders) if base is not object else ()
    # An object whose class defines `==` may be made anew for each call and mean the same; of all
    # others a program can tell two apart, so their identity belongs to the key.
    same = () if is_fixed or _defines_equality(kind) else (_Same(value),)
    return kind, content, *same, *parts


def _of_jax(value: Any, holders: Holders) -> Any:
    """Values of JAX: what has a hash, as a sharding, is compared by `==`, arrays by identity."""
    if isinstance(value, jax.Array):
        holders[id(value)] = value
        return _Same(value)
    try:
        hash(value)
    except TypeError:
        return _Same(value)
    return type(value), value


def _many(items: Any, holders: Holders) -> Any:
    return tuple(exact_key(item, holders) for item in items)


def _array(array: Any, holders: Holders) -> Any:
    return _Same(array) if array.dtype.hasobject else Contents(array)


def _packed(number: complex) -> bytes:
    """The bits of a number: a NaN is the same as itself, and zeros have signs."""
    return struct.pack("dd", number.real, number.imag)


#: classes whose equality is exact for two values of that very class
_BY_VALUE = frozenset((str, bytes, int, bool, type(None), type(...), type(NotImplemented)))

_EXACT: dict[Any, Callable[[Any], Any]] = {
    float: _packed,
    complex: _packed,
    range: lambda v: (exact_key(v.start), exact_key(v.stop), exact_key(v.step)),
    decimal.Decimal: lambda v: v.as_tuple(),
    **dict.fromkeys(
        (datetime.date, datetime.datetime, datetime.time, datetime.timedelta, datetime.timezone),
        lambda v: tuple(map(exact_key, v.__reduce_ex__(4)[1])),
    ),
    pathlib.PurePosixPath: str,
    pathlib.PureWindowsPath: str,
    type(pathlib.Path()): str,
}

_BY_IDENTITY = (type, enum.Enum, types.FunctionType, types.BuiltinFunctionType, types.ModuleType)

#: builtin classes that others are made from, and what is in them
_CONTENTS: dict[Any, Callable[[Any, Holders], Any]] = {
    str: lambda v, _: str.__getitem__(v, slice(None)),
    bytes: lambda v, _: bytes.__getitem__(v, slice(None)),
    int: lambda v, _: int.__pos__(v),
    float: lambda v, _: _packed(float.__pos__(v)),
    complex: lambda v, _: _packed(complex.__pos__(v)),
    tuple: lambda v, holders: _many(tuple.__iter__(v), holders),
    # A program can see the order, which equal sets may have differently.
    frozenset: lambda v, holders: _many(frozenset.__iter__(v), holders),
    set: lambda v, holders: _many(set.__iter__(v), holders),
    list: lambda v, holders: _many(list.__iter__(v), holders),
    deque: lambda v, holders: (v.maxlen, _many(deque.__iter__(v), holders)),
    dict: lambda v, holders: _many((p for pair in dict.items(v) for p in pair), holders),
    bytearray: lambda v, _: bytes(v),
    np.ndarray: _array,
}


def _attributes(value: Any) -> tuple[str, ...]:
    kind: Any = type(value)
    return *getattr(value, "__dict__", ()), *(n for n in slot_names(kind) if _has(value, n))


def _has(value: Any, name: str) -> bool:
    return _attribute(value, name) is not EMPTY


def _attribute(value: Any, name: str) -> Any:
    own = getattr(value, "__dict__", {})
    try:
        return own[name] if name in own else object.__getattribute__(value, name)
    except AttributeError:
        return EMPTY


_OPEN: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()

#: of the flags of a class, those that tell whether a class statement made it, and not C
_FLAGS, _WRITTEN = (1 << 9) | (1 << 8), 1 << 9


def _is_open(kind: Any, base: Any) -> bool:
    """Whether the attributes and what is in `base` are all that an object consists of."""
    known = _OPEN.get(kind)
    if known is None:
        known = _OPEN[kind] = kind is base or _is_written(kind, base)
    return known


def _is_written(kind: Any, base: Any) -> bool:
    made = kind.__mro__[: kind.__mro__.index(base)]
    if hasattr(kind, "__del__") or any(_FLAGS & one.__flags__ != _WRITTEN for one in made):
        return False
    try:
        base.__new__(kind)
    except Exception:
        return False
    return True


def are_unchanged(state: list[tuple[Any, Any]]) -> bool:
    """Whether the objects that a key was read from hold what they held then."""
    return all(_state(holder) == before for holder, before in state)


def states(holders: Holders) -> list[tuple[Any, Any]]:
    return [(holder, _state(holder)) for holder in holders.values()]


def _state(holder: Any) -> Any:
    """What an object holds, as the identities of its parts."""
    if isinstance(holder, np.ndarray):
        return holder.tobytes()
    ids: list[Any] = []
    if isinstance(holder, dict):
        ids = [*map(id, holder), *map(id, holder.values())]
    elif isinstance(holder, list | set | deque):
        ids = [*map(id, holder)]
    own = getattr(holder, "__dict__", None)
    if own:
        ids += [*own, *map(id, own.values())]
    kind: Any = type(holder)
    return ids + [id(_attribute(holder, name)) for name in slot_names(kind)]


def _defines_equality(kind: type) -> bool:
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])
