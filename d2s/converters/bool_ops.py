"""``and``, ``or``, ``not`` keep short circuit and operand results.

>>> from d2s.pipeline import example
>>> print(example('def f(x, y): return x > 0 and not y or x'))
def f(x, y):
    return d2s.or_(d2s.and_(x > 0, lambda: d2s.not_(y)), lambda: x)

Where every operand but the last is a Python bool for sure, Python's own operator is exact.

>>> print(example('def f(x): return x is not None and x > 0'))
def f(x):
    return x is not None and x > 0
"""

from __future__ import annotations

import gast

from d2s.analysis.order import is_python_bool
from d2s.converters.base import Converter
from d2s.converters.blocks import binds, thunk
from d2s.templates import quote_expression


class BoolOps(Converter):
    """Boolean operators on values that may be run-time values."""

    def visit_BoolOp(self, node: gast.BoolOp) -> gast.expr:
        if all(is_python_bool(value) for value in node.values[:-1]):
            return node
        name = "and" if isinstance(node.op, gast.And) else "or"
        first, *later = node.values
        if self.context.in_expression and any(binds(value) for value in later):
            *others, last = node.values  # no function can be made here for what binds a name
            node.values = [quote_expression("d2s.concrete(v)", v, v=v) for v in others] + [last]
            return node
        thunks = [thunk(self.context, name, value) for value in later]
        return quote_expression(f"d2s.{name}_(first, *thunks)", node, first=first, thunks=thunks)

    def visit_UnaryOp(self, node: gast.UnaryOp) -> gast.expr:
        if not isinstance(node.op, gast.Not) or is_python_bool(node.operand):
            return node
        return quote_expression("d2s.not_(operand)", node, operand=node.operand)
