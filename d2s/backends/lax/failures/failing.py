"""What may fail in a graph: exceptions with numbers, made again where a number comes out.

A graph cannot raise. For

    if x < 0:
        raise ValueError(f"negative: {x}")

the exception that the user's code raised while the branch was traced becomes a `Failure`: its
class, its arguments with `Later(0)` in the place of `x`, and the line. The table `Failures` of the
compiled function gives it a number, say 1. The graph gives out an error code, 1 where the branch
was taken, else 0, and `x` as a value to quote. After the call `check` sees the 1, makes the
`ValueError` again with the number in its text, and raises it at the user's line.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.failures import texts
from d2s.backends.lax.failures.texts import Later
from d2s.backends.lax.failures.whose import is_internal
from d2s.backends.lax.forms.kinds.attributes import exception_fields, own_dict, slot_names
from d2s.backends.lax.forms.kinds.code import cell_contents
from d2s.backends.lax.forms.trees import children, leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Scope
from d2s.backends.lax.trace.questions import unknown
from d2s.errors import IntegerOverflow, RunTimeError, Site, StagingError
from d2s.libraries import is_library_class
from d2s.runtime.ops import is_failed_assertion


@dataclass
class Failure:
    """One exception that may be raised: how to make it, and the site where it is shown."""

    kind: type[BaseException]
    args: tuple[Any, ...]
    site: Site
    cause: BaseException | Failure | None = None
    #: its attributes, and the fields that its class keeps elsewhere, as `filename` of an `OSError`
    attributes: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Any] = field(default_factory=dict)
    #: it was raised `from` something, or `from None`
    hides_context: bool = False
    #: the very exception, if it existed before the static function was called
    itself: BaseException | None = None
    #: the exception that was being handled when it was raised; may be the same object as `cause`
    context: BaseException | Failure | None = None
    #: a `raise` or an `assert` of the program made it, not an operation that could not be done
    is_stated: bool = False

    def make(self, quotes: list[Any]) -> BaseException:
        """The exception, as the user's code made it, with the quoted values filled in."""
        if self.itself is not None:
            if self.hides_context and not isinstance(self.cause, Failure):
                self.itself.__cause__ = self.cause  # it is raised `from` that
            return self.itself
        held = texts.filled((self.args, self.attributes, self.fields), quotes)
        args, attributes, fields = _as_it_is_now(held)
        made = _bare(self.kind, args)
        made.args = args
        made.__suppress_context__ = self.hides_context
        made.__dict__.update(attributes)
        if "__notes__" in attributes:
            made.__notes__ = list(attributes["__notes__"])
        kind: Any = self.kind
        known = exception_fields(kind)
        for name, value in fields.items():
            if name in known:
                known[name].__set__(made, value)
            else:
                made.__dict__[name] = value  # a saved function may have a stand-in for the class
        if self.cause is not None:
            made.__cause__ = _made_again(self.cause, quotes)
        same = self.context is self.cause
        made.__context__ = made.__cause__ if same else _made_again(self.context, quotes)
        return made

    def shows_containers(self) -> bool:
        """Whether the exception shows something that others may change."""
        return _hold_containers([*self.args, *self.attributes.values(), *self.fields.values()])

    def is_like(self, other: Failure) -> bool:
        """Whether two failures are one: nobody could tell their exceptions apart."""
        if self.itself is not other.itself or self.hides_context != other.hides_context:
            return False
        same = self.kind is other.kind and self.site == other.site
        same = same and _same_cause(self.cause, other.cause)
        same = same and _same_cause(self.context, other.context)
        mine = self.args, self.attributes, self.fields
        return same and _alike(mine, (other.args, other.attributes, other.fields))


def _made_again(linked: BaseException | Failure | None, quotes: list[Any]) -> Any:
    return linked.make(quotes) if isinstance(linked, Failure) else linked


def _bare(kind: type[BaseException], args: tuple[Any, ...]) -> BaseException:
    """An exception without what the user's `__new__` and `__init__` did, which have run already."""
    makers = (vars(base)["__new__"] for base in kind.__mro__ if "__new__" in vars(base))
    make = next(maker for maker in makers if isinstance(maker, types.BuiltinFunctionType))
    if not issubclass(kind, BaseExceptionGroup):
        return cast(BaseException, make(kind))
    if isinstance(args[0], texts.Text):
        raise unknown()  # a group takes nothing but a `str`, and never changes it
    return cast(BaseException, make(kind, *args))


