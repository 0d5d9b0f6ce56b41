"""A branch on graphs that are there already: nothing is traced again.

`jax.lax.cond` would run each side once more to have its graph. Where the results of the sides are
outputs of their graphs, or values from before, of one and the same type, the graphs can be the
branches as they are::

    if test: z = w @ x       sides   = [[y], [Out 0]], of `else` and `then`
    else:    z = y           becomes   cond(test, graph of else, graph of then, w, x, y)

A result that is the same operand on both sides needs no branch at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Literal, Var
from jax.interpreters.partial_eval import dce_jaxpr

from d2s.backends.lax.forms.dtypes import NUMBERS, Type, type_of
from d2s.backends.lax.forms.trees import Filler, Out
from d2s.backends.lax.regions.regions import Region


def branch(
    test: Any, regions: Sequence[Region], sides: Sequence[Sequence[Any]], kinds: Sequence[Type]
) -> list[Any] | None:
    """The results of the second region or the first; `sides` are what they are in each of them.

    None where something has to be done with them first.
    """
    operands: dict[int, Any] = {}
    for region, values in zip(regions, sides, strict=True):
        if region.effects or region.risky or region.jaxpr.jaxpr.invars:
            return None
        consts = region.jaxpr.consts
        if len({id(const) for const in consts}) < len(consts):
            return None
        read = _read(region.jaxpr.jaxpr, values)
        pairs = zip(consts, region.jaxpr.jaxpr.constvars, strict=True)
        operands |= {id(const): const for const, var in pairs if var in read}
        operands |= {id(v): v for v in values if isinstance(v, jax.Array)}
    graphs = [_Graph(region, operands) for region in regions]
    outs = [
        [graph.out(value, kind) for value, kind in zip(values, kinds, strict=True)]
        for graph, values in zip(graphs, sides, strict=True)
    ]
    results = list(zip(*outs, strict=True))
    if any(None in one or len({v.aval for v in one}) > 1 for one in results):
        return None
    given = [_same(graphs, one) for one in results]
    kept = [n for n, position in enumerate(given) if position is None]
    values = list(operands.values())
    computed: Any = iter(())
    if kept:
        closed = [
            graph.closed([out[n] for n in kept]) for graph, out in zip(graphs, outs, strict=True)
        ]
        index = jax.lax.convert_element_type(test, np.int32)
        computed = iter(jax.lax.cond_p.bind(index, *values, branches=tuple(closed)))
    return [next(computed) if position is None else values[position] for position in given]


def _read(jaxpr: Any, results: Sequence[Any]) -> set[Any]:
    """The variables of a graph that its results need."""
    wanted = [jaxpr.outvars[one.index] for one in results if isinstance(one, Out)]
    needed = {v for v in wanted if isinstance(v, Var)}
    for equation in reversed(jaxpr.eqns):
        if needed.intersection(equation.outvars):
            needed |= {v for v in equation.invars if isinstance(v, Var)}
    return needed


class _Graph:
    """The graph of a region with the operands of all regions as its inputs."""

    def __init__(self, region: Region, operands: dict[int, Any]) -> None:
        self._jaxpr = region.jaxpr.jaxpr
        own = dict(zip(map(id, region.jaxpr.consts), self._jaxpr.constvars, strict=True))
        self.inputs = {n: own.get(n) or Var(jax.typeof(v)) for n, v in operands.items()}

    def out(self, value: Any, kind: Type) -> Any:
        """What stands for a result; None where it would have to be made."""
        if isinstance(value, Filler):
            return None
        if isinstance(value, Out):
            return self._jaxpr.outvars[value.index] if value.type.bare == kind.bare else None
        if isinstance(value, jax.Array):
            return self.inputs[id(value)] if type_of(value).bare == kind.bare else None
        if type(value) not in NUMBERS or kind.shape:
            return None
        held = np.asarray(value, kind.dtype)[()]
        return Literal(held, ShapedArray((), kind.dtype, weak_type=kind.weak))

    def position(self, var: Any) -> int | None:
        """Which of the inputs a result is."""
        return next((n for n, own in enumerate(self.inputs.values()) if own is var), None)

    def closed(self, outvars: list[Any]) -> Any:
        made = self._jaxpr.replace(
            constvars=[],
            invars=list(self.inputs.values()),
            outvars=outvars,
            debug_info=self._jaxpr.debug_info.with_unknown_names(),
        )
        smaller, _ = dce_jaxpr(made, [True] * len(outvars), True)
        return ClosedJaxpr(smaller, [])


def _same(graphs: list[_Graph], result: Sequence[Any]) -> int | None:
    """The input that a result is on all sides."""
    places = {graph.position(var) for graph, var in zip(graphs, result, strict=True)}
    return places.pop() if len(places) == 1 else None
