"""Loop invariants: parts of the carry that no trip changes become constants of the loop.

    while i < n and not broke:                    while i < n:
        i, n, broke = i + 1, n, broke      ==>        i = i + 1

Here `n` is read as a constant, and `broke`, which is known to be false, is not read at all. The
flag of a ``break`` is such a part where the test of the loop asks by itself for what sets it
(`early_exit`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.extend.core import ClosedJaxpr, Literal, Var
from jax.extend.core.primitives import and_p, convert_element_type_p, not_p


class VaryingLoop(NamedTuple):
    """A loop without its invariants; `kept` says which parts of the carry are left."""

    test: Any
    tests: list[Any]
    body: Any
    consts: list[Any]
    values: list[Any]
    kept: list[bool]

    def all(self, after: Sequence[Any], before: Sequence[Any]) -> list[Any]:
        """The whole state after the loop."""
        changed = iter(after)
        return [next(changed) if k else b for k, b in zip(self.kept, before, strict=True)]


def without_invariants(
    test: Any, tests: list[Any], body: Any, consts: list[Any], values: list[Any]
) -> VaryingLoop:
    """The loop with its invariants as constants; with the graphs as they are where it has none."""
    jaxpr = body.jaxpr
    carry = jaxpr.invars[len(consts) :]
    kept = [out is not given for out, given in zip(jaxpr.outvars, carry, strict=True)]
    if all(kept) or not any(kept):
        return VaryingLoop(test, tests, body, consts, values, [True] * len(kept))
    test, tests = _without(test, tests, kept, values, test.jaxpr.outvars)
    outvars = [out for out, keep in zip(jaxpr.outvars, kept, strict=True) if keep]
    body, consts = _without(body, consts, kept, values, outvars)
    rest = [value for value, keep in zip(values, kept, strict=True) if keep]
    return VaryingLoop(test, tests, body, consts, rest, kept)


def _without(
    graph: Any, consts: list[Any], kept: list[bool], values: list[Any], outvars: Sequence[Any]
) -> tuple[Any, list[Any]]:
    """The graph with the invariants as constants, or as literals where their value is known."""
    jaxpr = graph.jaxpr
    own, carry = jaxpr.invars[: len(consts)], jaxpr.invars[len(consts) :]
    known: dict[Any, Any] = {}
    new, added = [], []
    read = {v for e in jaxpr.eqns for v in e.invars if isinstance(v, Var)}
    read |= {v for v in outvars if isinstance(v, Var)}
    for var, keep, value in zip(carry, kept, values, strict=True):
        if keep or var not in read:
            continue
        flag = _known_flag(var, value)
        if flag is not None:
            known[var] = flag
        else:
            new.append(var)
            added.append(value)
    eqns, outs = _simplified(jaxpr.eqns, outvars, known)
    made = jaxpr.replace(
        invars=[*own, *new, *(var for var, keep in zip(carry, kept, strict=True) if keep)],
        eqns=eqns,
        outvars=outs,
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return ClosedJaxpr(made, graph.consts), [*consts, *added]


def _known_flag(var: Any, value: Any) -> Any:
    """The value of a flag, if it is known while the graph is built."""
    if var.aval.dtype != np.bool_ or var.aval.shape:
        return None
    if not isinstance(value, jax.core.Tracer):
        return Literal(np.bool_(bool(value)), var.aval)
    held = getattr(value, "val", None)  # JAX keeps the literal of a constant in its tracer
    return Literal(np.bool_(held.val), var.aval) if isinstance(held, Literal) else None


def _simplified(
    eqns: Sequence[Any], outvars: Sequence[Any], known: dict[Any, Any]
) -> tuple[list[Any], list[Any]]:
    """Without the logic that known flags decide."""

    def put(var: Any) -> Any:
        return known.get(var, var) if isinstance(var, Var) else var

    kept = []
    for equation in eqns:
        inputs = [put(v) for v in equation.invars]
        answer = _answer(equation, inputs)
        if answer is None:
            kept.append(equation.replace(invars=inputs))
        else:
            known[equation.outvars[0]] = answer
    return kept, [put(v) for v in outvars]


def _answer(equation: Any, inputs: list[Any]) -> Any:
    """What a `not` or `and` of known flags is; None where it has to be computed."""
    operation = equation.primitive
    flags: list[Any] = [v for v in inputs if isinstance(v, Literal)]
    flags = [v for v in flags if v.aval.dtype == np.bool_]
    if operation is not_p and flags:
        return Literal(np.bool_(not flags[0].val), flags[0].aval)
    if operation is and_p and flags and not equation.outvars[0].aval.shape:
        one, other = inputs if inputs[0] is flags[0] else inputs[::-1]
        return other if one.val else one
    is_cast = operation is convert_element_type_p and flags
    return flags[0] if is_cast and equation.outvars[0].aval.dtype == np.bool_ else None
