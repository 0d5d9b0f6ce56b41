"""How the code of a region becomes a graph: it runs once, on abstract values.

    inputs  = [error code?] [position?] [rows] [carry]     whoever traces says which there are
    outputs = [leaves of what it gives] [leaves of the slots that it changed]
              [error code?] [what the messages of its failures quote]

For the body of `for row in x: if row > 0: total += row; log[0] = total` the inputs are the row and
`total`, the outputs `total` and what `log[0]` holds after the trip. The invariant: when `trace`
returns, every Python object is as it was before, whatever the code did to it, and whether it
returned or raised. What the code did is in the `Region`, and nowhere else.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.may_alias import alias_set
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.after_failure import at_failure, keep_transient
from d2s.backends.lax.failures.whose import is_internal, is_raised_by_user
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import Type, type_of
from d2s.backends.lax.forms.trees import FILLER, Out, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Halt, KnownSpan, Scope
from d2s.backends.lax.graph.spans import span_of
from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.private import running_traces, trace_of
from d2s.backends.lax.regions.graphs import graph_of
from d2s.backends.lax.regions.regions import Handed, Region, WrittenArrays, failures
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.blocks import user_block
from d2s.backends.lax.trace.boxes import Taking, View
from d2s.backends.lax.trace.changed import assigned
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.conversion import is_block
from d2s.errors import StagingError

#: regions inside regions; beyond it a recursion has no end that Python can see
MAX_DEPTH = 120


class Role(NamedTuple):
    """What a region is to the graph around it; by default, a side of a branch."""

    #: a whole function; the body of a loop; the test of a loop
    is_root: bool = False
    is_body: bool = False
    is_test: bool = False
    #: the first input is the error code at the start of the region
    with_code: bool = False


BRANCH = Role()


def _nothing(inputs: tuple[Any, ...]) -> None:
    """Inputs that nobody wants to see."""


def trace(
    code: Callable[..., Any],
    kinds: list[Type],
    watch: Snapshot,
    role: Role = BRANCH,
    *,
    stand_for: list[Any] | None = None,
    begin: Callable[[tuple[Any, ...]], None] = _nothing,
    spans: Sequence[Span | None] | None = None,
) -> Region:
    """Run `code` on abstract values of the given types; `watch` is undone before returning.

    `stand_for` gives for each input what an output that is this very input is said to be; `begin`
    is shown the inputs before anything runs; `spans` are the ranges of inputs, if they are known.
    """
    _refuse_endless_recursion()
    watch.begin_region()
    questions = scopes.count_questions()
    spans = [None] * len(kinds) if spans is None else spans
    run = _Run(code, kinds, watch, role, stand_for, begin, spans)
    try:
        jaxpr = graph_of(run.outputs, kinds, "arguments" if role.is_root else "inputs")
    finally:
        watch.undo()
    region = run.region
    assert region is not None
    region.jaxpr = jaxpr
    region.asks_kinds = scopes.count_questions() > questions
    _check_integers(region, role, spans)
    return region


class _Run:
    """The one run of the code, inside of the graph that is built for it."""

    def __init__(
        self,
        code: Callable[..., Any],
        kinds: list[Type],
        watch: Snapshot,
        role: Role,
        stand_for: list[Any] | None,
        begin: Callable[[tuple[Any, ...]], None],
        spans: Sequence[Span | None],
    ) -> None:
        self._code, self._kinds, self._watch, self._role = code, kinds, watch, role
        self._stand_for, self._begin, self._spans = stand_for, begin, spans
        self._outer = scopes.current()
        self._known: list[KnownSpan] = []
        self.region: Region | None = None

    def outputs(self, *inputs: Any) -> list[Any]:
        """Run the code and take apart what it gives; the leaves are the outputs of the graph."""
        for value, kind in zip(inputs, self._kinds, strict=True):
            origins.made(value, kind.kind)
        with aliases.traced_region() as spent:
            self._begin(inputs)
            scope, value, raised = self._run_code(inputs)
            slots = self._slots_after(scope)
            outs, region = self._taken_apart(inputs, scope, value, raised, slots)
            self._watch.undo()
            aliases.check_views(outs)
            region.inputs = list(inputs)
            region.asked = {id(known.value) for known in self._known if known.is_asked}
            region.written = WrittenArrays(
                outer=[array for array, _ in spent.values() if _outer(array) is not None],
                inputs=[n for n, one in enumerate(inputs) if id(one) in spent],
                any=bool(spent),
                outputs=list(map(alias_set, outs)),
            )
        self.region = region
        return outs

    def _run_code(self, inputs: tuple[Any, ...]) -> tuple[Scope, Any, bool]:
        """The scope with all that may have failed, what the code gives, whether it surely fails."""
        role = self._role
        spans = zip(inputs, self._spans, strict=True)
        known = [KnownSpan(value, span) for value, span in spans if span is not None]
        self._known = known
        scope = Scope(failures(), self._watch, self._outer is not None and self._outer.observed)
        if role.with_code:
            scope.code, *inputs = inputs  # type: ignore[assignment]
        with scopes.with_spans(known), scopes.entered(scope, self._watch, role.is_body):
            try:
                return scope, self._code(*inputs), False
            except Halt:
                failing.fail_at_last(scope)
            except BaseException as error:
                if is_internal(error) or not is_raised_by_user(error):
                    raise
                failing.fail(scope, error)
        return scope, None, True

    def _slots_after(self, scope: Scope) -> dict[tuple[int, Any], tuple[Slot, Any]]:
        """The slots that the code changed, and what each holds now, or held when it failed."""
        if self._outer is None:
            observers.refuse_aliases(scope, sites.where().function)
        changed = self._watch.changed_slots()
        keep_transient(scope, {slot.identity for slot in changed})
        slots = {slot.identity: (slot, slot.get()) for slot in self._watch.changed_slots()}
        for slot, _ in slots.values():
            _refuse_outside(slot, self._code)
        if scope.at_failures:
            # what nobody sees after a failure is what it is when all goes well
            seen = observers.seen_after_failure(scope)
            for key, (slot, now) in slots.items():
                if seen.knows(slot.holder):
                    slots[key] = slot, at_failure(scope, slot, now)
        return slots

    def _taken_apart(
        self,
        inputs: tuple[Any, ...],
        scope: Scope,
        value: Any,
        raised: bool,
        slots: dict[tuple[int, Any], tuple[Slot, Any]],
    ) -> tuple[list[Any], Region]:
        """The run-time values of all that is left of the run, and the rest of it with `Out`s."""
        outs: list[Any] = []
        own = {id(t): s for t, s in zip(inputs, self._stand_for or inputs, strict=True)}

        def out(leaf: Any) -> Any:
            if not isinstance(leaf, jax.core.Tracer):
                return leaf
            same = own[id(leaf)] if id(leaf) in own else _outer(leaf)
            outs.append(leaf)
            return Out(len(outs) - 1, type_of(leaf), same)

        left: View = {}
        take = Taking(self._watch, out, left)
        taken: Any = FILLER
        if not raised and self._role.is_root:
            taken = map_leaves(out, value)  # what it returns is judged by the compiled function
        elif not raised:
            taken = value.take(take) if isinstance(value, Handed) else take(value)
        left |= {key: (slot, take(now)) for key, (slot, now) in slots.items()}
        take.check(lambda tracer: _outer(tracer) is None)
        region = Region(
            jaxpr=None,
            value=taken,
            slots=left,
            code=None if scope.code is None else map_leaves(out, scope.code),
            payload={n: map_leaves(out, values) for n, values in scope.payload.items()},
            numbers=scope.numbers,
            raised=raised,
        )
        return outs, region


def _check_integers(region: Region, role: Role, spans: Sequence[Span | None]) -> None:
    """Let the region check its Python integers, where no check comes after it.

    A loop checks in each trip; a function checks as a whole, and its branches with it, unless a
    first graph without checks has shown that it needs them (`scopes.is_exact`).
    """
    in_loop = role.is_body or role.is_test or scopes.in_loop()
    if not (in_loop or role.is_root or scopes.is_exact()):
        return
    region.guard(spans, list(map(span_of, region.jaxpr.consts)))


def _refuse_endless_recursion() -> None:
    if len(scopes.snapshots()) <= MAX_DEPTH:
        return
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


def _refuse_outside(slot: Slot, block: Any) -> None:
    """What lives beside a static function must never hold a value of its graph."""
    stray = scopes.copies() is not None and scopes.copies().is_stray(slot)
    for watch in scopes.snapshots():
        if watch.outside and (stray or watch.knows(slot.owner)):
            label = f"the global name `{slot.key}`" if stray else watch.label(slot.owner)
            block = user_block(block)
            site = assigned(block, slot.key) if block is not None else None
            site = site or scopes.change_of(slot.owner)
            target = sites.target(site)
            label = f"{label}, {target}," if target and target not in label else label
            raise StagingError(
                f"{label} is changed, which lives outside the static function",
                code="D2S080",
                site=site,
                fix="return the new value and store it outside",
            )


def _outer(tracer: Any) -> Any:
    """The tracer itself when it belongs to the graph around; None when this region made it."""
    return None if trace_of(tracer) is next(running_traces()) else tracer
