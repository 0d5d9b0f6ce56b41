"""Run one function in every mode and compare each outcome with plain Python's.

`check(fn, *inputs)` is the one entry. A *mode* is a way to run the function:

    plain        the original function, eagerly: the oracle
    converted    `d2s.convert(fn)` on the same concrete values
    reference    `d2s.convert(fn)` under `d2s.use_backend("python")`
    static       one `d2s.to_static(fn)` object, called on every input and on the first one again

A *flavour* is what the arguments look like:

    static       Python numbers as they are written
    traced       every Python number, also inside lists, tuples and dicts, as an array
    mixed        the first argument with a number as arrays, the others as they are
"""

from __future__ import annotations

import collections.abc
import contextlib
import copy
import functools
import io
import itertools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import d2s

from ..fuzz.interpret import without_xla

FLAVOURS = ("static", "traced", "mixed")
MODES = ("converted", "reference", "static")
SHOWN = 3  # how many failures of one function are shown in full
# What plain code ends with when it needs a value that a jax transformation hides.
NOT_PLAIN = (
    "ConcretizationTypeError",
    "NonConcreteBooleanIndexError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
)


# --- Arguments -----------------------------------------------------------------------------------


def arguments(given: Any) -> tuple[Any, ...]:
    """Fresh arguments: a tuple is copied, a function is called, anything else is one argument."""
    if callable(given):
        return given()
    return copy.deepcopy(given if isinstance(given, tuple) else (given,))


def flavoured(args: tuple[Any, ...], flavour: str, keep: Iterable[int] = ()) -> tuple[Any, ...]:
    """The arguments in one flavour; those at the positions `keep` stay as they are."""
    if flavour == "static":
        return args
    free = [i for i, arg in enumerate(args) if i not in keep and has_number(arg)]
    chosen = free if flavour == "traced" else free[:1]
    return tuple(as_arrays(arg) if i in chosen else arg for i, arg in enumerate(args))


def has_number(arg: Any) -> bool:
    """Whether there is something in it that the traced flavour turns into an array."""
    if isinstance(arg, dict):
        return any(map(has_number, arg.values()))
    if isinstance(arg, list | tuple):
        return any(map(has_number, arg))
    return isinstance(arg, bool | int | float | complex)


def as_arrays(arg: Any) -> Any:
    """The same argument with an array for every Python number in it."""
    if isinstance(arg, dict):
        return type(arg)({key: as_arrays(item) for key, item in arg.items()})
    if isinstance(arg, tuple) and hasattr(arg, "_fields"):
        return type(arg)(*map(as_arrays, arg))
    if isinstance(arg, list | tuple):
        return type(arg)(map(as_arrays, arg))
    return jnp.asarray(arg) if isinstance(arg, bool | int | float | complex) else arg


def distinct_flavours(given: Any, wanted: Iterable[str], keep: Iterable[int]) -> list[str]:
    """The wanted flavours without those that give these arguments the same look again."""
    numbers = [i for i, arg in enumerate(arguments(given)) if i not in keep and has_number(arg)]
    useful = {"static": True, "traced": len(numbers) > 0, "mixed": len(numbers) > 1}
    return [flavour for flavour in wanted if useful[flavour]]


# --- Outcomes ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Thing:
    """What is compared of an object that is neither number nor container."""

    kind: str
    parts: Any


@dataclass
class Outcome:
    """Everything one call did that somebody could see."""

    value: Any = None
    stdout: str = ""
    error: str | None = None
    message: str = ""
    code: str | None = None
    args: Any = ()
    state: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        if self.error is None:
            head = f"returned {self.value!r}"
        else:
            head = f"raised {self.code or ''} {self.error}: {self.message}".replace("  ", " ")
        lines = [head]
        if self.stdout:
            lines.append(f"printed {self.stdout!r}")
        lines.append(f"arguments after the call {self.args!r}")
        if self.state:
            lines.append(f"closure and globals after the call {self.state!r}")
        return "\n".join(lines)


