"""Converted functions: made once per code object, thread-safe, dropped with it."""

from __future__ import annotations

import ast
import functools
import gc
import inspect
import logging
import threading
import types
import weakref
from dataclasses import dataclass
from typing import Any, cast

from d2s import emit, pipeline
from d2s.errors import ConversionError, Error
from d2s.libraries import is_library_file
from d2s.parser import Unit, parse, text_of

logger = logging.getLogger("d2s")

_SKIP = "__d2s_do_not_convert__"
_CONVERTED = "__d2s_converted__"
_ORIGIN = "__d2s_origin__"
_BOUND = "__d2s_bound__"
#: attributes that d2s keeps on functions of the user's
MARKS = (_CONVERTED, _BOUND)


@dataclass(frozen=True)
class Conversion:
    """What a function became: the code to run and the tree behind its readable text."""

    code: types.CodeType
    tree: ast.AST
    unit: Unit
    #: the name by which the code calls d2s
    runtime: str

    @functools.cached_property
    def is_leaf(self) -> bool:
        """Whether the code calls no function that may be the user's."""
        calls = (n.func for n in ast.walk(self.tree) if isinstance(n, ast.Call))
        return not any(
            isinstance(f, ast.Attribute)
            and f.attr == "call"
            and isinstance(f.value, ast.Name)
            and f.value.id == self.runtime
            for f in calls
        )

    @functools.cached_property
    def source(self) -> str:
        return emit.source(self.tree, self.unit)


class _Registry:
    """Objects by identity of a code object; equal code objects of two files are not confused."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[types.CodeType], Any]] = {}

    def get(self, code: types.CodeType) -> Any:
        entry = self._entries.get(id(code))
        return None if entry is None else entry[1]

    def put(self, code: types.CodeType, value: object) -> None:
        key = id(code)
        self._entries[key] = (weakref.ref(code, lambda _: self._entries.pop(key, None)), value)


_lock = threading.RLock()
_conversions = _Registry()  # original code -> Conversion, or the reason why there is none
_made = _Registry()  # code that d2s made -> whether it was written into a file of the user's


def conversion_of(function: types.FunctionType) -> Conversion:
    """The conversion of a function; raises the `ConversionError` that says why there is none."""
    known = _conversions.get(function.__code__)
    if known is None:
        with _lock:
            known = _conversions.get(function.__code__)
            if known is None:
                try:
                    known = _convert(function)
                except ConversionError as error:
                    known = error
                _conversions.put(function.__code__, known)
    if isinstance(known, ConversionError):
        raise known.with_traceback(None)
    return cast(Conversion, known)


def source_of(function: types.FunctionType) -> str:
    """The generated source of a function, converted or not."""
    if is_written(function):
        return text_of(function)
    original = getattr(function, "__wrapped__", function)
    plain = original if is_made_by_d2s(function) else function
    return conversion_of(plain).source + "\n"


def _convert(function: types.FunctionType) -> Conversion:
    unit = parse(function)
    # the thousands of small objects of a syntax tree would make the collector look through
    # everything else again and again; none of them is garbage yet
    collecting = gc.isenabled()
    gc.disable()
    try:
        converted_tree, runtime = pipeline.run(unit, _known_names(function))
        tree = emit.to_ast(converted_tree)
        code = emit.code(tree, unit, runtime, function.__qualname__)
    except RecursionError as error:
        raise ConversionError(
            f"{function.__qualname__} is nested too deeply to convert",
            code="D2S004",
            site=unit.site(unit.tree),
            fix="move inner blocks into functions of their own",
        ) from error
    finally:
        if collecting:
            gc.enable()
    _register(code)
    logger.debug("converted %s (%s:%d)", unit.name, unit.filename, unit.first_line)
    return Conversion(code, tree, unit, runtime)


def _known_names(function: types.FunctionType) -> dict[str, object]:
    """Values of the names a function takes from outside, as far as they are bound now."""
    known = {}
    for name in function.__code__.co_names:
        if name in function.__globals__:
            known[name] = function.__globals__[name]
    for inner in function.__code__.co_consts:
        if isinstance(inner, types.CodeType):
            known |= {
                n: function.__globals__[n] for n in inner.co_names if n in function.__globals__
            }
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            known[name] = cell.cell_contents
        except ValueError:
            known.pop(name, None)
    return known


def _register(code: types.CodeType) -> None:
    _made.put(code, False)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            _register(constant)


def is_made_by_d2s(function: types.FunctionType) -> bool:
    return _made.get(function.__code__) is not None


def is_written(function: types.FunctionType) -> bool:
    """Whether the code was converted before and now is the user's own: it is not temporary."""
    return _made.get(function.__code__) is True


