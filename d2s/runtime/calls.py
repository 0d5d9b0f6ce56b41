"""Which function runs where the user calls one: converted code, an engine's, or as it is.

``g(x)`` is ``d2s.fn(g)(x)`` in generated code. `fn` looks at what `g` is:

- a function or a method of the user's: its converted code,
- a builtin while a graph is built: what the engine has in its place,
- code of a library: the function itself, called with converted functions where it calls functions
  (``jax.vmap(g)``, ``sorted(key=g)``).
"""

from __future__ import annotations

import builtins
import functools
import types
import weakref
from collections.abc import Callable
from typing import Any

from d2s import conversion
from d2s.errors import ConversionError
from d2s.libraries import called_argument, takes_functions
from d2s.recursion import deep
from d2s.runtime import frames
from d2s.runtime.engines import RegionsInProgress, active

_PYTHON = types.FunctionType
_METHOD = types.MethodType
_BUILTIN = types.BuiltinFunctionType


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
        return frames.counting_users_frames(function)
    return _object(function)


def call(function: Any, *args: Any) -> Any:
    """Call a function as the user's code would."""
    return fn(function)(*args)


def _python(function: types.FunctionType) -> Any:
    if conversion.BOUND not in function.__dict__:
        if conversion.is_made_by_d2s(function):
            return _prepared(lambda: function, function)
        if conversion.runs_as_it_is(function):
            return _as_it_is(function)
    known = conversion.bound(function)
    if known.is_leaf and not RegionsInProgress.count:
        return known.made
    return known.caller or _caller(function, known)


def _caller(function: types.FunctionType, known: conversion.ConvertedFunction) -> Any:
    # the function has `known` in its attributes: a reference back would keep both alive forever
    known.caller = _prepared(weakref.ref(function), known.made)
    return known.caller


def _prepared(function: Callable[[], Any], made: types.FunctionType) -> Any:
    """A converted function that may call others of the user's.

    Python's own errors ("f() takes 1 positional argument") quote its qualified name.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        run = made
        if RegionsInProgress.count:
            # the function itself may have been dropped since `fn` was asked for it
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
    if (kind is type or _is_pythons_builtin(function)) and active().staging():
        return functools.partial(_call_builtin, function)
    return _as_it_is(function)


def _is_pythons_builtin(function: Any) -> bool:
    """Whether a builtin is one of the module `builtins`, or a method of an object (`l.append`).

    Those of other modules have their module in `__self__`, and those of extensions may have None.
    """
    if type(function) is not _BUILTIN:
        return False
    home = function.__self__
    return home is builtins or not (home is None or isinstance(home, types.ModuleType))


def _super(*args: Any) -> Any:
    """`super` under another name: conversion has not written out what it looks for in its frame."""
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
        # code that is not converted cannot take a text whose letters are not known yet
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
    """Call code that is not converted, a library's say; the functions that it calls are."""
    backend = active()
    called, given = function, args
    args, kwargs = _converted_arguments(function, args, kwargs)
    if backend.staging():
        backend.leave(function, (*args, *kwargs.values()))
        called = backend.around(function, converted)
    result = _cross(function, lambda: called(*args, **kwargs), (args, kwargs), is_python=False)
    if called is not function or args is not given or getattr(function, "__closure__", None):
        backend.returned()
    return frames.made_by_user(result)


def _cross(function: Any, call: Callable[[], Any], values: Any, is_python: bool = True) -> Any:
    """Call code that is not converted: every such call goes through here.

    It may raise an exception only because it met what stands for a run-time value in a graph. Plain
    Python would not have raised that, so the engine is asked for an error to raise instead.
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
    """A function that Python's own code calls, `key` of `sorted` say; it may be a builtin."""
    if value is None or type(value) in (_PYTHON, _METHOD) or not active().staging():
        return _converted_function(value)
    return fn(value)


def converted(value: Any) -> Any:
    """A function that library code is handed, converted; anything else as it is."""
    kind = type(value)
    if kind in (list, tuple):
        # `lax.switch` and others take a list of functions
        changed = [_converted_function(item) for item in value]
        return value if all(a is b for a, b in zip(changed, value, strict=True)) else kind(changed)
    return _converted_function(value)


#: builtins that make the text of a value: what stands for a run-time value has no such text
_TEXTS = (print, str, repr, ascii, format)


def _converted_function(value: Any) -> Any:
    kind = type(value)
    if kind is _PYTHON:
        if conversion.is_made_by_d2s(value) or conversion.runs_as_it_is(value):
            return value
        made = conversion.converted(value)
        return active().enter(value, made) if RegionsInProgress.count else made
    if kind is _METHOD and type(value.__func__) is _PYTHON:
        function = _converted_function(value.__func__)
        return value if function is value.__func__ else _METHOD(function, value.__self__)
    if (kind is _BUILTIN or kind is type) and value in _TEXTS and active().staging():
        return functools.partial(_call_builtin, value)
    if kind is functools.partial and type(value.func) is _PYTHON:
        return functools.partial(_converted_function(value.func), *value.args, **value.keywords)
    return value
