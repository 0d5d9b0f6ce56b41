"""A converted function as one compiled graph: what it depends on, and when to build it again."""

from __future__ import annotations

import dataclasses
import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

import jax

from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.failures.whose import is_tracer_error
from d2s.backends.lax.forms import widths
from d2s.backends.lax.function.build import build, tracing
from d2s.backends.lax.function.copies import Restart
from d2s.backends.lax.function.edge import edge
from d2s.backends.lax.function.entries import Entry, Result
from d2s.backends.lax.function.inspection import BuiltGraph, CacheInfo, Inspected, looked, structs
from d2s.backends.lax.function.reader import MISS, missed
from d2s.backends.lax.function.reasons import (
    Labels,
    argument_with,
    labels,
    leaf_names,
    other_types,
    why,
)
from d2s.backends.lax.function.results import Call
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.jaxprs.integer_ranges import Unchecked
from d2s.backends.lax.objects.flatten import Taken, no_array
from d2s.backends.lax.objects.keys import ChangingNumber, Number, exact_key
from d2s.backends.lax.objects.marks import unmarked, unmarked_values
from d2s.backends.lax.output import printing
from d2s.backends.lax.reach.reach import Reach
from d2s.backends.lax.trace.nans import checked
from d2s.backends.lax.trace.needs import needs_value
from d2s.backends.lax.trace.provenance import needed_by
from d2s.errors import Error, NanFound, StagingError, hide_own_frames, wrong_option
from d2s.options import loop_options
from d2s.options.fast_path import unusual
from d2s.options.modes import Modes, is_eager
from d2s.options.options import PLAIN, Options
from d2s.recursion import deep
from d2s.runtime.engines import RegionsInProgress

logger = logging.getLogger("d2s")

#: after so many graphs of one function it is said that there are many
_MANY = 16
#: how often the walk may start again because the function reaches more than was known
_RESTARTS = 100


@dataclasses.dataclass
class _Numbers:
    """Numbers that were constants so far, by their places in a key, and those that changed."""

    last: dict[int, Any]
    changing: set[int]


