"""A converted function as one compiled graph: what it depends on, and when to build it again."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

from d2s import record, settings
from d2s.backends.lax import aliases, channels, printing
from d2s.backends.lax.channels import Failures, Halt, Scope
from d2s.backends.lax.dtypes import type_of
from d2s.backends.lax.edge import edge, unmarked, unmarked_values
from d2s.backends.lax.inspection import (
    TICKET,
    CacheInfo,
    Graph,
    Inspected,
    looked,
    shown,
    structs,
)
from d2s.backends.lax.keys import Changing, Number, exact_key
from d2s.backends.lax.nans import checked
from d2s.backends.lax.reach import Place, Reach
from d2s.backends.lax.reader import reader
from d2s.backends.lax.reasons import Span, other_types, spans, why
from d2s.backends.lax.regions import (
    Escaped,
    is_raised_by_user,
    is_tracer_error,
    keep_transient,
    trace,
)
from d2s.backends.lax.results import Build, Call, Results, Write, only_leaf
from d2s.backends.lax.state import ARRAY, Taken, no_array
from d2s.backends.lax.trees import Out
from d2s.backends.lax.twins import Restart, Twins
from d2s.backends.lax.watch import Watch
from d2s.conversion import is_made_code
from d2s.errors import Error, StagingError, hide_own_frames
from d2s.modes import Modes, is_eager
from d2s.options import PLAIN, Options
from d2s.recursion import deep
from d2s.values import Unbound, Watching

logger = logging.getLogger("d2s")

#: after so many graphs of one function it is said that there are many
_MANY = 16
#: how often the walk may start again because the function reaches more than was known
_RESTARTS = 100
#: types of arguments that are leaves as they are
_FLAT = frozenset({ARRAY, float, complex})


@dataclasses.dataclass
class _Result:
    """What the graph returns besides a single array: leaves, error code, quoted values."""

    leaves: list[Any]
    code: Any
    payload: dict[int, list[Any]]
    static: _ResultInfo


@dataclasses.dataclass(eq=False)
class _ResultInfo:
    """What is known once the graph is built: the value, what to write, what may fail."""

    build: Build
    writes: list[Write]
    failures: Failures
    numbers: set[int]


jax.tree_util.register_pytree_node(
    _Result,
    lambda r: ((r.leaves, r.code, r.payload), r.static),
    lambda static, parts: _Result(*parts, static),
)


class _Entry:
    """The graphs for one key."""

    #: how many inputs of its graph come before the leaves
    skip = 0

    def __init__(
        self,
        owner: Compiled,
        key: tuple[Any, ...],
        places: tuple[Place, ...],
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
        #: the arguments behind its key and leaves; None where leaves are left out
        self.arguments: list[Span] | None = None
        #: leaves whose memory the graph may use
        self.donated = donated
        #: positions of Python numbers whose value turned out to be needed
        self.needed: tuple[int, ...] = ()
        self.by_value: dict[Any, _Entry] = {}
        self.watches: list[Watch] = []
        #: failures come by callbacks, which do not know whose call they are about
        self.calls_back = False
        #: the graph that takes a ticket for what it prints is the one to run
        self.prints = False
        #: no call will be computed again because an integer left its range
        self.is_final = False
        self.reset()

    def replace(self, run: Callable[..., Any]) -> None:
        """Run the graph in another way from now on."""
        self.run = run

    def is_current(self) -> bool:
        """Whether everything that the graphs were built from still is what it was."""
        for watch in self.watches:  # noqa: SIM110 - asked on every call; a generator costs more
            if not watch.is_unchanged():
                return False
        return True

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
        self.watches = []


@dataclasses.dataclass
class _Numbers:
    """Numbers that were constants so far, by their places in a key, and those that changed."""

    last: dict[int, Any]
    changing: set[int]


class _Tracing(threading.local):
    """Which functions this thread is building graphs of, and with what the call came."""

    def __init__(self) -> None:
        self.running: set[Compiled] = set()
        self.owners: Any = ()
        #: looks at the graph instead of running it
        self.look: Callable[[_Entry, Sequence[Any]], Any] | None = None


_tracing = _Tracing()


class Compiled(Inspected):
    """Callable; one graph per structure and type of what it reaches, rebuilt when that changes."""

    def __init__(self, original: Any, options: Options = PLAIN) -> None:
        super().__init__(original, options)
        self._entries: dict[tuple[Any, ...], _Entry] = {}
        #: the entry used last, and how to find its leaves, by the types of the arguments
        self._recent: dict[tuple[type, ...], tuple[_Entry, Any]] = {}
        self._numbers: dict[tuple[Any, ...], _Numbers] = {}
        self._reach = Reach(self.function)
        self._edge = edge(self.function, len(self.bound), list(self.keywords), options)
        self._cache = CacheInfo(self._name)
        #: the keys of the last graphs
        self._built: deque[tuple[Any, ...]] = deque(maxlen=32)
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if self._edge is not None:
                args, kwargs = self._edge.enter(args, kwargs)
            if Modes.special and channels.current() is None and is_eager():
                return self.eagerly(*map(unmarked, args), **unmarked_values(kwargs))
            if self.bound or self.keywords:
                args, kwargs = (*self.bound, *args), {**self.keywords, **kwargs}
            if not kwargs and not Watching.count:
                recent = self._recent.get(tuple(map(type, args)))
                if recent is not None and recent[0].is_current():
                    entry, read = recent
                    leaves, owners = (args, ()) if read is None else read(args) or (None, None)
                    if leaves is not None and not (entry.needed or entry.calls_back):
                        _tracing.owners = owners
                        failed: BaseException
                        try:
                            result = printing.run(entry, leaves)
                        except (Exception, Restart) as error:
                            failed = error
                        else:
                            _tracing.owners = ()
                            if type(result) is _Result:
                                return self._finish(entry, leaves, owners, result)
                            return result
                        if isinstance(failed, Exception):
                            return self._try_again(entry, list(leaves), owners, failed)
                        self._forget()
            if channels.current() is not None:
                return self._inside(tuple(map(unmarked, args)), unmarked_values(kwargs))
            return self._call_any(args, kwargs)
        except Exception as error:
            hide_own_frames(error)
            raise

    def _inside(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Called while another graph is built, it is a part of that."""
        twins = channels.twins()
        if twins is None:
            return self.function(*args, **kwargs)
        bound = len(self.bound)
        args = (*map(twins.of, args[:bound]), *args[bound:])
        kwargs = {n: twins.of(v) if n in self.keywords else v for n, v in kwargs.items()}
        for watch in channels.watches():
            if watch.outside:
                watch.add(self.function)
        with deep:
            return twins.enter(self.function)(*args, **kwargs)

    def _call_any(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The way of all calls but those with arguments of known types."""
        if self in _tracing.running:
            # a recursion is part of the graph being built
            return self.function(*map(unmarked, args), **unmarked_values(kwargs))
        for _ in range(_RESTARTS):
            taken = self._take(args, kwargs)
            key = self._key(taken)
            entry = self._entries.get(key)
            if entry is None or not entry.is_current():
                with self._lock:
                    if self._reach.explore(args, kwargs):
                        self._forget()
                        continue
                    entry = self._entries.get(key)
                    if entry is None:
                        self._warn_of_many(key)
                        known = spans(self.function, args, kwargs, self._reach.pins)
                        reason = why(self._built, key, known)
                        entry = self._entries[key] = _Entry(
                            self, key, taken.places, reason, taken.donated
                        )
                        entry.arguments = known
            self._remember(args, kwargs, entry)
            try:
                with self._lock if entry.calls_back else nullcontext():
                    return self._run(entry, taken.leaves, taken.owners)
            except Restart:
                self._forget()
        raise StagingError(
            f"{self._name} reaches other objects each time its graph is built",
            code="D2S024",
            fix="functions and objects made outside of it",
        )

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
        taken.take(args, True)
        taken.take(tuple(kwargs), True)
        taken.take(tuple(kwargs.values()), True)
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
                shape[n] = Changing(type(key[n].value))
            known = self._numbers.get(tuple(shape))
            if known is None:
                known = _Numbers({n: key[n] for n in places}, set())
                self._numbers[tuple(shape)] = known
            known.changing |= {n for n in places if key[n] != known.last[n]}
            for n in known.changing:
                taken.changing[n] = key[n].value
                key[n] = shape[n]
        taken.leaves += [taken.changing[n] for n in sorted(taken.changing)]
        return tuple(key)

    def _remember(self, args: tuple[Any, ...], kwargs: dict[str, Any], entry: _Entry) -> None:
        """Next time, find the leaves of arguments like these without the walk."""
        if kwargs or entry.calls_back or (self._edge is not None and self._edge.marks):
            return
        kinds = tuple(map(type, args))
        known = self._recent.get(kinds)
        if known is not None and known[0] is entry:
            return
        flat = _FLAT.issuperset(kinds) and not entry.places
        read = None if flat else reader(entry.key, entry.places)
        if flat or read is not None:
            self._recent[kinds] = entry, read

    def _forget(self) -> None:
        """Keys have other parts now."""
        self._recent, self._entries, self._numbers = {}, {}, {}

    def _run(self, entry: _Entry, leaves: list[Any], owners: Any) -> Any:
        if not entry.is_current():
            logger.info("%s: something it reads has changed; tracing again", self._name)
            entry.reason = "something it reads has changed"
            entry.reset()
        while entry.needed:
            entry, leaves = self._by_value(entry, leaves, entry.needed)
            if not entry.is_current():
                entry.reset()
        _tracing.owners = owners
        failed: Exception | None = None
        try:
            look = _tracing.look
            result = printing.run(entry, leaves) if look is None else looked(look, entry, leaves)
        except Exception as error:
            failed = error
        _tracing.owners = ()
        if failed is not None:
            return self._try_again(entry, leaves, owners, failed)
        if type(result) is not _Result:
            return result
        return self._finish(entry, leaves, owners, result)

    def _finish(self, entry: _Entry, leaves: Sequence[Any], owners: Any, result: _Result) -> Any:
        """Write what changed, raise what failed, make the value."""
        info = result.static
        if info.failures.calls_back:
            self._wait_for_callbacks(info.failures)
        call = Call(result.leaves, owners)
        code = result.code
        known = code is not None and not isinstance(code, jax.core.Tracer)
        number = int(code) if known else 0
        if number and info.failures.is_of_the_graph(number) and _numbers(leaves):
            return self._exactly(entry, list(leaves), owners)
        for store in [write.prepare(call) for write in info.writes]:
            store()
        if known:
            channels.check(number, result.payload, info.failures)
        elif code is not None:
            channels.report(code, result.payload, info.numbers, info.failures)
        return info.build(call)

    def _wait_for_callbacks(self, failures: Failures) -> None:
        """A failure inside a transformation is known only when its callback has run."""
        jax.effects_barrier()
        if failures.told:
            error = failures.told[0]
            failures.told.clear()
            raise error

    def _exactly(self, entry: _Entry, leaves: list[Any], owners: Any) -> Any:
        """This very call with its Python numbers as constants: Python's integers are exact."""
        logger.info("%s: beyond what the graph can do; this call gets one of its own", self._name)
        inner, rest = self._by_value(entry, leaves, tuple(_numbers(leaves)))
        return self._run(inner, rest, owners)

    def _by_value(
        self, entry: _Entry, leaves: list[Any], positions: tuple[int, ...]
    ) -> tuple[_Entry, list[Any]]:
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
            inner = entry.by_value[key] = _Entry(
                self, entry.key, entry.places, reason, donated, with_constants
            )
        rest = [leaf for n, leaf in enumerate(leaves) if n not in positions]
        return inner, rest

    def _try_again(self, entry: _Entry, leaves: list[Any], owners: Any, error: Exception) -> Any:
        """Make the numbers static whose value was needed; otherwise say what went wrong."""
        if _tracing.look is None and any(isinstance(v, jax.ShapeDtypeStruct) for v in leaves):
            raise no_array()
        staging = isinstance(error, Error) and not isinstance(error, SyntaxError)
        if not staging and not is_tracer_error(error):
            raise error
        numbers = _numbers(leaves)
        named = [int(n) for n in re.findall(r"(?:leaves|arguments)\[(\d+)\]", str(error))]
        wanted = tuple(n for n in named if n in numbers) or tuple(numbers)
        if wanted:
            logger.info("%s: the value of a Python number is needed; it becomes static", self._name)
            entry.needed = wanted
            entry.reset()
            return self._run(entry, leaves, owners)
        if staging:
            raise error
        raise _needs_value(error).with_traceback(error.__traceback__) from error

    def look(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], use: Callable[..., Any]
    ) -> Any:
        before, _tracing.look = _tracing.look, use
        try:
            if self._edge is not None:
                if len(args) <= self._edge.own and not kwargs:
                    kwargs = self.examples or kwargs
                args, kwargs = self._edge.enter(structs(args), structs(dict(kwargs)))
            return self._call_any(
                (*self.bound, *structs(args)), {**self.keywords, **structs(dict(kwargs))}
            )
        finally:
            _tracing.look = before

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
        if "nan" in self.options.checks:
            return checked(graph, **options)
        made = jax.jit(graph, **options)
        return made, made

    @property
    def _name(self) -> str:
        return self.function.__qualname__

    def trace(
        self, entry: _Entry, leaves: tuple[Any, ...], ticket: Any = None, reached: Any = None
    ) -> Any:
        """Build the graph: run the converted function once on abstract values."""
        owners, _tracing.owners = _tracing.owners, ()
        inputs = shown(leaves)  # once they are written to, nobody may look at them
        scope = Scope(Failures())
        exact = any(_is_python_int(leaf) for leaf in leaves)
        prints = printing.into(ticket, reached, leaves, entry.key)
        aside = channels.set_aside(exact)
        with (
            deep,
            self._running(),
            settings.afresh(
                max_iterations=self.options.max_iterations,
                loops=self.options.loops,
                checks=self.options.checks,
            ),
            aside,
            aliases.arguments(),
            channels.entered(scope),
            prints,
        ):
            try:
                if exact:
                    result = self._trace_exact(entry, leaves, owners, scope)
                else:
                    result = self._result(scope, *self._call(entry, leaves, owners, scope))
            except printing.Asked:
                _tracing.owners = owners
                raise
            entry.calls_back |= scope.failures.calls_back
            entry.is_final = not any(map(scope.failures.is_of_the_graph, scope.numbers))
            if not record.is_on():
                self._note(entry, inputs)
            return result

    def _note(self, entry: _Entry, inputs: tuple[str, ...]) -> None:
        """Remember that a graph was built, and why."""
        reason = entry.reason or other_types(entry.inputs, inputs, entry.arguments)
        self._cache.graphs.append(Graph(inputs, reason))
        logger.debug("%s: a graph for (%s): %s", self._name, ", ".join(inputs), reason)
        entry.reason, entry.inputs = "", inputs
        self._built.append(entry.key)

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

    @contextmanager
    def _running(self) -> Iterator[None]:
        before, _tracing.running = _tracing.running, {*_tracing.running, self}
        try:
            yield
        finally:
            _tracing.running = before

    def _call(
        self, entry: _Entry, leaves: tuple[Any, ...], owners: Any, scope: Scope
    ) -> tuple[list[Any], Build, list[Write]]:
        """Run the function on twins; what it did to them, and what it fails with, is recorded."""
        twins = Twins(entry.key, entry.fill(leaves), owners, entry.places, self._reach)
        args, names, values = twins.roots[:3]
        outside = Watch(self.function, *owners, outside=True, apart=twins)
        scope.watch, scope.observed, scope.is_whole = twins, not twins.is_empty, True
        value: Any = None
        try:
            with channels.watched(outside), channels.with_twins(twins):
                try:
                    kwargs = dict(zip(names, values, strict=True))
                    value = twins.enter(self.function)(*args, **kwargs)
                    if self._edge is not None:
                        value = self._edge.leave(value)
                    if isinstance(value, Unbound) and not value.name:
                        value = None  # nothing was returned on any way that did not fail
                except Halt:
                    scope.fail_at_last()
                except Exception as error:
                    if isinstance(error, Error) or is_tracer_error(error):
                        raise
                    if not is_raised_by_user(error):
                        raise
                    sure = scope.code is None and not (channels.root().quotes or entry.prints)
                    if sure and not any(True for _ in twins.changes()):
                        # what was changed before it failed would have to stay changed
                        _refuse_changes(outside, twins, self._name)
                        raise
                    scope.fail(error)
            _refuse_changes(outside, twins, self._name)
            channels.refuse_aliases(channels.root(), self._name)
            keep_transient(scope, twins.changed())
            results = Results(twins, outside, self.function)
            build = results.of(value)
            writes = results.writes(scope)
            aliases.check_views(results.outs)
            aliases.refuse_held(slot.get() for slot in twins.places())
        finally:
            outside.undo()
            outside.forget()
        entry.watches.append(outside)
        return results.outs, build, writes

    def _trace_exact(
        self, entry: _Entry, leaves: tuple[Any, ...], owners: Any, scope: Scope
    ) -> Any:
        """The same for Python integers, whose arithmetic is checked: the function is a region."""
        seen: list[tuple[Build, list[Write]]] = []

        def run(*inputs: Any) -> Any:
            inner = channels.current()
            assert inner is not None, "a region has a scope"
            try:
                outs, build, writes = self._call(entry, inputs, owners, inner)
            except Exception as error:
                raise Escaped(error) from error
            seen.append((build, writes))
            return outs

        try:
            kinds = [type_of(leaf) for leaf in leaves]
            region = trace(run, kinds, Watch(outside=True), root=True)
        except Escaped as escaped:
            raise escaped.error from escaped.error.__cause__
        computed = region.run(*leaves)

        def put(leaf: Any) -> Any:
            return computed[leaf.index] if isinstance(leaf, Out) else leaf

        if region.code is not None:
            payload = {n: [put(v) for v in values] for n, values in region.payload.items()}
            scope.merge(put(region.code), payload, region.numbers)
        return self._result(scope, [put(leaf) for leaf in region.value], *seen[-1])

    def _result(self, scope: Scope, outs: list[Any], build: Build, writes: list[Write]) -> Any:
        plain = scope.code is None and not writes and not scope.failures.calls_back
        if plain and build is only_leaf:
            return outs[0]
        return _Result(
            outs,
            scope.code,
            scope.payload,
            _ResultInfo(build, writes, scope.failures, scope.numbers),
        )


