"""What is called goes through ``d2s.fn``, which converts a function on first use.

Calls into array libraries stay as they are, but for those that put a list of arrays together:
what a loop has appended to a list is one array already.

>>> from d2s.pipeline import example
>>> print(example('def f(g, x): return jnp.sum(g(x, k=1)) + x.at[0].set(2)'))
def f(g, x):
    return jnp.sum(d2s.fn(g)(x, k=1)) + x.at[0].set(2)
>>> print(example('def f(l, x): return jnp.stack(l) + jnp.stack([x, x])'))
def f(l, x):
    return d2s.fn(jnp.stack)(l) + jnp.stack([x, x])
"""

from __future__ import annotations

import builtins

import gast

from d2s.analysis.scopes import FUNCTIONS, all_nodes, own_nodes
from d2s.converters.base import Context, Converter
from d2s.libraries import PUTS_TOGETHER, takes_no_functions
from d2s.source.templates import quote_expression


class Calls(Converter):
    """Every call that may reach code of the user's."""

    def visit_Call(self, node: gast.Call) -> gast.expr:
        callee = node.func
        if getattr(callee, "id", "") == "super" and "super" not in self.context.written.bound:
            return node
        if self._is_runtime(callee) or self._is_update(callee):
            return node
        if self._is_library(callee) and not _puts_together(node):
            return node
        if is_exception(callee, self.context):
            return node
        node.func = quote_expression("d2s.fn(callee)", callee, callee=callee)
        return node

    def _is_runtime(self, callee: gast.expr) -> bool:
        root = callee.value if isinstance(callee, gast.Attribute) else callee
        return getattr(root, "generated", False)

    def _is_update(self, callee: gast.expr) -> bool:
        """``x.at[...].set(...)`` belongs to arrays alone, ``d2s.at(x)[...].set(...)`` to d2s."""
        if not isinstance(callee, gast.Attribute):
            return False
        base = callee.value
        while isinstance(base, gast.Subscript):
            base = base.value
        if isinstance(base, gast.Call):
            return self._is_runtime(base.func) and base.func.attr == "at"
        is_item = isinstance(callee.value, gast.Subscript) and base is callee.value.value
        return is_item and isinstance(base, gast.Attribute) and base.attr == "at"

    def _is_library(self, callee: gast.expr) -> bool:
        path: list[str] = []
        root = callee
        while isinstance(root, gast.Attribute):
            path.append(root.attr)
            root = root.value
        if not path or not isinstance(root, gast.Name):
            return False
        module = self.context.written.globals.get(root.id)
        return module is not None and takes_no_functions(module, tuple(reversed(path)))


#: Python's own exceptions that take nothing but letters for a text
_STRICT = (UnicodeError, BaseExceptionGroup)


def is_exception(callee: gast.expr, context: Context) -> bool:
    """Whether a name means one of Python's own exceptions, which take whatever they are given."""
    name = callee.id if isinstance(callee, gast.Name) else ""
    kind = getattr(builtins, name, None)
    hidden = name in context.written.globals or name in context.written.bound
    if hidden or not isinstance(kind, type):
        return False
    return issubclass(kind, BaseException) and not issubclass(kind, _STRICT)


def _puts_together(node: gast.Call) -> bool:
    """Whether a call may make one array of a list that a loop has appended to."""
    kinds = (gast.Name, gast.Attribute, gast.Subscript, gast.Call, gast.BinOp, gast.ListComp)
    name = getattr(node.func, "attr", "")
    return name in PUTS_TOGETHER and bool(node.args) and isinstance(node.args[0], kinds)


def name_super(tree: gast.AST, is_method: bool) -> None:
    """Write out the arguments of ``super()``: the class and the first parameter.

    Without them it looks into the frame of its method, and blocks have frames of their own. This
    happens before anybody asks which names the method reads.
    """
    classes = [node for node in all_nodes(tree) if isinstance(node, gast.ClassDef)]
    for node in (inner for outer in [tree] * is_method + classes for inner in all_nodes(outer)):
        if not isinstance(node, FUNCTIONS):
            continue
        parameters = [*node.args.posonlyargs, *node.args.args]
        body = [node.body] if isinstance(node, gast.Lambda) else node.body
        for call in own_nodes(body) if parameters else ():
            is_super = isinstance(call, gast.Call) and getattr(call.func, "id", "") == "super"
            if is_super and not call.args and not call.keywords:
                told = quote_expression("f(__class__, first)", call, first=parameters[0].id)
                call.args, call.is_told = told.args, True


def untell_super(tree: gast.AST, generated: set[str]) -> None:
    """Remove the arguments again where ``super()`` still stands in its method, in no block."""
    for node in all_nodes(tree):
        if isinstance(node, gast.FunctionDef) and node.name not in generated:
            for call in own_nodes(node.body):
                if getattr(call, "is_told", False):
                    call.args = []
