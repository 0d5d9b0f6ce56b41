"""Items of arrays and lists at run-time positions: reads, and writes by NumPy's rules."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.may_alias import kin, link_view, link_ways
from d2s.backends.lax.control import branches
from d2s.backends.lax.failures.after_failure import select
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import NUMBERS, Mismatch, cast, is_dynamic, is_symbolic, type_of
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import changes
from d2s.backends.lax.regions.regions import is_traced
from d2s.errors import SliceLength, StagingError
from d2s.runtime.items import Item
from d2s.runtime.values import Window

_ARRAYS = (np.ndarray, jax.core.Tracer, jax.Array)

#: elements of an array on whose shape and dtype NumPy is asked what it would say
ASKED = 1 << 20


@dataclass
class _Masked:
    """The elements that a run-time mask selects, of an array."""

    array: Any
    mask: Any


@dataclass
class _Whole:
    """Values for all elements of an array, of which a mask selects."""

    array: Any


class Items:
    """A list, tuple or array whose index may be a run-time value."""

    def __init__(self, container: Any) -> None:
        self.container = container

    def __getitem__(self, key: Any) -> Any:
        container = self.container
        if isinstance(container, list | tuple):
            if is_traced(key):
                return _chosen(container, key)
            return container[_no_window(key)]
        if isinstance(container, np.ndarray):
            if not has_traced(key):
                return container[key]
            if not is_dynamic(container):
                raise needs_position(f"an item of a NumPy array of {container.dtype}")
            found = _item(jnp.asarray(container), key)
            if not is_copy(container, key):
                link_view(found, container)
            aliases.numpy_made()
            return found
        return _item(container, key)


def needs_position(what: str) -> StagingError:
    return StagingError(
        f"{what} at run-time positions",
        code="D2S020",
        site=sites.where(),
        fix="Python numbers as positions, or an array of numbers (jnp.arange, jnp.meshgrid)",
    )


def _item(array: Any, key: Any) -> Any:
    array, key = _behind_windows(array, key)
    return array[_arrays_for_lists(key)]


def items(container: Any) -> Any:
    own = (list.__getitem__, tuple.__getitem__)
    if isinstance(container, list | tuple):
        return Items(container) if type(container).__getitem__ in own else container
    if isinstance(container, np.ndarray | jax.core.Tracer | jax.Array):
        return Items(container)
    return container


def window(lower: Any, upper: Any, size: Any) -> Any:
    if is_traced(lower) and type(size) is int:
        return Window(lower, size)
    return slice(lower, upper)


def has_traced(key: Any) -> bool:
    if isinstance(key, tuple | list):
        return any(map(has_traced, key))
    if isinstance(key, slice):
        return has_traced((key.start, key.stop, key.step))
    return isinstance(key, Window) or is_traced(key)


def _no_window(key: Any) -> Any:
    if isinstance(key, Window):
        raise StagingError(
            "a part of a list at a run-time position",
            code="D2S020",
            site=sites.where(),
            fix="an array (`jnp.array(...)`) instead of the list",
        )
    return key


def _arrays_for_lists(key: Any) -> Any:
    """NumPy takes a list for an array of positions."""
    if isinstance(key, list):
        whole = np.asarray(key) if not has_traced(key) else jnp.stack([jnp.asarray(k) for k in key])
        return whole.astype(int) if not whole.size else whole
    return tuple(map(_arrays_for_lists, key)) if isinstance(key, tuple) else key


# -- lists ----------------------------------------------------------------------------------------


def _position(container: Any, index: Any, what: str) -> Any:
    """A run-time index as a position from the start; outside, the program fails as in Python."""
    count = len(container)
    message = f"{'list' if isinstance(container, list) else 'tuple'} {what} out of range"
    if not count:
        raise IndexError(message)
    index = index.astype(jnp.int32) if index.dtype == jnp.bool_ else index
    at = jnp.where(index < 0, index + count, index)

    def fail() -> None:
        raise IndexError(message)

    branches.cond(jnp.logical_and(at >= 0, at < count), _nothing, fail, ())
    return at


def _nothing() -> None:
    return None


def _chosen(container: Any, index: Any) -> Any:
    if index.shape or jnp.issubdtype(index.dtype, jnp.inexact):
        return container[index]  # Python says what is wrong
    at = _position(container, index, "index")
    try:
        kinds = [type_of(item) for item in container if is_dynamic(item)]
    except Mismatch:
        kinds = []
    if len({kind.bare for kind in kinds}) == 1 and all(map(is_dynamic, container)):
        found = cast(jnp.stack([jnp.asarray(item) for item in container])[at], kinds[0])
        link_ways([found], [[kin(item)] for item in container])
        return origins.made(found, functools.reduce(origins.joined, (k.kind for k in kinds)))
    cases = {n: lambda item=item: item for n, item in enumerate(container)}
    return branches.switch(at, cases, lambda: container[-1], ())


def _set_in_list(container: list[Any], index: Any, value: Any) -> None:
    at = _position(container, index, "assignment index")
    new, held = kin(value), list(map(kin, container))
    for n, old in enumerate(container):
        container[n] = select(at == n, value, old)
    ways = [[*held[:n], new, *held[n + 1 :]] for n in range(len(held))]
    link_ways(container, ways if new.every else [])


# -- arrays ---------------------------------------------------------------------------------------


def set_item(container: Any, key: Any, value: Any, owner: Any) -> Any:
    """Write an item; the container itself, or the array that takes its place."""
    if isinstance(container, np.ndarray):
        traced = has_traced(key) or isinstance(value, jax.core.Tracer | _Whole)
        if not traced and not (isinstance(value, list | tuple) and has_traced(value)):
            aliases.spend_maybe(container)
            container[key] = value
            return container
        _refuse_objects(container)
        aliases.refuse_shared(container, owner)
        return _written(jnp.array(container), key, value)
    if isinstance(container, jax.core.Tracer | jax.Array):
        new = _written(container, key, value)
        if new is not container and not _is_part(owner):
            aliases.spend(container)
        aliases.written(new)
        return new
    if isinstance(container, list) and is_traced(key) and not key.shape:
        _set_in_list(container, key, value)
        return container
    if isinstance(container, np.flatiter) and (has_traced(key) or is_traced(value)):
        _refuse_flat()
    if scopes.watches():
        changes[id(container)] = sites.where()
    container[key] = value
    return container


def _is_part(owner: Any) -> bool:
    """Whether an array is the part of another one that was taken out just now."""
    return type(owner) is Item and isinstance(owner.container, _ARRAYS)


def _refuse_objects(array: np.ndarray[Any, Any]) -> None:
    if not is_dynamic(array):
        raise StagingError(
            f"a NumPy array of {array.dtype} gets a run-time value",
            code="D2S024",
            site=sites.where(),
            fix="a list, or an array of numbers",
        )


def _refuse_flat() -> None:
    raise StagingError(
        "a run-time value, or one at a run-time position, is written through `flat`",
        code="D2S024",
        site=sites.where(),
        fix="the array itself, written at its positions: x[i, j] = v",
    )


def is_copy(container: Any, key: Any) -> bool:
    """Whether NumPy gives a copy: for positions and masks, not for numbers and slices."""
    if not isinstance(container, _ARRAYS):
        return False
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, list) or getattr(part, "shape", ()) for part in parts)


def _written(array: Any, key: Any, value: Any) -> Any:
    mask = _run_time_mask(array, key)
    if mask is not None:
        return _where(array, mask, value)
    if any(isinstance(part, Window) for part in (key if isinstance(key, tuple) else (key,))):
        part, inner, starts = _window(array, key)
        return jax.lax.dynamic_update_slice(array, _written(part, inner, value), starts)
    key = _arrays_for_lists(key)
    if isinstance(value, list | tuple):
        value = jnp.asarray(value)
    shape = _ask_numpy(array, key, value)
    new = jnp.asarray(value) if type(value) in NUMBERS else value
    if jnp.iscomplexobj(new) and not jnp.iscomplexobj(array):
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    if shape is not None and new.ndim > len(shape):
        new = new.reshape(new.shape[new.ndim - len(shape) :])  # NumPy drops leading ones
    if new.dtype != array.dtype:
        new = new.astype(array.dtype)
    return array.at[key].set(new)


def _is_small(array: Any) -> bool:
    """Whether NumPy can be asked: the size is known, and not large."""
    return not any(map(is_symbolic, array.shape)) and bool(array.size <= ASKED)


def _ask_numpy(array: Any, key: Any, value: Any) -> tuple[int, ...] | None:
    """The shape that a key selects; raises what NumPy would raise about key, shape and number."""
    if not _is_small(array) or array.dtype.kind not in "biufc":
        return None

    def known(part: Any) -> Any:
        if isinstance(part, tuple):
            return tuple(map(known, part))
        if not is_traced(part):
            return np.asarray(part) if isinstance(part, jax.Array) else part
        return np.zeros(part.shape, part.dtype) if part.shape else 0

    one = np.zeros(1, array.dtype)
    probe = np.lib.stride_tricks.as_strided(one, array.shape, (0,) * array.ndim, writeable=True)
    key = known(key)
    if type(value) in NUMBERS:
        probe[key] = value
    else:
        probe[key] = np.broadcast_to(np.zeros((), array.dtype), np.shape(value))
    shape: tuple[int, ...] = np.shape(probe[key])
    return shape


def _run_time_mask(array: Any, key: Any) -> Any:
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if is_traced(key) and key.dtype == jnp.bool_:
        return key
    return None


def _where(array: Any, mask: Any, value: Any) -> Any:
    if mask.shape != array.shape[: mask.ndim]:
        n = next(n for n, size in enumerate(mask.shape) if array.shape[n : n + 1] != (size,))
        raise IndexError(
            f"boolean index did not match indexed array along axis {n}; size of axis is "
            f"{array.shape[n]} but size of corresponding boolean axis is {mask.shape[n]}"
            if n < array.ndim
            else f"too many indices for array: array is {array.ndim}-dimensional, but {mask.ndim} "
            "were indexed"
        )
    rest = array.shape[mask.ndim :]
    new = value.array if isinstance(value, _Whole) else _without_count(jnp.asarray(value), rest)
    mask = mask.reshape(mask.shape + (1,) * len(rest))
    return jnp.where(mask, new.astype(array.dtype), array)


def _without_count(value: Any, rest: tuple[int, ...]) -> Any:
    """A value that does not depend on how many elements a mask selects."""
    if value.ndim > len(rest) and all(size == 1 for size in value.shape[: value.ndim - len(rest)]):
        value = value.reshape(value.shape[value.ndim - len(rest) :])
    if value.ndim > len(rest):
        raise StagingError(
            "a mask that is a run-time value selects a number of elements that is not known "
            "while the graph is built",
            code="D2S020",
            site=sites.where(),
            fix="one value for all of them, or jnp.where(mask, values, x) with values for all",
        )
    return value


# -- augmented assignment -------------------------------------------------------------------------


def old_item(container: Any, key: Any) -> Any:
    if isinstance(container, jax.core.Tracer):
        mask = _run_time_mask(container, key)
        if mask is not None:
            return _Masked(container, mask)
    item = items(container)[key]
    # a view would be one more that holds the array
    return item.copy() if isinstance(container, np.ndarray) else item


def augmented(change: Callable[[Any, Any], Any], old: Any, value: Any, place: Any) -> Any:
    if not isinstance(place.container, _ARRAYS):
        return _augmented_entry(change, old, value, place)
    new = _out_of_place(change)  # it is the place in the container that is written
    if isinstance(old, _Masked):
        rest = old.array.shape[old.mask.ndim :]
        _ask_numpy_to_change(change, old.array, value)
        plain = value if type(value) in NUMBERS else _without_count(jnp.asarray(value), rest)
        return _Whole(new(old.array, plain))
    if isinstance(old, jax.core.Tracer | jax.Array):
        if old.shape:
            _ask_numpy_to_change(change, old, value)
        return new(old, value)
    if isinstance(old, np.ndarray) and isinstance(value, jax.core.Tracer):
        _ask_numpy_to_change(change, old, value)
        return new(jnp.asarray(old), value)
    return change(old, value)


def _augmented_entry(change: Callable[[Any, Any], Any], old: Any, value: Any, place: Any) -> Any:
    """``l[i] += v`` where `l` is no array: the value there is changed in place, or replaced."""
    if isinstance(old, np.ndarray):
        return _augmented_numpy(change, old, value, place)
    if isinstance(old, jax.core.Tracer | jax.Array) and old.shape:
        _ask_numpy_to_change(change, old, value)
    return change(old, value)


def _augmented_numpy(change: Callable[[Any, Any], Any], old: Any, value: Any, owner: Any) -> Any:
    """In place as long as the values are known; a jax array in its place from then on."""
    if isinstance(value, jax.core.Tracer):
        _ask_numpy_to_change(change, old, value)
        aliases.refuse_shared(old, owner)
        return change(jnp.array(old), value)
    aliases.spend_maybe(old)
    return change(old, value)


def augmented_name(change: Callable[[Any, Any], Any], old: Any, value: Any, owner: Any) -> Any:
    """``a += v`` of a name: in place for NumPy arrays, as long as their values are known."""
    if isinstance(old, np.ndarray):
        return _augmented_numpy(change, old, value, owner)
    aliases.changed_view(old)
    return change(old, value)


def _out_of_place(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """``operator.add`` for ``operator.iadd``."""
    made: Callable[[Any, Any], Any] = getattr(operator, f"__{change.__name__[1:]}__")
    return made


def in_place(change: Callable[[Any, Any], Any], old: Any, value: Any) -> Any:
    """``x += v`` of a run-time value: a write of the array, where NumPy's would be written."""
    if not aliases.may_be_numpy(old):
        return NotImplemented
    _ask_numpy_to_change(change, old, value)
    new = _out_of_place(change)(old, value).astype(old.dtype)
    aliases.spend(old)
    aliases.written(new)
    return new


