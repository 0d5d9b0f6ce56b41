"""The names of one function: which are its own, which others see them, in which order they come."""

from __future__ import annotations

from collections.abc import Iterable, Set

import gast

from d2s.analysis.facts import body_of, deleted, first_places, free_loads, handler_name
from d2s.analysis.order import Evaluated, evaluate
from d2s.analysis.scopes import FUNCTIONS, SCOPES, Scopes, all_nodes, own_nodes


class FunctionNames:
    """What does not change from statement to statement.

    `still_local` are names that only statements bind which nothing reaches; those statements are
    gone, but to Python the names are local all the same.
    """

    def __init__(self, function: gast.FunctionDef, scopes: Scopes, still_local: Set[str]) -> None:
        self.scopes = scopes
        self.parameters = scopes.parameters(function)
        bound_here = scopes.local_names(function)
        self.locals = bound_here | still_local
        self.globals = scopes.declared(function, gast.Global)
        self.nonlocals = scopes.declared(function, gast.Nonlocal)
        own = list(own_nodes(function.body))
        self.has_walrus = any(isinstance(n, gast.NamedExpr) for n in own)
        self._unbinds_any = any(isinstance(n, gast.ExceptHandler) or deleted(n) for n in own)
        self._order = first_places(function, self.parameters)
        #: functions and classes made here
        self._scopes_inside = [node for node in own if isinstance(node, SCOPES)]
        #: local names that functions inside read or rebind
        self.captured = scopes.uses(function.body).captured & self.locals
        #: captured names that nothing binds: they need a mark at the start of the function
        self.captured_unbound = (self.captured & still_local) - bound_here
        #: names that a function inside may delete, at any time
        self.deleted_inside = {
            name
            for outer in self._scopes_inside
            for node in all_nodes(outer)
            if isinstance(node, FUNCTIONS)
            for statement in own_nodes(body_of(node))
            for name in deleted(statement) & scopes.declared(node, gast.Nonlocal)
        } & self.locals

    def reads_inside(self) -> list[gast.Name]:
        """The reads in functions and classes inside of names that they take from around them."""
        return [name for node in self._scopes_inside for name in free_loads(node, self.scopes)]

    def in_order(self, names: Iterable[str]) -> list[str]:
        """Names in the order in which the function first mentions them."""
        return sorted(names, key=lambda name: self._order.get(name, 0))

    def writes(self, body: list[gast.stmt]) -> set[str]:
        """What statements write, names of the module left out."""
        return self.scopes.uses(body).writes - self.globals

    def unbinds(self, body: list[gast.stmt]) -> set[str]:
        """Names that code may leave unbound: deleted ones, and those of ended handlers."""
        found: set[str] = set()
        for node in own_nodes(body) if self._unbinds_any else ():
            if isinstance(node, gast.ExceptHandler):
                found.add(handler_name(node))
            elif isinstance(node, gast.Assign):
                found |= deleted(node)
        return found

    # -- expressions: in most functions there is no `:=`, and the answers are simple --------------

    def reads(self, expression: gast.expr | None) -> set[str]:
        """Names that an expression reads from before it, those captured in it included."""
        if expression is None:
            return set()
        uses = self.scopes.uses(expression)
        late = uses.captured & self.locals
        if not uses.writes or not self.has_walrus:
            return uses.reads | late
        return {name.id for name in evaluate(expression, self.scopes).early} | late

    def evaluated(self, expression: gast.expr) -> Evaluated:
        """What `:=` binds in an expression, and when."""
        if not self.has_walrus or not self.scopes.uses(expression).writes:
            return Evaluated()
        return evaluate(expression, self.scopes)

    def sure(self, expression: gast.expr) -> set[str]:
        """The names that `:=` surely binds in an expression."""
        return self.evaluated(expression).sure