def freeze(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """A deep copy in plain terms: later writes do not reach it, and it can be compared."""
    if id(value) in seen:
        return Thing("cycle", len(seen) - seen.index(id(value)))
    inner = functools.partial(freeze, seen=(*seen, id(value)))
    match value:
        case jax.core.Tracer():
            return Thing("LEAKED TRACER", str(value.aval))
        case None | bool() | int() | float() | complex() | str() | bytes() | np.generic():
            return value
        case jax.Array() if jnp.issubdtype(value.dtype, jax.dtypes.prng_key):
            return Thing("key", np.array(jax.random.key_data(value)))
        case jax.Array() | np.ndarray():
            return np.array(value)
        case tuple() if hasattr(value, "_fields"):
            return Thing(type(value).__name__, tuple(map(inner, value)))
        case tuple() | list():
            items = type(value)(map(inner, value)) if type(value) in (tuple, list) else None
            return items if items is not None else Thing(type(value).__name__, [*map(inner, value)])
        case dict():
            frozen = {key: inner(item) for key, item in value.items()}
            return frozen if type(value) is dict else Thing(type(value).__name__, frozen)
        case collections.deque():
            return Thing(type(value).__name__, (value.maxlen, [*map(inner, value)]))
        case set() | frozenset() | range() | slice() | type() | types.ModuleType():
            return copy.copy(value)
        case BaseException():
            return Thing(type(value).__name__, inner(value.args))
        case collections.abc.Iterator():
            return Thing("iterator", [*map(inner, itertools.islice(value, 20))])
        case functools.partial():
            return Thing("partial", inner((value.func, value.args, value.keywords)))
        case _ if callable(value) and hasattr(value, "__name__"):
            return Thing("function", value.__name__)
        case _ if hasattr(value, "__dict__"):
            return Thing(type(value).__name__, inner(vars(value)))
        case _ if type(value).__module__ == "fractions":
            return value
        case _ if names := [n for n in getattr(value, "__slots__", ()) if hasattr(value, n)]:
            parts = {name: inner(getattr(value, name)) for name in names}
            return Thing(type(value).__name__, parts)
        case _:
            return Thing(type(value).__name__, repr(value))


def is_number(value: Any) -> bool:
    """Numbers and arrays are one kind of thing here: staged numbers come back as arrays."""
    return isinstance(value, bool | int | float | complex | np.generic | np.ndarray)


def difference(want: Any, got: Any, at: str, rtol: float, atol: float) -> str | None:
    """The first difference between two frozen values, or None."""
    if is_number(want) and is_number(got):
        return number_difference(want, got, at, rtol, atol)
    if type(want) is not type(got):
        return f"{at}: {type(want).__name__} {want!r} became {type(got).__name__} {got!r}"
    deeper = functools.partial(difference, rtol=rtol, atol=atol)
    if isinstance(want, Thing):
        if want.kind != got.kind:
            return f"{at}: {want.kind} became {got.kind}"
        return deeper(want.parts, got.parts, f"{at}.{want.kind}")
    if isinstance(want, dict):
        if list(want) != list(got):
            return f"{at}: keys {list(want)!r} became {list(got)!r}"
        pairs = ((f"{at}[{key!r}]", want[key], got[key]) for key in want)
    elif isinstance(want, tuple | list):
        if len(want) != len(got):
            return f"{at}: {len(want)} items became {len(got)}"
        pairs = ((f"{at}[{i}]", a, b) for i, (a, b) in enumerate(zip(want, got, strict=True)))
    else:
        return None if want == got else f"{at}: {want!r} became {got!r}"
    return next((text for where, a, b in pairs if (text := deeper(a, b, where))), None)


def number_difference(want: Any, got: Any, at: str, rtol: float, atol: float) -> str | None:
    """Shape, kind and value; an integer may come back as the equal float, a bool may not."""
    a, b = np.asarray(want), np.asarray(got)
    if a.shape != b.shape:
        return f"{at}: shape {a.shape} became {b.shape}"
    kinds = a.dtype.kind.replace("u", "i") + b.dtype.kind.replace("u", "i")
    if kinds[0] != kinds[1] and kinds not in ("if", "fi"):
        return f"{at}: {a.dtype} {want!r} became {b.dtype} {got!r}"
    if kinds == "ff" or "c" in kinds:
        same = np.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True)
    elif kinds in ("if", "fi"):
        same = np.allclose(a, b, rtol=1e-6, atol=0)
    else:
        same = np.array_equal(a, b)
    return None if same else f"{at}: {want!r} became {got!r}"


def outcome_difference(want: Outcome, got: Outcome, rtol: float, atol: float) -> str | None:
    """The first difference between two outcomes, or None."""
    if (want.error, want.message) != (got.error, got.message):
        return "different end"
    if want.stdout != got.stdout:
        return f"stdout: {want.stdout!r} became {got.stdout!r}"
    for name in ("value", "args", "state"):
        if text := difference(getattr(want, name), getattr(got, name), name, rtol, atol):
            return text
    return None


