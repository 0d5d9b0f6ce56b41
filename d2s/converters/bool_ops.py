"""``and``, ``or``, ``not`` keep short circuit and operand results.

>>> from d2s.pipeline import example
>>> print(example('def f(x, y): return x > 0 and not y or x'))
def f(x, y):
    return d2s.or_(d2s.and_(x > 0, lambda: d2s.not_(y)), lambda: x)

Where only the truth counts, as in a test, the operands need have nothing else in common.

>>> print(example('def f(x, n): return 1 if x and n else 2'))
def f(x, n):
    return d2s.cond(d2s.all_(x, lambda: n), lambda: 1, lambda: 2)

Where every operand but the last is a Python bool for sure, Python's own operator is exact.

>>> print(example('def f(x): return x is not None and x > 0'))
def f(x):
    return x is not None and x > 0
"""

from __future__ import annotations

import gast

from d2s.analysis.order import is_python_bool
from d2s.converters.base import Converter
from d2s.converters.blocks import as_test, binds, is_op, thunk
from d2s.source.templates import quote_expression


class BoolOps(Converter):
    """Boolean operators on values that may be run-time values."""

    def visit_BoolOp(self, node: gast.BoolOp) -> gast.expr:
        if all(is_python_bool(value) for value in node.values[:-1]):
            return node
        name = "and" if isinstance(node.op, gast.And) else "or"
        first, *later = node.values
        if self.context.here.in_expression and any(binds(value) for value in later):
            *others, last = node.values  # no function can be made here for what binds a name
            node.values = [quote_expression("d2s.concrete(v)", v, v=v) for v in others] + [last]
            return node
        thunks = [thunk(self.context, name, value) for value in later]
        return quote_expression(f"d2s.{name}_(first, *thunks)", node, first=first, thunks=thunks)

    def visit_UnaryOp(self, node: gast.UnaryOp) -> gast.expr:
        if not isinstance(node.op, gast.Not) or is_python_bool(node.operand):
            return node
        return quote_expression("d2s.not_(operand)", node, operand=as_test(node.operand))

    def visit_Call(self, node: gast.Call) -> gast.expr:
        if is_op(node, "cond") or self._is_bool(node):
            node.args[0] = as_test(node.args[0])
        return node

    def _is_bool(self, node: gast.Call) -> bool:
        hidden = self.context.written.bound | self.context.written.globals.keys()
        is_name = isinstance(node.func, gast.Name) and node.func.id == "bool"
        return is_name and len(node.args) == 1 and "bool" not in hidden

    def visit_FunctionDef(self, node: gast.FunctionDef) -> gast.stmt:
        if node.name in self.context.notes.tests:
            node.body[-1].value = as_test(node.body[-1].value)
        return node
