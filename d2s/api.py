"""What people use: `to_static`, `convert`, `to_code`, `do_not_convert`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from d2s import conversion
from d2s.backends import backend
from d2s.errors import ConversionError, without_own_frames
from d2s.libraries import is_library_file

F = TypeVar("F", bound=Callable[..., Any])


class StaticFunction:
    """A function that runs as one compiled graph.

    ``original`` is the plain function; ``code`` the generated source.
    """

    def __init__(self, original: Any) -> None:
        function, bound, keywords = _parts(original)
        functools.update_wrapper(self, function)
        self.original = original
        self._bound, self._keywords = bound, keywords
        self._compiled = backend("jax").compile(conversion.converted(function))
        self._simple = not bound and not keywords

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._simple:
                return self._compiled(*args, **kwargs)
            return self._compiled(*self._bound, *args, **{**self._keywords, **kwargs})
        except Exception as error:
            raise without_own_frames(error)  # noqa: B904 - the cause, if any, is kept

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def code(self) -> str:
        return to_code(self.original)

    def __repr__(self) -> str:
        return f"<static {self.__qualname__}>"  # type: ignore[attr-defined]


def to_static(function: Any) -> Any:
    """Run an ordinary function as one XLA graph: its control flow becomes part of the graph.

    Works as a decorator, on functions, methods, lambdas, partials and callable objects.
    """
    if isinstance(function, StaticFunction):
        return function
    if isinstance(function, types.MethodType) and isinstance(function.__func__, StaticFunction):
        return function
    return StaticFunction(function)


def convert(function: F) -> F:
    """The rewritten function alone: runs on plain values, composes with jax's transformations."""
    if isinstance(function, StaticFunction):
        return convert(function.original)
    plain, bound, keywords = _parts(function)
    made = cast(F, conversion.converted(plain))
    if keywords or len(bound) > 1:
        return cast(F, functools.partial(made, *bound, **keywords))
    return cast(F, types.MethodType(made, bound[0])) if bound else made


def to_code(function: Callable[..., Any]) -> str:
    """The generated source of a function."""
    if isinstance(function, StaticFunction):
        return to_code(function.original)
    plain, _, _ = _parts(function)
    if conversion.is_made_by_d2s(plain):
        plain = plain.__wrapped__  # type: ignore[attr-defined]
    return conversion.conversion_of(plain).source + "\n"


def do_not_convert(function: F) -> F:
    """Leave a function alone wherever converted code calls it."""
    marked: F = conversion.skip(function)
    return marked


def _parts(function: Any) -> tuple[types.FunctionType, tuple[Any, ...], dict[str, Any]]:
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
        plain, bound, keywords = _parts(function.__func__)
        return plain, (*bound, function.__self__), keywords
    if isinstance(function, functools.partial):
        plain, bound, keywords = _parts(function.func)
        return plain, (*bound, *function.args), {**keywords, **function.keywords}
    if isinstance(function, StaticFunction):
        return _parts(function.original)
    call = type(function).__call__ if callable(function) else None
    if isinstance(call, types.FunctionType) and not isinstance(function, type):
        plain, bound, keywords = _parts(call)
        return plain, (*bound, function), keywords
    raise ConversionError(
        f"{function!r} is not a Python function",
        code="D2S001",
        fix="a function, a method, a lambda or a callable object whose source is Python",
    )
