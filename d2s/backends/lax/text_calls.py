"""Builtins and methods that make texts of run-time values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from d2s.backends.lax import shows, texts
from d2s.backends.lax.casts import has_traced
from d2s.backends.lax.printing import print_
from d2s.backends.lax.texts import Text

Call = Callable[..., Any]


def _text(plain: Call, how: str) -> Call:
    def show(*args: Any, **kwargs: Any) -> Any:
        spec = args[1] if len(args) == 2 and isinstance(args[1], str) else ""
        args = (*(texts.with_sizes(shows.spoken(a, how, spec)) for a in args[:1]), *args[1:])
        if kwargs or not args or not has_traced(args[0]):
            return plain(*args, **kwargs)
        if how == "s" and isinstance(args[0], Text):
            return args[0]
        return texts.of(args[0], how, *args[1:])

    return show


def of_text(method: Call) -> Call | None:
    """A method of a plain text that makes another one with run-time values in it."""
    letters, name = getattr(method, "__self__", None), getattr(method, "__name__", "")
    if not isinstance(letters, str):
        return None
    if name == "format":
        return lambda *args, **kwargs: texts.of((args, kwargs), "format", letters)
    if name == "join":
        return lambda items: texts.joined([part for item in items for part in (letters, item)][1:])
    return None


TEXTS: dict[Any, Call] = {
    str: _text(str, "s"),
    repr: _text(repr, "r"),
    ascii: _text(ascii, "a"),
    format: _text(format, ""),
    print: print_,
}
