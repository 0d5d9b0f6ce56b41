"""Regions: pieces of the user's code run once on abstract values, kept as a graph.

A region is traced into a jaxpr of its own. Nothing else of the run survives: equations go into that
jaxpr, changes to Python objects are taken out as values and undone, exceptions become error codes.
"""

from __future__ import annotations

import copy
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Var, jaxprs_in_params

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.may_alias import Kin, kin
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.after_failure import at_failure, keep_transient
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.failures.whose import is_internal, is_raised_by_user
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import Type, cast, of_type, own_text, type_of, type_of_aval
from d2s.backends.lax.forms.trees import FILLER, Filler, Joined, Known, Out, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Halt, Scope, is_position
from d2s.backends.lax.jaxprs import overflow
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.private import running_traces, trace_of
from d2s.backends.lax.regions.graphs import graph_of
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.boxes import Taking, View, build, known
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.conversion import is_block
from d2s.errors import StagingError

#: regions inside regions; beyond it a recursion has no end that Python can see
MAX_DEPTH = 120

#: primitives whose results come out of graphs of their own
_BLOCKS = ("cond", "while", "scan", "bounded_while")


def is_traced(value: object) -> bool:
    return isinstance(value, jax.core.Tracer) and value.to_concrete_value() is None


@dataclass
class Region:
    """A traced piece of code: its graph, and its results with `Out` for run-time leaves."""

    jaxpr: Any
    value: Any
    slots: dict[tuple[int, Any], tuple[Slot, Any]]
    code: Any
    payload: dict[int, list[Any]]
    numbers: set[int]
    raised: bool
    #: arithmetic on Python integers that is checked when the graph runs
    risky: list[Any] = field(default_factory=list)
    #: the value as the code returned it; its containers are as they were before
    #: arrays of the graphs around that were written here, and inputs that were
    spent: list[Any] = field(default_factory=list)
    spent_inputs: list[int] = field(default_factory=list)
    #: whether arrays were written here, of its own or from around
    writes: bool = False
    #: its inputs as they were inside, and for its outputs, which arrays they may be
    inputs: list[Any] = field(default_factory=list)
    kin: list[Kin] = field(default_factory=list)
    _had_code: bool = False
    _overflow_number: int = 0
    #: outputs, code and failures without the checks
    _bare: tuple[Any, Any, Any] = (None, None, None)
    #: such arithmetic is in a graph inside this one
    nested_overflow: bool = False
    #: it would be another graph if its inputs were Python numbers, or arrays, instead
    asks_kinds: bool = False

    def run(self, *inputs: Any) -> list[Any]:
        """The outputs of the graph, computed in the graph being built now."""
        outs: list[Any] = jax.core.eval_jaxpr(self.jaxpr.jaxpr, self.jaxpr.consts, *inputs)
        if self.risky:
            own = self.code.index
            outs, values = outs[:own], outs[own:]
            before, values = (values[0], values[1:]) if self._had_code else (0, values)
            wrapped = overflow.check(self.risky, values)
            # first of all: what failed after it may have failed because of it
            outs.append(jnp.where(wrapped, self._overflow_number, before))
        return outs

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

    def strengthened(self, positions: list[int], renamed: dict[int, Any]) -> Region | None:
        """The same graph for inputs that are array elements where they were Python numbers.

        What is computed from them is no Python number either; no equation changes otherwise. None
        where an inner graph leaves open which of its numbers that concerns.
        """
        old = self.jaxpr.jaxpr
        strong: dict[Any, Any] = {}
        for position in positions:
            var = old.invars[position]
            strong[var] = Var(var.aval.strip_weak_type())

        def new(var: Any) -> Any:
            return strong.get(var, var) if isinstance(var, Var) else var

        equations = []
        for equation in old.eqns:
            if any(isinstance(v, Var) and v in strong for v in equation.invars):
                if not equation.params.get("weak_type", False):
                    weak = [v for v in equation.outvars if getattr(v.aval, "weak_type", False)]
                    if equation.primitive.name in _BLOCKS and self._uses_any(weak):
                        return None
                    strong.update({v: Var(v.aval.strip_weak_type()) for v in weak})
                if equation.primitive.name == "convert_element_type":
                    (source,), (target,) = equation.invars, equation.outvars
                    if new(source).aval == new(target).aval:
                        strong[target] = new(source)  # it only made an array of a number
                        continue
                equation = equation.replace(
                    invars=[new(v) for v in equation.invars],
                    outvars=[new(v) for v in equation.outvars],
                )
            equations.append(equation)
        outvars = [new(v) for v in old.outvars]
        jaxpr = old.replace(invars=[new(v) for v in old.invars], eqns=equations, outvars=outvars)

        def out(leaf: Any) -> Any:
            if not isinstance(leaf, Out):
                return leaf
            same = renamed.get(id(leaf.same_as), leaf.same_as)
            kind = type_of_aval(outvars[leaf.index].aval)._replace(kind=leaf.type.kind)
            return Out(leaf.index, kind, same)

        made = copy.copy(self)
        made.jaxpr = self.jaxpr.replace(jaxpr=jaxpr)
        made.slots = {}

        def moved(leaf: Any) -> Any:
            if isinstance(leaf, Known) and leaf.expand is not None:
                return known(leaf.origin, made.slots)
            return out(leaf)

        made.value = map_leaves(moved, self.value)
        made.slots |= {k: (slot, map_leaves(moved, v)) for k, (slot, v) in self.slots.items()}
        return made

    def _uses_any(self, variables: list[Any]) -> bool:
        jaxpr = self.jaxpr.jaxpr
        used = {id(v) for equation in jaxpr.eqns for v in equation.invars}
        used |= {id(v) for v in jaxpr.outvars}
        return any(id(v) in used for v in variables)

    def kin_of(self, side: Any) -> Kin:
        """Which arrays one side of a joined leaf may be, in this region."""
        if not isinstance(side, Out):
            return kin(side)
        # the checks of integers come after what the code itself gives
        return self.kin[side.index] if side.index < len(self.kin) else Kin([], [])

    def guard(self, counts: bool, positions: list[Any], ranges: dict[Any, tuple[int, int]]) -> None:
        """Let the error code tell when a Python integer leaves the range of 32 bits."""
        jaxpr = self.jaxpr.jaxpr
        self.nested_overflow = any(map(failures().is_overflow, self.numbers))
        self._bare = len(jaxpr.outvars), self.code, self.numbers
        self.risky = overflow.risky(jaxpr, counts, positions, ranges)
        if not self.risky:
            return
        outvars = list(jaxpr.outvars)
        self._had_code = self.code is not None
        if self._had_code:
            outvars.append(outvars[self.code.index])
        self.code = Out(len(jaxpr.outvars), Type((), jnp.dtype("int32"), False))
        outvars += overflow.operands(self.risky)
        self.jaxpr = self.jaxpr.replace(jaxpr=jaxpr.replace(outvars=outvars))
        site = sites.of_traceback(self.risky[0].source_info.traceback) or sites.where()
        self._overflow_number, _ = failing.number_of(failing.overflow(site), failures())
        self.numbers = self.numbers | {self._overflow_number}

    def unguarded(self) -> Any:
        """The graph without the checks."""
        count, jaxpr = self._bare[0], self.jaxpr.jaxpr
        if count is None:
            return self.jaxpr
        return self.jaxpr.replace(jaxpr=jaxpr.replace(outvars=jaxpr.outvars[:count]))

    def relieve(self, ranges: dict[Any, Any]) -> None:
        """Without the checks of results whose ranges are known."""
        if not self.risky:
            return
        jaxpr = self.jaxpr.jaxpr
        count, code, numbers = self._bare
        first = count + self._had_code
        rest, kept = jaxpr.outvars[first:], []
        outvars, checked = list(jaxpr.outvars[:first]), self.risky
        for equation in checked:
            size = len(equation.invars) + len(equation.outvars)
            if ranges.get(rest[size - 1]) is None:
                kept.append(equation)
                outvars += rest[:size]
            rest = rest[size:]
        self.risky = kept
        if not kept:
            self.code, self.numbers, outvars = code, numbers, outvars[:count]
        self.jaxpr = self.jaxpr.replace(jaxpr=jaxpr.replace(outvars=outvars))

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


