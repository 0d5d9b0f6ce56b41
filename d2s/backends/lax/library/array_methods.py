"""Methods of arrays on run-time values.

    x.item()      ->    a Python number of the graph
    x.mean()      ->    `np.mean`'s counterpart, where the array may be one of NumPy's

A tracer has the methods of JAX's arrays. Where the program's array is NumPy's, the method is called
as the function of `numpy` of the same name would be (`numpy_calls`).
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.graph import sites
from d2s.backends.lax.library.builtin_calls import round_
from d2s.backends.lax.library.numpy_calls import counterpart, through_jax
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics.arithmetic import by_name
from d2s.backends.lax.semantics.casts import is_integer, refuse, scalar, weak
from d2s.backends.lax.semantics.classes import missing

Call = Callable[..., Any]


def item(array: Any, *place: Any) -> Any:
    """`x.item()`: a Python number."""
    if place:
        array = array[place[0]] if isinstance(place[0], tuple) else array.reshape(-1)[place[0]]
    return _number(scalar(array))


def tolist(array: Any) -> Any:
    """`x.tolist()`: lists of Python numbers."""
    return _number(array) if not array.shape else [tolist(row) for row in array]


def _number(value: Any) -> Any:
    if value.dtype == jnp.bool_:
        return origins.as_kind(value, bool)
    if is_integer(value):
        return weak(value, int)
    return weak(value, float if jnp.issubdtype(value.dtype, jnp.floating) else complex)


def sort(array: Any, *args: Any, **kwargs: Any) -> Any:
    """NumPy sorts in place, jax gives a sorted copy: which is meant cannot be seen in a graph."""
    name = sites.target(sites.where()).strip("`") or "x"
    raise refuse(
        f"`{name}.sort()` sorts a NumPy array in place, and the arrays of a graph are values",
        f"{name} = jnp.sort({name})",
        code="D2S072",
    )


def flatten(array: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.flatten()` is a copy, also where `x.ravel()` and `x.reshape(-1)` are views."""
    return array.ravel(*args, **kwargs).copy()


def _rounded(number: Any, *digits: Any) -> Any:
    """`x.__round__()`, which complex numbers do not have."""
    if origins.kind_of(number) is complex:
        raise missing(complex, "__round__")
    return round_(number, *digits)


_METHODS: dict[str, Call] = {
    "item": item,
    "tolist": tolist,
    "sort": sort,
    "flatten": flatten,
    "__round__": _rounded,
}


#: the same, by the functions of JAX's that are behind the methods of tracers
_OF_TRACERS = {getattr(jax.core.Tracer, name): call for name, call in _METHODS.items()}

#: methods that the arrays of NumPy and of JAX have in common, by JAX's functions behind them; JAX
#: itself says that a tracer has no bytes
_SHARED = {
    function: name
    for name in dir(np.ndarray)
    if not name.startswith("_") and name not in (*_METHODS, "tobytes")
    for function in [getattr(jax.core.Tracer, name, None)]
    if callable(function) and callable(getattr(np.ndarray, name))
}


def method_for(function: Any) -> Call | None:
    """What to call instead of a method of arrays, given as the function behind it; or None."""
    operator = by_name(function)
    if operator is not None or not isinstance(function, types.FunctionType):
        return operator
    call = _OF_TRACERS.get(function)
    if call is not None:
        return functools.partial(_of_tracer, function, call)
    shared = _SHARED.get(function)
    return None if shared is None else functools.partial(_of_numpy, function, shared)


def _of_tracer(function: Any, call: Call, array: Any, *args: Any, **kwargs: Any) -> Any:
    return call(array, *args, **kwargs) if is_traced(array) else function(array, *args, **kwargs)


def _of_numpy(function: Any, name: str, array: Any, *args: Any, **kwargs: Any) -> Any:
    """A method of an array, which is NumPy's where the arguments of the static function are."""
    if not (is_traced(array) and aliases.may_be_numpy(array)):
        return function(array, *args, **kwargs)
    if name == "byteswap":
        what = "x.byteswap(), which depends on how many bits NumPy's numbers had"
        raise refuse(what, "the bytes outside the static function", code="D2S021")
    theirs = function if name in _AS_METHODS else counterpart(name) or function
    plain, label = getattr(np.ndarray, name), f"ndarray.{name}"
    result = through_jax(plain, label, theirs, (array, *args), kwargs, origins.ARRAY)
    if not aliases.is_argument(array):
        _refuse_doubt(name, function, (array, *args), kwargs, result)
    return result


def _refuse_doubt(name: str, function: Call, args: Any, kwargs: Any, result: Any) -> None:
    """Refuse a method whose result has another dtype if the array is one of JAX's after all."""
    try:
        other = jax.eval_shape(lambda: function(*args, **kwargs))
    except (TypeError, ValueError, NotImplementedError):
        return  # JAX's arrays do not take such a call, so the program has one of NumPy's
    pairs = zip(jax.tree.leaves(other), jax.tree.leaves(result), strict=False)
    if any(one.dtype != getattr(two, "dtype", one.dtype) for one, two in pairs):
        raise refuse(
            f"x.{name}() gives another dtype for an array of NumPy's than for one of JAX's",
            f"np.{name}(x), jnp.{name}(x), or .astype(...) before it",
            code="D2S021",
        )


#: methods that are called with other arguments than the functions of the same name
_AS_METHODS = ("reshape", "transpose", "astype", "view", "copy")
