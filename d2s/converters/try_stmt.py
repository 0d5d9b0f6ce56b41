"""``try``/``except`` becomes functions and ``d2s.try_except``.

What the body wrote before it failed stays visible, so its names are written through.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     try:
...         y = g(x)
...     except ValueError as e:
...         y = e.args
...     return y
... '''))
def f(x):
    y = d2s.unbound('y')
    def try_2():
        nonlocal y
        y = d2s.fn(g)(x)
    def except_4(e):
        nonlocal y
        y = e.args
    d2s.try_except(try_2, (ValueError, except_4))
    return y
>>> print(example('''
... def f(x):
...     try:
...         return g(x)
...     finally:
...         h(x)
... '''))
def f(x):
    result = d2s.unbound()
    def try_2():
        nonlocal result
        result = d2s.fn(g)(x)
    def finally_5():
        d2s.fn(h)(x)
    d2s.try_finally(try_2, finally_5)
    return result
"""

from __future__ import annotations

import builtins

import gast

from d2s.analysis.scopes import all_nodes
from d2s.converters.base import Converter
from d2s.converters.blocks import function
from d2s.source.templates import quote, quote_expression


class TryStmt(Converter):
    """`try` with `except` and `else`, or with `finally`."""

    removes = (gast.Try,)

    def visit_Try(self, node: gast.Try) -> list[gast.stmt]:
        block = self.block(node)
        names = self.context.names
        (body,) = names.fresh("try", line=node.lineno)
        statements = function(body, [], block, node.body, node)
        if node.finalbody:
            return statements + self._finally(node, body)
        handlers = []
        for handler in node.handlers:
            name, error = names.fresh("except", "error", line=handler.lineno)
            inside = handler.body
            if handler.name is not None:
                caught = handler.name if isinstance(handler.name, str) else handler.name.id
                if caught in block.shares:
                    # somebody reads the name later: Python leaves it unbound in any case
                    inside = quote(
                        f"caught = error\ntry:\n    inside\n"
                        f"finally:\n    caught = d2s.unbound({caught!r})",
                        handler,
                        caught=caught,
                        error=error,
                        inside=inside,
                    )
                elif _mentions(inside, caught):
                    error = caught
            statements += function(name, [error], block, inside, handler)
            kind = self._kind(handler)
            handlers.append(quote_expression("(kind, name)", handler, kind=kind, name=name))
        template = "d2s.try_except(body, *handlers)"
        parts = {}
        if node.orelse:
            (parts["orelse"],) = names.fresh("else", line=node.orelse[0].lineno)
            statements += function(parts["orelse"], [], block, node.orelse, node.orelse[0])
            template = "d2s.try_except(body, *handlers, orelse=orelse)"
        return statements + quote(template, node, body=body, handlers=handlers, **parts)

    def _finally(self, node: gast.Try, body: str) -> list[gast.stmt]:
        at = node.finalbody[0]
        (final,) = self.context.names.fresh("finally", line=at.lineno)
        _, left = self.context.notes.exits.get(id(node), (node, []))
        # a `finally` that leaves swallows the exception, so it says whether it left
        inside = node.finalbody
        if left:
            inside = [*inside, *quote(f"return {' or '.join(left)}", at)]
        return [
            *function(final, [], self.block(node), inside, at),
            *quote("d2s.try_finally(body, final)", node, body=body, final=final),
        ]

    def _kind(self, handler: gast.ExceptHandler) -> gast.expr:
        """The handler's classes; looked up only when needed unless they surely are there."""
        if handler.type is None:
            return quote_expression("None", handler)
        kinds = handler.type.elts if isinstance(handler.type, gast.Tuple) else [handler.type]
        if all(isinstance(kind, gast.Name) and self._is_there(kind.id) for kind in kinds):
            return handler.type
        return quote_expression("lambda: kind", handler.type, kind=handler.type)

    def _is_there(self, name: str) -> bool:
        return name in self.context.written.globals or hasattr(builtins, name)


def _mentions(body: list[gast.stmt], name: str) -> bool:
    nodes = (node for statement in body for node in all_nodes(statement))
    return any(isinstance(node, gast.Name) and node.id == name for node in nodes)
