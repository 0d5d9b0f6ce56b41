"""Refuse what is not supported, before anything is rewritten.

Later converters may assume that every node they meet is one they know.

>>> from d2s.pipeline import example
>>> print(example("def f(x):\\n    del x"))
Traceback (most recent call last):
...
d2s.errors.ConversionError: D2S003: `del` is not converted yet
  File "example.py", line 2, in f
    del x
    ^^^^^
Write instead: leave the name alone; an unused value costs nothing in a static graph
"""

from __future__ import annotations

import gast

from d2s.converters.base import Context, Converter
from d2s.errors import ConversionError

#: node class -> (what the user calls it, what to write instead)
REFUSED: dict[type[gast.AST], tuple[str, str]] = {
    gast.Match: ("`match`", "an if/elif chain"),
    gast.With: ("`with`", "call the context manager around the static function"),
    gast.Delete: (
        "`del`",
        "leave the name alone; an unused value costs nothing in a static graph",
    ),
    gast.Global: ("`global`", "return the value and assign the global outside"),
    gast.ClassDef: ("a class inside a function", "define the class at module level"),
    gast.Import: ("an import inside a function", "import at the top of the module"),
    gast.ImportFrom: ("an import inside a function", "import at the top of the module"),
    gast.NamedExpr: ("`:=`", "assign on a line of its own"),
    gast.TryStar: ("`except*`", "`except`"),
    gast.Yield: ("a generator", "build the values in a loop and return them"),
    gast.YieldFrom: ("a generator", "build the values in a loop and return them"),
    gast.Await: ("`await`", "a function that is not asynchronous"),
    gast.AsyncFor: ("`async for`", "`for`"),
    gast.AsyncWith: ("`async with`", "call the context manager around the static function"),
    gast.AsyncFunctionDef: ("an asynchronous function", "a function that is not asynchronous"),
}


class Fence(Converter):
    """Raises `ConversionError` for the first node that d2s does not convert."""

    removes = tuple(REFUSED)

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        for node in context.nodes:
            self._check(node)

    def _check(self, node: gast.AST) -> None:
        refused = REFUSED.get(type(node))
        if refused is not None:
            self._refuse(node, refused[0], refused[1])
        elif isinstance(node, gast.For | gast.While) and node.orelse:
            loop = "for" if isinstance(node, gast.For) else "while"
            self._refuse(node.orelse[0], f"`else` of a `{loop}`", "a flag set before `break`")
        elif isinstance(node, gast.Try) and node.finalbody:
            self._refuse(node.finalbody[0], "`finally`", "the statements after the try block")
        elif isinstance(node, gast.Call) and self._reads_frame(node):
            self._refuse(node, f"`{node.func.id}()`", "the names themselves")

    def _reads_frame(self, node: gast.Call) -> bool:
        name = getattr(node.func, "id", "")
        return name in ("eval", "exec") or (name in ("locals", "vars", "dir") and not node.args)

    def _refuse(self, node: gast.AST, what: str, fix: str) -> None:
        site = self.context.unit.site(node)
        raise ConversionError(f"{what} is not converted yet", site=site, fix=fix)
