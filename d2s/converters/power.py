"""``a ** b`` with an exponent that is no constant: Python decides by its sign what the result is.

>>> from d2s.pipeline import example
>>> print(example('def f(x, n): return x ** n + x ** 2'))
def f(x, n):
    return d2s.power(x, n) + x ** 2
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.templates import quote_expression


class Power(Converter):
    """Powers whose exponent may be a run-time value."""

    def visit_BinOp(self, node: gast.BinOp) -> gast.expr:
        if not isinstance(node.op, gast.Pow) or _is_constant(node.right):
            return node
        parts = {"base": node.left, "exponent": node.right}
        return quote_expression("d2s.power(base, exponent)", node, **parts)


def _is_constant(node: gast.expr) -> bool:
    inner = node.operand if isinstance(node, gast.UnaryOp) else node
    return isinstance(inner, gast.Constant)
