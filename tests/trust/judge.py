"""One program in two worlds: as plain Python, and with `f` static. All that can be seen must agree.

A program is the text of a module that defines `f`, and steps: texts that are run in that module one
after the other, calls of `f` and changes in between. Each world has a module of its own under the
same name, so that `sys.modules` and `globals()` find the right one. After each step everything is
compared: value or exception, what was printed, and what the module, its objects and its classes
hold. The static world may stop with a d2s error instead, and then must not leave a tracer behind.
"""

from __future__ import annotations

import builtins
import collections
import collections.abc
import contextlib
import functools
import io
import itertools
import json
import linecache
import math
import os
import re
import string
import sys
import tempfile
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import d2s
from d2s.report.verification import TooLong, limit

from ..fuzz.interpret import without_xla

#: of processor time, for one step
SECONDS = 20.0
#: the name of the module that a program is
NAME = "trusted"
ENDLESS = "no end in sight"
EQUAL, REFUSED, DIFFERENT, SKIPPED = "equal", "refused", "DIFFERENT", "skipped"


@dataclass(frozen=True)
class Program:
    """The text of a module with a function `f`, and what is done with it."""

    about: str
    body: str
    steps: tuple[str, ...]
    #: whether floats that are not exact are shown: a graph has them with 32 bits
    rounds: bool = False
    #: whether branches meet: an integer that meets a float may come back as the equal float
    joins: bool = True
    #: whether arrays raise: JAX's texts are not NumPy's, and only the types are compared
    arrays: bool = False
    #: whether there are 64-bit integers of NumPy's: what is computed of them wraps at 32 bits
    wide: bool = False

    def __str__(self) -> str:
        """A script that shows the difference, when `f` is made static in it."""
        return "\n".join([f"# {self.about}", self.body.strip(), *self.steps])


@dataclass(frozen=True)
class Verdict:
    """What came of one program: how it compares, with which code it was refused, and why."""

    end: str
    code: str = ""
    why: str = ""


@dataclass(frozen=True)
class Seen:
    """All that can be seen after a step."""

    value: Any
    error: str
    printed: str
    state: Any


def judge(program: Program, compiled: bool = False) -> Verdict:
    """Run a program in both worlds, the graphs by NumPy or by XLA."""
    try:
        with _library_kept():
            want = list(_world(program, lambda f: f))
    except TooLong:
        return Verdict(SKIPPED, why="plain Python is too slow")
    with contextlib.nullcontext() if compiled else without_xla([]), _library_kept():
        got = _world(program, d2s.to_static)
        for step, one in zip(("import", *program.steps), want, strict=True):
            try:
                other = next(got)
            except d2s.Error as error:
                if leak := _tracers(error):
                    return Verdict(DIFFERENT, why=f"{step}: refused, and left {leak}")
                return Verdict(REFUSED, error.code, _first_words(error))
            except TooLong:
                return Verdict(DIFFERENT, why=f"{step}: {ENDLESS}")
            if why := _difference(program, one, other):
                return Verdict(DIFFERENT, why=f"{step}: {why}")
    return Verdict(EQUAL)


_numbers = itertools.count()


def _world(program: Program, static: Callable[[Any], Any]) -> Iterator[Seen]:
    """What is seen after the module is there, and after each step."""
    # Few names in rotation: what is remembered by file name must not grow with the programs.
    filename = os.path.join(tempfile.gettempdir(), f"{NAME}_{next(_numbers) % 8}.py")
    linecache.cache[filename] = len(program.body), None, program.body.splitlines(True), filename
    module = types.ModuleType(NAME)
    module.__file__ = filename  # what comes from a file that is not installed is the user's
    space = vars(module)
    with _installed(module):
        exec(compile(program.body, filename, "exec"), space)
        space["f"] = static(space["f"])
        yield _seen(lambda: None, space)
    for step in program.steps:
        with _installed(module):
            yield _seen(_action(step, space), space)


