"""Python integers do not overflow; the 32-bit integers that stand for them in a graph do.

Arithmetic on numbers that came from Python is checked where a wrapped result could go unnoticed: in
staged loops, in functions that get Python integers, and elsewhere, if their ranges do not say that
it fits (`ranges`). For ``a + b`` the check is whether the sign of the result differs from the signs
of both operands; it sets the error code of the graph.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
from jax.extend.core.primitives import (
    abs_p,
    add_p,
    integer_pow_p,
    mul_p,
    neg_p,
    shift_left_p,
    square_p,
    sub_p,
)

from d2s.backends.lax.jaxprs.ranges.rules import full

_LIMIT = 2147483000.0  # below 2**31 by more than the rounding of a float32 product
_SURE = 2**31 - 2**8  # a product that passes its check is not further from zero than this


def _add(a: Any, b: Any, result: Any, params: Any) -> Any:
    return ((a ^ result) & (b ^ result)) < 0


def _sub(a: Any, b: Any, result: Any, params: Any) -> Any:
    return ((a ^ b) & (a ^ result)) < 0


def _mul(a: Any, b: Any, result: Any, params: Any) -> Any:
    return jnp.abs(jnp.float32(a) * jnp.float32(b)) >= _LIMIT


def _integer_pow(a: Any, result: Any, params: Any) -> Any:
    return jnp.abs(jnp.float32(a)) ** params["y"] >= _LIMIT * (1 - 1e-6 * params["y"])


def _square(a: Any, result: Any, params: Any) -> Any:
    return _mul(a, a, result, params)


def _shift_left(a: Any, b: Any, result: Any, params: Any) -> Any:
    return ((result >> b) != a) | (b >= 32)


def _neg(a: Any, result: Any, params: Any) -> Any:
    return a == -(2**31)


#: whether the result of an operation has wrapped, by its operands, its result and its parameters
CHECKS: dict[Any, Callable[..., Any]] = {
    add_p: _add,
    sub_p: _sub,
    mul_p: _mul,
    integer_pow_p: _integer_pow,
    square_p: _square,
    shift_left_p: _shift_left,
    neg_p: _neg,
    abs_p: _neg,
}


def limits(equation: Any) -> tuple[int, int] | None:
    """Where the result of an operation must lie to need no check; None for what is no integer.

    The check of a product is done with floats, and says no a little too early.
    """
    aval = equation.outvars[0].aval
    if equation.primitive in (mul_p, square_p) and stands_for_python_int(equation.outvars[0]):
        return -_SURE, _SURE
    return full(aval)


def stands_for_python_int(var: Any) -> bool:
    aval = var.aval
    return getattr(aval, "weak_type", False) and aval.dtype == jnp.int32 and aval.shape == ()


def operands(equations: list[Any]) -> list[Any]:
    """The values that the checks need, in order."""
    return [v for e in equations for v in (*e.invars, *e.outvars)]


def check(equations: list[Any], values: list[Any]) -> Any:
    """Whether any of the equations overflowed."""
    result: Any = False
    rest = list(values)
    for equation in equations:
        count = len(equation.invars) + len(equation.outvars)
        args, rest = rest[:count], rest[count:]
        result = jnp.logical_or(result, CHECKS[equation.primitive](*args, equation.params))
    return result
