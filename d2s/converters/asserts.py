"""``assert`` becomes ``d2s.assert_``: a run-time condition is checked in the graph.

>>> from d2s.pipeline import example
>>> print(example('def f(x): assert x > 0, f"not positive: {x}"'))
def f(x):
    d2s.assert_(x > 0, lambda: f'not positive: {d2s.quoted(x)}')
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.blocks import as_test, thunk
from d2s.source.templates import quote


class Asserts(Converter):
    """Every `assert`."""

    removes = (gast.Assert,)

    def visit_Assert(self, node: gast.Assert) -> list[gast.stmt]:
        if not __debug__:
            return quote("pass", node)
        test = as_test(node.test)
        if node.msg is None:
            return quote("d2s.assert_(test)", node, test=test)
        message = thunk(self.context, "message", node.msg)
        return quote("d2s.assert_(test, message)", node, test=test, message=message)