@contextlib.contextmanager
def _installed(module: types.ModuleType) -> Iterator[None]:
    before = sys.modules.get(NAME)
    sys.modules[NAME] = module
    try:
        yield
    finally:
        if before is None:
            sys.modules.pop(NAME, None)
        else:
            sys.modules[NAME] = before


@contextlib.contextmanager
def _library_kept() -> Iterator[None]:
    """Put back what a program may replace in the standard library."""
    before = {module: dict(vars(module)) for module in (builtins, json, math, string)}
    arguments = list(sys.argv)
    try:
        yield
    finally:
        for module, held in before.items():
            vars(module).update(held)
        sys.argv[:] = arguments


def _action(step: str, space: dict[str, Any]) -> Callable[[], Any]:
    try:
        code = compile(step, "<step>", "eval")
    except SyntaxError:
        statements = compile(step, "<step>", "exec")
        return lambda: exec(statements, space)
    return lambda: eval(code, space)


def _seen(action: Callable[[], Any], space: dict[str, Any]) -> Seen:
    """Do one thing; d2s's own errors go on to the judge, with the module that they left."""
    printed, value, failed = io.StringIO(), None, ""
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with limit(SECONDS, work=True):
                value = freeze(action())
                jax.effects_barrier()
        except d2s.Error as error:
            error.left = _state(space)  # type: ignore[attr-defined]
            raise
        except Exception as error:
            failed = _told(error)
    return Seen(value, failed, _nowhere(printed.getvalue()), _state(space))


def _told(error: Exception) -> str:
    """The type and the text of an exception, which may have none when it was not made whole."""
    try:
        return f"{type(error).__name__}: {_nowhere(str(error))}"
    except Exception as broken:
        return f"{type(error).__name__} without a text: {broken}"


def _state(space: dict[str, Any]) -> dict[str, Any]:
    """What a module holds: data, and the attributes of its own classes."""
    held = {k: v for k, v in space.items() if not k.startswith("__") and k != "f"}
    modules = types.ModuleType | types.FunctionType | types.BuiltinFunctionType
    # To look at an iterator is to use it up.
    left_out = modules | collections.abc.Iterator
    return {k: freeze(v) for k, v in held.items() if not issubclass(type(v), left_out)}


def _tracers(error: Any) -> str:
    """Where a refused call has left a tracer; empty where it has not."""
    left = repr(getattr(error, "left", None))  # nothing yet, where `to_static` itself refuses
    return left if "LEAKED TRACER" in left else ""


def _first_words(error: d2s.Error) -> str:
    return str(error).split("\n")[0][:90]


# --- What is compared -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """An object by the name of its class and its parts, which say all that is compared."""

    kind: str
    parts: Any


