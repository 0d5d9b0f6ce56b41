"""What the converters of compound statements share: the functions that blocks become.

A block ``n = n // 2`` that takes and gives `n` becomes ::

    def then_2(n):
        return n // 2

and names that it shares with a closure or a handler are declared `nonlocal` in it.
"""

from __future__ import annotations

from collections.abc import Iterator

import gast

from d2s.analysis import Block, Scopes
from d2s.analysis.scopes import SCOPES, own_nodes
from d2s.converters.base import Context
from d2s.source.templates import quote, quote_expression


def function(
    name: str, parameters: list[str], block: Block, body: list[gast.stmt], at: gast.stmt
) -> list[gast.stmt]:
    """The block as a function; names it shares with code around it are written through."""
    for statements in own_bodies(body) if block.shares else ():
        statements[:] = [_without_annotation(s, block.shares) for s in statements]
    writes = Scopes().uses(body).writes if block.shares or block.globals else set()
    return quote(
        "def name(*params):\n    global outside\n    nonlocal through\n    body",
        at,
        name=name,
        params=parameters,
        outside=sorted(block.globals & writes),
        through=sorted(block.shares & writes),
        body=body or quote("pass", at),
    )


def _without_annotation(node: gast.stmt, shares: set[str]) -> gast.stmt:
    """An assignment without its annotation: Python refuses one of a name that is `nonlocal`."""
    if not isinstance(node, gast.AnnAssign) or getattr(node.target, "id", "") not in shares:
        return node
    made = quote("target = value", node, target=node.target, value=node.value or node.target)
    return made[0] if node.value is not None else quote("pass", node)[0]


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


def own_bodies(body: list[gast.stmt]) -> Iterator[list[gast.stmt]]:
    """Every list of statements of a function, those of functions and classes inside left out."""
    yield body
    for statement in body:
        if isinstance(statement, SCOPES):
            continue
        for name in ("body", "orelse", "finalbody"):
            if getattr(statement, name, None):
                yield from own_bodies(getattr(statement, name))
        for name in ("handlers", "cases"):
            for part in getattr(statement, name, ()):
                yield from own_bodies(part.body)


def is_docstring(statement: gast.stmt) -> bool:
    value = getattr(statement, "value", None)
    text = isinstance(value, gast.Constant) and isinstance(value.value, str)
    return isinstance(statement, gast.Expr) and text


def binds(expression: gast.expr) -> set[str]:
    """The names that ``:=`` binds in an expression, for the function around it."""
    nodes = own_nodes([expression])
    return {node.target.id for node in nodes if isinstance(node, gast.NamedExpr)}


def as_test(node: gast.expr) -> gast.expr:
    """A converted expression of which only the truth counts: the same is true of its operands."""
    stack = [node]
    while stack:
        operand = stack.pop()
        if isinstance(operand, gast.Lambda):
            operand = operand.body
        if isinstance(operand, gast.BoolOp):
            stack += operand.values
        elif is_op(operand, "and_", "or_"):
            operand.func.attr = "all_" if operand.func.attr == "and_" else "any_"
            stack += operand.args
    return node


def is_op(node: gast.AST, *names: str) -> bool:
    """Whether this is a call of one of these ops."""
    if not isinstance(node, gast.Call) or not isinstance(node.func, gast.Attribute):
        return False
    return getattr(node.func.value, "generated", False) and node.func.attr in names


def thunk(context: Context, kind: str, value: gast.expr) -> gast.expr:
    """A function of no arguments for an operand that may be left out.

    Where the operand binds names it cannot be a lambda: its function goes before the statement.
    """
    names = binds(value)
    if not names:
        return quote_expression("lambda: value", value, value=value)
    (name,) = context.names.fresh(kind, line=value.lineno)
    context.here.before_statement += quote(
        "def name():\n    global outside\n    nonlocal through\n    return value",
        value,
        name=name,
        outside=sorted(names & context.here.declared_global),
        through=sorted(names - context.here.declared_global),
        value=value,
    )
    return quote_expression("name", value, name=name)
