"""Texts made of values: those of run-time values are filled in when the graph has run.

An f-string that is the message of an assert, or of a raised exception of Python's own, goes nowhere
else and stays an f-string. Any other becomes a text that knows its values: code that needs its
letters is refused, because they are not known yet.

>>> from d2s.pipeline import example
>>> print(example('''
... def f(x):
...     if x < 0:
...         raise ValueError(f"negative: {x:.2f}")
...     print(f"{x:>9}", "%d of them" % x)
... '''))
def f(x):
    def then_2():
        raise ValueError(f'negative: {d2s.quoted(x):.2f}')
    def else_2():
        pass
    d2s.cond(x < 0, then_2, else_2)
    d2s.fn(print)(d2s.text(f'{d2s.quoted(x):>9}'), d2s.percent('%d of them', x))
"""

from __future__ import annotations

import gast

from d2s.converters.base import Context, Converter
from d2s.converters.calls import is_exception
from d2s.source.templates import quote_expression


class Formatted(Converter):
    """f-strings, and `%` with a text on the left."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        #: f-strings whose letters nobody asks for, by node
        self._as_they_are: set[int] = set()
        #: values inside a format, as in ``f"{x:{width}}"``, by node
        self._of_formats: set[int] = set()
        for node in context.written.nodes:
            if isinstance(node, gast.Assert):
                self._as_they_are.add(id(node.msg))
            elif isinstance(node, gast.Raise) and isinstance(node.exc, gast.Call):
                if is_exception(node.exc.func, context):
                    self._as_they_are |= {id(argument) for argument in node.exc.args}
            elif isinstance(node, gast.FormattedValue):
                self._as_they_are.add(id(node.format_spec))
                parts = node.format_spec.values if node.format_spec is not None else ()
                self._of_formats |= {id(part) for part in parts}

    def visit_FormattedValue(self, node: gast.FormattedValue) -> gast.expr:
        if isinstance(node.value, gast.Constant):
            return node
        if id(node) in self._of_formats:
            node.value = quote_expression("d2s.concrete(value)", node.value, value=node.value)
            return node
        how = chr(node.conversion) if node.conversion > 0 else ""
        if how == "a" or (how and node.format_spec is not None):
            # Python would convert what `d2s.quoted` gives, a mark, and format the text of that:
            # so the mark is told to convert the value
            template, node.conversion = f"d2s.quoted(value, {how!r})", -1
        else:
            template = "d2s.quoted(value)"
        node.value = quote_expression(template, node.value, value=node.value)
        return node

    def visit_JoinedStr(self, node: gast.JoinedStr) -> gast.expr:
        if id(node) in self._as_they_are or all(map(_is_constant, node.values)):
            return node
        return quote_expression("d2s.text(letters)", node, letters=node)

    def visit_BinOp(self, node: gast.BinOp) -> gast.expr:
        if not isinstance(getattr(node, "op", None), gast.Mod) or not _is_text(node.left):
            return node
        parts = {"letters": node.left, "values": node.right}
        return quote_expression("d2s.percent(letters, values)", node, **parts)


def _is_constant(part: gast.expr) -> bool:
    inner = part.value if isinstance(part, gast.FormattedValue) else part
    return isinstance(inner, gast.Constant)


def _is_text(node: gast.expr) -> bool:
    if isinstance(node, gast.Constant):
        return isinstance(node.value, str)
    made = isinstance(node, gast.Call) and isinstance(node.func, gast.Attribute)
    return isinstance(node, gast.JoinedStr) or (
        made and node.func.attr == "text" and getattr(node.func.value, "generated", False)
    )