def _ask_numpy_to_change(change: Callable[[Any, Any], Any], old: Any, value: Any) -> None:
    """Raise what NumPy would raise about shapes, and about results that the array cannot hold."""
    if not _is_small(old) or old.dtype.kind not in "biufc" or not is_dynamic(value):
        return
    kind = type_of(value)
    if type(value) in NUMBERS:
        other = value
    elif kind.weak and not kind.shape:
        other = np.ones((), kind.dtype).item()
    else:
        other = np.ones(kind.shape, kind.dtype)
    try:
        with np.errstate(all="ignore"):
            change(np.ones(old.shape, old.dtype), other)
    except TypeError as error:
        is_array = kind.kind is origins.ARRAY and bool(kind.shape)
        if is_array and not aliases.is_numpy_argument(value):
            raise _doubtful_change() from error
        raise


def _doubtful_change() -> StagingError:
    return StagingError(
        "an array of NumPy's gets values in place that it cannot hold; beside an array of JAX's "
        "the name would get a new array instead",
        code="D2S024",
        site=sites.where(),
        fix="`a = a + x` for `a += x`, or x.astype(a.dtype)",
    )


# -- windows --------------------------------------------------------------------------------------


def _behind_windows(array: Any, key: Any) -> tuple[Any, Any]:
    """The array cut to the windows of a key, and the rest of the key."""
    if not any(isinstance(part, Window) for part in (key if isinstance(key, tuple) else (key,))):
        return array, key
    part, key, _ = _window(array, key)
    return part, key


