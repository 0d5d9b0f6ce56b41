"""``for`` becomes a body and ``d2s.for_loop``; an early exit adds a test.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(xs):
...     total = 0
...     for x in xs:
...         if x < 0:
...             break
...         total += x
...     return total
... '''))
def f(xs):
    total = 0
    broke_3 = False
    def test_3(total, broke_3):
        return d2s.not_(broke_3)
    def body_3(x, total, broke_3):
        def then_4(total, broke_3):
            broke_3 = True
            return total, broke_3
        def else_4(total, broke_3):
            total += x
            return total, broke_3
        return d2s.cond(x < 0, then_4, else_4, total, broke_3)
    total, broke_3 = d2s.for_loop(xs, body_3, total, broke_3, test=test_3)
    return total
"""

from __future__ import annotations

import gast

from d2s.analysis import Block
from d2s.converters.base import Converter
from d2s.converters.blocks import finish, function
from d2s.converters.exits import none_of
from d2s.source.templates import quote


class ForStmt(Converter):
    """Every `for`."""

    removes = (gast.For,)

    def visit_For(self, node: gast.For) -> list[gast.stmt]:
        block = self.block(node)
        test, body, item = self.context.names.fresh("test", "body", "item", line=node.lineno)
        inside = node.body
        target = node.target
        if isinstance(target, gast.Name) and target.id not in {*block.takes, *block.shares}:
            item = target.id
        else:
            inside = [*quote("target = item", target, target=target, item=item), *inside]
        _, flags = self.context.notes.exits.get(id(node), (node, []))
        call = "d2s.for_loop(iterable, body, *state" + (", test=test)" if flags else ")")
        statements: list[gast.stmt] = []
        if flags:
            self.context.notes.tests.add(test)
            going = quote("return going", node, going=none_of(flags, node))
            statements += function(test, block.takes, Block(), going, node)
        statements += function(
            body, [item, *block.takes], block, finish(inside, block.gives, node), node
        )
        return statements + quote(
            "state = " + call if block.gives else call,
            node,
            state=block.gives,
            iterable=node.iter,
            body=body,
            test=test,
        )