def _nothing(inputs: tuple[Any, ...]) -> None:
    """Inputs that nobody wants to see."""


def trace(
    thunk: Callable[..., Any],
    kinds: list[Type],
    watch: Snapshot,
    *,
    stand_for: list[Any] | None = None,
    with_code: bool = False,
    carries: bool = False,
    counts: bool = True,
    counted: bool = False,
    length: int | None = None,
    tests: bool = False,
    root: bool = False,
    begin: Callable[[tuple[Any, ...]], None] = _nothing,
) -> Region:
    """Run `thunk` on abstract values of the given types; `watch` is undone before returning.

    stand_for  for each input, what an output that is this very input is said to be
    with_code  the first input is the error code at the start of the region
    carries    the region is the body of a loop
    counts     its integers start where counting by one does not reach the limit
    counted    the first input, after the code, is the position of a loop
    length     how many positions there are
    tests      the region is the test of a loop
    root       the region is a whole function
    begin      is given the inputs before anything runs
    """
    if len(scopes.snapshots()) > MAX_DEPTH:
        if not _calls_itself():
            raise StagingError(
                "conditions are nested too deeply",
                code="D2S004",
                site=sites.where(),
                fix="move inner blocks or expressions into functions of their own",
            )
        raise StagingError(
            "a function calls itself without an end that is known while the graph is built",
            code="D2S026",
            site=sites.where(),
            fix="a loop, or a recursion whose depth is a Python number",
        )
    outer = scopes.current()
    observed = outer is not None and outer.observed
    region: Region | None = None

    watch.begin_region()
    questions = scopes.count_questions()

    def flat(*inputs: Any) -> list[Any]:
        for value, kind in zip(inputs, kinds, strict=True):
            origins.made(value, kind.kind)
        with aliases.piece() as spent:
            begin(inputs)
            outs = in_region(*inputs)
            aliases.check_views(outs)
            assert region is not None
            region.spent = [array for array, _ in spent.values() if _outer(array) is not None]
            region.writes, region.inputs = bool(spent), list(inputs)
            region.kin = list(map(kin, outs))
            region.spent_inputs = [n for n, one in enumerate(inputs) if id(one) in spent]
        return outs

    def in_region(*inputs: Any) -> list[Any]:
        nonlocal region
        scope = Scope(failures(), watch, observed)
        if with_code:
            scope.code = inputs[0]
        raised, value = False, None
        with scopes.entered(scope, watch, carries, far=not counts):
            try:
                value = thunk(*inputs[1:] if with_code else inputs)
            except Halt:
                failing.fail_at_last(scope)
                raised = True
            except BaseException as error:
                if is_internal(error) or not is_raised_by_user(error):
                    raise
                failing.fail(scope, error)
                raised = True
        if outer is None:
            observers.refuse_aliases(scope, sites.where().function)
        keep_transient(scope, {slot.identity for slot in watch.changed_slots()})
        slots = {slot.identity: (slot, slot.get()) for slot in watch.changed_slots()}
        for slot, _ in slots.values():
            _refuse_outside(slot)
        if scope.at_failures:
            # what nobody sees after a failure is what it is when all goes well
            seen = observers.seen_after_failure(scope)
            slots = {
                key: (slot, at_failure(scope, slot, now) if seen.knows(slot.holder) else now)
                for key, (slot, now) in slots.items()
            }
        outs: list[Any] = []
        known = {id(t): s for t, s in zip(inputs, stand_for or inputs, strict=True)}
        own = {id(t) for t in inputs}

        def out(leaf: Any) -> Any:
            if not isinstance(leaf, jax.core.Tracer):
                return leaf
            same = known[id(leaf)] if id(leaf) in own else _outer(leaf)
            outs.append(leaf)
            return Out(len(outs) - 1, type_of(leaf), same)

        places: View = {}
        take = Taking(watch, out, places)
        taken: Any = FILLER
        if not raised and not root:
            taken = value.take(take) if isinstance(value, Handed) else take(value)
        elif not raised:
            taken = map_leaves(out, value)  # what it returns is judged by the compiled function
        places |= {key: (slot, take(now)) for key, (slot, now) in slots.items()}
        take.check(lambda tracer: _outer(tracer) is None)
        region = Region(
            jaxpr=None,
            value=taken,
            slots=places,
            code=None if scope.code is None else map_leaves(out, scope.code),
            payload={n: map_leaves(out, values) for n, values in scope.payload.items()},
            numbers=scope.numbers,
            raised=raised,
        )
        watch.undo()
        return outs

    try:
        jaxpr = graph_of(flat, kinds, "arguments" if root else "inputs")
    finally:
        watch.undo()
    assert region is not None
    region.jaxpr = jaxpr
    region.asks_kinds = scopes.count_questions() > questions
    in_loop = carries or tests or scopes.in_loop()
    if in_loop or root or scopes.is_exact():
        near = in_loop and (counts or not carries) and not scopes.counts_far()
        graph = jaxpr.jaxpr
        positions = [
            v for v, c in zip(graph.constvars, jaxpr.consts, strict=True) if is_position(c)
        ]
        if counted:
            positions.append(graph.invars[int(with_code)])
        ranges = {
            v: scopes.range_of(c)
            for v, c in zip(graph.constvars, jaxpr.consts, strict=True)
            if is_position(c)
        }
        if counted and length is not None:
            ranges[positions[-1]] = 0, length - 1
        known = {v: span for v, span in ranges.items() if span is not None and near}
        region.guard(near, positions, known)
    return region


def _calls_itself() -> bool:
    """Whether some function of the user's is running several times over."""
    running: dict[types.CodeType, int] = {}
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if sites.is_user_code(code) and not is_block(code):
            running[code] = running.get(code, 0) + 1
        frame = frame.f_back
    return max(running.values(), default=0) > 10


def _refuse_outside(slot: Slot) -> None:
    """What lives beside a static function must never hold a value of its graph."""
    stray = scopes.copies() is not None and scopes.copies().is_stray(slot)
    for watch in scopes.snapshots():
        if watch.outside and (stray or watch.knows(slot.owner)):
            label = f"the global name `{slot.key}`" if stray else watch.label(slot.owner)
            raise StagingError(
                f"{label} is changed, which lives outside the static function",
                code="D2S024",
                site=sites.where(),
                fix="return the new value and store it outside",
            )


def _outer(tracer: Any) -> Any:
    """The tracer itself when it belongs to the graph around; None when this region made it."""
    return None if trace_of(tracer) is next(running_traces()) else tracer


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
