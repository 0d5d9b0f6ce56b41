"""The values that variables take inside a graph: ``f.watch("x")(*args)``.

A copy of the function tells each new value of the variables, and is converted like any other::

    x = x * 2       =>      x = x * 2
                            d2s.observe('x', 3, x)
"""

from __future__ import annotations

import difflib
import functools
import types
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import gast

from d2s import conversion
from d2s.analysis.scopes import SCOPES, own_nodes
from d2s.errors import boundary, wrong_option
from d2s.source.templates import quote

_BODIES = ("body", "orelse", "finalbody")


@dataclass(frozen=True)
class Seen:
    """A value that a variable took, and the line that gave it."""

    name: str
    line: int
    value: Any

    def __str__(self) -> str:
        return f"line {self.line}: {self.name} = {self.value!s}"


@dataclass
class History:
    """What a watched call returned, and every value its variables took, in order."""

    value: Any = None
    seen: list[Seen] = field(default_factory=list)

    def __getitem__(self, name: str) -> list[Any]:
        return [one.value for one in self.seen if one.name == name]

    def __str__(self) -> str:
        return "\n".join([*map(str, self.seen), f"returned {self.value!s}"])

    __repr__ = __str__


_telling: ContextVar[Callable[[Seen], None] | None] = ContextVar("d2s_observe", default=None)


def listener() -> Callable[[Seen], None] | None:
    """The function that is told the values of watched variables, for the call that runs now."""
    return _telling.get()


class Watched:
    """A static function that tells the values of some of its variables."""

    def __init__(self, run: Callable[..., Any], names: tuple[str, ...], finish: Callable[[], None]):
        self._run, self.names, self._finish = run, names, finish
        #: what the last call saw, also if it failed
        self.last = History()

    def bound_to(self, instance: Any) -> Watched:
        """The same for a method of an object."""
        return Watched(functools.partial(self._run, instance), self.names, self._finish)

    @boundary
    def __call__(self, *args: Any, **kwargs: Any) -> History:
        self.last = History()
        token = _telling.set(self._hear)
        try:
            self.last.value = self._run(*args, **kwargs)
        finally:
            _telling.reset(token)
            self._finish()
        return self.last

    def _hear(self, seen: Seen) -> None:
        # A graph keeps this method for all its calls, so it adds to the history of the last one.
        self.last.seen.append(seen)


def observed(function: types.FunctionType, names: tuple[str, ...]) -> types.FunctionType:
    """The converted function, with calls of `d2s.observe` behind all assignments to names."""
    found: set[str] = set()

    def edit(tree: gast.AST) -> None:
        every: set[str] = set()
        if isinstance(tree, gast.Lambda):
            raise wrong_option("a lambda has no statements to watch", "the same as a `def`")
        if isinstance(tree, gast.FunctionDef):
            parameters = [n.id for n in own_nodes([tree.args]) if isinstance(n, gast.Name)]
            every = {n.id for n in own_nodes(tree.body) if isinstance(n, gast.Name)}
            every |= set(parameters)
            _insert(tree, frozenset(names), found)
            first = [name for name in names if name in parameters]
            found.update(first)
            tree.body = _tell(first, tree) + tree.body
        for name in names:
            if name not in found:
                close = difflib.get_close_matches(name, every, n=1)
                raise wrong_option(
                    f"{function.__qualname__} assigns no variable {name!r}",
                    f"the name of a variable of the function{_hint(close)}",
                )

    return conversion.converted_with(function, edit)


def _hint(close: list[str]) -> str:
    return f"; did you mean {close[0]!r}?" if close else ""


def _insert(node: gast.AST, names: frozenset[str], found: set[str]) -> None:
    for name in _BODIES:
        body = getattr(node, name, None)
        if not isinstance(body, list):
            continue
        new: list[gast.stmt] = []
        for statement in body:
            new.append(statement)
            if isinstance(statement, SCOPES):
                continue
            _insert(statement, names, found)
            told = [n for n in _assigned(statement) if n in names]
            found.update(told)
            if isinstance(statement, gast.For | gast.With | gast.AsyncWith):
                statement.body = _tell(told, statement) + statement.body
            else:
                new += _tell(told, statement)
        setattr(node, name, new)
    for child in [*getattr(node, "handlers", ()), *getattr(node, "cases", ())]:
        _insert(child, names, found)


def _assigned(statement: gast.stmt) -> list[str]:
    """The names that a statement itself assigns, without the statements inside it."""
    heads: list[gast.AST] = []
    if isinstance(statement, gast.Assign):
        heads = [*statement.targets, statement.value]
    elif isinstance(statement, gast.AugAssign | gast.AnnAssign):
        heads = [statement.target] + ([statement.value] if statement.value else [])
    elif isinstance(statement, gast.For):
        heads = [statement.target]
    elif isinstance(statement, gast.With | gast.AsyncWith):
        heads = [item.optional_vars for item in statement.items if item.optional_vars]
    elif isinstance(statement, gast.Expr):
        heads = [statement.value]
    stored = [n for n in own_nodes(heads) if isinstance(getattr(n, "ctx", None), gast.Store)]
    # `x[i] = v` changes what the name has
    names = [_base(node) for node in stored]
    return [name for name in dict.fromkeys(names) if name]


def _base(target: gast.AST) -> str:
    """The name that a target is about; none for an attribute."""
    while isinstance(target, gast.Subscript):
        target = target.value
    return target.id if isinstance(target, gast.Name) else ""


def _tell(names: Iterable[str], at: gast.AST) -> list[gast.stmt]:
    return [
        statement
        for name in names
        for statement in quote(f"d2s.observe({name!r}, {at.lineno}, value)", at, value=name)
    ]
