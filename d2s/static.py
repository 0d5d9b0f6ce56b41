"""What a static function is, whatever engine runs it."""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

from d2s import conversion
from d2s.errors import ConversionError
from d2s.libraries import is_library_file
from d2s.options import PLAIN, Options
from d2s.recursion import deep


class StaticFunction:
    """A function that runs as one compiled graph; a backend says how it is called.

    ``original`` is the plain function, ``code`` the generated source, ``options`` what was asked
    for.
    """

    def __init__(self, original: Any, options: Options = PLAIN) -> None:
        plain, self.bound, self.keywords = parts(original)
        functools.update_wrapper(self, plain)
        self.original, self.options = original, options
        self.function = conversion.converted(plain)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError  # pragma: no cover - every backend has its own

    def eagerly(self, *args: Any, **kwargs: Any) -> Any:
        """The converted code on the values themselves, without a graph."""
        with deep:
            return self.function(*self.bound, *args, **{**self.keywords, **kwargs})

    def __reduce__(self) -> Any:
        """Pickled by name, as functions are; where another thing has the name, by the original."""
        found: Any = sys.modules.get(self.__module__)
        path: str = self.function.__qualname__
        for name in path.split("."):
            found = getattr(found, name, None)
        return path if found is self else (_compiled, (self.original, self.options))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def code(self) -> str:
        return conversion.source_of(self.function)

    def __repr__(self) -> str:
        return f"<static {self.function.__qualname__}>"


def _compiled(original: Any, options: Options) -> Any:
    from d2s import api

    return api._to_static(options, original)


def parts(function: Any) -> tuple[types.FunctionType, tuple[Any, ...], dict[str, Any]]:
    """The Python function behind a callable, and the arguments it is bound to."""
    if isinstance(function, types.FunctionType):
        if is_library_file(function.__code__.co_filename) and not conversion.is_made_by_d2s(
            function
        ):
            raise ConversionError(
                f"{function.__module__}.{function.__qualname__} belongs to a library",
                code="D2S001",
                fix="a function of your own that calls it: d2s converts what you hand to it",
            )
        if not conversion.is_made_by_d2s(function):
            conversion.conversion_of(function)
        return function, (), {}
    if isinstance(function, types.MethodType):
        plain, bound, keywords = parts(function.__func__)
        return plain, (*bound, function.__self__), keywords
    if isinstance(function, functools.partial):
        plain, bound, keywords = parts(function.func)
        return plain, (*bound, *function.args), {**keywords, **function.keywords}
    if isinstance(function, StaticFunction):
        return parts(function.original)
    call = type(function).__call__ if callable(function) else None
    if isinstance(call, types.FunctionType) and not isinstance(function, type):
        plain, bound, keywords = parts(call)
        return plain, (*bound, function), keywords
    if isinstance(function, type):
        raise ConversionError(
            f"{function.__qualname__} is a class",
            code="D2S001",
            fix="d2s.to_static above its methods, or on an object of the class",
        )
    raise ConversionError(
        f"{function!r} is not a Python function",
        code="D2S001",
        fix="a function, a method, a lambda or a callable object whose source is Python",
    )
