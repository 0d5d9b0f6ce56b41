"""``try`` with handlers and ``finally`` becomes one ``try`` inside the other.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     try:
...         y = g(x)
...     except ValueError:
...         y = 0
...     finally:
...         h()
...     return y
... ''', until="SplitFinally"))
def f(x):
    try:
        try:
            y = g(x)
        except ValueError:
            y = 0
    finally:
        h()
    return y
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter


class SplitFinally(Converter):
    """`try` statements that have both handlers and `finally`."""

    def visit_Try(self, node: gast.Try | gast.TryStar) -> gast.Try | gast.TryStar:
        if not node.finalbody or not node.handlers:
            return node
        inner = type(node)(node.body, node.handlers, node.orelse, [])
        outer = gast.Try([inner], [], [], node.finalbody)
        gast.copy_location(inner, node)
        return gast.copy_location(outer, node)

    visit_TryStar = visit_Try
