"""What run-time values are in plain Python, remembered where they come from.

In a graph a Python number looks like an array of a weak type, and so do some arrays: the type alone
does not tell `3` from `jnp.asarray(3)`.
"""

from __future__ import annotations

import weakref
from typing import Any

import jax
import jax.numpy as jnp
from jax._src.array import ArrayImpl

from d2s.backends.lax.dtypes import type_of

#: what a jax array is an instance of; by its name, because an array that is made to ask would
#: start the devices before jax.distributed could
ARRAY: Any = ArrayImpl
_known: dict[int, tuple[Any, type | None]] = {}
#: from how many on those that are gone are looked for; a callback of a weak reference would
#: swallow an interrupt from the keyboard
_MANY = 10_000


def remember(value: Any, kind: type | None) -> Any:
    """The same value, known to be of a Python type; None says that nobody can know."""
    if isinstance(value, jax.core.Tracer):
        if len(_known) > _MANY:
            for key in [key for key, (held, _) in list(_known.items()) if held() is None]:
                _known.pop(key, None)
        _known[id(value)] = weakref.ref(value), kind
    return value


def kind_of(value: Any) -> type | None:
    """The type that a run-time value has in plain Python; None if that is not known."""
    known = _known.get(id(value))
    if known is not None and known[0]() is value:
        return known[1]
    kind = type_of(value)
    return None if kind.weak or (kind.dtype == jnp.bool_ and not kind.shape) else ARRAY
