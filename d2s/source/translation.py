"""Between Python's trees and gast's: what gast does, with short cuts for most of a tree.

A tree is mostly names, constants, calls and marks such as `Load`. gast looks the class and the
method for each of them up by name; here both are looked up once for a class.
"""

from __future__ import annotations

import ast
from typing import Any, ClassVar

import gast
from gast import ast3


def to_gast(node: ast.AST) -> gast.AST:
    """The tree in the node classes that are the same for all versions of Python."""
    return _ToGast().visit(node)


def to_ast(node: gast.AST) -> ast.AST:
    """The tree in Python's own node classes."""
    made: ast.AST = _ToAst().visit(node)
    return made


class _Quick:
    """Mixed into gast's translators."""

    #: what makes a node of a class, by the class
    _makers: ClassVar[dict[type, Any]]
    #: the module with the classes that are made
    _to: Any

    def visit(self, node: Any) -> Any:
        kind = type(node)
        maker = self._makers.get(kind)
        if maker is None:
            maker = self._makers[kind] = self._maker(kind)
        return maker(self, node)

    def _maker(self, kind: type) -> Any:
        special = getattr(type(self), f"visit_{kind.__name__}", None)
        if special is not None:
            return special
        made = getattr(self._to, kind.__name__, None)
        if made is None or kind._fields != made._fields:  # type: ignore[attr-defined]
            return type(self).generic_visit  # type: ignore[attr-defined]
        if not kind._fields and not kind._attributes:  # type: ignore[attr-defined]
            mark = made()  # nobody changes those
            return lambda self, node: mark
        return _generic(made)

    def _visit(self, node: Any) -> Any:
        if isinstance(node, ast.AST):
            return self.visit(node)
        return [self._visit(part) for part in node] if isinstance(node, list) else node


def _generic(made: Any) -> Any:
    fields, attributes = made._fields, made._attributes

    def make(self: Any, node: Any) -> Any:
        given = vars(node)
        kept = {name: self._visit(given[name]) for name in fields if name in given}
        for name in attributes:
            if name in given:
                kept[name] = given[name]
        return made(**kept)

    return make


class _ToGast(_Quick, ast3.Ast3ToGAst):  # type: ignore[misc]
    _makers: ClassVar[dict[type, Any]] = {}
    _to = gast


class _ToAst(_Quick, ast3.GAstToAst3):  # type: ignore[misc]
    _makers: ClassVar[dict[type, Any]] = {}
    _to = ast

    def visit_Name(self, node: Any) -> Any:
        return _placed(ast.Name(node.id, self.visit(node.ctx)), node)


def _placed(made: Any, node: Any) -> Any:
    given = vars(node)
    for name in made._attributes:
        if name in given:
            setattr(made, name, given[name])
    return made
