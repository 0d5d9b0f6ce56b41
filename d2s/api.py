"""What people use: `to_static`, `convert`, `to_code`, `do_not_convert`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar

from d2s import conversion
from d2s.backends import active, backend
from d2s.errors import ConversionError

F = TypeVar("F", bound=Callable[..., Any])


class StaticFunction:
    """A function that runs as one compiled graph.

    ``original`` is the plain function; ``code`` the generated source.
    """

    def __init__(self, function: types.FunctionType) -> None:
        functools.update_wrapper(self, function)
        self.original = function
        self._converted = conversion.converted(function)
        self._compiled = backend("jax").compile(self._converted)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._compiled(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    @property
    def code(self) -> str:
        return to_code(self.original)

    def __repr__(self) -> str:
        return f"<static {self.original.__qualname__}>"


def to_static(function: Any) -> Any:
    """Run an ordinary function as one XLA graph: its control flow becomes part of the graph.

    Works as a decorator, on functions, methods, lambdas and callable objects.
    """
    if isinstance(function, StaticFunction):
        return function
    if isinstance(function, types.MethodType):
        if isinstance(function.__func__, StaticFunction):
            return function
        return types.MethodType(to_static(function.__func__), function.__self__)
    if isinstance(function, functools.partial):
        return functools.partial(to_static(function.func), *function.args, **function.keywords)
    return StaticFunction(_plain(function))


def convert(function: F) -> F:
    """The rewritten function alone: runs on plain values, composes with jax's transformations."""
    if isinstance(function, StaticFunction):
        return function._converted  # type: ignore[return-value]
    if isinstance(function, types.MethodType):
        return types.MethodType(convert(function.__func__), function.__self__)  # type: ignore[return-value]
    if isinstance(function, functools.partial):
        made = functools.partial(convert(function.func), *function.args, **function.keywords)
        return made  # type: ignore[return-value]
    return conversion.converted(_plain(function))  # type: ignore[return-value]


def to_code(function: Callable[..., Any]) -> str:
    """The generated source of a function."""
    if isinstance(function, StaticFunction):
        function = function.original
    if isinstance(function, types.MethodType):
        return to_code(function.__func__)
    if isinstance(function, functools.partial):
        return to_code(function.func)
    plain = _plain(function)
    original = getattr(plain, "__wrapped__", plain)
    source = conversion.conversion_of(original if conversion.is_made_by_d2s(plain) else plain).source
    return source + "\n"


def do_not_convert(function: F) -> F:
    """Leave a function alone wherever converted code calls it."""
    marked: F = conversion.skip(function)
    return marked


def _plain(function: Any) -> types.FunctionType:
    if isinstance(function, types.FunctionType):
        reason = "" if conversion.is_made_by_d2s(function) else conversion.why_not(function)
        if reason.startswith("it is a generator"):
            conversion.conversion_of(function)  # says what and where
        return function
    call = getattr(type(function), "__call__", None)
    if isinstance(call, types.FunctionType) and not isinstance(function, type):

        @functools.wraps(call)
        def run(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        raise ConversionError(
            f"{type(function).__name__} object: pass its __call__ method",
            fix="d2s.to_static(obj.__call__)",
        )
    raise ConversionError(
        f"{function!r} is not a Python function",
        code="D2S001",
        fix="a function, a method, a lambda or a callable object whose source is Python",
    )


def is_staging() -> bool:
    """Whether a graph is being built right now."""
    return active().staging()
