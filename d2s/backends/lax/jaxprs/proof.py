"""Whether the body of a loop computes the same with a run-time index as with Python's own.

In a rolled loop the index, and what Python computes from it alone, are integers of the graph. Their
ranges are followed through the graph of the body. In ::

    for i in range(100):
        x = x + 7 * (i - 50)

`i` lies in ``0 .. 99``, so ``i - 50`` lies in ``-50 .. 49`` and the product in ``-350 .. 343``: it
fits into 32 bits, and the loop may be rolled. A loop is not rolled if such an integer may leave the
range of its type, or divide by zero where Python would raise.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal, jaxprs_in_params
from jax.extend.core.primitives import (
    abs_p,
    add_p,
    broadcast_in_dim_p,
    clamp_p,
    closed_call_p,
    concatenate_p,
    cond_p,
    convert_element_type_p,
    copy_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    div_p,
    jit_p,
    max_p,
    min_p,
    mul_p,
    neg_p,
    rem_p,
    reshape_p,
    scan_p,
    select_n_p,
    sign_p,
    squeeze_p,
    sub_p,
    while_p,
)

from d2s.backends.lax.jaxprs.bounded.loop import loop_p
from d2s.errors import Error

#: the least and the largest value that an integer may have
Range = tuple[int, int]

#: operations that run a graph of their own, once
_CALLS = frozenset({jit_p, closed_call_p, custom_jvp_call_p, custom_vjp_call_p})


class NotRolled(Error):
    """Why a loop is not rolled."""

    code = "D2S044"


def follow(jaxpr: Any, known: dict[Any, Range | None]) -> dict[Any, Range | None]:
    """Ranges of the values that are computed from the index alone; None where one is no integer.

    `known` are the ranges of the inputs that Python would know. A variable that is not among the
    result is a run-time value in plain Python as well, and its arithmetic is the graph's.
    """
    ranges: dict[Any, Range | None] = dict(known)

    def of(atom: Any) -> Range | None:
        if isinstance(atom, Literal):
            return _exactly(atom.val)
        span: Range | None = ranges[atom]
        return span

    for equation in jaxpr.eqns:
        inputs = equation.invars
        own = [isinstance(v, Literal) or v in ranges for v in inputs]
        if not any(v in ranges for v in inputs if not isinstance(v, Literal)):
            continue
        _narrow(equation, ranges)
        _divides(equation, own, of)
        for inner, given in _inner(equation):
            matched = zip(inner.invars, given, strict=False)
            follow(inner, {v: of(g) for v, g in matched if _is_own(g, ranges)})
        if not all(own):
            continue
        operation = equation.primitive
        spans = [of(v) for v in inputs]
        results = _called(equation, spans)
        for n, out in enumerate(equation.outvars):
            dtype = out.aval.dtype
            if dtype == jnp.bool_:
                ranges[out] = 0, 1
            elif not jnp.issubdtype(dtype, jnp.integer):
                ranges[out] = spans[0] if operation is convert_element_type_p else None
            else:
                rule = RULES.get(operation)
                made = rule(*spans) if rule else results[n] if results else None
                if made is None or not (made[0] >= -(2**31) and made[1] < 2**31):
                    raise NotRolled("what is computed from the index may leave its range")
                ranges[out] = made
    return ranges


def _is_own(atom: Any, ranges: dict[Any, Range | None]) -> bool:
    return isinstance(atom, Literal) or atom in ranges


def _exactly(value: Any) -> Range | None:
    array = np.asarray(value)
    if array.dtype.kind not in "iub" or array.shape:
        return None
    return int(array), int(array)


def _narrow(equation: Any, ranges: dict[Any, Range | None]) -> None:
    """Python's integers fit into the array they meet, or it is an error."""
    if equation.primitive is not convert_element_type_p:
        return
    (source,), dtype = equation.invars, equation.params["new_dtype"]
    span = ranges.get(source) if not isinstance(source, Literal) else None
    if span is None or not jnp.issubdtype(dtype, jnp.integer):
        return
    info = np.iinfo(np.dtype(dtype))
    if span[0] < int(info.min) or span[1] > int(info.max):
        raise NotRolled(f"the index does not fit into {np.dtype(dtype)}")


