"""Python values with run-time leaves: containers, and the names of their parts.

    state = (x, {"n": 0})    has the leaves `x` and 0, with the names `[0]` and `[1]['n']`

`children` takes a container apart, `map_leaves` makes it again with other leaves. `join` has what
becomes of two values that meet behind a branch.
"""

from __future__ import annotations

import dataclasses
import enum
import gc
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.dtypes import NUMBERS, Type, type_of
from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.forms.kinds.table import CONTAINERS
from d2s.backends.lax.forms.parts import (
    ATTRIBUTES_ONLY,
    container_form,
    entry_name,
    is_sequence,
    is_users_class,
    made,
    taken_apart,
)
from d2s.backends.lax.forms.registered import STRUCTURES, Layout, is_registered, opened
from d2s.runtime.values import Maybe, Unbound

Make = Callable[[list[Any]], Any]


class Leaf:
    """Stands for a run-time value in a value whose graph is not built yet."""


@dataclasses.dataclass(frozen=True, eq=False)
class Out(Leaf):
    """A leaf of a region's result: an output of its graph."""

    index: Any
    type: Type
    #: the run-time value from outside the region that it is, unchanged; or None
    same_as: Any = None


class Filler(Leaf):
    """A leaf that nobody reads: it joins with anything, and is filled with zeros."""


FILLER = Filler()


class Box:
    """A list, dict or object that a region hands out, taken apart; `boxes` makes it again.

    Boxes with one `identity` are one object. `origin` is the object from before a loop of which
    this is the copy.
    """

    __slots__ = ("extra", "identity", "keys", "kind", "origin", "parts")

    def __init__(
        self,
        identity: Any,
        kind: type,
        keys: list[Any],
        parts: list[Any],
        extra: Any = None,
        origin: Any = None,
    ) -> None:
        self.identity, self.kind, self.keys, self.parts = identity, kind, keys, parts
        self.extra, self.origin = extra, origin

    def with_parts(self, parts: list[Any]) -> Box:
        return Box(self.identity, self.kind, self.keys, parts, self.extra, self.origin)

    def names(self) -> list[str]:
        return [entry_name(self.kind, key) for key in self.keys]


class StackedRows:
    """A list of the rows of arrays, taken apart: one item with arrays as leaves, and the count."""

    def __init__(self, item: Any, count: int) -> None:
        self.item, self.count = item, count


class Known(Leaf):
    """A list, dict or object from before the region; `expand` gives what it holds now, as a box."""

    def __init__(self, origin: Any, expand: Callable[[], Box] | None) -> None:
        self.origin, self.expand = origin, expand


_LEAF_KINDS = frozenset({*NUMBERS, str, bytes, type(None)})
_LEAF_BASES = (Leaf, Unbound, jax.core.Tracer, jax.Array, *STRUCTURES)