def _alike(one: Any, other: Any) -> bool:
    """Whether two values that exceptions hold are the same: `1` and `True` are not."""
    if type(one) is not type(other):
        return False
    if isinstance(one, Later | str | bytes | int | float | complex):
        return repr(one) == repr(other)
    parts, others = children(one), children(other)
    if parts is None or others is None:
        return one is other
    pairs = zip(parts[0], others[0], strict=False)
    same = len(parts[0]) == len(others[0])
    return same and all(a == b and _alike(v, w) for (a, v), (b, w) in pairs)


def _held(error: BaseException) -> tuple[dict[str, Any], dict[str, Any]]:
    """What an exception holds besides its arguments: its attributes, and its fields."""
    own = {name: value for name, value in vars(error).items() if not name.startswith("__")}
    if hasattr(error, "__notes__"):
        own["__notes__"] = tuple(error.__notes__)  # no other object has this list
    fields: dict[str, Any] = {}
    kind: Any = type(error)
    for name, known in exception_fields(kind).items():
        with suppress(AttributeError):
            value = known.__get__(error)
            # Python's own classes tell a field that was never set from one that is set to None.
            if value is not None or "__slots__" in vars(known.__objclass__):
                fields[name] = value
    del fields["args"]
    return own, fields


def _all_held(error: BaseException) -> list[Any]:
    own, fields = _held(error)
    return [*error.args, *own.values(), *fields.values()]


def _as_it_is_now(value: Any) -> Any:
    """What an exception holds, copied: the program may change lists and dicts after it was raised.

    Objects of the caller, who would see that he gets a copy, and objects that cannot be copied are
    refused.
    """
    kind: Any = type(value)
    copies = scopes.copies()
    is_from_outside = copies is not None and copies.number(value) is not None
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
        site=sites.where(),
        fix="the numbers, texts and arrays that it is about",
    )


def hides_tracers(value: Any) -> bool:
    """Whether run-time values are where nobody takes them out: an exception, function or object."""
    if isinstance(value, BaseException):
        return quotes_of(value) or any(map(hides_tracers, leaves(_all_held(value))))
    if isinstance(value, types.FunctionType):
        cells = [cell_contents(cell) for cell in value.__closure__ or ()]
        return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves(cells))
    held = list((own_dict(value) or {}).values())  # a SimpleNamespace, a UserDict
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves(held))


#: values that cannot be changed, or that a program does not change
_UNCHANGING = (str, bytes, int, float, complex, type, types.FunctionType, Enum, BaseException)


def shows_containers(error: BaseException) -> bool:
    """Whether an exception shows something that others may change."""
    return _hold_containers(_all_held(error))


def _hold_containers(held: list[Any]) -> bool:
    containers = (v for v in held if type(v) is not tuple and not isinstance(v, texts.Text))
    return any(children(v) is not None for v in containers) or any(
        isinstance(leaf, set | np.ndarray) for leaf in leaves(held)
    )


def quotes_of(error: BaseException) -> bool:
    """Whether the message of an exception quotes run-time values."""
    held = list(map(_read, _all_held(error)))
    return any(isinstance(leaf, jax.core.Tracer) for leaf in leaves(held))


def spell(error: BaseException) -> None:
    """Give an exception its texts: f-strings with run-time values have left marks in it."""
    if quotes_of(error):
        error.args = tuple(map(_read, error.args))
        own, fields = _held(error)
        vars(error).update({name: _read(value) for name, value in own.items()})
        kind: Any = type(error)
        for name, value in fields.items():
            if isinstance(value, str):
                exception_fields(kind)[name].__set__(error, _read(value))


def _read(argument: Any) -> Any:
    """An argument of an exception; the texts in it may quote run-time values."""
    if scopes.current() is None:
        return argument
    if isinstance(argument, str):
        return texts.read(argument, scopes.root().quotes)
    parts = children(argument) if type(argument) in (list, tuple, dict) else None
    return argument if parts is None else texts.rebuilt(argument, parts, _read)


