"""The compiler on one page: which converters run, in which order, and how.

The order of converters is part of what they mean, so it is written down once, here. ::

    while x < 9:                  Exits       while not broke_1 and x < 9: ...
        if x == 7: break    =>    IfStmt      def then_2(...), def else_2(...), d2s.cond(...)
        x += 1                    WhileStmt   def test_1(...), def body_1(...), d2s.while_loop(...)
                                  BoolOps     d2s.all_(d2s.not_(broke_1), lambda: x < 9)
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

from d2s.analysis import Flow, Scopes, nodes
from d2s.analysis.scopes import (
    BLOCKS,
    COMPREHENSIONS,
    FUNCTIONS,
    SCOPES,
    all_nodes,
    bound_as_text,
    child_nodes,
    functions_in_class,
    node_fields,
    runs_later,
)
from d2s.converters.asserts import Asserts
from d2s.converters.base import Context, Converter, Written
from d2s.converters.blocks import mark_unbound
from d2s.converters.bool_ops import BoolOps
from d2s.converters.calls import Calls, name_super, untell_super
from d2s.converters.chains import FindChains, LongChains, SwitchStmt
from d2s.converters.class_bodies import ClassBodies
from d2s.converters.compare import Compare
from d2s.converters.declarations import Declarations
from d2s.converters.delete import Delete
from d2s.converters.exits import Exits
from d2s.converters.fence import Fence
from d2s.converters.finally_stmt import SplitFinally
from d2s.converters.for_stmt import ForStmt
from d2s.converters.formatted import Formatted
from d2s.converters.if_exp import IfExp
from d2s.converters.if_stmt import IfStmt
from d2s.converters.loop_else import LoopElse
from d2s.converters.match_stmt import MatchStmt
from d2s.converters.power import Power
from d2s.converters.subscripts import SubscriptReads, SubscriptWrites
from d2s.converters.try_stmt import TryStmt
from d2s.converters.unbound import UnboundReads
from d2s.converters.walrus import LoopWalrus
from d2s.converters.while_stmt import WhileStmt
from d2s.converters.with_stmt import WithStmt
from d2s.source import emit
from d2s.source.naming import Names
from d2s.source.parser import Unit
from d2s.source.translation import to_gast

#: Each group is one walk over the tree, children before parents.
PASSES: tuple[tuple[type[Converter], ...], ...] = (
    # say no to everything unknown, so that the rest may assume
    (Fence,),
    # syntax that is a short way of writing other syntax
    (
        Declarations,
        Delete,
        MatchStmt,
        LongChains,
        LoopElse,
        LoopWalrus,
        SplitFinally,
        SubscriptWrites,
    ),
    # control leaves blocks only at their end: afterwards liveness is structural
    (Exits, FindChains),
    # blocks become functions; needs the flow of names, computed on the tree as Exits left it
    (IfStmt, SwitchStmt, WhileStmt, ForStmt, TryStmt, WithStmt),
    # expressions, also those that the converters above made
    (UnboundReads, IfExp, BoolOps, Compare, Power, SubscriptReads, Calls, Asserts, Formatted),
)

#: what is converted in the body of a class: functions made of its blocks would not see its names
_IN_CLASSES = (UnboundReads, Calls, ClassBodies)


def run(unit: Unit, known: dict[str, object], until: str = "") -> tuple[gast.AST, str, set[str]]:
    """Convert the tree of a unit; also the name by which it calls d2s, and all generated names.

    `known` are the values of its global names, as far as they are known.
    """
    written, names, has_super = _written(unit, known)
    context = Context(written, Names(names, unit.first_line))
    tree = unit.tree
    for group in PASSES:
        tree = _Walk(context, group).run(tree)
        if until in {converter.__name__ for converter in group}:
            break
    if has_super:
        untell_super(tree, context.names.made)
    if len(written.nodes) > 3 * MAX_DEPTH and depth(tree) > MAX_DEPTH:
        raise RecursionError
    runtime = "d2s"
    if runtime in names and written.globals.get(runtime) is not sys.modules["d2s"]:
        # the user means something else by `d2s`
        (runtime,) = context.names.fresh("d2s_")
        for node in all_nodes(tree):
            if getattr(node, "generated", False):
                node.id = runtime
    return tree, runtime, context.names.made


def _written(unit: Unit, known: dict[str, object]) -> tuple[Written, set[str], bool]:
    """What the converters may know of a unit, all its names, and whether it calls `super`.

    A call ``super()`` is told its arguments here, before anybody asks what the function reads.
    """
    names: set[str] = set()
    bound: set[str] = set()
    every = list(all_nodes(unit.tree))
    for node in every:
        if isinstance(node, gast.Name):
            names.add(node.id)
            if not isinstance(node.ctx, gast.Load):
                bound.add(node.id)
        else:
            bound |= bound_as_text(node)
    names |= bound
    has_super = "super" in names and "super" not in bound and "super" not in known
    if has_super:
        name_super(unit.tree, "__class__" in unit.free_names)
        every = list(all_nodes(unit.tree))
    kinds = {type(node) for node in every}
    # a name bound anywhere in the function may hide the module of that name
    visible = {name: value for name, value in known.items() if name not in bound}
    return Written(unit, every, bound, kinds, visible), names, has_super


#: syntax that makes a function run later than it is called
_LATER = {gast.Yield, gast.YieldFrom, gast.AsyncFunctionDef}

#: functions inside functions of generated code that Python's stack has room for
MAX_DEPTH = 180


def depth(tree: gast.AST) -> int:
    """How deep functions stand inside functions."""
    deepest = 0
    stack = [(tree, 0)]
    while stack:
        node, level = stack.pop()
        level += isinstance(node, FUNCTIONS)
        deepest = max(deepest, level)
        stack += [(child, level) for child in child_nodes(node)]
    return deepest


class _Walk:
    """One walk: every node is offered to the converters of the group that know its class."""

    def __init__(self, context: Context, group: tuple[type[Converter], ...]) -> None:
        self._context = context
        self._visitors: dict[type[gast.AST], list[Any]] = {}
        self._needs_flow = IfStmt in group
        self._reads = UnboundReads in group
        self._has_later = not _LATER.isdisjoint(context.written.kinds)
        self._in_class = group == _IN_CLASSES
        self._everywhere = self._in_class or group == (UnboundReads,)
        for kind in group:
            converter = kind(context)
            for node_class, name in _visitors(kind):  # type: ignore[arg-type]
                self._visitors.setdefault(node_class, []).append(getattr(converter, name))

        self._fields: tuple[str, ...] | None = None
        if all(issubclass(node_class, gast.stmt) for node_class in self._visitors):
            # statements are all that this group knows, and no expression has one inside
            self._fields = BLOCKS

    def run(self, tree: gast.AST) -> gast.AST:
        return self.visit(tree) if self._visitors else tree

    def visit(self, node: gast.AST) -> Any:
        if isinstance(node, FUNCTIONS) and self._in_class:
            self._children(node, tuple(name for name in node._fields if name != "body"))
            return node
        if isinstance(node, SCOPES) and not self._everywhere:
            return self._visit_scope(node, node._fields)
        fields = self._fields or node_fields(type(node))
        if isinstance(node, COMPREHENSIONS):
            self._context.here.in_expression += 1
            self._children(node, fields)
            self._context.here.in_expression -= 1
        elif fields:
            self._children(node, fields)
        return self._rewritten(node)

    def _visit_scope(self, node: gast.AST, fields: tuple[str, ...]) -> Any:
        if self._fields is not None:
            fields = tuple(name for name in fields if name in self._fields)
        if isinstance(node, gast.ClassDef):
            self._visit_class(node, fields)
        elif self._has_later and runs_later(node):
            self._mark_reads(node)
            return node
        else:
            self._visit_function(node, fields)
        return self._rewritten(node)

    def _visit_function(self, node: gast.AST, fields: tuple[str, ...]) -> None:
        context, here, notes = self._context, self._context.here, self._context.notes
        outer = here.flow, here.declared_global, here.in_expression
        here.in_expression = int(isinstance(node, gast.Lambda))
        flow = None
        if isinstance(node, gast.FunctionDef):
            scopes = Scopes()
            has_global = gast.Global in context.written.kinds
            here.declared_global = scopes.declared(node, gast.Global) if has_global else set()
            if self._needs_flow:
                still_local = notes.still_local.get(id(node), set())
                flow = here.flow = Flow(node, scopes, notes.exits, still_local)
                notes.unbound_reads |= flow.unbound_reads
                notes.free_unbound_reads |= flow.free_unbound_reads
        self._children(node, fields)
        if flow is not None:
            node.body = mark_unbound(flow.never_bound, node.body[0]) + node.body
        here.flow, here.declared_global, here.in_expression = outer

    def _visit_class(self, node: gast.ClassDef, fields: tuple[str, ...]) -> None:
        """The body of a class runs as it is, but for calls; functions it makes are converted."""
        self._children(node, tuple(name for name in fields if name != "body"))
        if self._reads:
            _Walk(self._context, _IN_CLASSES)._children(node, ("body",))
        for function in functions_in_class(node):
            self._visit_scope(function, ("body",))

    def _mark_reads(self, node: gast.AST) -> None:
        """In code that stays as it is, names from around it may be marked as unbound."""
        if self._reads:
            _Walk(self._context, (UnboundReads,))._children(node, node._fields)

    def _rewritten(self, node: gast.AST) -> Any:
        marks = []
        if self._needs_flow and isinstance(node, gast.stmt) and self._context.here.flow is not None:
            marks = mark_unbound(self._context.here.flow.marks(node), node)
        elif type(node) not in self._visitors:
            return node
        before: list[gast.AST] = marks
        after: list[gast.AST] = []
        for visitor in self._visitors.get(type(node), ()):
            new = visitor(node)
            if not isinstance(new, list):
                node = new
                continue
            place = next((n for n, one in enumerate(new) if one is node), None)
            if place is None:
                return [*before, *new, *after]
            # the converter put statements around this one, which the next converters may change
            before, after = [*before, *new[:place]], [*new[place + 1 :], *after]
        return [*before, node, *after] if before or after else node

    def _children(self, node: gast.AST, fields: tuple[str, ...]) -> None:
        for field in fields:
            value = getattr(node, field, None)
            if not value:
                continue
            if isinstance(value, list):
                changed: list[Any] = []
                for child in value:
                    new = self.visit(child) if isinstance(child, gast.AST) else child
                    if self._context.here.before_statement and isinstance(child, gast.stmt):
                        changed += self._context.here.before_statement
                        self._context.here.before_statement = []
                    changed.extend(new) if isinstance(new, list) else changed.append(new)
                value[:] = changed
            elif isinstance(value, gast.AST) and value._fields:
                setattr(node, field, self.visit(value))


@cache
def _visitors(kind: Any) -> list[tuple[type[gast.AST], str]]:
    """Node classes that a converter knows, with its methods for them."""
    names = [name for name in dir(kind) if name.startswith("visit_")]
    kinds = (name.removeprefix("visit_") for name in names)
    return [
        (getattr(gast, kind, None) or getattr(nodes, kind), name)
        for kind, name in zip(kinds, names, strict=True)
    ]


def example(source: str, until: str = "") -> str:
    """What a snippet becomes, for the doctests of the converters."""
    lines = textwrap.dedent(source).strip().splitlines(keepends=True)
    tree = to_gast(ast.parse("".join(lines))).body[0]
    unit = Unit(tree, tree.name, "example.py", tuple(lines), ())
    linecache.cache["example.py"] = (0, None, lines, "example.py")
    converted, _, _ = run(unit, {"jnp": types.ModuleType("jax.numpy")}, until)
    return emit.source(emit.to_ast(converted))
