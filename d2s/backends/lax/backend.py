"""The backend on JAX: what the ops of generated code ask, answered by the rooms of this engine.

    d2s.cond(x > 0, then_2, else_2, x)  ->  LaxBackend.cond  ->  branches.cond  ->  lax.cond

Each method looks at the values it gets. What is known goes the way of plain Python, which is that
of the reference (`PythonBackend`); what is a run-time value is handed to the room that stages it.
There is no decision here but that one. Importing this module changes JAX: see `patches`.
"""

from __future__ import annotations

import functools
import inspect
import os
import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

import jax
import jax.extend.source_info_util
import numpy as np

from d2s.backends.lax import patches, private
from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.control import branches, handlers, loops
from d2s.backends.lax.control.notes import note
from d2s.backends.lax.failures import texts, whose
from d2s.backends.lax.forms import appended
from d2s.backends.lax.forms.kinds.table import CONTAINERS
from d2s.backends.lax.function import cache
from d2s.backends.lax.function.compiled import Compiled
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.library import as_python, augmented, items, ordering, text_calls
from d2s.backends.lax.library.array_methods import method_for
from d2s.backends.lax.library.builtin_calls import BUILTINS, OPERATORS, power, refuse_unrepeatable
from d2s.backends.lax.library.dispatching import dispatched, remembered
from d2s.backends.lax.library.math_calls import MATH
from d2s.backends.lax.library.numpy_calls import call_for
from d2s.backends.lax.objects import refs
from d2s.backends.lax.output import printing, reprs, watching
from d2s.backends.lax.reach import wrappers
from d2s.backends.lax.reach.walk import users_functions
from d2s.backends.lax.regions import regions
from d2s.backends.lax.semantics import answers, border, classes
from d2s.backends.lax.semantics.casts import not_, refuse, to_bool
from d2s.backends.lax.semantics.membership import is_in
from d2s.backends.lax.semantics.sequences import refuse_outer_iterator
from d2s.backends.lax.trace import namespaces
from d2s.backends.lax.trace.needs import needs_truth
from d2s.backends.lax.trace.provenance import needing
from d2s.backends.python import PythonBackend
from d2s.conversion import is_made_inside
from d2s.errors import HOME, Error
from d2s.options.options import Options
from d2s.runtime.on_behalf import asks_for_program
from d2s.runtime.protocol import Backend, Block, Handler, State, Thunk
from d2s.runtime.values import Maybe, Unbound
from d2s.runtime.watching import Seen
from d2s.static import StaticFunction