def _window(array: Any, key: Any) -> tuple[Any, Any, list[Any]]:
    """The part of an array that the windows of a key select, the rest of the key, the starts."""
    parts = list(key) if isinstance(key, tuple) else [key]
    used = sum(_axes(part) for part in parts)
    starts: list[Any] = [0] * array.ndim
    sizes = list(array.shape)
    axis = 0
    for n, part in enumerate(parts):
        if part is Ellipsis:
            axis += array.ndim - used
            continue
        if isinstance(part, Window):
            if axis >= array.ndim:
                raise IndexError(
                    f"too many indices for array: array is {array.ndim}-dimensional, but {used} "
                    "were indexed"
                )
            starts[axis], sizes[axis] = _start(part, array.shape[axis]), part.size
            parts[n] = slice(None)
        axis += _axes(part)
    cut = jax.lax.dynamic_slice(array, starts, sizes)
    return cut, tuple(parts), starts


def _axes(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    mask = getattr(part, "dtype", None) == np.bool_
    return part.ndim if mask else 1


def _start(part: Window, length: int) -> Any:
    """Where a window starts; the program stops where Python would give another length."""
    start, size = part.start, part.size
    if size == 0:
        return 0
    if start.dtype.itemsize < 4 or start.dtype == jnp.bool_:
        start = start.astype(jnp.int32)
    inside = jnp.logical_and(start >= 0, start <= length - size)
    from_end = jnp.logical_and(start >= -length, start < -size)
    site = sites.where()

    def fail() -> None:
        raise SliceLength(
            f"a slice of {size} items at a run-time position reaches beyond an axis of {length}; "
            "Python would give fewer",
            site=site,
            fix="a position inside the array, or an array with room at its ends (jnp.pad)",
        )

    branches.cond(jnp.logical_or(inside, from_end), _nothing, fail, ())
    if size > length or size < 0:
        return 0
    return jnp.where(start < 0, start + length, start)


def refuse_store(within: Any) -> None:
    """A new array would have to take the place of one that stands where nothing can be put."""
    if within is None:
        what = "an array is written that no name of this function has"
        fix = "a local name or an attribute for the array; `global` for a name of the module"
    else:
        what = (
            f"an array in a {type(within).__name__} is written, where no other can take its place"
        )
        fix = "a name of its own for the array, or a list, dict or object around it"
    raise StagingError(
        f"{what}; jax arrays are values, so the new one would be lost",
        code="D2S024",
        site=sites.where(),
        fix=fix,
    )
