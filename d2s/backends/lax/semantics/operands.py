"""Python's integers that meet the narrow integers of NumPy, as operands.

    a + 300     # with `a` of 8 bits: an OverflowError in NumPy, while JAX cuts the number off

Where the plain program has NumPy's arrays, the number must fit, or the call is refused. A program
on jax arrays gets what JAX gives.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import type_of
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.semantics.casts import fail_where, is_integer, too_large
from d2s.errors import StagingError

_iinfo: Any = jnp.iinfo
_ARRAYS = (np.ndarray, np.generic, jax.core.Tracer)


def meet(one: Any, other: Any) -> None:
    """Check two operands of which one is an array: a Python integer must fit into NumPy's."""
    pairs = [(a, b) for a, b in ((one, other), (other, one)) if isinstance(b, _ARRAYS)]
    for number, array in pairs:
        # A NumPy scalar that is an argument cannot be told from a jax array.
        doubtful = aliases.has_numpy_arguments() or origins.kind_of(number) is not origins.ARRAY
        if isinstance(array, np.ndarray) and doubtful:
            aliases.numpy_made()
        if isinstance(array, np.ndarray | np.generic) or aliases.has_numpy_arguments():
            require_int(number, array.dtype)


def is_number(value: Any) -> bool:
    """Whether arrays are compared with a value element by element, in NumPy as in JAX."""
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufc" or jnp.issubdtype(value.dtype, jnp.floating)
    return isinstance(value, bool | int | float | complex | jax.Array | jax.core.Tracer)


def unlike(array: Any, other: Any) -> bool:
    """Whether an array is surely NumPy's, which compares each element with what is no number.

    For JAX the array as a whole is another thing then. Where nobody knows, it is refused.
    """
    if is_number(other):
        return False
    if not isinstance(other, np.ndarray) and not (array.shape and aliases.may_be_numpy(array)):
        return False
    if aliases.is_argument(array) and isinstance(other, str | bytes | None):
        return True
    raise StagingError(
        "an array that may be NumPy's is compared with what is no number",
        code="D2S021",
        site=sites.where(),
        fix="`is None`, or an array of numbers",
    )


def refuse_shapes(op: Any, one: Any, other: Any) -> None:
    """Arrays that do not fit together are a ValueError to NumPy, and a TypeError to JAX."""
    arrays = [value for value in (one, other) if getattr(value, "shape", ())]
    if len(arrays) < 2 or not any(_may_be_numpy(array) for array in arrays):
        return
    if all(isinstance(array, np.ndarray) or aliases.is_argument(array) for array in arrays):
        op(*(np.broadcast_to(np.zeros((), a.dtype), a.shape) for a in arrays))  # NumPy says it
    raise StagingError(
        "arrays of shapes that do not fit together, which may be NumPy's or JAX's",
        code="D2S021",
        site=sites.where(),
        fix="arrays of shapes that fit, or jnp.asarray(...) around those of NumPy's",
    )


def refuse_flag(op: Any, array: Any) -> None:
    """`+` of bools: NumPy does not take them, and JAX does."""
    if op is operator.pos and array.dtype == jnp.bool_ and aliases.has_numpy_arguments():
        if aliases.is_argument(array):
            op(np.zeros(1, bool))  # NumPy says it
        raise StagingError(
            "`+` of bools that may be NumPy's",
            code="D2S021",
            site=sites.where(),
            fix="the array without `+`, or numbers (.astype(int))",
        )


def _may_be_numpy(array: Any) -> bool:
    return isinstance(array, np.ndarray) or aliases.may_be_numpy(array)


def is_narrow(dtype: Any) -> bool:
    """Whether a dtype is one of integers other than the graph has for Python's."""
    return bool(jnp.issubdtype(dtype, jnp.integer)) and dtype != jnp.result_type(int)


def require_int(number: Any, dtype: Any) -> None:
    """Refuse a Python integer that does not fit into the integers of an array."""
    if not is_narrow(dtype):
        return
    bounds = _iinfo(dtype)
    if type(number) is int:
        if not bounds.min <= number <= bounds.max:
            raise scopes.refuse(_out_of_bounds(number, np.dtype(dtype).name))
        return
    if not isinstance(number, jax.core.Tracer):
        return
    kind = type_of(number)
    if kind.weak and origins.kind_of(number) in (int, None) and is_integer(number):
        whole = _iinfo(kind.dtype)
        low, high = max(bounds.min, whole.min), min(bounds.max, whole.max)
        if (low, high) != (whole.min, whole.max):
            # If the number is an argument, the call is computed again with the number itself.
            fail_where(((number < low) | (number > high), too_large()))


def _out_of_bounds(number: int, name: str) -> StagingError:
    return StagingError(
        f"the Python integer {number} is out of bounds for {name}; NumPy raises an OverflowError "
        "there, and JAX cuts the number off",
        code="D2S012",
        site=sites.where(),
        fix=f"an array of more bits (.astype(int)), or a number that fits into {name}",
    )
