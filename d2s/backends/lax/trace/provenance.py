"""Which arguments of a static function a run-time value was computed from.

When a graph needs the value of a Python number, that number becomes a constant and the graph is
built again. The numbers that the value does not depend on stay inputs: of ``f(n, rate)`` with
``range(n)`` in it, `n` becomes a constant, and `rate` does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import jax
from jax.extend.core import Var

from d2s.backends.lax import private
from d2s.backends.lax.graph import scopes
from d2s.errors import Error


def needing(error: Error, *values: Any) -> Error:
    """The error itself, with the arguments noted that these values were computed from."""
    scope = scopes.current()
    if scope is not None:
        error.needs = _behind(values, scopes.root().inputs)
    return error


def needed_by(error: BaseException | None) -> frozenset[int] | None:
    """The arguments whose values an error asks for; None if it does not say."""
    while error is not None:
        if isinstance(error, Error):
            if error.needs is not None:
                return error.needs
        else:  # JAX names the arguments in its message, and nowhere else
            named = re.findall(r"(?:leaves|arguments)\[(\d+)\]", str(error))
            if named:
                return frozenset(map(int, named))
        error = error.__cause__
    return None


def _behind(values: Iterable[Any], inputs: tuple[Any, ...]) -> frozenset[int] | None:
    """The positions of the inputs that values depend on; None where that cannot be seen."""
    positions = {id(private.variable_of(leaf)): n for n, leaf in enumerate(inputs)}
    found: set[int] = set()
    wanted = [value for value in values if isinstance(value, jax.core.Tracer)]
    while wanted:
        tracer = wanted.pop()
        frame = private.frame_of(private.trace_of(tracer))
        if frame is None or not hasattr(frame, "tracing_eqns"):
            return None  # it belongs to a transformation, whose equations are not known
        if not isinstance(private.variable_of(tracer), Var):
            continue  # a constant of the graph
        reached = _reached(frame, private.variable_of(tracer))
        found |= {positions[id(var)] for var in reached if id(var) in positions}
        own = {id(var) for var in frame.invars} - positions.keys()
        if any(id(var) in own for var in reached):
            return None  # it is carried by a loop, and what it was computed from is not known here
        held = [v for var, v in frame.constvar_to_val.items() if var in reached]
        wanted += [v for v in held if isinstance(v, jax.core.Tracer)]
    return frozenset(found)


def _reached(frame: Any, variable: Any) -> set[Any]:
    """A variable of a graph, and all those that it was computed from."""
    reached = {variable}
    for equation in reversed(private.equations_of(frame)):
        if reached.intersection(equation.outvars):
            given = map(private.variable_of, equation.invars)
            reached.update(var for var in given if isinstance(var, Var))
    return reached
