"""From a tree to what people read and what Python runs; both come from the same tree."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import types
import warnings
from collections.abc import Collection, Iterator

from d2s.source.comments import comments_of, put_back
from d2s.source.naming import is_block_name
from d2s.source.parser import Unit
from d2s.source.translation import to_ast as to_ast

#: lines longer than this are laid out by astor, when what it writes is the same program
LONG_LINE = 96
_OUTER = "outer"


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
    for tidy in (_neat, _tight, _bare_returns, _folded):
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
    ugly = any(line.lstrip().startswith(("(", ")", "]", "}")) for line in text.splitlines())
    return text if not ugly and _same_program(text, ast.unparse(tree)) else None


def _same_program(text: str, other: str) -> bool:
    try:
        return ast.dump(ast.parse(text)) == ast.dump(ast.parse(other))
    except SyntaxError:
        return False


def _neat(text: str) -> str:
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


def code(
    tree: ast.AST,
    unit: Unit,
    runtime: str,
    qualname: str,
    flags: int = 0,
    blocks: Collection[str] = (),
) -> types.CodeType:
    """The code object of a converted function, with the user's file, lines and names.

    `flags` are those of the user's ``__future__`` imports; `blocks` the names of functions that d2s
    made of blocks, which do not show in qualified names.
    """
    free = dict.fromkeys([runtime, *unit.free_names])
    bind = " = ".join(free) + " = None"
    module = ast.parse(f"def {_OUTER}():\n    {bind}")
    outer = module.body[0]
    assert isinstance(outer, ast.FunctionDef)
    if isinstance(tree, ast.Lambda):
        inside: ast.stmt = ast.copy_location(ast.Expr(tree), tree)
        own = ""
    else:
        assert isinstance(tree, ast.FunctionDef)
        inside = _bare(tree)
        own = tree.name
    depth = 2
    around = _class_around(qualname)
    if around and _has_private_names(tree):
        # Python mangles them by the name of the class
        wrapper = ast.parse(f"class {around}: pass").body[0]
        assert isinstance(wrapper, ast.ClassDef)
        wrapper.body, inside, own, depth = [inside], wrapper, around, 3
    if own and own not in free:
        # a recursive call looks the name up where the user's does: in the module
        outer.body.insert(0, ast.copy_location(ast.Global([own]), outer.body[0]))
    outer.body.append(inside)
    inner = compile(module, unit.filename, "exec", flags, dont_inherit=True)
    for _ in range(depth):
        inner = _only_code(inner)
    return _renamed(inner, inner.co_qualname, qualname, blocks)


def _class_around(qualname: str) -> str:
    """The innermost class that a function was written in, as far as its name tells."""
    for part in reversed(qualname.split(".<locals>.")):
        *_, above, _ = ("", "", *part.split("."))
        if above:
            return above
    return ""


def _bare(tree: ast.FunctionDef) -> ast.FunctionDef:
    """The function without what the original has evaluated already: defaults, annotations."""
    a = tree.args

    def plain(parameter: ast.arg) -> ast.arg:
        return ast.copy_location(ast.arg(parameter.arg), parameter)

    arguments = ast.arguments(
        posonlyargs=[plain(p) for p in a.posonlyargs],
        args=[plain(p) for p in a.args],
        vararg=plain(a.vararg) if a.vararg else None,
        kwonlyargs=[plain(p) for p in a.kwonlyargs],
        kw_defaults=[None] * len(a.kwonlyargs),
        kwarg=plain(a.kwarg) if a.kwarg else None,
        defaults=[],
    )
    bare = ast.FunctionDef(name=tree.name, args=arguments, body=tree.body, decorator_list=[])
    if "type_params" in tree._fields:
        vars(bare)["type_params"] = []
    return ast.copy_location(bare, tree)


def _has_private_names(tree: ast.AST) -> bool:
    names = (getattr(n, "attr", getattr(n, "id", "")) for n in ast.walk(tree))
    return any(name.startswith("__") and not name.endswith("__") for name in names)


def _only_code(code: types.CodeType) -> types.CodeType:
    return next(c for c in code.co_consts if isinstance(c, types.CodeType))


def as_written(code: types.CodeType) -> types.CodeType:
    """The code of a function whose text d2s wrote, with its blocks named as in `code`."""
    inner = {c.co_name for c in _nested(code) if is_block_name(c.co_name)}
    return _renamed(code, code.co_qualname, code.co_qualname, inner)


def _nested(code: types.CodeType) -> Iterator[types.CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield constant
            yield from _nested(constant)


def _renamed(
    code: types.CodeType, prefix: str, qualname: str, blocks: Collection[str]
) -> types.CodeType:
    """Qualified names as if the function had been compiled where the user wrote it."""
    consts = tuple(
        _renamed(c, prefix, qualname, blocks) if isinstance(c, types.CodeType) else c
        for c in code.co_consts
    )
    path = code.co_qualname
    if path == prefix or path.startswith(prefix + "."):  # a global name has a path of its own
        path = qualname + path.removeprefix(prefix)
    parts = path.split(".<locals>.")
    # a block belongs to its function, by name too: tracebacks read as the user's own
    *kept, own = [parts[0], *(part for part in parts[1:] if part not in blocks)]
    name = own.rpartition(".")[2] if code.co_name in blocks else code.co_name
    return code.replace(co_consts=consts, co_name=name, co_qualname=".<locals>.".join([*kept, own]))
