"""``while`` becomes a test, a body and ``d2s.while_loop``.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(n):
...     steps = 0
...     while n > 1:
...         n = n // 2
...         steps += 1
...     return steps
... '''))
def f(n):
    steps = 0
    def test_3(n, steps):
        return n > 1
    def body_3(n, steps):
        n = n // 2
        steps += 1
        return n, steps
    n, steps = d2s.while_loop(test_3, body_3, n, steps)
    return steps
"""

from __future__ import annotations

import gast

from d2s.analysis import Block
from d2s.converters.base import Converter
from d2s.converters.blocks import finish, function
from d2s.source.templates import quote


class WhileStmt(Converter):
    """Every `while`."""

    removes = (gast.While,)

    def visit_While(self, node: gast.While) -> list[gast.stmt]:
        block = self.block(node)
        test, body = self.context.names.fresh("test", "body", line=node.lineno)
        self.context.notes.tests.add(test)
        call = "d2s.while_loop(test, body, *state)"
        return [
            *function(test, block.takes, Block(), quote("return test", node, test=node.test), node),
            *function(body, block.takes, block, finish(node.body, block.gives, node), node),
            *quote(
                "state = " + call if block.gives else call,
                node,
                state=block.gives,
                test=test,
                body=body,
            ),
        ]
