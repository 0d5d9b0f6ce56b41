"""What a block takes, gives and shares: liveness and definite assignment of one function.

The tree that arrives here has no break, continue or return in the middle of anything (the exits
converter has seen to that), so both analyses are structural and linear: ``needs`` and ``sets`` of
every statement bottom-up, then one walk down.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

import gast

from d2s.analysis.facts import (
    body_of,
    comprehension_parts,
    deleted,
    first_places,
    free_loads,
    handler_name,
    writes_last,
)
from d2s.analysis.nodes import Switch
from d2s.analysis.order import Evaluated, bound_by_thunks, evaluate, is_python_bool
from d2s.analysis.scopes import (
    FUNCTIONS,
    SCOPES,
    Scopes,
    all_nodes,
    own_nodes,
)

#: `sets` of code that never completes: what follows is not reached, so nothing is unbound there
EVERYTHING = None
Sets = set[str] | None


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
        exits: Mapping[int, tuple[gast.For, list[str]]] | None = None,
        still_local: Set[str] = frozenset(),
    ) -> None:
        self._scopes = scopes
        self._exits = exits or {}
        self._summaries: dict[int, tuple[set[str], Sets]] = {}
        self._blocks: dict[int, Block] = {}
        self._marks: dict[int, set[str]] = {}
        #: names that a statement which stays as it is may leave unbound, and that statement
        self._suspects: dict[str, gast.stmt] = {}
        self._depth = 0
        self._doubtful: list[gast.Name] = []
        self._natural: list[gast.Name] = []
        self._lazy: list[gast.Name] = []
        self._early: set[str] = set()
        self._marked: set[str] = set()
        bound_here = scopes.local_names(function)
        self._locals = bound_here | still_local
        self._globals = scopes.declared(function, gast.Global)
        own = list(own_nodes(function.body))
        self._has_walrus = any(isinstance(n, gast.NamedExpr) for n in own)
        self._unbinds_any = any(isinstance(n, gast.ExceptHandler) or deleted(n) for n in own)
        self._order = first_places(function, scopes.parameters(function))
        outer = scopes.declared(function, gast.Nonlocal)
        #: functions and classes made here
        self._scopes_inside = [node for node in own if isinstance(node, SCOPES)]
        #: names that a function inside may delete, at any time
        self._deleted_inside = {
            name
            for outer in self._scopes_inside
            for node in all_nodes(outer)
            if isinstance(node, FUNCTIONS)
            for statement in own_nodes(body_of(node))
            for name in deleted(statement) & scopes.declared(node, gast.Nonlocal)
        } & self._locals
        self._marked |= self._deleted_inside
        captured = scopes.uses(function.body).captured & self._locals
        self._escaping = captured | outer
        bound = set(scopes.parameters(function)) | outer
        self._walk(function.body, set(), set(bound), set(bound), captured | outer)
        inner = [name for node in self._scopes_inside for name in free_loads(node, scopes)]
        #: names read before anything can have bound them in this function
        self.never_bound = self._sorted(self._early | (captured & still_local) - bound_here)
        self._marked.update(self.never_bound)
        lazy = {id(name) for name in self._lazy}
        # where no block is in between and nothing marks the name, Python itself sees to it
        self._doubtful += [name for name in self._natural if name.id in self._marked]
        self.unbound_reads = {id(name) for name in self._doubtful if id(name) not in lazy}
        self.free_unbound_reads = {
            id(name) for name in (*inner, *self._lazy) if name.id in self._marked
        }

    def block(self, node: gast.stmt) -> Block:
        return self._blocks[id(node)]

    def marks(self, node: gast.stmt) -> list[str]:
        """Names that must be marked as unbound before a statement."""
        return self._sorted(self._marks.get(id(node), ()))

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
        if isinstance(node, gast.If | Switch):
            test, bodies = self._branches(node)
            sets, needs = EVERYTHING, self._reads(test)
            for body, sure in bodies:
                more, now = self._summary(body)
                needs = needs | (more - sure)
                sets = _both(sets, _either(now, sure))
            return needs, sets
        if isinstance(node, gast.While):
            return self._reads(node.test) | self._summary(node.body)[0], set()
        if isinstance(node, gast.For):
            target = self._scopes.uses(node.target)
            needs = self._summary(node.body)[0] - target.writes
            needs |= self._reads(node.iter) | target.reads | self._flags(node)
            return needs, self._sure(node.iter)
        if isinstance(node, gast.With):
            sure = self._entered(node)
            needs = self._summary(node.body)[0] - sure
            for item in node.items:
                needs |= self._reads(item.context_expr) | self._reads(item.optional_vars)
            return needs, sure
        if isinstance(node, gast.Try | gast.TryStar):
            return self._summarize_try(node)
        uses = self._scopes.uses(node)
        sets = uses.writes - uses.maybe
        return self._reads(node), EVERYTHING if isinstance(node, gast.Return | gast.Raise) else sets

    def _summarize_try(self, node: gast.Try | gast.TryStar) -> tuple[set[str], Sets]:
        needs, sets = self._summary([*node.body, *node.orelse])
        if node.finalbody:
            more, now = self._summary(node.finalbody)
            return needs | more, now if id(node) in self._exits else _either(sets, now)
        if isinstance(node, gast.TryStar):
            sets = set()  # some of its handlers may have run, or several
        for handler in node.handlers:
            more, now = self._summary(handler.body)
            needs |= (more - {handler_name(handler)}) | self._reads(handler.type)
            sets = _both(sets, now)
        return needs, sets

    def _sure(self, expression: gast.expr) -> set[str]:
        """The names that `:=` surely binds in an expression."""
        return self._evaluated(expression).sure

    def _entered(self, node: gast.With) -> set[str]:
        """What a `with` binds before its body runs: a name cannot fail to take its value."""
        targets = [item.optional_vars for item in node.items[:1]]
        sure = {target.id for target in targets if isinstance(target, gast.Name)}
        return sure | self._sure(node.items[0].context_expr)

    def _flags(self, node: gast.For) -> set[str]:
        """The flags that a for loop reads before each iteration."""
        return set(self._exits[id(node)][1]) if id(node) in self._exits else set()

    def _reads(self, expression: gast.expr | None) -> set[str]:
        if expression is None:
            return set()
        uses = self._scopes.uses(expression)
        late = uses.captured & self._locals
        if not uses.writes or not self._has_walrus:
            return uses.reads | late
        return {name.id for name in evaluate(expression, self._scopes).early} | late

    def _evaluated(self, expression: gast.expr) -> Evaluated:
        """What `:=` binds in an expression, and when."""
        if not self._has_walrus or not self._scopes.uses(expression).writes:
            return Evaluated()
        return evaluate(expression, self._scopes)

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
            out = out | shared  # a failure may make anything written here seen at any time
            maybe = self._maybe(statement)
            for name in maybe:
                self._suspect(name)
            self._mark(statement, maybe - bound, bound)
            before = set(bound)
            self._visit(statement, out, assigned, bound, shared)
            sets = self._statement_summary(statement)[1]
            if assigned is not EVERYTHING:
                assigned = EVERYTHING if sets is EVERYTHING else assigned | sets
            if assigned is not EVERYTHING:
                assigned = assigned - self._unbinds([statement])
            self._marked |= deleted(statement)
            if not isinstance(statement, gast.If | Switch | gast.While | gast.For | gast.Try):
                writes = self._scopes.uses(statement).writes - self._globals
                if isinstance(statement, gast.With | gast.TryStar):
                    sure = set() if sets is EVERYTHING else sets
                    doubtful = writes - sure - before
                    self._suspects |= dict.fromkeys(doubtful, statement)
                bound |= writes
        return assigned

    def _mark(self, node: gast.stmt, names: set[str], bound: set[str]) -> None:
        self._marks.setdefault(id(node), set()).update(names)
        self._marked |= names
        bound |= names

    def _maybe(self, node: gast.stmt) -> set[str]:
        """Names that `:=` may bind in the expressions of a statement: written from inside."""
        if isinstance(node, gast.If | gast.While):
            return self._scopes.uses(node.test).maybe
        if isinstance(node, gast.For):
            return self._scopes.uses(node.iter).maybe
        if isinstance(node, Switch | gast.Try | gast.TryStar | gast.With):
            return set()
        return self._scopes.uses(node).maybe

    def _unbinds(self, body: list[gast.stmt]) -> set[str]:
        """Names that code may leave unbound: deleted ones, and those of ended handlers."""
        found: set[str] = set()
        for node in own_nodes(body) if self._unbinds_any else ():
            if isinstance(node, gast.ExceptHandler):
                found.add(handler_name(node))
            elif isinstance(node, gast.Assign):
                found |= deleted(node)
        return found

    def _visit(
        self, node: gast.stmt, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        if isinstance(node, gast.If | Switch):
            self._doubt(self._branches(node)[0], assigned, bound)
            self._visit_if(node, live, assigned, bound, shared)
        elif isinstance(node, gast.While):
            needs = self._statement_summary(node)[0]
            self._visit_loop(node, set(), live | needs, live, assigned, bound, shared)
            # the test is asked again after an iteration, which may have unbound a name
            again = assigned if assigned is EVERYTHING else assigned - self._unbinds(node.body)
            self._depth += 1
            self._doubt(node.test, again, bound)
            self._depth -= 1
        elif isinstance(node, gast.For):
            self._doubt(node.iter, assigned, bound)
            bound |= self._sure(node.iter)
            targets = self._scopes.uses(node.target).writes - self._globals
            needs = (self._summary(node.body)[0] - targets) | self._flags(node)
            self._visit_loop(node, targets, live | needs, live, assigned, bound, shared)
        elif isinstance(node, gast.With):
            self._visit_with(node, live, assigned, bound, shared)
        elif isinstance(node, gast.Try | gast.TryStar):
            self._visit_try(node, live, assigned, bound, shared)
        else:
            self._doubt(node, assigned, bound)

    def _branches(
        self, node: gast.stmt
    ) -> tuple[gast.expr, list[tuple[list[gast.stmt], set[str]]]]:
        """What a branch tests; its bodies, and the names that the test binds for each."""
        if isinstance(node, Switch):
            bodies = [*(case.body for case in node.cases), node.orelse]
            return node.subject, [(body, set()) for body in bodies]
        test = self._evaluated(node.test)
        skipping = node.test.values[:-1] if isinstance(node.test, gast.BoolOp) else [node.test]
        if all(map(is_python_bool, skipping)):
            return node.test, [(node.body, test.when_true), (node.orelse, test.when_false)]
        # in a graph, what an operand binds that may be left out is doubtful whatever the truth is
        return node.test, [(node.body, test.sure), (node.orelse, test.sure)]

    def _visit_if(
        self, node: gast.stmt, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        test, bodies = self._branches(node)
        bound |= self._sure(test)
        writes = self._writes([statement for body, _ in bodies for statement in body])
        needs = set().union(*(self._summary(body)[0] for body, _ in bodies))
        sets = EVERYTHING
        for body, _ in bodies:
            sets = _both(sets, self._summary(body)[1])
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
        doubtful = bound_by_thunks(test) if self._has_walrus else set()
        for body, sure in bodies:
            inside = self._inside(bound, body, block)
            self._walk_inside(body, live, _either(assigned, sure - doubtful), inside, shared)

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

    def _writes(self, body: list[gast.stmt]) -> set[str]:
        """What statements write, names of the module left out."""
        return self._scopes.uses(body).writes - self._globals

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
        writes = self._writes(node.body) | targets
        state = writes & head
        block = self._block(node, state, state, writes & shared & head, bound)
        now = _copy(assigned)
        if now is not EVERYTHING:
            # an iteration before may have unbound a name
            now = (now - self._unbinds(node.body)) | targets
        inside = self._inside(bound, node.body, block) | targets
        self._walk_inside(node.body, head, now, inside, shared)

    def _visit_with(
        self, node: gast.With, live: set[str], assigned: Sets, bound: set[str], shared: set[str]
    ) -> None:
        """It stays a `with`; what its blocks wrote before a failure may be read after it."""
        for item in node.items:
            self._doubt(item.context_expr, assigned, bound)
            more = self._scopes.uses([item.context_expr]).writes
            if item.optional_vars is not None:
                self._doubt(item.optional_vars, assigned, bound)
                more = more | self._scopes.uses(item.optional_vars).writes
            self._mark(node, self._scopes.uses(item.context_expr).maybe - bound, bound)
            assigned = assigned if assigned is EVERYTHING else assigned | more
            bound |= more - self._globals
        seen = self._writes(node.body) & live
        self._walk(node.body, live, _copy(assigned), set(bound), shared | seen)

    def _visit_try(
        self,
        node: gast.Try | gast.TryStar,
        live: set[str],
        assigned: Sets,
        bound: set[str],
        shared: set[str],
    ) -> None:
        """Everything written here and read outside the part that writes it is written through."""
        handled = self._summary(node.finalbody)[0]
        for handler in node.handlers:
            handled = handled | (self._summary(handler.body)[0] - {handler_name(handler)})
            self._doubt(handler.type, assigned, bound)
        handlers = [statement for handler in node.handlers for statement in handler.body]
        named = {handler_name(handler) for handler in node.handlers} & live
        writes = self._writes([*node.body, *node.orelse, *handlers, *node.finalbody]) | named
        needed = self._summary(node.body)[0] | self._summary(node.orelse)[0]
        seen = writes & (live | handled | needed)
        inner = shared | seen
        walk = self._walk_inside
        block = Block()
        if isinstance(node, gast.TryStar):
            # it stays as it is: its parts are no functions, and know what is bound around them
            walk, block = self._walk, Block(shares=writes)
        else:
            block = self._block(node, set(), set(), seen, bound)
            self._marked |= named
        tried = walk(
            node.body,
            live | seen,
            _copy(assigned),
            self._inside(bound, node.body, block),
            inner,
        )
        walk(node.orelse, live, tried, self._inside(bound, node.orelse, block), inner)
        if assigned is not EVERYTHING:
            # handlers inside the body may have unbound their names before it failed
            assigned = assigned - self._unbinds(node.body)
        for handler in node.handlers:
            # what the body assigned before it failed may or may not be there
            inside = self._inside(bound, handler.body, block)
            walk(handler.body, live, _handled(assigned, handler), inside, inner)
        left = self._exits[id(node)][1] if id(node) in self._exits else []
        inside = self._inside(bound, node.finalbody, block)
        walk(node.finalbody, live | set(left), _copy(assigned), inside, inner)

    def _block(
        self, node: gast.stmt, takes: set[str], gives: set[str], shares: set[str], bound: set[str]
    ) -> Block:
        # a name that is only given is bound afterwards on every path; nothing to mark
        self._mark(node, (takes | shares) - bound, bound)
        block = Block(
            takes=self._sorted(takes - shares),
            gives=self._sorted(gives - shares),
            shares=shares,
            globals=self._scopes.uses(node).writes & self._globals,
        )
        for name in takes | shares:
            self._suspect(name)
        self._blocks[id(node)] = block
        bound |= takes | gives | shares
        return block

    def _suspect(self, name: str) -> None:
        """A block, or an operand, needs a name that a statement before may have left unbound."""
        if name in self._suspects:
            self._mark(self._suspects[name], {name}, set())

    def _inside(self, bound: set[str], body: list[gast.stmt], block: Block) -> set[str]:
        """What is bound at the start of the function that a block becomes."""
        own = self._writes(body) - block.shares
        return (bound - own) | set(block.takes)

    def _sorted(self, names: Iterable[str]) -> list[str]:
        return sorted(names, key=lambda name: self._order.get(name, 0))

    def _loads(self, node: gast.AST) -> list[gast.Name]:
        """The names that are read; of inner functions what surrounds their bodies."""
        return evaluate(node, self._scopes).early

    def _doubt(self, node: gast.AST | None, assigned: Sets, bound: set[str]) -> None:
        """Remember the reads of names that are not surely assigned here."""
        if node is None or assigned is EVERYTHING:
            return
        for name in self._loads(node):
            unsure = name.id not in assigned or name.id in self._deleted_inside
            if name.id in self._locals and unsure:
                if self._depth:
                    self._suspect(name.id)
                is_natural = name.id in bound and not self._depth
                (self._natural if is_natural else self._doubtful).append(name)
                if name.id not in bound:
                    self._early.add(name.id)
        for comprehension in comprehension_parts(node):
            # it runs in a function of its own, where the name is free
            for name in self._loads(comprehension):
                if name.id in self._locals and name.id not in assigned:
                    self._lazy.append(name)


def _handled(assigned: Sets, handler: gast.ExceptHandler) -> Sets:
    return EVERYTHING if assigned is EVERYTHING else assigned | {handler_name(handler)}


def _both(one: Sets, other: Sets) -> Sets:
    if one is EVERYTHING:
        return other
    if other is EVERYTHING:
        return one
    return one & other


def _either(one: Sets, other: Sets) -> Sets:
    return EVERYTHING if one is EVERYTHING or other is EVERYTHING else one | other


def _copy(names: Sets) -> Sets:
    return EVERYTHING if names is EVERYTHING else set(names)
