"""The comments of a function, put back into the text of what it became."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from d2s.source.parser import Unit

_SKIPPED = {tokenize.NL, tokenize.INDENT, tokenize.DEDENT}
#: a comment stays at the end of its line up to this length
_WIDTH = 100


@dataclass(frozen=True)
class Comment:
    """A comment and the statement it belongs to."""

    text: str
    #: the first line of the statement; where the comment stands when it is on a line of its own
    line: int
    #: whether it shares a line with code
    is_trailing: bool
    #: whether it stands on the line of the ``def``
    is_head: bool


def comments_of(unit: Unit) -> Iterator[Comment]:
    """The comments of a function in their order."""
    first, last = unit.tree.lineno, unit.tree.end_lineno or unit.tree.lineno
    text = "".join(unit.lines[first - 1 : last])
    statement: int | None = None  # the row where the present one starts
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            row = token.start[0]
            if token.type == tokenize.COMMENT:
                trailing = bool(token.line[: token.start[1]].strip())
                line = (statement or row) + first - 1
                yield Comment(token.string, line, trailing, is_head=trailing and row == 1)
            elif token.type == tokenize.NEWLINE:
                statement = None
            elif token.type not in _SKIPPED and statement is None:
                statement = row
    except (tokenize.TokenError, IndentationError):
        return


def put_back(
    tree: ast.AST, comments: list[Comment], plain: str, lay_out: Callable[[ast.AST], str]
) -> str:
    """The text of a function, `plain` without comments, with the comments at their statements.

    They travel as marker statements through the layout and become comments in the end.
    """
    function = ast.parse(plain).body[0]
    assert isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
    _copy_lines(tree, function)
    mark = "d2s_comment_"
    while mark in plain:
        mark += "_"
    head = next((n for n, comment in enumerate(comments) if comment.is_head), None)
    waiting = [n for n in range(len(comments)) if n != head]
    at_end: set[int] = set()  # comments that go behind the statement they stand before

    def marker(number: int) -> ast.stmt:
        return ast.Expr(ast.Name(f"{mark}{number}", ast.Load()))

    def put(body: list[ast.stmt], is_function: bool) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for position, statement in enumerate(body):
            docstring = is_function and position == 0 and _is_text(statement)
            while waiting and comments[waiting[0]].line <= statement.lineno and not docstring:
                number = waiting.pop(0)
                if comments[number].is_trailing and comments[number].line == statement.lineno:
                    at_end.add(number)
                done.append(marker(number))
            inner = isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
            for owner, name in _blocks(statement):
                setattr(owner, name, put(getattr(owner, name), inner))
            done.append(statement)
        return done

    function.body = put(function.body, is_function=True)
    function.body += [marker(number) for number in waiting]
    text = lay_out(ast.fix_missing_locations(function))
    return _comments_for_markers(text, mark, comments, at_end, head)


def _is_text(statement: ast.stmt) -> bool:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(value, ast.Constant) and isinstance(value.value, str)


def _blocks(statement: ast.stmt) -> Iterator[tuple[ast.AST, str]]:
    """The lists of statements in a statement, in the order of the text: owner and field."""
    for name, value in ast.iter_fields(statement):
        for item in value if isinstance(value, list) else ():
            if isinstance(item, ast.stmt):
                yield statement, name
                break
            if isinstance(item, ast.ExceptHandler | ast.match_case):
                yield item, "body"


def _comments_for_markers(
    text: str, mark: str, comments: list[Comment], at_end: set[int], head: int | None
) -> str:
    single = _single_lines(text)
    found = re.compile(rf"([ \t]*){mark}(\d+)")
    rows = text.split("\n")
    markers = [found.fullmatch(row) for row in rows]
    lines: list[str] = []
    behind = "" if head is None else comments[head].text  # goes behind the next line
    for n, (row, marker) in enumerate(zip(rows, markers, strict=True)):
        if marker is None:
            lines.append(f"{row}  {behind}" if behind else row)
            behind = ""
            continue
        comment = comments[int(marker[2])]
        follows = n + 2 in single and markers[n + 1] is None
        if (
            int(marker[2]) in at_end
            and follows
            and len(rows[n + 1]) + len(comment.text) + 2 <= _WIDTH
        ):
            behind = comment.text
        else:
            lines.append(marker[1] + comment.text)
    return "\n".join(lines)


def _single_lines(text: str) -> set[int]:
    """Numbers of the lines that hold whole statements, or the whole head of one."""
    found: set[int] = set()
    start: int | None = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NEWLINE:
            if start == token.start[0]:
                found.add(start)
            start = None
        elif token.type not in _SKIPPED and token.type != tokenize.COMMENT and start is None:
            start = token.start[0]
    return found


def _copy_lines(origin: ast.AST, copy: ast.AST) -> None:
    """Give the re-parsed text the line numbers of the tree it was made from."""
    for one, other in zip(ast.walk(origin), ast.walk(copy), strict=True):
        if hasattr(one, "lineno"):
            ast.copy_location(other, one)
