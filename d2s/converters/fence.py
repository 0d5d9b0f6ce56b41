"""Refuse what is not supported, before anything is rewritten.

Later converters may assume that every node they meet is one they know.

>>> from d2s.pipeline import example
>>> print(example("def f(x):\\n    return locals()"))
Traceback (most recent call last):
...
d2s.errors.ConversionError: D2S003: `locals()` shows names of a frame that conversion splits
Write instead: the names themselves
"""

from __future__ import annotations

import gast

from d2s.converters.base import Context, Converter
from d2s.errors import ConversionError


class Fence(Converter):
    """Raises `ConversionError` for the first node that d2s does not convert."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        for node in context.written.nodes:
            if isinstance(node, gast.Call) and self._reads_frame(node):
                raise ConversionError(
                    f"`{node.func.id}()` shows names of a frame that conversion splits",
                    site=context.written.unit.site(node),
                    fix="the names themselves",
                )

    def _reads_frame(self, node: gast.Call) -> bool:
        name = getattr(node.func, "id", "")
        if name in self.context.written.bound or name in self.context.written.globals:
            return False  # a function of the user's that has the name
        if name in ("eval", "exec"):
            # given a dict of names, `eval` and `exec` look at no frame
            given = len(node.args) > 1 or any(k.arg in ("globals", None) for k in node.keywords)
            return not given and not any(isinstance(a, gast.Starred) for a in node.args)
        return name in ("locals", "vars", "dir") and not node.args
