"""The runtime ops that generated code calls: dispatch by value, nothing else.

Each looks at the values it gets. With plain Python values it does what Python does, at once; with
anything else it asks the engine. ::

    x = d2s.cond(x > 0, then_2, else_2, x)      x = 3           runs `then_2`
                                                x = a tracer    the engine stages both sides

Arguments are named as the fields of the syntax tree.
"""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from d2s.runtime.calls import call
from d2s.runtime.engines import active
from d2s.runtime.items import At, Ref
from d2s.runtime.on_behalf import asks_for_program
from d2s.runtime.record import Recording
from d2s.runtime.values import Maybe, Unbound
from d2s.runtime.watching import listener


def cond(test: Any, then: Callable[..., Any], orelse: Callable[..., Any], *state: Any) -> Any:
    """`if`, and the conditional expression."""
    if test is True or test is False:
        if Recording.on:
            active().decided()
        return then(*state) if test else orelse(*state)
    return active().cond(test, then, orelse, state)


def switch(
    subject: Any, cases: dict[int, Callable[..., Any]], orelse: Callable[..., Any], *state: Any
) -> Any:
    """`if`/`elif` on one integer, and `match` of integers."""
    return active().switch(subject, cases, orelse, state)


def while_loop(test: Callable[..., Any], body: Callable[..., Any], *state: Any) -> Any:
    """`while`; returns the state, bare when it is one variable."""
    state = active().while_loop(test, body, state)
    return state[0] if len(state) == 1 else state


def for_loop(
    iterable: Iterable[Any],
    body: Callable[..., Any],
    *state: Any,
    test: Callable[..., Any] | None = None,
) -> Any:
    """`for`; `test` is asked after each trip whether to go on."""
    state = active().for_loop(iterable, body, state, test)
    return state[0] if len(state) == 1 else state


def try_except(
    body: Callable[[], Any],
    *handlers: tuple[Any, Callable[[BaseException], Any]],
    orelse: Callable[[], Any] | None = None,
) -> None:
    """`try` with its handlers; what d2s or jax raises about tracing is never caught."""
    active().try_except(body, handlers, orelse)


def try_finally(body: Callable[[], Any], final: Callable[[], Any]) -> None:
    """`try` with `finally`; `final` says whether it left, which swallows an exception."""
    active().try_finally(body, final)


def manager(context: Any) -> Any:
    """The manager of a `with`; in a graph, one that knows of failures at run time."""
    backend = active()
    return backend.manager(context, call) if backend.staging() else context


def certain(what: str) -> AbstractContextManager[None]:
    """A block in which nothing may fail at run time, because `what` could not catch it."""
    backend = active()
    return backend.certain(what) if backend.staging() else nullcontext()


def and_(first: Any, *rest: Callable[[], Any]) -> Any:
    """`and`: the first operand that is false, or the last."""
    for position, thunk in enumerate(rest):
        if first is not True:
            if first is False:
                return first
            return active().and_(first, rest[position:])
        first = thunk()
    return first


def or_(first: Any, *rest: Callable[[], Any]) -> Any:
    """`or`: the first operand that is true, or the last."""
    for position, thunk in enumerate(rest):
        if first is not False:
            if first is True:
                return first
            return active().or_(first, rest[position:])
        first = thunk()
    return first


def all_(first: Any, *rest: Callable[[], Any]) -> Any:
    """`and` where only the truth of it counts, as behind `if`."""
    for position, thunk in enumerate(rest):
        if first is not True:
            first = active().truth(first)
            if first is False:
                return first
            if first is not True:
                return active().and_(first, tuple(map(_truth_of, rest[position:])))
        first = thunk()
    return first


def any_(first: Any, *rest: Callable[[], Any]) -> Any:
    """`or` where only the truth of it counts."""
    for position, thunk in enumerate(rest):
        if first is not False:
            first = active().truth(first)
            if first is True:
                return first
            if first is not False:
                return active().or_(first, tuple(map(_truth_of, rest[position:])))
        first = thunk()
    return first


def _truth_of(operand: Callable[[], Any]) -> Callable[[], Any]:
    return lambda: active().truth(operand())


