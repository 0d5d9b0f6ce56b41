"""Run-time values as Python numbers, and failures that a run-time condition decides.

    int(x)    ->    trunc(x) as a Python integer, and through the error channel a ValueError where
                    `x` is NaN, an OverflowError where it is infinite

What Python's conversions check, `fail_where` reports when the graph runs.
"""

from __future__ import annotations

import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.failures import failing
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import Type, cast
from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.regions.regions import failures, is_traced, scalar_predicate
from d2s.backends.lax.semantics import classes
from d2s.errors import StagingError

_DTYPES = {int: "int64", float: "float64", complex: "complex128", bool: "bool"}


def has_traced(args: Any) -> bool:
    """Whether a value has a run-time value in it."""
    return any(is_traced(leaf) for leaf in leaves(args))


def has_tracer(args: Any) -> bool:
    """Whether a value has a tracer in it; under `jax.grad` its value may be known all the same."""
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves(args))


def refuse(what: str, fix: str, code: str = "D2S020") -> StagingError:
    return StagingError(what, code=code, site=sites.where(), fix=fix)


def fail_where(*cases: tuple[Any, BaseException]) -> None:
    """Raise the exception of the first case that holds, now or when the graph runs."""
    pending: list[tuple[Any, int]] = []
    payload: dict[int, list[Any]] = {}
    for test, error in cases:
        if not is_traced(test):
            if not test:
                continue
            if not pending:
                raise error
        scope = scopes.current() or scopes.Scope(failures())
        number, values = failing.number_of(error, scope.failures)
        pending.append((test, number))
        if values:
            payload[number] = values
    if pending:
        code: Any = 0
        for test, number in reversed(pending):
            code = jnp.where(test, number, code)
        failing.report(code, payload, {number for _, number in pending}, failures())


def scalar(value: Any) -> Any:
    """The one element of an array, without dimensions."""
    if value.size != 1:
        raise TypeError(
            f"Only scalar arrays can be converted to Python scalars; got arr.ndim={value.ndim}"
        )
    return value.reshape(()) if value.shape else value


def is_integer(value: Any) -> bool:
    """Whether Python would call it an integer: bools are."""
    return bool(jnp.issubdtype(jnp.result_type(value), jnp.integer)) or (
        jnp.result_type(value) == jnp.bool_
    )


def weak(value: Any, kind: type) -> Any:
    """A run-time value as the Python number that plain Python would have."""
    dtype = np.dtype(jax.dtypes.canonicalize_dtype(_DTYPES[kind]))
    made = cast(value, Type((), dtype, True))
    return origins.as_kind(value, kind) if made is value else origins.made(made, kind)


def to_float(value: Any) -> Any:
    """`float(value)`."""
    if not isinstance(value, jax.core.Tracer):
        return float(value)
    value = scalar(value)
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        refuse_part(value)
        raise TypeError("float() argument must be a string or a real number, not 'complex'")
    return weak(value, float)


def refuse_part(*values: Any) -> None:
    """A complex scalar of NumPy's gives its real part, and all other complex numbers an error."""
    for value in values if aliases.has_numpy_arguments() else ():
        if jnp.iscomplexobj(value) and origins.kind_of(value) is not complex:
            raise refuse("a complex number of NumPy's as a real one", "x.real")


def to_int(value: Any) -> Any:
    """`int(value)`: towards zero, checked."""
    if not isinstance(value, jax.core.Tracer):
        return int(value)
    value = scalar(value)
    if jnp.issubdtype(value.dtype, jnp.complexfloating):
        refuse_part(value)
        raise TypeError(
            "int() argument must be a string, a bytes-like object or a real number, not 'complex'"
        )
    if not is_integer(value):
        value = jnp.trunc(value)
        bits = 8 * np.dtype(jax.dtypes.canonicalize_dtype("int64")).itemsize
        fail_where(
            (jnp.isnan(value), ValueError("cannot convert float NaN to integer")),
            (jnp.isinf(value), OverflowError("cannot convert float infinity to integer")),
            (abs(value) >= 2.0 ** (bits - 1), too_large()),
        )
    return _python_int(value)


def _python_int(value: Any) -> Any:
    made = weak(value, int)
    if value.dtype == jnp.uint32 and made.dtype == jnp.int32:
        fail_where((value > np.uint32(2**31 - 1), too_large()))
    return made


def to_bool(value: Any) -> Any:
    """`bool(value)`."""
    if not is_traced(value):
        return bool(value)
    return as_bool(scalar_predicate(value))


def as_bool(flag: Any) -> Any:
    """A run-time truth as a bool of Python's, which is what Python's own questions give."""
    return origins.as_kind(flag, bool)


def not_(value: Any) -> Any:
    """`not value`: a bool of Python's, also where the value is an array."""
    if not is_traced(value):
        return not value
    return origins.made(jnp.logical_not(scalar_predicate(value)), bool)


def index(value: Any) -> Any:
    """What `operator.index` gives: an integer, and nothing that would have to become one."""
    if isinstance(value, jax.core.Tracer) and not is_traced(value):
        value = value.to_concrete_value()
    if not is_traced(value):
        return operator.index(value)
    whole = bool(jnp.issubdtype(value.dtype, jnp.integer)) and not value.shape
    kind = int if whole else classes.type_(value)
    if kind is origins.ARRAY:
        raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
    if not issubclass(kind, int):
        raise TypeError(f"'{kind.__name__}' object cannot be interpreted as an integer")
    return _python_int(value)


def too_large() -> BaseException:
    return failing.overflow(sites.where())