def _is_python_int(leaf: Any) -> bool:
    kind = type_of(leaf)
    return kind.weak and bool(jnp.issubdtype(kind.dtype, jnp.integer))


def _numbers(leaves: Sequence[Any]) -> list[int]:
    """Positions of the Python numbers among the arguments."""
    return [n for n, leaf in enumerate(leaves) if type(leaf) in (int, float, complex)]


def _refuse_changes(outside: Watch, twins: Twins, name: str) -> None:
    """What has no twin must not change: a compiled call would not do it again."""
    label = next((outside.label(owner) for owner, _ in outside.changed()), None)
    stray = twins.stray()
    if label is None and stray is not None:
        label = f"the global name `{stray}`"
    if label is not None:
        outside.undo()
        raise StagingError(
            f"{name} changes {label}; a compiled call would not repeat that",
            code="D2S024",
            fix="return the new value and store it outside",
        )


def _needs_value(error: Exception) -> StagingError:
    """The user's line that used a run-time value as a Python value."""
    site, code = channels.place(error)
    first = re.sub(r"'?\b\w*Tracer\b'?", "a run-time value", str(error).splitlines()[0])
    if code is not None and not is_made_code(code) and not code.co_name.startswith("<"):
        return StagingError(
            f"{site.function} needs a run-time value; d2s did not convert it ({first})",
            code="D2S021",
            site=site,
            fix=f"`@d2s.convert` above the definition of {site.function}, if it is plain Python",
        )
    return StagingError(
        f"a run-time value is needed as a Python value here ({first})",
        code="D2S020",
        site=site,
        fix="array operations on it, or pass it as a Python number so that it can become static",
    )
