"""Slices that start at a run-time position and have a known size: ``x[i : i + 3]``.

XLA's `dynamic_slice` moves a window that reaches beyond the end of an axis back into the array.
Python gives fewer items instead, or others. So the position is checked where its range does not
say that the window fits, and the program stops where the two differ:

    x[i : i + 3]    ->    a Window(i, 3), cut out of `x` by dynamic_slice if 0 <= i <= len(x) - 3;
                          a start that is negative counts from the end, as in Python
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.control import branches
from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.spans import span_of
from d2s.errors import SliceLength
from d2s.runtime.values import Window


def behind_windows(array: Any, key: Any) -> tuple[Any, Any]:
    """The array cut to the windows of a key, and the rest of the key."""
    if not any(isinstance(part, Window) for part in (key if isinstance(key, tuple) else (key,))):
        return array, key
    part, key, _ = cut(array, key)
    return part, key


def cut(array: Any, key: Any) -> tuple[Any, Any, list[Any]]:
    """The part of an array that the windows of a key select, the rest of the key, the starts.

    For ``x[2, i : i + 3]``, with `x` of shape (4, 9): the part has the shape (4, 3), the rest of
    the key is ``(2, :)``, and the starts are ``[0, i]``.
    """
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
    """How many axes of an array a part of a key is about: a mask covers several, None none."""
    if part is None or part is Ellipsis:
        return 0
    mask = getattr(part, "dtype", None) == np.bool_
    return part.ndim if mask else 1


def _start(part: Window, length: int) -> Any:
    """The position at which a window starts; the program stops if Python gave another length."""
    start, size = part.start, part.size
    if size == 0:
        return 0
    if start.dtype.itemsize < 4 or start.dtype == jnp.bool_:
        start = start.astype(jnp.int32)
    span = span_of(start)
    if span is not None and span[0] >= 0 and span[1] <= length - size and size > 0:
        return start
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

    branches.cond(jnp.logical_or(inside, from_end), lambda: None, fail, ())
    if size > length or size < 0:
        return 0
    return jnp.where(start < 0, start + length, start)
