"""Why a graph was built: what is other than it was, by the name of the argument."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from d2s.backends.lax.keys import Changing, Itself, Node, Static
from d2s.backends.lax.state import Taken


class Span(NamedTuple):
    """An argument, and where its parts end in the key and among the leaves of a call."""

    name: str
    key: int
    leaves: int


def spans(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    pinned: dict[int, Any],
) -> list[Span]:
    """The arguments of a call in the order of its key; made only when a graph is built."""
    named, values = tuple(kwargs), tuple(kwargs.values())

    def taken(some: tuple[Any, ...], others: tuple[Any, ...] | None) -> Taken:
        found = Taken(pinned)
        found.take(some, True)
        if others is not None:
            found.take(named, True)
            found.take(others, True)
        return found

    names = _positional(function, len(args))
    found = [(name, taken(args[: n + 1], None)) for n, name in enumerate(names)]
    found += [(name, taken(args, values[: n + 1])) for n, name in enumerate(named)]
    return [Span(name, len(part.key), len(part.leaves)) for name, part in found]


def _positional(function: Callable[..., Any], count: int) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [*names, *(f"{rest}[{n}]" for n in range(count - len(names)))][:count]


def other_types(before: tuple[str, ...], now: tuple[str, ...], known: Iterable[Span] | None) -> str:
    """The reason for a graph when everything but the types of inputs is as it was."""
    changed = [
        f"{_name(n, known, 'leaves')}{a} became {b}"
        for n, (a, b) in enumerate(zip(before, now, strict=False))
        if a != b
    ]
    return f"another type: {', '.join(changed)}" if changed else "it was built again"


def why(built: Iterable[tuple[Any, ...]], now: tuple[Any, ...], known: Iterable[Span]) -> str:
    """The reason for a graph with another key: where it differs from the one most like it."""
    likes = [
        [(n, *pair) for n, pair in enumerate(zip(key, now, strict=False)) if pair[0] != pair[1]]
        for key in built
    ]
    if not likes:
        return "the first call"
    for n, old, new in min(reversed(likes), key=len):
        name = _name(n, known, "key")
        if isinstance(old, Static) and isinstance(new, Static):
            return f"another static value: {name}{old.value!r} became {new.value!r}"
        if isinstance(old, Node) and isinstance(new, Node) and old.kind is new.kind:
            return f"{name}a {old.kind.__name__} with other entries"
        return f"another kind: {name}{_token(old)} became {_token(new)}"
    return "it reaches other objects"


def _name(position: int, known: Iterable[Span] | None, what: str) -> str:
    """The argument that a part belongs to; none for what is found by way of names."""
    for span in known or ():
        if position < getattr(span, what):
            return f"{span.name}: "
    return ""


def _token(token: Any) -> str:
    if isinstance(token, type):
        is_array = issubclass(token, jax.Array | np.ndarray)
        return "an array" if is_array else f"a Python {token.__name__}"
    if isinstance(token, Static | Itself):
        return repr(token.value)
    if isinstance(token, Changing):
        return "a number that changes"
    if isinstance(token, Node):
        return f"a {token.kind.__name__}"
    return "an object"
