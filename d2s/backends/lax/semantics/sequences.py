"""What a `for` can loop over when positions are run-time values.

    for i, row in enumerate(x):    ->    Enumerate(ArrayRows(x), 0), with a length, the arrays [x],
                                         and item(position, [row]) = (position, row)

A staged loop asks a `Sequence` for its arrays once, hands one row of each to every trip, and makes
the item of the trip from the position and these rows.
"""

from __future__ import annotations

import sys
from collections.abc import ItemsView, Iterator, KeysView, ValuesView
from typing import Any

import jax
import jax.numpy as jnp
from jax.errors import InconclusiveDimensionOperation

from d2s.backends.lax.arrays.aliases import MadeOfRows
from d2s.backends.lax.forms.dtypes import is_symbolic, type_of
from d2s.backends.lax.forms.registered import STRUCTURES
from d2s.backends.lax.forms.trees import children, leaves, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.jaxprs.ranges.rolled import NotRolled
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.trace.provenance import needing
from d2s.backends.lax.trace.questions import guarded, is_asked_by_us
from d2s.errors import StagingError


class Sequence(MadeOfRows):
    """Items by their positions.

    ``length`` is a Python int, a run-time integer or a named dimension.
    """

    length: Any
    #: whether it can be looped over only once, as what `zip`, `enumerate` and `reversed` give
    once = False

    #: its class in plain Python; None where several are possible
    kind: type | None = None
    __repr__ = guarded(object.__repr__)

    def __init__(self) -> None:
        self._made_in, self._used = len(scopes.snapshots()), False

    def is_used_up(self) -> bool:
        """Whether it was looped over before; the next time that it is asked, it was."""
        if not self.once:
            return False
        if self._made_in != len(scopes.snapshots()):
            _refuse_iterator()
        used, self._used = self._used, True
        return used

    def item(self, position: Any, rows: list[Any]) -> Any:
        """The item at a position, given the rows of `arrays` there."""
        raise NotImplementedError  # pragma: no cover - every subclass has its own

    def at(self, position: Any) -> Any:
        rows = self.arrays()
        if is_traced(position):
            rows = [jax.lax.dynamic_index_in_dim(a, position, keepdims=False) for a in rows]
        else:
            rows = [a[position] for a in rows]
        return self.item(position, rows)

    def __iter__(self) -> Iterator[Any]:
        if is_traced(self.length):
            error = StagingError(
                "the number of items is a run-time value",
                code="D2S020",
                site=sites.where(),
                fix="a for statement over it, or a Python number",
            )
            raise scopes.refuse(needing(error, self.length))
        return iter([] if self.is_used_up() else self.items())

    def items(self) -> list[Any]:
        """Every item, for a Python loop."""
        return [self.at(n) for n in range(int(self.length))]

    def __len__(self) -> int:
        return int(self.length)


class Range(Sequence):
    """`range` with at least one run-time argument, or one that is to be staged."""

    kind = range

    def __init__(self, start: Any, stop: Any, step: Any) -> None:
        self.start, self.step = start, step
        if all(type(v) is int for v in (start, stop, step)):
            self.length = len(range(start, stop, step))
            return
        if any(map(is_symbolic, (start, stop, step))):
            self.length = _symbolic_length(start, stop, step)
            return
        up = type(step) is int and step > 0
        if up and step == 1:
            count = stop if type(start) is int and start == 0 else stop - start
        elif up:
            count = (stop - start + (step - 1)) // step
        else:
            distance = jnp.where(step > 0, stop - start, start - stop)
            count = (distance + abs(step) - 1) // jnp.maximum(abs(step), 1)
        self.length = jnp.maximum(count, 0)

    def __getitem__(self, key: Any) -> Any:
        raise _only_for_loops("an item of a range")

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, range | Range):
            return self is other
        raise _only_for_loops("a comparison of a range")

    def __hash__(self) -> int:
        raise _only_for_loops("the hash of a range")

    def _operate(self, other: Any) -> Any:
        raise _only_for_loops("an operator on a range")

    __add__ = __radd__ = __mul__ = __rmul__ = __sub__ = __rsub__ = _operate

    def __getattr__(self, name: str) -> Any:
        # d2s and JAX look for special methods, whose names tell that they are special, on any
        # value; the program may not, it would find those of a range.
        is_special = name.startswith("__")
        if hasattr(range, name) and not (is_special and is_asked_by_us(sys._getframe(1))):
            raise _only_for_loops(f"the attribute `{name}` of a range")
        raise AttributeError(f"'range' object has no attribute '{name}'")

    def item(self, position: Any, rows: list[Any]) -> Any:
        offset = position if type(self.step) is int and self.step == 1 else position * self.step
        return offset if type(self.start) is int and self.start == 0 else self.start + offset


