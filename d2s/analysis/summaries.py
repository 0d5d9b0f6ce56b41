"""What a statement needs from before it, and what it surely sets: computed from the inside out.

For ::

    if x > 0:
        y = a
    else:
        y = b
        z = 1

the summary is ``needs {x, a, b}, sets {y}``: `z` is set on one side only. Code that never completes
(`return`, `raise`) sets `EVERYTHING`: what follows is not reached, so no name is unbound there.
"""

from __future__ import annotations

from collections.abc import Mapping

import gast

from d2s.analysis.facts import handler_name
from d2s.analysis.function_names import FunctionNames
from d2s.analysis.nodes import Switch
from d2s.analysis.order import is_python_bool

EVERYTHING = None
Sets = set[str] | None


class Summaries:
    """Summaries of the statements of one function, each computed once.

    `exits` are the flags that a loop reads before each trip, or that tell that a `finally` left,
    with their statement, by the id of that.
    """

    def __init__(
        self, names: FunctionNames, exits: Mapping[int, tuple[gast.stmt, list[str]]]
    ) -> None:
        self._names = names
        self._exits = exits
        self._known: dict[int, tuple[set[str], Sets]] = {}

    def of_body(self, body: list[gast.stmt]) -> tuple[set[str], Sets]:
        """What statements one after the other need and set."""
        needs: set[str] = set()
        sets: set[str] = set()
        for statement in body:
            more, now = self.of(statement)
            needs |= more - sets
            if now is EVERYTHING:
                return needs, EVERYTHING
            sets |= now
        return needs, sets

    def of(self, node: gast.stmt) -> tuple[set[str], Sets]:
        """What one statement needs and sets."""
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = self._summarize(node)
        return known

    def flags(self, node: gast.stmt) -> set[str]:
        """The flags that a for loop reads before each trip, or that a `finally` leaves."""
        return set(self._exits[id(node)][1]) if id(node) in self._exits else set()

    def branches(self, node: gast.stmt) -> tuple[gast.expr, list[tuple[list[gast.stmt], set[str]]]]:
        """What a branch tests; its bodies, and the names that the test binds for each."""
        if isinstance(node, Switch):
            bodies = [*(case.body for case in node.cases), node.orelse]
            return node.subject, [(body, set()) for body in bodies]
        test = self._names.evaluated(node.test)
        skipping = node.test.values[:-1] if isinstance(node.test, gast.BoolOp) else [node.test]
        if all(map(is_python_bool, skipping)):
            return node.test, [(node.body, test.when_true), (node.orelse, test.when_false)]
        # in a graph, what an operand binds that may be left out is doubtful whatever the truth is
        return node.test, [(node.body, test.sure), (node.orelse, test.sure)]

    def _summarize(self, node: gast.stmt) -> tuple[set[str], Sets]:
        names = self._names
        if isinstance(node, gast.If | Switch):
            test, bodies = self.branches(node)
            sets, needs = EVERYTHING, names.reads(test)
            for body, sure in bodies:
                more, now = self.of_body(body)
                needs = needs | (more - sure)
                sets = both(sets, either(now, sure))
            return needs, sets
        if isinstance(node, gast.While):
            return names.reads(node.test) | self.of_body(node.body)[0], set()
        if isinstance(node, gast.For):
            target = names.scopes.uses(node.target)
            needs = self.of_body(node.body)[0] - target.writes
            needs |= names.reads(node.iter) | target.reads | self.flags(node)
            return needs, names.sure(node.iter)
        if isinstance(node, gast.With):
            sure = self._bound_on_entry(node)
            needs = self.of_body(node.body)[0] - sure
            for item in node.items:
                needs |= names.reads(item.context_expr) | names.reads(item.optional_vars)
            return needs, sure
        if isinstance(node, gast.Try | gast.TryStar):
            return self._summarize_try(node)
        uses = names.scopes.uses(node)
        sets = uses.writes - uses.maybe
        return names.reads(node), EVERYTHING if isinstance(node, gast.Return | gast.Raise) else sets

    def _summarize_try(self, node: gast.Try | gast.TryStar) -> tuple[set[str], Sets]:
        needs, sets = self.of_body([*node.body, *node.orelse])
        if node.finalbody:
            more, now = self.of_body(node.finalbody)
            # a `finally` that leaves swallows an exception: the body may have set nothing then
            return needs | more, now if id(node) in self._exits else either(sets, now)
        if isinstance(node, gast.TryStar):
            sets = set()  # none of its handlers may have run, or several
        for handler in node.handlers:
            more, now = self.of_body(handler.body)
            needs |= (more - {handler_name(handler)}) | self._names.reads(handler.type)
            sets = both(sets, now)
        return needs, sets

    def _bound_on_entry(self, node: gast.With) -> set[str]:
        """What a `with` binds before its body runs: a name cannot fail to take its value."""
        targets = [item.optional_vars for item in node.items[:1]]
        sure = {target.id for target in targets if isinstance(target, gast.Name)}
        return sure | self._names.sure(node.items[0].context_expr)


def both(one: Sets, other: Sets) -> Sets:
    """What is set whichever of two ways was taken."""
    if one is EVERYTHING:
        return other
    if other is EVERYTHING:
        return one
    return one & other


def either(one: Sets, other: Sets) -> Sets:
    """What is set after both of two things happened."""
    return EVERYTHING if one is EVERYTHING or other is EVERYTHING else one | other


def copied(names: Sets) -> Sets:
    return EVERYTHING if names is EVERYTHING else set(names)
