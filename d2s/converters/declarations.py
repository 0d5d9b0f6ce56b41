"""``global`` and ``nonlocal`` move to the top of their function, where every block can see them.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     if x is None:
...         global count
...         count = 0
... ''', until="Declarations"))
def f(x):
    global count
    if x is None:
        count = 0
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.converters.blocks import is_docstring, own_bodies
from d2s.source.templates import quote


class Declarations(Converter):
    """Every `global` and `nonlocal`."""

    def visit_FunctionDef(self, node: gast.FunctionDef) -> gast.FunctionDef:
        if self.context.written.kinds.isdisjoint((gast.Global, gast.Nonlocal)):
            return node
        found: list[gast.stmt] = []
        for body in own_bodies(node.body):
            declared = [s for s in body if isinstance(s, gast.Global | gast.Nonlocal)]
            if declared:
                found += declared
                body[:] = [s for s in body if s not in declared] or quote("pass", declared[0])
        start = int(is_docstring(node.body[0]))
        node.body[start:start] = found
        return node