# --- State outside the call ----------------------------------------------------------------------


class Surroundings:
    """The closure cells and globals a function can reach by name, to be read and put back.

    Functions of the same module are followed, so a helper's own cells and globals count too.
    """

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.slots: dict[str, tuple[Any, str]] = {}
        self.module = getattr(fn, "__module__", type(fn).__module__)
        self.visit(fn, set())
        self.before = {name: self.read(name) for name in self.slots}
        memo: dict[int, Any] = {}
        self.copies = {name: copy.deepcopy(item, memo) for name, item in self.before.items()}

    def visit(self, fn: Any, seen: set[int]) -> None:
        """Collect the slots of one function and of what it calls."""
        while isinstance(fn, functools.partial | types.MethodType):
            fn = fn.func if isinstance(fn, functools.partial) else fn.__func__
        if not isinstance(fn, types.FunctionType):
            fn = getattr(type(fn), "__call__", None)
        if not isinstance(fn, types.FunctionType) or id(fn) in seen:
            return
        seen.add(id(fn))
        found = [
            (f"{fn.__qualname__}.{name}", cell, "cell_contents")
            for name, cell in zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True)
        ]
        found += [
            (name, fn.__globals__, name)
            for name in sorted(names_of(fn.__code__))
            if name in fn.__globals__
        ]
        for label, holder, key in found:
            try:
                item = holder[key] if isinstance(holder, dict) else holder.cell_contents
            except ValueError:  # a cell that is still empty
                continue
            if isinstance(item, types.FunctionType) and item.__module__ == fn.__module__:
                self.visit(item, seen)
            elif not isinstance(item, types.ModuleType) and not hasattr(item, "__name__"):
                self.slots[label] = (holder, key)

    def read(self, name: str) -> Any:
        """The present value in one slot."""
        holder, key = self.slots[name]
        return holder[key] if isinstance(holder, dict) else holder.cell_contents

    def snapshot(self) -> dict[str, Any]:
        """All slots, frozen."""
        return {name: freeze(self.read(name)) for name in self.slots}

    def restore(self) -> None:
        """Put everything back, in place where something may hold the same object."""
        memo: dict[int, Any] = {}
        for name, (holder, key) in self.slots.items():
            item, old = self.before[name], copy.deepcopy(self.copies[name], memo)
            match item:
                case list():
                    item[:] = old
                case dict() | set():
                    item.clear()
                    item.update(old)
                case _ if type(item).__module__ == self.module:
                    vars(item).clear()
                    vars(item).update(vars(old))
            if isinstance(holder, dict):
                holder[key] = item
            else:
                holder.cell_contents = item


def names_of(code: types.CodeType) -> set[str]:
    """The global names a code object and those nested in it mention."""
    inner = (const for const in code.co_consts if isinstance(const, types.CodeType))
    return set(code.co_names).union(*map(names_of, inner))


def run(
    call: Callable[..., Any], args: tuple[Any, ...], around: Surroundings | None = None
) -> Outcome:
    """Call once and record the outcome; the surroundings are put back afterwards."""
    outcome, out = Outcome(), io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            outcome.value = freeze(call(*args))
        except Exception as error:
            outcome.error, outcome.message = type(error).__name__, str(error)
            if isinstance(error, d2s.Error):
                outcome.code = error.code
        finally:
            jax.effects_barrier()
    outcome.stdout = out.getvalue()
    outcome.args = freeze(args)
    if around is not None:
        outcome.state = around.snapshot()
        around.restore()
    return outcome


# --- The modes -----------------------------------------------------------------------------------


