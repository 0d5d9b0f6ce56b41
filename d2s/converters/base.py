"""The one shape of all converters, and what the runner hands to them.

A converter for ``a @ b`` would be ::

    class MatMul(Converter):
        def visit_BinOp(self, node):
            if not isinstance(node.op, gast.MatMult):
                return node
            return quote_expression("d2s.matmul(a, b)", node, a=node.left, b=node.right)

and one more entry in the list of `d2s.pipeline`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import gast

from d2s.analysis import Block, Flow
from d2s.analysis.scopes import own_nodes
from d2s.source.naming import Names
from d2s.source.parser import Unit


@dataclass
class Written:
    """The function as the user wrote it; no converter changes what is said here."""

    unit: Unit
    #: every node of the tree
    nodes: list[gast.AST]
    #: every name that is bound somewhere in it
    bound: set[str]
    #: the classes of its nodes
    kinds: set[type[gast.AST]]
    #: values of the names from outside (``jnp``) that nothing in the function hides
    globals: dict[str, object]


@dataclass
class Here:
    """What surrounds the node being converted; the runner keeps it up to date."""

    #: the names of the innermost function, once control leaves blocks only at their end
    flow: Flow | None = None
    #: names declared `global` in the innermost function
    declared_global: set[str] = field(default_factory=set)
    #: not 0 inside a lambda or a comprehension, where no statement can go
    in_expression: int = 0
    #: functions of operands, which the runner puts before the statement being converted
    before_statement: list[gast.stmt] = field(default_factory=list)


@dataclass
class Notes:
    """What converters and analyses tell the converters that run after them.

    Statements are meant by the ids of their nodes; what keeps a node alive keeps its id its own.
    """

    #: flags that end a `for` loop early, or tell that a `finally` left, by statement
    exits: dict[int, tuple[gast.stmt, list[str]]] = field(default_factory=dict)
    #: the break flag that is asked for after a loop, by loop
    broke: dict[int, tuple[gast.stmt, str]] = field(default_factory=dict)
    #: by function, the names that only dropped statements bind, which nothing reaches
    still_local: dict[int, set[str]] = field(default_factory=dict)
    #: functions that are the test of a loop
    tests: set[str] = field(default_factory=set)
    #: reads of names that may be unbound, by node
    unbound_reads: set[int] = field(default_factory=set)
    #: the same in inner functions, where the name is free
    free_unbound_reads: set[int] = field(default_factory=set)


@dataclass
class Context:
    """What the runner hands to every converter of one function."""

    written: Written
    #: hands out names that the user does not have
    names: Names
    here: Here = field(default_factory=Here)
    notes: Notes = field(default_factory=Notes)


class Converter:
    """Rewrites one kind of syntax.

    A subclass has a method ``visit_X`` for each node class it rewrites. The runner calls it with a
    node whose children are already converted, and puts what it returns (a node, or a list of
    statements) in its place. It never looks at other functions and never runs an analysis itself.
    """

    #: node classes of the source that no longer occur once the converter has run (tests check it)
    removes: tuple[type[gast.AST], ...] = ()

    def __init__(self, context: Context) -> None:
        self.context = context

    def block(self, node: gast.stmt) -> Block:
        assert self.context.here.flow is not None, "the runner computes the flow of every function"
        return self.context.here.flow.block(node)

    def returns(self, node: gast.stmt) -> bool:
        """Whether a branch returns; since the exits were converted, it does so on every side."""
        return any(isinstance(inner, gast.Return) for inner in own_nodes([node]))
