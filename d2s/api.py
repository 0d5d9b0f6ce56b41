"""What people use: `to_static`, `convert`, `to_code`, `generated`, `do_not_convert`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast

from d2s import conversion, libraries
from d2s.errors import boundary
from d2s.options.options import Options, options
from d2s.report.report import Report
from d2s.runtime import engines
from d2s.static import (
    BoundStatic,
    StaticFunction,
    is_static_method,
    method,
    options_of,
    parts,
    plain,
)

F = TypeVar("F", bound=Callable[..., Any])


@boundary
def to_static(
    fn: Any = None,
    *,
    input_spec: Any = None,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    in_shardings: Any = None,
    out_shardings: Any = None,
    loops: Any = None,
    max_iterations: int | None = None,
    checks: str | Iterable[str] | bool | None = None,
    compiler_options: Mapping[str, Any] | None = None,
    backend: str | None = None,
) -> Any:
    """Run an ordinary function as one XLA graph: its control flow becomes part of the graph.

    Works as a decorator, with options or without, and as a function: on functions, methods,
    lambdas, partials and callable objects such as modules of Flax and Equinox. Generators and
    coroutines have no graph: they run as they are, and the logger ``d2s`` says so. `d2s.Options`
    tells what the options mean.
    """
    chosen = options(
        input_spec=input_spec,
        static_argnums=static_argnums,
        static_argnames=static_argnames,
        donate_argnums=donate_argnums,
        donate_argnames=donate_argnames,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        loops=loops,
        max_iterations=max_iterations,
        checks=checks,
        compiler_options=compiler_options,
        backend=backend,
    )
    if fn is None:
        return functools.partial(_to_static, chosen)
    return _to_static(chosen, fn)


@boundary
def _to_static(chosen: Options, function: Any) -> Any:
    if isinstance(function, StaticFunction):
        merged = function.options.then(chosen)
        return function if chosen.is_plain else _to_static(merged, function.original)
    if isinstance(function, _DESCRIPTORS):
        return _inside(function, functools.partial(_to_static, chosen))
    call = type(function).__call__ if callable(function) else None
    if isinstance(call, StaticFunction):
        function = BoundStatic(call, function)  # an object whose class has decorated its `__call__`
    if is_static_method(function):
        if chosen.is_plain:
            return BoundStatic(function.__func__, function.__self__)
        chosen, function = options_of(function).then(chosen), plain(function)
    chosen = options_of(function).then(chosen)
    if conversion.runs_later(function) and conversion.runs_as_it_is(function):
        return function
    return engines.backend(chosen.backend).compile(function, chosen)


@boundary
def convert(function: F) -> F:
    """The rewritten function alone: runs on plain values, composes with jax's transformations."""
    if isinstance(function, StaticFunction):
        return cast(F, convert(function.original))
    if isinstance(function, _DESCRIPTORS):
        return cast(F, _inside(function, convert))
    if conversion.runs_later(function) and conversion.runs_as_it_is(function):  # type: ignore[arg-type]
        return function
    inner, bound, keywords = parts(function)
    made = cast(F, conversion.converted(inner))
    if keywords or len(bound) > 1:
        return cast(F, functools.partial(made, *bound, **keywords))
    return cast(F, types.MethodType(made, bound[0])) if bound else made


@boundary
def trace(function: Callable[..., Any], *args: Any, **kwargs: Any) -> StaticFunction:
    """A static function by tracing alone, made at once for the example arguments.

    Nothing is converted. A branch or a loop that Python would decide by a run-time value is refused
    (D2S028): the graph would keep the decision for all other values.
    """
    from d2s.backends.lax.tracing import Traced

    traced = Traced(plain(function))
    traced(*args, **kwargs)
    return traced


_DESCRIPTORS = (staticmethod, classmethod, property)


def _inside(descriptor: Any, change: Callable[[Any], Any]) -> Any:
    """A descriptor of a class around changed functions: decorators may stand in any order."""
    if isinstance(descriptor, property):
        get, put, drop = (
            part and change(part) for part in (descriptor.fget, descriptor.fset, descriptor.fdel)
        )
        return property(get, put, drop, descriptor.__doc__)
    kind = _ClassMethod if isinstance(descriptor, classmethod) else type(descriptor)
    return kind(change(descriptor.__func__))


class _ClassMethod(classmethod):  # type: ignore[type-arg]
    """From Python 3.13 on, its own would not ask the function how it is bound."""

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return method(self.__func__, type(instance) if owner is None else owner)


@boundary
def to_code(function: Callable[..., Any]) -> str:
    """The generated source of a function."""
    if isinstance(function, StaticFunction):
        return to_code(function.original)
    inner, _, _ = parts(function)
    return conversion.source_of(inner)


@boundary
def explain(function: Any, *args: Any, **kwargs: Any) -> Report:
    """What became of each control-flow statement of a function for such arguments, and why."""
    found: Report = to_static(function).explain(*args, **kwargs)
    return found


@boundary
def generated(function: F) -> F:
    """Mark a function whose text d2s has written: it is not converted again.

    `d2s convert` puts it right above ``def``; every other decorator stays what it was.
    """
    return cast(F, conversion.generated(cast(types.FunctionType, function)))


@boundary
def do_not_convert(function: F) -> F:
    """Leave a function alone wherever converted code calls it."""
    marked: F = conversion.skip(function)
    return marked


@boundary
def include(*packages: str | types.ModuleType) -> None:
    """Convert the code of installed packages or modules where a graph calls it.

    By their names: ``d2s.include("package", "other.module")``. Without it, code of libraries runs
    as it is, which is right for all that does not branch on run-time values. Say it before graphs
    are built: those that exist stay as they are. JAX and NumPy are what graphs are made of.
    """
    for package in packages:
        libraries.choose(package, True)
    conversion.decide_anew()


@boundary
def exclude(*packages: str | types.ModuleType) -> None:
    """Leave the code of packages or modules alone where a graph calls it, your own as well.

    The nearest name counts: ``d2s.include("package")`` and ``d2s.exclude("package.module")`` go
    together in either order.
    """
    for package in packages:
        libraries.choose(package, False)
    conversion.decide_anew()


@boundary
def set_cache(folder: Any) -> None:
    """Keep compiled graphs in a folder, for the next process; None ends that.

    For the whole program, as ``D2S_CACHE=folder`` in the environment. Call it before the first
    graph is compiled.
    """
    from d2s.backends.lax.function import cache

    cache.keep_in(folder)


@boundary
def register_form(
    kind: type,
    open: Callable[[Any], tuple[Any, Any]],
    make: Callable[[Any, Any], Any],
) -> None:
    """Say how objects of a class are taken apart, so that they can be part of a graph.

    Lists, dicts, dataclasses and objects of plain classes need none of this. `open` gives the parts
    that may be values of the graph, as a dict or a list, and a hashable rest that is the same
    whenever the graph is; `make` takes both and gives an object again. The two together are all of
    the object, and it is a value: a program makes a new one instead of changing it::

        d2s.register_form(Grid, lambda g: ({"cells": g.cells}, g.shape), lambda p, s: Grid(s, **p))
    """
    from d2s.backends.lax.forms import registered

    if not isinstance(kind, type):
        raise TypeError(f"register_form is given {kind!r}, which is no class")
    registered.register_form(kind, registered.UserForm(open, make))
