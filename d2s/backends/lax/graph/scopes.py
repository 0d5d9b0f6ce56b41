"""Scopes: what runs along with the values of a staged program, and who finds it.

Every region of a graph has a `Scope`. It carries the error code (0, or the number of the first
failure in program order), the values that the failure's message quotes, and, where a handler can
see them, what the shared slots held at the time of each possible failure. What a region does not
use costs nothing. In

    def f(x):
        assert x > 0, f"not {x}"
        return 1 / x

the ``assert`` finds the scope of `f` with `current()` and calls ``merge(code, {1: [x]}, {1})``,
where `code` is a run-time integer that is 1 where the assertion fails, else 0. The code and the
quoted `x` become outputs of the graph, and the host raises ``AssertionError`` when the code is 1.

The functions below are the only ones that read and change the `construction`, the object that
holds all this for the graph that a thread is building. Other rooms still have hidden state of
their own, one object per thread each:

    arrays.aliases      arrays that were written in place and must not be read any more
    arrays.may_alias    which arrays of the graph may be views of each other
    control.rolling     why loops were not rolled
    function.build      which static functions are being built, and with what the call came
    library.dispatching which calls of libraries are being answered
    output.building     what is printed by the graph, in order
    output.unseen       what code that is not converted prints while the graph is built

and so have the settings in `options.loop_options`, `options.modes` and `runtime.record`, which
the user turns on and off whether or not a graph is built.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.construction import construction
from d2s.backends.lax.jaxprs.ranges.induction import TRIPS
from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.private import running_traces, trace_of
from d2s.errors import Error, Site
from d2s.options import loop_options
from d2s.options.options import OFF
from d2s.runtime.engines import RegionsInProgress

Refusal = TypeVar("Refusal", bound=Exception)


class Halt(BaseException):
    """Unwinds the Python code of a region that surely fails; the code is in its scope."""


def current_graphs() -> list[Any]:
    """The traces of JAX that are running, innermost first, those of transformations included."""
    return list(running_traces())


class Scope:
    """What runs along with the values of one region, or of a `try` block inside one."""

    def __init__(self, failures: Any, snapshot: Any = None, observed: bool = False):
        #: the numbered exceptions that may be raised at run time (`failing.Failures`)
        self.failures = failures
        #: what the code in the scope can change: a `Snapshot`, or the copies of a whole function
        self.snapshot = snapshot
        #: somebody can see what was written before a failure: a handler, or the caller
        self.observed = observed
        #: it is the scope of a `try`
        self.catches = False
        #: it is the scope of a whole static function, whose caller sees what it wrote
        self.is_whole = False
        #: the traces of the graph that this scope belongs to, and of those around it: a tracer of
        #: any other trace comes from a graph further inside, and must not get into this one
        self.graphs = current_graphs()
        if construction.scopes:
            self.graphs += construction.scopes[-1].graphs
        #: the identity of the exception that was being handled when the scope was made
        self.around = id(sys.exception())
        #: the run-time error code: 0, or the number of the first failure; None if nothing can fail
        self.code: Any = None
        #: by the number of a failure, the run-time values that its message quotes
        self.payload: dict[int, list[Any]] = {}
        #: the numbers that the code may be
        self.numbers: set[int] = set()
        #: for each possible failure, in program order: the code just after it, and every slot with
        #: the value that it held then, by the identity of the slot
        self.at_failures: list[tuple[Any, dict[tuple[int, Any], tuple[Any, Any]]]] = []
        #: the texts that f-strings have left marks for, by the number in the mark
        self.quotes: dict[int, Any] = {}
        #: of a whole function, the inputs of its graph
        self.inputs: tuple[Any, ...] = ()
        #: the first error of d2s that was raised here, even if code in between caught it
        self.refused: Exception | None = None
        #: snapshots of containers that a branch or loop chose between: to change one of them in
        #: place could be a change of the other one as well
        self.joined: list[Any] = []
        #: the containers that came out of such choices, with those that went in
        self.choices: list[tuple[list[Any], list[Any]]] = []

    def merge(self, code: Any, payload: dict[int, list[Any]], numbers: set[int]) -> None:
        """A failure may have happened just now; one that happened earlier stays the first.

        `code` is a run-time integer: 0, or one of `numbers`. With the code ``c0`` so far the new
        one is ``where(c0 == 0, code, c0)``. A value that both quote is chosen in the same way.
        """
        if OFF in loop_options.checks() and self._is_unwanted(numbers):
            return
        if not all(map(self.failures.is_overflow, numbers)):
            construction.failures += 1  # only exceptions of the program count, and not overflows
        if self.code is None:
            self.code = jnp.asarray(code, jnp.int32)
            self.payload.update(payload)
        else:
            first = self.code == 0
            for number, values in payload.items():
                old = self.payload.get(number)
                self.payload[number] = (
                    values
                    if old is None
                    else [jnp.where(first, v, o) for v, o in zip(values, old, strict=True)]
                )
            self.code = jnp.where(first, code, self.code)
        self.numbers |= numbers
        if self.observed and self.snapshot is not None:
            now = {slot.identity: (slot, slot.get()) for slot in self.snapshot.filled_slots()}
            now |= {slot.identity: (slot, None) for slot in self.snapshot.whole_slots()}
            self.at_failures.append((self.code, now))

    def _is_unwanted(self, numbers: set[int]) -> bool:
        """With checks off: whether no `try` of the program could catch these failures."""
        if any(map(self.failures.is_of_the_graph, numbers)):
            return False
        return not any(scope.catches for scope in (self, *construction.scopes))

    def holds(self, value: Any) -> bool:
        """Whether a value can live in the graph of this scope."""
        if not isinstance(value, jax.core.Tracer):
            return True
        return any(trace_of(value) is graph for graph in self.graphs)


def scopes() -> list[Scope]:
    """The scopes of the code that is running, the outermost first."""
    return construction.scopes


def current() -> Scope | None:
    return construction.scopes[-1] if construction.scopes else None


def refuse(error: Refusal) -> Refusal:
    """The error itself, noted so that it ends the graph even if somebody catches it.

    Converted handlers never catch an error of d2s, but code of libraries does, for example
    `logging`. The scope keeps the error and raises it again when the region ends. A region that is
    traced on trial, and given up because of the error, takes the note along.
    """
    if construction.scopes and construction.scopes[-1].refused is None:
        construction.scopes[-1].refused = error
    return error


def raise_refused() -> None:
    """Raise the error that was refused in this scope, if there is one: its graph is of no use."""
    if construction.scopes and construction.scopes[-1].refused is not None:
        raise construction.scopes[-1].refused


def note_failure() -> None:
    """Count a possible failure that no scope carries, because a callback tells of it."""
    construction.failures += 1


def count_failures() -> int:
    """How many possible failures were found so far; two counts tell whether there is a new one."""
    return construction.failures


def ask_kinds(is_needed: bool) -> None:
    """Count that the graph depends on which kind of Python value something is (see `origins`)."""
    construction.questions += is_needed


def count_questions() -> int:
    """How often `ask_kinds` was needed so far; two counts tell whether it was in between."""
    return construction.questions


def root() -> Scope:
    """The scope of the whole function that is being traced."""
    first: Scope = construction.scopes[0]
    return first


def snapshots() -> list[Any]:
    """The snapshots of the code that is running, the outermost first."""
    return construction.snapshots


def in_loop() -> bool:
    """Whether the code running now is inside the body of a staged loop."""
    return construction.loops > 0


@contextmanager
def at_position(position: Any, length: Any = None) -> Iterator[None]:
    """Run the body of a loop whose position is an integer that only counting by one has made."""
    last = length - 1 if type(length) is int else TRIPS
    with with_spans([KnownSpan(position, (0, last), is_position=True)]):
        yield


class KnownSpan:
    """An integer of which is known between which numbers it lies; whether anybody has asked."""

    def __init__(self, value: Any, span: Span, is_position: bool = False) -> None:
        self.value, self.span, self.is_position, self.is_asked = value, span, is_position, False


@contextmanager
def with_spans(spans: list[KnownSpan]) -> Iterator[None]:
    """Run code in which integers lie between known numbers."""
    construction.spans += spans
    try:
        yield
    finally:
        del construction.spans[len(construction.spans) - len(spans) :]


def position_span(value: Any) -> Span | None:
    """The range of the position of a loop around the code that runs; None for other values."""
    positions = (known for known in construction.spans if known.is_position)
    return next((known.span for known in positions if known.value is value), None)


def spans_of(value: Any) -> list[Span]:
    """The ranges of a value that are known for the code that is running."""
    found = [known for known in construction.spans if known.value is value]
    for known in found:
        known.is_asked = True
    return [known.span for known in found]


@contextmanager
def trial() -> Iterator[None]:
    """Run code only to see which of its values are run-time values; its graph is dropped."""
    failures = construction.failures
    construction.trials += 1
    try:
        with without_choices():
            yield
    finally:
        construction.trials -= 1
        construction.failures = failures  # what fails only in a trial is no failure of the graph


@contextmanager
def without_choices(unless: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """Forget which containers were joined inside, unless `unless` says that the graph has them."""
    root = construction.scopes[0] if construction.scopes else None
    counts = (len(root.joined), len(root.choices)) if root is not None else (0, 0)
    try:
        yield
    finally:
        if root is not None and not unless():
            del root.joined[counts[0] :], root.choices[counts[1] :]


def in_trial() -> bool:
    return construction.trials > 0


def memories() -> dict[Any, Any] | None:
    """What is known of loops in the graph that is being built; None outside of one."""
    return construction.memories


def surroundings() -> tuple[Any, ...]:
    """What the graph of code may depend on besides its values, as part of a key."""
    scopes = construction.scopes
    observed = bool(scopes) and scopes[-1].observed, any(s.catches for s in scopes)
    may_have_failed = any(s.code is not None for s in scopes)
    return observed, may_have_failed, construction.loops > 0, construction.exact


def is_exact() -> bool:
    """Whether the function being traced got Python integers."""
    return construction.exact


@contextmanager
def entered(scope: Scope, snapshot: Any = None, carries: bool = False) -> Iterator[Scope]:
    """Run code in a scope; `carries` says that it is the body of a staged loop."""
    construction.scopes.append(scope)
    construction.loops += carries
    try:
        with with_snapshot(snapshot) if snapshot is not None else nullcontext():
            yield scope
            raise_refused()
    except (Exception, Halt) as error:
        if scope.refused is None or scope.refused is error or isinstance(error, Error):
            raise
        # Some code caught the error of d2s and raised this one instead: the first one counts.
        raise scope.refused from scope.refused.__cause__
    finally:
        construction.scopes.pop()
        construction.loops -= carries


@contextmanager
def with_snapshot(snapshot: Any) -> Iterator[None]:
    """Run code of which a snapshot knows what it can change."""
    construction.snapshots.append(snapshot)
    RegionsInProgress.change(1)
    try:
        yield
    finally:
        construction.snapshots.pop()
        RegionsInProgress.change(-1)


@contextmanager
def set_aside(exact: bool) -> Iterator[None]:
    """Run code without the scopes and snapshots around it: it is traced as a graph of its own."""
    fields = ("scopes", "snapshots", "loops", "exact", "memories")
    before = {name: getattr(construction, name) for name in fields}
    construction.scopes, construction.snapshots, construction.loops = [], [], 0
    construction.exact, construction.memories = exact, {}
    try:
        with with_copies(None):
            yield
    finally:
        vars(construction).update(before)


def held() -> dict[str, Any]:
    """All fields of the construction, for whoever counts the references to an array."""
    return vars(construction)


def copies() -> Any:
    """The copies that the function being traced works on, in place of what is outside."""
    return construction.copies


@contextmanager
def with_copies(copies: Any) -> Iterator[None]:
    """Run code that works on these copies."""
    before, construction.copies = construction.copies, copies
    try:
        yield
    finally:
        construction.copies = before


def begin() -> None:
    """A staged block begins: outside of all others, changes that were noted before are dropped."""
    if not construction.snapshots:
        construction.changes.clear()


def note_change(owner: Any) -> None:
    """A method is about to change a container, at the line that is running."""
    construction.changes[id(owner)] = sites.where()


def method_change_of(owner: Any) -> Site | None:
    """The line where a method changed a container last; None if none did."""
    return construction.changes.get(id(owner))


def change_of(owner: Any) -> Site:
    """The line where a method changed a container last, or else the line that is running."""
    return method_change_of(owner) or sites.where()