def _only_for_loops(what: str) -> StagingError:
    return scopes.refuse(
        StagingError(
            f"{what} that ends at a run-time value",
            code="D2S020",
            site=sites.where(),
            fix="the number itself, start + i * step; `for`, `in` and `len` take such a range",
        )
    )


def _symbolic_length(start: Any, stop: Any, step: Any) -> Any:
    """How many steps a range over named dimensions has; a run-time integer if that may be none."""
    if is_symbolic(step):
        start, stop, step = map(jnp.asarray, (start, stop, step))
        return Range(start, stop, step).length
    distance = stop - start if step > 0 else start - stop
    count = (distance + (abs(step) - 1)) // abs(step)
    return count if at_least(count, 1) else jnp.maximum(jnp.asarray(count), 0)


def at_least(length: Any, least: int) -> bool:
    """Whether a length is at least this number, whatever the sizes of named dimensions are."""
    try:
        return bool(length >= least)
    except InconclusiveDimensionOperation:
        return False


class ArrayRows(Sequence):
    """The rows of an array."""

    def __init__(self, array: Any) -> None:
        if not array.ndim:
            iter(array)  # raises: an array has its own words for it, and so has a number
        self.array, self.length = array, array.shape[0]

    def arrays(self) -> list[Any]:
        return [self.array]

    def item(self, position: Any, rows: list[Any]) -> Any:
        return rows[0]


class Zip(Sequence):
    """`zip` of sequences: as long as the shortest, with the arrays of all in their order."""

    once, kind = True, zip

    def __init__(self, parts: list[Sequence]) -> None:
        super().__init__()
        self.parts = parts
        lengths = [p.length for p in parts]
        static = [n for n in lengths if not is_traced(n)]
        traced = [n for n in lengths if is_traced(n)]
        self.length = min(static, default=None)
        for n in traced:
            self.length = n if self.length is None else jnp.minimum(self.length, n)

    def arrays(self) -> list[Any]:
        return [array for part in self.parts for array in part.arrays()]

    def item(self, position: Any, rows: list[Any]) -> Any:
        items, used = [], 0
        for part in self.parts:
            count = len(part.arrays())
            items.append(part.item(position, rows[used : used + count]))
            used += count
        return tuple(items)


class Enumerate(Sequence):
    """`enumerate` of a sequence."""

    once, kind = True, enumerate

    def __init__(self, part: Sequence, start: Any) -> None:
        super().__init__()
        self.part, self.start, self.length = part, start, part.length

    def arrays(self) -> list[Any]:
        return self.part.arrays()

    def item(self, position: Any, rows: list[Any]) -> Any:
        started = type(self.start) is int and self.start == 0
        return (position if started else self.start + position), self.part.item(position, rows)


class Reversed(Sequence):
    """`reversed` of a sequence: the arrays are turned around, so that rows come in their order."""

    once = True

    def __init__(self, part: Sequence) -> None:
        super().__init__()
        self.part, self.length = part, part.length

    def arrays(self) -> list[Any]:
        length = self.length
        if is_traced(length):
            return [a[::-1] for a in self.part.arrays()]
        return [a[:length][::-1] for a in self.part.arrays()]

    def item(self, position: Any, rows: list[Any]) -> Any:
        return self.part.item(self.length - 1 - position, rows)


