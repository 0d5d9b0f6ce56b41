"""Which Python integers of a graph may leave 32 bits.

Where nothing checks them yet, the graph is built again with checks (`require_checks`). Where checks
are put in, only what may leave is checked (`risky`). In ::

    n = int(x) % 1000           0 .. 999
    return n * n + int(y)       the product is 998001 at most; the sum may be anything: it is risky
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from jax.extend.core import Literal

from d2s.backends.lax.jaxprs.ranges.overflow import CHECKS, stands_for_python_int
from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.jaxprs.ranges.values import SeenOperation, Value
from d2s.backends.lax.jaxprs.ranges.walk import GraphWalk
from d2s.backends.lax.private import equations_of, finished, frame_of, running_traces


class Unchecked(Exception):
    """A graph was built without checks of integers, and needs them."""


def require_checks() -> None:
    """Ask for another graph if an integer of the one that was just built may wrap."""
    frames = map(frame_of, running_traces())  # that of a transformation has no frame
    frame = next((one for one in frames if one is not None), None)
    if frame is not None and may_wrap(map(finished, equations_of(frame))):
        raise Unchecked


def may_wrap(equations: Iterable[Any]) -> bool:
    """Whether an integer may leave its range; those in loops have checks already."""
    walk = GraphWalk()
    found: dict[Any, Value] = {}

    def of(atom: Any) -> Value:
        if isinstance(atom, Literal):
            return walk.constant(atom.val)
        return found[atom] if atom in found else walk.input(atom.aval)

    for equation in equations:
        outs = walk.apply(equation, list(map(of, equation.invars)))
        found.update(zip(equation.outvars, outs, strict=True))
        if any(is_risky(one) and not one.in_loop for one in walk.seen):
            return True
        walk.seen.clear()
    return False


def risky(jaxpr: Any, inputs: Sequence[Span | None], consts: Sequence[Span | None]) -> list[Any]:
    """The equations of a graph whose result may leave 32 bits, without those of graphs inside.

    It is given what is known of the ranges of inputs and constants.
    """
    if not any(map(_is_checkable, jaxpr.eqns)):
        return []
    walk = GraphWalk()
    given = zip((*jaxpr.invars, *jaxpr.constvars), (*inputs, *consts), strict=True)
    values = [walk.input(v.aval, span) for v, span in given]
    walk.run(jaxpr, values[: len(inputs)], values[len(inputs) :])
    found = wrapping(walk)
    return [equation for equation in jaxpr.eqns if any(v in found for v in equation.outvars)]


def wrapping(walk: GraphWalk) -> set[Any]:
    """The Python integers of the graphs that a walk has seen that may leave 32 bits."""
    return {one.equation.outvars[0] for one in walk.seen if is_risky(one)}


def is_risky(seen: SeenOperation) -> bool:
    return _is_checkable(seen.equation) and not seen.in_call and seen.wraps


def _is_checkable(equation: Any) -> bool:
    return equation.primitive in CHECKS and stands_for_python_int(equation.outvars[0])
