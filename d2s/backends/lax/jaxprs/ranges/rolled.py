"""Whether the body of a loop computes the same with a run-time index as with Python's own.

In a rolled loop the index, and what Python computes from it alone, are integers of the graph. In ::

    for i in range(100):
        x = x + 7 * (i - 50)

`i` lies in ``0 .. 99``, so ``i - 50`` lies in ``-50 .. 49`` and the product in ``-350 .. 343``: it
fits into 32 bits, and the loop may be rolled. A loop is not rolled if such an integer may leave the
range of its type, or divide by zero where Python would raise.
"""

from __future__ import annotations

import numpy as np
from jax.extend.core import Literal, jaxprs_in_params
from jax.extend.core import primitives as p

from d2s.backends.lax.jaxprs.ranges.rules import full, inside
from d2s.backends.lax.jaxprs.ranges.values import SeenOperation
from d2s.backends.lax.jaxprs.ranges.walk import CALLS, LOOPS
from d2s.errors import Error

#: functions of `jax.numpy` that divide: graphs with nothing but a name to tell what they compute
_DIVISIONS = ("floor_divide", "remainder", "divmod", "true_divide", "fmod")


class NotRolled(Error):
    """Why a loop is not rolled."""

    code = "D2S044"


def refuse_other_results(seen: SeenOperation) -> None:
    """Refuse an operation on Python's own numbers that may give something else than Python's."""
    equation = seen.equation
    operation, results = equation.primitive, equation.outvars
    pairs = zip(equation.invars, seen.given, strict=True)
    if not any(value.own and not isinstance(v, Literal) for v, value in pairs):
        return
    known = operation in CALLS or operation in LOOPS or operation is p.cond_p
    if not known and next(iter(jaxprs_in_params(equation.params)), None) is not None:
        raise NotRolled(f"the index goes into {operation.name}")
    if not all(value.own for value in seen.given):
        return
    whole = full(results[0].aval)
    if operation is p.convert_element_type_p and whole is not None and not seen.in_call:
        span = seen.given[0].span
        if span is not None and results[0].aval.dtype != np.bool_ and not inside(span, whole):
            raise NotRolled(f"the index does not fit into {results[0].aval.dtype}")
    called = equation.params.get("name") if operation in CALLS else ""
    if operation in (p.div_p, p.rem_p) or called in _DIVISIONS:
        _refuse_zero(seen)
    if any(v.aval.dtype != np.bool_ and full(v.aval) is not None for v in results) and seen.wraps:
        raise NotRolled("what is computed from the index may leave its range")


def _refuse_zero(seen: SeenOperation) -> None:
    """Where Python divides two numbers of its own, zero is an exception."""
    divisor, span = seen.equation.invars[1], seen.given[1].span
    if isinstance(divisor, Literal) and span is None:
        span = (1, 1) if np.all(np.asarray(divisor.val) != 0) else (0, 0)
    if span is None or span[0] <= 0 <= span[1]:
        raise NotRolled("what is computed from the index may divide by zero")
