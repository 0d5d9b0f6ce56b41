"""`try`/`except` around code that may fail at run time: a handler is a branch on the error code."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from d2s.backends.lax import channels
from d2s.backends.lax.branches import cond
from d2s.backends.lax.channels import Halt, Scope
from d2s.backends.lax.regions import _at_failure, failures, is_internal, is_raised_by_user, select
from d2s.backends.lax.watch import Slot, Watch
from d2s.backends.protocol import Handler, Thunk
from d2s.backends.python import handler_of
from d2s.errors import Error, Site, StagingError


def try_except(body: Thunk, handlers: tuple[Handler, ...], orelse: Thunk | None) -> None:
    watch = Watch(body, orelse, *(handler for _, handler in handlers))
    scope = Scope(failures(), watch, observed=True)
    ended = False
    try:
        with channels.entered(scope):
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
            if channels.quotes_of(error):
                _refuse_message(handler, channels.where(error))
            handler(error)
            return
        with channels.entered(scope):
            scope.fail(error)
        ended = True
    if scope.code is None:
        if orelse is not None:
            orelse()
        return
    _handle(scope, _written_before_failure(scope, watch), handlers, orelse, ended)


def _handler_of(kind: type[BaseException], handlers: tuple[Handler, ...]) -> Any:
    return None if issubclass(kind, Error) else handler_of(kind, handlers)


def _written_before_failure(scope: Scope, watch: Watch) -> list[tuple[Slot, Any, Any]]:
    """The shared names, what they hold when the body went through, and what when it failed."""
    found = []
    for slot in watch.places():
        now = slot.get()
        then = _at_failure(scope, slot, now)
        if then is not now:
            found.append((slot, now, then))
    return found


def _handle(
    scope: Scope,
    written: list[tuple[Slot, Any, Any]],
    handlers: tuple[Handler, ...],
    orelse: Thunk | None,
    ended: bool,
) -> None:
    code = scope.code
    found = {n: _handler_of(scope.failures.all[n - 1][0].kind, handlers) for n in scope.numbers}
    caught = sorted(n for n, handler in found.items() if handler is not None)
    missed = sorted(n for n, handler in found.items() if handler is None)
    if missed:
        left = jnp.where(_is_one_of(code, missed), code, 0)
        payload = {n: scope.payload[n] for n in missed if n in scope.payload}
        for slot, now, then in written:
            slot.set(select(code != 0, then, now))
        channels.report(left, payload, set(missed), scope.failures)
        for slot, now, _ in written:
            slot.set(now)
    if not caught:
        if ended:
            raise Halt
        if orelse is not None:
            cond(code == 0, orelse, lambda: None, ())
        return

    def run(numbers: list[int]) -> None:
        first, rest = numbers[0], numbers[1:]
        if not rest:
            _call(scope, first, found[first])
        else:
            cond(code == first, lambda: run([first]), lambda: run(rest), ())

    def fine() -> None:
        if orelse is not None and not ended:
            cond(code == 0, orelse, lambda: None, ()) if missed else orelse()

    def failed() -> None:
        for slot, _, then in written:
            slot.set(then)
        run(caught)

    cond(_is_one_of(code, caught), failed, fine, ())


def _is_one_of(code: Any, numbers: list[int]) -> Any:
    return jnp.any(code == jnp.asarray(numbers, jnp.int32))


def _call(scope: Scope, number: int, handler: Any) -> None:
    failure, quotes = scope.failures.all[number - 1]
    if quotes:
        _refuse_message(handler, failure.site)
    try:
        raise failure.make([])
    except BaseException as error:
        handler(error)


def _refuse_message(handler: Any, site: Site) -> None:
    """A handler that names its exception may read a message that is not known yet."""
    name = handler.__code__.co_varnames[0]
    if not name.startswith("error_"):
        raise StagingError(
            f"`{name}` has a message with run-time values, which is not known in the handler",
            code="D2S020",
            site=site,
            fix="a message without run-time values, or a handler that does not name the exception",
        )
