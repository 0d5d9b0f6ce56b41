"""Builtins and methods that make texts of run-time values.

    "{:.2f} of {}".format(x, n)    ->    a `Text` with the values `x` and `n`, filled in by the host

Python's own `str.format` reads the template: the values are handed to it in parts that leave marks
in the letters, and the marks are read afterwards.
"""

from __future__ import annotations

import functools
import string
import types
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

from d2s.backends.lax.failures import texts
from d2s.backends.lax.failures.texts import Text
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.library.items import items
from d2s.backends.lax.output import reprs
from d2s.backends.lax.output.printing import print_
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics import classes
from d2s.backends.lax.semantics.casts import has_traced
from d2s.backends.lax.trace.questions import unknown
from d2s.runtime.calls import fn

Call = Callable[..., Any]


def _text(plain: Call, how: str) -> Call:
    """What to call for `str`, `repr`, `ascii` or `format`, given the function and its letter."""

    def show(*args: Any, **kwargs: Any) -> Any:
        spec = args[1] if len(args) == 2 and isinstance(args[1], str) else ""
        args = (*(texts.with_sizes(reprs.spoken(a, how, spec)) for a in args[:1]), *args[1:])
        if kwargs or not args or not has_traced(args[0]):
            return plain(*args, **kwargs)
        if any(isinstance(arg, Text) for arg in args[1:]):
            raise unknown()
        if how == "s" and isinstance(args[0], Text):
            return args[0]
        return texts.of(args[0], how, *args[1:])

    return show


def quoted(value: Any, how: str) -> Any:
    """What stands for a value inside an f-string or a template, whose letters d2s reads later."""
    if reprs.speaks(value):
        return reprs.ObjectQuote(value, how, scopes.root().quotes)
    value = texts.with_sizes(value)
    if not has_traced(value):
        return _CONVERSIONS[how](value)
    return texts.Quote(value, how, scopes.root().quotes)


_CONVERSIONS: dict[str, Call] = {"": lambda value: value, "s": str, "r": repr, "a": ascii}


def percent(template: Any, values: Any) -> Any:
    """`%`, with a text on the left or without."""
    if isinstance(template, str):
        values = texts.with_sizes(reprs.spoken(values, "%", template))
        if has_traced(values):
            return texts.of(values, "%", template)
        if texts.holds_ours(values):
            raise unknown()
    return template % values


def of_text(method: Call) -> Call | None:
    """What to call instead of a method of a plain text that takes run-time values; or None."""
    letters = getattr(method, "__self__", None)
    if not isinstance(letters, str):
        return None
    if method == str.join.__get__(letters):
        return lambda parts: _joined(method, letters, parts)
    if scopes.current() is None:
        return None
    if method == str.format.__get__(letters):
        return lambda *args, **kwargs: _filled(method, letters, args, kwargs)
    if method == str.format_map.__get__(letters):
        return lambda mapping: _filled(method, letters, (mapping,), {}, _Parts)
    if method == str.__mod__.__get__(letters):
        return lambda values: percent(letters, values)
    return None


def _filled(
    method: Call, template: str, args: Any, kwargs: dict[str, Any], part: Any = None
) -> Any:
    """A template with values, filled by Python's own method: parts that leave marks stand for them.

    `part` is the class of the parts, if they are no plain values.
    """
    asked: set[str | None] = set()
    with suppress(ValueError):  # the method itself raises the error about a wrong template
        asked.update(conversion for *_, conversion in string.Formatter().parse(template))
    make = functools.partial(part or _TextPart, "a" if "a" in asked else "r")
    if {"a", "r"} <= asked:
        make = functools.partial(part or _TextPart, None)
    letters = method(*map(make, args), **{key: make(value) for key, value in kwargs.items()})
    return texts.read(letters, scopes.root().quotes)


def _joined(join: Call, letters: str, parts: Any) -> Any:
    parts = list(parts) if isinstance(parts, Iterator) else parts
    if not has_traced(parts):
        return join(parts)
    if is_traced(parts) and not parts.shape:
        raise TypeError("can only join an iterable")
    for number, part in enumerate(parts):
        if not isinstance(part, str | Text):
            kind = classes.type_(part).__name__
            raise TypeError(f"sequence item {number}: expected str instance, {kind} found")
    return texts.joined([each for part in parts for each in (letters, part)][1:])


class _TextPart:
    """Stands for a value in a template of `str.format`, which asks for attributes and items of it.

    It has no attributes of its own, since a template may ask for any name. For `!a` Python asks for
    the `repr` as well, so `by_repr` tells which of `!r` and `!a` the template has; None for both.
    """

    __slots__ = ("by_repr", "value")

    def __init__(self, by_repr: str | None, value: Any) -> None:
        _by_repr.__set__(self, by_repr)
        _value.__set__(self, value)

    def __getattribute__(self, name: str) -> Any:
        return _TextPart(_by_repr.__get__(self), classes.getattr_(_value.__get__(self), name))

    def __getitem__(self, key: Any) -> Any:
        return _TextPart(_by_repr.__get__(self), items(_value.__get__(self))[key])

    def __format__(self, spec: str) -> str:
        return _formatted(_value.__get__(self), "", spec)

    def __str__(self) -> str:
        return _Converted(_value.__get__(self), "s")

    def __repr__(self) -> str:
        how, value = _by_repr.__get__(self), _value.__get__(self)
        if how is not None:
            return _Converted(value, how)
        shown = quoted(value, "r")
        if not isinstance(shown, str):
            raise unknown()
        return shown


_by_repr, _value = (vars(_TextPart)[name] for name in ("by_repr", "value"))


class _Converted(str):
    """A part after `!s`, `!r` or `!a`: a format that follows is one for the whole text."""

    value: Any
    how: str

    def __new__(cls, value: Any, how: str) -> _Converted:
        made = super().__new__(cls)
        made.value, made.how = value, how
        return made

    def __format__(self, spec: str) -> str:
        return _formatted(self.value, self.how, spec)


def _formatted(value: Any, how: str, spec: str) -> str:
    spec = texts.known_letters(spec, scopes.root().quotes)
    return format(quoted(value, how), spec)


class _Parts:
    """Stands for the mapping of `str.format_map`."""

    def __init__(self, by_repr: str | None, mapping: Any) -> None:
        self._by_repr, self._mapping = by_repr, mapping

    def __getitem__(self, key: str) -> Any:
        return _TextPart(self._by_repr, items(self._mapping)[key])


def unbound(function: Any) -> Call | None:
    """What to call instead of a method that is called on its class, ``str.format(text, ...)``.

    The method is called on the object, as ``text.format(...)``. None for anything else.
    """
    if not isinstance(function, types.MethodDescriptorType | types.WrapperDescriptorType):
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        owner = str(args[0]) if args and isinstance(args[0], Text) else (*args, None)[0]
        if not args or not isinstance(owner, function.__objclass__):
            return function(*args, **kwargs)  # Python raises its own error
        return fn(function.__get__(owner, type(owner)))(*args[1:], **kwargs)

    return call


TEXTS: dict[Any, Call] = {
    str: _text(str, "s"),
    repr: _text(repr, "r"),
    ascii: _text(ascii, "a"),
    format: _text(format, ""),
    print: print_,
}
