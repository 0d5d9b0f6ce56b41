"""`try` and `with` around code that may fail at run time: handlers branch on the error code.

    try:                        code = 0, or the number of the failure in g(x) that came first
        y = g(x)        =>      y = lax.cond(code is one of the ValueErrors, handler, go on)
    except ValueError:
        y = 0

The body runs in a scope of its own, which collects its failures. What shared names held when it
failed is kept beside what they hold otherwise: the handler begins with the former. An exception
that is raised for sure while the graph is built is Python's own, and its handler simply runs.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import io
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp

from d2s.backends.lax.control import notes
from d2s.backends.lax.control.branches import cond
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.after_failure import at_failure, select
from d2s.backends.lax.failures.whose import Escaped, NotInGraph, is_internal, is_raised_by_user
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.origins import PYTHON_KINDS
from d2s.backends.lax.forms.widths import Wide
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Halt, Scope
from d2s.backends.lax.jaxprs.ranges.wraps import Unchecked
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.output.building import NeedsTicket
from d2s.backends.lax.reach.mentions import may_print
from d2s.backends.lax.reach.reach import Restart
from d2s.backends.lax.regions.regions import failures, is_traced, scalar_predicate
from d2s.backends.lax.semantics.casts import weak
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.backends.python import handler_of
from d2s.conversion import is_generated_name
from d2s.errors import Error, Site, StagingError
from d2s.libraries import is_d2s_class, is_library_file
from d2s.runtime.protocol import Handler, Thunk

_NOTHING_FAILS = "nothing in it fails at run time"
_MAY_FAIL = "what it does may fail at run time"


def try_except(body: Thunk, handlers: tuple[Handler, ...], orelse: Thunk | None) -> None:
    watch = Snapshot(body, orelse, *(handler for _, handler in handlers))
    scope = Scope(failures(), watch, observed=True)
    scope.catches = True
    ended = False
    try:
        with scopes.entered(scope):
            body()
    except Halt:
        ended = True
    except BaseException as error:
        if is_internal(error) or not is_raised_by_user(error):
            raise
        if scope.code is None:
            handler = _handler_of(type(error), handlers)
            if handler is None:
                raise
            notes.note("Python", f"it surely raises {type(error).__name__}, which is caught")
            failing.spell(error)
            handler(error)
            return
        with scopes.entered(scope):
            failing.fail(scope, error)
        ended = True
    if scope.code is None:
        notes.note("Python", _NOTHING_FAILS)
        if orelse is not None:
            orelse()
        return
    notes.note("error code", _MAY_FAIL)
    found = {n: _handler_of(scope.failures.all[n - 1][0].kind, handlers) for n in scope.numbers}
    outer = scopes.current()
    is_seen = any(found.values()) or (outer is not None and outer.observed)
    written = _written_before_failure(scope, watch) if is_seen else []
    _handle(scope, written, found, orelse, ended)


def try_finally(body: Thunk, final: Thunk) -> None:
    watch = Snapshot(body, final)
    scope = Scope(failures(), watch, observed=True)
    scope.catches = True
    certain: BaseException | None = None
    ended = False
    try:
        with scopes.entered(scope):
            body()
    except Halt:
        ended = True
    except BaseException as error:
        if is_internal(error) or not is_raised_by_user(error):
            raise
        certain, ended = error, True
    if scope.code is None and certain is None:
        notes.note("Python", _NOTHING_FAILS)
        final()
        return
    notes.note("error code", _MAY_FAIL)
    if certain is not None and scope.code is not None:
        with scopes.entered(scope):
            failing.fail(scope, certain)
    written = [] if scope.code is None else _written_before_failure(scope, watch)
    shown = [select(scope.code != 0, then, now) for _, now, then in written]
    for (slot, _, _), value in zip(written, shown, strict=True):
        slot.set(value)
    left, replaced = _finish(final, certain)
    if certain is not None and scope.code is None:
        if not is_traced(left):
            if left:
                return
            raise certain
        with scopes.entered(scope):
            failing.fail(scope, certain)
    code = scope.code
    if is_traced(left) or left:
        code = jnp.where(scalar_predicate(jnp.asarray(left)), 0, code)
    if replaced is not None:
        code = jnp.where(replaced == 0, code, 0)  # a failure of the `finally` comes instead
    failing.report(code, scope.payload, scope.numbers, scope.failures)
    goes_on = is_traced(left) or bool(left)
    for (slot, now, _), value in zip(written, shown, strict=True):
        if not goes_on and slot.get() is value:
            slot.set(now)  # the `finally` left it alone, and what follows runs without a failure
    if ended and not goes_on:
        raise Halt


def _finish(final: Thunk, error: BaseException | None) -> tuple[Any, Any]:
    """Run a `finally`: whether it left, and the code of a failure of its own."""
    watch = Snapshot(final)
    scope = Scope(failures(), watch, observed=True)
    scope.catches = True
    left, halted = None, False
    with scopes.entered(scope):
        try:
            if error is None:
                left = final()
            else:
                try:
                    raise error
                except BaseException:
                    left = final()
        except Halt:
            halted = True
        except BaseException as failed:
            if scope.code is None or is_internal(failed) or not is_raised_by_user(failed):
                raise
            failing.fail(scope, failed)  # it comes only where nothing failed before it
            halted = True
    if scope.code is not None:
        written = _written_before_failure(scope, watch)
        for slot, now, then in written:
            slot.set(select(scope.code != 0, then, now))
        failing.report(scope.code, scope.payload, scope.numbers, scope.failures)
        for slot, now, _ in written:
            slot.set(now)
    if halted:
        raise Halt
    return left, scope.code


class Manager:
    """The manager of a `with` in a graph: it runs while the graph is built, once for all calls.

    It is not there any more when something fails at run time. So a body that may fail is refused,
    unless leaving by an exception and leaving at the end are the same to the manager.
    """

    def __init__(self, context: Any, call: Callable[..., Any]) -> None:
        kind = type(context)
        self._context, self._call = context, call
        self._enter, self._exit = kind.__enter__, kind.__exit__
        notes.note("Python", "the manager is entered and left while the graph is built")

    def __enter__(self) -> Any:
        self._failures = scopes.count_failures()
        return self._call(self._enter, self._context)

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> Any:
        may_have_failed = scopes.count_failures() != self._failures
        if may_have_failed and not _ignores_failures(self._context):
            refuse_failures(f"the `with` of {_shown(self._context)}")
        if kind is Halt:
            kind = error = traceback = None
        leave = functools.partial(self._call, self._exit, self._context, kind, error, traceback)
        swallows = self._without_effect(leave) if may_have_failed else leave()
        # what it returns is asked for its truth only if there is an exception to swallow
        return kind is not None and not _is_of_d2s(error) and swallows

    def _without_effect(self, leave: Callable[[], Any]) -> Any:
        """Leave, and refuse a manager that does something then.

        After a failure at run time it would not happen: nobody leaves the manager again.
        """
        watch = Snapshot(self._exit, self._context)
        try:
            left = leave()
        except Exception as error:
            if is_internal(error):
                raise
            refuse_failures(f"the `with` of {_shown(self._context)}")
        if may_print(self._exit) or not watch.is_unchanged():
            refuse_failures(f"the `with` of {_shown(self._context)}")
        return left


@contextmanager
def certain(what: str) -> Iterator[None]:
    before = scopes.count_failures()
    notes.note("Python", _NOTHING_FAILS)
    yield
    if scopes.count_failures() != before:
        refuse_failures(what)


def refuse_failures(what: str) -> None:
    raise StagingError(
        f"{what} would have to see an exception that depends on a run-time value",
        code="D2S027",
        site=sites.where(),
        fix="`try`/`except` or `try`/`finally`, which become part of the graph",
    )


#: what d2s raises through the code of the user's, besides what `is_internal` knows
_OF_D2S = (Error, Restart, NeedsTicket, Escaped, NotInGraph, Unchecked, Wide)


def _is_of_d2s(error: BaseException) -> bool:
    """Whether an exception is about the graph that is built, and none of the program's."""
    return is_internal(error) or is_d2s_class(type(error))


