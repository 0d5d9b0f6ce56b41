"""``a if c else b`` becomes ``d2s.cond`` with two thunks.

>>> from d2s.pipeline import example
>>> print(example('def f(x): return -x if x < 0 else x'))
def f(x):
    return d2s.cond(x < 0, lambda: -x, lambda: x)
"""

from __future__ import annotations

import gast

from d2s.analysis.order import is_python_bool
from d2s.converters.base import Converter
from d2s.converters.blocks import as_test, binds, thunk
from d2s.source.templates import quote_expression


class IfExp(Converter):
    """Conditional expressions whose test may be a run-time value."""

    def visit_IfExp(self, node: gast.IfExp) -> gast.expr:
        if is_python_bool(node.test):
            return node
        if self.context.here.in_expression and (binds(node.body) or binds(node.orelse)):
            # no function can be made here for what binds a name
            node.test = quote_expression("d2s.concrete(test)", node.test, test=node.test)
            return node
        return quote_expression(
            "d2s.cond(test, body, orelse)",
            node,
            test=as_test(node.test),
            body=thunk(self.context, "then", node.body),
            orelse=thunk(self.context, "else", node.orelse),
        )
