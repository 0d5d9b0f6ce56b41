"""`in` where it takes run-time values to know: one comparison with each entry, without a branch."""

from __future__ import annotations

from collections import deque
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.regions.regions import is_traced, scalar_predicate
from d2s.backends.lax.semantics.casts import to_bool
from d2s.backends.lax.semantics.operands import is_number
from d2s.backends.lax.semantics.sequences import Range

#: these compare entry by entry, in their order
_SEQUENCES = (tuple, list, deque)
#: what may be compared although nobody knows yet whether Python would come so far
_NUMBERS = (int, float, complex, np.generic, np.ndarray, jax.Array, jax.core.Tracer)
_PLAIN = (*_NUMBERS, str, bytes, type(None))


def is_in(item: Any, container: Any) -> Any:
    return to_bool(_is_in(item, container))


def _is_in(item: Any, container: Any) -> Any:
    is_row = isinstance(container, jax.Array) and container.ndim == 1
    if is_row and is_number(item) and not jnp.shape(item):
        return jnp.any(container == item)
    if isinstance(container, Range):
        away = item - container.start
        step = jnp.floor_divide(away, container.step)
        on_it = jnp.equal(jnp.remainder(away, container.step), 0)
        inside = on_it & (step >= 0) & (step < container.length)
        return scalar_predicate(jnp.asarray(inside))
    if type(container) is range and isinstance(item, jax.Array):
        return _is_in_range(item, container)
    if type(container) not in _SEQUENCES:
        return item in container  # sets and dicts want a hash, and arrays have none
    entries = list(container)
    if not any(isinstance(value, jax.Array) for value in (item, *entries)):
        return item in container  # of arrays that are known, a graph around makes run-time values
    if not all(isinstance(value, _PLAIN) for value in (item, *entries)):
        return item in container  # comparing may be anything
    found: Any = False
    for entry in entries:
        same = True if entry is item else entry == item
        if is_traced(same):
            same = scalar_predicate(same)
            found = same if found is False else found | same
        elif same:
            return True if found is False else found | True
    return found


def _is_in_range(item: Any, container: range) -> Any:
    if not container:
        return False
    low, high = sorted((container[0], container[-1]))
    inside = (low <= item) & (item <= high)
    return scalar_predicate(inside & ((item - low) % abs(container.step) == 0))
