"""A converted function as one compiled graph: what it depends on, and when to build it again."""

from __future__ import annotations

import dataclasses
import functools
import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
import jax.numpy as jnp

from d2s.backends.lax import channels
from d2s.backends.lax.arguments import (
    ARRAY,
    Build,
    Builder,
    exact_key,
    flatten,
    objects,
    only_leaf,
    template_of_result,
)
from d2s.backends.lax.channels import Failures, Halt, Scope
from d2s.backends.lax.dtypes import type_of
from d2s.backends.lax.regions import Escaped, is_raised_by_user, is_tracer_error, trace
from d2s.backends.lax.trees import Out, map_leaves
from d2s.backends.lax.watch import Watch
from d2s.errors import Error, Site, StagingError, without_own_frames
from d2s.libraries import is_library_file
from d2s.recursion import deep
from d2s.static import StaticFunction
from d2s.values import Unbound, Watching

logger = logging.getLogger("d2s")

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
    """What is known once the graph is built: how to make the value, and what may fail."""

    build: Build
    failures: Failures
    numbers: set[int]


jax.tree_util.register_pytree_node(
    _Result,
    lambda r: ((r.leaves, r.code, r.payload), r.static),
    lambda static, parts: _Result(*parts, static),
)


class _Entry:
    """The graphs for one structure of arguments."""

    def __init__(self, owner: Compiled, build: Callable[[tuple[Any, ...]], Any]) -> None:
        self.owner, self.build = owner, build
        #: positions of Python numbers whose value turned out to be needed
        self.needed: tuple[int, ...] = ()
        self.by_value: dict[Any, _Entry] = {}
        self.watches: list[Watch] = []
        #: failures come by callbacks, which do not know whose call they are about
        self.calls_back = False
        self.reset()

    def is_current(self) -> bool:
        """Whether everything that the graphs were built from still is what it was."""
        for watch in self.watches:  # noqa: SIM110 - asked on every call; a generator costs more
            if not watch.is_unchanged():
                return False
        return True

    def reset(self) -> None:
        def graph(*leaves: Any) -> Any:
            return self.owner.trace(self, leaves)

        functools.update_wrapper(graph, self.owner.function, updated=())
        del graph.__wrapped__  # type: ignore[attr-defined]
        # in this order: another thread must not find the old graph without what it was built from
        self.run = jax.jit(graph)
        self.watches = []


class _Tracing(threading.local):
    """Which functions this thread is building graphs of."""

    def __init__(self) -> None:
        self.running: set[Compiled] = set()


_tracing = _Tracing()


