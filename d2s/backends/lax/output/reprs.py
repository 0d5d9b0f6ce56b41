"""What objects say of themselves: their `__str__` and `__repr__`, run while the graph is built.

    class Point:
        def __str__(self):
            return f"({self.x}, {self.y})"

    print(p)    ->    the converted `__str__` is called; its f-string is a text with two run-time
                      values, as if it were written in the `print`

Exceptions of Python's own, which have no such method to convert, are shown the way Python does it.
"""

from __future__ import annotations

import re
import types
from collections.abc import Callable
from typing import Any

import jax

from d2s.backends.lax.failures import failing, texts
from d2s.backends.lax.failures.texts import Shown, Text
from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.forms.trees import children
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.reach.mentions import may_print
from d2s.backends.lax.semantics.casts import has_traced
from d2s.backends.lax.trace.questions import unknown
from d2s.errors import ConversionError
from d2s.runtime.calls import fn

_CONTAINERS = (list, tuple, dict)


def speaks(value: Any) -> bool:
    """Whether a value shows itself by code of the user's, or is an exception with run-time values.

    Containers do not: the host makes them again with the values of the run, and shows those.
    """
    if isinstance(value, BaseException) and failing.hides_tracers(value):
        return True
    if scopes.current() is None or isinstance(value, type | Text | str):
        return False  # outside of d2s's graphs, texts are those of plain Python
    if not isinstance(value, BaseException) and children(value) is not None and has_traced(value):
        return False
    return _own(value, "__str__") or _own(value, "__repr__") or _own(value, "__format__")


def _own(value: Any, name: str) -> bool:
    """Whether a method that shows an object is the user's."""
    method = _method(value, name)
    return isinstance(method, types.FunctionType) and sites.is_written_code(method.__code__)


def _method(value: Any, name: str) -> Any:
    method = getattr(type(value), name)
    # A class without a `__str__` of its own is shown by `__repr__`, as Python does it.
    return type(value).__repr__ if method is object.__str__ else method


def spoken(value: Any, how: str, spec: str = "") -> Any:
    """A value in which objects are replaced by what they say of themselves.

    `how` is the way the text is made: "s" for `str`, "r" for `repr`, "" for `format` with the given
    `spec`, and "%" for a template, which is then the `spec`.
    """
    if isinstance(value, Text | str):
        return value
    if how == "%":
        return _in_template(value, spec) if type(value) in (tuple, dict) else _part(value, spec)
    if not how and speaks(value):
        return _formatted(value, spec)
    return _spoken(value, how or "s")


def _in_template(given: Any, template: str) -> Any:
    """The values for a template, each as it shows itself."""
    if type(given) is dict:
        return {name: _part(value, template) for name, value in given.items()}
    return tuple(_part(value, template) for value in given)


def _part(value: Any, template: str) -> Any:
    """One value for a template; a value without run-time values in it is left to Python."""
    if not _holds_tracers(value):
        return value
    # A template with %r or %a may ask for both `__str__` and `__repr__` of its values.
    asks_both = re.search(r"%(\(\w*\))?[^%a-z]*[ra]", template) is not None
    return _spoken(value, "both" if asks_both else "s")


def _holds_tracers(value: Any, depth: int = 0) -> bool:
    if isinstance(value, jax.core.Tracer):
        return True
    if depth > 8 or isinstance(value, type | types.FunctionType | types.ModuleType | str):
        return False
    if isinstance(value, BaseException) and failing.hides_tracers(value):
        return True
    kind: Any = type(value)
    parts = [part for _, part in (children(value) or ((), None))[0]]
    parts += (own_dict(value) or {}).values()
    parts += [getattr(value, name, None) for name in slot_names(kind)]
    return any(_holds_tracers(part, depth + 1) for part in parts)


def _spoken(value: Any, how: str) -> Any:
    if type(value) in _CONTAINERS:
        parts = children(value)
        assert parts is not None, "containers have parts"
        new = [_spoken(part, "r") for _, part in parts[0]]
        same = all(a is b for a, (_, b) in zip(new, parts[0], strict=True))
        return value if same else parts[1](new)
    if not speaks(value):
        return value
    wanted = ("__str__", "__repr__") if how == "both" else ("__str__",) if how == "s" else ()
    wanted = wanted or ("__repr__",)
    if len(wanted) == 2 and any(may_print(_method(value, name)) for name in wanted):
        raise unknown()  # the template may ask for one of them, and each call would print
    said = {name: _said(value, name) for name in wanted}
    return Shown(said.get("__str__"), said.get("__repr__"))


