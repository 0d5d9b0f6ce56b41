"""The reference: everything is concrete, and Python itself decides. It states the semantics."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from d2s.errors import Error
from d2s.options.options import Options
from d2s.runtime.frames import without_blocks
from d2s.runtime.on_behalf import asks_for_program
from d2s.runtime.protocol import Backend, Block, Handler, State, Thunk
from d2s.runtime.values import Maybe
from d2s.runtime.watching import Seen
from d2s.static import StaticFunction


def handler_of(
    kind: type[BaseException], handlers: tuple[Handler, ...]
) -> Callable[[BaseException], Any] | None:
    """The first handler for exceptions of a kind; its classes may come as a thunk."""
    for kinds, handler in handlers:
        if isinstance(kinds, types.FunctionType):
            kinds = kinds()
        if kinds is None or _is_one_of(kind, kinds):
            return handler
    return None


def _is_one_of(kind: type[BaseException], kinds: Any) -> bool:
    """Python's own rule: real subclasses only, and nothing but exceptions to choose from."""
    choice = kinds if isinstance(kinds, tuple) else (kinds,)
    for one in choice:
        if not (isinstance(one, type) and BaseException in one.__mro__):
            text = "catching classes that do not inherit from BaseException is not allowed"
            raise TypeError(text)
    return any(one in kind.__mro__ for one in choice)


#: what ``!s``, ``!r`` and ``!a`` do in an f-string
CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


class PythonBackend:
    """Plain Python; other backends must agree with it wherever values are concrete."""

    name = "python"

    def is_traced(self, value: object) -> bool:
        return False

    def staging(self) -> bool:
        return False

    def cond(self, test: Any, then: Block, orelse: Block, state: State) -> Any:
        return then(*state) if test else orelse(*state)

    def decided(self) -> None:
        return None

    def while_loop(self, test: Block, body: Block, state: State) -> State:
        if len(state) == 1:
            (one,) = state
            while test(one):
                one = body(one)
            return (one,)
        while test(*state):
            state = body(*state) or ()
        return state

    def for_loop(
        self, iterable: Iterable[Any], body: Block, state: State, test: Block | None
    ) -> State:
        if len(state) == 1:
            (one,) = state
            for item in iterable:
                one = body(item, one)
                if test is not None and not test(one):
                    break
            return (one,)
        for item in iterable:
            state = body(item, *state) or ()
            if test is not None and not test(*state):
                break
        return state

    def try_except(self, body: Thunk, handlers: tuple[Handler, ...], orelse: Thunk | None) -> None:
        try:
            body()
        except BaseException as error:
            handler = None if self.is_internal(error) else handler_of(type(error), handlers)
            if handler is None:
                raise
            error.__traceback__ = without_blocks(error.__traceback__)
            handler(error)
        else:
            if orelse is not None:
                orelse()

    def try_finally(self, body: Thunk, final: Thunk) -> None:
        try:
            body()
        except BaseException as error:
            # `final` runs while the exception is there, as Python would have it
            if final() and not self.is_internal(error):
                return
            raise
        final()

    @asks_for_program
    def switch(self, subject: Any, cases: dict[int, Block], orelse: Block, state: State) -> Any:
        for value, case in cases.items():
            if subject == value:
                return case(*state)
        return orelse(*state)

    def manager(self, context: Any, call: Callable[..., Any]) -> Any:
        return context

    def certain(self, what: str) -> AbstractContextManager[None]:
        return nullcontext()

    def concrete(self, value: Any) -> Any:
        return value

    def and_(self, first: Any, rest: tuple[Thunk, ...]) -> Any:
        for thunk in rest:
            if not first:
                return first
            first = thunk()
        return first

    def or_(self, first: Any, rest: tuple[Thunk, ...]) -> Any:
        for thunk in rest:
            if first:
                return first
            first = thunk()
        return first

    def truth(self, operand: Any) -> Any:
        return bool(operand)

    def not_(self, operand: Any) -> Any:
        return not operand

    def is_(self, left: Any, right: Any) -> bool:
        return False

    @asks_for_program
    def in_(self, item: Any, container: Any) -> Any:
        return item in container

    def observe(self, name: str, line: int, value: Any, tell: Callable[[Seen], None]) -> None:
        tell(Seen(name, line, value))

    def power(self, base: Any, exponent: Any) -> Any:
        """`**` with an exponent that is not a constant."""
        return base**exponent

    def read(self, maybe: Maybe, free: bool) -> Any:
        raise AssertionError("unreachable: only a staged block makes a Maybe")

    def quoted(self, value: Any, how: str) -> Any:
        """A value inside an f-string; `how` is its conversion, if it has one."""
        return value if not how else CONVERSIONS[how](value)

    def text(self, letters: str) -> Any:
        return letters

    def letters(self, values: Any) -> Any:
        return values

    def percent(self, template: Any, values: Any) -> Any:
        return template % values

    def items(self, container: Any) -> Any:
        return container

    def window(self, lower: Any, upper: Any, size: Any) -> Any:
        return slice(lower, upper)

    def set_item(self, container: Any, key: Any, value: Any, owner: Any) -> Any:
        container[key] = value
        return container

    def old_item(self, container: Any, key: Any) -> Any:
        return container[key]

    def augmented(self, change: Callable[[Any, Any], Any], old: Any, value: Any, place: Any) -> Any:
        return change(old, value)

    def augmented_name(
        self, change: Callable[[Any, Any], Any], old: Any, value: Any, owner: Any
    ) -> Any:
        return change(old, value)

    def is_copy(self, container: Any, key: Any) -> bool:
        raise AssertionError("unreachable: containers are changed in place")

    def refuse_store(self, within: Any) -> None:
        raise AssertionError("unreachable: containers are changed in place")

    @asks_for_program
    def builtin(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return function(*args, **kwargs)

    def enter(self, function: Any, made: Any) -> Any:
        return made

    def leave(self, function: Any, args: tuple[Any, ...]) -> None:
        return None

    def found(self, module: types.ModuleType) -> None:
        return None

    def returned(self) -> None:
        return None

    def around(self, function: Any, change: Callable[[Any], Any]) -> Any:
        return function

    def is_internal(self, error: BaseException) -> bool:
        return isinstance(error, Error)

    def unconverted(
        self, function: Any, reason: str, error: Exception, values: Any
    ) -> BaseException | None:
        return None

    def compile(self, original: Any, options: Options) -> StaticFunction:
        return _Interpreted(original, options)


class _Interpreted(StaticFunction):
    """Converted code, called as it is."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*self.bound, *args, **{**self.keywords, **kwargs})

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            text = f"{self!r} has no {name}: on the backend python there is no graph"
            raise AttributeError(text, name=name, obj=self) from None


BACKEND: Backend = PythonBackend()
