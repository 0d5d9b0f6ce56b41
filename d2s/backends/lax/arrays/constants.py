"""NumPy arrays as constants of a graph: with the contents of the time of use, and all their bits.

    a = np.zeros(3)
    y = x + a       # JAX makes `a` itself a constant of the graph ...
    a[0] = 1.0      # ... and would show this write in the line above
    z = x + a

JAX keeps a reference to the array and takes the same constant again for the second use. While d2s
builds a graph, each use takes a copy of what is in the array then, or an equal constant that the
graph has already. JAX also cuts integers of 64 bits to 32 without a word where x64 is off; numbers
that do not fit are refused.
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
    """Refuse a NumPy array or scalar with numbers that do not fit into the types of the graph.

    Too large floats become infinite in plain JAX as well: where all arguments are jax arrays, that
    is what the plain program does, and nothing is refused.
    """
    matters = value.dtype.kind in "iu" or aliases.has_plain_arguments()
    if matters and widths.narrowed(value) is None:
        raise scopes.refuse(widths.refusal(value, "a NumPy value", sites.where()))


def whole(value: Any) -> Any:
    """Stands for JAX's `canonicalize_value`: a value becomes one of the types that JAX has."""
    if isinstance(value, np.ndarray | np.generic) and scopes.current() is not None:
        require(value)
    return _canonical(value)
