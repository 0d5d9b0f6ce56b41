"""The hidden channels: what runs along with the values of a staged program.

Every region of a graph has a `Scope`. It carries the error code (0, or the number of the first
failure in program order), the values that the failure's message quotes, and, where a handler can
see them, snapshots of the shared names at the time of each possible failure. Channels that a
region does not use cost nothing.
"""

from __future__ import annotations

import ast
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import take_current_trace

from d2s import settings
from d2s.backends.lax import texts
from d2s.backends.lax.places import Slot, cell_contents, own_dict, slot_names
from d2s.backends.lax.texts import Text
from d2s.backends.lax.trees import children, leaves
from d2s.backends.lax.watch import Watch, changes, inside
from d2s.conversion import is_made_code
from d2s.errors import UNKNOWN, IntegerOverflow, RunTimeError, Site, StagingError, site_of
from d2s.libraries import is_library_class, is_library_file
from d2s.options import OFF
from d2s.values import Watching


class Halt(BaseException):
    """Unwinds the Python code of a region that surely fails; the code is in its scope."""


@dataclass
class Failure:
    """One place that may fail: how to make the exception and where to show it."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    site: Site
    cause: BaseException | Failure | None = None
    attributes: dict[str, Any] = field(default_factory=dict)
    #: it was raised `from` something, or from None
    hides_context: bool = False

    def make(self, quotes: list[Any]) -> BaseException:
        """The exception, as the user's code made it, with the quoted values filled in."""
        args, attributes = _as_it_is_now(texts.filled((self.args, self.attributes), quotes))
        made = self.kind.__new__(self.kind, *args)
        # the fields of Python's own exceptions, such as the code of SystemExit; not the user's
        # `__init__`, which has run already
        own = next(kind for kind in self.kind.__mro__ if kind.__module__ == "builtins")
        with suppress(Exception):
            own.__init__(made, *args)  # type: ignore[misc]
        made.args = args
        made.__suppress_context__ = self.hides_context
        made.__dict__.update(attributes)
        if isinstance(self.cause, Failure):
            made.__cause__ = self.cause.make(quotes)
        elif self.cause is not None:
            made.__cause__ = self.cause
        return made

    def shows_containers(self) -> bool:
        """Whether the exception shows something that others may change."""
        return _hold_containers([*self.args, *self.attributes.values()])


def _as_it_is_now(value: Any) -> Any:
    """What an exception holds, copied: lists and dicts may be changed after it is found.

    Who would see that it is a copy, or an object that cannot be copied, is refused.
    """
    kind: Any = type(value)
    is_from_outside = inside.twins is not None and inside.twins.number(value) is not None
    if not is_from_outside:
        parts = children(value)
        if parts is not None:
            return parts[1]([_as_it_is_now(part) for _, part in parts[0]])
        if isinstance(value, set | np.ndarray):
            return value.copy()
        if is_library_class(kind) or isinstance(value, _UNCHANGING):
            if not hides_tracers(value):
                return value
        elif own_dict(value) is None and not slot_names(kind):
            return value
    name = "NumPy array" if isinstance(value, jax.core.Tracer) else kind.__name__
    raise StagingError(
        f"an exception that depends on a run-time value holds a {name}"
        f"{' of the caller' if is_from_outside else ''}, which the graph cannot hand out as it is "
        "when that happens",
        code="D2S031",
        site=where(),
        fix="the numbers, texts and arrays that it is about",
    )


def hides_tracers(value: Any) -> bool:
    """Whether run-time values are where nobody takes them out: in an exception, or a function."""
    if isinstance(value, BaseException):
        held = [*value.args, *vars(value).values()]
        return quotes_of(value) or any(map(hides_tracers, leaves(held)))
    if isinstance(value, types.FunctionType):
        cells = [cell_contents(cell) for cell in value.__closure__ or ()]
        return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves(cells))
    return False


_UNCHANGING = (str, bytes, int, float, complex, type, types.FunctionType, Enum, BaseException)


def shows_containers(error: BaseException) -> bool:
    """Whether an exception shows something that others may change."""
    return _hold_containers([*error.args, *vars(error).values()])


def _hold_containers(held: list[Any]) -> bool:
    containers = (v for v in held if type(v) is not tuple and not isinstance(v, texts.Text))
    return any(children(v) is not None for v in containers) or any(
        isinstance(leaf, set | np.ndarray) for leaf in leaves(held)
    )


def quotes_of(error: BaseException) -> bool:
    """Whether the message of an exception quotes run-time values."""
    held = [_read(value) for value in (*error.args, *vars(error).values())]
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves(held))