def generated(function: types.FunctionType) -> types.FunctionType:
    """Mark a function whose text d2s wrote: it runs as it is."""
    if not isinstance(function, types.FunctionType):
        raise Error(
            f"{function!r} is not a function d2s has written",
            code="D2S001",
            fix="d2s.generated as the last decorator, right above `def`",
        )
    if _made.get(function.__code__) is None:
        _register(function.__code__)
        _made.put(function.__code__, True)
    return function


def why_not(function: types.FunctionType) -> str:
    """Why a function is run as it is; empty when it is converted."""
    code = function.__code__
    if getattr(function, _SKIP, False):
        return "it is marked with d2s.do_not_convert"
    if is_library_file(code.co_filename):
        return "it belongs to a library"
    if code.co_flags & (inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR):
        return "it is a generator or a coroutine"
    known = _conversions.get(code)
    if isinstance(known, ConversionError) and known.code == "D2S001":
        return "its source is not available"
    return ""


_as_is = _Registry()  # code that is run as it is -> the reason


def runs_as_it_is(function: types.FunctionType) -> str:
    """The reason why calls leave this function alone; decided once per code object."""
    if getattr(function, _SKIP, False):
        return why_not(function)
    if is_written(function):
        return ""
    reason = _as_is.get(function.__code__)
    if reason is None:
        reason = why_not(function)
        if not reason:
            try:
                conversion_of(function)
            except ConversionError as error:
                if error.code != "D2S001":
                    raise
                reason = why_not(function)
        _as_is.put(function.__code__, reason)
    return cast(str, reason)


def skip(function: Any) -> Any:
    """Mark a function to be left alone."""
    try:
        setattr(function, _SKIP, True)
        vars(function).pop(_BOUND, None)
    except AttributeError as error:
        raise Error(
            f"{function!r} takes no mark", code="D2S003", fix="wrap it in a function of your own"
        ) from error
    return function


@dataclass(frozen=True, slots=True)
class Bound:
    """A converted function object, and what it was made from."""

    made: types.FunctionType
    code: types.CodeType
    defaults: tuple[Any, ...] | None
    kwdefaults: dict[str, Any] | None
    closure: tuple[types.CellType, ...] | None
    #: calls no function of the user's, so it cannot be part of a recursion
    is_leaf: bool


def bound(function: types.FunctionType) -> Bound:
    """`bind`, remembered with the function object until that changes."""
    known = function.__dict__.get(_BOUND)
    if (
        known is None
        or known.code is not function.__code__
        or known.defaults is not function.__defaults__
        or known.kwdefaults is not function.__kwdefaults__
        or known.closure is not function.__closure__
    ):
        known = function.__dict__[_BOUND] = Bound(
            bind(function),
            function.__code__,
            function.__defaults__,
            function.__kwdefaults__,
            function.__closure__,
            conversion_of(function).is_leaf,
        )
    return cast(Bound, known)


def bind(function: types.FunctionType) -> types.FunctionType:
    """A converted function object that shares globals, defaults and closure with the original."""
    if is_made_by_d2s(function):
        return function
    conversion = conversion_of(function)
    code = conversion.code
    closure = None
    if code.co_freevars:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[conversion.runtime] = _runtime_cell()
        closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    return made


def converted(function: types.FunctionType) -> types.FunctionType:
    """`bind`, once per function object, dressed as the original for everybody who looks at it."""
    if is_made_by_d2s(function):
        return function
    known = function.__dict__.get(_CONVERTED)
    if known is not None and _is_current(known, function):
        return cast(types.FunctionType, known)
    made = bind(function)
    attributes = {k: v for k, v in function.__dict__.items() if k not in MARKS}
    functools.update_wrapper(made, function)
    for mark in MARKS:
        made.__dict__.pop(mark, None)
    made.__dict__.update(attributes)
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__["__wrapped__"] = function
    made.__dict__[_ORIGIN] = function.__code__
    function.__dict__[_CONVERTED] = made
    return made


def _is_current(made: types.FunctionType, function: types.FunctionType) -> bool:
    """Whether a converted function still is what the original would convert to."""
    return (
        made.__dict__.get("__wrapped__") is function
        and made.__dict__.get(_ORIGIN) is function.__code__
        and made.__defaults__ is function.__defaults__
        and made.__kwdefaults__ is function.__kwdefaults__
    )


@functools.cache
def _runtime_cell() -> types.CellType:
    import d2s

    return types.CellType(d2s)