def freeze(value: Any, around: tuple[int, ...] = ()) -> Any:
    """A copy in plain terms that later writes do not reach; types are kept by name."""
    if id(value) in around:
        return Thing("cycle", len(around) - around.index(id(value)))
    kind = type(value).__name__
    # Only what belongs to the program is looked into without end.
    around = (*around, id(value))

    def inner(part: Any) -> Any:
        return freeze(part, around)

    if kind in ("weakproxy", "weakcallableproxy"):
        return Thing(kind, None)
    if isinstance(value, weakref.ref):
        return Thing(kind, inner(value()))
    match value:
        case jax.core.Tracer():
            return Thing("LEAKED TRACER", str(value.aval))
        case jax.Array() | np.ndarray():
            return np.array(value) if value.dtype != object else Thing(kind, repr(value))
        case None | bool() | int() | float() | complex() | np.generic():
            return value if kind in PLAIN or isinstance(value, np.generic) else _named(value, inner)
        case str() | bytes():
            exact = type(value) in (str, bytes)
            return (_nowhere(value) if kind == "str" else value) if exact else _named(value, inner)
        case list() | tuple() | collections.deque() | collections.UserList():
            return Thing(kind, [*map(inner, value)])
        case collections.ChainMap() | collections.UserDict():
            held = value.maps if isinstance(value, collections.ChainMap) else [value.data]
            return Thing(kind, [*map(inner, held)])
        case dict() | types.MappingProxyType():
            return Thing(kind, [(inner(key), inner(item)) for key, item in value.items()])
        case set() | frozenset():
            return Thing(kind, sorted(map(inner, value), key=repr))
        case type() if value.__module__ == NAME:
            held = {k: v for k, v in vars(value).items() if not k.startswith("__")}
            return Thing(f"class {value.__name__}", inner(held))
        case type() | types.ModuleType():
            return Thing(kind, value.__name__)
        case BaseException():
            return Thing(kind, inner(value.args))
        case memoryview():
            return Thing(kind, value.tolist())
        case collections.abc.Iterator():
            return Thing("iterator", [*map(inner, itertools.islice(value, 20))])
        case types.CodeType() | types.FunctionType() | types.MethodType():
            return Thing("function", getattr(value, "__name__", ""))
        case _ if type(value).__module__ == NAME or isinstance(value, types.SimpleNamespace):
            return _named(value, inner)
        case functools.partial():
            return Thing(kind, [inner(value.args), inner(value.keywords)])
        case _ if callable(value):
            return Thing("function", getattr(value, "__name__", kind))
        case _:
            return Thing(kind, _nowhere(repr(value)))


PLAIN = frozenset({"NoneType", "bool", "int", "float", "complex"})


def _named(value: Any, inner: Callable[[Any], Any]) -> Thing:
    """An object of the program's own: its attributes, and what it is as a number or text."""
    try:
        held = dict(object.__getattribute__(value, "__dict__"))
    except AttributeError:
        held = {}
    for name in itertools.chain(*(_slots(c) for c in type(value).__mro__)):
        if hasattr(value, name):
            held[name] = getattr(value, name)
    base = [b(value) for b in (int, float, str, bytes) if isinstance(value, b)]
    return Thing(type(value).__name__, [inner(held), *base])


def _slots(kind: type) -> tuple[str, ...]:
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return tuple(name for name in names if name not in ("__dict__", "__weakref__"))


def _nowhere(text: str) -> str:
    """A text without addresses."""
    return re.sub(r"0x[0-9a-f]{6,}", "0x", text, flags=re.IGNORECASE)


def _difference(program: Program, want: Seen, got: Seen) -> str:
    texts = tuple(map(_numpys, (want.error, got.error))), (want.printed, got.printed)
    if program.arrays:
        texts = tuple(error.partition(":")[0] for error in texts[0]), texts[1]
    if program.rounds:
        texts = tuple(map(_rounded, texts[0])), tuple(map(_rounded, texts[1]))
    if texts[0][0] != texts[0][1]:
        return f"plain {_end(want)}, static {_end(got)}"
    if texts[1][0] != texts[1][1]:
        return f"plain printed {want.printed!r}, static {got.printed!r}"
    value = _wrapped(want.value, got.value) if program.wide else want.value
    if why := differs(value, got.value, "", program.joins):
        return f"value{why}"
    if why := differs(Thing("", want.state), Thing("", got.state), "", program.joins):
        return f"left behind{why}"
    return ""


def _numpys(error: str) -> str:
    """An error of an array with NumPy's words for JAX's: the arrays of a graph are JAX's."""
    theirs = "Only integer scalar arrays can be converted to a scalar index."
    return error.replace(theirs, theirs.replace("Only", "only").rstrip("."))


def _rounded(text: str) -> str:
    """A text with its floats as far as 32 bits surely have them, and without the sign of a zero."""
    text = re.sub(r"-?\d+\.\d*(e[-+]?\d+)?|-?\d+e[-+]?\d+|-?\d+(?=j)", _few_digits, text)
    return re.sub(r" (?=])", "", re.sub(r"\s+", " ", text))  # columns are as wide as the numbers