def spell(error: BaseException) -> None:
    """Give an exception its texts: those of f-strings with run-time values have only left marks."""
    if quotes_of(error):
        error.args = tuple(map(_read, error.args))
        vars(error).update({name: _read(value) for name, value in vars(error).items()})


def _read(argument: Any) -> Any:
    """An argument of an exception; the message may quote run-time values."""
    if isinstance(argument, str) and _stack.scopes:
        return texts.read(argument, _stack.scopes[0].quotes)
    return argument


class Failures:
    """The failures of one compiled function, numbered from 1 in the order they were found."""

    def __init__(self) -> None:
        #: and of the values that their messages quote, which of them are Python numbers
        self.all: list[tuple[Failure, list[bool]]] = []
        #: some failures come by a callback, because they happen inside a transformation
        self.calls_back = False
        #: those that came, with the place of each in the program
        self.told: list[tuple[int, BaseException]] = []
        self._places = 0
        #: something is printed inside a transformation
        self.prints_inside = False

    def expect_callback(self) -> int:
        """A failure may come by a callback; what number its place has among such places."""
        if self.prints_inside:
            refuse_print_after_callback()
        self.calls_back = True
        self._places += 1
        return self._places

    def raise_first_told(self) -> None:
        """Raise what came by callbacks, if something did: what the program would meet first."""
        if self.told:
            _, error = min(self.told, key=lambda one: one[0])
            self.told.clear()
            raise error

    def is_overflow(self, number: int) -> bool:
        return self.all[number - 1][0].kind is IntegerOverflow

    def is_of_the_graph(self, number: int) -> bool:
        """Whether it is no failure of the program: with its numbers as constants it may run."""
        return issubclass(self.all[number - 1][0].kind, RunTimeError)

    def add(self, failure: Failure, weak: list[bool]) -> int:
        for n, (known, known_weak) in enumerate(self.all):
            same = known.kind is failure.kind and known.site == failure.site
            same = same and _same_cause(known.cause, failure.cause)
            if same and known.args == failure.args and known_weak == weak:
                return n + 1
        self.all.append((failure, weak))
        return len(self.all)


def _same_cause(one: Any, other: Any) -> bool:
    both = isinstance(one, Failure) and isinstance(other, Failure)
    return one == other if both else type(one) is type(other)


class Scope:
    """Channels of one region, or of a try block inside one."""

    def __init__(self, failures: Failures, watch: Any = None, observed: bool = False):
        self.failures = failures
        self.watch = watch
        #: a handler can see what was written before a failure
        self.observed = observed
        #: it is the scope of a `try`
        self.catches = False
        #: it is the scope of a whole static function: who calls that sees what it wrote
        self.is_whole = False
        #: the graph that this scope belongs to and those around it; values of an inner one must
        #: not get into it
        with take_current_trace() as graph:
            self.graphs = [graph]
        while getattr(self.graphs[-1], "parent_trace", None) is not None:
            self.graphs.append(self.graphs[-1].parent_trace)
        if _stack.scopes:
            self.graphs += _stack.scopes[-1].graphs
        self.code: Any = None
        self.payload: dict[int, list[Any]] = {}
        self.numbers: set[int] = set()
        self.snapshots: list[tuple[Any, dict[tuple[int, Any], tuple[Slot, Any]]]] = []
        self.quotes: dict[int, Text] = {}
        #: containers that were joined: in place, a change of one could be one of another, too
        self.joined: list[Watch] = []

    def merge(self, code: Any, payload: dict[int, list[Any]], numbers: set[int]) -> None:
        """A failure may have happened just now; one that happened earlier stays the first."""
        if OFF in settings.checks() and self._is_unwanted(numbers):
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
        return any(value._trace is graph for graph in self.graphs)

    def fail_at_last(self) -> None:
        """What ran here did not come to its end; the code says why, if it could get out."""
        if self.code is None:
            self.fail(RuntimeError("a function failed inside a jax transformation"))

    def fail(self, error: BaseException) -> None:
        """Record an exception that ended the Python code of this region."""
        number, values = self.number_of(error)
        self.merge(number, {number: values} if values else {}, {number})

    def number_of(self, error: BaseException) -> tuple[int, list[Any]]:
        """The number of a failure, and the run-time values that its message quotes."""
        values: list[Any] = []
        failure = _failure(error, values)
        weak = texts.are_numbers(values)
        return self.failures.add(failure, weak), [jnp.asarray(value) for value in values]