def _formatted(value: Any, spec: str) -> Any:
    if _own(value, "__format__"):
        return Shown(_run(value, "__format__", spec), None, is_formatted=True)
    kind: Any = type(value)
    if kind.__format__ not in (object.__format__, BaseException.__format__):
        return value  # a class of Python's or of a library formats itself, as a date does
    if spec:
        raise TypeError(f"unsupported format string passed to {kind.__name__}.__format__")
    return _spoken(value, "s")


def _said(value: Any, name: str) -> Any:
    """The text that a method of an object gives."""
    if _own(value, name):
        return _run(value, _method(value, name).__name__)
    if isinstance(value, BaseException) and failing.hides_tracers(value):
        return _by_python(value, _method(value, name))
    return getattr(value, name)()


def _run(value: Any, name: str, *args: Any) -> Any:
    method = getattr(type(value), name)
    try:
        call = fn(method)
    except ConversionError:
        call = method
    text = call(value, *args)
    if not isinstance(text, str | Text):
        raise TypeError(f"{name} returned non-string (type {type(text).__name__})")
    return text


def method(function: Any) -> Callable[..., Any] | None:
    """What to call for `super().__str__` or `super().__repr__` in an exception of the user's.

    None for other functions, and for exceptions without run-time values. Python's objects for such
    methods tell by nothing but their names which of the two they are.
    """
    if not isinstance(function, types.MethodWrapperType):
        return None
    error, name = function.__self__, function.__name__
    if name not in ("__str__", "__repr__") or not isinstance(error, BaseException):
        return None
    if not failing.hides_tracers(error):
        return None
    return lambda: _by_python(error, getattr(function.__objclass__, name))


def _by_python(error: Any, method: Any) -> Any:
    """What Python's own exceptions say of themselves, with run-time values in it."""
    failing.spell(error)
    args = error.args
    if method is BaseException.__repr__:
        name = type(error).__name__
        if len(args) == 1:
            return texts.joined([f"{name}(", _field(args[0], "r"), ")"])
        return texts.joined([name, _field(args, "r")])
    if method is KeyError.__str__ and len(args) == 1:
        return _field(args[0], "r")
    if method is OSError.__str__:
        if error.filename is not None:
            files = [file for file in (error.filename, error.filename2) if file is not None]
            template = "[Errno %s] %s: " + " -> ".join(["%r"] * len(files))
            return texts.of((error.errno, error.strerror, *files), "%", template)
        if error.errno is not None and error.strerror is not None:
            return texts.of((error.errno, error.strerror), "%", "[Errno %s] %s")
    known = (BaseException.__str__, KeyError.__str__, OSError.__str__, ImportError.__str__)
    if method not in known:
        raise unknown()
    if not args:
        return ""
    return _field(args[0] if len(args) == 1 else args, "s")


def _field(value: Any, how: str) -> Any:
    value = _spoken(value, how)
    return value if isinstance(value, Text) and how == "s" else texts.of(value, how)


class ObjectQuote(texts.Quote):
    """An object inside an f-string, which is asked for its text when it is formatted."""

    def __format__(self, spec: str) -> str:
        shown = spoken(self.value, self.how, texts.known_letters(spec, self.known))
        if not has_traced(shown):
            return _PLAIN[self.how](shown, spec)
        return format(texts.Quote(shown, self.how, self.known), spec)

    def __str__(self) -> str:
        return format(ObjectQuote(self.value, "s", self.known), "")

    def __repr__(self) -> str:
        return format(ObjectQuote(self.value, "r", self.known), "")


_PLAIN: dict[str, Callable[[Any, str], str]] = {
    "": format,
    "s": lambda value, spec: format(str(value), spec),
    "r": lambda value, spec: format(repr(value), spec),
    "a": lambda value, spec: format(ascii(value), spec),
}
