"""Regions: parts of the user's code that have become a graph of their own.

A region is a side of a branch, the body or the test of a loop, or a whole function. Its code runs
once, on abstract values, and what is left of that run is its graph and what it gives:

    if x > 0:               regions: then_4, whose graph gives out x * 2, and which leaves the
        x = x * 2                    entry `log[0]` as a run-time value;
        log[0] = x                   else_4, with an empty graph
    ...                     `control/branches` joins the two into one `lax.cond`

Changes of Python objects are taken out as values of the graph and undone, exceptions have become
error codes. `trace` makes regions; a `Region` is what it made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import jaxprs_in_params

from d2s.backends.lax.arrays.may_alias import AliasSet, alias_set
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.forms.dtypes import Type, cast, of_type, own_text
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Out
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.jaxprs.ranges import wraps
from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.regions.checks import IntegerChecks
from d2s.backends.lax.trace.boxes import Taking, build
from d2s.errors import StagingError


def is_traced(value: object) -> bool:
    return isinstance(value, jax.core.Tracer) and value.to_concrete_value() is None


@dataclass
class WrittenArrays:
    """Which arrays the code of a region wrote, and which arrays its outputs may be."""

    #: arrays of the graphs around that were written here
    outer: list[Any] = field(default_factory=list)
    #: positions of the inputs that were written
    inputs: list[int] = field(default_factory=list)
    #: whether any array was written, also one of its own
    any: bool = False
    #: for each output, the arrays that it may be
    outputs: list[AliasSet] = field(default_factory=list)


@dataclass
class Region:
    """A part of the user's code as a graph, and its results with `Out` for run-time leaves."""

    jaxpr: Any
    #: what the code gives; its lists, dicts and objects are as they were before
    value: Any
    #: the slots that the code changed, by their identities, and what it left there
    slots: dict[tuple[int, Any], tuple[Slot, Any]]
    #: the error code, or None where nothing can fail; by the numbers of failures, what they quote
    code: Any
    payload: dict[int, list[Any]]
    numbers: set[int]
    #: whether the code surely fails
    raised: bool
    written: WrittenArrays = field(default_factory=WrittenArrays)
    #: the inputs as they were inside
    inputs: list[Any] = field(default_factory=list)
    #: identities of the inputs whose ranges the code has asked for
    asked: set[int] = field(default_factory=set)
    #: checks of Python integers, where the region is checked at all
    checks: IntegerChecks | None = None
    #: there are such checks in a graph inside this one
    nested_overflow: bool = False
    #: it would be another graph if its inputs were Python numbers, or arrays, instead
    asks_kinds: bool = False

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs of the graph, computed in the graph being built now."""
        outs: list[Any] = jax.core.eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *inputs)
        return self.checks.tell(outs) if self.checks is not None and self.risky else outs

    def dtypes(self) -> set[Any]:
        """Every dtype that occurs in the graph."""
        found: set[Any] = set()
        stack = [self.jaxpr.jaxpr]
        while stack:
            jaxpr = stack.pop()
            for equation in jaxpr.eqns:
                found |= {getattr(v.aval, "dtype", None) for v in equation.outvars}
                found |= {getattr(v.aval, "dtype", None) for v in equation.invars}
                stack += jaxprs_in_params(equation.params)
        return found - {None}

    def aliases_of(self, side: Any) -> AliasSet:
        """Which arrays one side of a joined leaf may be, in this region."""
        if not isinstance(side, Out):
            return alias_set(side)
        # the checks of integers come after what the code itself gives
        return (
            self.written.outputs[side.index]
            if side.index < len(self.written.outputs)
            else AliasSet([], [])
        )

    @property
    def risky(self) -> list[Any]:
        """Arithmetic on Python integers that is checked when the graph runs."""
        return [] if self.checks is None else self.checks.equations

    def guard(self, inputs: Sequence[Span | None], consts: Sequence[Span | None]) -> None:
        """Let the error code tell when a Python integer leaves the range of 32 bits.

        It is given what is known of the ranges of inputs and constants.
        """
        graph = self.jaxpr.jaxpr
        self.nested_overflow = any(map(failures().is_overflow, self.numbers))
        risky = wraps.risky(graph, inputs, consts)
        self.checks = IntegerChecks(graph, self.code, self.numbers, risky)
        if not risky:
            return
        self.jaxpr = self.jaxpr.replace(jaxpr=self.checks.add_outputs(graph))
        site = sites.of_traceback(risky[0].source_info.traceback) or sites.where()
        self.checks.number, _ = failing.number_of(failing.overflow(site), failures())
        self.code, self.numbers = self.checks.new_code, self.numbers | {self.checks.number}

    def checked_results(self) -> list[Any]:
        """The variables whose arithmetic is checked."""
        return [] if self.checks is None else self.checks.results(self.jaxpr.jaxpr)

    def unguarded(self) -> Any:
        """The graph without the checks."""
        graph = self.jaxpr.jaxpr
        count = len(graph.outvars) if self.checks is None else self.checks.count
        return self.jaxpr.replace(jaxpr=graph.replace(outvars=graph.outvars[:count]))

    def relieve(self, wrapping: set[Any]) -> None:
        """Drop the checks of results other than those that may leave 32 bits."""
        if self.checks is None or not self.risky:
            return
        graph = self.checks.drop_others(self.jaxpr.jaxpr, wrapping)
        self.jaxpr = self.jaxpr.replace(jaxpr=graph)
        if not self.risky:
            self.code, self.numbers = self.checks.code, self.checks.numbers

    @property
    def is_pure(self) -> bool:
        return self.code is None and not self.slots and not self.effects

    @property
    def effects(self) -> Any:
        """Effects on the host, in the order that jax keeps; they happen though nothing is read."""
        return self.jaxpr.effects

    def reads(self, position: int) -> bool:
        """Whether the graph uses its input at all."""
        jaxpr = self.jaxpr.jaxpr
        var = jaxpr.invars[position]
        used = any(v is var for eqn in jaxpr.eqns for v in eqn.invars)
        return used or any(v is var for v in jaxpr.outvars)


class Handed:
    """What a region hands out besides what it returns; it knows how that is taken apart."""

    def take(self, take: Taking) -> Any:
        raise NotImplementedError  # pragma: no cover - the subclass has its own


def failures() -> Failures:
    scope = scopes.current()
    return scope.failures if scope is not None else _outside


_outside = Failures()  # of converted functions that run in a graph d2s did not start


def leaf_value(side: Any, outs: list[Any], kind: Type) -> Any:
    """The value of one side of a joined leaf, given the outputs of its region."""
    if isinstance(side, Filler):
        return kind.zeros()
    if isinstance(side, np.ndarray):
        side = side.copy()  # jax would keep a reference to it, and it may be written later
    return cast(outs[side.index] if isinstance(side, Out) else side, kind)


def fill(tree: Any, outs: list[Any], memo: dict[Any, Any]) -> Any:
    """A joined value with the results of the graph in it; `memo` knows what was made for it."""

    def put(leaf: Any) -> Any:
        if not isinstance(leaf, Joined):
            return leaf
        return of_type(outs[leaf.index], leaf.type)

    return build(tree, put, memo)


def scalar_predicate(test: Any) -> Any:
    """A run-time condition as the scalar bool that lax wants; Python's truth otherwise."""
    if test.size != 1:
        shape = f"({', '.join(map(own_text, test.shape))}{',' * (test.ndim == 1)})"
        raise StagingError(
            f"the condition is an array of shape {shape}; its truth is ambiguous",
            code="D2S022",
            site=sites.where(),
            fix="jnp.any(...) or jnp.all(...) around it",
        )
    flag = test if test.dtype == jnp.bool_ else test != 0
    return flag.reshape(()) if flag.shape else flag


def running() -> list[Any]:
    """Error codes of the regions around: what runs now must not go on when one is set."""
    return [s.code for s in scopes.scopes() if s.code is not None]