class Compiled(StaticFunction):
    """Callable; one graph per structure and type of arguments, rebuilt when its world changes."""

    def __init__(self, original: Any) -> None:
        super().__init__(original)
        self._entries: dict[Any, _Entry] = {}
        #: entries for arguments without structure, by the types of the arguments
        self._flat: dict[tuple[type, ...], _Entry] = {}
        self._lock = threading.RLock()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            if not kwargs and not Watching.count:
                entry = self._flat.get(tuple(map(type, args)))
                if (
                    entry is not None
                    and not (entry.needed or entry.calls_back)
                    and entry.is_current()
                ):
                    try:
                        result = entry.run(*args)
                    except Exception as error:
                        failed = error
                    else:
                        if type(result) is _Result:
                            return self._finish(entry, args, result)
                        return result
                    return self._try_again(entry, list(args), failed)
            if self.bound or self.keywords:
                args, kwargs = (*self.bound, *args), {**self.keywords, **kwargs}
            return self._call_any(args, kwargs)
        except Exception as error:
            raise without_own_frames(error)  # noqa: B904 - the cause, if any, is kept

    def _call_any(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The way of all calls but the simplest: arrays and floats seen before."""
        if self in _tracing.running:
            return self.function(*args, **kwargs)  # a recursion is part of the graph being built
        leaves: list[Any] = []
        key: list[Any] = []
        for arg in args:
            if type(arg) is ARRAY:
                leaves.append(arg)
                key.append(ARRAY)
            else:
                flatten(arg, leaves, key)
        if kwargs:
            for name, arg in kwargs.items():
                key.append(name)
                flatten(arg, leaves, key)
        entry = self._entries.get(tuple(key))
        if entry is None:
            entry = self._entry(tuple(key), args, kwargs)
            if not kwargs and not self.bound and _FLAT.issuperset(key):
                self._flat[tuple(key)] = entry
        with self._lock if entry.calls_back else nullcontext():
            return self._run(entry, leaves)

    def _entry(self, key: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Entry:
        with self._lock:
            entry = self._entries.get(key)
            if entry is None:
                builder = Builder()
                parts = [builder.template(arg) for arg in args]
                named = {name: builder.template(arg) for name, arg in kwargs.items()}

                def build(leaves: tuple[Any, ...]) -> Any:
                    given = [part(leaves) for part in parts]
                    return given, {name: part(leaves) for name, part in named.items()}

                entry = self._entries[key] = _Entry(self, build)
            return entry

    def _run(self, entry: _Entry, leaves: list[Any]) -> Any:
        if not entry.is_current():
            logger.info("%s: something it reads has changed; tracing again", self._name)
            entry.reset()
        while entry.needed:
            entry, leaves = self._by_value(entry, leaves, entry.needed)
            if not entry.is_current():
                entry.reset()
        failed: Exception | None = None
        try:
            result = entry.run(*leaves)
        except Exception as error:
            failed = error
        if failed is not None:
            return self._try_again(entry, leaves, failed)
        for outer in channels.watches():
            # what this graph was built from, the graph around is built from
            for watch in entry.watches if outer.outside else ():
                outer.adopt(watch)
        return result if type(result) is not _Result else self._finish(entry, leaves, result)

    def _finish(self, entry: _Entry, leaves: Sequence[Any], result: _Result) -> Any:
        """Raise what failed, or make the value."""
        info = result.static
        if info.failures.calls_back:
            self._wait_for_callbacks(info.failures)
        if result.code is not None:
            if isinstance(result.code, jax.core.Tracer):
                channels.report(result.code, result.payload, info.numbers, info.failures)
            else:
                code = int(result.code)
                if code and info.failures.is_overflow(code) and _numbers(leaves):
                    return self._exactly(entry, list(leaves))
                channels.check(code, result.payload, info.failures)
        return info.build(result.leaves)

    def _wait_for_callbacks(self, failures: Failures) -> None:
        """A failure inside a transformation is known only when its callback has run."""
        jax.effects_barrier()
        if failures.told:
            error = failures.told[0]
            failures.told.clear()
            raise error

    def _exactly(self, entry: _Entry, leaves: list[Any]) -> Any:
        """This very call with its Python numbers as constants: Python's integers are exact."""
        logger.info("%s: integers beyond 32 bits; this call is computed exactly", self._name)
        inner, rest = self._by_value(entry, leaves, tuple(_numbers(leaves)))
        return self._run(inner, rest)

    def _by_value(
        self, entry: _Entry, leaves: list[Any], positions: tuple[int, ...]
    ) -> tuple[_Entry, list[Any]]:
        """The entry for these very numbers, which are constants in its graph."""
        key = positions, *(exact_key(leaves[n]) for n in positions)
        inner = entry.by_value.get(key)
        if inner is None:
            fixed = {n: leaves[n] for n in positions}
            build = entry.build

            def with_constants(rest: tuple[Any, ...]) -> Any:
                others = iter(rest)
                count = len(rest) + len(fixed)
                return build(tuple(fixed[n] if n in fixed else next(others) for n in range(count)))

            inner = entry.by_value[key] = _Entry(self, with_constants)
        rest = [leaf for n, leaf in enumerate(leaves) if n not in positions]
        return inner, rest

    def _try_again(self, entry: _Entry, leaves: list[Any], error: Exception) -> Any:
        """Make the numbers static whose value was needed; otherwise say what went wrong."""
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
            return self._run(entry, leaves)
        if staging:
            raise error
        raise _needs_value(error) from error

    @property
    def _name(self) -> str:
        return self.function.__qualname__

    def trace(self, entry: _Entry, leaves: tuple[Any, ...]) -> Any:
        """Build the graph: run the converted function once on abstract values."""
        scope = Scope(Failures())
        exact = any(_is_python_int(leaf) for leaf in leaves)
        with deep, self._running(), channels.set_aside(exact), channels.entered(scope):
            if exact:
                result = self._trace_exact(entry, leaves, scope)
            else:
                result = self._result(scope, *self._call(entry, leaves, scope))
            entry.calls_back |= scope.failures.calls_back
            return result

    @contextmanager
    def _running(self) -> Iterator[None]:
        before, _tracing.running = _tracing.running, {*_tracing.running, self}
        try:
            yield
        finally:
            _tracing.running = before

    def _call(self, entry: _Entry, leaves: tuple[Any, ...], scope: Scope) -> tuple[Any, Watch]:
        """Run the function; what it changes outside is refused, what it fails with recorded."""
        args, kwargs = entry.build(leaves)
        watch = Watch(self.function, *objects([args, kwargs]), outside=True)
        containers = Watch([args, kwargs])
        value: Any = None
        try:
            with channels.watched(watch):
                try:
                    value = self.function(*args, **kwargs)
                    if isinstance(value, Unbound) and not value.name:
                        value = None  # nothing was returned on any way that did not fail
                except Halt:
                    scope.fail_at_last()
                except Exception as error:
                    if isinstance(error, Error) or is_tracer_error(error):
                        raise
                    if not is_raised_by_user(error):
                        raise
                    if scope.code is None and not channels.root().quotes:
                        # what was changed before it failed would have to stay changed
                        _refuse_changes(watch, containers, self._name)
                        raise
                    scope.fail(error)
            _refuse_changes(watch, containers, self._name)
            _refuse_aliases(channels.root().joined, self._name)
        finally:
            watch.undo()
        entry.watches.append(watch)
        return value, watch

    def _trace_exact(self, entry: _Entry, leaves: tuple[Any, ...], scope: Scope) -> Any:
        """The same for Python integers, whose arithmetic is checked: the function is a region."""
        seen: list[Watch] = []

        def run(*inputs: Any) -> Any:
            inner = channels.current()
            assert inner is not None, "a region has a scope"
            try:
                value, watch = self._call(entry, inputs, inner)
            except Exception as error:
                raise Escaped(error) from error
            seen.append(watch)
            return value

        try:
            kinds = [type_of(leaf) for leaf in leaves]
            region = trace(run, kinds, Watch(outside=True), root=True)
        except Escaped as escaped:
            raise escaped.error from escaped.error.__cause__
        outs = region.run(*leaves)

        def put(leaf: Any) -> Any:
            return outs[leaf.index] if isinstance(leaf, Out) else leaf

        value = None if region.raised else map_leaves(put, region.value)
        if region.code is not None:
            payload = {n: map_leaves(put, values) for n, values in region.payload.items()}
            scope.merge(put(region.code), payload, region.numbers)
        return self._result(scope, value, seen[-1])

    def _result(self, scope: Scope, value: Any, watch: Watch) -> Any:
        outs: list[Any] = []
        build = template_of_result(value, outs, watch)
        if scope.code is None and build is only_leaf and not scope.failures.calls_back:
            return outs[0]
        return _Result(
            outs, scope.code, scope.payload, _ResultInfo(build, scope.failures, scope.numbers)
        )


def _is_python_int(leaf: Any) -> bool:
    kind = type_of(leaf)
    return kind.weak and bool(jnp.issubdtype(kind.dtype, jnp.integer))


def _numbers(leaves: Sequence[Any]) -> list[int]:
    """Positions of the Python numbers among the arguments."""
    return [n for n, leaf in enumerate(leaves) if type(leaf) in (int, float, complex)]


def _refuse_changes(watch: Watch, containers: Watch, name: str) -> None:
    for found, what in ((watch, ""), (containers, " of an argument")):
        for owner, _ in found.changed():
            label = found.label(owner)
            found.undo()
            raise StagingError(
                f"{name} changes {label}{what}; a compiled call would not repeat that",
                code="D2S024",
                fix="return the new value and store it outside",
            )


def _refuse_aliases(joined: list[Watch], name: str) -> None:
    for watch in joined:
        for owner, _ in watch.changed():
            raise StagingError(
                f"{name} changes {watch.label(owner)} in place that came out of, or went into, a "
                "branch or loop on a run-time value; who else sees the change cannot be known",
                code="D2S024",
                fix="a new list, dict or object instead of the change in place",
            )


def _needs_value(error: Exception) -> StagingError:
    """The user's line that used a run-time value as a Python value."""
    site, own = _last_user_place(error)
    first = str(error).splitlines()[0]
    if not own:
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


def _last_user_place(error: Exception) -> tuple[Site, bool]:
    from d2s.conversion import _made

    traceback, found = error.__traceback__, None
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if not is_library_file(code.co_filename):
            found = traceback
        traceback = traceback.tb_next
    if found is None:
        return channels.where(), True
    code = found.tb_frame.f_code
    own = _made.get(code) is not None or code.co_name.startswith("<")
    return Site(code.co_filename, found.tb_lineno, channels._function_name(code)), own