class Failures:
    """The failures of one compiled function, numbered from 1 in the order they were found."""

    def __init__(self) -> None:
        #: each failure, with a flag for each value that it quotes: whether it is a Python number
        self.all: list[tuple[Failure, list[bool]]] = []
        #: some failures come by a callback, because they happen inside a transformation of JAX
        self.calls_back = False
        #: failures that came by a callback in this call, each with its position in the program
        self.told: list[tuple[int, BaseException]] = []
        self._callbacks = 0
        #: something is printed inside a transformation
        self.prints_inside = False

    def expect_callback(self) -> int:
        """A failure may come by a callback; returns its position among those that do."""
        if self.prints_inside:
            refuse_print_after_callback()
        self.calls_back = True
        self._callbacks += 1
        return self._callbacks

    def raise_first_told(self) -> None:
        """Raise what came by callbacks, if anything did: the one that is first in the program."""
        if self.told:
            _, error = min(self.told, key=lambda one: one[0])
            self.told.clear()
            raise error

    def is_overflow(self, number: int) -> bool:
        return self.all[number - 1][0].kind is IntegerOverflow

    def is_of_the_graph(self, number: int) -> bool:
        """Whether a failure is none of the program: with numbers as constants it may not happen."""
        return issubclass(self.all[number - 1][0].kind, RunTimeError)

    def add(self, failure: Failure, weak: list[bool]) -> int:
        """The number of a failure; one that nobody could tell from another has the same."""
        for n, (known, known_weak) in enumerate(self.all):
            if known_weak == weak and known.is_like(failure):
                return n + 1
        self.all.append((failure, weak))
        return len(self.all)


def _same_cause(one: Any, other: Any) -> bool:
    both = isinstance(one, Failure) and isinstance(other, Failure)
    return one.is_like(other) if both else type(one) is type(other)


def fail_at_last(scope: Scope) -> None:
    """The code of a scope was ended by `Halt`: it has an error code, unless that cannot get out.

    It cannot where the failure was told by a callback from inside a transformation of JAX.
    """
    if scope.code is None:
        fail(scope, RuntimeError("a function failed inside a jax transformation"))


def fail(scope: Scope, error: BaseException) -> None:
    """Record an exception that ended the Python code of a region."""
    number, values = number_of(error, scope.failures)
    scope.merge(number, {number: values} if values else {}, {number})


def number_of(error: BaseException, failures: Failures) -> tuple[int, list[Any]]:
    """The number of a failure, and the run-time values that its message quotes."""
    values: list[Any] = []
    failure = _failure(error, values)
    found = failures.add(failure, texts.are_numbers(values))
    return found, [jnp.asarray(value) for value in values]


def _failure(error: BaseException, values: list[Any]) -> Failure:
    """The failure for an exception; the run-time values that it quotes are added to `values`.

    What it is linked to comes along: the cause it was raised from, and the context, which was being
    handled when it was raised. Both become failures themselves where they hold run-time values.
    """
    site, (own, fields) = sites.where(error), _held(error)
    cause: Any = error.__cause__
    if cause is not None and hides_tracers(cause):
        cause = _failure(cause, values)
    elif _is_from_outside(error) and not hides_tracers(error):
        # Whoever made it can ask with `is` whether it is the same, so it is raised itself.
        kept = error.args, site, cause, own, fields, error.__suppress_context__
        return Failure(type(error), *kept, error, is_stated=_is_stated(error))
    if isinstance(error, AttributeError) and not sites.is_raise(error):
        # Python itself found that the attribute is missing, and has put the object into a field:
        # that would be a value of the graph. A class may stay.
        fields = {k: v for k, v in fields.items() if k != "obj" or isinstance(v, type)}
    # Quoted values are numbered from 0 here, so that every trace of the line gives one failure.
    args = tuple(texts.taken(_as_it_is_now(_read(a)), values) for a in error.args)
    own, fields = (
        {k: texts.taken(_as_it_is_now(_read(v)), values) for k, v in held.items()}
        for held in (own, fields)
    )
    made = Failure(type(error), args, site, cause, own, fields, error.__suppress_context__)
    made.is_stated = _is_stated(error)
    context = _context(error)
    made.context = cause if context is error.__cause__ else context and _failure(context, values)
    return made


def _is_stated(error: BaseException) -> bool:
    return sites.is_raise(error) or is_failed_assertion(sites.innermost(error))


