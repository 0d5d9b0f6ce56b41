"""Kinds of Python values, each with a number in it that may be a run-time value.

A row says how to make such a value of a number, how to read the number again, and how to change it:
in place for what can be changed, else by making another. The functions are written as a user would
write them, and d2s converts them.
"""

from __future__ import annotations

import collections
import dataclasses
import enum
import fractions
import functools
import types
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from flax import nnx

import d2s


class Kind(NamedTuple):
    """A kind of value."""

    name: str
    make: Callable[[Any], Any]
    read: Callable[[Any], Any]
    #: changes a value and returns it, or returns another one
    change: Callable[[Any, Any], Any]


KINDS: list[Kind] = []


def kind(name: str) -> Callable[[type], type]:
    def register(row: Any) -> type:
        KINDS.append(Kind(name, row.make, row.read, row.change))
        return row  # type: ignore[no-any-return]

    return register


# --- numbers and arrays --------------------------------------------------------------------------


@kind("a number")
class _Number:
    def make(x):
        return x * 2

    def read(value):
        return value

    def change(value, x):
        return value + x


@kind("an array of JAX's")
class _Array:
    def make(x):
        return jnp.array([1.0, 2.0]) * x

    def read(value):
        return value.sum()

    def change(value, x):
        return value + x


# --- sequences -----------------------------------------------------------------------------------


def _set_first(value, x):
    value[0] = value[0] + x
    return value


@kind("`list`")
class _List:
    def make(x):
        return [x, 2]

    def read(value):
        return value[0] + value[1]

    change = _set_first


class Row(list):
    """A list of the user's."""


@kind("a subclass of `list`")
class _Row:
    def make(x):
        return Row([x, 2])

    def read(value):
        return value[0] + value[1]

    change = _set_first


class Named(list):
    """A list with attributes."""

    def __init__(self, items, title):
        super().__init__(items)
        self.title = title


@kind("a subclass of `list`, with attributes")
class _Named:
    def make(x):
        return Named([1, 2], x)

    def read(value):
        return value[0] + value.title

    def change(value, x):
        value.title = value.title + x
        return value


@kind("`collections.UserList`")
class _UserList:
    def make(x):
        return collections.UserList([x, 2])

    def read(value):
        return value.data[0] + value.data[1]

    def change(value, x):
        value.data[0] = value.data[0] + x
        return value


@kind("`tuple`")
class _Tuple:
    def make(x):
        return x, 2

    def read(value):
        return value[0] + value[1]

    def change(value, x):
        return value[0] + x, value[1]


class Point(NamedTuple):
    """A named tuple."""

    a: Any
    b: Any


@kind("a named tuple")
class _Point:
    def make(x):
        return Point(x, 2)

    def read(value):
        return value.a + value.b

    def change(value, x):
        return value._replace(a=value.a + x)


class Pair(tuple):
    """A tuple of the user's."""

    __slots__ = ()


@kind("a subclass of `tuple`")
class _Pair:
    def make(x):
        return Pair((x, 2))

    def read(value):
        return value[0] + value[1]

    def change(value, x):
        return Pair((value[0] + x, value[1]))


@kind("`collections.deque`")
class _Deque:
    def make(x):
        return collections.deque([x, 2], maxlen=2)

    def read(value):
        return value[0] + value[1]

    def change(value, x):
        value.append(x)
        return value


# --- mappings ------------------------------------------------------------------------------------


def _set_a(value, x):
    value["a"] = value["a"] + x
    return value


def _read_a(value):
    return value["a"] + value["b"]


@kind("`dict`")
class _Dict:
    def make(x):
        return {"a": x, "b": 2}

    read, change = _read_a, _set_a


class Table(dict):
    """A dict of the user's."""


@kind("a subclass of `dict`")
class _Table:
    def make(x):
        return Table(a=x, b=2)

    read, change = _read_a, _set_a


class Titled(dict):
    """A dict with attributes."""

    def __init__(self, title, **entries):
        super().__init__(**entries)
        self.title = title


@kind("a subclass of `dict`, with attributes")
class _Titled:
    def make(x):
        return Titled(x, a=1, b=2)

    def read(value):
        return value["a"] + value.title

    def change(value, x):
        value.title = value.title + x
        return value


@kind("`collections.OrderedDict`")
class _Ordered:
    def make(x):
        return collections.OrderedDict(a=x, b=2)

    read, change = _read_a, _set_a


@kind("`collections.defaultdict`")
class _Default:
    def make(x):
        return collections.defaultdict(float, a=x, b=2)

    read, change = _read_a, _set_a


@kind("`collections.Counter`")
class _Counter:
    def make(x):
        return collections.Counter(a=x, b=2)

    read, change = _read_a, _set_a


@kind("`collections.ChainMap`")
class _Chain:
    def make(x):
        return collections.ChainMap({"a": x}, {"b": 2})

    read, change = _read_a, _set_a


@kind("`collections.UserDict`")
class _UserDict:
    def make(x):
        return collections.UserDict(a=x, b=2)

    read, change = _read_a, _set_a


@kind("`types.MappingProxyType`")
class _Proxy:
    def make(x):
        return types.MappingProxyType({"a": x, "b": 2})

    read = _read_a

    def change(value, x):
        return types.MappingProxyType({"a": value["a"] + x, "b": value["b"]})