class LaxBackend(PythonBackend):
    """What is concrete goes the way of plain Python; what is traced is staged."""

    name = "jax"

    def is_traced(self, value: object) -> bool:
        return regions.is_traced(value)

    def staging(self) -> bool:
        return private.is_tracing()

    def cond(self, test: Any, then: Block, orelse: Block, state: State) -> Any:
        if self.is_traced(test):
            scopes.begin()
            return branches.cond(test, then, orelse, state)
        self.decided()
        return super().cond(test, then, orelse, state)

    def decided(self) -> None:
        if self.staging():
            note("Python", "the condition is known while the graph is built")

    def while_loop(self, test: Block, body: Block, state: State) -> State:
        if not self.staging():
            return super().while_loop(test, body, state)
        scopes.begin()
        return loops.while_loop(test, body, state)

    def for_loop(
        self, iterable: Iterable[Any], body: Block, state: State, test: Block | None
    ) -> State:
        with aliases.looped_over(iterable):
            if not self.staging():
                return super().for_loop(iterable, body, state, test)
            scopes.begin()
            return loops.for_loop(iterable, body, state, test)

    def try_except(self, body: Thunk, handlers_: tuple[Handler, ...], orelse: Thunk | None) -> None:
        if not self.staging():
            super().try_except(body, handlers_, orelse)
        else:
            handlers.try_except(body, handlers_, orelse)

    def try_finally(self, body: Thunk, final: Thunk) -> None:
        if not self.staging():
            super().try_finally(body, final)
        else:
            handlers.try_finally(body, final)

    def manager(self, context: Any, call: Callable[..., Any]) -> Any:
        kind = type(context)
        if hasattr(kind, "__enter__") and hasattr(kind, "__exit__"):
            return handlers.Manager(context, call)
        return context  # Python says what is missing

    def certain(self, what: str) -> AbstractContextManager[None]:
        return handlers.certain(what)

    def concrete(self, value: Any) -> Any:
        if self.is_traced(value):
            error = refuse(
                "this value must be known while the graph is built",
                "an `if` statement on it, instead of `is True` or of `:=` behind it in a lambda "
                "or comprehension",
            )
            raise needing(error, value)
        return value

    def switch(self, subject: Any, cases: dict[int, Block], orelse: Block, state: State) -> Any:
        if not isinstance(subject, jax.Array):
            return super().switch(subject, cases, orelse, state)
        if not self.is_traced(subject) and subject.size == 1:
            # what jax computes while a graph is built is traced; NumPy's answer is known
            return super().switch(np.asarray(subject), cases, orelse, state)
        if subject.size != 1:
            regions.scalar_predicate(subject == next(iter(cases)))  # says what is wrong
        return branches.switch(subject.reshape(()), cases, orelse, state)

    def and_(self, first: Any, rest: tuple[Thunk, ...]) -> Any:
        return branches.and_(first, rest)

    def or_(self, first: Any, rest: tuple[Thunk, ...]) -> Any:
        return branches.or_(first, rest)

    def truth(self, operand: Any) -> Any:
        return to_bool(operand)

    def not_(self, operand: Any) -> Any:
        return not_(operand)

    def is_(self, left: Any, right: Any) -> bool:
        return classes.is_(left, right)

    def in_(self, item: Any, container: Any) -> Any:
        return is_in(item, container)

    def observe(self, name: str, line: int, value: Any, tell: Callable[[Seen], None]) -> None:
        if not self.staging():
            super().observe(name, line, value, tell)
        else:
            watching.observe(name, line, value, tell)

    def power(self, base: Any, exponent: Any) -> Any:
        return power(base, exponent)

    def read(self, maybe: Maybe, free: bool) -> Any:
        branches_differ = self.is_traced(maybe.bound)
        if branches_differ:
            branches.cond(maybe.bound, lambda: None, lambda: _unbound(maybe.name, free), ())
        elif not maybe.bound:
            _unbound(maybe.name, free)
        return maybe.value

    def quoted(self, value: Any, how: str) -> Any:
        if scopes.current() is None:
            return super().quoted(value, how)
        return text_calls.quoted(value, how)

    def text(self, letters: str) -> Any:
        if scopes.current() is None:
            return letters
        return texts.read(letters, scopes.root().quotes)

    def letters(self, values: Any) -> Any:
        if scopes.current() is None:
            return values
        return texts.quoted_letters(values, scopes.root().quotes)

    def percent(self, template: Any, values: Any) -> Any:
        return text_calls.percent(template, values)

    def items(self, container: Any) -> Any:
        if not self.staging():
            return container
        return items.items(container)

    def window(self, lower: Any, upper: Any, size: Any) -> Any:
        return items.window(lower, upper, size)

    def set_item(self, container: Any, key: Any, value: Any, owner: Any) -> Any:
        if self.staging() or isinstance(container, jax.Array):
            answers.require_container(container)
            return items.set_item(container, key, value, owner)
        container[key] = value
        return container

    def old_item(self, container: Any, key: Any) -> Any:
        if self.staging() or isinstance(container, jax.Array):
            answers.require_container(container, is_read=True)
            return augmented.old_item(container, key)
        return container[key]

    def augmented(self, change: Callable[[Any, Any], Any], old: Any, value: Any, place: Any) -> Any:
        if self.staging() or isinstance(old, jax.Array):
            return augmented.new_item(change, old, value, place)
        return change(old, value)

    def augmented_name(
        self, change: Callable[[Any, Any], Any], old: Any, value: Any, owner: Any
    ) -> Any:
        if self.staging():
            return augmented.new_value_of_name(change, old, value, owner)
        return change(old, value)

    def is_copy(self, container: Any, key: Any) -> bool:
        return items.is_copy(container, key)

    def refuse_store(self, within: Any) -> None:
        items.refuse_store(within)

    @asks_for_program
    def builtin(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        for arg in args:
            refuse_outer_iterator(arg)
        special = BUILTINS.get(function) if _is_hashable(function) else None
        if special is not None:
            return as_python.called(function, special, args, kwargs)
        refuse_unrepeatable(function)
        copies = scopes.copies()
        if isinstance(function, type) and copies is not None:
            copies.meets_class(function)
        special = call_for(function, _nothing_to_change)
        if special is not None:
            return special(*args, **kwargs)
        owner = getattr(function, "__self__", None)
        if isinstance(owner, CONTAINERS) and scopes.snapshots():
            scopes.note_change(owner)
        if isinstance(owner, np.ndarray) and _is_method(function, owner, _CHANGE_ARRAYS):
            aliases.spend_maybe(owner)
        if isinstance(owner, BaseException):
            args, kwargs = self.letters((args, kwargs))  # a note must be one of Python's texts
        if type(owner) is list and _is_method(function, owner, (list.sort,)):
            return ordering.sort(owner)(*args, **kwargs)
        return (text_calls.of_text(function) or function)(*args, **kwargs)

    def enter(self, function: Any, made: Any) -> Any:
        inside = is_made_inside(function)
        for watch in scopes.snapshots():
            if not (inside and watch.outside):
                watch.enter(function, made.__code__)
        copies = scopes.copies()
        return made if copies is None else copies.enter(made)

    def leave(self, function: Any, args: tuple[Any, ...]) -> None:
        refuse_unrepeatable(function)
        answers.refuse_numbers(function, args)
        copies = scopes.copies()
        if copies is None or any(function is other for other in _CALL_NOTHING):
            return
        refs.refuse_handed_on(function, args)
        for value in (function, *args):
            copies.meets_class(value if isinstance(value, type) else type(value))
            if isinstance(value, types.ModuleType):
                namespaces.note_all(value)
        for called in users_functions([function, *args]):
            copies.enter_as_is(called)

    def found(self, module: types.ModuleType) -> None:
        namespaces.note_module(module)

    def returned(self) -> None:
        copies, scope = scopes.copies(), scopes.current()
        if copies is not None and scope is not None:
            copies.leave_transformation(scope)

    def around(self, function: Any, change: Callable[[Any], Any]) -> Any:
        special = _LIBRARY.get(function) if _is_hashable(function) else None
        special = special or refs.call_for(function)
        special = special or call_for(function, change) or method_for(function)
        special = special or dispatched(function) or remembered(function) or reprs.method(function)
        special = special or text_calls.unbound(function) or text_calls.of_text(function)
        around = appended.together(wrappers.around(function, change))
        return special or printing.separated(wrappers.afresh(around))

    def is_internal(self, error: BaseException) -> bool:
        if not self.staging():
            return isinstance(error, (Error, *whose.TRACER_ERRORS))
        return whose.is_internal(error)

    def unconverted(
        self, function: Any, reason: str, error: Exception, values: Any
    ) -> BaseException | None:
        if reason and isinstance(error, jax.errors.TracerBoolConversionError):
            return needs_truth(function, reason, error)
        return border.refusal(function, values, error)

    def compile(self, original: Any, options: Options) -> StaticFunction:
        return Compiled(original, options)


#: functions of Python's own that take a function, look at it, and do not call it
_CALL_NOTHING = (functools.wraps, functools.update_wrapper, inspect.signature)

#: methods of NumPy's arrays that change them
_CHANGE_ARRAYS: tuple[Any, ...] = (
    *(np.ndarray.fill, np.ndarray.sort, np.ndarray.partition, np.ndarray.put, np.ndarray.resize),
    *(np.ndarray.setfield, np.ndarray.byteswap),
)

#: functions of Python's libraries that get run-time values, and what computes the same in a graph
_LIBRARY = {**MATH, **OPERATORS}


def _is_method(function: Any, owner: Any, methods: tuple[Any, ...]) -> bool:
    """Whether a method of an object is one of these methods of its class."""
    return any(function == method.__get__(owner) for method in methods)


def _nothing_to_change(function: Any) -> Any:
    return function


def _unbound(name: str, free: bool) -> None:
    raise Unbound(name).error(free)


def _is_hashable(function: Any) -> bool:
    return isinstance(function, types.BuiltinFunctionType | type)


# JAX says of each operation which line it comes from: that is to be the user's, and not one of ours
_HOME = os.path.dirname(HOME)
jax.extend.source_info_util.register_exclusion(_HOME)
if os.environ.get("D2S_FULL_TRACEBACK") != "1":
    # the same for the tracebacks of exceptions that pass a transformation of JAX's
    private.hide_frames_of(_HOME)

patches.install()
cache.from_environment()
BACKEND: Backend = LaxBackend()
