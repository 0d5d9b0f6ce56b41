"""Names that may have no value where they are read: where to mark them, and which reads to check.

A block is a function, and a function must be handed something for every name it takes. A name that
may have no value gets one before the statement, the *mark* ``x = d2s.unbound('x')``, and where it
may be read with this mark the read becomes ``d2s.read(x)``, which raises what Python raises::

    if x > 0:                        y = d2s.unbound('y')
        y = 1                  =>    y = d2s.cond(x > 0, then_2, else_2, y)
    return y                         return d2s.read(y)

A read that no block and no mark comes before needs no check: Python itself raises there.
"""

from __future__ import annotations

import gast

from d2s.analysis.facts import comprehension_parts
from d2s.analysis.function_names import FunctionNames
from d2s.analysis.order import evaluate
from d2s.analysis.summaries import EVERYTHING, Sets


class UnboundNames:
    """The marks of one function, and its reads of names that are not surely assigned."""

    def __init__(self, names: FunctionNames) -> None:
        self._names = names
        self._marks: dict[int, set[str]] = {}
        #: every name that has a mark somewhere
        self._marked: set[str] = set(names.deleted_inside)
        #: names that a statement which is no block (`with`) may leave unbound, and that statement;
        #: they are marked before it as soon as a block turns out to need them
        self._suspects: dict[str, gast.stmt] = {}
        #: reads that need a check
        self._doubtful: list[gast.Name] = []
        #: reads outside of all blocks, which need a check only if the name is marked
        self._outside_blocks: list[gast.Name] = []
        #: reads in comprehensions that are functions of their own, where the name is free
        self._in_comprehensions: list[gast.Name] = []
        #: names read before anything can have bound them
        self._too_early: set[str] = set()

    def mark(self, node: gast.stmt, names: set[str]) -> None:
        """Mark names before a statement."""
        self._marks.setdefault(id(node), set()).update(names)
        self._marked |= names

    def marks(self, node: gast.stmt) -> set[str]:
        """The names that must be marked before a statement."""
        return self._marks.get(id(node), set())

    def is_marked(self, names: set[str]) -> None:
        """Say that something else marks these names: `del`, or the end of a handler."""
        self._marked |= names

    def may_leave_unbound(self, node: gast.stmt, names: set[str]) -> None:
        """Say that a statement that is no block may not bind these names."""
        self._suspects |= dict.fromkeys(names, node)

    def needed(self, name: str) -> None:
        """Say that a block, or an operand, needs a name: nobody may have left it unbound."""
        if name in self._suspects:
            self.mark(self._suspects[name], {name})

    def read(self, node: gast.AST | None, assigned: Sets, bound: set[str], in_block: bool) -> None:
        """Remember the reads of names that are not surely assigned here.

        `bound` are the names that have a value or a mark in the generated function.
        """
        if node is None or assigned is EVERYTHING:
            return
        names = self._names
        for name in evaluate(node, names.scopes).early:
            unsure = name.id not in assigned or name.id in names.deleted_inside
            if name.id in names.locals and unsure:
                if in_block:
                    self.needed(name.id)
                python_sees = name.id in bound and not in_block
                (self._outside_blocks if python_sees else self._doubtful).append(name)
                if name.id not in bound:
                    self._too_early.add(name.id)
        for part in comprehension_parts(node):
            for name in evaluate(part, names.scopes).early:
                if name.id in names.locals and name.id not in assigned:
                    self._in_comprehensions.append(name)

    def finish(self) -> tuple[list[str], set[int], set[int]]:
        """When all was read: what to mark at the start of the function, and which reads to check.

        The reads, by the ids of their nodes, are those of the function itself, and those in
        functions inside, where the name is free.
        """
        never_bound = self._names.in_order(self._too_early | self._names.captured_unbound)
        self._marked.update(never_bound)
        free = [*self._names.reads_inside(), *self._in_comprehensions]
        lazy = {id(name) for name in self._in_comprehensions}
        own = [*self._doubtful, *(n for n in self._outside_blocks if n.id in self._marked)]
        return (
            never_bound,
            {id(name) for name in own if id(name) not in lazy},
            {id(name) for name in free if name.id in self._marked},
        )