# --- objects -------------------------------------------------------------------------------------


def _read_w(value):
    return value.w + value.n


def _set_w(value, x):
    value.w = value.w + x
    return value


class Layer:
    """An object of the user's."""

    def __init__(self, w):
        self.w, self.n = w, 2


@kind("an object")
class _Layer:
    def make(x):
        return Layer(x)

    read, change = _read_w, _set_w


class Slotted:
    """An object with slots."""

    __slots__ = ("n", "w")

    def __init__(self, w):
        self.w, self.n = w, 2


@kind("an object with `__slots__`")
class _Slotted:
    def make(x):
        return Slotted(x)

    read, change = _read_w, _set_w


@dataclasses.dataclass
class Config:
    """A dataclass."""

    w: Any
    n: int = 2


@kind("a dataclass")
class _Config:
    def make(x):
        return Config(x)

    read, change = _read_w, _set_w


@dataclasses.dataclass(frozen=True)
class Fixed:
    """A frozen dataclass."""

    w: Any
    n: int = 2


@kind("a frozen dataclass")
class _Fixed:
    def make(x):
        return Fixed(x)

    read = _read_w

    def change(value, x):
        return dataclasses.replace(value, w=value.w + x)


@kind("`types.SimpleNamespace`")
class _Namespace:
    def make(x):
        return types.SimpleNamespace(w=x, n=2)

    read, change = _read_w, _set_w


class Grid:
    """A class that says itself how it is taken apart: it cannot be made from its attributes."""

    __slots__ = ("_cells", "_name")

    def __init__(self, name, cells):
        self._name, self._cells = name, cells

    def __del__(self):
        """Only classes without this are taken apart by themselves."""

    def total(self):
        return self._cells[0] + self._cells[1]

    def moved(self, x):
        return Grid(self._name, [self._cells[0] + x, self._cells[1]])


d2s.register_form(
    Grid, lambda grid: (grid._cells, grid._name), lambda cells, name: Grid(name, cells)
)


@kind("a class with `d2s.register_form`")
class _Grid:
    def make(x):
        return Grid("g", [x, 2])

    def read(value):
        return value.total()

    def change(value, x):
        return value.moved(x)


class Net(nnx.Module):
    """A module of Flax."""

    def __init__(self, w):
        self.w, self.n = nnx.Param(jnp.asarray(w)), 2


@kind("a module of Flax NNX")
class _Net:
    def make(x):
        return Net(x)

    def read(value):
        return value.w[...] + value.n

    def change(value, x):
        value.w[...] = value.w[...] + x
        return value


class Module(eqx.Module):
    """A module of Equinox."""

    w: Any
    n: int = eqx.field(static=True)


@kind("a module of Equinox")
class _Module:
    def make(x):
        return Module(jnp.asarray(x), 2)

    read = _read_w

    def change(value, x):
        return Module(value.w + x, value.n)


# --- values that hold no arrays ------------------------------------------------------------------


@kind("`set`")
class _Set:
    def make(x):
        return {1, 2}

    def read(value):
        return len(value) * 1.0

    def change(value, x):
        value.add(3)
        return value


@kind("`frozenset`")
class _Frozenset:
    def make(x):
        return frozenset((1, 2))

    def read(value):
        return len(value) * 1.0

    def change(value, x):
        return value | {2}


@kind("`bytearray`")
class _Bytes:
    def make(x):
        return bytearray(b"ab")

    def read(value):
        return value[0] * 1.0

    def change(value, x):
        value[0] = 7
        return value


@kind("`fractions.Fraction`")
class _Fraction:
    def make(x):
        return fractions.Fraction(1, 4)

    def read(value):
        return value.numerator * 1.0

    def change(value, x):
        return value + 1


class Flags(enum.Flag):
    """Flags."""

    A = 1
    B = 2


@kind("`enum.Flag`")
class _Flags:
    def make(x):
        return Flags.A | Flags.B

    def read(value):
        return 1.0 if Flags.A in value else 0.0

    def change(value, x):
        return value & Flags.A


@kind("`str`")
class _Text:
    def make(x):
        return "ab"

    def read(value):
        return len(value) * 1.0

    def change(value, x):
        return value[:1] + "c"


@kind("`range`")
class _Range:
    def make(x):
        return range(3)

    def read(value):
        return len(value) * 1.0

    def change(value, x):
        return value[:2]


@kind("a NumPy array")
class _NumpyArray:
    def make(x):
        return np.array([1.0, 2.0], np.float32)

    def read(value):
        return value.sum()

    def change(value, x):
        value[0] = 3.0
        return value


# --- functions -----------------------------------------------------------------------------------


@kind("a function, with a closure")
class _Function:
    def make(x):
        return lambda y: y + x

    def read(value):
        return value(1.0)

    def change(value, x):
        return lambda y: value(y) + x


@kind("a bound method")
class _Method:
    def make(x):
        return Point(x, 2).count

    def read(value):
        return value.__self__.a + 0.0

    def change(value, x):
        return Point(value.__self__.a + x, 2).count


@kind("`functools.partial`")
class _Partial:
    def make(x):
        return functools.partial(Point, x, 2)

    def read(value):
        return value().a + 0.0

    def change(value, x):
        return functools.partial(Point, value().a + x, 2)
