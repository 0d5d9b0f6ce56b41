"""``a if c else b`` becomes ``d2s.cond`` with two thunks.

>>> from d2s.pipeline import example
>>> print(example('def f(x): return -x if x < 0 else x'))
def f(x):
    return d2s.cond(x < 0, lambda: -x, lambda: x)
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.blocks import is_python_bool
from d2s.templates import quote_expression


class IfExp(Converter):
    """Conditional expressions whose test may be a run-time value."""

    def visit_IfExp(self, node: gast.IfExp) -> gast.expr:
        if is_python_bool(node.test):
            return node
        return quote_expression(
            "d2s.cond(test, lambda: body, lambda: orelse)",
            node,
            test=node.test,
            body=node.body,
            orelse=node.orelse,
        )
