"""Quasi-quotation: templates look like the code they become.

>>> from d2s.source.emit import source, to_ast
>>> from d2s.source.templates import quote
>>> body = quote("return n // 2")
>>> block = quote("def name(*params): body", name="then_4", params=["n"], body=body)
>>> print(source(to_ast(block[0])))
def then_4(n):
    return n // 2
>>> call = quote("targets = d2s.cond(test, *state)", targets=["a", "b"], state=["a"])
>>> print(source(to_ast(call[0])))
a, b = d2s.cond(test, a)

A name of the template that is a keyword argument stands for its value: a string renames it, a
node replaces it, a list is spliced where a list can stand (statements, call arguments, parameters,
assignment targets, the names of ``nonlocal`` and ``global``).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, TypeAlias

import gast

Part: TypeAlias = str | gast.AST | Sequence[Any]


def quote(template: str, at: gast.AST | None = None, **parts: Part) -> list[gast.stmt]:
    """The statements of a template with its parts filled in, positioned at node `at`."""
    filled = [s for statement in _parsed(template) for s in _Fill(parts, at).statement(statement)]
    return filled


def quote_expression(template: str, at: gast.AST | None = None, **parts: Part) -> gast.expr:
    (statement,) = quote(template, at, **parts)
    return statement.value


@cache
def _parsed(template: str) -> list[gast.stmt]:
    body: list[gast.stmt] = gast.parse(template).body
    return body


class _Fill:
    """Copies a template, replacing the names that are parts."""

    def __init__(self, parts: dict[str, Part], at: gast.AST | None) -> None:
        self._parts, self._at = parts, at

    def statement(self, node: gast.stmt) -> list[gast.stmt]:
        if isinstance(node, gast.Expr) and isinstance(node.value, gast.Name):
            part = self._parts.get(node.value.id)
            if isinstance(part, list):
                return part
        copied = self.copy(node)
        if isinstance(copied, gast.Global | gast.Nonlocal):
            names = self._parts.get(copied.names[0], copied.names)
            copied.names = list(names)
            return [copied] if names else []
        if isinstance(copied, gast.FunctionDef):
            copied.name = self._parts.get(copied.name, copied.name)
        return [copied]

    def copy(self, node: Any) -> Any:
        kind = type(node)
        if kind is gast.Name:
            part = self._parts.get(node.id)
            if part is None:
                copied = self._place(gast.Name(node.id, node.ctx, None, None))
                copied.generated = node.id == "d2s"
                return copied
            if isinstance(part, str):
                return self._place(gast.Name(part, node.ctx, None, None))
            if isinstance(part, gast.AST):
                return part
            return self._tuple(part, node.ctx)
        if kind is gast.arguments:
            return self._arguments(node)
        if not isinstance(node, gast.AST) or not (kind._fields or kind._attributes):
            return node
        fields = {}
        for name in kind._fields:
            value = getattr(node, name)
            if not isinstance(value, list):
                fields[name] = self.copy(value) if isinstance(value, gast.AST) else value
            elif value and isinstance(value[0], gast.stmt):
                fields[name] = [s for statement in value for s in self.statement(statement)]
            else:
                fields[name] = [item for child in value for item in self._items(child)]
        return self._place(type(node)(**fields))

    def _items(self, child: Any) -> list[Any]:
        if isinstance(child, gast.Starred) and isinstance(child.value, gast.Name):
            part = self._parts.get(child.value.id)
            if isinstance(part, list | tuple):
                return [self._name(p, child.ctx) for p in part]
        return [self.copy(child)]

    def _arguments(self, node: gast.arguments) -> gast.arguments:
        spliced = self._parts.get(node.vararg.id) if node.vararg is not None else None
        own = [self.copy(argument) for argument in node.args]
        if spliced is not None:
            own += [self._name(p, gast.Param()) for p in spliced]
        vararg = node.vararg if spliced is None else None
        return gast.arguments(own, [], vararg, [], [], None, [])

    def _tuple(self, part: Sequence[Any], ctx: gast.expr_context) -> gast.expr:
        items = [self._name(p, ctx) for p in part]
        return items[0] if len(items) == 1 else self._place(gast.Tuple(items, ctx))

    def _name(self, part: Any, ctx: gast.expr_context) -> gast.expr:
        if isinstance(part, gast.AST):
            return part
        return self._place(gast.Name(part, ctx, None, None))

    def _place(self, node: gast.AST) -> gast.AST:
        if self._at is not None and "lineno" in node._attributes:
            at = self._at
            node.lineno = node.end_lineno = at.lineno
            node.col_offset = at.col_offset
            # the header, not the whole block: carets stay short
            header = getattr(at, "test", None) or getattr(at, "iter", None) or at
            same = header.end_lineno == at.lineno
            node.end_col_offset = header.end_col_offset if same else at.col_offset + 1
        return node
