"""A static function: from the arguments of a call to the entry whose graph it runs.

    @d2s.to_static
    def f(x, n):                    f(x, 3)   the walk finds the key (array, number 3, ...): no
        return x * n                          entry yet, so one is made, and its graph is built
                                    f(y, 3)   the runner of that entry takes `y` and runs its graph
                                    f(y, 4)   the runner misses; the walk finds another key

A call tries, in this order,

    runner        code made for the entry of the last call: arguments, guards, graph (`__call__`)
    _like_last    that entry, where its graph takes more than the arguments
    _otherwise    the entries for arguments of these types; the options about arguments are here
    _call_any     the walk over everything that the function reaches, which finds the key

until one of them has the entry and the leaves. `running.py` has the rest of the way.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import jax

from d2s.backends.lax.boundary.changing_numbers import ChangingNumbers
from d2s.backends.lax.boundary.copies import Restart
from d2s.backends.lax.boundary.edge import edge
from d2s.backends.lax.boundary.reader import MISS, missed
from d2s.backends.lax.forms import widths
from d2s.backends.lax.function.build import build
from d2s.backends.lax.function.entries import Entry, Result
from d2s.backends.lax.function.inspection import BuiltGraph, CacheInfo, structs
from d2s.backends.lax.function.reasons import BuildReasons, Labels, argument_with, labels, why
from d2s.backends.lax.function.running import GraphRuns, tracing
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.objects.flatten import Taken
from d2s.backends.lax.objects.marks import unmarked, unmarked_values
from d2s.backends.lax.output.printing import NeedsTicket
from d2s.backends.lax.reach.reach import Reach
from d2s.backends.lax.trace.nans import checked
from d2s.errors import StagingError, hide_own_frames, wrong_option
from d2s.options import loop_options
from d2s.options.fast_path import unusual
from d2s.options.modes import Modes, is_eager
from d2s.options.options import PLAIN, Options
from d2s.recursion import deep
from d2s.runtime.engines import RegionsInProgress

logger = logging.getLogger("d2s")

#: after every so many graphs of one function a warning says that there are many
_MANY = 16
#: how often the walk may start again because the function reaches more than was known
_RESTARTS = 100


class Compiled(GraphRuns):
    """A static function on JAX: one graph for each structure and type of what it reaches."""

    __slots__ = ("runner",)

    def __init__(self, original: Any, options: Options = PLAIN) -> None:
        super().__init__(original, options)
        self._entries: dict[tuple[Any, ...], Entry] = {}
        #: the entry that was used last, and what runs a call like that one
        self._last: Entry | None = None
        self.runner: Any = missed
        #: the entries that were used last for arguments of these types
        self._recent: dict[tuple[type, ...], Entry] = {}
        self._numbers = ChangingNumbers()
        self._reach = Reach(self.function)
        self._edge = edge(self.function, len(self.bound), list(self.keywords), options)
        self._cache = CacheInfo(self._name)
        #: the keys of the last graphs, part by part with names: to tell why the next one is built
        self._built: deque[Labels] = deque(maxlen=32)
        self._lock = threading.RLock()
        #: whether arguments are used as they come: only then a runner may take them
        self._is_direct = not (self._edge or self.bound or self.keywords)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or unusual:
                return self._otherwise(args, kwargs)
            runner, result, failed = self.runner, None, None
            try:
                result = runner(*args)
            except (Exception, Restart, NeedsTicket) as error:
                failed = error
            else:
                if result is MISS:
                    return self._like_last(args)
                if type(result) is not Result:
                    return result
            return self._after_runner(runner.entry, args, result, failed)
        except Exception as error:
            hide_own_frames(error)
            raise

    def _after_runner(
        self, entry: Entry, args: tuple[Any, ...], result: Any, failed: BaseException | None
    ) -> Any:
        """End a call whose graph a runner has run: a runner does not tell the leaves and owners."""
        found = entry.shortcut.read(args)
        if found is None:  # somebody has assigned a global; nothing was written yet
            return self._call_any(args, {})
        if failed is None or isinstance(failed, Exception):
            return self._end(entry, *found, result, failed)
        # a graph for other types was built meanwhile: not like this, but with more that it reaches
        # as its inputs, or with a ticket for what it prints
        if isinstance(failed, Restart):
            self._forget()
        else:
            entry.ask_for_prints()
        return self._call_any(args, {})

    def _like_last(self, args: tuple[Any, ...]) -> Any:
        """A call like the one before, if it is one; the next one may have a runner."""
        entry = self._last
        found = None if entry is None else entry.shortcut.read(args)
        if entry is None or found is None or not entry.is_ready():
            return self._otherwise(args, {})
        leaves, owners = found
        if not owners:
            entry.shortcut.take_over()
        try:
            return self._run(entry, leaves, owners)
        except Restart:
            self._forget()
        return self._call_any(args, {})

    def _otherwise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is not like the one before: of other types, or with options in force."""
        if self._edge is not None:
            args, kwargs = self._edge.enter(args, kwargs)
        if Modes.special and scopes.current() is None and is_eager():
            return self.eagerly(*map(unmarked, args), **unmarked_values(kwargs))
        if self.bound or self.keywords:
            args, kwargs = (*self.bound, *args), {**self.keywords, **kwargs}
        if not (kwargs or RegionsInProgress.count):
            known = self._recent.get(tuple(map(type, args)))
            found = None if known is None else known.shortcut.read(args)
            if known is not None and found is not None and known.is_ready(prints=True):
                if self._is_direct:
                    self._last = known
                try:
                    return self._run(known, *found)
                except Restart:
                    self._forget()
        if scopes.current() is not None:
            return self._inside(tuple(map(unmarked, args)), unmarked_values(kwargs))
        return self._call_any(args, kwargs)

    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call while the graph of another function is built: it becomes a part of that graph."""
        asked = self.options
        self._refuse_inside()
        checks = asked.checks if "checks" in asked.given else None
        with loop_options.within(
            max_iterations=asked.max_iterations, loops=asked.loops, checks=checks
        ):
            value = self._part(args, kwargs)
        return value if self._edge is None else self._edge.leave(value)

    def _refuse_inside(self) -> None:
        """Refuse a check for NaN inside of a graph without one: a graph is checked as a whole."""
        if (
            loop_options.NAN in self.options.checks
            and loop_options.NAN not in loop_options.checks()
        ):
            raise wrong_option(
                f'checks="nan" of {self._name} does not hold inside the graph of another function',
                'checks="nan" for the function that is called from outside, which checks all of it',
            )

    def _part(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run the function on the copies of the graph that is built."""
        copies = scopes.copies()
        if copies is None:
            return self.function(*args, **kwargs)
        bound = len(self.bound)
        args = (*map(copies.of, args[:bound]), *args[bound:])
        kwargs = {n: copies.of(v) if n in self.keywords else v for n, v in kwargs.items()}
        for watch in scopes.snapshots():
            if watch.outside:
                watch.add(self.function)
        with deep:
            return copies.enter(self.function)(*args, **kwargs)

    def _call_any(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Find the key of a call by walking over everything that it reaches, and run its entry.

        The walk starts again when the function turns out to reach more than the key has parts for.
        """
        if self in tracing.running:
            # a recursion is part of the graph being built
            return self.function(*map(unmarked, args), **unmarked_values(kwargs))
        changed = ""
        for _ in range(_RESTARTS):
            taken = self._take(args, kwargs)
            key = self._key(taken)
            entry = self._entries.get(key)
            if entry is None or not entry.is_current():
                changed = changed or ("" if entry is None else entry.changed())
                with self._lock:
                    if self._reach.explore(args, kwargs):
                        self._forget()
                        continue
                    entry = self._entries.get(key)
                    if entry is None:
                        self._warn_of_many(key)
                        entry = self._entries[key] = self._entry(key, taken, len(args), kwargs)
                        entry.reasons.next = changed or entry.reasons.next
            self._remember(args, kwargs, entry)
            try:
                with self._lock if entry.calls_back else nullcontext():
                    entry.renew()
                    return self._run(entry, taken.leaves, taken.owners)
            except Restart:
                self._forget()
        raise StagingError(
            f"{self._name} reaches other objects each time its graph is built",
            code="D2S079",
            fix="functions and objects made outside of it",
        )

    def _entry(
        self, key: tuple[Any, ...], taken: Taken, count: int, kwargs: Mapping[str, Any]
    ) -> Entry:
        """A new entry, for a key that no call has had before."""
        places = [self._reach.label(place) for place in taken.places]
        found = labels(key, self.function, count, kwargs, places)
        reasons = BuildReasons(why(self._built, found), found)
        return Entry(self, key, taken.places, reasons, taken.donated)

    def _warn_of_many(self, key: tuple[Any, ...]) -> None:
        """Warn when graph after graph is built, for example because a list grows on every call."""
        count = len(self._entries)
        if count and count % _MANY == 0:
            last = next(reversed(self._entries))
            pairs = zip(last, key, strict=False)
            part = next(((a, b) for a, b in pairs if a != b), ("fewer parts", "more parts"))
            logger.warning(
                "%s has %d graphs; from the last call to this one %s became %s. What it reaches "
                "should keep its structure: keep what grows outside of it",
                *(self._name, count, *part),
            )

    def _take(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Taken:
        """Walk over the arguments and the slots outside: tokens of the key, leaves, owners."""
        places = self._reach.places
        taken = Taken(self._reach.pins, places)
        try:
            taken.take(args, True)
            taken.take(tuple(kwargs), True)
            taken.take(tuple(kwargs.values()), True)
        except widths.Wide as wide:
            name = argument_with(self.function, args, kwargs, wide.value)
            raise widths.refusal(wide.value, name) from None
        for place in places:
            taken.place(place.get())
        return taken

    def _key(self, taken: Taken) -> tuple[Any, ...]:
        """The key; numbers in it that were seen to change become leaves."""
        return self._numbers.key(taken)

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry) -> None:
        """Let calls with arguments of these types find the entry without the walk."""
        if kwargs or entry.calls_back or (self._edge is not None and self._edge.marks):
            return
        kinds = tuple(map(type, args))
        if self._recent.get(kinds) is not entry and entry.shortcut.is_readable():
            self._recent[kinds] = entry
            if self._is_direct:
                self._last = entry

    def _forget(self) -> None:
        """The set of guarded places has grown: keys made before are no longer comparable."""
        self._last, self.runner = None, missed
        self._recent, self._entries = {}, {}
        self._numbers.clear()

    def look(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], use: Callable[..., Any]
    ) -> Any:
        before, tracing.look = tracing.look, use
        try:
            if self._edge is not None:
                if len(args) <= self._edge.own and not kwargs:
                    kwargs = self.examples or kwargs
                args, kwargs = self._edge.enter(structs(args), structs(dict(kwargs)))
            return self._call_any(
                (*self.bound, *structs(args)), {**self.keywords, **structs(dict(kwargs))}
            )
        finally:
            tracing.look = before

    def copy(self, function: Any) -> Compiled:
        made = type(self)(self.original, self.options)
        made.function, made._reach = function, Reach(function)
        return made

    def jitted(
        self, graph: Callable[..., Any], donated: Sequence[int]
    ) -> tuple[Any, Callable[..., Any]]:
        """What compiles a graph, and what runs it."""
        options: Any = {
            "compiler_options": self.options.compiler_options,
            "donate_argnums": tuple(donated),
        }
        if loop_options.NAN in self.options.checks:
            return checked(graph, **options)
        made = jax.jit(graph, **options)
        return made, made

    @property
    def _name(self) -> str:
        return self.function.__qualname__

    def trace(
        self, entry: Entry, leaves: tuple[Any, ...], ticket: Any = None, reached: Any = None
    ) -> Any:
        """Build a graph; called by what `jitted` gives."""
        return build(entry, leaves, ticket, reached)

    def _note(self, entry: Entry, inputs: tuple[str, ...]) -> None:
        """Remember that a graph was built, and why."""
        reason = entry.reasons.take(inputs)
        self._cache.graphs.append(BuiltGraph(inputs, reason))
        logger.info("%s: a graph for (%s): %s", self._name, ", ".join(inputs), reason)
        self._built.append(entry.reasons.labels)

    @property
    def examples(self) -> dict[str, Any] | None:
        return None if self._edge is None else self._edge.examples()

    def cache_info(self) -> CacheInfo:
        return CacheInfo(self._name, list(self._cache.graphs))

    def clear_cache(self) -> None:
        with self._lock:
            self._forget()
            self._built.clear()
            self._cache.graphs.clear()
