"""Every change that d2s makes to JAX, and to NumPy, when it is imported.

Run-time values are JAX's tracers, and their class decides what Python's operators do with them.
What plain Python does otherwise with a value is put right here, and only while d2s builds a graph:
in a graph that somebody else builds, a tracer is what JAX made it. How branches and loops are
mapped over lanes is put right everywhere: nobody can tell, but by programs that ran for ever.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.arrays import constants
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.jaxprs.bounded import absent_lanes
from d2s.backends.lax.library import items
from d2s.backends.lax.objects import refs
from d2s.backends.lax.private import SymbolicDimension
from d2s.backends.lax.semantics import answers, arithmetic, classes
from d2s.backends.lax.semantics.casts import refuse
from d2s.backends.lax.trace import questions
from d2s.runtime.items import AUGMENTED

_Tracer: Any = jax.core.Tracer
_Dimension: Any = SymbolicDimension


def install() -> None:
    """From now on, for the whole process."""
    # `array += tracer` would quietly give the name a new array instead of changing the old one,
    # which other names may have; NumPy then refuses to do it, and still leaves `array + tracer`
    # to jax
    _Tracer.__array_ufunc__ = None
    # `x += v` is a write where `x` is a NumPy array in plain Python; elsewhere it stays `x = x + v`
    for change in AUGMENTED.values():
        own = arithmetic.in_place(change, _in_place(change))
        setattr(_Tracer, f"__{change.__name__}__", own)
    arithmetic.install(_Tracer)
    answers.install(_Tracer)
    # a handler of the user's knows what Python says of an attribute that is not there
    _Tracer.__getattr__ = classes.attribute(_Tracer.__getattr__)
    # what a tracer, or a named dimension, says of itself is no text of the program's, and that it
    # has no truth and no number is nothing that a library may pass over
    _Tracer.__format__ = object.__format__
    for kind in (_Tracer, *_below(_Tracer), _Dimension):
        for name, guard in _GUARDS.items():
            if name in vars(kind):
                setattr(kind, name, guard(getattr(kind, name)))
    _Tracer.flat = property(functools.partial(_flat, _Tracer.flat.fget))
    # `np.mgrid` takes the error about a run-time value for one about its own key
    for grid in (np.mgrid, np.ogrid):
        key: Any = type(grid)
        key.__getitem__ = _known_key(key.__getitem__)
    constants.install()
    absent_lanes.install()
    # a reference that the graph has no copy of is not read and written behind its back
    for name in ("__getitem__", "__setitem__"):
        setattr(refs.REF, name, _not_in_a_graph(getattr(refs.REF, name)))


def _not_in_a_graph(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def ask(ref: Any, *args: Any) -> Any:
        refs.refuse_real(ref)
        return method(ref, *args)

    return ask


_GUARDS: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("__str__", "__repr__", "__format__"), questions.guarded),
    **dict.fromkeys(
        ("__bool__", "__int__", "__float__", "__complex__", "__index__"), questions.kept
    ),
}


def _below(kind: Any) -> list[Any]:
    return [one for child in kind.__subclasses__() for one in (child, *_below(child))]


def _known_key(get: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def item(grid: Any, key: Any) -> Any:
        if scopes.current() is not None and items.has_traced(key):
            raise scopes.refuse(items.needs_position("a grid of NumPy's"))
        return get(grid, key)

    return item


def _flat(get: Callable[[Any], Any], array: Any) -> Any:
    """JAX has no `x.flat` and says so, in an error that a handler of the user's could catch."""
    if scopes.current() is not None:
        raise scopes.refuse(
            refuse("x.flat of a run-time value", "x.reshape(-1), or x.ravel()", code="D2S021")
        )
    return get(array)


def _in_place(change: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda old, value: items.in_place(change, old, value)
