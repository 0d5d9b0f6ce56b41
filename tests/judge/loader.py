"""Imports chosen modules with every function of theirs offered to a converter as it is made.

The offer is the innermost decorator of each definition. So whatever the module does next with the
function (wrap it in a property, register it, keep it in a table) it does with the converted one,
and no reference to the plain one is left behind.
"""

from __future__ import annotations

import ast
import importlib.abc
import importlib.machinery
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import d2s
from d2s import conversion, libraries

#: the name of the decorator while a module is executed
OFFER = "__judge__"
Convert = Callable[[types.FunctionType], Any]


def plain(function: types.FunctionType) -> types.FunctionType:
    """The converter of the baseline."""
    return function


def on_call(function: types.FunctionType) -> Any:
    """Converts the tests alone; what they call is converted when they call it.

    That is how people use d2s, and the only way to see whether a plain function that meets
    converted code stays the same object to everybody who looks at it.
    """
    if function.__name__.startswith("test"):
        return d2s.convert(function)
    conversion.conversion_of(function)  # a refusal is to come now
    return function


@dataclass(frozen=True)
class Offered:
    """What became of one function."""

    module: str
    name: str
    line: int
    #: "converted", "on call", "as it is", "refused" or "broken": d2s failed without an error of
    #: its own
    outcome: str
    code: str = ""
    why: str = ""
    at: int = 0

    def record(self) -> dict[str, Any]:
        return {"kind": "function", **asdict(self)}


class Offers:
    """Converts functions, and keeps the books."""

    def __init__(self, convert: Convert, write: Callable[[dict[str, Any]], None]) -> None:
        self._convert = convert
        self._write = write
        self._seen: set[tuple[str, str, int]] = set()

    def __call__(self, function: Any) -> Any:
        if self._convert is plain or not isinstance(function, types.FunctionType):
            return function
        reason = conversion.why_not(function)
        if reason:
            return self._keep(function, "as it is", why=reason)
        try:
            made = self._convert(function)
        except d2s.ConversionError as error:
            if error.code == "D2S001":
                return self._keep(function, "as it is", why="its source is not available")
            line = error.site.line if error.site is not None else 0
            return self._keep(function, "refused", code=error.code, why=error.what, at=line)
        except Exception as error:
            text = f"{type(error).__name__}: {error}".splitlines()[0]
            return self._keep(function, "broken", why=text)
        self._note(function, "on call" if made is function else "converted")
        return made

    def _keep(self, function: Any, outcome: str, code: str = "", why: str = "", at: int = 0) -> Any:
        self._note(function, outcome, code, why, at)
        # converted code that calls it must not try again
        return function if outcome == "as it is" else d2s.do_not_convert(function)

    def _note(self, function: Any, outcome: str, *more: Any) -> None:
        line = function.__code__.co_firstlineno
        key = (function.__module__, function.__qualname__, line)
        if key not in self._seen:  # tests import some modules several times
            self._seen.add(key)
            self._write(Offered(*key, outcome, *more).record())


class _Mark(ast.NodeTransformer):
    """Puts the offer on every outermost function; those inside belong to it."""

    def _definition(self, node: Any) -> Any:
        node.decorator_list = [self.visit(d) for d in node.decorator_list]
        node.args = self._defaults(node.args)
        node.decorator_list.append(ast.copy_location(ast.Name(OFFER, ast.Load()), node))
        return node

    visit_FunctionDef = visit_AsyncFunctionDef = _definition

    def _defaults(self, args: ast.arguments) -> ast.arguments:
        args.defaults = [self.visit(d) for d in args.defaults]
        args.kw_defaults = [d and self.visit(d) for d in args.kw_defaults]
        return args

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        node.args = self._defaults(node.args)
        offer = ast.copy_location(ast.Name(OFFER, ast.Load()), node)
        return ast.copy_location(ast.Call(offer, [node], []), node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return node  # may run when the name is gone


class _Loader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, path: str, offers: Offers) -> None:
        super().__init__(name, path)
        self._offers = offers

    def get_code(self, fullname: str) -> types.CodeType:
        path = self.get_filename(fullname)
        tree = ast.fix_missing_locations(_Mark().visit(ast.parse(self.get_data(path), path)))
        return compile(tree, path, "exec", dont_inherit=True)

    def exec_module(self, module: types.ModuleType) -> None:
        vars(module)[OFFER] = self._offers
        try:
            super().exec_module(module)
        finally:
            vars(module).pop(OFFER, None)


class Finder(importlib.abc.MetaPathFinder):
    """Finds the chosen modules, and everything in the chosen packages."""

    def __init__(self, names: Iterable[str], offers: Offers) -> None:
        self._names = tuple(names)
        self._offers = offers

    def chooses(self, name: str) -> bool:
        return any(name == known or name.startswith(known + ".") for known in self._names)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: Any = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not self.chooses(fullname):
            return None
        # the path finder, because some modules of the library are frozen and have a file all the
        # same
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is None or not isinstance(spec.loader, importlib.machinery.SourceFileLoader):
            return None
        assert spec.origin is not None
        libraries.claim(spec.origin)
        spec.loader = _Loader(fullname, spec.origin, self._offers)
        return spec

    def install(self) -> None:
        """From now on the chosen modules are imported afresh.

        d2s and what it needs keep the modules they have: the judge does not judge itself.
        """
        sys.meta_path.insert(0, self)
        for name in [name for name in sys.modules if self.chooses(name)]:
            del sys.modules[name]
