"""The graphs of a static function for one key, and what a graph returns."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax

from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.function.edge import Edge
from d2s.backends.lax.function.inspection import TICKET
from d2s.backends.lax.function.reader import Found, Read, missed, reader, runner, unreadable
from d2s.backends.lax.function.reasons import Labels
from d2s.backends.lax.function.results import Build, Write
from d2s.backends.lax.objects.guards import Guard
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.reach.reach import Reach
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.options.options import Options


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


class Entry:
    """The graphs for one key."""

    #: how many inputs of its graph come before the leaves
    skip = 0

    def __init__(
        self,
        owner: GraphOwner,
        key: tuple[Any, ...],
        places: tuple[OuterSlot, ...],
        reason: str,
        donated: Sequence[int],
        fill: Callable[[tuple[Any, ...]], tuple[Any, ...]] = lambda leaves: leaves,
    ) -> None:
        self.owner, self.key, self.fill = owner, key, fill
        #: the globals and cells that the key has parts for
        self.places = places
        #: why the next graph is built; empty when only the types of the leaves are others
        self.reason = reason
        self.inputs: tuple[str, ...] = ()
        #: the parts of its key by name, and the names of its leaves
        self.labels: Labels = {}
        self.leaf_names: list[str] = []
        #: leaves whose memory the graph may use
        self.donated = donated
        #: positions of Python numbers whose value turned out to be needed
        self.needed: tuple[int, ...] = ()
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
        #: finds the leaves of arguments that have this key; made when it is first asked for
        self._read: Read | None = None
        self._runner: Any = None
        #: a call is one run of the graph, if only the guards hold
        self._is_plain = False
        #: how often what a call has to do has changed
        self._version = 0
        self.reset()

    def replace(self, run: Callable[..., Any]) -> None:
        """Run the graph in another way from now on."""
        self.run = run
        self._renew()

    def is_current(self) -> bool:
        """Whether everything that the graphs were built from still is what it was."""
        for guard in self.guards:  # noqa: SIM110 - a generator costs more
            if not guard.holds():
                return False
        return True

    def changed(self) -> str:
        """What is not any more what it was, by its name."""
        found = (guard.changed() for guard in self.guards if not guard.holds())
        return next(found, "something it reads has changed")

    def renew(self) -> None:
        """Build anew what was built from something else; the reason is what has changed."""
        if not self.is_current():
            self.reason = self.changed()
            self.reset()

    def watch(self, outside: Snapshot) -> None:
        """A graph was built from all this."""
        guard = outside.guard()
        if guard is not None and guard not in self.guards:
            self.guards = (*self.guards, guard)

    def is_ready(self, prints: bool = False) -> bool:
        """Whether a call is one run of the graph; `prints` says that it may have a ticket."""
        if self.needed or self.calls_back or (self.prints and not prints):
            return False
        return self.is_current()

    def settle(self) -> None:
        """Say what a call has to do; after graphs were built, and when something is found out."""
        self._is_plain = not (self.needed or self.calls_back or self.prints)
        self._renew()

    def is_readable(self) -> bool:
        """Whether the leaves of such arguments are found without the walk."""
        if self._read is None:
            self._read = reader(self.key, self.places) or unreadable
        return self._read is not unreadable

    def read(self, args: tuple[Any, ...]) -> Found | None:
        return None if self._read is None else self._read(args)

    def take_over(self) -> None:
        """Let calls like the last one go straight to the graph, if that is all they have to do."""
        version = self._version
        if self._runner is None:
            made = runner(self.key, self.places, self.guards, self.run) if self._is_plain else None
            if made is not None:
                made.entry = self
            self._runner = made or missed
        self.owner.runner = self._runner
        if self._version != version:  # meanwhile, in another thread
            self._renew()

    def _renew(self) -> None:
        """A runner that was made of this is none any more; in this order, for other threads."""
        self._version += 1
        self._runner, self.owner.runner = None, missed

    def ask_for_prints(self) -> None:
        """The graph that takes a ticket is the one to run."""
        self.prints = True
        self.settle()

    def reset(self) -> None:
        def plain(*leaves: Any) -> Any:
            return self.owner.trace(self, leaves)

        def printing_(ticket: Any, reached: Any, *leaves: Any) -> Any:
            return self.owner.trace(self, leaves, ticket, reached)

        graphs: tuple[Any, ...] = plain, printing_
        for graph in graphs:
            functools.update_wrapper(graph, self.owner.function, updated=())
            del graph.__wrapped__
        # in this order: another thread must not find the old graph without what it was built from
        self.graph, self.printing_graph = plain, printing_
        self.jitted, self.run = self.owner.jitted(plain, self.donated)
        after_ticket = [n + TICKET for n in self.donated]
        self.jitted_printing, self.run_printing = self.owner.jitted(printing_, after_ticket)
        self._is_plain = False
        self.guards = ()
        self._renew()
