"""Converted functions: made once per code object, by any thread, and dropped with it.

What a function became is a `Conversion`, kept by the identity of the user's code object, so that
all functions made of one `def` share it. `bind` makes a function object of it that has the globals,
the defaults and the closure of the user's function::

    def f(x): ...           conversion_of(f)    the converted code and the tree behind it
                            bind(f)             a function that runs this code in the place of f
                            converted(f)        the same, with the name and the attributes of f
                            source_of(f)        its text

All code that d2s made is registered in `made_code`, with the function it is part of.
"""

from __future__ import annotations
import __future__

import ast
import functools
import gc
import inspect
import logging
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from d2s import made_code, pipeline
from d2s.errors import ConversionError, Error, Site
from d2s.libraries import is_excluded, is_library_file
from d2s.made_code import CodeRegistry
from d2s.made_code import function_around as function_around
from d2s.made_code import is_block as is_block
from d2s.made_code import is_generated_name as is_generated_name
from d2s.made_code import is_made_code as is_made_code
from d2s.made_code import is_statement_block as is_statement_block
from d2s.recursion import deep
from d2s.source import emit
from d2s.source.parser import Unit, parse, text_of

logger = logging.getLogger("d2s")

_SKIP = "__d2s_do_not_convert__"
_CONVERTED = "__d2s_converted__"
_ORIGIN = "__d2s_origin__"
#: the attribute of a function in which `bound` remembers what it gave
BOUND = "__d2s_bound__"
#: attributes that d2s keeps on functions of the user's
MARKS = (_CONVERTED, BOUND)
_MARKED = frozenset(MARKS)


_FUTURE = functools.reduce(
    lambda flags, name: flags | getattr(__future__, name).compiler_flag,
    __future__.all_feature_names,
    0,
)


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
        """Whether the code calls no function that may be the user's.

        Such a call is written ``d2s.fn(f)(x)``, where `d2s` is a name that no name of the user's
        hides.
        """
        calls = (n.func for n in ast.walk(self.tree) if isinstance(n, ast.Call))
        return not any(
            isinstance(f, ast.Attribute)
            and f.attr == "fn"
            and isinstance(f.value, ast.Name)
            and f.value.id == self.runtime
            for f in calls
        )

    @functools.cached_property
    def source(self) -> str:
        with _lock:  # the layout of long lines changes the filters of warnings for a moment
            return emit.source(self.tree, self.unit)


_lock = threading.RLock()
_conversions = CodeRegistry()  # the user's code -> its Conversion, or the error that says why none
_named = CodeRegistry()  # code of a function that d2s wrote -> the same with blocks named as `f` is
_written = CodeRegistry()  # the code of such a function with the names changed -> as it was


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
        raise known.again()
    return cast(Conversion, known)


def source_of(function: types.FunctionType) -> str:
    """The generated source of a function, converted or not."""
    if is_written(function):
        return text_of(function, _written.get(function.__code__))
    original = getattr(function, "__wrapped__", function)
    plain = original if is_made_by_d2s(function) else function
    if plain is not function and is_library_file(plain.__code__.co_filename):
        return original_source(plain)  # an object of a library, which runs as it is
    return conversion_of(plain).source + "\n"


def original_source(function: types.FunctionType) -> str:
    """The text that stands in the user's file."""
    return text_of(function, _written.get(function.__code__) or function.__code__)


def _convert(
    function: types.FunctionType, edit: Callable[[Any], None] = lambda tree: None
) -> Conversion:
    """Convert a function, whose tree may be edited before."""
    # A syntax tree has thousands of small objects. None of them is garbage yet, but their number
    # would make the garbage collector look through everything else in the process several times.
    collecting = gc.isenabled()
    gc.disable()
    try:
        with deep:
            unit = parse(function)
            edit(unit.tree)
            converted_tree, runtime, made = pipeline.run(unit, _known_names(function))
            tree = emit.to_ast(converted_tree)
            flags = function.__code__.co_flags & _FUTURE
            code = emit.code(tree, unit, runtime, function.__qualname__, flags, made)
    except RecursionError as error:
        own = function.__code__
        raise ConversionError(
            f"{function.__qualname__} is nested too deeply to convert",
            code="D2S004",
            site=Site(own.co_filename, own.co_firstlineno, function.__name__),
            fix="move inner blocks or expressions into functions of their own",
        ) from error
    finally:
        if collecting:
            gc.enable()
    made_code.register(code, names=frozenset(made))
    logger.info("converted %s (%s:%d)", unit.name, unit.filename, unit.first_line)
    made_of = Conversion(code, tree, unit, runtime)
    if logger.isEnabledFor(logging.DEBUG):
        logger.debug("%s became\n%s", unit.name, made_of.source)
    return made_of


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


def is_made_by_d2s(function: types.FunctionType) -> bool:
    return is_made_code(function.__code__)


def is_made_inside(function: types.FunctionType) -> bool:
    """Whether running converted code made the function, and no one handed it to d2s."""
    if not is_made_by_d2s(function) or is_written(function):
        return False
    return _ORIGIN not in function.__dict__


def is_written(function: types.FunctionType) -> bool:
    """Whether d2s wrote the text of the function, which now is the user's own."""
    return _written.get(function.__code__) is not None


