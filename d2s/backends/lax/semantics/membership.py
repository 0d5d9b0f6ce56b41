"""`in` with run-time values: one comparison with each entry, without a branch.

    n in (2, 3, 5)     ->    (n == 2) | (n == 3) | (n == 5)
    n in range(0, m)   ->    n >= 0 and n < m, computed from the start, the length and the step

Containers that need a hash, or whose comparisons may run code of the user's, are left to Python.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.forms.kinds.table import SEQUENCES
from d2s.backends.lax.regions.regions import is_traced, scalar_predicate
from d2s.backends.lax.semantics.casts import to_bool
from d2s.backends.lax.semantics.operands import is_number
from d2s.backends.lax.semantics.sequences import Range
from d2s.runtime.on_behalf import asks_for_program

#: classes whose comparison has no effect, so all entries may be compared: Python would stop at
#: the first entry that is equal, which is not known while the graph is built
_NUMBERS = (int, float, complex, np.generic, np.ndarray, jax.Array, jax.core.Tracer)
_PLAIN = (*_NUMBERS, str, bytes, type(None))


def is_in(item: Any, container: Any) -> Any:
    """``item in container``, as a bool of Python's."""
    return to_bool(_is_in(item, container))


@asks_for_program
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
    if type(container) not in (tuple, *SEQUENCES):
        return item in container  # sets and dicts want a hash, and arrays have none
    entries = list(container)
    if not any(isinstance(value, jax.Array) for value in (item, *entries)):
        return item in container  # even of known jax arrays, `==` gives a run-time value here
    if not all(isinstance(value, _PLAIN) for value in (item, *entries)):
        return item in container  # a comparison of other classes may run any code
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
