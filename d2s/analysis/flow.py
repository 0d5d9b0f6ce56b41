"""What a block takes, gives and shares: liveness and definite assignment of one function.

The tree that arrives here has no break, continue or return in the middle of anything (the exits
converter has seen to that), so both analyses are structural and linear: ``needs`` and ``sets`` of
every statement bottom-up, then one walk down.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import gast

from d2s.analysis.scopes import (
    COMPREHENSIONS,
    FUNCTIONS,
    Scopes,
    all_nodes,
    child_nodes,
    own_nodes,
)

#: `sets` of code that never completes: what follows is not reached, so nothing is unbound there
EVERYTHING = None
Sets = set[str] | None


@dataclass
class Block:
    """The interface of one compound statement.

    takes   names handed in: bound before, or marked unbound
    gives   names handed out: bound inside and read by somebody later
    shares  names written through (`nonlocal`): a closure or an exception handler sees them
    fresh   names that must be marked as unbound before the statement
    """

    takes: list[str] = field(default_factory=list)
    gives: list[str] = field(default_factory=list)
    shares: set[str] = field(default_factory=set)
    fresh: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        parts = {"takes": self.takes, "gives": self.gives, "shares": sorted(self.shares)}
        parts["fresh"] = self.fresh
        return ", ".join(f"{name} {' '.join(names)}" for name, names in parts.items() if names)


class Flow:
    """Blocks of a function, and the reads that may find their name unbound."""

    def __init__(
        self,
        function: gast.FunctionDef,
        scopes: Scopes,
        exits: Mapping[int, tuple[gast.For, list[str]]] | None = None,
    ) -> None:
        self._scopes = scopes
        self._exits = exits or {}
        self._summaries: dict[int, tuple[set[str], Sets]] = {}
        self._blocks: dict[int, Block] = {}
        self._doubtful: list[gast.Name] = []
        self._lazy: list[gast.Name] = []
        self._early: set[str] = set()
        self._marked: set[str] = set()
        self._locals = scopes.local_names(function)
        self._order = _first_places(function, scopes.parameters(function))
        outer = scopes.declared(function, gast.Nonlocal)
        captured = scopes.uses(function.body).captured & self._locals
        self._escaping = captured | outer
        bound = set(scopes.parameters(function)) | outer
        self._walk(function.body, set(), set(bound), set(bound), captured | outer)
        inner = [
            name
            for node in own_nodes(function.body)
            if isinstance(node, FUNCTIONS)
            for name in _free_loads(node, scopes.free_names(node))
        ]
        #: names read before anything can have bound them in this function
        self.never_bound = self._sorted(self._early)
        self._marked.update(self.never_bound)
        lazy = {id(name) for name in self._lazy}
        self.unbound_reads = {id(name) for name in self._doubtful if id(name) not in lazy}
        self.free_unbound_reads = {
            id(name) for name in (*inner, *self._lazy) if name.id in self._marked
        }

    def block(self, node: gast.stmt) -> Block:
        return self._blocks[id(node)]

    def dump(self, function: gast.FunctionDef) -> str:
        """One line per block, for tests: ``3 while: takes n steps, gives steps``."""
        rows = []
        for node in own_nodes(function.body):
            if id(node) in self._blocks:
                kind = type(node).__name__.lower()
                rows.append(f"{node.lineno} {kind}: {self._blocks[id(node)]}")
        return "\n".join(rows)

    # -- bottom-up: what a statement needs from before and surely sets ---------------------------

    def _summary(self, body: list[gast.stmt]) -> tuple[set[str], Sets]:
        needs: set[str] = set()
        sets: set[str] = set()
        for statement in body:
            more, now = self._statement_summary(statement)
            needs |= more - sets
            if now is EVERYTHING:
                return needs, EVERYTHING
            sets |= now
        return needs, sets

    def _statement_summary(self, node: gast.stmt) -> tuple[set[str], Sets]:
        known = self._summaries.get(id(node))
        if known is None:
            known = self._summaries[id(node)] = self._summarize(node)
        return known

    def _summarize(self, node: gast.stmt) -> tuple[set[str], Sets]:
        if isinstance(node, gast.If):
            (needs1, sets1), (needs2, sets2) = self._summary(node.body), self._summary(node.orelse)
            return self._reads(node.test) | needs1 | needs2, _both(sets1, sets2)
        if isinstance(node, gast.While):
            return self._reads(node.test) | self._summary(node.body)[0], set()
        if isinstance(node, gast.For):
            target = self._scopes.uses(node.target)
            needs = self._summary(node.body)[0] - target.writes
            return self._reads(node.iter) | target.reads | needs | self._flags(node), set()
        if isinstance(node, gast.Try):
            needs, sets = self._summary([*node.body, *node.orelse])
            for handler in node.handlers:
                more, now = self._summary(handler.body)
                needs |= (more - {_handler_name(handler)}) | self._reads(handler.type)
                sets = _both(sets, now)
            return needs, sets
        uses = self._scopes.uses(node)
        needs = uses.reads | (uses.captured & self._locals)
        return needs, EVERYTHING if isinstance(node, gast.Return | gast.Raise) else uses.writes

    def _flags(self, node: gast.For) -> set[str]:
        """The flags that a for loop reads before each iteration."""
        return set(self._exits[id(node)][1]) if id(node) in self._exits else set()

    def _reads(self, expression: gast.expr | None) -> set[str]:
        if expression is None:
            return set()
        uses = self._scopes.uses(expression)
        return uses.reads | (uses.captured & self._locals)

    # -- top-down: live after, bound before ------------------------------------------------------

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
            needs, sets = self._statement_summary(statement)
            live = needs | (set() if sets is EVERYTHING else live - sets)
        for statement, out in zip(body, reversed(after), strict=True):
            out = out | self._escaping
            self._visit(statement, out, assigned, bound, shared)
            sets = self._statement_summary(statement)[1]
            if assigned is not EVERYTHING:
                assigned = EVERYTHING if sets is EVERYTHING else assigned | sets
            if isinstance(statement, gast.Try) and assigned is not EVERYTHING:
                # Python unbinds the name of a handler when the handler ends
                assigned -= {_handler_name(h) for h in statement.handlers}
            if not isinstance(statement, gast.If | gast.While | gast.For | gast.Try):
                bound |= self._scopes.uses(statement).writes
        return assigned

    def _visit(
        self, node: gast.stmt, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        if isinstance(node, gast.If):
            self._doubt(node.test, assigned, bound)
            self._visit_if(node, live, assigned, bound, shared)
        elif isinstance(node, gast.While):
            needs = self._statement_summary(node)[0]
            self._visit_loop(node, set(), live | needs, live, assigned, bound, shared)
            self._doubt(node.test, assigned, bound)
        elif isinstance(node, gast.For):
            self._doubt(node.iter, assigned, bound)
            targets = self._scopes.uses(node.target).writes
            needs = (self._summary(node.body)[0] - targets) | self._flags(node)
            self._visit_loop(node, targets, live | needs, live, assigned, bound, shared)
        elif isinstance(node, gast.Try):
            self._visit_try(node, live, assigned, bound, shared)
        else:
            self._doubt(node, assigned, bound)

    def _visit_if(
        self, node: gast.If, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        writes = self._scopes.uses([*node.body, *node.orelse]).writes
        needs1, sets1 = self._summary(node.body)
        needs2, sets2 = self._summary(node.orelse)
        sets = _both(sets1, sets2)
        through = set() if sets is EVERYTHING else live - sets
        takes = writes & (needs1 | needs2 | through)
        gives = set() if sets is EVERYTHING else writes & live
        block = self._block(node, takes, gives, writes & shared & (live | needs1 | needs2), bound)
        for body in (node.body, node.orelse):
            inside = self._inside(bound, body, block)
            self._walk(body, live, _copy(assigned), inside, shared)

    def _visit_loop(
        self,
        node: gast.While | gast.For,
        targets: set[str],
        head: set[str],
        live: set[str],
        assigned: Sets,
        bound: set[str],
        shared: set[str],
    ) -> None:
        writes = self._scopes.uses(node.body).writes | targets
        state = writes & head
        block = self._block(node, state, state, writes & shared & head, bound)
        now = _copy(assigned)
        if now is not EVERYTHING:
            now |= targets
        inside = self._inside(bound, node.body, block) | targets
        self._walk(node.body, head, now, inside, shared)

    def _visit_try(
        self, node: gast.Try, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        """Everything written here and read outside the part that writes it is written through."""
        handled: set[str] = set()
        for handler in node.handlers:
            handled |= self._summary(handler.body)[0] - {_handler_name(handler)}
            self._doubt(handler.type, assigned, bound)
        everything = [*node.body, *node.orelse, *(s for h in node.handlers for s in h.body)]
        named = {_handler_name(handler) for handler in node.handlers} & live
        writes = self._scopes.uses(everything).writes | named
        needed = self._summary(node.body)[0] | self._summary(node.orelse)[0]
        seen = writes & (live | handled | needed)
        block = self._block(node, set(), set(), seen, bound)
        self._marked |= named
        inner = shared | seen
        tried = self._walk(
            node.body, live | seen, _copy(assigned), self._inside(bound, node.body, block), inner
        )
        self._walk(node.orelse, live, tried, self._inside(bound, node.orelse, block), inner)
        if assigned is not EVERYTHING:
            # handlers inside the body may have unbound their names before it failed
            assigned = assigned - {
                _handler_name(n) for n in own_nodes(node.body) if isinstance(n, gast.ExceptHandler)
            }
        for handler in node.handlers:
            # what the body assigned before it failed may or may not be there
            inside = self._inside(bound, handler.body, block)
            self._walk(handler.body, live, _handled(assigned, handler), inside, inner)

    def _block(
        self, node: gast.stmt, takes: set[str], gives: set[str], shares: set[str], bound: set[str]
    ) -> Block:
        fresh = (takes | shares) - bound
        # a name that is only given is bound afterwards on every path; nothing to mark
        block = Block(
            takes=self._sorted(takes - shares),
            gives=self._sorted(gives - shares),
            shares=shares,
            fresh=self._sorted(fresh),
        )
        self._blocks[id(node)] = block
        self._marked |= fresh
        bound |= fresh | takes | gives | shares
        return block

    def _inside(self, bound: set[str], body: list[gast.stmt], block: Block) -> set[str]:
        """What is bound at the start of the function that a block becomes."""
        own = self._scopes.uses(body).writes - block.shares
        return (bound - own) | set(block.takes)

    def _sorted(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: self._order.get(name, 0))

    def _doubt(self, node: gast.AST | None, assigned: Sets, bound: set[str]) -> None:
        """Remember the reads of names that are not surely assigned here."""
        if node is None or assigned is EVERYTHING:
            return
        for name in _loads(node):
            if name.id in self._locals and name.id not in assigned:
                self._doubtful.append(name)
                if name.id not in bound:
                    self._early.add(name.id)
        for comprehension in _comprehensions(node):
            # it runs in a function of its own, where the name is free
            for name in _loads(comprehension):
                if name.id in self._locals and name.id not in assigned:
                    self._lazy.append(name)


def _loads(node: gast.AST) -> Iterable[gast.Name]:
    """The names a statement or expression reads; of inner functions what surrounds their bodies."""
    stack = [node]
    while stack:
        one = stack.pop()
        if isinstance(one, gast.Name):
            if isinstance(one.ctx, gast.Load):
                yield one
        elif isinstance(one, gast.AugAssign) and isinstance(one.target, gast.Name):
            yield one.target
            stack.append(one.value)
        elif isinstance(one, FUNCTIONS):
            stack += [*one.args.defaults, *(d for d in one.args.kw_defaults if d is not None)]
            stack += getattr(one, "decorator_list", [])
        else:
            stack += child_nodes(one)


def _free_loads(function: gast.AST, free: set[str]) -> Iterable[gast.Name]:
    """The reads of free names in the body of a function, functions inside it included."""
    body = [function.body] if isinstance(function, gast.Lambda) else function.body
    for statement in body:
        for node in all_nodes(statement):
            if isinstance(node, gast.Name) and isinstance(node.ctx, gast.Load) and node.id in free:
                yield node


#: comprehensions that are functions of their own; from Python 3.12 on only generators are
_FUNCTIONS_OF_THEIR_OWN = gast.GeneratorExp if sys.version_info >= (3, 12) else COMPREHENSIONS


def _comprehensions(node: gast.AST) -> Iterable[gast.AST]:
    """The parts of comprehensions that run in a function of their own."""
    for one in all_nodes(node):
        if isinstance(one, _FUNCTIONS_OF_THEIR_OWN):
            first, *rest = one.generators
            yield from (*first.ifs, *rest)
            yield from (getattr(one, n) for n in ("elt", "key", "value") if hasattr(one, n))


def _first_places(function: gast.FunctionDef, parameters: list[str]) -> dict[str, int]:
    order: dict[str, int] = {}
    for name in parameters:
        order.setdefault(name, len(order))
    for node in own_nodes(function.body):
        if isinstance(node, gast.Name):
            order.setdefault(node.id, len(order))
        elif isinstance(node, gast.FunctionDef):
            order.setdefault(node.name, len(order))
    return order


def _handler_name(handler: gast.ExceptHandler) -> str:
    name = handler.name
    return "" if name is None else (name if isinstance(name, str) else name.id)


def _handled(assigned: Sets, handler: gast.ExceptHandler) -> Sets:
    return EVERYTHING if assigned is EVERYTHING else assigned | {_handler_name(handler)}


def _both(one: Sets, other: Sets) -> Sets:
    if one is EVERYTHING:
        return other
    if other is EVERYTHING:
        return one
    return one & other


def _copy(names: Sets) -> Sets:
    return EVERYTHING if names is EVERYTHING else set(names)
