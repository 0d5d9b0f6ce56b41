"""``del`` of a name leaves the mark of a name without a value.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x, d):
...     y = x
...     del y, d['k']
... '''))
def f(x, d):
    y = x
    y = d2s.delete('y', y)
    del d['k']

A name of the module, or of a function around that is not converted with this one, is deleted as in
Python: others read it too.
"""

from __future__ import annotations

import gast

from d2s.analysis import Scopes
from d2s.converters.base import Converter
from d2s.converters.blocks import own_bodies
from d2s.source.templates import quote


class Delete(Converter):
    """`del` of local names."""

    def visit_FunctionDef(self, node: gast.FunctionDef) -> gast.FunctionDef:
        if gast.Delete not in self.context.written.kinds:
            return node
        scopes = Scopes()
        outside = scopes.declared(node, gast.Global)
        if node is self.context.written.unit.tree:
            outside |= scopes.declared(node, gast.Nonlocal)
        for body in own_bodies(node.body):
            if any(isinstance(statement, gast.Delete) for statement in body):
                body[:] = [new for old in body for new in self._without(old, outside)]
        return node

    def _without(self, node: gast.stmt, outside: set[str]) -> list[gast.stmt]:
        if not isinstance(node, gast.Delete):
            return [node]
        done: list[gast.stmt] = []
        for target in _flat(node.targets):
            if isinstance(target, gast.Name) and target.id not in outside:
                template = f"name = d2s.delete({target.id!r}, name)"
                done += quote(template, node, name=target.id)
            else:
                done += quote("del target", node, target=target)
        return done or quote("pass", node)


def _flat(targets: list[gast.expr]) -> list[gast.expr]:
    return [
        one
        for target in targets
        for one in (_flat(target.elts) if isinstance(target, gast.Tuple | gast.List) else [target])
    ]
