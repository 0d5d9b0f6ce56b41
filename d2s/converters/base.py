"""The one shape of all converters."""

from __future__ import annotations

from dataclasses import dataclass, field

import gast

from d2s.analysis import Block, Flow
from d2s.analysis.scopes import own_nodes
from d2s.source.naming import Names
from d2s.source.parser import Unit


@dataclass
class Context:
    """What the runner hands to every converter of one function."""

    unit: Unit
    names: Names
    #: every node of the tree as the user wrote it
    nodes: list[gast.AST]
    #: every name that is bound somewhere in it
    bound: set[str] = field(default_factory=set)
    #: the classes of its nodes
    kinds: set[type[gast.AST]] = field(default_factory=set)
    #: set by the runner for the innermost function around the node being converted
    flow: Flow | None = None
    #: names that mean a library (``jnp``) where the function was defined: name -> module or object
    globals: dict[str, object] = field(default_factory=dict)
    #: flags that end a `for` loop early, or tell that a `finally` left, by statement
    exits: dict[int, tuple[gast.stmt, list[str]]] = field(default_factory=dict)
    #: break flags that are asked for after the loop, by loop
    broke: dict[int, tuple[gast.stmt, str]] = field(default_factory=dict)
    #: names that only statements bind which nothing reaches, and which were dropped: by function
    still_local: dict[int, set[str]] = field(default_factory=dict)
    #: functions that are the test of a loop
    tests: set[str] = field(default_factory=set)
    #: names declared `global` in the innermost function
    declared_global: set[str] = field(default_factory=set)
    #: inside a lambda or a comprehension, where no statement can go
    in_expression: int = 0
    #: functions of operands, which go before the statement being converted
    before_statement: list[gast.stmt] = field(default_factory=list)
    #: reads of names that may be unbound, by node
    unbound_reads: set[int] = field(default_factory=set)
    #: the same in inner functions, where the name is free
    free_unbound_reads: set[int] = field(default_factory=set)


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
        assert self.context.flow is not None, "the runner computes the flow of every function"
        return self.context.flow.block(node)

    def returns(self, node: gast.stmt) -> bool:
        """Whether a branch returns; since the exits were converted, it does so on every side."""
        return any(isinstance(inner, gast.Return) for inner in own_nodes([node]))