def _context(error: BaseException) -> BaseException | None:
    """The exception that the program was handling when another one was raised.

    An exception that the caller of the static function was handling is linked when the failure is
    raised again, and one that d2s was handling is none of the program's.
    """
    context = error.__context__
    while context is not None and is_internal(context):
        context = context.__context__
    around = scopes.root().around if scopes.current() is not None else None
    return None if id(context) == around else context


def raise_again(error: BaseException) -> None:
    """Raise an exception that was raised before, with all that led to it."""
    context = error.__context__
    try:
        raise error
    except BaseException:
        error.__context__ = context
        raise


def _is_from_outside(error: BaseException) -> bool:
    """Whether an exception existed before the static function was called.

    The key of a graph knows such an object by identity, except where its class defines `==`: then
    the next call may come with an equal one, and this one must not be raised.
    """
    kind: Any = type(error)
    if kind.__eq__ is not object.__eq__:
        return False
    return any(before.outside and before.knows(error) for before in scopes.snapshots())


def report(code: Any, payload: dict[int, list[Any]], numbers: set[int], failures: Failures) -> None:
    """Hand a possible failure to the scope around, else to the host by a callback."""
    scope = scopes.current()
    quoted = [value for values in payload.values() for value in values]
    if scope is not None and all(map(scope.holds, (code, *quoted))):
        if scope.failures is not failures:
            # A static function inside another has a table of its own: its numbers are translated.
            offset = {n: scope.failures.add(*failures.all[n - 1]) for n in numbers}
            table = np.zeros(max(offset) + 1, np.int32)
            for old, new in offset.items():
                table[old] = new
            code = jnp.asarray(table)[code]
            payload = {offset[n]: values for n, values in payload.items()}
            numbers = set(offset.values())
        scope.merge(code, payload, numbers)
        return
    scopes.note_failure()
    for earlier in [s.code for s in scopes.scopes() if s.code is not None]:
        code = jnp.where(earlier == 0, code, 0)
    told = None
    if scope is not None:
        place, to = scope.failures.expect_callback(), scope.failures.told

        def told(error: BaseException) -> None:
            to.append((place, error))

    jax.debug.callback(_Raiser(failures, sorted(payload), told), code, *payload.values())


def refuse_print_after_callback() -> None:
    """Refuse prints that nothing could keep back after a failure that a callback tells of."""
    raise StagingError(
        "print and an exception that may be raised inside a jax transformation: what comes after "
        "the exception would be printed all the same",
        code="D2S023",
        site=sites.where(),
        fix="the check outside of the function that jax transforms, or jax.debug.print(...)",
    )


class _Raiser:
    """The callback: tells the static function around it of a failure; without one, raises it."""

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
    if code != 0:
        raise_at(made_of(code, payload, failures), failures.all[code - 1][0].site)


def made_of(code: int, payload: dict[int, list[Any]], failures: Failures) -> BaseException:
    """The exception that a code stands for."""
    failure, weak = failures.all[code - 1]
    values = payload.get(code, [])
    quotes = [texts.shown(value, is_number) for value, is_number in zip(values, weak, strict=True)]
    return failure.make(quotes)


def raise_at(error: BaseException, site: Site) -> None:
    """Raise an exception from a frame that shows the user's file, function and line."""
    tree = ast.parse("raise error")
    for node in ast.walk(tree):
        if isinstance(node, ast.expr | ast.stmt):
            node.lineno = node.end_lineno = site.line
            node.col_offset, node.end_col_offset = site.column, max(site.end_column, site.column)
    code = compile(tree, site.filename, "exec")
    context = last = error.__context__
    try:
        exec(code.replace(co_name=site.function, co_qualname=site.function), {"error": error})
    except BaseException:
        if last is not None and error.__context__ is not context:
            # Python has replaced the context by what the caller is handling. That was there before
            # everything in the graph, so it goes to the end of the chain.
            while last.__context__ is not None:
                last = last.__context__
            last.__context__, error.__context__ = error.__context__, context
        raise


def overflow(site: Site) -> IntegerOverflow:
    return IntegerOverflow(
        "a Python integer left the range of the graph's 32-bit integers",
        site=site,
        fix="set jax_enable_x64, or pass the number as a static (hashable) value",
    )
