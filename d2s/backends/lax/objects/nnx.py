"""Three things that Flax NNX does to its objects, and that d2s has to know of.

Marks: an object of NNX remembers the trace of JAX that it was made in, and refuses to be changed in
another one, since a change made by an inner trace would leave a value of that behind. What a block
of a graph changes is taken out by d2s, so the trace of a block must not count: `block` tells NNX
that it is still in the trace around. Those of `nnx.grad` and the like count, wherever they are.

Order: whenever one of its transformations has had an object, NNX sorts the attributes by name. That
is no change of the program: their order is put back.

Numbers: NNX keeps them apart from arrays. An attribute that was a number at first never holds an
array.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jax.extend.core import take_current_trace

from d2s.backends.lax.forms.kinds.attributes import own_dict

#: by the identity of the trace of each block that is running, the trace that it counts as
_around: dict[int, Any] = {}
#: the function of `flax.nnx.tracers` that NNX calls to learn which trace it is in
ASKS = "current_jax_trace"


class Hook:
    """What `patches` does once NNX is there: it may be imported in the middle of a graph."""

    #: lets NNX ask for the level of a block
    prepare: Callable[[types.ModuleType], None]


#: stands for a class of NNX that is not there
_MISSING = object()


def is_mark(kind: Any) -> bool:
    """Whether this is the class of the marks that objects of NNX remember their trace by."""
    return kind is getattr(sys.modules.get("flax.nnx.tracers"), "TraceState", _MISSING)


def unordered(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, if they have no order that means anything."""
    kind: Any = type(value)
    return own_dict(value) if _is_sorted(kind) else None


def _is_sorted(kind: Any) -> bool:
    """Whether NNX sorts the attributes; those of a mapping are its items."""
    return _is_of_nnx(kind) and not issubclass(kind, Mapping)


def is_constant(value: Any, name: Any) -> bool:
    """Whether NNX takes an attribute for a constant of the program: it has no arrays there.

    It tells by the first value, and looks at those that come later; a run-time value it does not
    know as an array.
    """
    kind: Any = type(value)
    if not _is_of_nnx(kind) or not getattr(kind, "_pytree__is_pytree", False):
        return False
    return not getattr(value, "_pytree__nodes", {}).get(name, False)


@functools.lru_cache(maxsize=4096)
def _is_of_nnx(kind: Any) -> bool:
    """Whether a class is one of NNX: there is none as long as the package is not loaded."""
    pytree = getattr(sys.modules.get("flax.nnx"), "Pytree", _MISSING)
    return any(base is pytree for base in kind.__mro__)


def keep_order(held: dict[str, Any], before: Iterable[str]) -> None:
    """Put what was there before in the order that it had; what is new comes after it."""
    ordered = {name: held[name] for name in before if name in held} | held
    if list(ordered) != list(held):
        held.clear()
        held.update(ordered)


def block(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that JAX is about to trace as a block: NNX does not see the trace of that."""
    module = sys.modules.get("flax.nnx.tracers")
    if module is None or not hasattr(module, ASKS):
        return function  # NNX is not loaded, so that no object is marked
    Hook.prepare(module)
    level = getattr(module, ASKS)()

    def run(*inputs: Any) -> Any:
        with take_current_trace() as trace:
            _around[id(trace)] = level
        try:
            return function(*inputs)
        finally:
            del _around[id(trace)]

    return run


def knowing_blocks(ask: Callable[[], Any]) -> Any:
    """The function of NNX that tells the trace, which in a block tells the one around."""

    @functools.wraps(ask)
    def level() -> Any:
        if not _around:
            return ask()
        with take_current_trace() as trace:
            around = _around.get(id(trace))
        return ask() if around is None else around

    return level
