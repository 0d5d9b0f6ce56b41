"""Values that a branch in the body only hands through to the way back.

A `cond` in the body has one more result for each value that one of its sides keeps for the way
back. The weights in ``y = w @ y if p else y`` are such a value: they would come out of the branch,
and be copied, in each trip, though no trip changes them. Behind the branch they are what they were
before it, so the way back can read them from there.
"""

from __future__ import annotations

from typing import Any

from jax.extend.core import Literal
from jax.extend.core.primitives import cond_p


def through_branches(now: Any, kept: Any, later: Any, read: Any) -> Any:
    """A variable of `now` that is as good as `kept` for all that `later` does with it.

    kept  a variable of the graph that runs first
    read  the input of the graph that runs later, which gets its value
    """
    made = next((e for e in now.eqns if any(v is kept for v in e.outvars)), None)
    if isinstance(kept, Literal) or made is None or made.primitive is not cond_p:
        return kept
    place = next(n for n, v in enumerate(made.outvars) if v is kept)
    uses = [e for e in later.eqns if any(v is read for v in e.invars)]
    if len(uses) != 1 or any(v is read for v in later.outvars):
        return kept
    (use,) = uses
    if use.primitive is not cond_p or sum(v is read for v in use.invars) != 1:
        return kept
    operand = next(n for n, v in enumerate(use.invars) if v is read)
    if operand == 0:
        return kept
    sources: set[int] = set()
    for one, other in zip(made.params["branches"], use.params["branches"], strict=True):
        inner, inner_read = other.jaxpr, other.jaxpr.invars[operand - 1]
        if not _is_read(inner, inner_read):
            continue  # this side kept nothing; what stands there is a filler
        source = through_branches(one.jaxpr, one.jaxpr.outvars[place], inner, inner_read)
        found = [n for n, v in enumerate(one.jaxpr.invars) if v is source]
        if not found:
            return kept
        sources.update(found)
    if len(sources) != 1:
        return kept
    return made.invars[1 + sources.pop()]


def _is_read(jaxpr: Any, var: Any) -> bool:
    return any(v is var for v in jaxpr.outvars) or any(
        v is var for equation in jaxpr.eqns for v in equation.invars
    )