def _failure(error: BaseException, values: list[Any]) -> Failure:
    """A failure like an exception, whose run-time values are added to a list."""
    # numbered anew, so that every trace of the place gives the same failure
    args = tuple(texts.taken(_as_it_is_now(_read(a)), values) for a in error.args)
    attributes = {
        k: texts.taken(_as_it_is_now(_read(v)), values)
        for k, v in vars(error).items()
        if not k.startswith("__")
    }
    cause: Any = error.__cause__
    if cause is not None and hides_tracers(cause):
        cause = _failure(cause, values)
    return Failure(
        *(type(error), args, where(error), cause, attributes), error.__suppress_context__
    )


class _Stack(threading.local):
    def __init__(self) -> None:
        self.scopes: list[Scope] = []
        self.watches: list[Watch] = []
        self.loops = 0
        self.far = 0
        self.exact = False
        self.failures = 0
        self.trials = 0
        self.positions: list[tuple[Any, tuple[int, int] | None]] = []
        #: what is known of loops in the graph that is being built (see `memory`)
        self.memories: dict[Any, Any] | None = None


_stack = _Stack()


def current() -> Scope | None:
    return _stack.scopes[-1] if _stack.scopes else None


def count_failures() -> int:
    """How many failures at run time were found so far; it grows, and means nothing else."""
    return _stack.failures


def root() -> Scope:
    """The scope of the whole function that is being traced."""
    return _stack.scopes[0]


def watches() -> list[Watch]:
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
        yield
    finally:
        _stack.trials -= 1
        _stack.failures = failures  # what fails in a trial alone does not fail


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
    scope: Scope, watch: Watch | None = None, carries: bool = False, far: bool = False
) -> Iterator[Scope]:
    _stack.scopes.append(scope)
    _stack.loops += carries
    _stack.far += far
    try:
        with watched(watch) if watch is not None else nullcontext():
            yield scope
    finally:
        _stack.scopes.pop()
        _stack.loops -= carries
        _stack.far -= far


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    _stack.watches.append(watch)
    Watching.change(1)
    try:
        yield
    finally:
        _stack.watches.pop()
        Watching.change(-1)


@contextmanager
def set_aside(exact: bool) -> Iterator[None]:
    """No scope and no watch inside: for code that is traced on its own account."""
    before = _stack.scopes, _stack.watches, _stack.loops, _stack.exact
    memories, _stack.memories = _stack.memories, {}
    _stack.scopes, _stack.watches, _stack.loops, _stack.exact = [], [], 0, exact
    try:
        with with_twins(None):
            yield
    finally:
        _stack.scopes, _stack.watches, _stack.loops, _stack.exact = before
        _stack.memories = memories


def twins() -> Any:
    """The copies that the function being traced works on, in place of what is outside."""
    return inside.twins


@contextmanager
def with_twins(twins: Any) -> Iterator[None]:
    before, inside.twins = inside.twins, twins
    try:
        yield
    finally:
        inside.twins = before


def joined(containers: list[Any]) -> None:
    """Of these lists, dicts and objects, some stand for others now, which other names may have.

    A change in place of one would have to be one of the other, or not, as a run-time value
    wills: it is refused when the function ends.
    """
    if not _stack.scopes and containers:
        kind = type(containers[0]).__name__
        raise StagingError(
            f"a {kind} that other names may have, too, is replaced or not as a run-time value "
            "wills; outside a static function nobody could see a change of it",
            code="D2S024",
            site=where(),
            fix=f"d2s.to_static around the function, or a new {kind} on every way",
        )
    if containers:
        _stack.scopes[0].joined += [Watch(container) for container in containers]


def seen_after_failure(scope: Scope | None = None) -> Watch:
    """All that somebody can get to who sees what was written before a failure.

    Those are handlers and whoever calls a static function. `scope` tells what they could get to
    at the time of a failure, too.
    """
    held = Watch()
    inner = [] if scope is None or scope in _stack.scopes else [scope]
    for observer in (*_stack.scopes, *inner):
        if observer.observed and (observer.catches or observer.is_whole):
            for slot in observer.watch.places():
                held.add(slot.holder)
                held.add(slot.get())
    for _, values in scope.snapshots if scope is not None else ():
        for slot, value in values.values():
            if held.knows(slot.holder):
                held.add(value)
    return held


def is_any_observed(owners: list[Any]) -> bool:
    """Whether somebody who sees what was written before a failure can get to one of these."""
    held = seen_after_failure() if owners else Watch()
    return any(held.knows(owner) for owner in owners)


def begin() -> None:
    """A staged block begins: outside of all others, what was changed before is of no interest."""
    if not _stack.watches:
        changes.clear()


def change_of(owner: Any) -> Site:
    """The line that changed something last, if a method did it; else the one that is running."""
    return changes.get(id(owner)) or where()


