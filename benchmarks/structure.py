"""What a graph is made of: its primitives, what its loops carry, how many equations it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
from jax.extend.core import jaxprs_in_params
from jax.interpreters.partial_eval import dce_jaxpr

#: what has no work of its own: one side may have it where the other has none
_WRAPPERS = ("jit", "pjit", "closed_call", "custom_jvp_call", "custom_vjp_call", "copy")


@dataclass(frozen=True)
class Structure:
    """Equations by primitive; sizes of what loops carry, in bytes, the largest first."""

    equations: Counter[str]
    carries: list[int]

    @property
    def count(self) -> int:
        return sum(self.equations.values())


def structure(graph: Any) -> Structure:
    """Of a jaxpr, without what nobody reads; a loop of ours counts as the one that it becomes."""
    graph, _ = dce_jaxpr(graph.jaxpr, [True] * len(graph.jaxpr.outvars), True)
    equations: Counter[str] = Counter()
    carries = []
    for equation in every(graph):
        name = equation.primitive.name.removeprefix("bounded_")
        if name not in _WRAPPERS:
            equations[name] += 1
        if name in ("while", "scan"):
            carries.append(sum(out.aval.size * out.aval.dtype.itemsize for out in equation.outvars))
    return Structure(equations, sorted(carries, reverse=True))


def every(jaxpr: Any) -> Iterator[Any]:
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from every(getattr(inner, "jaxpr", inner))


def of(function: Any, *args: Any) -> Structure:
    return structure(jax.make_jaxpr(function)(*args))
