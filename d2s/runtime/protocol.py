"""What an engine has to offer: the methods that the ops call.

Arguments are named as the fields of the syntax tree: `cond(test, then, orelse, state)` is asked for
``if test: then else: orelse``. `d2s.backends.python` says what each means on plain values.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any, Protocol

from d2s.options.options import Options
from d2s.runtime.values import Maybe
from d2s.runtime.watching import Seen

Handler = tuple[Any, Callable[[BaseException], Any]]
Thunk = Callable[[], Any]
#: a block of the user's code, as a function of the variables that it takes
Block = Callable[..., Any]
#: the values of those variables
State = tuple[Any, ...]


class Backend(Protocol):
    """An engine: ops ask it whenever a value is, or may become, a run-time value."""

    name: str

    def is_traced(self, value: object) -> bool:
        """Whether a value is known only when the graph runs."""
        ...

    def staging(self) -> bool:
        """Whether a graph is being built, so that values may be traced."""
        ...

    def cond(self, test: Any, then: Block, orelse: Block, state: State) -> Any: ...

    def decided(self) -> None:
        """Python has decided a branch; told only while a record is made."""
        ...

    def while_loop(self, test: Block, body: Block, state: State) -> State: ...

    def for_loop(
        self, iterable: Iterable[Any], body: Block, state: State, test: Block | None
    ) -> State: ...

    def try_except(
        self, body: Thunk, handlers: tuple[Handler, ...], orelse: Thunk | None
    ) -> None: ...

    def try_finally(self, body: Thunk, final: Thunk) -> None: ...

    def switch(self, subject: Any, cases: dict[int, Block], orelse: Block, state: State) -> Any:
        """The case whose integer the subject equals."""
        ...

    def manager(self, context: Any, call: Callable[..., Any]) -> Any:
        """The manager of a `with` in a graph that is being built."""
        ...

    def certain(self, what: str) -> AbstractContextManager[None]:
        """A block in which nothing may fail at run time."""
        ...

    def concrete(self, value: Any) -> Any:
        """The value, which must be known now."""
        ...

    def and_(self, first: Any, rest: tuple[Thunk, ...]) -> Any: ...

    def or_(self, first: Any, rest: tuple[Thunk, ...]) -> Any: ...

    def not_(self, operand: Any) -> Any: ...

    def is_(self, left: Any, right: Any) -> bool:
        """Whether two different objects would be one and the same in plain Python."""
        ...

    def truth(self, operand: Any) -> Any:
        """A bool of Python's or of the graph's."""
        ...

    def in_(self, item: Any, container: Any) -> Any: ...

    def observe(self, name: str, line: int, value: Any, tell: Callable[[Seen], None]) -> None:
        """Tell the value of a watched variable, now or when the graph runs."""
        ...

    def power(self, base: Any, exponent: Any) -> Any:
        """`**` with an exponent that is not a constant."""
        ...

    def read(self, maybe: Maybe, free: bool) -> Any:
        """The value of a name that may be unbound at run time."""
        ...

    def quoted(self, value: Any, how: str) -> Any:
        """A value inside an f-string; `how` is its conversion, if it has one."""
        ...

    def text(self, letters: str) -> Any:
        """What an f-string has given: with quoted values, a text that is known at run time."""
        ...

    def letters(self, values: Any) -> Any:
        """Values for code that is not converted, with letters for texts known at run time."""
        ...

    def percent(self, template: Any, values: Any) -> Any:
        """`%` with a text on the left."""
        ...

    def items(self, container: Any) -> Any:
        """What to subscript to read an item."""
        ...

    def window(self, lower: Any, upper: Any, size: Any) -> Any:
        """The slice between two bounds that are `size` apart."""
        ...

    def set_item(self, container: Any, key: Any, value: Any, owner: Any) -> Any:
        """Write an item; the container itself, or the array that takes its place."""
        ...

    def old_item(self, container: Any, key: Any) -> Any:
        """An item that is about to be changed by an augmented assignment."""
        ...

    def augmented(self, change: Callable[[Any, Any], Any], old: Any, value: Any, place: Any) -> Any:
        """What an augmented assignment makes of an item; `place` is the slot that holds it."""
        ...

    def augmented_name(
        self, change: Callable[[Any, Any], Any], old: Any, value: Any, owner: Any
    ) -> Any:
        """What an augmented assignment makes of the value of a name."""
        ...

    def is_copy(self, container: Any, key: Any) -> bool:
        """Whether an array gives a copy for this key, which a write does not go through."""
        ...

    def refuse_store(self, within: Any) -> None:
        """Raise the error for a new array that has no slot to go to.

        It would replace a value that no name has, or one in a slot of `within` that cannot change.
        """
        ...

    def builtin(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call a builtin function, by its equivalent when an argument is traced."""
        ...

    def enter(self, function: Any, made: Any) -> Any:
        """What to run when a function is called while a graph is built; `made` is converted."""
        ...

    def leave(self, function: Any, args: tuple[Any, ...]) -> None:
        """Code that is not converted is about to be called, with these, while a graph is built."""
        ...

    def found(self, module: types.ModuleType) -> None:
        """Code that is not converted has given a module, while a graph is built."""
        ...

    def returned(self) -> None:
        """A library that may have called functions of the user's has returned."""
        ...

    def around(self, function: Any, change: Callable[[Any], Any]) -> Any:
        """A wrapper that a library made, around converted functions instead of plain ones."""
        ...

    def is_internal(self, error: BaseException) -> bool:
        """Whether an exception speaks of tracing; no handler of the user's may catch it."""
        ...

    def unconverted(
        self, function: Any, reason: str, error: Exception, values: Any
    ) -> BaseException | None:
        """The error to raise when code that was not converted needed a run-time value.

        `reason` says why it was not, and is empty for Python's own; `values` is what it was called
        with.
        """
        ...

    def compile(self, original: Any, options: Options) -> Any:
        """A static function of a function, a method, a partial or a callable object."""
        ...
