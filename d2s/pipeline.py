"""The compiler on one page: which converters run, in which order, and how.

Order is meaning, so it is written down once, here.
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
import types
from functools import cache
from typing import Any

import gast

from d2s import emit
from d2s.analysis import Flow, Scopes
from d2s.analysis.scopes import all_nodes
from d2s.converters.asserts import Asserts
from d2s.converters.base import Context, Converter
from d2s.converters.blocks import mark_unbound
from d2s.converters.bool_ops import BoolOps
from d2s.converters.calls import Calls
from d2s.converters.compare import Compare
from d2s.converters.exits import Exits
from d2s.converters.fence import Fence
from d2s.converters.for_stmt import ForStmt
from d2s.converters.formatted import Formatted
from d2s.converters.if_exp import IfExp
from d2s.converters.if_stmt import IfStmt
from d2s.converters.power import Power
from d2s.converters.try_stmt import TryStmt
from d2s.converters.unbound import UnboundReads
from d2s.converters.while_stmt import WhileStmt
from d2s.naming import Names
from d2s.parser import Unit

#: Each group is one walk over the tree, children before parents.
PASSES: tuple[tuple[type[Converter], ...], ...] = (
    # say no to everything unknown, so that the rest may assume
    (Fence,),
    # control leaves blocks only at their end: afterwards liveness is structural
    (Exits,),
    # blocks become functions; needs the flow of names, computed on the tree as Exits left it
    (IfStmt, WhileStmt, ForStmt, TryStmt),
    # expressions, also those that the converters above made
    (UnboundReads, IfExp, BoolOps, Compare, Power, Calls, Asserts, Formatted),
)


def run(unit: Unit, known: dict[str, object], until: str = "") -> tuple[gast.AST, str]:
    """Convert the tree of a unit; also the name by which it calls d2s.

    `known` are the values of its global names, as far as they are known.
    """
    names: set[str] = set()
    bound: set[str] = set()
    nodes = list(all_nodes(unit.tree))
    for node in nodes:
        if isinstance(node, gast.Name):
            names.add(node.id)
            if not isinstance(node.ctx, gast.Load):
                bound.add(node.id)
        elif isinstance(node, gast.FunctionDef):
            names.add(node.name)
    # a name bound anywhere in the function may hide the module of that name
    visible = {name: value for name, value in known.items() if name not in bound}
    context = Context(unit, Names(names, unit.first_line), nodes, globals=visible)
    tree = unit.tree
    for group in PASSES:
        tree = _Walk(context, group).run(tree)
        if until in {converter.__name__ for converter in group}:
            break
    runtime = "d2s"
    if runtime in names and visible.get(runtime) is not sys.modules["d2s"]:
        (runtime,) = context.names.fresh("d2s_")
        for node in all_nodes(tree):
            if getattr(node, "generated", False):
                node.id = runtime
    return tree, runtime


class _Walk:
    """One walk: every node is offered to the converters of the group that know its class."""

    def __init__(self, context: Context, group: tuple[type[Converter], ...]) -> None:
        self._context = context
        self._visitors: dict[type[gast.AST], list[Any]] = {}
        self._needs_flow = IfStmt in group
        for kind in group:
            converter = kind(context)
            for node_class, name in _visitors(kind):  # type: ignore[arg-type]
                self._visitors.setdefault(node_class, []).append(getattr(converter, name))

        self._fields: tuple[str, ...] | None = None
        if all(issubclass(node_class, gast.stmt) for node_class in self._visitors):
            self._fields = ("body", "orelse", "handlers")  # no statement is in an expression

    def run(self, tree: gast.AST) -> gast.AST:
        return self.visit(tree) if self._visitors else tree

    def visit(self, node: gast.AST) -> Any:
        if self._needs_flow and isinstance(node, gast.FunctionDef):
            outer = self._context.flow
            self._context.flow = Flow(node, Scopes(), self._context.exits)
            self._context.unbound_reads |= self._context.flow.unbound_reads
            self._context.free_unbound_reads |= self._context.flow.free_unbound_reads
            self._children(node)
            node.body = mark_unbound(self._context.flow.never_bound, node.body[0]) + node.body
            self._context.flow = outer
        else:
            self._children(node)
        for visitor in self._visitors.get(type(node), ()):
            node = visitor(node)
            if isinstance(node, list):
                break
        return node

    def _children(self, node: gast.AST) -> None:
        for field in self._fields or node._fields:
            value = getattr(node, field, None)
            if isinstance(value, list):
                if not value:
                    continue
                changed: list[Any] = []
                for child in value:
                    new = self.visit(child) if isinstance(child, gast.AST) else child
                    changed.extend(new) if isinstance(new, list) else changed.append(new)
                value[:] = changed
            elif isinstance(value, gast.AST) and value._fields:
                setattr(node, field, self.visit(value))


@cache
def _visitors(kind: Any) -> list[tuple[type[gast.AST], str]]:
    """Node classes that a converter knows, with its methods for them."""
    names = [name for name in dir(kind) if name.startswith("visit_")]
    return [(getattr(gast, name.removeprefix("visit_")), name) for name in names]


def example(source: str, until: str = "") -> str:
    """What a snippet becomes, for the doctests of the converters."""
    lines = textwrap.dedent(source).strip().splitlines(keepends=True)
    tree = gast.ast_to_gast(ast.parse("".join(lines))).body[0]
    unit = Unit(tree, tree.name, "example.py", tuple(lines), ())
    linecache.cache["example.py"] = (0, None, lines, "example.py")
    converted, _ = run(unit, {"jnp": types.ModuleType("jax.numpy")}, until)
    return emit.source(emit.to_ast(converted))
