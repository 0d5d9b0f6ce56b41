"""``a ** b`` becomes ``d2s.power`` where the exponent may be negative.

The power of two integers is a float then, which Python decides by the sign.

>>> from d2s.pipeline import example
>>> print(example('def f(x, n): return x ** n + x ** 2'))
def f(x, n):
    return d2s.power(x, n) + x ** 2
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.source.templates import quote_expression


class Power(Converter):
    """Powers whose exponent may be negative, or a run-time value."""

    def visit_BinOp(self, node: gast.BinOp) -> gast.expr:
        if not isinstance(node.op, gast.Pow) or _is_positive(node.right):
            return node
        parts = {"base": node.left, "exponent": node.right}
        return quote_expression("d2s.power(base, exponent)", node, **parts)


def _is_positive(node: gast.expr) -> bool:
    return isinstance(node, gast.Constant)  # a negative number is an operator and a constant