class Fresh:
    """An iterator that `enumerate`, `zip` or `reversed` has made of Python's own containers.

    To ask it for items runs no code of the user's. So a staged loop may ask for all of them, even
    if it is left at a run-time condition; how far it got is then not known, and `is_left` is set.
    """

    _CONTAINERS = (list, tuple, range, str, bytes, dict, set, frozenset, KeysView, ValuesView)

    __repr__ = guarded(object.__repr__)

    def __init__(self, iterator: Iterator[Any]) -> None:
        self._iterator = iterator
        self.kind = type(iterator)
        self.is_left = False

    @classmethod
    def of(cls, iterator: Iterator[Any], *sources: Any) -> Any:
        plain = all(isinstance(source, (*cls._CONTAINERS, ItemsView, Fresh)) for source in sources)
        return cls(iterator) if plain else iterator

    def __iter__(self) -> Fresh:
        return self

    def __next__(self) -> Any:
        if self.is_left:
            refuse_left_iterator()
        return next(self._iterator)


def refuse_left_iterator() -> None:
    raise StagingError(
        "a loop over an iterator ends by a run-time condition; how much of the iterator it "
        "uses up cannot be known",
        code="D2S025",
        site=sites.where(),
        fix="a loop over a list or a range",
    )


def refuse_outer_iterator(iterable: Any) -> None:
    """Refuse an iterator from outside of the region: to trace the region would use it up."""
    if isinstance(iterable, Iterator) and any(w.knows(iterable) for w in scopes.snapshots()):
        _refuse_iterator()


def _refuse_iterator() -> None:
    raise StagingError(
        "an iterator from outside would be used up while the graph is built",
        code="D2S025",
        site=sites.where(),
        fix="the items as a list or an array, or a new iterator where the loop is",
    )


class Stacked(Sequence):
    """A list of items with one structure: their arrays stacked, everything else the same in all.

    ``[(w1, "a"), (w2, "a")]`` becomes the stack of `w1` and `w2`, with "a" in each item.
    """

    def __init__(self, items: list[Any]) -> None:
        super().__init__()
        self.length, self._first = len(items), items[0]
        each = [leaves(item) for item in items]
        if any(not _same_structure(items[0], item) for item in items):
            raise NotRolled("the items have different structures")
        self._stacks: list[Any] = []
        self._is_row: list[bool] = []
        for parts in zip(*each, strict=True):
            alike = all(part is parts[0] for part in parts)
            self._is_row.append(not alike)
            if alike:
                continue
            if not all(isinstance(part, jax.Array) for part in parts):
                raise NotRolled("the items differ in what are no arrays")
            kinds = {type_of(part).bare for part in parts}
            if len(kinds) > 1 or any(kind.weak for kind in kinds):
                raise NotRolled("the items differ in shape or dtype")
            self._stacks.append(jnp.stack(parts))
        if not self._stacks:
            raise NotRolled("the items have no arrays")

    def arrays(self) -> list[Any]:
        return self._stacks

    def item(self, position: Any, rows: list[Any]) -> Any:
        flags, given = iter(self._is_row), iter(rows)
        return map_leaves(lambda leaf: next(given) if next(flags) else leaf, self._first)


def _same_structure(one: Any, other: Any) -> bool:
    if type(one) is not type(other):
        return isinstance(one, jax.Array) and isinstance(other, jax.Array)
    first, second = children(one), children(other)
    if first is None or second is None:
        return first is second
    names, others = [n for n, _ in first[0]], [n for n, _ in second[0]]
    return names == others and all(
        _same_structure(a, b) if not isinstance(a, STRUCTURES) else a == b
        for (_, a), (_, b) in zip(first[0], second[0], strict=True)
    )


def has_traced_items(items: Any) -> bool:
    """Whether a list or tuple of items has a run-time value in it; a range has none."""
    if isinstance(items, range):
        return False
    return any(is_traced(leaf) for item in items for leaf in leaves(item))


def as_sequence(value: Any, with_ranges: bool = False) -> Sequence | None:
    """A value as a sequence of run-time items, or None when Python iterates over it."""
    if isinstance(value, Sequence):
        return value
    if isinstance(value, jax.Array):
        return ArrayRows(value)
    if with_ranges and isinstance(value, range):
        return Range(value.start, value.stop, value.step)
    return None