def _shown(context: Any) -> str:
    kind = type(context)
    return f"{kind.__module__}.{kind.__qualname__}"


def _ignores_failures(context: Any) -> bool:
    """Whether leaving by an exception and leaving at the end are the same to a manager."""
    leave = type(context).__exit__
    if not isinstance(leave, types.FunctionType):
        return any(type(context) is kind for kind in (*_LOCKS, *vars(io).values()))
    if is_library_file(leave.__code__.co_filename):
        return type(context) is contextlib.nullcontext or not _hands_on(type(context))
    # Whether a parameter is read, and whether something is returned, is in the bytecode alone: the
    # syntax tree would say it too, but not every function has one.
    code = leave.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    count += bool(code.co_flags & inspect.CO_VARARGS) + bool(code.co_flags & inspect.CO_VARKEYWORDS)
    asked = set(code.co_varnames[1:count]) | set(code.co_cellvars)
    before: Any = None
    for instruction in dis.get_instructions(code):
        argument = instruction.argval
        names = argument if isinstance(argument, tuple) else (argument,)
        if "LOAD_FAST" in instruction.opname and asked.intersection(names):
            return False
        if instruction.opname == "RETURN_VALUE" and before not in (None, False):
            return False
        if instruction.opname == "RETURN_CONST" and argument:
            return False
        before = argument if instruction.opname == "LOAD_CONST" else instruction.opname
    return True


