"""Module text in, module text out: chosen functions are replaced by what they become.

Everything else is kept as it is, character for character. The user's module is never imported.

>>> text = "import d2s\\n\\n@d2s.to_static\\ndef f(x):\\n    return -x if x < 0 else x  # size\\n"
>>> print(rewrite(text).text, end="")
import d2s
<BLANKLINE>
@d2s.to_static
@d2s.generated
def f(x):
    return d2s.cond(x < 0, lambda: -x, lambda: x)  # size
"""

from __future__ import annotations

import ast
import re
import symtable
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import gast

from d2s import pipeline
from d2s.analysis.scopes import all_nodes
from d2s.errors import ConversionError, Site
from d2s.modules.imports import ScopeNames, libraries, load_submodules
from d2s.modules.modules import Function, Module
from d2s.source import emit
from d2s.source.indentation import STEP, indent
from d2s.source.naming import Names
from d2s.source.parser import Unit, without_decorators
from d2s.source.translation import to_gast

#: statements that may leave the names they bind unbound
_CONDITIONAL = (ast.If, ast.For, ast.While, ast.Try, ast.TryStar, ast.With, ast.Match)
_COOKIE = re.compile(r"#!|[ \t\f]*#.*?coding[:=]")


@dataclass(frozen=True)
class Rewritten:
    """A module after conversion, and what became of its functions."""

    text: str
    converted: tuple[Function, ...]
    #: functions that were converted before
    already: tuple[Function, ...]
    #: functions left as they are, with the reason
    left: tuple[tuple[Function, str], ...]
    #: the qualified names of all functions of the module
    names: frozenset[str]


@dataclass(frozen=True)
class _Piece:
    """A converted function, before it is known by which name it calls d2s."""

    function: Function
    unit: Unit
    tree: gast.AST


def rewrite(
    text: str,
    filename: str = "<text>",
    functions: Collection[str] = (),
    everything: bool = False,
) -> Rewritten:
    """Convert the functions with these qualified names, or everything, or what is decorated.

    Of everything, what cannot be converted is left as it is; otherwise that is an error.
    """
    module = Module(text, filename)
    already = [f for f in module.functions if "generated" in f.marks]
    wanted = [f for f in module.functions if _is_wanted(f, functions, everything)]
    pieces, refused = _pieces(module, wanted, everything)
    if refused and not everything:
        raise refused[0].error
    left = tuple((r.function, r.reason or f"{r.error.code}: {r.error.what}") for r in refused)
    names = frozenset(f.qualname for f in module.functions)
    converted = tuple(piece.function for piece in pieces)
    new = _with_pieces(module, pieces) if pieces else text
    return Rewritten(new, converted, tuple(already), left, names)


@dataclass(frozen=True)
class Unconverted:
    """A function that does not convert; with a reason if that is no fault of its syntax."""

    function: Function
    error: ConversionError
    reason: str


def check(text: str, filename: str, decorated: bool) -> tuple[int, list[Unconverted]]:
    """How many functions convert, and those that do not: of all, or of the decorated ones."""
    module = Module(text, filename)
    wanted = [f for f in module.functions if _is_wanted(f, (), not decorated)]
    pieces, refused = _pieces(module, wanted, not decorated)
    return len(pieces), refused


def _pieces(
    module: Module, wanted: list[Function], everything: bool
) -> tuple[list[_Piece], list[Unconverted]]:
    pieces: list[_Piece] = []
    refused: list[Unconverted] = []
    done: set[Function] = set()
    if wanted:
        load_submodules(module.tree)
    for function in wanted:
        if not done.isdisjoint(function.parents):
            continue  # its text is part of what the function around it became
        reason = function.why_not
        if everything and "do_not_convert" in function.marks:
            reason = "it is marked with d2s.do_not_convert"
        try:
            if reason:
                raise _refusal(module, function, reason)
            pieces.append(_convert(module, function))
        except ConversionError as error:
            refused.append(Unconverted(function, error, reason))
        else:
            done.add(function)
    return pieces, refused


def _is_wanted(function: Function, names: Collection[str], everything: bool) -> bool:
    if function.is_generated:
        return False
    return everything or (function.qualname in names if names else "to_static" in function.marks)


