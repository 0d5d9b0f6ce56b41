"""Lists that a staged loop appends to: the values of all trips come out of it as one array.

    losses = []
    for row in x:                   ->    _, stacked = scan(body, ..., x)
        losses.append(f(row))             losses = [stacked[0], stacked[1], ...]
    return jnp.stack(losses)              return stacked

While the body is traced, a `Recorder` stands for the list. It takes what is appended and refuses to
be read, because what the list holds differs from trip to trip. After the loop the list has the rows
of the stacked values as its items. The equation for a row that nobody reads leaves the graph again,
and rows that are put together again are the array that they came from.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

import jax
import jax.numpy as jnp

from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import NUMBERS, cast, type_of
from d2s.backends.lax.forms.trees import Out, StackedRows, children, leaves, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.private import dropped_if_unused
from d2s.errors import StagingError


class Recorder(list[Any]):
    """Stands for a list in the body of a loop that appends to it."""

    def __init__(self, owner: list[Any], position: Any = None, per_trip: int = 0) -> None:
        super().__init__([_UNREADABLE])
        self.owner = owner
        self.added: list[Any] = []
        #: the last item of the list when the trip began, if the loop carries it; empty otherwise
        self.last: list[Any] = []
        self._position, self._per_trip = position, per_trip
        self._is_measured = False

    def called(self) -> str:
        """What the program calls this list, for errors; empty where that is not known."""
        return ""

    def is_only_appended_to(self) -> bool:
        """Whether nobody wrote into it past its methods, and it got as many items as every trip."""
        if self._is_measured and len(self.added) != self._per_trip:
            return False
        return list.__len__(self) == 1 and list.__getitem__(self, 0) is _UNREADABLE

    def length(self) -> Any:
        """How many items the list has at this line of this trip."""
        self._is_measured = True
        added = self.added.length() if isinstance(self.added, Recorder) else len(self.added)
        return self._position * self._per_trip + (len(self.owner) + added)

    def __getitem__(self, index: Any) -> Any:
        if type(index) is int and 0 <= index < len(self.owner):
            return self.owner[index]
        if type(index) is not int or index != -1 or isinstance(self.added, Recorder):
            _refuse(self)
        if self.added:
            return self.added[-1]
        if not self.last:
            raise NeedsLast(self.owner, _refusal())
        return self.last[0]

    def append(self, item: Any) -> None:
        self.added.append(item)

    def extend(self, items: Iterable[Any]) -> None:
        self.added.extend(items)

    def __iadd__(self, items: Iterable[Any]) -> Recorder:  # type: ignore[misc]
        self.added += items
        return self


class NeedsLast(StagingError):
    """A loop must carry the last item of a list that it appends to."""

    def __init__(self, owner: list[Any], refusal: StagingError) -> None:
        super().__init__(refusal.what, code=refusal.code, site=refusal.site, fix=refusal.fix)
        self.owner = owner


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise scopes.refuse(_refusal(self.called() if isinstance(self, Recorder) else ""))


def _refusal(name: str = "") -> StagingError:
    return StagingError(
        f"{f'the list {name}' if name else 'a list'}, which a staged loop appends to, is read or "
        "changed in another way in the loop; what it holds there depends on the trip",
        code="D2S076",
        site=sites.where(),
        fix="the value in a variable of its own; or an array of fixed size, written at an index",
    )


_ALLOWED = {
    *("append", "extend", "__iadd__", "__getitem__", "__init__", "__new__", "__class__"),
    *(
        "__getattribute__",
        "__setattr__",
        "__delattr__",
        "__dict__",
        "__doc__",
        "__module__",
        "__weakref__",
        "__dir__",
    ),
    *("__init_subclass__", "__subclasshook__", "__class_getitem__"),
}
for _name in (*dir(list), "__bool__", "__radd__"):
    if _name not in _ALLOWED and callable(getattr(list, _name, _refuse)):
        setattr(Recorder, _name, _refuse)


class _Unreadable:
    """The one item of a recorder, for code that looks into a list past its methods."""

    __lt__ = __gt__ = __le__ = __ge__ = __eq__ = _refuse
    __hash__ = None  # type: ignore[assignment]


_UNREADABLE = _Unreadable()


# -- rows -----------------------------------------------------------------------------------------

#: for a row, by its identity: a reference to it, the array that it is a row of, and its number
_rows: dict[int, tuple[weakref.ref[Any], Any, int]] = {}


def rows_of(stacked: Any, count: int) -> list[Any]:
    """The rows of an array, each remembered as such; rows that nobody reads leave the graph."""
    with dropped_if_unused():
        found = [jax.lax.index_in_dim(stacked, n, keepdims=False) for n in range(count)]
    for n, row in enumerate(found):
        if isinstance(row, jax.core.Tracer):
            key = id(row)
            gone = weakref.ref(row, lambda _, key=key: _rows.pop(key, None))  # type: ignore[misc]
            _rows[key] = gone, stacked, n
    return found


def is_row(value: Any) -> bool:
    """Whether an array is an item of such a list: in plain Python it is no view of an array."""
    row = _rows.get(id(value))
    return row is not None and row[0]() is value


def items_of(rows: StackedRows, put: Callable[[Any], Any], make: Callable[..., Any]) -> list[Any]:
    """The items of a list that a `StackedRows` stands for.

    `put` gives the stacked array for a leaf, and `make` builds an item from its taken-apart form.
    """
    columns: dict[int, list[Any]] = {}
    for leaf in leaves(rows.item):
        array = put(leaf)
        if array is not leaf or isinstance(leaf, jax.core.Tracer):
            kind = leaf.type.kind if isinstance(leaf, Out) else origins.kind_of(leaf)
            columns[id(leaf)] = rows_of(array, rows.count)
            for row in columns[id(leaf)]:
                origins.made(row, kind)

    def at(number: int) -> Callable[[Any], Any]:
        return lambda leaf: columns[id(leaf)][number] if id(leaf) in columns else leaf

    return [make(rows.item, at(n), {}) for n in range(rows.count)]


def columns_of(items: list[Any]) -> Any:
    """The inverse of `items_of`: one item whose leaves are arrays with the items as their rows.

    None if the items are not all the rows of the same arrays, in their order.
    """
    if not items:
        return None
    first = leaves(items[0])
    if not any(id(leaf) in _rows for leaf in first):
        return None
    arrays = [_rows[id(leaf)][1] if id(leaf) in _rows else None for leaf in first]
    for n, item in enumerate(items):
        now = leaves(item)
        if len(now) != len(first) or not _alike(items[0], item):
            return None
        for leaf, array, same in zip(now, arrays, first, strict=True):
            if array is None and leaf is not same:
                return None
            if array is not None and not _is_row(leaf, array, n, len(items)):
                return None
    inside = iter(zip(arrays, first, strict=True))

    def column(_: Any) -> Any:
        array, leaf = next(inside)
        return leaf if array is None else array

    return map_leaves(column, items[0])


def _is_row(leaf: Any, array: Any, number: int, count: int) -> bool:
    if not is_row(leaf):
        return False
    row = _rows[id(leaf)]
    return row[1] is array and row[2] == number and array.shape[0] == count


def _alike(one: Any, other: Any) -> bool:
    """Whether two values have the same structure of containers."""
    first, second = children(one), children(other)
    if first is None or second is None:
        return first is None and second is None
    names = [name for name, _ in first[0]] == [name for name, _ in second[0]]
    parts = zip(first[0], second[0], strict=True) if names else ()
    return type(one) is type(other) and names and all(_alike(a, b) for (_, a), (_, b) in parts)


# -- rows put together again ----------------------------------------------------------------------


def together(function: Any) -> Any:
    """A function, or what does the same as `jnp.stack` and the like without taking rows apart."""
    put = _TOGETHER.get(id(function))
    return function if put is None else functools.partial(put, function)


def _stack(function: Any, arrays: Any, axis: int = 0, **kwargs: Any) -> Any:
    whole = _gathered(arrays, nested=False) if type(arrays) in (list, tuple) else None
    if whole is None or kwargs:
        return function(arrays, axis, **kwargs)
    return jnp.moveaxis(whole, 0, axis) if axis else whole


def _array(function: Any, object: Any, *args: Any, **kwargs: Any) -> Any:
    whole = _gathered(object, nested=True) if type(object) in (list, tuple) else None
    found = function(object if whole is None else whole, *args, **kwargs)
    # JAX may give back the very number that it was given, and `jnp.array(n)` is an array.
    return origins.as_kind(found, origins.ARRAY)


def _concatenate(function: Any, arrays: Any, axis: Any = 0, **kwargs: Any) -> Any:
    whole = _gathered(arrays, nested=False) if type(arrays) in (list, tuple) else None
    if whole is None or kwargs or whole.ndim < 2 or type(axis) is not int:
        return function(arrays, axis, **kwargs)
    if not -whole.ndim < axis < whole.ndim - 1:
        return function(arrays, axis, **kwargs)
    axis %= whole.ndim - 1
    shape = list(whole.shape[1:])
    shape[axis] *= whole.shape[0]
    return jnp.moveaxis(whole, 0, axis).reshape(shape)


#: by the identity of the function, since what is called may have no hash
_TOGETHER: dict[int, Callable[..., Any]] = {
    id(jnp.stack): _stack,
    id(jnp.array): _array,
    id(jnp.asarray): _array,
    id(jnp.concatenate): _concatenate,
}


def _gathered(items: Any, nested: bool) -> Any:
    """Arrays of one shape as the rows of one array, if some neighbours are rows of one already.

    The items are split into runs: ``[array, start, stop]`` for rows of one array that follow each
    other, ``[item]`` for anything else. None if no run is longer than one item.
    """
    if nested:
        inner = [_gathered(i, True) if type(i) in (list, tuple) else i for i in items]
        items = [old if new is None else new for old, new in zip(items, inner, strict=True)]
    runs: list[list[Any]] = []
    for item in items:
        row = _rows.get(id(item))
        if row is None or row[0]() is not item:
            runs.append([item])
        elif runs and len(runs[-1]) == 3 and runs[-1][0] is row[1] and runs[-1][2] == row[2]:
            runs[-1][2] += 1
        else:
            runs.append([row[1], row[2], row[2] + 1])
    shapes = {getattr(item, "shape", () if type(item) in NUMBERS else None) for item in items}
    if len(runs) == len(items) or len(shapes) != 1 or None in shapes:
        return None
    parts = [_as_rows(*run) for run in runs]
    whole = parts[0] if len(parts) == 1 else jnp.concatenate(parts)
    return cast(whole, type_of(whole)._replace(weak=False)) if type_of(whole).weak else whole


def _as_rows(array: Any, start: int = 0, stop: int = -1) -> Any:
    """A run of items as an array of rows."""
    if stop < 0:
        return jnp.asarray(array)[None]
    return array if stop - start == array.shape[0] else jax.lax.slice_in_dim(array, start, stop)
