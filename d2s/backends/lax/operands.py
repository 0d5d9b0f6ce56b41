"""Python's integers that meet the narrow integers of NumPy, as operands.

NumPy raises an OverflowError for ``a + 300`` where `a` has 8 bits. JAX cuts the number off, and a
program on jax arrays gets what JAX gives.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax import aliases, channels, sites
from d2s.backends.lax.casts import fail_where, too_large
from d2s.backends.lax.dtypes import type_of
from d2s.errors import StagingError

_iinfo: Any = jnp.iinfo

_NAMES = "add sub mul truediv floordiv mod pow and or xor lshift rshift".split()
#: the operators of two operands
OPERATORS = [
    *(f"__{name}__" for name in _NAMES),
    *(f"__r{name}__" for name in _NAMES),
    *("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"),
]


def checked(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """An operator of tracers that looks at its operands first, while d2s builds a graph."""

    def apply(self: Any, other: Any) -> Any:
        if channels.current() is not None:
            _look(self, other)
        return operator(self, other)

    return apply


def _look(one: Any, other: Any) -> None:
    if type(other) is int:
        if aliases.has_numpy_arguments():
            require_int(other, one.dtype)
    elif isinstance(other, np.ndarray | np.generic):
        require_int(one, other.dtype)
    elif isinstance(other, jax.core.Tracer) and aliases.has_numpy_arguments():
        require_int(one, other.dtype)
        require_int(other, one.dtype)


def is_narrow(dtype: Any) -> bool:
    """Whether integers of a dtype have other bounds than those of the graph."""
    return bool(jnp.issubdtype(dtype, jnp.integer)) and dtype != jnp.result_type(int)


def require_int(number: Any, dtype: Any) -> None:
    """A number, if it is a Python integer, must fit into the integers of an array."""
    if not is_narrow(dtype):
        return
    bounds = _iinfo(dtype)
    if type(number) is int:
        if not bounds.min <= number <= bounds.max:
            raise channels.refuse(_out_of_bounds(number, np.dtype(dtype).name))
        return
    kind = type_of(number)
    if kind.weak and not kind.shape and jnp.issubdtype(kind.dtype, jnp.integer):
        whole = _iinfo(kind.dtype)
        low, high = max(bounds.min, whole.min), min(bounds.max, whole.max)
        if (low, high) != (whole.min, whole.max):
            # the call is computed again with the number itself, if that is an argument
            fail_where(((number < low) | (number > high), too_large()))


def _out_of_bounds(number: int, name: str) -> StagingError:
    return StagingError(
        f"the Python integer {number} is out of bounds for {name}; NumPy raises an OverflowError "
        "there, and JAX cuts the number off",
        code="D2S012",
        site=sites.where(),
        fix=f"an array of more bits (.astype(int)), or a number that fits into {name}",
    )
