"""The graph of a loop's body for array elements, made from the one for Python numbers.

In `total = 0.0; for row in x: total = total + row[0]` the number `0.0` is a Python number before
the loop and an element of an array from the second trip on. JAX calls the types of Python numbers
weak; the graph of the body is the same for both but for that mark, so it is not traced again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from jax.extend.core import Var

from d2s.backends.lax.forms.dtypes import type_of_aval
from d2s.backends.lax.forms.trees import Known, Out, map_leaves
from d2s.backends.lax.regions.regions import Region
from d2s.backends.lax.trace.boxes import known

#: primitives whose results come out of graphs of their own
_BLOCKS = ("cond", "while", "scan", "bounded_while")


def strengthened(region: Region, positions: list[int], renamed: dict[int, Any]) -> Region | None:
    """The same region for array elements at some positions of its inputs.

    What is computed from them is no Python number either; no equation changes otherwise. `renamed`
    gives for what an output was said to be, by identity, what it is said to be now. None where an
    inner graph leaves open which of its numbers that concerns.
    """
    graph = _strong_graph(region.jaxpr.jaxpr, positions)
    if graph is None:
        return None

    def out(leaf: Any) -> Any:
        if not isinstance(leaf, Out):
            return leaf
        same = renamed.get(id(leaf.same_as), leaf.same_as)
        kind = type_of_aval(graph.outvars[leaf.index].aval)._replace(kind=leaf.type.kind)
        return Out(leaf.index, kind, same)

    made = copy.copy(region)
    made.jaxpr = region.jaxpr.replace(jaxpr=graph)
    made.slots = {}

    def moved(leaf: Any) -> Any:
        if isinstance(leaf, Known) and leaf.expand is not None:
            return known(leaf.origin, made.slots)
        return out(leaf)

    made.value = map_leaves(moved, region.value)
    made.slots |= {key: (slot, map_leaves(moved, v)) for key, (slot, v) in region.slots.items()}
    return made


def _strong_graph(graph: Any, positions: list[int]) -> Any:
    """The graph with strong types for some inputs and for what is computed from them."""
    strong = {v: Var(v.aval.strip_weak_type()) for v in (graph.invars[n] for n in positions)}

    def new(var: Any) -> Any:
        return strong.get(var, var) if isinstance(var, Var) else var

    equations = []
    for equation in graph.eqns:
        if any(isinstance(v, Var) and v in strong for v in equation.invars):
            weak = _weak_results(equation)
            if equation.primitive.name in _BLOCKS and _uses_any(graph, weak):
                return None
            strong.update({v: Var(v.aval.strip_weak_type()) for v in weak})
            if _is_conversion_to_itself(equation, new):
                # it only made an array element of a number
                strong[equation.outvars[0]] = new(equation.invars[0])
                continue
            equation = equation.replace(
                invars=list(map(new, equation.invars)), outvars=list(map(new, equation.outvars))
            )
        equations.append(equation)
    return graph.replace(
        invars=list(map(new, graph.invars)), eqns=equations, outvars=list(map(new, graph.outvars))
    )


def _weak_results(equation: Any) -> list[Any]:
    if equation.params.get("weak_type", False):
        return []  # the user's program makes a Python number of it
    return [v for v in equation.outvars if getattr(v.aval, "weak_type", False)]


def _is_conversion_to_itself(equation: Any, new: Callable[[Any], Any]) -> bool:
    if equation.primitive.name != "convert_element_type":
        return False
    (source,), (target,) = equation.invars, equation.outvars
    return bool(new(source).aval == new(target).aval)


def _uses_any(graph: Any, variables: list[Any]) -> bool:
    used = {id(v) for equation in graph.eqns for v in equation.invars}
    used |= {id(v) for v in graph.outvars}
    return any(id(v) in used for v in variables)
