"""What people use: `to_static`, `convert`, `to_code`, `generated`, `do_not_convert`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any, TypeVar, cast

from d2s import conversion
from d2s.backends import backend
from d2s.static import StaticFunction, parts

F = TypeVar("F", bound=Callable[..., Any])


def to_static(function: Any) -> Any:
    """Run an ordinary function as one XLA graph: its control flow becomes part of the graph.

    Works as a decorator, on functions, methods, lambdas, partials and callable objects. Generators
    and coroutines have no graph: they run as they are, and the logger ``d2s`` says so.
    """
    if isinstance(function, StaticFunction):
        return function
    if isinstance(function, _DESCRIPTORS):
        return _inside(function, to_static)
    if isinstance(function, types.MethodType) and isinstance(function.__func__, StaticFunction):
        return function
    if conversion.runs_later(function) and conversion.runs_as_it_is(function):
        return function
    return backend("jax").compile(function)


def convert(function: F) -> F:
    """The rewritten function alone: runs on plain values, composes with jax's transformations."""
    if isinstance(function, StaticFunction):
        return cast(F, convert(function.original))
    if isinstance(function, _DESCRIPTORS):
        return cast(F, _inside(function, convert))
    if conversion.runs_later(function) and conversion.runs_as_it_is(function):  # type: ignore[arg-type]
        return function
    plain, bound, keywords = parts(function)
    made = cast(F, conversion.converted(plain))
    if keywords or len(bound) > 1:
        return cast(F, functools.partial(made, *bound, **keywords))
    return cast(F, types.MethodType(made, bound[0])) if bound else made


_DESCRIPTORS = (staticmethod, classmethod, property)


def _inside(descriptor: Any, change: Callable[[Any], Any]) -> Any:
    """A descriptor of a class around changed functions: decorators may stand in any order."""
    if isinstance(descriptor, property):
        get, put, drop = (
            part and change(part) for part in (descriptor.fget, descriptor.fset, descriptor.fdel)
        )
        return property(get, put, drop, descriptor.__doc__)
    return type(descriptor)(change(descriptor.__func__))


def to_code(function: Callable[..., Any]) -> str:
    """The generated source of a function."""
    if isinstance(function, StaticFunction):
        return to_code(function.original)
    plain, _, _ = parts(function)
    return conversion.source_of(plain)


def generated(function: F) -> F:
    """Mark a function whose text d2s has written: it is not converted again.

    `d2s convert` puts it right above ``def``; every other decorator stays what it was.
    """
    return cast(F, conversion.generated(cast(types.FunctionType, function)))


def do_not_convert(function: F) -> F:
    """Leave a function alone wherever converted code calls it."""
    marked: F = conversion.skip(function)
    return marked