def generated(function: types.FunctionType) -> types.FunctionType:
    """Mark a function whose text d2s wrote: it runs as it is."""
    if not isinstance(function, types.FunctionType):
        raise Error(
            f"{function!r} is not a function d2s has written",
            code="D2S001",
            fix="d2s.generated as the last decorator, right above `def`",
        )
    with _lock:
        plain = function.__code__
        if not is_made_code(plain):
            code = _named.get(plain)
            if code is None:
                code = emit.as_written(plain)
                _named.put(plain, code)
                _written.put(code, plain)
                made_code.register_written(code)
            function.__code__ = code
    return function


def made_here(function: types.FunctionType) -> types.FunctionType:
    """A function of d2s's own that runs in the place of one of the user's."""
    if not is_made_code(function.__code__):
        made_code.register(function.__code__)
    function.__dict__[_ORIGIN] = function.__code__
    return function


def why_not(function: Any) -> str:
    """Why a function is run as it is; empty when it is converted."""
    code = getattr(function, "__code__", None)
    if code is None:
        return "it is not plain Python"
    if getattr(function, _SKIP, False):
        return "it is marked with d2s.do_not_convert"
    if is_excluded(code.co_filename):
        return "d2s.exclude says so"
    if is_library_file(code.co_filename):
        return "it belongs to a library"
    if code.co_flags & RUNS_LATER:
        return "it is a generator or a coroutine"
    known = _conversions.get(code)
    if isinstance(known, ConversionError) and known.code == "D2S001":
        return "its source is not available"
    return ""


RUNS_LATER = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR

_as_is = CodeRegistry()  # code that is run as it is -> the reason


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
        if reason and not is_library_file(function.__code__.co_filename):
            _say_as_it_is(function, reason)
    return cast(str, reason)


def decide_anew() -> None:
    """Forget what was decided about functions, because other files are converted from now on.

    Graphs that were built before stay as they are.
    """
    _as_is.clear()
    for function in gc.get_objects():
        if type(function) is types.FunctionType and not _MARKED.isdisjoint(function.__dict__):
            for mark in MARKS:
                function.__dict__.pop(mark, None)


def _say_as_it_is(function: types.FunctionType, reason: str) -> None:
    code = function.__code__
    place = f"{code.co_filename}:{code.co_firstlineno}"
    logger.warning("%s runs as it is: %s (%s)", function.__qualname__, reason, place)


def runs_later(function: Any) -> bool:
    """Whether a function is a generator or a coroutine: to call it runs nothing yet."""
    code = getattr(function, "__code__", None)
    return code is not None and bool(code.co_flags & RUNS_LATER)


def skip(function: Any) -> Any:
    """Mark a function that is never converted (`d2s.do_not_convert`)."""
    try:
        setattr(function, _SKIP, True)
        vars(function).pop(BOUND, None)
    except AttributeError as error:
        raise Error(
            f"{function!r} takes no mark", code="D2S003", fix="wrap it in a function of your own"
        ) from error
    return function


@dataclass(slots=True)
class ConvertedFunction:
    """A converted function object, and what it was made from."""

    made: types.FunctionType
    code: types.CodeType
    defaults: tuple[Any, ...] | None
    kwdefaults: dict[str, Any] | None
    closure: tuple[types.CellType, ...] | None
    #: it calls no function of the user's, so it cannot be part of a recursion
    is_leaf: bool
    #: a function that runs `made` with more room for recursion, and tells the engine that builds a
    #: graph of the call; `d2s.runtime.calls` makes it when it is first needed
    caller: Any = None


def bound(function: types.FunctionType) -> ConvertedFunction:
    """`bind`, remembered with the function object until that changes."""
    known = function.__dict__.get(BOUND)
    if (
        known is None
        or known.code is not function.__code__
        or known.defaults is not function.__defaults__
        or known.kwdefaults is not function.__kwdefaults__
        or known.closure is not function.__closure__
    ):
        known = function.__dict__[BOUND] = ConvertedFunction(
            bind(function),
            function.__code__,
            function.__defaults__,
            function.__kwdefaults__,
            function.__closure__,
            conversion_of(function).is_leaf,
        )
    return cast(ConvertedFunction, known)


def bind(function: types.FunctionType) -> types.FunctionType:
    """A converted function object that shares globals, defaults and closure with the original."""
    if is_made_by_d2s(function):
        return function
    return _bind(function, conversion_of(function))


def converted_with(function: types.FunctionType, edit: Callable[[Any], None]) -> types.FunctionType:
    """A converted function whose source was edited; nobody else gets to see it."""
    with _lock:
        return _bind(function, _convert(function, edit))


def _bind(function: types.FunctionType, conversion: Conversion) -> types.FunctionType:
    code = conversion.code
    closure = None
    if code.co_freevars:
        cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        cells[conversion.runtime] = runtime_cell()
        closure = tuple(cells[name] for name in code.co_freevars)
    made = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, closure
    )
    made.__kwdefaults__ = function.__kwdefaults__
    made.__dict__[_ORIGIN] = function.__code__
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


#: The closure cell in which generated functions find `d2s`. Nobody else has it; it is filled once.
_RUNTIME = types.CellType()


def generated_code_calls(runtime: types.ModuleType) -> None:
    """Say which module generated code means by `d2s`: the package, once it is complete."""
    _RUNTIME.cell_contents = runtime


def runtime_cell() -> types.CellType:
    """The cell that holds `d2s` in the closures of all generated functions."""
    return _RUNTIME
