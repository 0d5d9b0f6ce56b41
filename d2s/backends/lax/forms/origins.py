"""What run-time values are in plain Python: a Python number, a NumPy scalar, or an array.

    n = 3                 # as an argument: the tracer is remembered as an `int`
    m = n + 1             # Python's operator on two ints: an `int`
    x = jnp.sin(n)        # JAX makes it: an array
    y = n if c else x     # joined of both: nobody can know, the kind is None

In a graph a Python number looks like an array of a weak type, and so do some arrays: the type alone
does not tell `3` from `jnp.asarray(3)`. So the kind of a value is remembered where the value is
made: arguments, Python's operators, builtins, and what branches and loops join. Whatever JAX itself
makes is an array.
"""

from __future__ import annotations

import weakref
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.private import ArrayImpl

#: the class of jax arrays; it is imported, because to make an array and ask for its class would
#: start the devices before jax.distributed could
ARRAY: Any = ArrayImpl
#: a scalar of NumPy's: no Python number, and no array of JAX's
NUMPY: Any = np.generic
#: the kinds of Python numbers; from `int` on, each of them holds the numbers of those before it
PYTHON = (bool, int, float, complex)
#: the kind of Python number that a dtype stands for, by the letter of its kind
PYTHON_KINDS: dict[str, Any] = {
    **{"b": bool, "i": int, "u": int, "f": float, "V": float, "c": complex}
}

#: for a run-time value, by its identity: a reference to it, and its kind
_known: dict[int, tuple[Any, Any]] = {}
#: the size of a dict from which on values that are gone are looked for; it is not done by callbacks
#: of weak references, because those would swallow an interrupt from the keyboard
_MANY = 10_000


def remember(value: Any, kind: Any) -> Any:
    """The same value, remembered to be of a kind; None says that nobody can know."""
    if isinstance(value, jax.core.Tracer):
        _drop(_known)
        _known[id(value)] = weakref.ref(value), kind
    return value


#: for each of the dicts, by its identity, the size at which it is looked through the next time
_limits: dict[int, int] = {}


def _drop(known: dict[int, Any]) -> None:
    """Forget values that are gone, once there are twice as many as the last time."""
    if len(known) > _limits.get(id(known), _MANY):
        for key in [key for key, (held, _) in list(known.items()) if held() is None]:
            known.pop(key, None)
        _limits[id(known)] = max(_MANY, 2 * len(known))


def kind_of(value: Any) -> Any:
    """The kind that a value has in plain Python; None if it may be a Python number or an array."""
    if isinstance(value, jax.core.Tracer):
        known = _known.get(id(value))
        return known[1] if known is not None and known[0]() is value else ARRAY
    if type(value) in PYTHON:
        return type(value)
    return NUMPY if isinstance(value, np.generic) else ARRAY


def as_kind(value: Any, kind: Any) -> Any:
    """The value as one of another kind; other holders of the value keep the kind that it has."""
    if not isinstance(value, jax.core.Tracer) or kind_of(value) is kind:
        return value
    return remember(_same_value(value), kind)


def made(value: Any, kind: Any) -> Any:
    """The result of an operation, with its kind; JAX may have given back one of the operands."""
    if kind is ARRAY or not isinstance(value, jax.core.Tracer):
        return value
    known = _known.get(id(value))
    is_known = known is not None and known[0]() is value
    return as_kind(value, kind) if is_known else remember(value, kind)


def _same_value(tracer: Any) -> Any:
    """Another object for the same value of a graph, without an equation."""
    kind: Any = type(tracer)
    other = object.__new__(kind)
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name != "__weakref__" and hasattr(tracer, name):
                setattr(other, name, getattr(tracer, name))
    for name, held in getattr(tracer, "__dict__", {}).items():
        setattr(other, name, held)
    return other


#: for arrays that calls have left in objects where plain Python has numbers, by their identity: a
#: reference, and the kind of number
LEFT: dict[int, tuple[Any, Any]] = {}


def left(array: Any, kind: Any) -> Any:
    """The same array, which stands for a Python number in the objects of the program."""
    if isinstance(array, ARRAY):
        _drop(LEFT)
        LEFT[id(array)] = weakref.ref(array), kind
    return array


def left_kind(array: Any) -> Any:
    """The kind of Python number that an array in an object stands for; None for all others."""
    known = LEFT.get(id(array))
    return known[1] if known is not None and known[0]() is array else None


def joined(one: Any, other: Any) -> Any:
    """The kind of a value that is of one kind or of another, as a run-time value decides."""
    if one is other:
        return one
    if one in PYTHON and other in PYTHON:
        return max(one, other, key=PYTHON.index)
    arrays = (ARRAY, NUMPY)
    return NUMPY if one in arrays and other in arrays else None
