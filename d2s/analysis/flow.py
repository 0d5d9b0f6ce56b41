"""What a block takes, gives and shares: liveness and definite assignment of one function.

A block becomes a function, so it must be known which names go in and which come out::

    while n != 1:                    takes n steps, gives n steps: both are read again, by the next
        half = n // 2                trip or behind the loop. `half` is a temporary: every trip
        n = half + n % 2             sets it before it reads it, and nobody else does.
        steps += 1

The tree that arrives here has no break, continue or return in the middle of anything (the exits
converter has seen to that), so both analyses follow the structure and are linear: what every
statement needs and sets from the inside out (`summaries`), then one walk from the outside in, here.
`unbound` collects what the walk finds out about names without a value.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

import gast

from d2s.analysis.facts import deleted, handler_name, writes_last
from d2s.analysis.function_names import FunctionNames
from d2s.analysis.nodes import Switch
from d2s.analysis.order import bound_by_thunks
from d2s.analysis.scopes import Scopes, own_nodes
from d2s.analysis.summaries import EVERYTHING, Sets, Summaries, both, copied, either
from d2s.analysis.unbound import UnboundNames


@dataclass
class Block:
    """The interface of one compound statement.

    takes    names handed in: bound before, or marked unbound
    gives    names handed out: bound inside and read by somebody later
    shares   names written through (`nonlocal`): a closure or an exception handler sees them
    globals  names of the module that are written
    """

    takes: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    shares: set[str] = field(default_factory=set)
    globals: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        parts = {"takes": self.takes, "gives": self.gives, "shares": sorted(self.shares)}
        parts["globals"] = sorted(self.globals)
        return ", ".join(f"{name} {' '.join(names)}" for name, names in parts.items() if names)


class Flow:
    """Blocks of a function, and the reads that may find their name unbound."""

    def __init__(
        self,
        function: gast.FunctionDef,
        scopes: Scopes,
        exits: Mapping[int, tuple[gast.stmt, list[str]]] | None = None,
        still_local: Set[str] = frozenset(),
    ) -> None:
        self._names = names = FunctionNames(function, scopes, still_local)
        self._summaries = Summaries(names, exits or {})
        self._unbound = UnboundNames(names)
        self._blocks: dict[int, Block] = {}
        #: how many blocks are around what is visited
        self._depth = 0
        self._escaping = names.captured | names.nonlocals
        bound = {*names.parameters, *names.nonlocals}
        self._walk(function.body, set(), set(bound), set(bound), self._escaping)
        found = self._unbound.finish()
        #: names to mark as unbound at the start; reads to check, and those in functions inside
        self.never_bound, self.unbound_reads, self.free_unbound_reads = found

    def block(self, node: gast.stmt) -> Block:
        return self._blocks[id(node)]

    def marks(self, node: gast.stmt) -> list[str]:
        """Names that must be marked as unbound before a statement."""
        return self._names.in_order(self._unbound.marks(node))

    def dump(self, function: gast.FunctionDef) -> str:
        """One line per block, for tests: ``3 while: takes n steps, gives steps``."""
        rows = []
        for node in own_nodes(function.body):
            if id(node) in self._blocks:
                kind = type(node).__name__.lower()
                marks = self.marks(node)
                row = f"{self._blocks[id(node)]}{', ' * bool(marks)}fresh {' '.join(marks)}"
                rows.append(f"{node.lineno} {kind}: {row if marks else self._blocks[id(node)]}")
        return "\n".join(rows)

    def _walk(
        self,
        body: list[gast.stmt],
        live: set[str],
        assigned: Sets,
        bound: set[str],
        shared: set[str],
    ) -> Sets:
        """Visit statements in order; returns the names surely assigned at the end.

        live      names read after the block
        assigned  names surely assigned here
        bound     names that have a value or the unbound mark in this (generated) function
        shared    names that nested blocks must write through
        """
        after: list[set[str]] = []
        for statement in reversed(body):
            after.append(live)
            needs, sets = self._summaries.of(statement)
            live = needs | (set() if sets is EVERYTHING else live - sets)
        for statement, out in zip(body, reversed(after), strict=True):
            out = out | shared  # a failure may make anything written here seen at any time
            maybe = self._bound_by_operands(statement)
            for name in maybe:
                self._unbound.needed(name)
            self._mark(statement, maybe - bound, bound)
            before = set(bound)
            self._visit(statement, out, assigned, bound, shared)
            sets = self._summaries.of(statement)[1]
            assigned = either(assigned, sets)
            if assigned is not EVERYTHING:
                assigned = assigned - self._names.unbinds([statement])
            self._unbound.is_marked(deleted(statement))
            if not isinstance(statement, gast.If | Switch | gast.While | gast.For | gast.Try):
                writes = self._names.writes([statement])
                if isinstance(statement, gast.With | gast.TryStar):
                    sure = set() if sets is EVERYTHING else sets
                    self._unbound.may_leave_unbound(statement, writes - sure - before)
                bound |= writes
        return assigned

    def _walk_inside(
        self,
        body: list[gast.stmt],
        live: set[str],
        assigned: Sets,
        bound: set[str],
        shared: set[str],
    ) -> Sets:
        """`_walk` in the function that a block becomes."""
        self._depth += 1
        assigned = self._walk(body, live, assigned, bound, shared)
        self._depth -= 1
        return assigned

    def _visit(
        self, node: gast.stmt, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        if isinstance(node, gast.If | Switch):
            self._read(self._summaries.branches(node)[0], assigned, bound)
            self._visit_if(node, live, assigned, bound, shared)
        elif isinstance(node, gast.While):
            needs = self._summaries.of(node)[0]
            self._visit_loop(node, set(), live | needs, assigned, bound, shared)
            # the test is asked again after a trip, which may have unbound a name
            unbinds = self._names.unbinds(node.body)
            again = assigned if assigned is EVERYTHING else assigned - unbinds
            self._unbound.read(node.test, again, bound, in_block=True)
        elif isinstance(node, gast.For):
            self._read(node.iter, assigned, bound)
            bound |= self._names.sure(node.iter)
            targets = self._names.writes([node.target])
            needs = (self._summaries.of_body(node.body)[0] - targets) | self._summaries.flags(node)
            self._visit_loop(node, targets, live | needs, assigned, bound, shared)
        elif isinstance(node, gast.With):
            self._visit_with(node, live, assigned, bound, shared)
        elif isinstance(node, gast.Try | gast.TryStar):
            self._visit_try(node, live, assigned, bound, shared)
        else:
            self._read(node, assigned, bound)

    def _visit_if(
        self, node: gast.stmt, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        test, bodies = self._summaries.branches(node)
        bound |= self._names.sure(test)
        writes = self._names.writes([statement for body, _ in bodies for statement in body])
        needs = set().union(*(self._summaries.of_body(body)[0] for body, _ in bodies))
        sets = EVERYTHING
        for body, _ in bodies:
            sets = both(sets, self._summaries.of_body(body)[1])
        through = set() if sets is EVERYTHING else live - sets
        takes = writes & (needs | through)
        gives = set() if sets is EVERYTHING else writes & live
        shares = writes & shared & (live | needs)
        # nothing can fail after a last write, so nobody sees that it is handed out instead
        shares -= {
            name
            for name in shares - self._escaping
            if all(writes_last(body, name) for body, _ in bodies)
        }
        block = self._block(node, takes, gives, shares, bound)
        # in a graph, what an operand binds may be bound for some values only, also in a branch
        doubtful = bound_by_thunks(test) if self._names.has_walrus else set()
        for body, sure in bodies:
            inside = self._inside(bound, body, block)
            self._walk_inside(body, live, either(assigned, sure - doubtful), inside, shared)

    def _visit_loop(
        self,
        node: gast.While | gast.For,
        targets: set[str],
        head: set[str],
        assigned: Sets,
        bound: set[str],
        shared: set[str],
    ) -> None:
        """`head` are the names read after the loop or by the next trip."""
        writes = self._names.writes(node.body) | targets
        state = writes & head
        block = self._block(node, state, state, writes & shared & head, bound)
        now = copied(assigned)
        if now is not EVERYTHING:
            # a trip before may have unbound a name
            now = (now - self._names.unbinds(node.body)) | targets
        inside = self._inside(bound, node.body, block) | targets
        self._walk_inside(node.body, head, now, inside, shared)

    def _visit_with(
        self, node: gast.With, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        """It stays a `with`; what its blocks wrote before a failure may be read after it."""
        scopes = self._names.scopes
        for item in node.items:
            self._read(item.context_expr, assigned, bound)
            more = scopes.uses([item.context_expr]).writes
            if item.optional_vars is not None:
                self._read(item.optional_vars, assigned, bound)
                more = more | scopes.uses(item.optional_vars).writes
            self._mark(node, scopes.uses(item.context_expr).maybe - bound, bound)
            assigned = assigned if assigned is EVERYTHING else assigned | more
            bound |= more - self._names.globals
        seen = self._names.writes(node.body) & live
        self._walk(node.body, live, copied(assigned), set(bound), shared | seen)

    def _visit_try(
        self,
        node: gast.Try | gast.TryStar,
        live: set[str],
        assigned: Sets,
        bound: set[str],
        shared: set[str],
    ) -> None:
        """Everything written here and read outside the part that writes it is written through."""
        needs = self._summaries.of_body
        handled = needs(node.finalbody)[0]
        for handler in node.handlers:
            handled = handled | (needs(handler.body)[0] - {handler_name(handler)})
            self._read(handler.type, assigned, bound)
        handlers = [statement for handler in node.handlers for statement in handler.body]
        named = {handler_name(handler) for handler in node.handlers} & live
        every = [*node.body, *node.orelse, *handlers, *node.finalbody]
        writes = self._names.writes(every) | named
        needed = needs(node.body)[0] | needs(node.orelse)[0]
        seen = writes & (live | handled | needed)
        inner = shared | seen
        walk = self._walk_inside
        block = Block()
        if isinstance(node, gast.TryStar):
            # it stays as it is: its parts are no functions, and know what is bound around them
            walk, block = self._walk, Block(shares=writes)
        else:
            block = self._block(node, set(), set(), seen, bound)
            self._unbound.is_marked(named)
        in_body = self._inside(bound, node.body, block)
        tried = walk(node.body, live | seen, copied(assigned), in_body, inner)
        walk(node.orelse, live, tried, self._inside(bound, node.orelse, block), inner)
        if assigned is not EVERYTHING:
            # handlers inside the body may have unbound their names before it failed
            assigned = assigned - self._names.unbinds(node.body)
        for handler in node.handlers:
            # what the body assigned before it failed may or may not be there
            inside = self._inside(bound, handler.body, block)
            walk(handler.body, live, either(assigned, {handler_name(handler)}), inside, inner)
        left = self._summaries.flags(node)
        inside = self._inside(bound, node.finalbody, block)
        walk(node.finalbody, live | left, copied(assigned), inside, inner)

    def _block(
        self, node: gast.stmt, takes: set[str], gives: set[str], shares: set[str], bound: set[str]
    ) -> Block:
        # a name that is only given is bound afterwards on every path; nothing to mark
        self._mark(node, (takes | shares) - bound, bound)
        block = Block(
            takes=self._names.in_order(takes - shares),
            gives=self._names.in_order(gives - shares),
            shares=shares,
            globals=self._names.scopes.uses(node).writes & self._names.globals,
        )
        for name in takes | shares:
            self._unbound.needed(name)
        self._blocks[id(node)] = block
        bound |= takes | gives | shares
        return block

    def _inside(self, bound: set[str], body: list[gast.stmt], block: Block) -> set[str]:
        """What is bound at the start of the function that a block becomes."""
        own = self._names.writes(body) - block.shares
        return (bound - own) | set(block.takes)

    def _mark(self, node: gast.stmt, names: set[str], bound: set[str]) -> None:
        self._unbound.mark(node, names)
        bound |= names

    def _read(self, node: gast.AST | None, assigned: Sets, bound: set[str]) -> None:
        self._unbound.read(node, assigned, bound, in_block=self._depth > 0)

    def _bound_by_operands(self, node: gast.stmt) -> set[str]:
        """Names that `:=` may bind in the expressions of a statement.

        Operands that may be left out become functions, which write the names from inside.
        """
        scopes = self._names.scopes
        if isinstance(node, gast.If | gast.While):
            return scopes.uses(node.test).maybe
        if isinstance(node, gast.For):
            return scopes.uses(node.iter).maybe
        if isinstance(node, Switch | gast.Try | gast.TryStar | gast.With):
            return set()
        return scopes.uses(node).maybe
