"""``if``/``elif``/``else`` become two functions and ``d2s.cond``.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(n):
...     if n % 2 == 0:
...         n = n // 2
...     else:
...         n = 3 * n + 1
...     return n
... '''))
def f(n):
    def then_2(n):
        return n // 2
    def else_2(n):
        return 3 * n + 1
    n = d2s.cond(n % 2 == 0, then_2, else_2, n)
    return n

A test that can only give a Python bool (``x is None``) stays an ordinary ``if``.
"""

from __future__ import annotations

import gast

from d2s.analysis.order import is_python_bool
from d2s.converters.base import Converter
from d2s.converters.blocks import finish, function
from d2s.source.templates import quote


class IfStmt(Converter):
    """`if` statements whose test may be a run-time value."""

    def visit_If(self, node: gast.If) -> list[gast.stmt]:
        block = self.block(node)
        if is_python_bool(node.test):
            return [node]
        then, orelse = self.context.names.fresh("then", "else", line=node.lineno)
        returns = self.returns(node)
        gives = [] if returns else block.gives
        call = "d2s.cond(test, then, orelse, *takes)"
        template = "return " + call if returns else "gives = " + call if gives else call
        return [
            *function(then, block.takes, block, finish(node.body, gives, node), node),
            *function(orelse, block.takes, block, finish(node.orelse, gives, node), node),
            *quote(
                template,
                node,
                gives=gives,
                test=node.test,
                then=then,
                orelse=orelse,
                takes=block.takes,
            ),
        ]