class Compiled(Inspected):
    """Callable; one graph per structure and type of what it reaches, rebuilt when that changes."""

    __slots__ = ("runner",)

    def __init__(self, original: Any, options: Options = PLAIN) -> None:
        super().__init__(original, options)
        self._entries: dict[tuple[Any, ...], Entry] = {}
        #: the entry used last, what runs it, and those for arguments of other types
        self._last: Entry | None = None
        self.runner: Any = missed
        self._recent: dict[tuple[type, ...], Entry] = {}
        self._numbers: dict[tuple[Any, ...], _Numbers] = {}
        self._reach = Reach(self.function)
        self._edge = edge(self.function, len(self.bound), list(self.keywords), options)
        self._cache = CacheInfo(self._name)
        #: what the last graphs were built for
        self._built: deque[Labels] = deque(maxlen=32)
        self._lock = threading.RLock()
        #: arguments are used as they come
        self._is_direct = not (self._edge or self.bound or self.keywords)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if kwargs or unusual:
                return self._otherwise(args, kwargs)
            runner, result, failed = self.runner, None, None
            try:
                result = runner(*args)
            except (Exception, Restart, printing.NeedsTicket) as error:
                failed = error
            else:
                if result is MISS:
                    return self._like_last(args)
                if type(result) is not Result:
                    return result
            return self._ended(runner.entry, args, result, failed)
        except Exception as error:
            hide_own_frames(error)
            raise

    def _ended(
        self, entry: Entry, args: tuple[Any, ...], result: Any, failed: BaseException | None
    ) -> Any:
        """A runner has run the graph; what is left to do needs to know of what."""
        found = entry.read(args)
        if found is None:  # somebody has assigned a global; nothing was written yet
            return self._call_any(args, {})
        if failed is not None:
            return self._after(failed, entry, args, *found)
        return self._finish(entry, *found, result)

    def _like_last(self, args: tuple[Any, ...]) -> Any:
        """A call like the one before, if it is one; the next one may have a runner."""
        entry = self._last
        found = None if entry is None else entry.read(args)
        if entry is None or found is None or not entry.is_ready():
            return self._otherwise(args, {})
        leaves, owners = found
        if owners:
            tracing.owners = owners
        else:
            entry.take_over()
        result, failed = None, None
        try:
            result = entry.run(*leaves)
        except (Exception, Restart, printing.NeedsTicket) as error:
            failed = error
        if failed is not None:
            return self._after(failed, entry, args, leaves, owners)
        if owners:
            tracing.owners = ()
        if type(result) is not Result:
            return result
        return self._finish(entry, leaves, owners, result)

    def _after(
        self, failed: BaseException, entry: Entry, args: tuple[Any, ...], leaves: Any, owners: Any
    ) -> Any:
        """A graph for other types could not be built, or not like this."""
        if isinstance(failed, Exception):
            return self._try_again(entry, leaves, owners, failed)
        if isinstance(failed, Restart):
            self._forget()
        else:
            entry.ask_for_prints()
        return self._call_any(args, {})

    def _otherwise(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A call that is not like the one before."""
        if self._edge is not None:
            args, kwargs = self._edge.enter(args, kwargs)
        if Modes.special and scopes.current() is None and is_eager():
            return self.eagerly(*map(unmarked, args), **unmarked_values(kwargs))
        if self.bound or self.keywords:
            args, kwargs = (*self.bound, *args), {**self.keywords, **kwargs}
        if not (kwargs or RegionsInProgress.count):
            known = self._recent.get(tuple(map(type, args)))
            found = None if known is None else known.read(args)
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
        """Called while another graph is built, it is a part of that, with its own settings."""
        asked = self.options
        self._refuse_inside()
        checks = asked.checks if "checks" in asked.given else None
        with loop_options.within(
            max_iterations=asked.max_iterations, loops=asked.loops, checks=checks
        ):
            value = self._part(args, kwargs)
        return value if self._edge is None else self._edge.leave(value)

    def _refuse_inside(self) -> None:
        """A graph is checked for NaN as a whole, or not at all."""
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
        """The way of all calls but those with arguments of known types."""
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
                        entry.reason = changed or entry.reason
            self._remember(args, kwargs, entry)
            try:
                with self._lock if entry.calls_back else nullcontext():
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
        """An entry for another key; made only when a graph is built."""
        places = [self._reach.label(place) for place in taken.places]
        found = labels(key, self.function, count, kwargs, places)
        made = Entry(self, key, taken.places, why(self._built, found), taken.donated)
        made.labels, made.leaf_names = found, leaf_names(found)
        return made

    def _warn_of_many(self, key: tuple[Any, ...]) -> None:
        """Say when graph after graph is built: a list that grows with every call is such a case."""
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
        key = taken.key
        places = [n for n, token in enumerate(key) if type(token) is Number]
        if places:
            shape = list(key)
            for n in places:
                shape[n] = ChangingNumber(type(key[n].value))
            known = self._numbers.get(tuple(shape))
            if known is None:
                known = _Numbers({n: key[n] for n in places}, set())
                self._numbers[tuple(shape)] = known
            known.changing |= {n for n in places if key[n] != known.last.setdefault(n, key[n])}
            for n in known.changing.intersection(places):
                taken.changing[n] = key[n].value
                key[n] = shape[n]
        taken.leaves += [taken.changing[n] for n in sorted(taken.changing)]
        return tuple(key)

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], entry: Entry) -> None:
        """Next time, find the leaves of arguments like these without the walk."""
        if kwargs or entry.calls_back or (self._edge is not None and self._edge.marks):
            return
        kinds = tuple(map(type, args))
        if self._recent.get(kinds) is not entry and entry.is_readable():
            self._recent[kinds] = entry
            if self._is_direct:
                self._last = entry

    def _forget(self) -> None:
        """Keys have other parts now."""
        self._last, self.runner = None, missed
        self._recent, self._entries, self._numbers = {}, {}, {}

    def _run(self, entry: Entry, leaves: Sequence[Any], owners: Any) -> Any:
        entry.renew()
        while entry.needed:
            entry, leaves = self._by_value(entry, leaves, entry.needed)
            entry.renew()
        tracing.owners = owners
        failed: Exception | None = None
        try:
            look = tracing.look
            result = printing.run(entry, leaves) if look is None else looked(look, entry, leaves)
        except Exception as error:
            failed = error
        tracing.owners = ()
        if failed is not None:
            return self._try_again(entry, leaves, owners, failed)
        if type(result) is not Result:
            return result
        return self._finish(entry, leaves, owners, result)

    def _finish(self, entry: Entry, leaves: Sequence[Any], owners: Any, result: Result) -> Any:
        """Write what changed, raise what failed, make the value."""
        info = result.static
        if info.failures.calls_back:
            self._wait_for_callbacks(info.failures)
        call = Call(result.leaves, owners)
        code = result.code
        known = code is not None and not isinstance(code, jax.core.Tracer)
        number = int(code) if known else 0
        if number and info.failures.is_of_the_graph(number):
            if _numbers(leaves):
                return self._exactly(entry, leaves, owners)
            # what the graph could not compute is no state of the program
            failing.check(number, result.payload, info.failures)
        for store in [write.prepare(call) for write in info.writes]:
            store()
        if known:
            failing.check(number, result.payload, info.failures)
        elif code is not None:
            failing.report(code, result.payload, info.numbers, info.failures)
        return info.build(call)

    def _wait_for_callbacks(self, failures: Failures) -> None:
        """A failure inside a transformation is known only when its callback has run."""
        jax.effects_barrier()
        failures.raise_first_told()

    def _exactly(self, entry: Entry, leaves: Sequence[Any], owners: Any) -> Any:
        """This very call with its Python numbers as constants: Python's integers are exact."""
        logger.info("%s: beyond what the graph can do; this call gets one of its own", self._name)
        inner, rest = self._by_value(entry, leaves, tuple(_numbers(leaves)))
        return self._run(inner, rest, owners)

    def _by_value(
        self, entry: Entry, leaves: Sequence[Any], positions: tuple[int, ...]
    ) -> tuple[Entry, Sequence[Any]]:
        """The entry for these very numbers, which are constants in its graph."""
        key = positions, *(exact_key(leaves[n]) for n in positions)
        inner = entry.by_value.get(key)
        if inner is None:
            fixed = {n: leaves[n] for n in positions}
            fill = entry.fill

            def with_constants(rest: tuple[Any, ...]) -> tuple[Any, ...]:
                others = iter(rest)
                count = len(rest) + len(fixed)
                return fill(tuple(fixed[n] if n in fixed else next(others) for n in range(count)))

            donated = [
                n - sum(p < n for p in positions) for n in entry.donated if n not in positions
            ]
            values = ", ".join(repr(leaves[n]) for n in positions)
            reason = f"the value of a Python number is needed: {values}"
            reason, entry.reason = "; ".join(filter(None, (entry.reason, reason))), ""
            inner = entry.by_value[key] = Entry(
                self, entry.key, entry.places, reason, donated, with_constants
            )
            names = [name for n, name in enumerate(entry.leaf_names) if n not in positions]
            inner.labels, inner.leaf_names = entry.labels, names
        rest = [leaf for n, leaf in enumerate(leaves) if n not in positions]
        return inner, rest

    def _try_again(self, entry: Entry, leaves: Sequence[Any], owners: Any, error: Exception) -> Any:
        """Make the numbers static whose value was needed; otherwise say what went wrong."""
        if isinstance(error, Unchecked):
            entry.checks_integers = True
            entry.reset()
            return self._run(entry, leaves, owners)
        if tracing.look is None and any(isinstance(v, jax.ShapeDtypeStruct) for v in leaves):
            raise no_array()
        if self.options.compiler_options and _is_about_options(error):
            what = str(error).partition(": ")[2] or str(error)
            raise wrong_option(f"compiler_options: {what}", "an option that XLA knows") from error
        # a NaN is no reason to build another graph: this one has run
        staging = isinstance(error, Error) and not isinstance(error, SyntaxError | NanFound)
        if not staging and not is_tracer_error(error):
            failing.raise_again(error)
        numbers = _numbers(leaves)
        named = needed_by(error) or frozenset()
        wanted = tuple(n for n in numbers if n in named) or tuple(numbers)
        if wanted:
            entry.needed = wanted
            entry.settle()
            entry.reset()
            return self._run(entry, leaves, owners)
        if staging:
            raise error
        raise needs_value(error).with_traceback(error.__traceback__) from error

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
        reason = entry.reason or other_types(entry.inputs, inputs, entry.leaf_names)
        self._cache.graphs.append(BuiltGraph(inputs, reason))
        logger.info("%s: a graph for (%s): %s", self._name, ", ".join(inputs), reason)
        entry.reason, entry.inputs = "", inputs
        self._built.append(entry.labels)

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


def _is_about_options(error: Exception) -> bool:
    """Whether XLA refuses an option, which it does when it compiles."""
    is_xla = isinstance(error, jax.errors.JaxRuntimeError)
    return is_xla and ("No such compile option" in str(error) or "setting option" in str(error))


def _numbers(leaves: Sequence[Any]) -> list[int]:
    """Positions of the Python numbers among the arguments."""
    return [n for n, leaf in enumerate(leaves) if type(leaf) in (int, float, complex)]