#: a lock, like a file, does the same however it is left
_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def _hands_on(kind: type) -> bool:
    """Whether a manager of the standard library swallows exceptions, or hands them to other code.

    Those of `contextlib` and `unittest.case` do; a program that has one has imported its module.
    """
    modules = (sys.modules.get(name) for name in ("contextlib", "unittest.case"))
    return any(kind is one for module in modules if module for one in vars(module).values())


def _handler_of(kind: type[BaseException], handlers: tuple[Handler, ...]) -> Any:
    return None if issubclass(kind, Error) else handler_of(kind, handlers)


def _written_before_failure(scope: Scope, watch: Snapshot) -> list[tuple[Slot, Any, Any]]:
    """The slots that the body wrote: what each holds if the body completed, and if it failed."""
    found = []
    grown = [slot for slot in watch.changed_slots() if slot.key is WHOLE]
    owners = {slot.identity[0] for slot in grown}
    for slot in (*(s for s in watch.filled_slots() if s.identity[0] not in owners), *grown):
        now = slot.get()
        then = at_failure(scope, slot, now)
        if then is not now:
            found.append((slot, now, then))
    return found


def _handle(
    scope: Scope,
    written: list[tuple[Slot, Any, Any]],
    found: dict[int, Any],
    orelse: Thunk | None,
    ended: bool,
) -> None:
    code = scope.code
    caught = sorted(n for n, handler in found.items() if handler is not None)
    missed = sorted(n for n, handler in found.items() if handler is None)
    if missed:
        left = jnp.where(_is_one_of(code, missed), code, 0)
        payload = {n: scope.payload[n] for n in missed if n in scope.payload}
        outer = scopes.current()
        seen = written if outer is not None and outer.observed else []
        for slot, now, then in seen:
            slot.set(select(code != 0, then, now))
        failing.report(left, payload, set(missed), scope.failures)
        for slot, now, _ in seen:
            slot.set(now)
    if not caught:
        if ended:
            raise Halt
        if orelse is not None:
            cond(code == 0, orelse, _failed_before, ())
        return

    def run(numbers: list[int]) -> None:
        first, rest = numbers[0], numbers[1:]
        if not rest:
            _call(scope, first, found[first])
        else:
            cond(code == first, lambda: run([first]), lambda: run(rest), ())

    def fine() -> None:
        if ended:
            _failed_before()  # the body has no end but a failure
        if orelse is not None:
            cond(code == 0, orelse, _failed_before, ()) if missed else orelse()

    def failed() -> None:
        for slot, _, then in written:
            slot.set(then)
        run(caught)

    cond(_is_one_of(code, caught), failed, fine, ())


def _failed_before() -> None:
    raise Halt  # the code tells of the failure, and nothing runs after it


def _is_one_of(code: Any, numbers: list[int]) -> Any:
    return jnp.any(code == jnp.asarray(numbers, jnp.int32))


def _call(scope: Scope, number: int, handler: Any) -> None:
    failure, weak = scope.failures.all[number - 1]
    if failure.shows_containers():
        _refuse_naming(handler, failure.site)
    pairs = zip(scope.payload.get(number, []), weak, strict=True)
    made = failure.make([_weak(v) if is_number else v for v, is_number in pairs])
    context = made.__context__
    try:
        raise made
    except BaseException as error:
        error.__context__ = context  # what was handled then, and not what is handled here
        handler(error)


def _weak(number: Any) -> Any:
    """A Python number again, as it was when it was raised."""
    return weak(number, PYTHON_KINDS[number.dtype.kind])


def _refuse_naming(handler: Any, site: Site) -> None:
    """Refuse a handler that names its exception, which holds something that may have changed since.

    The exception is the parameter of the handler, whose name d2s made up if the user gave none.
    """
    name = handler.__code__.co_varnames[0]
    if not is_generated_name(handler.__code__, name):
        raise StagingError(
            f"`{name}` has a list, dict or array that may have changed before the handler runs",
            code="D2S020",
            site=site,
            fix="texts and numbers in the exception, or a handler that does not name it",
        )
