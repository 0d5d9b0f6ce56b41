"""The runtime ops that generated code calls: dispatch by value, nothing else.

Each looks at the values it gets. Plain Python values go the way of plain Python at once; anything
else is the backend's to judge. Arguments are named as the fields of the syntax tree.
"""

from __future__ import annotations

import functools
import operator
import types
import weakref
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from d2s import conversion, frames
from d2s.backends import active
from d2s.errors import ConversionError
from d2s.items import At, Ref
from d2s.libraries import called_argument, takes_functions
from d2s.observing import listener
from d2s.record import Recording
from d2s.recursion import deep
from d2s.values import Maybe, Unbound, Watching

_PYTHON = types.FunctionType
_METHOD = types.MethodType
_BUILTIN = types.BuiltinFunctionType


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
    """`for`; `test` is asked after each iteration whether to go on."""
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
    return backend.manager(context, _call) if backend.staging() else context


def certain(what: str) -> AbstractContextManager[None]:
    """A block in which nothing may fail at run time, because `what` could not see it."""
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
        raise AssertionError(message()) if message is not None else AssertionError

    cond(test, _nothing, fail)


def _nothing() -> None:
    return None


def unbound(name: str = "") -> Unbound:
    """The mark of a name without a value."""
    return Unbound(name)


def delete(name: str, value: Any) -> Unbound:
    """`del` of a name that has a value."""
    return Unbound(name)


def concrete(value: Any) -> Any:
    """A value whose truth Python asks for itself."""
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


# -- calls ----------------------------------------------------------------------------------------


def fn(function: Any) -> Any:
    """What to call where the user calls `function`: one of the user's own is converted.

    The call itself stays in the user's code, so that whoever looks at the caller finds it there.
    """
    kind = type(function)
    if kind is _PYTHON:
        return _python(function)
    if kind is _METHOD and type(function.__func__) is _PYTHON:
        target = _python(function.__func__)
        return function if target is function.__func__ else _METHOD(target, function.__self__)
    if kind is _BUILTIN and not active().staging():
        return function if function.__name__ not in frames.READERS else frames.reader(function)
    return _object(function)


def _call(function: Any, *args: Any) -> Any:
    return fn(function)(*args)


def _python(function: types.FunctionType) -> Any:
    if "__d2s_bound__" not in function.__dict__:
        if conversion.is_made_by_d2s(function):
            return _prepared(lambda: function, function)
        if conversion.runs_as_it_is(function):
            return _as_it_is(function)
    known = conversion.bound(function)
    if known.is_leaf and not Watching.count:
        return known.made
    return known.caller or _caller(function, known)


def _caller(function: types.FunctionType, known: conversion.Bound) -> Any:
    # a reference to the function itself would keep it alive for as long as itself
    known.caller = _prepared(weakref.ref(function), known.made)
    return known.caller


def _prepared(function: Callable[[], Any], made: types.FunctionType) -> Any:
    """A converted function that may call others of the user's; Python names it in its errors."""

    def call(*args: Any, **kwargs: Any) -> Any:
        run = made
        if Watching.count:
            # the function may be gone once it was asked for
            run = active().enter(function() or made, made)
        with deep:
            return run(*args, **kwargs)

    call.__qualname__, call.__module__ = made.__qualname__, made.__module__
    return call


def _object(function: Any) -> Any:
    """A builtin, a class, a callable object, or something a library made."""
    kind = type(function)
    if kind is functools.partial:
        target = fn(function.func)
        if target is function.func:
            return function
        return functools.partial(target, *function.args, **function.keywords)
    own = kind.__call__ if callable(function) else None
    if type(own) is _PYTHON and (
        conversion.is_made_by_d2s(own) or not conversion.runs_as_it_is(own)
    ):
        return _METHOD(_python(own), function)
    if function is super:
        return _super
    if isinstance(function, type) and issubclass(function, BaseException) and active().staging():
        return functools.partial(_make_exception, function)
    builtin = kind is type or (
        kind is types.BuiltinFunctionType and function.__module__ in ("builtins", None)
    )
    if builtin and active().staging():
        return functools.partial(_call_builtin, function)
    return _as_it_is(function)


def _super(*args: Any) -> Any:
    """`super` under another name: what it would look for in its frame is not there."""
    if not args:
        raise ConversionError(
            "`super` is called by another name and without arguments",
            fix="`super()` by its own name, or with the class and the object",
        )
    return super(*args)


