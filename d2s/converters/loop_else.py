"""``else`` of a loop becomes what follows the loop, unless a ``break`` ended it.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(xs):
...     for x in xs:
...         if x > 3:
...             break
...     else:
...         x = None
...     return x
... ''', until="LoopElse"))
def f(xs):
    for x in xs:
        if x > 3:
            break
    if not broke_2:
        x = None
    return x

The flag itself is set where all exits are converted.
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.exits import breaks
from d2s.source.templates import quote


class LoopElse(Converter):
    """`for` and `while` with an `else`."""

    def visit_For(self, node: gast.For | gast.While) -> list[gast.stmt]:
        after, node.orelse = node.orelse, []
        if not after or not breaks(node):
            return [node, *after]
        (broke,) = self.context.names.fresh("broke", line=node.lineno)
        self.context.notes.broke[id(node)] = (node, broke)
        return [node, *quote("if not broke: after", after[0], broke=broke, after=after)]

    visit_While = visit_For
