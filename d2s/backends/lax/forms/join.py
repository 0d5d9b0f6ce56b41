"""The join of two values: the least that holds both sides of a branch, or both ends of a trip.

    one side of a branch      (Out 0: f32[3], {"n": 0})
    the other side            (Out 0: f32[3], {"n": Out 1: i32[]})
    joined                    (Joined 0, {"n": Joined 1})

`Join` goes through two values in step: what is the same on both sides stays as it is, run-time
values and numbers that differ become `Joined` leaves, and anything else that differs is a
`Difference`, with the path to it in the user's words.
"""

from __future__ import annotations

import dataclasses
import types
from typing import Any

from d2s.backends.lax.forms.dtypes import NUMBERS, Mismatch, Type, is_dynamic, join, type_of
from d2s.backends.lax.forms.exact import are_same_values
from d2s.backends.lax.forms.registered import STRUCTURES
from d2s.backends.lax.forms.trees import (
    FILLER,
    Box,
    Filler,
    Known,
    Leaf,
    Out,
    ProxyTree,
    boxes_in,
    children,
    leaves,
    map_leaves,
)
from d2s.runtime.values import Maybe, Unbound


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
        if isinstance(one, _VIEWS) or isinstance(other, _VIEWS):
            raise Difference(path, _STATIC, one, other)  # of which dict, nobody could tell
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


#: read-only views of dicts
_VIEWS = (types.MappingProxyType, ProxyTree)


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
    if type(one) is type(other) and isinstance(one, STRUCTURES):
        return bool(one == other)
    if are_same_values(one, other):
        return True
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
