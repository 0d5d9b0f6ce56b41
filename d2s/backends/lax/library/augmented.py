"""Augmented assignment, ``x[i] += v`` and ``x += v``, of arrays: NumPy's are written in place.

    x[i] += v    ->    old = old_item(x, i)
                       new = new_item(operator.iadd, old, v, ...)
                       set_item(x, i, new)

For run-time values the operator out of place, `operator.add`, computes the new item, and the write
puts it into the array. What NumPy refuses to do in place (another shape, floats into integers) is
found by asking NumPy itself with other numbers of the same types and shapes.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import NUMBERS, is_dynamic, type_of
from d2s.backends.lax.graph import sites
from d2s.backends.lax.library.items import (
    ARRAYS,
    MaskedItems,
    ValuesForAll,
    is_small,
    items,
    run_time_mask,
    without_count,
)
from d2s.errors import StagingError
from d2s.runtime.items import AUGMENTED

Change = Callable[[Any, Any], Any]

#: the operator out of place for each operator in place: `operator.add` for `operator.iadd`
_OUT_OF_PLACE: dict[Change, Change] = {
    change: getattr(operator, name) for name, change in AUGMENTED.items()
}


def old_item(container: Any, key: Any) -> Any:
    """The item before the assignment; for a run-time mask, what tells which items it selects."""
    if isinstance(container, jax.core.Tracer):
        mask = run_time_mask(container, key)
        if mask is not None:
            return MaskedItems(container, mask)
    item = items(container)[key]
    # A view would be one more holder of the array, and the write into the array be refused.
    return item.copy() if isinstance(container, np.ndarray) else item


def new_item(change: Change, old: Any, value: Any, place: Any) -> Any:
    """The item after the assignment, which `place` is about to get."""
    if not isinstance(place.container, ARRAYS):
        return _augmented_entry(change, old, value, place)
    new = _OUT_OF_PLACE[change]  # the write of the item changes the container, not the operator
    if isinstance(old, MaskedItems):
        rest = old.array.shape[old.mask.ndim :]
        _ask_numpy_to_change(change, old.array, value)
        plain = value if type(value) in NUMBERS else without_count(jnp.asarray(value), rest)
        return ValuesForAll(new(old.array, plain))
    if isinstance(old, jax.core.Tracer | jax.Array):
        if old.shape:
            _ask_numpy_to_change(change, old, value)
        return new(old, value)
    if isinstance(old, np.ndarray) and isinstance(value, jax.core.Tracer):
        _ask_numpy_to_change(change, old, value)
        return new(jnp.asarray(old), value)
    return change(old, value)


def _augmented_entry(change: Change, old: Any, value: Any, place: Any) -> Any:
    """``l[i] += v`` where `l` is no array: the entry is changed in place, or replaced."""
    if isinstance(old, np.ndarray):
        return _augmented_numpy(change, old, value, place)
    if isinstance(old, jax.core.Tracer | jax.Array) and old.shape:
        _ask_numpy_to_change(change, old, value)
    return change(old, value)


def _augmented_numpy(change: Change, old: Any, value: Any, owner: Any) -> Any:
    """Change a NumPy array in place; with a run-time value, give `owner` a jax array instead."""
    if isinstance(value, jax.core.Tracer):
        _ask_numpy_to_change(change, old, value)
        aliases.refuse_shared(old, owner)
        return change(jnp.array(old), value)
    aliases.spend_maybe(old)
    return change(old, value)


def new_value_of_name(change: Change, old: Any, value: Any, owner: Any) -> Any:
    """The value of a name after ``a += v``; NumPy arrays are changed in place where possible."""
    if isinstance(old, np.ndarray):
        return _augmented_numpy(change, old, value, owner)
    aliases.changed_view(old)
    return change(old, value)


def in_place(change: Change, old: Any, value: Any) -> Any:
    """``x += v`` of a run-time value that may be a NumPy array in plain Python: a write into it.

    `NotImplemented` for other values, for which Python then takes ``x = x + v``.
    """
    if not aliases.may_be_numpy(old):
        return NotImplemented
    _ask_numpy_to_change(change, old, value)
    new = _OUT_OF_PLACE[change](old, value).astype(old.dtype)
    aliases.spend(old)
    aliases.written(new)
    return new


def _ask_numpy_to_change(change: Change, old: Any, value: Any) -> None:
    """Raise what NumPy raises about the shapes, and about a dtype that the array cannot hold."""
    if not is_small(old) or old.dtype.kind not in "biufc" or not is_dynamic(value):
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
        f"{sites.target(sites.where()) or 'an array'} gets values in place that a NumPy array of "
        "its dtype cannot hold; if it were a jax array, the name would get a new array instead",
        code="D2S072",
        site=sites.where(),
        fix="`a = a + x` for `a += x`, or x.astype(a.dtype)",
    )
