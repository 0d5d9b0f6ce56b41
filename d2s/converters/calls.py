"""Calls go through ``d2s.call``, which converts the callee on first use.

Calls into array libraries stay as they are.

>>> from d2s.pipeline import example
>>> print(example('def f(g, x): return jnp.sum(g(x, k=1)) + x.at[0].set(2)'))
def f(g, x):
    return jnp.sum(d2s.call(g, x, k=1)) + x.at[0].set(2)
"""

from __future__ import annotations

import gast

from d2s.converters.base import Converter
from d2s.libraries import takes_no_functions
from d2s.templates import quote_expression


class Calls(Converter):
    """Every call that may reach code of the user's."""

    def visit_Call(self, node: gast.Call) -> gast.expr:
        callee = node.func
        if isinstance(callee, gast.Name) and callee.id == "super" and not node.args:
            return self._super(node)
        if self._is_runtime(callee) or self._is_update(callee) or self._is_library(callee):
            return node
        call = quote_expression("d2s.call(callee)", node, callee=callee)
        call.args += node.args
        call.keywords = node.keywords
        return call

    def _super(self, node: gast.Call) -> gast.expr:
        """``super()`` looks into the frame of a method; blocks have frames of their own."""
        tree = self.context.unit.tree
        if "__class__" not in self.context.unit.free_names or not tree.args.args:
            return node
        return quote_expression("super(__class__, first)", node, first=tree.args.args[0].id)

    def _is_runtime(self, callee: gast.expr) -> bool:
        root = callee.value if isinstance(callee, gast.Attribute) else callee
        return getattr(root, "generated", False)

    def _is_update(self, callee: gast.expr) -> bool:
        """``x.at[...].set(...)`` and its kin: the syntax belongs to arrays alone."""
        return (
            isinstance(callee, gast.Attribute)
            and isinstance(callee.value, gast.Subscript)
            and isinstance(callee.value.value, gast.Attribute)
            and callee.value.value.attr == "at"
        )

    def _is_library(self, callee: gast.expr) -> bool:
        path: list[str] = []
        root = callee
        while isinstance(root, gast.Attribute):
            path.append(root.attr)
            root = root.value
        if not path or not isinstance(root, gast.Name):
            return False
        module = self.context.globals.get(root.id)
        return module is not None and takes_no_functions(module, tuple(reversed(path)))
