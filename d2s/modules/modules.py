"""The text of a whole module: which functions are in it and where they stand; nothing is run."""

from __future__ import annotations

import ast
import functools
import io
import symtable
import tokenize
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from d2s.modules.imports import ScopeNames, imported_as

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
#: what decorators of d2s say about a function, by the names they can be imported from
MARKS = {
    f"{home}.{name}": name
    for home in ("d2s", "d2s.api")
    for name in ("to_static", "generated", "do_not_convert")
}


@dataclass(frozen=True, eq=False)
class Function:
    """A function or method of a module."""

    node: Definition
    #: ``Class.method``, ``outer.inner``
    qualname: str
    #: the function it stands in
    around: Function | None
    #: the scopes its body sees, from the innermost outwards
    scopes: tuple[ScopeNames, ...]
    #: the class whose body it stands in; decorators see its names, the function does not
    inside: ScopeNames | None
    #: the decorators of d2s it carries
    marks: frozenset[str]

    @property
    def parents(self) -> Iterator[Function]:
        """The functions around it, from the innermost outwards."""
        parent = self.around
        while parent is not None:
            yield parent
            parent = parent.around

    @property
    def is_generated(self) -> bool:
        return any("generated" in function.marks for function in (self, *self.parents))

    @property
    def why_not(self) -> str:
        """Why it runs as it is wherever it is called; empty when it can be converted."""
        if isinstance(self.node, ast.AsyncFunctionDef):
            return "it is a coroutine"
        return "it is a generator" if _yields(self.node) else ""


def _yields(node: Definition) -> bool:
    stack: list[ast.AST] = list(node.body)
    while stack:
        child = stack.pop()
        if isinstance(child, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            stack.extend(ast.iter_child_nodes(child))
    return False


class Module:
    """A parsed module; raises `SyntaxError` when its text is not Python."""

    def __init__(self, text: str, filename: str) -> None:
        self.filename = filename
        #: the lines as they are, and as Python sees them: only their ends differ
        self.lines = io.StringIO(text, newline="").readlines()
        self.plain_lines = tuple(io.StringIO(text, newline=None).readlines())
        self.plain = "".join(self.plain_lines)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # Python warns of them when the module is imported
                self.tree = ast.parse(self.plain, filename)
                self.tables = list(_tables(symtable.symtable(self.plain, filename, "exec")))
            tokens = list(tokenize.generate_tokens(io.StringIO(self.plain).readline))
        except (ValueError, tokenize.TokenError) as error:  # a null byte, in some versions
            raise SyntaxError(str(error)) from error
        except (RecursionError, MemoryError) as error:
            raise SyntaxError("the code is nested too deeply for Python's parser") from error
        self._ends = [token.start for token in tokens if token.type == tokenize.NEWLINE]
        self.scope = ScopeNames.of(self.tree)
        self.functions = tuple(self._functions())

    def _functions(self) -> Iterator[Function]:
        """The functions in the order of the text."""
        scope = self.scope
        stack: list[
            tuple[ast.AST, str, Function | None, tuple[ScopeNames, ...], ScopeNames | None]
        ] = [(node, "", None, (scope,), None) for node in reversed(self.tree.body)]
        while stack:
            node, prefix, around, scopes, inside = stack.pop()
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                visible = (inside, *scopes) if inside is not None else scopes
                marks = _marks(node, visible)
                around = Function(node, prefix + node.name, around, scopes, inside, marks)
                yield around
                prefix, scopes, inside = (
                    f"{prefix}{node.name}.",
                    (ScopeNames.of(node), *scopes),
                    None,
                )
            elif isinstance(node, ast.ClassDef):
                prefix, inside = f"{prefix}{node.name}.", ScopeNames.of(node)
            children = [
                (child, prefix, around, scopes, inside)
                for child in ast.iter_child_nodes(node)
                if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case)
            ]
            stack += reversed(children)

    def table(self, function: Function) -> symtable.Function:
        """Python's own table of the names of a function."""
        name, line = function.node.name, function.node.lineno
        return next(
            table
            for table in self.tables
            if isinstance(table, symtable.Function)
            and (table.get_name(), table.get_lineno()) == (name, line)
        )

    @functools.cached_property
    def declared(self) -> set[str]:
        """Names that some function declares `global` or `nonlocal`: it may rebind them."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.Global | ast.Nonlocal)]
        return {name for node in found for name in node.names}

    @functools.cached_property
    def deleted(self) -> set[str]:
        """Names that some `del` makes unbound."""
        found = [n for n in ast.walk(self.tree) if isinstance(n, ast.Name)]
        return {node.id for node in found if isinstance(node.ctx, ast.Del)}

    def line_break(self, number: int) -> str:
        """How a line of this file ends."""
        for line in (self.lines[number - 1], self.lines[0]):
            end = line[len(line.rstrip("\r\n")) :]
            if end:
                return end
        return "\n"

    def line_end(self, function: Function) -> tuple[int, int]:
        """Where the last line of a function ends, a comment at its end included."""
        end = function.node.end_lineno or 0, 0
        column = len(self._line(end[0]).encode()[: function.node.end_col_offset].decode())
        return next(place for place in self._ends if place >= (end[0], column))

    def margin(self, node: ast.stmt) -> str:
        """What stands before a statement on its line."""
        return self._line(node.lineno).encode()[: node.col_offset].decode()

    def _line(self, number: int) -> str:
        return self.plain_lines[number - 1]


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for child in table.get_children():
        yield from _tables(child)


def _marks(node: Definition, scopes: tuple[ScopeNames, ...]) -> frozenset[str]:
    found = set()
    for decorator in node.decorator_list:
        expression = decorator.func if isinstance(decorator, ast.Call) else decorator
        meanings = imported_as(expression, scopes)
        found |= {MARKS[what] for what in meanings & MARKS.keys()}
    return frozenset(found)
