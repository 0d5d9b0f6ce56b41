"""Wrappers of JAX that hold functions of the user: the wrapper again, around converted code.

A wrapper made before d2s saw the function (``f = jax.jit(f)`` at the top of a module) holds the
plain function. While a graph is built, a copy stands for the wrapper that holds the converted
function and is the same in everything else, gradients included.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax

from d2s.backends.lax.graph.construction import construction
from d2s.conversion import is_made_by_d2s
from d2s.libraries import is_library_file
from d2s.static import StaticFunction

#: gives the function that is to be in a wrapper in the place of another; or that one itself
Change = Callable[[Any], Any]

#: attributes that hold functions, by the class of the wrapper
_PARTS: dict[type, tuple[str, ...]] = {
    jax.custom_vjp: ("fun", "fwd", "bwd"),
    jax.custom_jvp: ("fun", "jvp"),
}
_Jitted = type(jax.jit(lambda: None))


def around(function: Any, change: Change) -> Any:
    """A wrapper like this one around changed functions; itself when it holds none to change."""
    make = _maker(function)
    # A rule of `defjvps` holds the very function that it is a rule of: it is not made twice.
    if make is None or any(function is wrapper for wrapper in construction.wrappers):
        return function
    construction.wrappers.append(function)
    try:
        return make(function, change)
    finally:
        construction.wrappers.pop()


def anew(function: Any) -> Any:
    """A copy of a converted function, or of a wrapper of one, that JAX has never seen."""
    if isinstance(function, types.FunctionType) and is_made_by_d2s(function):
        return _copy(function, function.__closure__)
    if isinstance(function, types.MethodType):
        own = anew(function.__func__)
        return function if own is function.__func__ else types.MethodType(own, function.__self__)
    if isinstance(function, StaticFunction):
        return _called(function)
    return around(function, anew)


def afresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of JAX that gets each of the user's functions as one that it has never seen.

    JAX remembers the graph of a function that it has traced. That graph belongs to another call:
    its failures, prints and changes were noted for that call, and would be missing in this one.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        named = {name: _anew_argument(value) for name, value in kwargs.items()}
        return anew(function)(*map(_anew_argument, args), **named)

    return call


def _anew_argument(argument: Any) -> Any:
    """The same for an argument; `jax.lax.switch` takes a list of functions."""
    if type(argument) in (list, tuple) and any(map(callable, argument)):
        return type(argument)(map(anew, argument))
    return anew(argument)


def _called(static: StaticFunction) -> Any:
    """A function that calls a static one, new to JAX each time."""

    @functools.wraps(static)
    def call(*args: Any, **kwargs: Any) -> Any:
        return static(*args, **kwargs)

    return call


def is_of_jax(wrapper: Any) -> bool:
    """Whether an object is a wrapper of JAX that can be made again."""
    return type(wrapper) in _PARTS or type(wrapper) is _Jitted


def _maker(function: Any) -> Callable[[Any, Change], Any] | None:
    """How to make a wrapper again; None for what is no wrapper."""
    kind = type(function)
    if kind is types.FunctionType:
        library = function.__closure__ and is_library_file(function.__code__.co_filename)
        return _closure if library else None
    return _object if kind in _PARTS else _jitted if kind is _Jitted else None


def _inside(value: Any, change: Change) -> Any:
    changed = change(value)
    return around(value, change) if changed is value and change is not anew else changed


def _closure(function: types.FunctionType, change: Change) -> Any:
    """A function of a library with others in its closure, as jax.vmap and jax.grad return them."""
    cells = list(function.__closure__ or ())
    for n, cell in enumerate(cells):
        try:
            held = cell.cell_contents
        except ValueError:
            continue
        if held is function:
            continue
        changed = _inside(held, change) if callable(held) else held
        if changed is not held:
            cells[n] = types.CellType(changed)
    if all(a is b for a, b in zip(cells, function.__closure__ or (), strict=True)):
        return function
    return _copy(function, tuple(cells))


def _copy(function: types.FunctionType, cells: tuple[types.CellType, ...] | None) -> Any:
    made = types.FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        cells,
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__.update(function.__dict__)
    return made


def _object(wrapper: Any, change: Change) -> Any:
    parts = {name: getattr(wrapper, name, None) for name in _PARTS[type(wrapper)]}
    changed = {name: part and _inside(part, change) for name, part in parts.items()}
    if all(changed[name] is parts[name] for name in parts):
        return wrapper
    made = object.__new__(type(wrapper))
    vars(made).update(vars(wrapper) | changed)
    for name, part in changed.items():
        if isinstance(part, types.FunctionType) and part.__closure__:
            setattr(made, name, _closure(part, lambda held: made if held is wrapper else held))
    return made


def _jitted(wrapper: Any, change: Change) -> Any:
    function = getattr(wrapper, "__wrapped__", None)
    info = getattr(wrapper, "_jit_info", None)
    changed = _inside(function, change)
    if changed is function or info is None:
        return wrapper
    options = dict(
        static_argnums=info.static_argnums,
        static_argnames=info.static_argnames,
        donate_argnums=info.donate_argnums,
        donate_argnames=info.donate_argnames,
        keep_unused=info.keep_unused,
        inline=info.inline,
    )
    if info.user_specified_in_shardings:
        options["in_shardings"] = jax.tree.unflatten(
            info.in_shardings_treedef, info.in_shardings_leaves
        )
    return jax.jit(changed, **options)