def _make_exception(kind: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Call a class of exceptions: a constructor of the user's is converted like any function.

    It may well put run-time values into the message, or ask about them.
    """
    made_by_type = type(kind).__call__ is type.__call__
    if not made_by_type or not any(map(_can_be_converted, (kind.__new__, kind.__init__))):
        # what is not converted takes nothing but letters for a text
        args, kwargs = active().letters((args, kwargs))
        return _call_builtin(kind, *args, **kwargs)
    made = fn(kind.__new__)(kind, *args, **kwargs)
    if isinstance(made, kind):
        result = fn(type(made).__init__)(made, *args, **kwargs)
        if result is not None:
            name = type(result).__name__
            raise TypeError(f"__init__() should return None, not '{name}'")
    return made


def _can_be_converted(function: Any) -> bool:
    if type(function) is not _PYTHON:
        return False
    try:
        return conversion.is_made_by_d2s(function) or not conversion.runs_as_it_is(function)
    except ConversionError:
        return False


def _as_it_is(function: Any) -> Any:
    if active().staging() or takes_functions(function):
        return functools.partial(_call_as_it_is, function)
    return function


def _call_builtin(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    args, kwargs = _converted_arguments(function, args, kwargs)
    backend = active()
    return _cross(function, lambda: backend.builtin(function, args, kwargs), (args, kwargs))


def _call_as_it_is(function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Library code and its kin: not converted, but the functions that it calls are."""
    backend = active()
    called, given = function, args
    args, kwargs = _converted_arguments(function, args, kwargs)
    if backend.staging():
        backend.leave(function, (*args, *kwargs.values()))
        called = backend.around(function, converted)
    result = _cross(function, lambda: called(*args, **kwargs), (args, kwargs), is_python=False)
    if called is not function or args is not given or getattr(function, "__closure__", None):
        backend.returned()
    return result


def _cross(function: Any, call: Callable[[], Any], values: Any, is_python: bool = True) -> Any:
    """Call code that is not converted: every such call goes through here.

    An exception that it raises only because of what stands for a run-time value is none of the
    program's.
    """
    try:
        result = call()
        if isinstance(result, types.ModuleType) and active().staging():
            active().found(result)
        return result
    except Exception as error:
        reason = "" if is_python else conversion.why_not(function)
        better = active().unconverted(function, reason, error, values)
        if better is None:
            raise
        raise better from error


def _converted_arguments(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments, converted where they will be called; others must stay what they are."""
    if takes_functions(function):
        named = {name: converted(value) for name, value in kwargs.items()}
        changed = tuple(map(converted, args))
        same = all(a is b for a, b in zip(args, changed, strict=True))
        return (args if same else changed), named
    called = called_argument(function)
    if type(called) is int and len(args) > called:
        args = (*args[:called], _called(args[called]), *args[called + 1 :])
    if called is not None:
        names = ("key", "func")
        kwargs = {n: _called(v) if n in names else v for n, v in kwargs.items()}
    return args, kwargs


def _called(value: Any) -> Any:
    """A function that something of Python's own calls; builtins may meet run-time values there."""
    if value is None or type(value) in (_PYTHON, _METHOD) or not active().staging():
        return _converted_function(value)
    return fn(value)


def converted(value: Any) -> Any:
    """A function that library code is handed, converted; anything else as it is."""
    kind = type(value)
    if kind in (list, tuple):
        # some take a list of functions: one for each case
        changed = [_converted_function(item) for item in value]
        return value if all(a is b for a, b in zip(changed, value, strict=True)) else kind(changed)
    return _converted_function(value)


#: builtins that say what a value looks like: a run-time value must not be asked
_TEXTS = (print, str, repr, ascii, format)


def _converted_function(value: Any) -> Any:
    kind = type(value)
    if kind is _PYTHON:
        if conversion.is_made_by_d2s(value) or conversion.runs_as_it_is(value):
            return value
        made = conversion.converted(value)
        return active().enter(value, made) if Watching.count else made
    if kind is _METHOD and type(value.__func__) is _PYTHON:
        function = _converted_function(value.__func__)
        return value if function is value.__func__ else _METHOD(function, value.__self__)
    if (kind is _BUILTIN or kind is type) and value in _TEXTS and active().staging():
        return functools.partial(_call_builtin, value)
    if kind is functools.partial and type(value.func) is _PYTHON:
        return functools.partial(_converted_function(value.func), *value.args, **value.keywords)
    return value
