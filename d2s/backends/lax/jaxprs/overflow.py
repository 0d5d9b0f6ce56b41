"""Python integers do not overflow; the 32-bit integers that stand for them in a graph do.

Arithmetic on numbers that came from Python is checked where a wrapped result could go unnoticed: in
staged loops, in functions that get Python integers, and elsewhere if the ranges do not say that it
fits (`integer_ranges`). For ``a + b`` the check is whether the sign of the result differs from the
signs of both operands; it sets the error code of the graph. Counting by one in a loop is not
checked, nor are sums of a few positions of loops: to overflow, they would need loops of more trips
than any machine makes.
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

_LIMIT = 2147483000.0  # below 2**31 by more than the rounding of a float32 product


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


#: a sum of so many positions of loops leaves the range only in loops of 2**28 trips
FEW = 8


def risky(
    jaxpr: Any, counts: bool, positions: list[Any], ranges: dict[Any, tuple[int, int]]
) -> list[Any]:
    """The equations whose result may leave 32 bits.

    counts     whether the graph is the body of a loop, whose steps by one only count trips
    positions  variables that are positions of loops
    ranges     the least and largest values of variables, where they are known
    """
    weights: dict[Any, int] = dict.fromkeys(positions, 1) if counts else {}
    ranges = dict(ranges)
    found = []
    for equation in jaxpr.eqns:
        result = equation.outvars[0] if equation.outvars else None
        if ranges and _is_in_range(equation, ranges):
            continue
        if equation.primitive not in CHECKS or not stands_for_python_int(result):
            continue
        weight = _weight(equation, weights)
        if weight is not None and weight <= FEW:
            weights[result] = weight
        elif not (counts and _counts(equation)):
            found.append(equation)
    return found


def _is_in_range(equation: Any, ranges: dict[Any, tuple[int, int]]) -> bool:
    """Whether the result surely fits into 32 bits; then its range is known, too."""
    apply = _CORNERS.get(equation.primitive)
    if apply is None or not stands_for_python_int(equation.outvars[0]):
        return False
    sides = []
    for var in equation.invars:
        if hasattr(var, "val"):
            sides.append((int(var.val), int(var.val)))
        elif var in ranges:
            sides.append(ranges[var])
        else:
            return False
    corners = [apply(a, b) for a in sides[0] for b in sides[1]]
    if min(corners) < -(2**31) or max(corners) >= 2**31:
        return False
    ranges[equation.outvars[0]] = min(corners), max(corners)
    return True


_CORNERS: dict[Any, Callable[[int, int], int]] = {
    add_p: lambda a, b: a + b,
    sub_p: lambda a, b: a - b,
    mul_p: lambda a, b: a * b,
}


def _weight(equation: Any, weights: dict[Any, int]) -> int | None:
    """How many positions of loops a value is the sum of; None if it is no such sum.

    A product with a small constant counts as that many of them; a small summand does not count.
    """
    parts: list[int] = []
    factor = 1
    for var in equation.invars:
        if hasattr(var, "val"):
            small = abs(int(var.val)) <= (FEW if equation.primitive is mul_p else 2**20)
            factor = abs(int(var.val)) if small else 2**31
        elif var in weights:
            parts.append(weights[var])
        else:
            return None
    if not parts:
        return None
    if equation.primitive in (add_p, sub_p):
        return sum(parts) if factor < 2**31 else None
    if equation.primitive is mul_p and len(parts) == 1:
        return parts[0] * max(factor, 1)
    return None


def stands_for_python_int(var: Any) -> bool:
    aval = var.aval
    return getattr(aval, "weak_type", False) and aval.dtype == jnp.int32 and aval.shape == ()


def _counts(equation: Any) -> bool:
    """Whether an equation adds or subtracts one."""
    steps = [v.val for v in equation.invars if hasattr(v, "val")]
    return equation.primitive in (add_p, sub_p) and any(abs(int(v)) <= 1 for v in steps)


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
