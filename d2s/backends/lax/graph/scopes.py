"""The hidden channels: what runs along with the values of a staged program.

Every region of a graph has a `Scope`. It carries the error code (0, or the number of the first
failure in program order), the values that the failure's message quotes, and, where a handler can
see them, snapshots of the shared names at the time of each possible failure. Channels that a
region does not use cost nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from d2s.backends.lax.graph import sites
from d2s.backends.lax.private import running_traces, trace_of
from d2s.errors import Error, Site
from d2s.options import loop_options
from d2s.options.options import OFF
from d2s.runtime.engines import RegionsInProgress

#: where containers were last changed by a method, while graphs are built
changes: dict[int, Site] = {}

Refusal = TypeVar("Refusal", bound=Exception)


class Halt(BaseException):
    """Unwinds the Python code of a region that surely fails; the code is in its scope."""


def current_graphs() -> list[Any]:
    """What is traced now, a transformation of jax's included, and what that is a part of."""
    return list(running_traces())


class Scope:
    """Channels of one region, or of a try block inside one."""

    def __init__(self, failures: Any, watch: Any = None, observed: bool = False):
        #: the table of what may fail (`failures.Failures`)
        self.failures = failures
        #: the snapshot of what the code in the scope can change (`snapshot.Watch`)
        self.watch = watch
        #: a handler can see what was written before a failure
        self.observed = observed
        #: it is the scope of a `try`
        self.catches = False
        #: it is the scope of a whole static function: who calls that sees what it wrote
        self.is_whole = False
        #: the graph that this scope belongs to and those around it; values of an inner one must
        #: not get into it
        self.graphs = current_graphs()
        if _stack.scopes:
            self.graphs += _stack.scopes[-1].graphs
        #: which exception is being handled around it
        self.around = id(sys.exception())
        self.code: Any = None
        self.payload: dict[int, list[Any]] = {}
        self.numbers: set[int] = set()
        self.snapshots: list[tuple[Any, dict[tuple[int, Any], tuple[Any, Any]]]] = []
        self.quotes: dict[int, Any] = {}
        #: of a whole function, the values that the graph gets
        self.inputs: tuple[Any, ...] = ()
        #: the first thing that was refused here, though somebody may have caught the error
        self.refused: Exception | None = None
        #: containers that were joined: in place, a change of one could be one of another, too
        self.joined: list[Any] = []
        #: what was made by joining, and what it was made of
        self.choices: list[tuple[list[Any], list[Any]]] = []

    def merge(self, code: Any, payload: dict[int, list[Any]], numbers: set[int]) -> None:
        """A failure may have happened just now; one that happened earlier stays the first."""
        if OFF in loop_options.checks() and self._is_unwanted(numbers):
            return
        if not all(map(self.failures.is_overflow, numbers)):
            _stack.failures += 1  # an overflow is no exception of the program
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
        if self.observed and self.watch is not None:
            now = {slot.identity: (slot, slot.get()) for slot in self.watch.places()}
            now |= {slot.identity: (slot, None) for slot in self.watch.wholes()}
            self.snapshots.append((self.code, now))

    def _is_unwanted(self, numbers: set[int]) -> bool:
        """Whether these are exceptions of the program that nothing in it catches."""
        if any(map(self.failures.is_of_the_graph, numbers)):
            return False
        return not any(scope.catches for scope in (self, *_stack.scopes))

    def holds(self, value: Any) -> bool:
        """Whether a value can live in the graph of this scope."""
        if not isinstance(value, jax.core.Tracer):
            return True
        return any(trace_of(value) is graph for graph in self.graphs)


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.watches: list[Any] = []
        self.loops = 0
        self.far = 0
        self.exact = False
        self.failures = 0
        self.questions = 0
        self.trials = 0
        self.positions: list[tuple[Any, tuple[int, int] | None]] = []
        #: what is known of loops in the graph that is being built (see `memory`)
        self.memories: dict[Any, Any] | None = None
        #: what the function being traced works on instead of what is outside
        self.copies: Any = None


_stack = _Stack()


def scopes() -> list[Scope]:
    """The scopes of the code that is running, the outermost first."""
    return _stack.scopes


def current() -> Scope | None:
    return _stack.scopes[-1] if _stack.scopes else None


def refuse(error: Refusal) -> Refusal:
    """The same error, which ends the graph even where code that is not converted catches it.

    Converted handlers never catch an error of d2s's; libraries do, `logging` for one. A region that
    is traced on trial, and given up because of the error, takes it along.
    """
    if _stack.scopes and _stack.scopes[-1].refused is None:
        _stack.scopes[-1].refused = error
    return error


def raise_refused() -> None:
    """Nothing that was refused may be part of a graph."""
    if _stack.scopes and _stack.scopes[-1].refused is not None:
        raise _stack.scopes[-1].refused


def note_failure() -> None:
    """Something may fail at run time that no scope is told of."""
    _stack.failures += 1


