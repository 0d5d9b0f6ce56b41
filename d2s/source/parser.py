"""From a function object to the tree of its source.

The file is parsed once and whole, so every node carries the position it has in the user's file:
tracebacks, breakpoints, coverage and jax's own metadata then point there without any mapping.
"""

from __future__ import annotations

import ast
import inspect
import linecache
import types
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import gast

from d2s.errors import ConversionError, Site
from d2s.source.indentation import dedent
from d2s.source.translation import to_gast

Definition: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Unit:
    """One function to convert: its tree and where it came from."""

    tree: gast.AST
    name: str
    filename: str
    lines: tuple[str, ...]
    free_names: tuple[str, ...]

    @property
    def first_line(self) -> int:
        line: int = self.tree.lineno
        return line

    def site(self, node: gast.AST) -> Site:
        end = node.end_col_offset if node.end_lineno == node.lineno else 0
        return Site(self.filename, node.lineno, self.name, node.col_offset, end or 0)


def parse(function: types.FunctionType) -> Unit:
    """The `Unit` of a function or lambda; refuses text that does not belong to its code object."""
    code = function.__code__
    lines, definition = _located(function, code)
    return Unit(
        tree=to_gast(without_decorators(definition)),
        name=function.__name__,
        filename=code.co_filename,
        lines=lines,
        free_names=code.co_freevars,
    )


def text_of(function: types.FunctionType, code: types.CodeType) -> str:
    """The text of a function that compiled to `code`, from ``def`` on, at the left margin."""
    lines, node = _located(function, code)
    first = lines[node.lineno - 1]
    margin = first[: len(first) - len(first.lstrip())]
    return dedent("".join(lines[node.lineno - 1 : node.end_lineno]), margin).rstrip("\n") + "\n"


def _located(
    function: types.FunctionType, code: types.CodeType
) -> tuple[tuple[str, ...], Definition]:
    """The lines of the file of a function, and the definition there that compiled to `code`."""
    lines = _source_lines(function)
    definition = _find(_parsed_file(code.co_filename, lines), code)
    if definition is None and code.co_filename == "<string>":
        raise _no_source(function)  # the text of another exec
    if definition is None:
        raise ConversionError(
            f"the file of {function.__qualname__} has changed since the function was made",
            code="D2S002",
            site=Site(code.co_filename, code.co_firstlineno, function.__qualname__),
            fix="reload the module (or run the cell again), then convert",
        )
    return lines, definition


def _source_lines(function: types.FunctionType) -> tuple[str, ...]:
    filename = function.__code__.co_filename
    linecache.checkcache(filename)
    lines = linecache.getlines(filename, function.__globals__)
    if not lines:
        raise _no_source(function)
    return tuple(lines)


def _no_source(function: types.FunctionType) -> ConversionError:
    filename = function.__code__.co_filename
    fix = "a function that is written in a file or in a cell of a notebook"
    if filename == "<stdin>":
        fix += "; before Python 3.13 the prompt keeps no source, IPython does"
    return ConversionError(
        f"there is no source text for {function.__qualname__} ({filename})",
        code="D2S001",
        fix=fix,
    )


@dataclass(frozen=True)
class _File:
    """A parsed file: its definitions and the code objects they compile to, by first line."""

    lines: tuple[str, ...]
    definitions: dict[int, list[Definition]]
    codes: dict[int, list[types.CodeType]]


_files: dict[str, _File] = {}


def _parsed_file(filename: str, lines: tuple[str, ...]) -> _File:
    """The parsed file; parsed again only when its text changed."""
    known = _files.get(filename)
    if known is not None and known.lines == lines:
        return known
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has warned of them already
            tree = ast.parse("".join(lines), filename)
            module = compile(tree, filename, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise ConversionError(
            f"{filename} does not parse: {error.msg}",
            code="D2S002",
            site=Site(filename, error.lineno or 1, "<module>"),
            fix="reload the module after correcting the file",
        ) from error
    definitions: dict[int, list[Definition]] = {}
    for node in ast.walk(tree):
        if isinstance(node, Definition):
            decorators = getattr(node, "decorator_list", [])
            first = min([node.lineno, *(d.lineno for d in decorators)])
            definitions.setdefault(first, []).append(node)
    codes: dict[int, list[types.CodeType]] = {}
    for code in _code_objects(module):
        codes.setdefault(code.co_firstlineno, []).append(code)
    file = _files[filename] = _File(lines, definitions, codes)
    return file


def _code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _code_objects(constant)


def _find(file: _File, code: types.CodeType) -> Definition | None:
    """The definition that compiles to `code`, or None when the text is no longer its own."""
    if not _rewritten(code) and not any(
        _same(code, other) for other in file.codes.get(code.co_firstlineno, ())
    ):
        return None
    matches = []
    for node in file.definitions.get(code.co_firstlineno, ()):
        if isinstance(node, ast.Lambda):
            if code.co_name == "<lambda>" and _spans(node, code):
                matches.append(node)
        elif node.name == code.co_name:
            return node
    # several lambdas on a line: the innermost whose text holds every position of the code
    return max(matches, key=lambda node: (node.lineno, node.col_offset), default=None)


def _rewritten(code: types.CodeType) -> bool:
    """Whether pytest compiled this code from a tree with its own assertions put in."""
    return any(name.startswith("@py") for name in (*code.co_varnames, *code.co_names))


def _same(code: types.CodeType, other: types.CodeType) -> bool:
    return (
        code.co_name == other.co_name
        and code.co_code == other.co_code
        and code.co_names == other.co_names
        and code.co_varnames == other.co_varnames
        and _values(code) == _values(other)
        and _frame(code) == _frame(other)
        and list(code.co_positions()) == list(other.co_positions())
    )


def _values(code: types.CodeType) -> list[object]:
    return [_value(c) for c in code.co_consts]


def _value(constant: object) -> object:
    """What tells a constant from others; equal sets may print in different orders."""
    if isinstance(constant, types.CodeType):
        return _shape(constant)
    if isinstance(constant, tuple):
        return tuple(map(_value, constant))
    if isinstance(constant, frozenset):
        return frozenset(map(_value, constant))
    return type(constant), repr(constant)


def _shape(code: types.CodeType) -> object:
    values = tuple(_values(code))
    return code.co_name, code.co_code, code.co_names, code.co_varnames, _frame(code), values


def _frame(code: types.CodeType) -> object:
    """The parameters and the names of other functions: their use is in the code by number only."""
    counts = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount
    flags = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    return counts, flags, code.co_freevars, code.co_cellvars


def _spans(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether the code of a lambda stands in the text of this one's body."""
    body = node.body
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line is not None and end_line is not None and column is not None and end_column
    ]
    if not places:  # some versions of Python give a constant body no place
        return isinstance(body, ast.Constant) and repr(body.value) in map(repr, code.co_consts)
    start = (body.lineno, body.col_offset)
    stop = (body.end_lineno or body.lineno, body.end_col_offset or 0)
    return all(start <= first and last <= stop for first, last in places)


def without_decorators(node: Definition) -> Definition:
    if isinstance(node, ast.Lambda):
        return node
    kind = type(node)
    fields = {name: getattr(node, name) for name in node._fields} | {"decorator_list": []}
    return ast.copy_location(kind(**fields), node)
