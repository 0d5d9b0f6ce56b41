"""What the body of a class asks must be known while the graph is built.

The body stays as it is: functions made of its blocks would not see its names.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     class A:
...         size = 1 if x > 0 else 2
...     return A
... '''))
def f(x):
<BLANKLINE>
    class A:
        size = 1 if d2s.concrete(x > 0) else 2
    return A
"""

from __future__ import annotations

import gast

from d2s.analysis.order import is_python_bool
from d2s.converters.base import Converter
from d2s.source.templates import quote_expression


class ClassBodies(Converter):
    """Tests in the body of a class, outside its functions."""

    def visit_IfExp(self, node: gast.IfExp) -> gast.IfExp:
        node.test = self._known(node.test)
        return node

    visit_If = visit_While = visit_Assert = visit_IfExp

    def visit_BoolOp(self, node: gast.BoolOp) -> gast.BoolOp:
        *others, last = node.values
        node.values = [*map(self._known, others), last]
        return node

    def visit_comprehension(self, node: gast.comprehension) -> gast.comprehension:
        node.ifs = list(map(self._known, node.ifs))
        return node

    def _known(self, test: gast.expr) -> gast.expr:
        if is_python_bool(test):
            return test
        return quote_expression("d2s.concrete(test)", test, test=test)
