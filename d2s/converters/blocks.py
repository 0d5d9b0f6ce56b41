"""What the converters of compound statements have in common: the functions blocks become."""

from __future__ import annotations

import gast

from d2s.analysis import Scopes
from d2s.templates import quote


def function(
    name: str, parameters: list[str], shares: set[str], body: list[gast.stmt], at: gast.stmt
) -> list[gast.stmt]:
    """The block as a function; names it shares with code around it are written through."""
    through = sorted(shares & Scopes().uses(body).writes) if shares else []
    return quote(
        "def name(*params):\n    nonlocal through\n    body",
        at,
        name=name,
        params=parameters,
        through=through,
        body=body or quote("pass", at),
    )


def finish(body: list[gast.stmt], gives: list[str], at: gast.stmt) -> list[gast.stmt]:
    """The body with the return of what the block gives; a last assignment is returned directly."""
    if not gives or (body and isinstance(body[-1], gast.Return | gast.Raise)):
        return body
    last = body[-1] if body else None
    if isinstance(last, gast.Assign) and len(last.targets) == 1 and _names(last) == gives:
        return [*body[:-1], *quote("return value", last, value=last.value)]
    return [*body, *quote("return gives", last or at, gives=gives)]


def _names(statement: gast.Assign) -> list[str]:
    """The names an assignment binds, where returning its value is the same as returning them."""
    target = statement.targets[0]
    if isinstance(target, gast.Name):
        return [target.id]
    # a tuple of names takes any iterable apart; what an op gives is a tuple already
    callee = getattr(statement.value, "func", None)
    if not getattr(getattr(callee, "value", None), "generated", False):
        return []
    return [name.id for name in target.elts]


def mark_unbound(names: list[str], at: gast.stmt) -> list[gast.stmt]:
    """The statements that mark names as unbound."""
    return [
        statement
        for name in names
        for statement in quote(f"name = d2s.unbound({name!r})", at, name=name)
    ]


def is_python_bool(test: gast.expr) -> bool:
    """Whether an expression gives a Python bool whatever its operands are."""
    if isinstance(test, gast.Compare):
        return all(isinstance(op, gast.Is | gast.IsNot) for op in test.ops)
    if isinstance(test, gast.UnaryOp) and isinstance(test.op, gast.Not):
        return is_python_bool(test.operand)
    if isinstance(test, gast.BoolOp):
        return all(is_python_bool(value) for value in test.values)
    return isinstance(test, gast.Constant) and isinstance(test.value, bool)
