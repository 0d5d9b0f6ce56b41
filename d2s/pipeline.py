"""The compiler on one page: which converters run, in which order, and how.

Order is meaning, so it is written down once, here.
"""

from __future__ import annotations

import ast
import linecache
import sys
import textwrap
import types
from typing import Any

import gast

from d2s import emit
from d2s.analysis import Flow, Scopes
from d2s.converters.asserts import Asserts
from d2s.converters.base import Context, Converter
from d2s.converters.bool_ops import BoolOps
from d2s.converters.calls import Calls
from d2s.converters.compare import Compare
from d2s.converters.exits import Exits
from d2s.converters.fence import Fence
from d2s.converters.for_stmt import ForStmt
from d2s.converters.formatted import Formatted
from d2s.converters.if_exp import IfExp
from d2s.converters.if_stmt import IfStmt
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
    (UnboundReads, IfExp, BoolOps, Compare, Calls, Asserts, Formatted),
)


def run(unit: Unit, known: dict[str, object], until: str = "") -> tuple[gast.AST, str]:
    """Convert the tree of a unit; also the name by which it calls d2s.

    `known` are the values of its global names, as far as they are known.
    """
    names = {node.id for node in gast.walk(unit.tree) if isinstance(node, gast.Name)}
    names |= {n.name for n in gast.walk(unit.tree) if isinstance(n, gast.FunctionDef)}
    bound = Scopes().local_names(unit.tree)
    visible = {name: value for name, value in known.items() if name not in bound}
    context = Context(unit, Names(names, unit.first_line), globals=visible)
    tree = unit.tree
    for group in PASSES:
        tree = _Walk(context, group).visit(tree)
        if until in {converter.__name__ for converter in group}:
            break
    runtime = "d2s"
    if runtime in names and known.get(runtime, None) is not sys.modules["d2s"]:
        (runtime,) = context.names.fresh("d2s_")
        for node in gast.walk(tree):
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
            for name in dir(converter):
                if name.startswith("visit_"):
                    node_class = getattr(gast, name.removeprefix("visit_"))
                    self._visitors.setdefault(node_class, []).append(getattr(converter, name))

    def visit(self, node: gast.AST) -> Any:
        if self._needs_flow and isinstance(node, gast.FunctionDef):
            outer = self._context.flow
            self._context.flow = Flow(node, Scopes(), self._context.exits)
            self._context.unbound_reads |= self._context.flow.unbound_reads
            self._context.free_unbound_reads |= self._context.flow.free_unbound_reads
            self._children(node)
            self._context.flow = outer
        else:
            self._children(node)
        for visitor in self._visitors.get(type(node), ()):
            node = visitor(node)
            if isinstance(node, list):
                break
        return node

    def _children(self, node: gast.AST) -> None:
        for field, value in gast.iter_fields(node):
            if isinstance(value, list):
                changed: list[Any] = []
                for child in value:
                    new = self.visit(child) if isinstance(child, gast.AST) else child
                    changed.extend(new) if isinstance(new, list) else changed.append(new)
                value[:] = changed
            elif isinstance(value, gast.AST):
                setattr(node, field, self.visit(value))


def example(source: str, until: str = "") -> str:
    """What a snippet becomes, for the doctests of the converters."""
    lines = textwrap.dedent(source).strip().splitlines(keepends=True)
    tree = gast.ast_to_gast(ast.parse("".join(lines))).body[0]
    unit = Unit(tree, tree.name, "example.py", tuple(lines), ())
    linecache.cache["example.py"] = (0, None, lines, "example.py")
    converted, _ = run(unit, {"jnp": types.ModuleType("jax.numpy")}, until)
    return emit.source(emit.to_ast(converted))