def not_(operand: Any) -> Any:
    if operand is True or operand is False:
        return not operand
    return active().not_(operand)


def in_(item: Any, container: Any) -> Any:
    """`in`: whether one of several is equal may be known only at run time."""
    return active().in_(item, container)


_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "is": lambda left, right: _is(left, right),
    "is not": lambda left, right: not _is(left, right),
    "in": lambda item, container: in_(item, container),
    "not in": lambda item, container: not_(in_(item, container)),
}


def _is(left: Any, right: Any) -> bool:
    return left is right or active().is_(left, right)


def _compare_rest(left: Any, symbol: str, right: Callable[[], Any], *rest: Any) -> Any:
    return compare(left, symbol, right(), *rest)


@asks_for_program
def compare(left: Any, symbol: str, right: Any, *rest: Any) -> Any:
    """A chained comparison; operands after the second come as thunks."""
    result = _COMPARE[symbol](left, right)
    while rest:
        if result is False:
            return result
        if result is not True:
            return and_(result, functools.partial(_compare_rest, right, *rest))
        left, right = right, rest[1]()
        result, rest = _COMPARE[rest[0]](left, right), rest[2:]
    return result


def assert_(test: Any, message: Callable[[], Any] | None = None) -> None:
    """`assert`; a run-time condition is checked in the graph."""

    def fail() -> None:
        _fails(message)

    cond(test, _holds, fail)


def _holds() -> None:
    """The block of an assertion that holds; only `assert_` has it."""


def _fails(message: Callable[[], Any] | None) -> None:
    """What an assertion that does not hold does; only `assert_` has it."""
    raise AssertionError(message()) if message is not None else AssertionError


def is_assertion(then: Callable[..., Any], *_: Callable[..., Any]) -> bool:
    """Whether the blocks of a branch are those of an `assert`."""
    return then is _holds


def is_failed_assertion(code: types.CodeType | None) -> bool:
    """Whether an exception that was raised by this code is that of an `assert`."""
    return code is _fails.__code__


def unbound(name: str = "") -> Unbound:
    """The mark of a name without a value."""
    return Unbound(name)


def delete(name: str, value: Any) -> Unbound:
    """`del` of a name that has a value."""
    return Unbound(name)


def concrete(value: Any) -> Any:
    """A value that Python itself asks for its truth: it must be known while the graph is built."""
    return active().concrete(value)


def read(value: Any, free: bool = False) -> Any:
    """The value of a name that may be unbound; raises where Python would.

    `free` says that the name belongs to a function around the one that reads it.
    """
    kind = type(value)
    if kind is Unbound:
        raise value.error(free)
    if kind is Maybe:
        return active().read(value, free)
    return value


def quoted(value: Any, how: str = "") -> Any:
    """A value in an f-string: shown as it is when the graph runs."""
    return active().quoted(value, how)


def text(letters: str) -> Any:
    """An f-string outside the message of a raise or an assert."""
    return active().text(letters)


def percent(template: Any, values: Any) -> Any:
    """`%` with a text on the left."""
    return active().percent(template, values)


def observe(name: str, line: int, value: Any) -> None:
    """A watched variable has a new value."""
    tell = listener()
    if tell is not None:
        active().observe(name, line, value, tell)


def power(base: Any, exponent: Any) -> Any:
    """`**`; a negative power of a Python integer is a float."""
    backend = active()
    if backend.is_traced(exponent) or backend.is_traced(base):
        return backend.power(base, exponent)
    return base**exponent


# -- items --------------------------------------------------------------------------------------


def items(container: Any) -> Any:
    """What to subscript where the user reads an item; in a graph the index may be traced."""
    return active().items(container)


def window(lower: Any, upper: Any, size: Any) -> Any:
    """The slice ``lower:upper``, whose bounds are `size` apart."""
    return active().window(lower, upper, size)


def at(container: Any) -> At:
    """``x = d2s.at(x)[i].set(v)`` is ``x[i] = v``, and ``.add(v)`` is ``+=``."""
    return At(container)


def ref(base: Any) -> Ref:
    """``d2s.ref(o).w[i] = v`` is ``o.w[i] = v``; a new array is stored in ``o.w``."""
    return Ref(base)