def _divides(equation: Any, own: list[bool], of: Callable[[Any], Range | None]) -> None:
    """Where Python divides two numbers of its own, zero is an exception."""
    # a function of `jax.numpy` is a graph with nothing but its name to tell what it computes
    called = equation.params.get("name") if equation.primitive in _CALLS else ""
    if equation.primitive not in (div_p, rem_p) and called not in _DIVISIONS:
        return
    if not all(own):
        return
    divisor = equation.invars[1]
    span = of(divisor)
    if isinstance(divisor, Literal) and span is None:
        span = (1, 1) if np.all(np.asarray(divisor.val) != 0) else (0, 0)
    if span is None or span[0] <= 0 <= span[1]:
        raise NotRolled("what is computed from the index may divide by zero")


_DIVISIONS = ("floor_divide", "remainder", "divmod", "true_divide", "fmod")


def _inner(equation: Any) -> list[tuple[Any, Sequence[Any]]]:
    """Graphs inside an equation, with the operands that are their first inputs.

    Of a loop these are its constants: what a trip changes is a run-time value.
    """
    operation, params, given = equation.primitive, equation.params, equation.invars
    if operation is cond_p:
        return [(branch.jaxpr, given[1:]) for branch in params["branches"]]
    if operation is while_p:
        tests, consts = params["cond_nconsts"], params["body_nconsts"]
        body = params["body_jaxpr"].jaxpr, given[tests : tests + consts]
        return [(params["cond_jaxpr"].jaxpr, given[:tests]), body]
    if operation is loop_p and params["test"] is not None:
        form = params["form"]
        body = params["body"].jaxpr, given[form.tests : form.tests + form.consts]
        return [(params["test"].jaxpr, given[: form.tests]), body]
    if operation is scan_p:
        count = params.get("num_consts")
        if count is None:
            count = len(params["ft_in"].unpack()[0])
        return [(params["jaxpr"].jaxpr, given[:count])]
    graphs = list(jaxprs_in_params(params))
    if operation in _CALLS:
        return [(getattr(graph, "jaxpr", graph), given) for graph in graphs[:1]]
    if graphs:
        raise NotRolled(f"the index goes into {operation.name}")
    return []


def _called(equation: Any, spans: list[Range | None]) -> list[Range | None] | None:
    """Ranges of the results of an operation that runs a graph of its own; None for another."""
    if equation.primitive not in _CALLS:
        return None
    ((jaxpr, _),) = _inner(equation)
    one, other = spans[0], spans[-1]
    if equation.params.get("name") == "remainder" and one is not None and other is not None:
        return [(min(other[0] + 1, 0), max(other[1] - 1, 0))]
    inside = follow(jaxpr, dict(zip(jaxpr.invars, spans, strict=True)))
    return [_exactly(v.val) if isinstance(v, Literal) else inside.get(v) for v in jaxpr.outvars]


def _span(function: Callable[[int, int], int]) -> Callable[..., Range | None]:
    """The rule of a function that has its extremes at the ends of its arguments' ranges."""

    def rule(one: Range | None, other: Range | None) -> Range | None:
        if one is None or other is None:
            return None
        corners = [function(a, b) for a in one for b in other]
        return min(corners), max(corners)

    return rule


def _part(one: Range | None, other: Range | None) -> Range | None:
    """A quotient or a remainder of two integers is not larger than the first of them."""
    if one is None:
        return None
    most = max(abs(one[0]), abs(one[1]))
    return -most, most


def _either(_: Range | None, *cases: Range | None) -> Range | None:
    """A value that is one of several."""
    known = [case for case in cases if case is not None]
    if len(known) < len(cases):
        return None
    return min(case[0] for case in known), max(case[1] for case in known)


#: ranges of results by the ranges of operands; None where nothing is known
RULES: dict[Any, Callable[..., Range | None]] = {
    add_p: _span(lambda a, b: a + b),
    sub_p: _span(lambda a, b: a - b),
    mul_p: _span(lambda a, b: a * b),
    max_p: _span(max),
    min_p: _span(min),
    neg_p: lambda one: one and (-one[1], -one[0]),
    abs_p: lambda one: one and (0, max(abs(one[0]), abs(one[1]))),
    sign_p: lambda _: (-1, 1),
    div_p: _part,
    rem_p: _part,
    select_n_p: _either,
    concatenate_p: lambda *parts: _either(None, *parts),
    clamp_p: lambda low, one, high: _either(None, low, one, high),
    **dict.fromkeys(
        (convert_element_type_p, broadcast_in_dim_p, reshape_p, squeeze_p, copy_p),
        lambda one, *_: one,
    ),
}
