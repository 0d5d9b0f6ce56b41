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

from d2s.analysis.scopes import own_nodes
from d2s.converters.base import Converter
from d2s.converters.blocks import finish, function, is_python_bool, mark_unbound
from d2s.templates import quote


class IfStmt(Converter):
    """`if` statements whose test may be a run-time value."""

    def visit_If(self, node: gast.If) -> list[gast.stmt]:
        block = self.block(node)
        before = mark_unbound(block.fresh, node)
        if is_python_bool(node.test):
            return [*before, node]
        then, orelse = self.context.names.fresh("then", "else", line=node.lineno)
        # after the exits converter an if that returns does so on both sides
        returns = any(isinstance(n, gast.Return) for n in own_nodes([*node.body, *node.orelse]))
        gives = [] if returns else block.gives
        call = "d2s.cond(test, then, orelse, *takes)"
        template = "return " + call if returns else "gives = " + call if gives else call
        return [
            *before,
            *function(then, block.takes, block.shares, finish(node.body, gives, node), node),
            *function(orelse, block.takes, block.shares, finish(node.orelse, gives, node), node),
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
