"""From a tree to what people read and what Python runs; both come from the same tree."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import types
import warnings

import gast

from d2s.comments import comments_of, put_back
from d2s.parser import Unit

#: lines longer than this are laid out by astor, when what it writes is the same program
LONG_LINE = 96
_OUTER = "outer"


def to_ast(tree: gast.AST) -> ast.AST:
    """The tree in Python's own node classes; templates have given every node a position."""
    converted: ast.AST = gast.gast_to_ast(tree)
    return converted


def source(tree: ast.AST, unit: Unit | None = None) -> str:
    """Readable text of a converted tree, with the comments of the unit at their statements."""
    plain = _lay_out(ast.fix_missing_locations(tree))
    if unit is None or isinstance(tree, ast.Lambda):
        return plain
    comments = list(comments_of(unit))
    return put_back(tree, comments, plain, _lay_out) if comments else plain


def _lay_out(tree: ast.AST) -> str:
    text = ast.unparse(tree)
    if any(len(line) > LONG_LINE for line in text.splitlines()):
        text = _astor(tree) or text
    for tidy in (_neat_spaces, _tight, _bare_returns, _folded):
        better = tidy(text)
        if better != text and _same_program(better, text):
            text = better
    return text


def _astor(tree: ast.AST) -> str | None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # astor still names node classes that Python has retired
        import astor

        try:
            text: str = astor.to_source(tree).rstrip("\n")
        except Exception:
            # astor knows nothing of Python's newer syntax and fails in many ways; its layout is
            # a nicety, and the text we already have is complete
            return None
    # it breaks some lines where nobody would
    ugly = any(line.lstrip().startswith(("(", ")")) for line in text.splitlines())
    return text if not ugly and _same_program(text, ast.unparse(tree)) else None


def _same_program(text: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _neat_spaces(text: str) -> str:
    return re.sub(r"[ \t]+$", "", text.replace("lambda :", "lambda:"), flags=re.MULTILINE)


def _tight(text: str) -> str:
    return re.sub(r"\n\n+(?=[ \t]*(?:def |@))", "\n", text)


def _bare_returns(text: str) -> str:
    return re.sub(r"^([ \t]*)return \((.+,.*)\)$", r"\1return \2", text, flags=re.MULTILINE)


def _folded(text: str) -> str:
    """Long lines broken after commas of their outermost bracket."""
    lines = text.splitlines()
    return "\n".join(_fold(line) if len(line) > LONG_LINE else line for line in lines)


def _fold(line: str) -> str:
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(line.strip()).readline))
    except (tokenize.TokenError, IndentationError):
        return line  # part of something that goes on in other lines
    pieces, depth, start = [], 0, 0
    body = line.strip()
    for token in tokens:
        depth += (token.string in "([{" and token.type == tokenize.OP) - (
            token.string in ")]}" and token.type == tokenize.OP
        )
        if token.string == "," and depth == 1:
            pieces.append(body[start : token.end[1]].strip())
            start = token.end[1]
    indent = line[: len(line) - len(line.lstrip())]
    rows = [indent]
    for piece in [*pieces, body[start:].strip()]:
        gap = "" if rows[-1].isspace() or not rows[-1] else " "
        if len(rows[-1] + gap + piece) > LONG_LINE and gap:
            rows.append(indent + "    ")
            gap = ""
        rows[-1] += gap + piece
    return "\n".join(rows)


def code(tree: ast.AST, unit: Unit, runtime: str, qualname: str) -> types.CodeType:
    """The code object of a converted function, with the user's file, lines and names."""
    free = dict.fromkeys([runtime, *unit.free_names])
    bind = " = ".join(free) + " = None"
    module = ast.parse(f"def {_OUTER}():\n    {bind}")
    outer = module.body[0]
    assert isinstance(outer, ast.FunctionDef)
    if isinstance(tree, ast.Lambda):
        outer.body.append(ast.copy_location(ast.Return(tree), tree))
    else:
        assert isinstance(tree, ast.FunctionDef | ast.AsyncFunctionDef)
        parents = qualname.split(".")[:-1]
        if parents and parents[-1] != "<locals>" and _has_private_names(tree):
            # Python mangles them by the name of the class
            inside = ast.parse(f"class {parents[-1]}: pass").body[0]
            assert isinstance(inside, ast.ClassDef)
            inside.body = [tree]
            outer.body.append(inside)
            compiled = compile(module, unit.filename, "exec", dont_inherit=True)
            inner = _only_code(_only_code(_only_code(compiled)))
            return _renamed(inner, inner.co_qualname, qualname)
        if tree.name not in free:
            # a recursive call looks the name up where the user's does: in the module
            outer.body.insert(0, ast.copy_location(ast.Global([tree.name]), outer.body[0]))
        outer.body.append(tree)
    compiled = compile(module, unit.filename, "exec", dont_inherit=True)
    inner = _only_code(_only_code(compiled))
    return _renamed(inner, inner.co_qualname, qualname)


def _has_private_names(tree: ast.AST) -> bool:
    names = (getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(tree))
    return any(name.startswith("__") and not name.endswith("__") for name in names)


def _only_code(code: types.CodeType) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType))


def _renamed(code: types.CodeType, prefix: str, qualname: str) -> types.CodeType:
    """Qualified names as if the function had been compiled where the user wrote it."""
    consts = tuple(
        _renamed(c, prefix, qualname) if isinstance(c, types.CodeType) else c
        for c in code.co_consts
    )
    name = qualname + code.co_qualname.removeprefix(prefix)
    return code.replace(co_consts=consts, co_qualname=name)
