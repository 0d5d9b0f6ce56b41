"""``with`` stays; in a graph its manager is asked whether it would see a failure at run time.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     with open(x) as file:
...         return file.read()
... '''))
def f(x):
    with d2s.manager(d2s.fn(open)(x)) as file:
        return d2s.fn(file.read)()
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.source.templates import quote, quote_expression


class WithStmt(Converter):
    """Every `with`, and `except*`, which stays as well."""

    def visit_With(self, node: gast.With) -> gast.With:
        for item in node.items:
            at = item.context_expr
            item.context_expr = quote_expression("d2s.manager(context)", at, context=at)
        return node

    def visit_TryStar(self, node: gast.TryStar) -> gast.TryStar:
        node.body = quote("with d2s.certain('except*'): body", node, body=node.body)
        return node
