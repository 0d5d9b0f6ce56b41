"""Values inside f-strings: in the message of a raise or assert they are filled in at run time,
anywhere else a run-time value has no text yet and is refused.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     if x < 0:
...         raise ValueError(f"negative: {x:.2f}")
...     return f"{x}"
... '''))
def f(x):
    def then_2():
        raise ValueError(f'negative: {d2s.quoted(x):.2f}')
    def else_2():
        pass
    d2s.cond(x < 0, then_2, else_2)
    return f'{d2s.shown(x)}'
"""

from __future__ import annotations

import gast

from d2s.analysis.scopes import all_nodes
from d2s.converters.base import Context, Converter
from d2s.templates import quote_expression


class Formatted(Converter):
    """Replacement fields of f-strings."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._in_message = {
            id(field)
            for message in context.nodes
            if isinstance(message, gast.Raise | gast.Assert)
            for field in all_nodes(message)
            if isinstance(field, gast.FormattedValue)
        }

    def visit_FormattedValue(self, node: gast.FormattedValue) -> gast.expr:
        if not isinstance(node.value, gast.Constant):
            name = "quoted" if id(node) in self._in_message else "shown"
            node.value = quote_expression(f"d2s.{name}(value)", node.value, value=node.value)
        return node
