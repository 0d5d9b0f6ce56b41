"""NumPy arrays as constants of a graph: as they are when they are used, and whole.

Jax takes an array for a constant when it is first used, and takes the same constant again for as
long as that lives, whatever has become of the array since. While d2s builds a graph, each use of
an array is one of what is in it then; an equal constant that is there already is used again.
JAX cuts integers of 64 bits off where it has only 32; those that do not fit are refused.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.backends.lax import private
from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import widths
from d2s.backends.lax.graph import scopes, sites

_new_const: Any = private.DynamicJaxprTrace._new_const
_canonical: Any = private.conversions.canonicalize_value


def as_it_is_now(self: Any, aval: Any, value: Any, *args: Any, **kwargs: Any) -> Any:
    """Stands for `DynamicJaxprTrace._new_const`: a value becomes a constant of a graph."""
    if isinstance(value, np.ndarray) and scopes.current() is not None:
        value = _equal(self.frame, value)
        known = self.frame.constid_to_tracer.get(id(value))
        if known is not None:
            return known
    return _new_const(self, aval, value, *args, **kwargs)


def _equal(frame: Any, array: Any) -> Any:
    """A constant of a graph with the same contents, or a copy that becomes one."""
    for held in list(frame.constvar_to_val.values()):
        if type(held) is type(array) and held.aval == array.aval and _same_bytes(held, array):
            return held
    return array.copy()


def _same_bytes(one: Any, other: Any) -> bool:
    return memoryview(one.ravel().view(np.uint8)) == memoryview(other.ravel().view(np.uint8))


def require(value: Any) -> None:
    """Refuse a NumPy array or scalar whose numbers the graph would not have.

    Floats are rounded in plain JAX, too, up to infinity: where all arguments are jax arrays, that
    is what the program does.
    """
    matters = value.dtype.kind in "iu" or aliases.has_plain_arguments()
    if matters and widths.narrowed(value) is None:
        raise scopes.refuse(widths.refusal(value, "a NumPy value", sites.where()))


def whole(value: Any) -> Any:
    """Stands for JAX's `canonicalize_value`: a value becomes one of the types that JAX has."""
    if isinstance(value, np.ndarray | np.generic) and scopes.current() is not None:
        require(value)
    return _canonical(value)
