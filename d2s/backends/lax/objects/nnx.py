"""What Flax NNX does to its objects, and nothing of the user's does to others.

It tells levels of tracing apart by marks in them.

An object of NNX may be changed only by code of the trace that it was made in, since a change made
by an inner one would leave a value of that behind. What a block of a graph changes is taken out of
it by d2s: to NNX, a block is no level of its own but belongs to the one around it. The levels of
`nnx.grad` and its kin stay what they are, inside of blocks and around them.

It sorts their attributes by name whenever one of its transformations has had them. That is no
change which a branch could make or not make, nor one that needs another graph: their order stays.

It keeps numbers apart from arrays: an attribute that was a number at first never holds an array.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from jax.extend.core import take_current_trace

from d2s.backends.lax.objects.slots import own_dict

#: the traces of the blocks that are running, by identity, and the level that each belongs to
_around: dict[int, Any] = {}
#: the function of NNX's that tells it in which trace it is
ASKS = "current_jax_trace"


class Hook:
    """What `patches` does once NNX is there: it may be imported in the middle of a graph."""

    #: lets NNX ask for the level of a block
    prepare: Callable[[types.ModuleType], None]


def is_mark(kind: Any) -> bool:
    """Whether this is the class of NNX's marks: one that is made says where it was made."""
    return bool(kind.__name__ == "TraceState" and kind.__module__.startswith("flax.nnx"))


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
    return any(b.__name__ == "Pytree" and b.__module__.startswith("flax.nnx") for b in kind.__mro__)


def keep_order(held: dict[str, Any], before: Iterable[str]) -> None:
    """Put what was there before in the order that it had; what is new comes after it."""
    ordered = {name: held[name] for name in before if name in held} | held
    if list(ordered) != list(held):
        held.clear()
        held.update(ordered)


def block(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that jax is about to trace as a block of the graph: it stays on this level."""
    module = sys.modules.get("flax.nnx.tracers")
    if module is None or not hasattr(module, ASKS):
        return function  # nobody uses it, so that nothing is marked
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
    """The function of NNX's that tells where it is, and takes a block for a part of its level."""

    @functools.wraps(ask)
    def level() -> Any:
        if not _around:
            return ask()
        with take_current_trace() as trace:
            around = _around.get(id(trace))
        return ask() if around is None else around

    return level