def reference(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function converted and run on the pure Python backend."""

    def call(*args: Any) -> Any:
        with d2s.use_backend("python"):
            return d2s.convert(fn)(*args)

    return call


def converted(fn: Callable[..., Any]) -> Callable[..., Any]:
    """The function converted at its first call, so that a refusal is an outcome too."""
    return lambda *args: d2s.convert(fn)(*args)


class Static:
    """One static function object for all calls, made at the first of them."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn

    @functools.cached_property
    def made(self) -> Callable[..., Any]:
        """The static function."""
        made = d2s.to_static(self.fn)
        assert made.original == self.fn, "to_static(fn).original is not fn"
        return made

    def __call__(self, *args: Any) -> Any:
        return self.made(*args)


@dataclass
class Failures:
    """What went wrong with one function, collected over all its runs."""

    fn: Callable[..., Any]
    found: list[str] = field(default_factory=list)

    def add(self, where: str, why: str, want: object, got: object) -> None:
        """Note one difference."""
        text = f"{where}: {why}\n  plain:\n{indent(want)}\n  {where.split(',')[0]}:\n{indent(got)}"
        self.found.append(text)

    def report(self) -> None:
        """Fail when anything was noted."""
        if not self.found:
            return
        try:
            code = d2s.to_code(self.fn)
        except Exception as error:
            code = f"<no code: {type(error).__name__}: {error}>"
        rest = [text.splitlines()[0] for text in self.found[SHOWN:]]
        parts = [*self.found[:SHOWN], *(["also:", *rest] if rest else []), "generated code:", code]
        raise AssertionError("\n".join([f"{len(self.found)} runs differ", *parts]))


def indent(item: object) -> str:
    """The text of an outcome, moved to the right."""
    return "\n".join("    " + line for line in str(item).splitlines())


def check(
    fn: Callable[..., Any],
    *inputs: Any,
    grad: bool = False,
    vmap: bool = False,
    error_ok: str | Iterable[str] | None = None,
    error_modes: Iterable[str] = ("static",),
    oracle: Callable[..., Any] | None = None,
    modes: Iterable[str] = MODES,
    flavours: Iterable[str] = FLAVOURS,
    static_flavours: Iterable[str] | None = None,
    compiled: Iterable[str] = FLAVOURS,
    keep: Iterable[int] = (),
    rtol: float = 1e-4,
    atol: float = 1e-5,
) -> None:
    """Fail unless every mode does what plain Python does, for every input and flavour.

    inputs           two or more: a tuple of arguments, a function that makes such a tuple (for
                     arguments that cannot be copied), or a single argument
    grad             compare the gradient with respect to the first float argument as well
    vmap             compare `jax.vmap` over the stacked inputs with a loop of plain calls; of the
                     static function where those print, because only a whole call knows its lanes
    error_ok         d2s error codes, or beginnings of them, that may come instead of the result
    error_modes      the modes in which they may come
    oracle           a function to take for plain when `fn` itself cannot run eagerly, because it
                     hands control flow to `jax.vmap` or the like
    modes            the modes to run besides plain
    static_flavours  flavours for the static mode when it needs fewer than the others
    compiled         the flavours in which XLA runs the static mode; in the others NumPy runs the
                     same graph, in a third of the time
    keep             positions of arguments that stay Python values in every flavour
    """
    assert len(inputs) >= 2, "give two or more inputs: later calls must be seen too"
    codes = (error_ok,) if isinstance(error_ok, str) else tuple(error_ok or ())
    keep, error_modes, flavours = tuple(keep), tuple(error_modes), tuple(flavours)
    compiled = tuple(compiled)
    around, static, failures = Surroundings(fn), Static(fn), Failures(fn)
    ways = {"converted": converted(fn), "reference": reference(fn), "static": static}
    runs = {mode: ways[mode] for mode in modes}
    plain = oracle or fn

    for flavour in distinct_flavours(inputs[0], flavours, keep):
        engine = contextlib.nullcontext if flavour in compiled else without_xla
        wanted: list[Outcome] = []
        for number, given in enumerate([*inputs, inputs[0]]):
            again = number == len(inputs)

            def fresh(given: Any = given, flavour: str = flavour) -> tuple[Any, ...]:
                return flavoured(arguments(given), flavour, keep)

            if not again:
                wanted.append(run(plain, fresh(), around))
            want = wanted[number % len(inputs)]
            assert want.error not in NOT_PLAIN, f"plain Python cannot run this: {want}"
            for mode, call in runs.items():
                if again and mode != "static":
                    continue
                if mode == "static" and flavour not in (static_flavours or flavours):
                    continue
                with engine() if mode == "static" else contextlib.nullcontext():
                    got = run(call, fresh(), around)
                if got.code and mode in error_modes and got.code.startswith(codes or ("?",)):
                    continue
                if why := outcome_difference(want, got, rtol, atol):
                    where = f"{mode}, {flavour} arguments, input {number % len(inputs)}"
                    failures.add(where + (" again" if again else ""), why, want, got)
    if grad:
        check_grad(fn, plain, static, inputs, failures, rtol, atol)
    if vmap:
        check_vmap(fn, plain, inputs, failures, keep, rtol, atol)
    around.restore()
    failures.report()


def check_grad(
    fn: Callable[..., Any],
    plain: Callable[..., Any],
    static: Static,
    inputs: tuple[Any, ...],
    failures: Failures,
    rtol: float,
    atol: float,
) -> None:
    """Compare gradients: plain Python still sees concrete values under `jax.grad`."""
    modes = {"gradient of converted": converted(fn), "gradient of static": static}
    for number, given in enumerate(inputs):

        def gradient(call: Callable[..., Any], given: Any = given) -> Outcome:
            args = arguments(given)
            at = first_float(args)

            def loss(value: Any) -> Any:
                return float_sum(call(*args[:at], value, *args[at + 1 :]))

            outcome = run(jax.grad(loss), (jnp.asarray(args[at]),))
            outcome.args = ()
            return outcome

        want = gradient(plain)
        assert want.error is None, f"plain Python has no gradient here: {want}"
        for mode, call in modes.items():
            got = gradient(call)
            if why := outcome_difference(want, got, rtol, atol):
                failures.add(f"{mode}, input {number}", why, want, got)


def check_vmap(
    fn: Callable[..., Any],
    plain: Callable[..., Any],
    inputs: tuple[Any, ...],
    failures: Failures,
    keep: tuple[int, ...],
    rtol: float,
    atol: float,
) -> None:
    """Compare one mapped call over all inputs with the plain calls, one by one."""
    rows = [flavoured(arguments(given), "traced", keep) for given in inputs]
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        results = [plain(*row) for row in rows]
    want = Outcome(freeze(jax.tree.map(lambda *leaves: jnp.stack(leaves), *results)))
    want.stdout = out.getvalue()
    mode, make = ("static", d2s.to_static) if want.stdout else ("converted", d2s.convert)
    mapped = [
        i
        for i, arg in enumerate(rows[0])
        if i not in keep
        and (leaves := jax.tree.leaves(arg))
        and all(isinstance(leaf, jax.Array | np.ndarray) for leaf in leaves)
    ]
    axes = tuple(0 if i in mapped else None for i in range(len(rows[0])))
    columns = [
        jax.tree.map(lambda *leaves: jnp.stack(leaves), *column) if i in mapped else None
        for i, column in enumerate(zip(*rows, strict=True))
    ]

    def call(*stacked: Any) -> Any:
        filled = (a if i in mapped else rows[0][i] for i, a in enumerate(stacked))
        return make(fn)(*filled)

    got = run(jax.vmap(call, in_axes=axes), tuple(columns))
    got.args = ()
    if why := outcome_difference(want, got, rtol, atol):
        failures.add(f"vmap of {mode}", why, want, got)


def first_float(args: tuple[Any, ...]) -> int:
    """The position of the first float number or float array."""
    for i, arg in enumerate(args):
        if is_number(arg) or isinstance(arg, jax.Array):
            if jnp.issubdtype(jnp.asarray(arg).dtype, jnp.floating):
                return i
    raise AssertionError("grad=True needs a float argument")


def float_sum(value: Any) -> Any:
    """The sum of all floats in a result."""
    total = jnp.float32(0)
    for leaf in jax.tree.leaves(value):
        if hasattr(leaf, "dtype") or isinstance(leaf, float):
            if jnp.issubdtype(jnp.result_type(leaf), jnp.floating):
                total = total + jnp.sum(leaf)
    return total


# --- The corpus ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A function with its inputs and the options of `check`."""

    fn: Callable[..., Any]
    inputs: tuple[Any, ...]
    options: dict[str, Any]
    id: str

    def flavours(self) -> list[str]:
        """The flavours that its static mode runs in."""
        wanted = self.options.get("static_flavours") or self.options.get("flavours", FLAVOURS)
        return distinct_flavours(self.inputs[0], wanted, self.options.get("keep", ()))

    def run(self, **options: Any) -> None:
        """Check it, with some options instead of its own."""
        check(self.fn, *self.inputs, **{**self.options, **options})


CASES: list[Case] = []


def case(*inputs: Any, name: str = "", **options: Any) -> Callable[[Any], Any]:
    """Register the decorated function with its inputs; the function itself stays as it is."""

    module = sys._getframe(1).f_globals["__name__"]

    def register(fn: Any) -> Any:
        label = name or fn.__name__
        title = f"{module.rpartition('.')[2].removeprefix('programs_')}-{label}"
        CASES.append(Case(fn, inputs, options, title))
        return fn

    return register


def cases(module: types.ModuleType) -> Iterator[Case]:
    """The cases a module of programs registered."""
    prefix = module.__name__.rpartition(".")[2].removeprefix("programs_") + "-"
    return (item for item in CASES if item.id.startswith(prefix))