def _few_digits(found: re.Match[str]) -> str:
    number = float(np.float32(found[0]))
    return f"{number:.3g}" if abs(number) > 1e-5 else "0"


def _end(seen: Seen) -> str:
    return f"raises {seen.error}" if seen.error else f"gives {seen.value!r}"


def differs(want: Any, got: Any, at: str, joins: bool) -> str:
    """The first difference of two frozen values; empty when there is none."""
    if _is_number(want) and _is_number(got):
        same = _same_number(np.asarray(want), np.asarray(got), joins)
        return "" if same else _pair(want, got, at)
    if isinstance(want, Thing) and isinstance(got, Thing) and want.kind == got.kind:
        want, got, at = want.parts, got.parts, f"{at}.{want.kind}" if want.kind else at
        if _is_number(want) and _is_number(got):
            return differs(want, got, at, joins)
    if type(want) is not type(got):
        return _pair(want, got, at)
    if isinstance(want, Thing):
        return _pair(want, got, at) if want.kind != got.kind else differs(want, got, at, joins)
    if isinstance(want, dict):
        want, got = list(want.items()), list(got.items())
    if isinstance(want, list | tuple):
        if len(want) != len(got):
            return _pair(want, got, at)
        pairs = enumerate(zip(want, got, strict=True))
        return next((why for n, (a, b) in pairs if (why := differs(a, b, f"{at}[{n}]", joins))), "")
    return "" if want == got else _pair(want, got, at)


def _wrapped(want: Any, got: Any) -> Any:
    """NumPy's 64-bit integers, where a graph has 32 bits, as what is left of them there."""
    if isinstance(want, Thing) and isinstance(got, Thing):
        return Thing(want.kind, _wrapped(want.parts, got.parts))
    if isinstance(want, list | tuple) and isinstance(got, list | tuple):
        pairs = itertools.zip_longest(want, got[: len(want)])
        return type(want)([_wrapped(*pair) for pair in pairs])
    is_wide = isinstance(want, np.generic | np.ndarray) and want.dtype in (np.int64, np.uint64)
    narrow = getattr(got, "dtype", None) in (np.int32, np.uint32)
    return want.astype(got.dtype) if is_wide and narrow else want


def _pair(want: Any, got: Any, at: str) -> str:
    return f"{at}: {want!r} became {got!r}"


def _is_number(value: Any) -> bool:
    # A number that depends on a run-time value comes back as an array.
    return isinstance(value, bool | int | float | complex | np.generic | np.ndarray)


def _same_number(want: Any, got: Any, joins: bool) -> bool:
    """Shape, kind and value; floats are those of JAX, with 32 bits, or 16 where one side has 16."""
    kinds = want.dtype.kind.replace("u", "i"), got.dtype.kind.replace("u", "i")
    if joins and kinds in (("i", "f"), ("i", "c"), ("f", "c")):
        want = want.astype(np.float64 if kinds[1] == "f" else np.complex128)
        kinds = kinds[1], kinds[1]
    if want.shape != got.shape or kinds[0] != kinds[1]:
        return False
    if kinds[0] not in "fc" and not jnp.issubdtype(got.dtype, jnp.floating):
        return bool(np.array_equal(want, got))
    narrow = np.complex64 if kinds[0] == "c" else np.float32
    rtol = 2e-3 if 2 in (want.itemsize, got.itemsize) else 2e-5
    with np.errstate(all="ignore"):
        a, b = np.asarray(want).astype(narrow), np.asarray(got).astype(narrow)
    return bool(np.allclose(a, b, rtol=rtol, atol=1e-6, equal_nan=True))


def parses(text: str) -> bool:
    """Whether a generated text is Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compile(text, "<generated>", "exec")
    except (SyntaxError, ValueError):
        return False
    return True
