"""Exact keys: the same for two values only if no program can tell them apart.

`0.0 == -0.0`, `1 == True` and ``Decimal(1) == Decimal("1.00")``, so equality does not say that.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import fractions
import pathlib
import struct
import types
import uuid
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.forms.kinds.buffers import copy_of_array
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.libraries import is_library_module


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
    is_fixed = base in _FIXED
    names = () if kind is base else _attributes(value)
    if not _is_open(kind, base):
        return _Same(value)
    if names or not is_fixed:
        if id(value) in holders:
            return kind, list(holders).index(id(value))
        holders[id(value)] = value
    parts = [(name, exact_key(attribute_or_empty(value, name), holders)) for name in names]
    content = _CONTENTS[base](value, holders) if base is not object else ()
    # An object whose class defines `==` may be made anew for each call and mean the same; of all
    # others a program can tell two apart, so their identity belongs to the key.
    same = () if is_fixed or _defines_equality(kind) else (_Same(value),)
    return kind, content, *same, *parts


def is_opaque(value: Any) -> bool:
    """Whether a value is known by its identity, and may hold what can change."""
    if isinstance(value, types.FunctionType | types.BuiltinFunctionType | np.dtype):
        return False
    if isinstance(value, types.ModuleType) and is_library_module(value):
        return False
    if type(value) in _BY_VALUE or type(value) in _EXACT:
        return False
    if isinstance(value, _FIXED) and own_dict(value) is not None:
        return True  # a text or number of a class of the user's, which has attributes
    return isinstance(exact_key(value), _Same)


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

#: those that nobody can change
_FIXED = (tuple, frozenset, str, bytes, int, float, complex)
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
    return attribute_or_empty(value, name) is not EMPTY


def attribute_or_empty(value: Any, name: str) -> Any:
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


def _defines_equality(kind: type) -> bool:
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])


#: classes of values that nobody can change, and that are what they are made of
VALUES = (
    *(str, bytes, type(None), enum.Enum, range, slice, frozenset, np.dtype),
    *(fractions.Fraction, decimal.Decimal, uuid.UUID, pathlib.PurePath),
    *(datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
)


def are_same_values(one: Any, other: Any) -> bool:
    """Whether two values that nobody can change are one and the same to every program."""
    if type(one) is not type(other) or not isinstance(one, VALUES):
        return False
    return bool(exact_key(one) == exact_key(other))
