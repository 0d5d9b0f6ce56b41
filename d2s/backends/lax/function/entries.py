"""Entries: what a static function knows of its graphs for one key.

A key describes everything that a call reaches but the values of its arrays (`objects/keys.py`).
For `f(x, 3)` with an array `x` it is, roughly,

    (tuple of 2, array, the number 3, no keywords, the globals that f reads ...)

and all calls with that key share one `Entry`. It holds

    plain, printing   the graph as JAX compiles it, without and with a ticket for what it prints
    shortcut          straight Python code that runs the next call like this one
    reasons           why a graph is built, in the words of the user
    guards            what must not have changed since the graphs were built
    by_value          entries for calls whose numbers had to become constants

`Result` is what a graph returns where it is more than arrays.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import numpy as np

from d2s.backends.lax.boundary.edge import Edge
from d2s.backends.lax.boundary.shortcut import Shortcut
from d2s.backends.lax.boundary.write_back import Build, Write
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.function.reasons import BuildReasons
from d2s.backends.lax.objects.guards import Guard
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.output import printing
from d2s.backends.lax.reach.reach import Reach
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.options.options import Options

#: the inputs of a graph that prints which come before its leaves: the ticket of the call, and
#: whether this place of the caller's graph is reached at all
TICKET = 2


@dataclasses.dataclass
class Result:
    """What the graph returns besides a single array: leaves, error code, quoted values."""

    leaves: list[Any]
    code: Any
    payload: dict[int, list[Any]]
    static: ResultInfo


@dataclasses.dataclass(eq=False)
class ResultInfo:
    """What is known once the graph is built: the value, what to write, what may fail."""

    build: Build
    writes: list[Write]
    failures: Failures
    numbers: set[int]


jax.tree_util.register_pytree_node(
    Result,
    lambda r: ((r.leaves, r.code, r.payload), r.static),
    lambda static, parts: Result(*parts, static),
)


class GraphOwner(Protocol):
    """The static function whose graphs these are."""

    function: Any
    options: Options
    #: runs the graph of a call like the last one, or gives `MISS`
    runner: Any
    _edge: Edge | None
    _reach: Reach

    @property
    def _name(self) -> str: ...

    def _note(self, entry: Entry, inputs: tuple[str, ...]) -> None: ...

    def trace(
        self, entry: Entry, leaves: tuple[Any, ...], ticket: Any = ..., reached: Any = ...
    ) -> Any: ...

    def jitted(
        self, graph: Callable[..., Any], donated: Sequence[int]
    ) -> tuple[Any, Callable[..., Any]]: ...


class JittedGraph:
    """A graph of an entry, as JAX compiles and runs it; inputs = [ticket, reached]? [leaves]."""

    def __init__(self, entry: Entry, function: Callable[..., Any], skip: int) -> None:
        #: the function that JAX traces
        self.entry, self.function = entry, function
        #: how many inputs come before the leaves
        self.skip = skip
        functools.update_wrapper(function, entry.owner.function, updated=())
        del function.__wrapped__  # type: ignore[attr-defined]
        donated = [n + skip for n in entry.donated]
        self.jitted, self.run = entry.owner.jitted(function, donated)

    def replace(self, run: Callable[..., Any]) -> None:
        """Run the graph in another way from now on."""
        self.run = run
        self.entry.shortcut.drop()


class Entry:
    """The graphs for one key."""

    plain: JittedGraph
    printing: JittedGraph

    def __init__(
        self,
        owner: GraphOwner,
        key: tuple[Any, ...],
        places: tuple[OuterSlot, ...],
        reasons: BuildReasons,
        donated: Sequence[int],
        fill: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda leaves: leaves,
    ) -> None:
        self.owner, self.key = owner, key
        #: the globals and cells that the key has parts for
        self.places = places
        #: from the inputs of the graph to all leaves of the key: some may be constants of the graph
        self.fill = fill
        self.reasons = reasons
        #: positions of the leaves whose memory the graph may use for its results
        self.donated = donated
        #: positions of Python numbers whose value turned out to be needed while a graph was built
        self.needed: tuple[int, ...] = ()
        #: the entries that have such numbers as constants, by their values
        self.by_value: dict[Any, Entry] = {}
        #: what says whether something has changed that the graphs were built from
        self.guards: tuple[Guard, ...] = ()
        #: failures come by callbacks, which do not know whose call they are about
        self.calls_back = False
        #: the graph that takes a ticket for what it prints is the one to run
        self.prints = False
        #: integers that stand for Python's are checked, though none is an argument
        self.checks_integers = False
        #: no call will be computed again because an integer left its range
        self.is_final = False
        self.shortcut = Shortcut(self)
        self.reset()

    # -- running -----------------------------------------------------------------------------------

    def run(self, leaves: Sequence[Any]) -> Any:
        """Run the graph; whether it prints may turn out while it is built."""
        if not self.prints:
            try:
                return self.plain.run(*leaves)
            except printing.NeedsTicket:
                self.ask_for_prints()
        return printing.run_with_ticket(self, leaves)

    def looked_at(self, look: Callable[[JittedGraph, Sequence[Any]], Any], leaves: Any) -> Any:
        """What somebody who looks at the graph says of the one that a call would run."""
        if not self.prints:
            try:
                return look(self.plain, leaves)
            except printing.NeedsTicket:
                self.ask_for_prints()
        return look(self.printing, [np.int32(0), np.True_, *leaves])

    def is_ready(self, prints: bool = False) -> bool:
        """Whether a call is one run of the graph; `prints` says that it may have a ticket."""
        if self.needed or self.calls_back or (self.prints and not prints):
            return False
        return self.is_current()

    # -- what the graphs were built from -----------------------------------------------------------

    def is_current(self) -> bool:
        """Whether everything that the graphs were built from still is what it was."""
        for guard in self.guards:  # noqa: SIM110 - a generator costs more
            if not guard.holds():
                return False
        return True

    def changed(self) -> str:
        """The name of something that is not what it was when the graphs were built."""
        found = (guard.changed() for guard in self.guards if not guard.holds())
        return next(found, "something it reads has changed")

    def renew(self) -> None:
        """Let the graphs be built anew where something has changed that they were built from."""
        if not self.is_current():
            self.reasons.next = self.changed()
            self.reset()

    def guard(self, outside: Snapshot) -> None:
        """A graph was built from what this snapshot holds: from now on it must not change."""
        guard = outside.guard()
        if guard is not None and guard not in self.guards:
            self.guards = (*self.guards, guard)

    # -- what is found out while a graph is built --------------------------------------------------

    def settle(self) -> None:
        """Decide what a call has to do, after a graph was built or something was found out."""
        self.shortcut.is_allowed = not (self.needed or self.calls_back or self.prints)
        self.shortcut.drop()

    def ask_for_prints(self) -> None:
        """The graph that takes a ticket is the one to run."""
        self.prints = True
        self.settle()

    def reset(self) -> None:
        """Forget the graphs; JAX builds them when they are next called."""

        def plain(*leaves: Any) -> Any:
            return self.owner.trace(self, leaves)

        def with_ticket(ticket: Any, reached: Any, *leaves: Any) -> Any:
            return self.owner.trace(self, leaves, ticket, reached)

        # in this order: another thread must not find the old graph without what it was built from
        self.plain = JittedGraph(self, plain, 0)
        self.printing = JittedGraph(self, with_ticket, TICKET)
        self.shortcut.is_allowed = False
        self.guards = ()
        self.shortcut.drop()
