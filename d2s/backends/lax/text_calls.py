"""Builtins and methods that make texts of run-time values, and prints that d2s would not see."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

from d2s.backends.lax import channels, texts
from d2s.backends.lax.casts import has_traced, refuse
from d2s.backends.lax.printing import print_
from d2s.backends.lax.texts import Text

Call = Callable[..., Any]


def _text(plain: Call, how: str) -> Call:
    def show(*args: Any, **kwargs: Any) -> Any:
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


def refuse_unseen_print(function: Any) -> None:
    """A print in code that is not converted would show only while the graph is built."""
    if may_print(function):
        label = getattr(function, "__qualname__", repr(function))
        raise refuse(
            f"{label} prints, and d2s does not convert it: it would print only once",
            "a plain function, which d2s converts, or the print outside of it",
            code="D2S023",
        )


def may_print(function: Any) -> bool:
    """Whether code of the user's mentions `print`, or others that do."""
    return _mentions_print(function, set())


def _mentions_print(function: Any, seen: set[int]) -> bool:
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if not isinstance(function, types.FunctionType) or not channels.is_user_code(function.__code__):
        return False
    known, codes = function.__globals__, [code]
    while codes:
        code = codes.pop()
        if code is None or id(code) in seen:
            continue
        seen.add(id(code))
        if not any("callback" in name for name in code.co_names):
            # what is handed to a callback of jax's runs with the graph
            codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        for name in code.co_names:
            if name == "print" and name not in known:
                return True
            if name in known and _mentions_print(known[name], seen):
                return True
    return False


TEXTS: dict[Any, Call] = {
    str: _text(str, "s"),
    repr: _text(repr, "r"),
    ascii: _text(ascii, "a"),
    format: _text(format, ""),
    print: print_,
}
