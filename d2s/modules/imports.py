"""What the names of a module mean, as far as its import statements tell; nothing is run."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from d2s.libraries import ARRAY_MODULES

ScopeNode: TypeAlias = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_INNER = (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
_LIBRARIES = {name.partition(".")[0] for name in ARRAY_MODULES} | {"d2s"}


@dataclass
class ScopeNames:
    """The names that one scope binds: by import, with what was imported, and otherwise."""

    imported: dict[str, set[str]] = field(default_factory=dict)
    bound: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, node: ScopeNode) -> ScopeNames:
        scope = cls()
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            arguments = [child.arg for child in ast.walk(node.args) if isinstance(child, ast.arg)]
            scope.bound.update(arguments)
        for statement in node.body:
            scope.add_all(statement)
        return scope

    def add_all(self, statement: ast.stmt) -> None:
        """The names a statement binds; inner functions and classes are named, not entered."""
        stack: list[ast.AST] = [statement]
        while stack:
            node = stack.pop()
            self._add(node)
            if not isinstance(node, _INNER):
                stack.extend(ast.iter_child_nodes(node))

    def _add(self, node: ast.AST) -> None:
        match node:
            case ast.Import(names=names):
                for alias in names:
                    top = alias.name.partition(".")[0]
                    self._import(alias.asname or top, alias.name if alias.asname else top)
            case ast.ImportFrom(names=[ast.alias(name="*")], module="d2s", level=0):
                for name in ("to_static", "generated", "do_not_convert"):
                    self._import(name, f"d2s.{name}")
            case ast.ImportFrom(names=names, module=module, level=level):
                for alias in names:
                    home = "." * level + (module or "")
                    self._import(alias.asname or alias.name, f"{home}.{alias.name}")
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self.bound.add(name)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                self.bound.add(name)
            case ast.ClassDef(name=name):
                self.bound.add(name)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                self.bound.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self.bound.add(name)

    def _import(self, name: str, what: str) -> None:
        self.imported.setdefault(name, set()).add(what)

    @property
    def names(self) -> set[str]:
        """Everything the scope binds."""
        return self.bound | self.imported.keys()

    def meanings(self, name: str) -> set[str] | None:
        """What a name may have been imported as; None when the scope does not bind it."""
        if name in self.names:
            return self.imported.get(name, set())
        return None

    def meaning(self, name: str) -> str | None:
        """What a name was imported as, when it can mean nothing else."""
        found = self.imported.get(name, set())
        return next(iter(found)) if len(found) == 1 and name not in self.bound else None


def imported_as(expression: ast.expr, scopes: Sequence[ScopeNames]) -> set[str]:
    """The dotted names that ``a.b`` may stand for; `scopes` from the innermost outwards."""
    path: list[str] = []
    while isinstance(expression, ast.Attribute):
        path.insert(0, expression.attr)
        expression = expression.value
    if not isinstance(expression, ast.Name):
        return set()
    for scope in scopes:
        found = scope.meanings(expression.id)
        if found is not None:
            return {".".join([what, *path]) for what in found}
    return set()


def libraries(scopes: Sequence[ScopeNames]) -> dict[str, object]:
    """The names that surely mean an array library; the library itself is imported for that."""
    known: dict[str, object] = {}
    hidden: set[str] = set()
    for scope in scopes:
        for name in scope.imported.keys() - hidden:
            what = scope.meaning(name)
            if what is not None and what.partition(".")[0] in _LIBRARIES:
                known[name] = _resolve(what)
        hidden |= scope.names
    return {name: value for name, value in known.items() if value is not None}


def load_submodules(tree: ast.Module) -> None:
    """Make ``import jax.scipy.special`` true here too, so that its names can be looked up."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.partition(".")[0] in _LIBRARIES:
                    _resolve(alias.name)


def _resolve(what: str) -> object:
    try:
        return importlib.import_module(what)
    except ImportError:
        home, _, name = what.rpartition(".")
        return getattr(_resolve(home), name, None) if home else None
