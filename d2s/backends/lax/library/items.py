"""Items of arrays and lists at run-time positions: reads, and writes by NumPy's rules.

    l[i]            ->    stack the items of the list and take one; a switch if they differ in type
    l[i] = v        ->    l[n] = select(i == n, v, l[n]) for each n
    x[mask] = v     ->    x = where(mask, v, x)
    x[i, 2:5] = v   ->    x = x.at[i, 2:5].set(v), after NumPy was asked what it says of the shapes

A position out of range fails as in Python for lists, and follows jax.numpy for arrays. Slices that
start at a run-time position are in `windows`, ``x[i] += v`` is in `augmented`.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.may_alias import alias_set, link_view, link_ways
from d2s.backends.lax.control import branches
from d2s.backends.lax.failures.after_failure import select
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import NUMBERS, Mismatch, cast, is_dynamic, is_symbolic, type_of
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.spans import is_of_positions, span_of
from d2s.backends.lax.library.windows import behind_windows, cut
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics.answers import require_container
from d2s.errors import StagingError
from d2s.runtime.items import Item
from d2s.runtime.values import Window

ARRAYS = (np.ndarray, jax.core.Tracer, jax.Array)

#: the size up to which NumPy is asked what it says of an array of the same shape and dtype
ASKED = 1 << 20


@dataclass
class MaskedItems:
    """The elements of an array that a run-time mask selects; how many they are is not known."""

    array: Any
    mask: Any


@dataclass
class ValuesForAll:
    """New values for all elements of an array, of which a mask selects those that are written."""

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
        # Python evaluates the key first, and then finds that a number has no items.
        require_container(container, is_read=True)
        return _item(container, key)


def needs_position(what: str) -> StagingError:
    """The error about something that needs its positions as Python numbers."""
    return StagingError(
        f"{what} at run-time positions",
        code="D2S020",
        site=sites.where(),
        fix="Python numbers as positions, or an array of numbers (jnp.arange, jnp.meshgrid)",
    )


def _item(array: Any, key: Any) -> Any:
    array, key = behind_windows(array, key)
    return array[_arrays_for_lists(key)]


def items(container: Any) -> Any:
    """The container, or what takes its place in ``container[key]`` if the key may be run-time."""
    own = (list.__getitem__, tuple.__getitem__)
    if isinstance(container, list | tuple):
        return Items(container) if type(container).__getitem__ in own else container
    if isinstance(container, np.ndarray | jax.core.Tracer | jax.Array):
        return Items(container)
    return container


def window(lower: Any, upper: Any, size: Any) -> Any:
    """The key of ``x[lower:upper]``, where `size` is ``upper - lower`` if that is known."""
    if is_traced(lower) and type(size) is int:
        return Window(lower, size)
    return slice(lower, upper)


def has_traced(key: Any) -> bool:
    """Whether a key has a run-time value in it."""
    if isinstance(key, tuple | list):
        return any(map(has_traced, key))
    if isinstance(key, slice):
        return has_traced((key.start, key.stop, key.step))
    return isinstance(key, Window) or is_traced(key)


def _no_window(key: Any) -> Any:
    """A key of a list; a slice at a run-time position is refused, lists have no such thing."""
    if isinstance(key, Window):
        raise StagingError(
            "a part of a list at a run-time position",
            code="D2S020",
            site=sites.where(),
            fix="an array (`jnp.array(...)`) instead of the list",
        )
    return key


def _arrays_for_lists(key: Any) -> Any:
    """A key with arrays for its lists: NumPy takes a list for an array of positions."""
    if isinstance(key, list):
        whole = np.asarray(key) if not has_traced(key) else jnp.stack([jnp.asarray(k) for k in key])
        return whole.astype(int) if not whole.size else whole
    return tuple(map(_arrays_for_lists, key)) if isinstance(key, tuple) else key


# -- lists ----------------------------------------------------------------------------------------


def _position(container: Any, index: Any, what: str) -> Any:
    """A run-time index as a position from the start; the program fails where it is out of range."""
    count = len(container)
    message = f"{'list' if isinstance(container, list) else 'tuple'} {what} out of range"
    if not count:
        raise IndexError(message)
    index = index.astype(jnp.int32) if index.dtype == jnp.bool_ else index
    span = span_of(index)
    # An index that Python knows in an unrolled loop is checked all the same: by that the loop stays
    # unrolled, and its list needs no array that holds all items.
    fits = span is not None and span[0] >= 0 and span[1] < count
    if fits and not is_of_positions(index):
        return index
    at = jnp.where(index < 0, index + count, index)

    def fail() -> None:
        raise IndexError(message)

    branches.cond(jnp.logical_and(at >= 0, at < count), _nothing, fail, ())
    return at


def _nothing() -> None:
    return None


def _chosen(container: Any, index: Any) -> Any:
    """The item of a list or tuple at a run-time index."""
    if index.shape or jnp.issubdtype(index.dtype, jnp.inexact):
        return container[index]  # Python raises the error that it has for such an index
    at = _position(container, index, "index")
    try:
        kinds = [type_of(item) for item in container if is_dynamic(item)]
    except Mismatch:
        kinds = []
    if len({kind.bare for kind in kinds}) == 1 and all(map(is_dynamic, container)):
        found = cast(jnp.stack([jnp.asarray(item) for item in container])[at], kinds[0])
        link_ways([found], [[alias_set(item)] for item in container])
        return origins.made(found, functools.reduce(origins.joined, (k.kind for k in kinds)))
    cases = {n: lambda item=item: item for n, item in enumerate(container)}
    return branches.switch(at, cases, lambda: container[-1], ())


def _set_in_list(container: list[Any], index: Any, value: Any) -> None:
    at = _position(container, index, "assignment index")
    new, held = alias_set(value), list(map(alias_set, container))
    for n, old in enumerate(container):
        container[n] = select(at == n, value, old)
    ways = [[*held[:n], new, *held[n + 1 :]] for n in range(len(held))]
    link_ways(container, ways if new.every else [])


# -- arrays ---------------------------------------------------------------------------------------


def set_item(container: Any, key: Any, value: Any, owner: Any) -> Any:
    """Write an item; returns the container itself, or the new array that takes its place.

    `owner` is the slot or name whose value is written, as `d2s.at` and `d2s.ref` know it.
    """
    if isinstance(container, np.ndarray):
        traced = has_traced(key) or isinstance(value, jax.core.Tracer | ValuesForAll)
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
    if scopes.snapshots():
        scopes.note_change(container)
    container[key] = value
    return container


def _is_part(owner: Any) -> bool:
    """Whether an array was just taken out of another one, which gets it back after the write."""
    return type(owner) is Item and isinstance(owner.container, ARRAYS)


def _refuse_objects(array: np.ndarray[Any, Any]) -> None:
    if not is_dynamic(array):
        raise StagingError(
            f"{sites.target(sites.where()) or 'an array'}, a NumPy array of dtype {array.dtype}, "
            "gets a run-time value",
            code="D2S072",
            site=sites.where(),
            fix="a list, or an array of numbers",
        )


def _refuse_flat() -> None:
    raise StagingError(
        "a run-time value, or one at a run-time position, is written through "
        f"{sites.target(sites.where()) or '`flat`'}",
        code="D2S072",
        site=sites.where(),
        fix="the array itself, written at its positions: x[i, j] = v",
    )


def is_copy(container: Any, key: Any) -> bool:
    """Whether NumPy gives a copy: for positions and masks, not for numbers and slices."""
    if not isinstance(container, ARRAYS):
        return False
    parts = key if isinstance(key, tuple) else (key,)
    return any(isinstance(part, list) or getattr(part, "shape", ()) for part in parts)


def _written(array: Any, key: Any, value: Any) -> Any:
    """The array with new values at a key."""
    mask = run_time_mask(array, key)
    if mask is not None:
        return _where(array, mask, value)
    if any(isinstance(part, Window) for part in (key if isinstance(key, tuple) else (key,))):
        part, inner, starts = cut(array, key)
        return jax.lax.dynamic_update_slice(array, _written(part, inner, value), starts)
    key = _arrays_for_lists(key)
    if isinstance(value, list | tuple):
        value = jnp.asarray(value)
    shape = _ask_numpy(array, key, value)
    new = jnp.asarray(value) if type(value) in NUMBERS else value
    if jnp.iscomplexobj(new) and not jnp.iscomplexobj(array):
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    if shape is not None and new.ndim > len(shape):
        # NumPy drops leading axes of size one of a value with too many dimensions.
        new = new.reshape(new.shape[new.ndim - len(shape) :])
    if new.dtype != array.dtype:
        new = new.astype(array.dtype)
    return array.at[key].set(new)


def is_small(array: Any) -> bool:
    """Whether NumPy can be asked about an array of this shape: the size is known, and not large."""
    return not any(map(is_symbolic, array.shape)) and bool(array.size <= ASKED)


def _ask_numpy(array: Any, key: Any, value: Any) -> tuple[int, ...] | None:
    """The shape that a key selects; raises what NumPy raises about the key, the shape, the number.

    NumPy is asked with an array of one element that pretends to have the shape (all its strides are
    zero), and with zeros for the run-time parts of the key. None if NumPy is not asked.
    """
    if not is_small(array) or array.dtype.kind not in "biufc":
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


def run_time_mask(array: Any, key: Any) -> Any:
    """The key as a mask, if it is an array of bools that is a run-time value; None otherwise."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if is_traced(key) and key.dtype == jnp.bool_:
        return key
    return None


def _where(array: Any, mask: Any, value: Any) -> Any:
    """The array with a value where a mask holds; a mask of another shape fails as in NumPy."""
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
    new = (
        value.array if isinstance(value, ValuesForAll) else without_count(jnp.asarray(value), rest)
    )
    mask = mask.reshape(mask.shape + (1,) * len(rest))
    return jnp.where(mask, new.astype(array.dtype), array)


def without_count(value: Any, rest: tuple[int, ...]) -> Any:
    """A value for the elements that a mask selects; refused if it has one for each of them.

    `rest` is the shape of one selected element: the axes that the mask does not cover.
    """
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


def refuse_store(within: Any) -> None:
    """Refuse the write of an array that is nowhere where a new array could be put."""
    if within is None:
        what = "an array is written that no name of this function has"
        fix = "a local name or an attribute for the array; `global` for a name of the module"
    else:
        what = (
            f"{sites.target(sites.where()) or 'an array'}, an array in a {type(within).__name__}, "
            "is written, where no other can take its place"
        )
        fix = "a name of its own for the array, or a list, dict or object around it"
    raise StagingError(
        f"{what}; jax arrays are values, so the new one would be lost",
        code="D2S073",
        site=sites.where(),
        fix=fix,
    )