def refuse_aliases(scope: Scope, name: str) -> None:
    """Refuse changes in place of what was joined."""
    for watch in scope.joined:
        for owner, _ in watch.changed():
            raise StagingError(
                f"{name} changes {watch.label(owner)} in place that came out of, or went into, a "
                "branch or loop on a run-time value; who else sees the change cannot be known",
                code="D2S024",
                site=changes.get(id(owner)),
                fix="a new list, dict or object instead of the change in place",
            )


def report(code: Any, payload: dict[int, list[Any]], numbers: set[int], failures: Failures) -> None:
    """Hand a possible failure to the scope around, else to the host by a callback."""
    scope = current()
    quoted = [value for values in payload.values() for value in values]
    if scope is not None and all(map(scope.holds, (code, *quoted))):
        if scope.failures is not failures:
            # a static function inside another: its numbers go on after ours
            offset = {n: scope.failures.add(*failures.all[n - 1]) for n in numbers}
            table = np.zeros(max(offset) + 1, np.int32)
            for old, new in offset.items():
                table[old] = new
            code = jnp.asarray(table)[code]
            payload = {offset[n]: values for n, values in payload.items()}
            numbers = set(offset.values())
        scope.merge(code, payload, numbers)
        return
    _stack.failures += 1
    for earlier in [s.code for s in _stack.scopes if s.code is not None]:
        code = jnp.where(earlier == 0, code, 0)
    told = None
    if scope is not None:
        place, to = scope.failures.expect_callback(), scope.failures.told

        def told(error: BaseException) -> None:
            to.append((place, error))

    jax.debug.callback(_Raiser(failures, sorted(payload), told), code, *payload.values())


def refuse_print_after_callback() -> None:
    """Nobody could keep back what is printed after such a failure."""
    raise StagingError(
        "print and an exception that may be raised inside a jax transformation: what comes after "
        "the exception would be printed all the same",
        code="D2S023",
        site=where(),
        fix="the check outside of the function that jax transforms, or jax.debug.print(...)",
    )


class _Raiser:
    """Tells a static function around it of the failure; raises where there is none."""

    def __init__(
        self,
        failures: Failures,
        order: list[int],
        told: Callable[[BaseException], None] | None,
    ) -> None:
        self.failures, self.order, self.told = failures, order, told

    def __call__(self, code: Any, *payload: Any) -> None:
        try:
            check(int(code), dict(zip(self.order, payload, strict=True)), self.failures)
        except Exception as error:
            if self.told is None:
                raise
            self.told(error)


def check(code: int, payload: dict[int, list[Any]], failures: Failures) -> None:
    """Raise the failure of a code, at the user's line."""
    if code == 0:
        return
    failure, weak = failures.all[code - 1]
    values = payload.get(code, [])
    quotes = [texts.shown(value, is_number) for value, is_number in zip(values, weak, strict=True)]
    raise_at(failure.make(quotes), failure.site)


def raise_at(error: BaseException, site: Site) -> None:
    """Raise an exception from a frame that shows the user's file, function and line."""
    tree = ast.parse("raise error")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = site.line
            node.col_offset, node.end_col_offset = site.column, max(site.end_column, site.column)
    code = compile(tree, site.filename, "exec")
    exec(code.replace(co_name=site.function, co_qualname=site.function), {"error": error})


#: the module that runs the commands of d2s
COMMANDS = "d2s.cli"


def where(error: BaseException | None = None) -> Site:
    """The user's line an exception came from, or the one that is running now."""
    return place(error)[0]


def place(error: BaseException | None = None) -> tuple[Site, types.CodeType | None]:
    """The same, and the code that the line belongs to."""
    found: tuple[types.CodeType, int, int] | None = None
    traceback = error.__traceback__ if error is not None else None
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            found = traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next
    if found is None:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and not is_user_code(frame.f_code):
            # whoever started the command line is no user's code
            frame = None if frame.f_globals.get("__name__") == COMMANDS else frame.f_back
        if frame is None:
            return Site(UNKNOWN, 1, UNKNOWN), None
        found = frame.f_code, frame.f_lineno, frame.f_lasti
    return site_of(*found), found[0]


def in_user_code() -> bool:
    """Whether converted code of the user's is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not is_made_code(frame.f_code):
        frame = frame.f_back
    return frame is not None


def is_user_code(code: types.CodeType) -> bool:
    return not is_library_file(code.co_filename)


def overflow(site: Site) -> IntegerOverflow:
    return IntegerOverflow(
        "a Python integer left the range of the graph's 32-bit integers",
        site=site,
        fix="set jax_enable_x64, or pass the number as a static (hashable) value",
    )
