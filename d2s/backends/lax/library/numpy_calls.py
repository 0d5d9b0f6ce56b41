"""NumPy functions on run-time values: the function of the same name of jax.numpy.

With arguments that are all known, NumPy itself runs. The tables below name what the two do
differently: it is done as NumPy does it, or refused.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.constants import require
from d2s.backends.lax.failures.whose import is_tracer_error
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.trees import leaves, map_leaves
from d2s.backends.lax.library.builtin_calls import round_
from d2s.backends.lax.library.numpy_models import Model, widened
from d2s.backends.lax.library.numpy_own import OWN, fail_like_numpy
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics.arithmetic import by_name
from d2s.backends.lax.semantics.casts import has_tracer, is_integer, refuse, scalar, to_int, weak
from d2s.backends.lax.semantics.classes import missing
from d2s.backends.lax.semantics.operands import require_int
from d2s.backends.lax.trace.provenance import needing
from d2s.errors import Error, StagingError

Call = Callable[..., Any]

_MODULES = ((np, jnp, ""), (np.linalg, jnp.linalg, "linalg."), (np.fft, jnp.fft, "fft."))

#: the shape of the result depends on values
_SIZED = "jnp.{}(..., size=n): the shape of the result must be known while the graph is built"
_MASKED = "jnp.where(condition, x, 0), or a sum with the condition as a factor"
SHAPES = {
    **dict.fromkeys(("unique", "nonzero", "flatnonzero", "argwhere"), _SIZED),
    **dict.fromkeys(("union1d", "intersect1d", "setdiff1d", "setxor1d"), _SIZED),
    **dict.fromkeys(("unique_all", "unique_counts", "unique_inverse", "unique_values"), _SIZED),
    **dict.fromkeys(("extract", "compress", "trim_zeros", "delete"), _MASKED),
    "where": "jnp.where(condition, x, y), or jnp.where(condition, size=n)",
    "bincount": "jnp.bincount(x, length=n): the length must be known while the graph is built",
}

#: they change an array in place, and arrays of a graph are values
IN_PLACE = {
    "copyto": "x = jnp.where(...), or x = x.at[...].set(...)",
    "fill_diagonal": "x = jnp.fill_diagonal(x, value, inplace=False)",
    "place": "x = jnp.where(mask, value, x)",
    "put": "x = x.at[...].set(...)",
    "put_along_axis": "x = jnp.put_along_axis(x, indices, values, axis, inplace=False)",
    "putmask": "x = jnp.where(mask, value, x)",
}

#: what NumPy gives depends on values in a way that a graph cannot follow, or is a text
REFUSED = {
    "array2string": "the text outside the static function",
    "array_repr": "the text outside the static function",
    "array_str": "the text outside the static function",
    "format_float_positional": "the text outside the static function",
    "format_float_scientific": "the text outside the static function",
    "geomspace": "jnp.exp(jnp.linspace(jnp.log(a), jnp.log(b), n))",
    "isscalar": "np.ndim(x) == 0",
    "linalg.eig": "jnp.linalg.eig(x), which always gives complex numbers",
    "linalg.eigvals": "jnp.linalg.eigvals(x), which always gives complex numbers",
    "argpartition": "jnp.argsort(x): the order inside the parts is not defined",
    "min_scalar_type": "x.dtype",
    "partition": "jnp.sort(x): the order inside the parts is not defined",
    "polydiv": "jnp.polydiv(u, v), which does not trim the remainder",
    "real_if_close": "jnp.real(x)",
    "roots": "jnp.roots(x, strip_zeros=False), which always gives complex numbers",
}

#: functions that jax.numpy has by another name, or that mean nothing there
_ALIASES: dict[str, Call] = {
    "asanyarray": jnp.asarray,
    "ascontiguousarray": jnp.atleast_1d,
    "asfortranarray": jnp.asarray,
    "fix": jnp.trunc,
    "row_stack": jnp.vstack,
}

#: keywords that only say how NumPy goes about it
_HOW: dict[str, frozenset[str]] = {
    "argsort": frozenset({"kind"}),
    "sort": frozenset({"kind"}),
    "array": frozenset({"subok"}),
    "asanyarray": frozenset({"order"}),
    "copy": frozenset({"order", "subok"}),
    "einsum": frozenset({"optimize"}),
    "empty_like": frozenset({"subok", "order"}),
    "full_like": frozenset({"subok", "order"}),
    "ones_like": frozenset({"subok", "order"}),
    "zeros_like": frozenset({"subok", "order"}),
}


def _names() -> dict[Any, str]:
    """NumPy's functions, by themselves: `sum`, `linalg.norm`."""
    found: dict[Any, str] = {}
    for module, _, prefix in reversed(_MODULES):
        for name in dir(module):
            function = getattr(module, name, None) if not name.startswith("_") else None
            is_class = isinstance(function, type) or inspect.ismodule(function)
            if callable(function) and not is_class:
                label = getattr(function, "__name__", name)
                # `np.absolute` and `np.abs` are one: by the name that it gives itself
                best = label if hasattr(module, label) else name
                found[function] = prefix + best
    return found


