"""Checks of Python integers in the graph of a region: where one leaves 32 bits, the code says so.

A graph computes with 32 bits where Python's integers have no limit. Arithmetic that may leave them
gives its operands and its result out of the graph as well,

    outputs = [what the code gives] [error code?] [operands and result of each checked equation]

and whoever runs the graph computes from those whether the result is the true one. The check is not
an equation of the graph itself, because a loop that turns out not to need it drops it again.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from d2s.backends.lax.forms.dtypes import Type
from d2s.backends.lax.forms.trees import Out
from d2s.backends.lax.jaxprs.ranges import overflow

CODE = Type((), jnp.dtype("int32"), False)


class IntegerChecks:
    """The checked equations of one graph, and what its outputs are without the checks."""

    def __init__(self, graph: Any, code: Any, numbers: set[int], equations: list[Any]) -> None:
        #: how many outputs the graph has without the checks
        self.count = len(graph.outvars)
        #: the error code and the numbers of the failures without the checks
        self.code, self.numbers = code, numbers
        #: the arithmetic that is checked
        self.equations = equations
        #: the number of the failure that an integer has left its range
        self.number = 0

    @property
    def new_code(self) -> Out:
        """The error code with the checks in it, which comes after all that the code gives."""
        return Out(self.count, CODE)

    def add_outputs(self, graph: Any) -> Any:
        """The graph with the numbers that are checked as outputs."""
        outvars = list(graph.outvars)
        if self.code is not None:
            outvars.append(outvars[self.code.index])
        return graph.replace(outvars=outvars + overflow.operands(self.equations))

    def results(self, graph: Any) -> list[Any]:
        """The variables of a graph with these outputs whose arithmetic is checked."""
        rest, found = graph.outvars[self.count + (self.code is not None) :], []
        for equation in self.equations:
            size = len(equation.invars) + len(equation.outvars)
            found.append(rest[size - 1])
            rest = rest[size:]
        return found

    def drop_others(self, graph: Any, wrapping: set[Any]) -> Any:
        """The graph with no other checks than those of the results that may wrap."""
        first = self.count + (self.code is not None)
        outvars, rest, kept = list(graph.outvars[:first]), graph.outvars[first:], []
        for equation in self.equations:
            size = len(equation.invars) + len(equation.outvars)
            if rest[size - 1] in wrapping:
                kept.append(equation)
                outvars += rest[:size]
            rest = rest[size:]
        self.equations = kept
        return graph.replace(outvars=outvars if kept else outvars[: self.count])

    def tell(self, outs: list[Any]) -> list[Any]:
        """The outputs of a run with the error code in place of the numbers that are checked.

        That an integer left its range is said first of all: what failed after it may have failed
        because of it.
        """
        outs, rest = outs[: self.count], outs[self.count :]
        before, rest = (0, rest) if self.code is None else (rest[0], rest[1:])
        wrapped = overflow.check(self.equations, rest)
        return [*outs, jnp.where(wrapped, self.number, before)]
