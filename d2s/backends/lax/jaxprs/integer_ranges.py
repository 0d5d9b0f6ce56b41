"""Whether integers that stand for Python's may leave 32 bits where nothing checks them.

Loops are checked, and so are functions that get Python integers. Elsewhere such integers come from
``int(x)``, from values that a branch has joined, and out of loops. What is done with them mostly
surely fits, and then costs no check: their ranges are followed through the graph.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax.extend.core import Literal
from jax.extend.core.primitives import (
    add_p,
    and_p,
    cond_p,
    copy_p,
    div_p,
    integer_pow_p,
    jit_p,
    scan_p,
    select_n_p,
    shift_left_p,
    square_p,
    sub_p,
    while_p,
)

from d2s.backends.lax.jaxprs import proof
from d2s.backends.lax.jaxprs.bounded.loop import loop_p
from d2s.backends.lax.jaxprs.overflow import CHECKS, FEW, stands_for_python_int
from d2s.backends.lax.jaxprs.proof import Range
from d2s.backends.lax.private import equations_of, frame_of, running_traces
from d2s.libraries import is_library_file

_ALL = -(2**31), 2**31 - 1
#: numbers so far from the limits that steps by one do not get there in any time
_FAR = -(2**30), 2**30 - 1


class Unchecked(Exception):
    """A graph was built without checks of integers, and needs them."""


def require_checks() -> None:
    """Ask for another graph if an integer of the one that was just built may wrap."""
    frames = map(frame_of, running_traces())  # that of a transformation has no frame
    frame = next((one for one in frames if one is not None), None)
    if frame is not None and _may_wrap(equations_of(frame), {}):
        raise Unchecked


def _may_wrap(equations: Iterable[Any], ranges: dict[Any, Range]) -> bool:
    for equation in equations:
        given = [v.val if isinstance(v, jax.core.Tracer) else v for v in equation.invars]
        operation = equation.primitive
        if operation is cond_p:
            if _branches_may_wrap(equation, given, ranges):
                return True
        elif operation in _LOOPS:
            if _loop_may_wrap(equation, given, ranges):
                return True
        elif len(equation.outvars) == 1 and stands_for_python_int(equation.outvars[0]):
            span = _result(equation, [_span(v, ranges) for v in given])
            fits = span is not None and span[0] >= _ALL[0] and span[1] <= _ALL[1]
            if operation in CHECKS and not fits:
                return True
            ranges[equation.outvars[0]] = span if span is not None and fits else _ALL
    return False


def _span(atom: Any, ranges: dict[Any, Range]) -> Range | None:
    """The range of a value; None for what is no integer."""
    if isinstance(atom, Literal):
        value = np.asarray(atom.val)
        return (int(value), int(value)) if value.dtype.kind in "iub" and not value.shape else None
    kind = np.dtype(atom.aval.dtype) if isinstance(atom.aval.dtype, np.dtype) else None
    if atom in ranges or kind is None or kind.kind not in "iub":
        return ranges.get(atom)
    if kind.kind == "b":
        return 0, 1
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _result(equation: Any, spans: list[Range | None]) -> Range | None:
    operation, params = equation.primitive, equation.params
    if operation in (integer_pow_p, square_p) and spans[0] is not None:
        exponent = params.get("y", 2)
        most = max(map(abs, spans[0])) ** exponent
        return (0 if exponent % 2 == 0 else -most), most
    rule = _function_of_jax(params) if operation is jit_p else _RULES.get(operation)
    return rule(*spans) if rule is not None else None


def _function_of_jax(params: Any) -> Callable[..., Range | None] | None:
    """The rule of a function of `jax.numpy` that is a graph of its own.

    Such a graph has a name and the file of its function, and nothing else that says what it is.
    """
    rule, file = _OF_FUNCTIONS.get(params.get("name", "")), None
    if rule is not None:
        file = params["jaxpr"].jaxpr.debug_info.func_filename
    return rule if file is not None and is_library_file(file) else None


def _remainder(one: Range | None, other: Range | None) -> Range | None:
    return other and (min(other[0] + 1, 0), max(other[1] - 1, 0))


def _masked(one: Range | None, other: Range | None) -> Range | None:
    least = [span[1] for span in (one, other) if span is not None and span[0] >= 0]
    return (0, min(least)) if least else None


def _shifted(one: Range | None, other: Range | None) -> Range | None:
    if one is None or other is None or other[0] < 0 or other[1] > 31:
        return None
    return min(a << b for a in one for b in other), max(a << b for a in one for b in other)


_RULES: dict[Any, Callable[..., Range | None]] = {
    **proof.RULES,
    and_p: _masked,
    shift_left_p: _shifted,
}
_OF_FUNCTIONS: dict[str, Callable[..., Range | None]] = {
    "remainder": _remainder,
    "floor_divide": proof.RULES[div_p],
    "_where": proof.RULES[select_n_p],
}


def _branches_may_wrap(equation: Any, given: list[Any], ranges: dict[Any, Range]) -> bool:
    ways: list[list[Range | None]] = []
    for branch in equation.params["branches"]:
        inner: dict[Any, Range] = {}
        for var, atom in zip(branch.jaxpr.invars, given[1:], strict=True):
            span = _span(atom, ranges)
            if span is not None:
                inner[var] = span
        if _may_wrap(branch.jaxpr.eqns, inner):
            return True
        ways.append([_span(v, inner) for v in branch.jaxpr.outvars])
    for out, *spans in zip(equation.outvars, *ways, strict=True):
        joined = proof.RULES[select_n_p](None, *spans)
        if joined is not None:
            ranges[out] = joined
    return False


# -- what comes out of loops -----------------------------------------------------------------------

_LOOPS = frozenset({while_p, scan_p, loop_p})


def _loop_may_wrap(equation: Any, given: list[Any], ranges: dict[Any, Range]) -> bool:
    """Whether a loop counts on from a number that may be near the limit already.

    Its counters, and what was one of them in some trip, are far from it otherwise.
    """
    body, first = _body(equation)
    carried = zip(body.invars[first[1] :], given[first[0] :], strict=False)
    makers = {out: inner for inner in body.eqns for out in inner.outvars}
    integers = {
        own: (_span(init, ranges), after, out)
        for (own, init), after, out in zip(carried, body.outvars, equation.outvars, strict=False)
        if stands_for_python_int(out)
    }
    counters = {own for own, (begin, _, _) in integers.items() if _is_near(begin)}
    if any(after is not own for own, (_, after, _) in integers.items() if own not in counters):
        return True
    while True:
        met: list[Range] = []
        steps = {own: _steps(integers[own][1], counters, makers, met) for own in counters}
        gone = {own for own, count in steps.items() if count is None or count > FEW}
        if not gone:
            break
        counters -= gone
    most = max((count or 0 for count in steps.values()), default=0)
    trips = equation.params["length"] if equation.primitive is scan_p else None
    spans = [integers[own][0] or _ALL for own in counters] + met
    for own, (begin, after, out) in integers.items():
        if after is own:
            ranges[out] = begin or _ALL
        elif own in counters and type(trips) is int:
            low, high = min(s[0] for s in spans), max(s[1] for s in spans)
            ranges[out] = max(low - trips * most, _ALL[0]), min(high + trips * most, _ALL[1])
        else:
            ranges[out] = _FAR if own in counters and most <= 1 else _ALL
    return False


def _is_near(begin: Range | None) -> bool:
    return begin is not None and begin[0] >= _FAR[0] and begin[1] <= _FAR[1]


def _body(equation: Any) -> tuple[Any, tuple[int, int]]:
    """The body of a loop, and where what it carries begins: in the equation, and in the body."""
    params = equation.params
    if equation.primitive is while_p:
        consts = params["body_nconsts"]
        return params["body_jaxpr"].jaxpr, (params["cond_nconsts"] + consts, consts)
    if equation.primitive is scan_p:
        count = params.get("num_consts")
        if count is None:
            count = len(params["ft_in"].unpack()[0])
        return params["jaxpr"].jaxpr, (count, count)
    form = params["form"]
    return params["body"].jaxpr, (form.tests + form.consts, form.consts)


def _steps(atom: Any, heads: set[Any], makers: dict[Any, Any], met: list[Range]) -> int | None:
    """How many steps by one lead from variables at the head of a body to a value at its end.

    `met` gets the constants that it may be instead.
    """
    if isinstance(atom, Literal):
        span = _span(atom, {})
        met += [span] if span is not None else []
        return 0 if _is_near(span) else None
    if atom in heads:
        return 0
    equation = makers.get(atom)
    if equation is None:
        return None
    operation, given = equation.primitive, equation.invars
    if operation in (add_p, sub_p) and isinstance(given[1], Literal):
        before, step = _steps(given[0], heads, makers, met), _span(given[1], {})
        return None if before is None or step is None else before + abs(step[0])
    if operation is select_n_p:
        return _most(_steps(case, heads, makers, met) for case in given[1:])
    if operation is cond_p:
        n, ways = equation.outvars.index(atom), equation.params["branches"]
        return _most(_in_branch(way.jaxpr, n, given[1:], heads, makers, met) for way in ways)
    if operation is copy_p:
        return _steps(given[0], heads, makers, met)
    return None


def _in_branch(
    branch: Any,
    n: int,
    given: Sequence[Any],
    heads: set[Any],
    makers: dict[Any, Any],
    met: list[Range],
) -> int | None:
    before = {
        var: count
        for var, atom in zip(branch.invars, given, strict=True)
        if (count := _steps(atom, heads, makers, met)) is not None
    }
    inner = {out: made for made in branch.eqns for out in made.outvars}
    inside = _steps(branch.outvars[n], set(before), inner, met)
    return None if inside is None else inside + max(before.values(), default=0)


def _most(steps: Iterable[int | None]) -> int | None:
    found = list(steps)
    known = [one for one in found if one is not None]
    return max(known) if len(known) == len(found) else None