NAMES = _names()


def counterpart(name: str) -> Call | None:
    """The function of jax.numpy that does the same."""
    if name in OWN or name in _ALIASES:
        return OWN.get(name) or _ALIASES[name]
    head, _, tail = name.rpartition(".")
    module = {prefix.rstrip("."): theirs for _, theirs, prefix in _MODULES}[head]
    return getattr(module, tail, None)


def refusal(name: str) -> str | None:
    """What to write instead of a function that is refused on run-time values."""
    if name in REFUSED or name in IN_PLACE:
        return REFUSED.get(name) or IN_PLACE[name]
    return None if counterpart(name) is not None else "functions of jax.numpy"


def call_for(function: Any, change: Call) -> Call | None:
    """What to call instead of a function of NumPy's while a graph is built; None for others."""
    kind = type(function)
    if kind is type:
        return _scalar_type(function) if issubclass(function, np.generic) else None
    if isinstance(function, np.vectorize):
        return functools.partial(_vectorized, function, change)
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return functools.partial(_method, function, owner)
    try:
        name = NAMES.get(function)
    except TypeError:  # it has no hash
        return None
    return None if name is None else functools.partial(_call, function, name)


def _call(function: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
    if not has_tracer([args, kwargs]):
        return function(*args, **kwargs)
    if name in IN_PLACE:
        raise refuse(
            f"np.{name} changes an array in place, which the arrays of a graph do not do",
            IN_PLACE[name],
            code="D2S024",
        )
    fix = refusal(name)
    theirs = counterpart(name)
    if fix is not None or theirs is None:
        raise refuse(f"np.{name} of a run-time value", fix or "", code="D2S021")
    return _jax(function, name, theirs, args, kwargs)


def _jax(
    plain: Any,
    name: str,
    theirs: Call,
    args: tuple[Any, ...],
    kwargs: Any,
    kind: Any = origins.NUMPY,
) -> Any:
    """Call a function of jax.numpy as NumPy's is called; what it does not do is refused."""
    label = f"np.{name}"
    args, kwargs = _out_by_name(plain, args, kwargs)
    if kwargs.get("out") is not None:
        what = f"{label} with `out=`, an array to be changed in place"
        raise refuse(what, f"x = {label}(...)", code="D2S024")
    overwrites = _given("overwrite_input", False, plain, args, kwargs)
    if overwrites or (name == "nan_to_num" and not _given("copy", True, plain, args, kwargs)):
        what = f"{label} that changes its argument in place"
        raise refuse(what, f"x = {label}(x)", code="D2S024")
    model = Model(plain, name, args, kwargs)
    ignored = _HOW.get(name, frozenset())
    kwargs = {k: v for k, v in kwargs.items() if k not in ignored and not _is_default(k, v)}
    args, kwargs = map_leaves(_as_jax_has_it, (args, kwargs))
    result = _called(theirs, args, kwargs, model, name)
    wider = model.wider(result)
    if wider is not None:
        args, kwargs = map_leaves(lambda leaf: widened(leaf, wider), (args, kwargs))
        result = _called(theirs, args, kwargs, model, name)
    fail_like_numpy(name, args, kwargs, result)
    result = model.like(result, label)
    _refuse_conversion(name, (args, kwargs), result)
    _require_ints(plain, name, (args, kwargs), result)
    result = map_leaves(lambda leaf: origins.made(leaf, kind), result)
    model.link_views(result)
    aliases.numpy_made()
    return result


def _called(theirs: Call, args: Any, kwargs: Any, model: Model, name: str) -> Any:
    try:
        args, kwargs = _arrays(theirs, args, kwargs)
        return theirs(*args, **kwargs)
    except (TypeError, ValueError, IndexError, NotImplementedError) as error:
        if isinstance(error, Error):
            raise
        if is_tracer_error(error) or "concrete value" in str(error):
            raise _needs_values(f"np.{name}", name) from error
        model.fail()
        first = str(error).partition("\n")[0]
        what = f"np.{name} with arguments that jax.numpy does not take ({first})"
        raise refuse(what, f"jnp.{name} as it is documented", code="D2S021") from error


def _given(name: str, default: Any, plain: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """What a call gives for a parameter, by its name or by its position."""
    names = _parameters(plain)
    place = names.index(name) if name in names else len(args)
    return args[place] if place < len(args) else kwargs.get(name, default)


def _out_by_name(plain: Any, args: tuple[Any, ...], kwargs: Any) -> Any:
    """The arguments of a call with `out`, which NumPy takes by position too, as a keyword."""
    place = _place_of_out(plain)
    if place is None or len(args) != place + 1:
        return args, kwargs
    return args[:place], {**kwargs, "out": args[place]}


@functools.cache
def _place_of_out(plain: Any) -> int | None:
    if isinstance(plain, np.ufunc):
        return int(plain.nin) if plain.nout == 1 else None
    names = _parameters(plain)
    return names.index("out") if "out" in names else None


@functools.cache
def _parameters(plain: Any) -> list[str]:
    try:
        return list(inspect.signature(plain).parameters)
    except ValueError:  # it has none that could be asked for
        return []


#: functions that make integers of floats, which Python refuses for some of its floats
_CONVERT = ("array", "asarray", "asanyarray", "ascontiguousarray", "full", "full_like")


def _refuse_conversion(name: str, given: Any, result: Any) -> None:
    """A Python float that becomes an integer of NumPy's: one that is no number is refused."""
    floats = [v for v in leaves(given) if is_traced(v) and origins.kind_of(v) is float]
    made = (v.dtype for v in leaves(result) if isinstance(v, jax.core.Tracer))
    if name in _CONVERT and floats and any(jnp.issubdtype(d, jnp.integer) for d in made):
        error = refuse(f"np.{name} makes integers of a Python float", "int(x)", code="D2S021")
        raise needing(error, *floats)


#: other functions than the ufuncs in which a Python integer takes the dtype of an array
_MEETING = ("where", "clip", "full_like", "ndarray.clip")


def _require_ints(plain: Any, name: str, given: Any, result: Any) -> None:
    """Run-time Python integers must fit into the narrow integers that they become."""
    if isinstance(plain, np.ufunc) or name in _MEETING or name in _CONVERT:
        for made in leaves(result):
            for leaf in leaves(given):
                if isinstance(leaf, jax.core.Tracer) and isinstance(made, jax.core.Tracer):
                    require_int(leaf, made.dtype)


def _needs_values(label: str, name: str) -> StagingError:
    fix = SHAPES.get(name)
    if fix is not None:
        what = f"the shape of the result of {label} depends on run-time values"
        return refuse(what, fix.format(name))
    what = f"{label} needs a run-time value as a Python value"
    return refuse(what, f"Python numbers as the shape, axes and counts of jnp.{name}")


def _is_default(name: str, value: Any) -> bool:
    """Whether a keyword says what NumPy does anyway."""
    if name in ("out", "like", "casting", "order"):
        return value is None or (type(value) is str and value in ("K", "C", "same_kind"))
    return name == "where" and value is True


def _arrays(theirs: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The arguments with arrays for lists: NumPy takes both, jax.numpy wants arrays."""
    bound = _signature(theirs).bind(*args, **kwargs)
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        annotation = str(parameter.annotation)
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            bound.arguments[name] = tuple(_array(part, annotation) for part in value)
        elif "Sequence[" in annotation and isinstance(value, list | tuple):
            if "Sequence[int" not in annotation:
                bound.arguments[name] = [_array(part, "ArrayLike") for part in value]
        elif parameter.kind is not inspect.Parameter.VAR_KEYWORD:
            bound.arguments[name] = _array(value, annotation)
    return bound.args, bound.kwargs


def _array(value: Any, annotation: str) -> Any:
    if not isinstance(value, list | tuple):
        return value
    is_array = "ArrayLike" in annotation or "jaxlib._jax.Array" in annotation
    return jnp.asarray(value) if is_array or has_tracer(value) else value


@functools.cache
def _signature(theirs: Call) -> inspect.Signature:
    try:
        return inspect.signature(theirs)
    except ValueError:  # it has none that could be asked for
        return inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL, annotation="ArrayLike"),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )


def _as_jax_has_it(leaf: Any) -> Any:
    """Types as jax has them, without a warning: 32 bits for 64; numbers only if they fit."""
    if isinstance(leaf, np.generic | np.ndarray):
        require(leaf)
    if isinstance(leaf, np.dtype) or (isinstance(leaf, type) and issubclass(leaf, np.generic)):
        return jax.dtypes.canonicalize_dtype(leaf) if np.dtype(leaf).kind in "biufc" else leaf
    return leaf


def _scalar_type(kind: type) -> Call:
    def make(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not is_traced(args[0]):
            return kind(*args, **kwargs)
        if np.dtype(kind).kind not in "biufc":
            raise refuse(f"np.{kind.__name__} of a run-time value", "a number", code="D2S021")
        value, dtype = args[0], jax.dtypes.canonicalize_dtype(kind)
        require_int(value, dtype)
        if jnp.iscomplexobj(value) and np.dtype(kind).kind in "iuf":
            if origins.kind_of(value) is complex:
                kind(1j)  # raises; of other complex numbers NumPy takes a part
            value = value.real
        if np.dtype(kind).kind in "iu" and not is_integer(value) and not value.shape:
            value = to_int(value)
        return origins.as_kind(jnp.asarray(value, dtype), origins.NUMPY)

    return make


def _method(function: Any, owner: np.ufunc, /, *args: Any, **kwargs: Any) -> Any:
    """`np.add.reduce` and its kin."""
    if not has_tracer([args, kwargs]):
        return function(*args, **kwargs)
    method = function.__name__
    label = f"np.{owner.__name__}.{method}"
    if method == "at":
        fix = "x = x.at[indices].add(...), .multiply(...), .min(...) or .max(...)"
        raise refuse(f"{label} changes an array in place", fix, code="D2S024")
    theirs = getattr(counterpart(owner.__name__), method, None)
    if theirs is None:
        raise refuse(f"{label} of a run-time value", "functions of jax.numpy", code="D2S021")
    return _jax(function, f"{owner.__name__}.{method}", theirs, args, kwargs)


def _vectorized(function: Any, change: Call, /, *args: Any, **kwargs: Any) -> Any:
    """`np.vectorize(f)(x)`."""
    if not has_tracer([args, kwargs]):
        return function(*args, **kwargs)
    excluded, signature = frozenset(function.excluded), function.signature
    made = jnp.vectorize(change(function.pyfunc), excluded=excluded, signature=signature)
    return made(*args, **kwargs)


# -- methods of arrays -------------------------------------------------------------------------


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
    raise refuse(
        "x.sort() sorts a NumPy array in place, and the arrays of a graph are values",
        "x = jnp.sort(x)",
        code="D2S024",
    )


def flatten(array: Any, *args: Any, **kwargs: Any) -> Any:
    """`x.flatten()` is a copy, also where `x.ravel()` and `x.reshape(-1)` are views."""
    return array.ravel(*args, **kwargs).copy()


def _rounded(number: Any, *digits: Any) -> Any:
    """`x.__round__()`."""
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


#: methods that the arrays of NumPy and of JAX have in common, by JAX's functions behind them
_SHARED = {
    function: name
    for name in dir(np.ndarray)
    if not name.startswith("_") and name not in _METHODS
    for function in [getattr(jax.core.Tracer, name, None)]
    if callable(function) and callable(getattr(np.ndarray, name))
}


def method_for(function: Any) -> Call | None:
    """What to call instead of a method of arrays, given as the function behind it."""
    operator = by_name(function)
    if operator is not None:
        return operator
    name = getattr(function, "__name__", "")
    if name in ("meth", "op") or name in _METHODS:
        for known, call in _METHODS.items():
            if function is getattr(jax.core.Tracer, known, None):
                return functools.partial(_of_tracer, function, call)
        if function in _SHARED:
            return functools.partial(_of_numpy, function, _SHARED[function])
    return None


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
    result = _jax(plain, label, theirs, (array, *args), kwargs, origins.ARRAY)
    if not aliases.is_argument(array):
        _refuse_doubt(name, function, (array, *args), kwargs, result)
    return result


def _refuse_doubt(name: str, function: Call, args: Any, kwargs: Any, result: Any) -> None:
    """Refuse a method whose result has another dtype if the array is one of JAX's after all."""
    try:
        other = jax.eval_shape(lambda: function(*args, **kwargs))
    except (TypeError, ValueError, NotImplementedError):
        return  # a program that calls it like this has an array of NumPy's
    pairs = zip(jax.tree.leaves(other), jax.tree.leaves(result), strict=False)
    if any(one.dtype != getattr(two, "dtype", one.dtype) for one, two in pairs):
        raise refuse(
            f"x.{name}() gives another dtype for an array of NumPy's than for one of JAX's",
            f"np.{name}(x), jnp.{name}(x), or .astype(...) before it",
            code="D2S021",
        )


#: methods that are called otherwise than the functions of the same name
_AS_METHODS = ("reshape", "transpose", "astype", "view", "copy")
