"""Which Python integers of a graph may leave 32 bits.

Where nothing checks them yet, the graph is built again with checks (`require_checks`). Where checks
are put in, only what may leave is checked (`risky`). In ::

    n = int(x) % 1000           0 .. 999
    return n * n + int(y)       the product is 998001 at most; the sum may be anything, so it is risky
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from d2s.backends.lax.jaxprs.overflow import CHECKS, stands_for_python_int
from d2s.backends.lax.jaxprs.ranges.walk import Seen, Value, Walk
from d2s.backends.lax.private import equations_of, frame_of, running_traces


class Unchecked(Exception):
    """A graph was built without checks of integers, and needs them."""


def require_checks() -> None:
    """Ask for another graph if an integer of the one that was just built may wrap."""
    frames = map(frame_of, running_traces())  # that of a transformation has no frame
    frame = next((one for one in frames if one is not None), None)
    if frame is not None and may_wrap(equations_of(frame)):
        raise Unchecked


def may_wrap(equations: Iterable[Any]) -> bool:
    """Whether an integer may leave its range; those in loops have checks already."""
    walk, found = Walk(), {}
    for equation in equations:
        given = []
        for operand in equation.invars:
            atom = getattr(operand, "val", operand) if hasattr(operand, "_trace") else operand
            known = found.get(atom) if not hasattr(atom, "val") else walk.constant(atom.val)
            given.append(known or walk.input(atom.aval))
        found.update(zip(equation.outvars, walk.apply(equation, given), strict=True))
        if any(is_risky(one) and not one.in_loop for one in walk.seen):
            return True
        walk.seen.clear()
    return False


def risky(jaxpr: Any, inputs: Callable[[Walk, Any], Value]) -> list[Any]:
    """The equations of a graph, without those of graphs inside, whose result may leave 32 bits.

    `inputs` tells what is known of an input or a constant of the graph.
    """
    own = {id(equation): equation for equation in jaxpr.eqns if _is_checkable(equation)}
    if not own:
        return []
    walk = Walk()
    known = [[inputs(walk, v) for v in some] for some in (jaxpr.invars, jaxpr.constvars)]
    walk.run(jaxpr, *known)
    wrapping = {id(one.equation) for one in walk.seen if is_risky(one)}
    return [equation for key, equation in own.items() if key in wrapping]


def is_risky(seen: Seen) -> bool:
    return _is_checkable(seen.equation) and not seen.in_call and seen.wraps


def _is_checkable(equation: Any) -> bool:
    return equation.primitive in CHECKS and stands_for_python_int(equation.outvars[0])
