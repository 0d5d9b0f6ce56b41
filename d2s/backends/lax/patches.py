"""Every change that d2s makes to a class, a module or a table of somebody else's.

Run-time values are JAX's tracers, and their class decides what Python's operators do with them.
`x += v`, for example, gives the name `x` a new tracer in JAX; where `x` is a NumPy array in plain
Python it is a write into that array, so tracers get an `__iadd__` that knows of it:

    _Tracer, "__iadd__", <what writes, while d2s builds a graph; else x + v>

What a change says is in the room that it is about; that it is made is said here, and nowhere else.
All of them hold for the whole process from `install()` on, because a class cannot be changed for
one thread. So each replacement asks first whether it is meant: whether this thread builds a graph
of d2s's, or saves one. In a graph that somebody else builds, and in every other thread, it answers
as JAX, NumPy or Flax would. Only how branches and loops are mapped over lanes is put right for
everybody, which nobody can tell but by programs that ran for ever.

`installed()` lists the changes, `uninstall()` takes them back.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.interpreters import batching

from d2s.backends.lax import private
from d2s.backends.lax.arrays import constants
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.jaxprs.bounded import absent_lanes
from d2s.backends.lax.library import augmented, items
from d2s.backends.lax.objects import nnx, refs
from d2s.backends.lax.saving import named_sizes
from d2s.backends.lax.semantics import answers, arithmetic, classes
from d2s.backends.lax.semantics.casts import refuse
from d2s.backends.lax.trace import questions
from d2s.runtime.items import AUGMENTED

_Tracer: Any = jax.core.Tracer
_Dimension: Any = private.SymbolicDimension

#: what a class without a method of its own had in its place
_NOTHING = object()


class Patch(NamedTuple):
    """One change: an attribute of a class or a module, or an entry of a table."""

    owner: Any
    name: Any
    before: Any

    def __str__(self) -> str:
        name = getattr(self.owner, "__qualname__", getattr(self.owner, "__name__", "a table"))
        return f"{name}.{self.name}"


_lock = threading.RLock()
_patches: list[Patch] = []


def install() -> None:
    """Make all changes, for the whole process; the second call does nothing."""
    with _lock:
        if not _patches:
            # one after the other: a change may be made to what an earlier one has put there
            for owner, name, new in _changes():
                _put(owner, name, new)


def installed() -> tuple[Patch, ...]:
    """The changes that hold now, in the order in which they were made."""
    return tuple(_patches)


def uninstall() -> None:
    """Take all changes back, the last one first. No graph may be under construction."""
    with _lock:
        while _patches:
            owner, name, before = _patches.pop()
            if isinstance(owner, dict):
                owner[name] = before
            elif before is _NOTHING:
                delattr(owner, name)
            else:
                setattr(owner, name, before)


def _put(owner: Any, name: Any, new: Any) -> None:
    if isinstance(owner, dict):
        _patches.append(Patch(owner, name, owner[name]))
        owner[name] = new
    else:
        # not getattr: that would find what a class has inherited
        _patches.append(Patch(owner, name, vars(owner).get(name, _NOTHING)))
        setattr(owner, name, new)


def _changes() -> Iterator[tuple[Any, Any, Any]]:
    """What is changed, what it is called there, and what stands there from now on."""
    yield from _operators()
    yield from _values_of_tracers()
    yield from _questions()
    yield from _constants()
    for name, method in named_sizes.replacements().items():
        yield _Dimension, name, method
    # a reference that the graph has no copy of is not read and written behind its back
    for name in ("__getitem__", "__setitem__"):
        yield refs.REF, name, _not_in_a_graph(getattr(refs.REF, name))
    for primitive, rule in absent_lanes.BATCHERS.items():
        yield batching.fancy_primitive_batchers, primitive, rule


def _operators() -> Iterator[tuple[Any, str, Any]]:
    # `array += tracer` would quietly give the name a new array instead of changing the old one,
    # which other names may have; NumPy then refuses to do it, and still leaves `array + tracer`
    # to jax
    yield _Tracer, "__array_ufunc__", None
    # `x += v` is a write where `x` is a NumPy array in plain Python; elsewhere it stays `x = x + v`
    for change in AUGMENTED.values():
        own = arithmetic.in_place(change, _in_place(change))
        yield _Tracer, f"__{change.__name__}__", own
    for name, method in arithmetic.methods(_Tracer):
        yield _Tracer, name, method


def _values_of_tracers() -> Iterator[tuple[Any, str, Any]]:
    for name, method in answers.methods(_Tracer).items():
        yield _Tracer, name, method
    # a handler of the user's knows what Python says of an attribute that is not there
    yield _Tracer, "__getattr__", classes.attribute(_Tracer.__getattr__)
    yield _Tracer, "flat", property(functools.partial(_flat, _Tracer.flat.fget))


def _questions() -> Iterator[tuple[Any, str, Any]]:
    """The text of a tracer or a named dimension is no text of the program's.

    That it has no truth and no number is nothing that a library may pass over.
    """
    yield _Tracer, "__format__", object.__format__
    for kind in (_Tracer, *_below(_Tracer), _Dimension):
        for name, guard in _GUARDS.items():
            if name in vars(kind):
                yield kind, name, guard(getattr(kind, name))


def _constants() -> Iterator[tuple[Any, str, Any]]:
    # `np.mgrid` takes the error about a run-time value for one about its own key
    for grid in (np.mgrid, np.ogrid):
        kind: Any = type(grid)
        yield kind, "__getitem__", _known_key(kind.__getitem__)
    yield private.conversions, "canonicalize_value", constants.whole
    yield private.DynamicJaxprTrace, "_new_const", constants.as_it_is_now


def _prepare_nnx(module: types.ModuleType) -> None:
    """Change Flax as well, which somebody has imported meanwhile."""
    if any(patch.owner is module for patch in reversed(_patches)):
        return
    with _lock:
        if not any(patch.owner is module for patch in _patches):
            _put(module, nnx.ASKS, nnx.knowing_blocks(getattr(module, nnx.ASKS)))


nnx.Hook.prepare = staticmethod(_prepare_nnx)


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
    return lambda old, value: augmented.in_place(change, old, value)
