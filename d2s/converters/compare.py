"""A chained comparison evaluates every operand at most once, and stops where Python stops.

`in` alone asks Python for a truth, which a run-time value does not have yet. `is` asks which object
a value is, and Python keeps one object for each small integer, where a graph knows none.

>>> from d2s.pipeline import example
>>> print(example('def f(x): return 0 < g(x) <= 3'))
def f(x):
    return d2s.compare(0, '<', d2s.fn(g)(x), '<=', lambda: 3)
>>> print(example('def f(x): return x is None or x is 3'))
def f(x):
    return x is None or d2s.compare(x, 'is', 3)
>>> print(example('def f(x): return x in (1, 2) or x not in s'))
def f(x):
    return d2s.or_(d2s.in_(x, (1, 2)), lambda: d2s.not_(d2s.in_(x, s)))
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.blocks import binds, thunk
from d2s.source.templates import quote_expression

SYMBOLS = {
    gast.Eq: "==",
    gast.NotEq: "!=",
    gast.Lt: "<",
    gast.LtE: "<=",
    gast.Gt: ">",
    gast.GtE: ">=",
    gast.Is: "is",
    gast.IsNot: "is not",
    gast.In: "in",
    gast.NotIn: "not in",
}


class Compare(Converter):
    """Comparisons with more than one operator, and `in`."""

    def visit_Compare(self, node: gast.Compare) -> gast.expr:
        if len(node.ops) == 1 and isinstance(node.ops[0], gast.In | gast.NotIn):
            return self._membership(node)
        if len(node.ops) == 1 and not _may_be_of_numbers(node):
            return node
        if self.context.here.in_expression and any(binds(value) for value in node.comparators[1:]):
            return node  # no function can be made here for what binds a name
        second, *later = node.comparators
        values = [second, *(thunk(self.context, "operand", value) for value in later)]
        parts = {f"value{n}": value for n, value in enumerate(values)}
        chain = ", ".join(f"{SYMBOLS[type(op)]!r}, value{n}" for n, op in enumerate(node.ops))
        return quote_expression(f"d2s.compare(left, {chain})", node, left=node.left, **parts)

    def _membership(self, node: gast.Compare) -> gast.expr:
        item, (container,) = node.left, node.comparators
        if isinstance(item, gast.Constant) and isinstance(item.value, str):
            return node  # no run-time value is equal to a text
        text = "d2s.in_(item, container)"
        if isinstance(node.ops[0], gast.NotIn):
            text = f"d2s.not_({text})"
        return quote_expression(text, node, item=item, container=container)


def _may_be_of_numbers(node: gast.Compare) -> bool:
    """Whether this asks which object a value is, of two that could both be numbers."""
    values = (node.left, *node.comparators)
    known = [value.value for value in values if isinstance(value, gast.Constant)]
    return isinstance(node.ops[0], gast.Is | gast.IsNot) and all(
        isinstance(value, bool | int | float | complex) for value in known
    )