def _refusal(module: Module, function: Function, reason: str) -> ConversionError:
    node = function.node
    return ConversionError(
        f"{function.qualname} cannot be converted: {reason}",
        site=Site(module.filename, node.lineno, node.name, node.col_offset),
        fix="a function that returns its values",
    )


def _convert(module: Module, function: Function) -> _Piece:
    node = function.node
    table = module.table(function)
    unit = Unit(
        tree=to_gast(without_decorators(node)),
        name=node.name,
        filename=module.filename,
        lines=module.plain_lines,
        free_names=tuple(table.get_frees()),
    )
    # comments behind the last statement belong to the function
    unit.tree.end_lineno = module.line_end(function)[0]
    try:
        tree, _, _ = pipeline.run(unit, _known(module, function))
    except RecursionError as error:
        raise ConversionError(
            f"{function.qualname} is nested too deeply to convert",
            code="D2S004",
            site=unit.site(unit.tree),
            fix="move inner blocks into functions of their own",
        ) from error
    return _Piece(function, unit, tree)


def _known(module: Module, function: Function) -> dict[str, object]:
    """The libraries a function sees, and the names of the module that are surely bound."""
    first = function.node.lineno
    above = ScopeNames()
    for statement in module.tree.body:
        if (statement.end_lineno or first) < first and not isinstance(statement, _CONDITIONAL):
            above.add_all(statement)
    known: dict[str, object] = dict.fromkeys(above.names, object())
    for scope in function.scopes[:-1]:
        for name in scope.names & known.keys():
            del known[name]
    known |= libraries(function.scopes)
    hidden = module.declared | module.deleted | _local_names(module, function)
    return {name: value for name, value in known.items() if name not in hidden}


def _local_names(module: Module, function: Function) -> set[str]:
    """Names that the function or one inside it binds for itself."""
    stack: list[symtable.SymbolTable] = [module.table(function)]
    found: set[str] = set()
    while stack:
        table = stack.pop()
        found |= {symbol.get_name() for symbol in table.get_symbols() if symbol.is_local()}
        stack += table.get_children()
    return found


# -- the name of d2s ------------------------------------------------------------------------------


class _RuntimeNames:
    """The names by which generated code calls d2s: ``d2s``, and another where that is taken."""

    def __init__(self, module: Module, before: list[ast.stmt]) -> None:
        self._module = module
        self._taken = set(re.findall(r"\w+", module.plain))
        self._candidates = ["d2s", *_names_of_d2s(before)]

    def name(self, function: Function) -> str:
        for name in self._candidates:
            if self._is_free(name) and not self._is_hidden(name, function):
                return name
        (fresh,) = Names(self._taken, 0).fresh("d2s_")
        self._candidates.append(fresh)
        return fresh

    def _is_free(self, name: str) -> bool:
        """Whether the module means nothing but d2s by it."""
        scope = self._module.scope
        only_d2s = scope.meanings(name) in (None, {"d2s"}) and name not in scope.bound
        return only_d2s and name not in self._module.declared

    def _is_hidden(self, name: str, function: Function) -> bool:
        around = [*function.scopes[:-1], *([function.inside] if function.inside else [])]
        return name in _local_names(self._module, function) or any(
            scope.meanings(name) is not None for scope in around
        )


def _names_of_d2s(statements: Iterable[ast.stmt]) -> Iterator[str]:
    """The names that ``import d2s`` statements bind."""
    for statement in statements:
        for alias in statement.names if isinstance(statement, ast.Import) else ():
            if alias.name == "d2s" or (alias.name.startswith("d2s.") and not alias.asname):
                yield alias.asname or "d2s"


# -- the text -------------------------------------------------------------------------------------