def count_failures() -> int:
    """How many failures at run time were found so far; it grows, and means nothing else."""
    return _stack.failures


def ask_kinds(is_needed: bool) -> None:
    """What is built depends on which kind of Python value something is (see `origins`)."""
    _stack.questions += is_needed


def count_questions() -> int:
    """How often that was so; it grows, and means nothing else."""
    return _stack.questions


def root() -> Scope:
    """The scope of the whole function that is being traced."""
    return _stack.scopes[0]


def watches() -> list[Any]:
    return _stack.watches


def in_loop() -> bool:
    """Whether the code running now is inside the body of a staged loop."""
    return _stack.loops > 0


@contextmanager
def at_position(position: Any, length: Any = None) -> Iterator[None]:
    """A loop is at a position: an integer that only counting by one has made."""
    _stack.positions.append((position, (0, length - 1) if type(length) is int else None))
    try:
        yield
    finally:
        _stack.positions.pop()


def is_position(value: Any) -> bool:
    return any(value is position for position, _ in _stack.positions)


def range_of(value: Any) -> tuple[int, int] | None:
    """The least and the largest value of a position, if its loop has a known number of trips."""
    return next((span for position, span in _stack.positions if position is value), None)


@contextmanager
def trial() -> Iterator[None]:
    """A piece of code runs only to see which of its values are run-time values."""
    failures = _stack.failures
    _stack.trials += 1
    try:
        with without_choices():
            yield
    finally:
        _stack.trials -= 1
        _stack.failures = failures  # what fails in a trial alone does not fail


@contextmanager
def without_choices(unless: Callable[[], bool] = lambda: False) -> Iterator[None]:
    """What is joined inside counts only if that, or so it turns out, is part of the graph."""
    root = _stack.scopes[0] if _stack.scopes else None
    counts = (len(root.joined), len(root.choices)) if root is not None else (0, 0)
    try:
        yield
    finally:
        if root is not None and not unless():
            del root.joined[counts[0] :], root.choices[counts[1] :]


def in_trial() -> bool:
    return _stack.trials > 0


def memories() -> dict[Any, Any] | None:
    """What is known of loops in the graph that is being built; None outside of one."""
    return _stack.memories


def surroundings() -> tuple[Any, ...]:
    """What code may depend on that runs now, besides its values."""
    scopes = _stack.scopes
    observed = bool(scopes) and scopes[-1].observed, any(s.catches for s in scopes)
    may_have_failed = any(s.code is not None for s in scopes)
    return observed, may_have_failed, _stack.loops > 0, _stack.far > 0, _stack.exact


def counts_far() -> bool:
    """Whether a loop around carries an integer that may be near the limit already."""
    return _stack.far > 0


def is_exact() -> bool:
    """Whether the function being traced got Python integers."""
    return _stack.exact


@contextmanager
def entered(
    scope: Scope, watch: Any = None, carries: bool = False, far: bool = False
) -> Iterator[Scope]:
    _stack.scopes.append(scope)
    _stack.loops += carries
    _stack.far += far
    try:
        with watched(watch) if watch is not None else nullcontext():
            yield scope
            raise_refused()
    except (Exception, Halt) as error:
        if scope.refused is None or scope.refused is error or isinstance(error, Error):
            raise
        # whoever caught it has raised something else instead, which is no cause of it
        raise scope.refused from scope.refused.__cause__
    finally:
        _stack.scopes.pop()
        _stack.loops -= carries
        _stack.far -= far


@contextmanager
def watched(watch: Any) -> Iterator[None]:
    _stack.watches.append(watch)
    RegionsInProgress.change(1)
    try:
        yield
    finally:
        _stack.watches.pop()
        RegionsInProgress.change(-1)


@contextmanager
def set_aside(exact: bool) -> Iterator[None]:
    """No scope and no watch inside: for code that is traced on its own account."""
    before = _stack.scopes, _stack.watches, _stack.loops, _stack.exact
    memories, _stack.memories = _stack.memories, {}
    _stack.scopes, _stack.watches, _stack.loops, _stack.exact = [], [], 0, exact
    try:
        with with_copies(None):
            yield
    finally:
        _stack.scopes, _stack.watches, _stack.loops, _stack.exact = before
        _stack.memories = memories


def held() -> dict[str, Any]:
    """All that the channels hold at the moment, for whoever counts the holders of an array."""
    return vars(_stack)


def copies() -> Any:
    """The copies that the function being traced works on, in place of what is outside."""
    return _stack.copies


@contextmanager
def with_copies(copies: Any) -> Iterator[None]:
    before, _stack.copies = _stack.copies, copies
    try:
        yield
    finally:
        _stack.copies = before


def begin() -> None:
    """A staged block begins: outside of all others, what was changed before is of no interest."""
    if not _stack.watches:
        changes.clear()


def change_of(owner: Any) -> Site:
    """The line that changed something last, if a method did it; else the one that is running."""
    return changes.get(id(owner)) or sites.where()