class InParts:
    """Something of d2s's that is made of its parts, and of nothing else."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts


class ProxyTree(InParts):
    """A read-only view of a dict that is taken apart."""

    __slots__ = ()


class RegisteredTree(InParts):
    """An object of a registered class that is taken apart: its layout, and its parts."""

    __slots__ = ()


def _proxy(parts: list[Any]) -> Any:
    is_tree = isinstance(parts[0], Leaf | Box)
    return ProxyTree((parts[0],)) if is_tree else types.MappingProxyType(parts[0])


def _registered(layout: Layout, parts: list[Any]) -> Any:
    """The object; as long as something stands for one of its parts, the parts by themselves."""
    if any(isinstance(leaf, Leaf | Box) for part in parts for leaf in _with_boxes(part)):
        return RegisteredTree((layout, *parts))
    return layout.made(parts)


def _with_boxes(value: Any) -> list[Any]:
    return [*boxes_in(value), *leaves(value)]


def children(value: Any) -> tuple[list[tuple[str, Any]], Make] | None:
    """Parts of a container with their names, and how to make it again; None for a leaf."""
    kind = type(value)
    if kind in _LEAF_KINDS or isinstance(value, _LEAF_BASES):
        return None
    if kind is tuple or kind is list:
        return [(f"[{n}]", v) for n, v in enumerate(value)], kind
    if kind is StackedRows:
        return [("", value.item)], lambda parts: StackedRows(parts[0], value.count)
    if kind is Box:
        return list(zip(value.names(), value.parts, strict=True)), value.with_parts
    if kind is dict:
        keys = list(value)
        pairs = [(f"[{k!r}]", value[k]) for k in keys]
        return pairs, lambda parts: kind(zip(keys, parts, strict=True))
    if kind in CONTAINERS:
        return _container_children(value)
    if kind is types.MappingProxyType:
        return [("", behind_proxy(value))], _proxy
    if kind is ProxyTree:
        return [("", value.parts[0])], _proxy
    if is_registered(kind):
        parts, layout = opened(value)
        pairs = [("", layout), *zip(layout.names, parts, strict=True)]
        return pairs, lambda parts: _registered(parts[0], parts[1:])
    if kind is RegisteredTree:
        layout, *parts = value.parts
        pairs = [("", layout), *zip(layout.names, parts, strict=True)]
        return pairs, lambda parts: _registered(parts[0], parts[1:])
    if isinstance(value, InParts):
        return [(".parts", value.parts)], lambda p: kind(p[0])
    if isinstance(value, Maybe):
        name = value.name
        return [("", value.bound), ("", value.value)], lambda p: Maybe(p[0], p[1], name)
    if isinstance(value, _ATOMS):
        return None
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        if own_dict(value):
            return None  # it has attributes besides, so it is an object and no value
        pairs = [(f".{n}", v) for n, v in zip(kind._fields, value, strict=True)]
        return pairs, lambda parts: kind(*parts)
    leaves, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda v: v is not value)
    if not (len(leaves) == 1 and leaves[0] is value):
        # The tree definition has what the class keeps beside its leaves: it counts as a part.
        pairs = [("", treedef), *((f"<{n}>", v) for n, v in enumerate(leaves))]
        return pairs, lambda parts: jax.tree_util.tree_unflatten(treedef, parts[1:])
    if dataclasses.is_dataclass(value):
        return _dataclass_children(value)
    if isinstance(value, tuple):
        return _tuple_children(value)
    return _container_children(value)


def behind_proxy(value: Any) -> Any:
    """The dict or mapping that a read-only view shows."""
    return gc.get_referents(value)[0]


def _container_children(value: Any) -> tuple[list[tuple[str, Any]], Make] | None:
    """The parts of a deque, a set, or of a class that was made from a builtin one."""
    kind: Any = type(value)
    held = taken_apart(value) if container_form(kind) or kind in ATTRIBUTES_ONLY else None
    if held is None or not held.parts:
        return None
    names = [entry_name(kind, key) for key in held.keys]
    return list(zip(names, held.parts, strict=True)), lambda p: made(kind, held.keys, p, held.extra)


def _tuple_children(value: Any) -> tuple[list[tuple[str, Any]], Make] | None:
    """The items of a tuple of the user's that has no attributes."""
    kind: Any = type(value)
    if not is_users_class(kind) or own_dict(value) is not None or slot_names(kind):
        return None  # it can be changed, so it is an object and no value
    pairs = [(f"[{n}]", item) for n, item in enumerate(tuple.__iter__(value))]
    return pairs, lambda parts: tuple.__new__(kind, parts)


_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_ATOMS = (
    *(Iterator, str, bytes, type, types.FunctionType, enum.Enum, np.ndarray, np.generic),
    *_VIEWS,
)


def _dataclass_children(value: Any) -> tuple[list[tuple[str, Any]], Make] | None:
    """The fields of a dataclass and its other attributes; it is made again without `__init__`."""
    names = [field.name for field in dataclasses.fields(value) if hasattr(value, field.name)]
    names += [name for name in getattr(value, "__dict__", ()) if name not in names]

    def make(parts: list[Any]) -> Any:
        made = object.__new__(type(value))
        for name, part in zip(names, parts, strict=True):
            object.__setattr__(made, name, part)
        return made

    return [(f".{name}", getattr(value, name)) for name in names], make


def map_leaves(change: Callable[[Any], Any], value: Any) -> Any:
    """The value with its leaves changed; containers without a change stay the same object."""
    parts = children(value)
    if parts is None:
        return change(value)
    pairs, make = parts
    new = [map_leaves(change, part) for _, part in pairs]
    if all(a is b for a, (_, b) in zip(new, pairs, strict=True)):
        return value
    return make(new)


def leaves(value: Any) -> list[Any]:
    """The leaves of a value, in the order of its parts."""
    found: list[Any] = []

    def keep(leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    map_leaves(keep, value)
    return found


def boxes_in(value: Any) -> Iterator[Box]:
    """The boxes in a value, however deep."""
    parts = children(value)
    if isinstance(value, Box):
        yield value
    for _, part in parts[0] if parts is not None else ():
        yield from boxes_in(part)


def describe(value: Any) -> str:
    """A value as an error message shows it: run-time values by type, others as they are."""
    if isinstance(value, Leaf) and hasattr(value, "type"):
        return str(value.type)
    if isinstance(value, Unbound):
        return "no value"
    if isinstance(value, Known):
        value = value.origin
    if isinstance(value, jax.Array | np.ndarray):
        return str(type_of(value))
    parts = children(value)
    if parts is None:
        text = repr(value)
        return text if len(text) <= 60 else text[:57] + "..."
    inner = ", ".join(describe(part) for _, part in parts[0])
    if isinstance(value, Box):
        if value.kind is set:
            return f"{{{', '.join(map(repr, value.extra))}}}" if value.extra else "set()"
        shown = zip(value.keys, value.parts, strict=True)
        if not is_sequence(value.kind):
            inner = ", ".join(f"{key}={describe(part)}" for key, part in shown)
        return f"{value.kind.__name__}({inner})"
    return f"{type(value).__name__}({inner})"