def _with_pieces(module: Module, pieces: list[_Piece]) -> str:
    first = pieces[0].function.node.lineno
    before = [s for s in module.tree.body if (s.end_lineno or 0) < first]
    names = _RuntimeNames(module, before)
    used: set[str] = set()
    expected = ast.parse(module.plain)
    places = {
        (n.lineno, n.col_offset): n for n in ast.walk(expected) if isinstance(n, ast.FunctionDef)
    }
    lines = list(module.lines)
    for piece in reversed(pieces):  # from the last, so that line numbers stay true
        runtime = names.name(piece.function)
        used.add(runtime)
        for child in all_nodes(piece.tree):
            if getattr(child, "generated", False):
                child.id = runtime
        tree = emit.to_ast(piece.tree)
        assert isinstance(tree, ast.FunctionDef)
        node = places[piece.function.node.lineno, piece.function.node.col_offset]
        unchanged = _dump(tree) == _dump(without_decorators(node))
        _put(module, piece, "" if unchanged else emit.source(tree, piece.unit), runtime, lines)
        mark = ast.parse(f"{runtime}.generated", mode="eval").body
        tree.decorator_list = [*node.decorator_list, mark]
        for name, value in ast.iter_fields(tree):
            setattr(node, name, value)
    missing = sorted(used - set(_names_of_d2s(before)))
    if missing:
        _put_imports(module, first, missing, lines, expected)
    new = "".join(lines)
    _check(new, expected, module, pieces[0].function)
    return new


def _put(module: Module, piece: _Piece, text: str, runtime: str, lines: list[str]) -> None:
    """Replace the lines of a function; no text means that only its mark is missing."""
    node = piece.function.node
    margin = module.margin(node)
    own_margin = margin.rpartition("\f")[2]  # where Python starts to count again
    row, column = module.line_end(piece.function)
    head = lines[node.lineno - 1]
    newline = module.line_break(node.lineno)
    if text:
        moved = indent(text, own_margin, _step(module, node, own_margin)).removeprefix(own_margin)
        moved = moved.replace("\n", newline) + lines[row - 1][column:]
        body = [moved]
    else:
        body = [head[len(margin) :], *lines[node.lineno : row]]
    lines[node.lineno - 1 : row] = [
        f"{margin}@{runtime}.generated{newline}",
        own_margin + body[0],
        *body[1:],
    ]


def _step(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, margin: str) -> str:
    """How deep the user indents the body of this function."""
    body = module.margin(node.body[0])
    step = body.removeprefix(margin)
    on_own_line = node.body[0].lineno > node.lineno and not body.strip(" \t")
    return step if on_own_line and step and body.startswith(margin) else STEP


def _put_imports(
    module: Module, first: int, names: list[str], lines: list[str], expected: ast.Module
) -> None:
    """Add imports of d2s: at the imports if there are some, else above the first statement."""
    body = module.tree.body
    start = 1 if ast.get_docstring(module.tree, clean=False) is not None else 0
    while start < len(body) and _is_future(body[start]):
        start += 1
    places = [
        n
        for n, statement in enumerate(body)
        if n >= start and not module.margin(statement).strip() and statement.lineno <= first
    ]
    imports = [n for n in places if isinstance(body[n], ast.Import | ast.ImportFrom)]
    from_d2s = [n for n in imports if getattr(body[n], "module", "") == "d2s"]
    place = next(iter([*from_d2s, *imports, *places]))
    line = _first_line(body[place])
    newline = module.line_break(line)
    gap = ""
    if not imports:
        line = _above_comments(module, line)
        gap = newline * (2 if isinstance(body[place], ast.ClassDef | ast.FunctionDef) else 1)
    texts = ["import d2s" if name == "d2s" else f"import d2s as {name}" for name in names]
    lines[line - 1] = newline.join([*texts, gap + lines[line - 1]])
    expected.body[place:place] = ast.parse("\n".join(texts)).body


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(d.lineno for d in decorators)])


def _above_comments(module: Module, line: int) -> int:
    """The line above the comments that stand right over a line; a file's head stays its head."""
    top = line
    while top > 1 and module.plain_lines[top - 2].lstrip().startswith("#"):
        top -= 1
    is_head = top == 1 and any(map(_COOKIE.match, module.plain_lines[:2]))
    return line if is_head else top


def _check(new: str, expected: ast.Module, module: Module, function: Function) -> None:
    """The text must be the program that was converted, with the rest of the module around it."""
    try:
        if _dump(Module(new, module.filename).tree) == _dump(expected):
            return
    except SyntaxError:
        pass
    raise ConversionError(
        "the functions cannot be rewritten where they stand",
        site=Site(module.filename, function.node.lineno, function.node.name),
        fix="`def` at the start of a line of its own, without a backslash before it",
    )


def _dump(tree: ast.AST) -> str:
    """A tree as text; the prefix of ``u""`` says nothing to Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
    return ast.dump(tree)
