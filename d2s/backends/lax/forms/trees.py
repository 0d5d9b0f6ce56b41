"""Python values with run-time leaves: containers, their join, and the names of their parts.

    state = (x, {"n": 0})    one side of a branch      (Out 0: f32[3], {"n": 0})
                             the other side            (Out 0: f32[3], {"n": Out 1: i32[]})
                             joined                    (Joined 0, {"n": Joined 1})

`children` takes a container apart, `map_leaves` makes it again with other leaves. `Join` goes
through two values in step: what is the same on both sides stays as it is, run-time values and
numbers that differ become `Joined` leaves, and anything else that differs is a `Difference`, with
the path to it in the user's words.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.dtypes import NUMBERS, Mismatch, Type, is_dynamic, join, type_of
from d2s.backends.lax.forms.parts import entry_name, is_sequence
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
_LEAF_BASES = (Leaf, Unbound, jax.core.Tracer, jax.Array, jax.tree_util.PyTreeDef)


class InParts:
    """Something of d2s's that is made of its parts, and of nothing else."""

    __slots__ = ("__weakref__", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts


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
    if kind is dict or kind is OrderedDict:
        keys = list(value)
        pairs = [(f"[{k!r}]", value[k]) for k in keys]
        return pairs, lambda parts: kind(zip(keys, parts, strict=True))
    if kind is defaultdict:
        keys, factory = list(value), value.default_factory
        pairs = [("", factory), *((f"[{k!r}]", value[k]) for k in keys)]
        return pairs, lambda p: defaultdict(factory, zip(keys, p[1:], strict=True))
    if isinstance(value, InParts):
        return [(".parts", value.parts)], lambda p: kind(p[0])
    if isinstance(value, Maybe):
        name = value.name
        return [("", value.bound), ("", value.value)], lambda p: Maybe(p[0], p[1], name)
    if isinstance(value, _ATOMS):
        return None
    if isinstance(value, tuple) and hasattr(kind, "_fields"):
        pairs = [(f".{n}", v) for n, v in zip(kind._fields, value, strict=True)]
        return pairs, lambda parts: kind(*parts)
    leaves, treedef = jax.tree_util.tree_flatten(value, is_leaf=lambda v: v is not value)
    if not (len(leaves) == 1 and leaves[0] is value):
        # The tree definition has what the class keeps beside its leaves: it counts as a part.
        pairs = [("", treedef), *((f"<{n}>", v) for n, v in enumerate(leaves))]
        return pairs, lambda parts: jax.tree_util.tree_unflatten(treedef, parts[1:])
    if dataclasses.is_dataclass(value):
        return _dataclass_children(value)
    return None


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


@dataclasses.dataclass(frozen=True, eq=False)
class Joined(Leaf):
    """A leaf of a joined value that is a run-time value, and what it is on either side."""

    index: int
    type: Type
    sides: tuple[Any, Any]


class Difference(Exception):
    """Where and why two values cannot be joined."""

    def __init__(self, path: str, mismatch: Mismatch, one: Any, other: Any) -> None:
        super().__init__(path)
        self.path, self.mismatch, self.one, self.other = path, mismatch, one, other


_STRUCTURES = Mismatch(
    "D2S010",
    "the structures differ",
    "the same kind of container with the same entries in the same order on both sides",
)


ORDER = Mismatch(
    "D2S010",
    "the entries are the same, but in another order",
    "the same order of the entries on both sides",
)
_ENDLESS = Mismatch(
    "D2S010",
    "a list, dict or object contains itself",
    "containers that do not contain themselves",
)


class Join:
    """Joins two values leaf by leaf; collects the leaves that become run-time values.

    A list, dict or object is joined to a new one. That is no difference to anybody if a side has
    made the original and nobody else holds it. Other originals may be seen under other names:
    `replaced` has those originals, and `aliased` the identities of the boxes that replace them.
    """

    def __init__(self, alone: frozenset[int] = frozenset(), passes: bool = False) -> None:
        self.dynamic: list[Joined] = []
        #: whether the first side is the state before a loop that surely makes a trip
        self.passes = passes
        self.replaced: list[Any] = []
        self.aliased: set[Any] = set()
        #: identities of originals that nobody holds but the variable whose value is joined
        self.alone = alone
        self._made: dict[tuple[Any, Any], Box | None] = {}
        #: for each side, the identity of what each of its boxes was joined to
        self._results: tuple[dict[Any, Any], dict[Any, Any]] = ({}, {})
        self._kept: dict[int, Any] = {}

    def join(self, one: Any, other: Any, path: str = "") -> Any:
        """The value that holds both sides; raises a `Difference`, which has the path to it.

        The order of the questions matters: a side that nobody reads takes whatever the other side
        has, a name that may be unbound is asked for before the value that it may have, and objects
        with an identity before containers that are values.
        """
        if one is other and not isinstance(one, Out):
            return one
        if isinstance(one, Filler):
            return self._filled(other, first=True, path=path)
        if isinstance(other, Filler):
            return self._filled(one, first=False, path=path)
        if isinstance(one, Unbound | Maybe) or isinstance(other, Unbound | Maybe):
            return self._join_doubtful(one, other, path)
        if isinstance(one, Known | Box) and isinstance(other, Known | Box):
            return self._join_boxes(one, other, path)
        first, second = children(one), children(other)
        if first is not None and second is not None:
            return self._join_parts(one, other, first, second, path)
        if _is_leaf(one) and _is_leaf(other):
            return self._join_leaves(one, other, path)
        if first is None and second is None and _same_static(one, other):
            return one
        if (first is None) is not (second is None) and one is not None and other is not None:
            raise Difference(path, _STRUCTURES, one, other)
        raise Difference(path, _static_mismatch(one, other), one, other)

    def _join_parts(self, one: Any, other: Any, first: Any, second: Any, path: str) -> Any:
        names, others = [n for n, _ in first[0]], [n for n, _ in second[0]]
        if type(one) is not type(other) or names != others:
            raise Difference(path, _STRUCTURES, one, other)
        parts = [
            self.join(a, b, path + name)
            for (name, a), (_, b) in zip(first[0], second[0], strict=True)
        ]
        return first[1](parts)

    def _join_boxes(self, one: Any, other: Any, path: str) -> Any:
        """Join two objects part by part; an object that both sides have stays itself.

        Two boxes that were joined before give the same result again, so that one object of a side
        with several names stays one object.
        """
        if isinstance(one, Known) and isinstance(other, Known) and one.origin is other.origin:
            for side in (0, 1):
                self._keep(one, side)
            return Known(one.origin, None)  # the slots of the object are joined one by one
        first, second = _expanded(one, path), _expanded(other, path)
        if first.kind is not second.kind or not _same_extra(first, second):
            raise Difference(path, _STRUCTURES, first, second)
        if not _same_keys(first.keys, second.keys):
            same = _same_keys(*(sorted(box.keys, key=repr) for box in (first, second)))
            raise Difference(path, ORDER if same else _STRUCTURES, first, second)
        pair = first.identity, second.identity
        if pair in self._made:
            made = self._made[pair]
            if made is None:
                raise Difference(path, _ENDLESS, FILLER, FILLER)
            return made
        self._made[pair] = None
        parts = [
            self.join(a, b, path + name)
            for name, a, b in zip(first.names(), first.parts, second.parts, strict=True)
        ]
        made = Box(object(), first.kind, first.keys, parts, first.extra)
        self._made[pair] = made
        for results, identity in zip(self._results, pair, strict=True):
            self._note(results, identity, made.identity)
        for side in (one, other):
            if isinstance(side, Known) and id(side.origin) not in self.alone:
                self.aliased.add(made.identity)
                self.replaced.append(side.origin)
        return made

    def _keep(self, known: Known, side: int) -> None:
        """Note that an object stays itself here: it must not be joined to another one elsewhere."""
        self._kept[id(known.origin)] = known.origin
        self._note(self._results[side], id(known.origin), id(known.origin))

    def _note(self, results: dict[Any, Any], identity: Any, made: Any) -> None:
        """Note what an object of a side is joined to; if it becomes two, nobody may change them."""
        if results.setdefault(identity, made) != made:
            self.aliased |= {made, results[identity]}
            if identity in self._kept:
                self.replaced.append(self._kept[identity])

    def _join_doubtful(self, one: Any, other: Any, path: str) -> Any:
        """Join values of which one may be missing: whether it is there becomes a value of its own.

        A value without a name, such as the result of a statement, is never asked for if missing.
        """
        named = [v for v in (one, other) if isinstance(v, Unbound | Maybe)]
        name = named[0].name
        if isinstance(one, Unbound) and isinstance(other, Unbound):
            return one
        if not name:
            one = FILLER if isinstance(one, Unbound) else one
            other = FILLER if isinstance(other, Unbound) else other
            return self.join(one, other, path)
        (b1, v1), (b2, v2) = _split(one), _split(other)
        return Maybe(self.join(b1, b2, path), self.join(v1, v2, path), name)

    def _filled(self, value: Any, first: bool, path: str) -> Any:
        """Join a value with a side that nobody reads; `first` says that this is the first side."""

        def fill(leaf: Any) -> Any:
            if isinstance(leaf, Out) or (is_dynamic(leaf) and _is_leaf(leaf)):
                sides = (FILLER, leaf) if first else (leaf, FILLER)
                return self._add(_type(leaf), sides)
            return leaf

        for box in boxes_in(value):
            self._note(self._results[first], box.identity, box.identity)
        for leaf in leaves(value):
            if isinstance(leaf, Known):
                self._keep(leaf, int(first))
        # A Python number stays what it is, since nobody reads the other side.
        return map_leaves(lambda v: v if type(v) in NUMBERS else fill(v), value)

    def _join_leaves(self, one: Any, other: Any, path: str) -> Any:
        """Join two numbers or arrays; what is the same on both sides does not enter the graph."""
        if isinstance(one, Out) and isinstance(other, Out):
            if one.same_as is not None and one.same_as is other.same_as:
                return one.same_as
        elif isinstance(one, Out) and one.same_as is other:
            return other
        elif (isinstance(other, Out) and other.same_as is one) or _same_number(one, other):
            return one
        try:
            joined = join(_type(one), _type(other), (_exact(one), _exact(other)), self.passes)
        except Mismatch as mismatch:
            raise Difference(path, mismatch, one, other) from None
        return self._add(joined, (one, other))

    def _add(self, kind: Type, sides: tuple[Any, Any]) -> Joined:
        leaf = Joined(len(self.dynamic), kind, sides)
        self.dynamic.append(leaf)
        return leaf


def boxes_in(value: Any) -> Iterator[Box]:
    """The boxes in a value, however deep."""
    parts = children(value)
    if isinstance(value, Box):
        yield value
    for _, part in parts[0] if parts is not None else ():
        yield from boxes_in(part)


def _expanded(side: Any, path: str) -> Box:
    """A side as a box; an object that cannot be taken apart is refused."""
    if isinstance(side, Box):
        return side
    if side.expand is None:
        raise Difference(path, _STATIC, side.origin, side.origin)
    return side.expand()  # type: ignore[no-any-return]


def _same_extra(one: Box, other: Box) -> bool:
    return _same_static(one.extra, other.extra) or _same_number(one.extra, other.extra)


def _same_keys(one: list[Any], other: list[Any]) -> bool:
    return len(one) == len(other) and all(
        a is b or (type(a) is type(b) and a == b) for a, b in zip(one, other, strict=True)
    )


def _split(value: Any) -> tuple[Any, Any]:
    """Whether a value is there, and the value."""
    if isinstance(value, Unbound):
        return False, FILLER
    if isinstance(value, Maybe):
        return value.bound, value.value
    return True, value


def _is_leaf(value: Any) -> bool:
    return isinstance(value, Out) or is_dynamic(value)


def _type(leaf: Any) -> Type:
    return leaf.type if isinstance(leaf, Out) else type_of(leaf)


def _exact(leaf: Any) -> object:
    return leaf if type(leaf) in NUMBERS else None


def _same_number(one: Any, other: Any) -> bool:
    """Equal Python numbers of one type; 0.0 and -0.0 are different, nan is itself."""
    if type(one) is not type(other) or type(one) not in NUMBERS:
        return False
    return (one == other and repr(one) == repr(other)) or (one != one and other != other)


def _same_static(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if type(one) is type(other) is tuple:
        pairs = zip(one, other, strict=False)
        same = len(one) == len(other)
        return same and all(_same_static(a, b) or _same_number(a, b) for a, b in pairs)
    plain = (str, bytes, type(None), enum.Enum, range, slice, frozenset, jax.tree_util.PyTreeDef)
    if type(one) is type(other) and isinstance(one, plain):
        return bool(one == other)
    if isinstance(one, types.MethodType) and isinstance(other, types.MethodType):
        return one.__self__ is other.__self__ and one.__func__ is other.__func__
    return False


def _static_mismatch(one: Any, other: Any) -> Mismatch:
    if one is None or other is None:
        return Mismatch(
            "D2S013",
            "one side is None",
            "a value of the same type on both sides, and a flag of your own if you need to know",
        )
    return _STATIC


_STATIC = Mismatch(
    "D2S013",
    "Python values (texts, functions, objects) cannot depend on a run-time condition",
    "numbers or arrays instead, for example an index into a table",
)


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
