"""``:=`` in the test of a loop moves into the loop; everywhere else it stays where it is.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     while (y := x * 2) < 100:
...         x = y + 1
...     return y
... ''', until="LoopWalrus"))
def f(x):
    going_2 = True
    while going_2:
        if (y := (x * 2)) < 100:
            x = y + 1
        else:
            going_2 = False
    return y
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.blocks import binds
from d2s.source.templates import quote


class LoopWalrus(Converter):
    """`while` whose test binds names: a test becomes a function, and must not write."""

    def visit_While(self, node: gast.While) -> list[gast.stmt] | gast.While:
        if not binds(node.test):
            return node
        (going,) = self.context.names.fresh("going", line=node.lineno)
        node.body = quote(
            "if test: body\nelse: going = False", node, test=node.test, body=node.body, going=going
        )
        node.test = quote("going", node.test, going=going)[0].value
        return [*quote("going = True", node, going=going), node]
