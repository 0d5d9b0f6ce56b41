"""What is known of named dimensions: ``"b >= 2"``, ``"mod(t, 8) == 0"``, ``"b <= 4*t"``.

>>> read("mod(t, 8) == 0").holds({"t": 16}), read("b <= 4*t").holds({"b": 9, "t": 2})
(True, False)
"""

from __future__ import annotations

import ast
import functools
import itertools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from d2s.errors import Error, wrong_option

Sizes = Mapping[str, int]
Expression = Callable[[Sizes], int]

_COMPARISONS: dict[type, Any] = {ast.GtE: operator.ge, ast.LtE: operator.le, ast.Eq: operator.eq}
_OPERATORS: dict[type, Any] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Any] = {
    "mod": operator.mod,
    "floordiv": operator.floordiv,
    "max": max,
    "min": min,
}
#: how many combinations of sizes are tried
_TRIALS = 20_000


@dataclass(frozen=True)
class Constraint:
    """A comparison of two expressions of named dimensions."""

    text: str
    names: frozenset[str]
    compare: Callable[[int, int], bool]
    left: Expression
    right: Expression

    def holds(self, sizes: Sizes) -> bool:
        try:
            return bool(self.compare(self.left(sizes), self.right(sizes)))
        except ZeroDivisionError:
            return False


@functools.lru_cache
def read(text: str) -> Constraint:
    """A constraint from its text; what it cannot mean is refused."""
    try:
        tree = ast.parse(text.strip().replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError):
        raise _unreadable(text) from None
    if not isinstance(tree, ast.Compare) or len(tree.ops) != 1:
        raise _unreadable(text)
    compare = _COMPARISONS.get(type(tree.ops[0]))
    if compare is None:
        raise _unreadable(text)
    names: set[str] = set()
    left, right = (_expression(side, names, text) for side in (tree.left, tree.comparators[0]))
    if not names:
        raise _unreadable(text)
    return Constraint(text, frozenset(names), compare, left, right)


def _expression(node: ast.expr, names: set[str], text: str) -> Expression:
    """What computes an expression from sizes; the names in it are collected."""
    match node:
        case ast.Constant(value=int() as number) if type(number) is int:
            return lambda sizes: number
        case ast.Name(id=name):
            names.add(name)
            return lambda sizes: sizes[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            inner = _expression(operand, names, text)
            return lambda sizes: -inner(sizes)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            return _applied(_OPERATORS[type(op)], [left, right], names, text)
        case ast.Call(func=ast.Name(id=name), args=[_, _], keywords=[]) if name in _FUNCTIONS:
            return _applied(_FUNCTIONS[name], node.args, names, text)
    raise _unreadable(text)


def _applied(function: Any, nodes: list[ast.expr], names: set[str], text: str) -> Expression:
    one, other = (_expression(node, names, text) for node in nodes)
    return lambda sizes: int(function(one(sizes), other(sizes)))


def _unreadable(text: str) -> Error:
    return wrong_option(
        f"the constraint {text!r} cannot be read",
        'a comparison by >=, <= or ==, for example "b >= 2", "t <= 512" or "mod(t, 8) == 0"',
    )


def known(given: Any) -> tuple[str, ...]:
    """The constraints of a specification as a tuple of texts, each of which can be read."""
    texts = (given,) if isinstance(given, str) else given
    if not isinstance(texts, list | tuple) or not all(isinstance(text, str) for text in texts):
        raise wrong_option(
            f"constraints is {given!r}", 'a text or several, such as "b >= 2" or ("b >= 2",)'
        )
    for text in texts:
        read(text)
    return tuple(texts)


def refuse_strangers(texts: Iterable[str], names: Iterable[str]) -> None:
    """Refuse constraints on dimensions that no specification has."""
    there = sorted(set(names))
    for text in texts:
        for name in sorted(read(text).names - set(there)):
            raise wrong_option(
                f"the constraint {text!r}: no specification has a dimension {name}",
                f"one of {', '.join(there)}" if there else "a name for the dimension",
            )


def fitting(
    texts: Sequence[str], names: Sequence[str], fixed: Sizes, candidates: Sequence[int]
) -> dict[str, int]:
    """Sizes that keep to the constraints, the first candidates first; none if none are found."""
    rules = [read(text) for text in texts]
    free = [name for name in dict.fromkeys(names) if name not in fixed]
    choices = itertools.product(candidates, repeat=len(free))
    for choice in itertools.islice(choices, _TRIALS):
        sizes = {**fixed, **dict(zip(free, choice, strict=True))}
        if all(rule.holds(sizes) for rule in rules if rule.names <= set(sizes)):
            return sizes
    return dict(fixed)
