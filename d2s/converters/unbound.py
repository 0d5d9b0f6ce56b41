"""A read of a name that a block may have left unbound becomes ``d2s.read``, which raises for it.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(c):
...     if c:
...         y = 1
...     return y
... '''))
def f(c):
    y = d2s.unbound('y')
    def then_2(y):
        return 1
    def else_2(y):
        return y
    y = d2s.cond(c, then_2, else_2, y)
    return d2s.read(y)
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.source.templates import quote, quote_expression


class UnboundReads(Converter):
    """The reads that the flow analysis calls doubtful."""

    def visit_Name(self, node: gast.Name) -> gast.expr:
        if not isinstance(node.ctx, gast.Load) or getattr(node, "generated", False):
            return node
        if id(node) in self.context.notes.free_unbound_reads:
            return quote_expression("d2s.read(name, free=True)", node, name=node.id)
        if id(node) in self.context.notes.unbound_reads:
            return quote_expression("d2s.read(name)", node, name=node.id)
        return node

    def visit_AugAssign(self, node: gast.AugAssign) -> gast.stmt | list[gast.stmt]:
        if id(node.target) not in self.context.notes.unbound_reads:
            return node
        return [*quote("name = d2s.read(name)", node, name=node.target.id), node]
