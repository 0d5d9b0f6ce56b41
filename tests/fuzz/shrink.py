"""Make a failing program small while it keeps failing in the same way.

Each round proposes smaller programs, the boldest first: whole runs of statements gone, a block
in place of its statement, an operand in place of its expression, a constant, fewer arguments,
simpler ones. The first that still shows the same difference is where the search goes on.
"""

from __future__ import annotations

import ast
import copy
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from .oracles import Limit, judge
from .program import Program

Fails = Callable[[Program], bool]
Proposal = Callable[[], Program | None]
SIMPLE = ("0", "1", "2.0", "True", "False")


def shrink(program: Program, fails: Fails, seconds: float = 60) -> Program:
    """The smallest program found that still fails."""
    end = time.monotonic() + seconds
    proposed = list(candidates(program))
    # After a success the search goes on at the same place: what came before has just failed.
    place = in_vain = 0
    while in_vain < len(proposed) and time.monotonic() < end:
        candidate = proposed[place % len(proposed)]()
        if (
            candidate is not None
            and _is_valid(candidate)
            and candidate.size < program.size
            and fails(candidate)
        ):
            program, in_vain = candidate, 0
            place %= len(proposed)
            proposed = list(candidates(program))
        else:
            place, in_vain = place + 1, in_vain + 1
    return program


def same_failure(key: tuple[str, str]) -> Fails:
    """Whether a program still shows the difference with this key."""

    def fails(program: Program) -> bool:
        before, Limit.seconds = Limit.seconds, 4.0
        try:
            verdict = judge(program, (key[0],))
        except Exception:
            return False  # it does not even load
        finally:
            Limit.seconds = before
        return any(finding.key == key for finding in verdict.findings)

    return fails


def _is_valid(program: Program) -> bool:
    try:
        with warnings.catch_warnings():  # it is allowed to look foolish
            warnings.simplefilter("error", SyntaxWarning)
            compile(program.body, "<candidate>", "exec")
    except (SyntaxError, SyntaxWarning, ValueError):
        return False
    return True


def candidates(program: Program) -> Iterator[Proposal]:
    """Makers of smaller programs, the boldest changes first."""
    tree = ast.parse(program.body)
    for change in (*_without_statements(tree), *_unwrapped(tree)):
        yield partial(_changed, program, tree, change)
    yield from _fewer_arguments(program, tree)
    for change in _simpler_expressions(tree):
        yield partial(_changed, program, tree, change)
    yield from _simpler_rows(program)


# --- Changes to the tree -------------------------------------------------------------------------
# A change is a path to a node's field and what to put there; the tree itself stays as it is.

Path = tuple[Any, ...]
Change = tuple[Path, Any]


def _changed(program: Program, tree: ast.Module, change: Change) -> Program | None:
    path, value = change
    made = copy.deepcopy(tree)
    parent: Any = made
    for part in path[:-1]:
        parent = parent[part] if isinstance(part, int) else getattr(parent, part)
    if isinstance(path[-1], int):
        parent[path[-1]] = copy.deepcopy(value)
    else:
        setattr(parent, path[-1], copy.deepcopy(value))
    try:
        return replace(program, body=ast.unparse(ast.fix_missing_locations(made)))
    except ValueError:  # there is no such text
        return None


def _fields(node: ast.AST, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All fields below a node, with their paths."""
    for name, value in ast.iter_fields(node):
        yield (*path, name), value
        if isinstance(value, ast.AST):
            yield from _fields(value, (*path, name))
        elif isinstance(value, list):
            for n, item in enumerate(value):
                if isinstance(item, ast.AST):
                    yield (*path, name, n), item
                    yield from _fields(item, (*path, name, n))


def _is_block(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], ast.stmt)


def _without_statements(tree: ast.Module) -> Iterator[Change]:
    blocks = [(path, value) for path, value in _fields(tree) if _is_block(value) and path[:-1]]
    for size in (8, 4, 2, 1):
        for path, block in blocks:
            for start in range(0, len(block), size):
                if len(block) >= size:
                    rest = block[:start] + block[start + size :]
                    empty = [] if path[-1] in ("orelse", "finalbody") else [ast.Pass()]
                    yield path, rest or empty
    for path, value in _fields(tree):
        if path[-1] in ("handlers", "cases") and len(value) > 1:
            for n in range(len(value)):
                yield path, value[:n] + value[n + 1 :]


def _unwrapped(tree: ast.Module) -> Iterator[Change]:
    """A statement replaced by one of the blocks inside it."""
    for path, block in _fields(tree):
        if not _is_block(block) or not path[:-1]:
            continue
        for n, statement in enumerate(block):
            inner = [v for p, v in _fields(statement) if _is_block(v)]
            for blocks in inner:
                yield path, block[:n] + blocks + block[n + 1 :]


def _is_value(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _simpler_expressions(tree: ast.Module) -> Iterator[Change]:
    for path, node in _fields(tree):
        if not isinstance(node, ast.expr) or not _is_value(node):
            continue
        if isinstance(node, ast.FormattedValue | ast.JoinedStr) or path[-2:-1] == ("values",):
            if not isinstance(node, ast.JoinedStr) or path[-1] == "format_spec":
                continue  # the inside of an f-string has a grammar of its own
        for child in ast.iter_child_nodes(node):
            # The remainder keeps numbers small; what it is taken of stays inside.
            keeps = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod | ast.FloorDiv)
            if isinstance(child, ast.FormattedValue) or not isinstance(child, ast.expr):
                continue
            if not keeps or isinstance(child, ast.Name | ast.Constant):
                yield path, child
        divisor = path[-1] == "right"
        if not isinstance(node, ast.Constant) and not divisor:
            for text in SIMPLE:
                yield path, ast.parse(text, mode="eval").body


# --- Changes to the arguments --------------------------------------------------------------------


def _fewer_arguments(program: Program, tree: ast.Module) -> Iterator[Proposal]:
    rows = program.rows
    for n in range(len(rows)) if len(rows) > 1 else ():
        yield partial(replace, program, rows=rows[:n] + rows[n + 1 :])
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef), "a program is one function"
    for n in range(len(function.args.args)):
        yield partial(_without_argument, program, tree, n)


def _without_argument(program: Program, tree: ast.Module, n: int) -> Program:
    made = copy.deepcopy(tree)
    del made.body[0].args.args[n]  # type: ignore[attr-defined]
    rows = tuple(row[:n] + row[n + 1 :] for row in program.rows)
    return replace(program, body=ast.unparse(made), rows=rows)


def _simpler_rows(program: Program) -> Iterator[Proposal]:
    for r, row in enumerate(program.rows):
        for c, cell in enumerate(row):
            for text in ("0", "1", "2", "0.5", "jnp.int32(1)", "jnp.float32(1.0)", "jnp.ones(3)"):
                if len(text) < len(cell):
                    new = (*row[:c], text, *row[c + 1 :])
                    rows = (*program.rows[:r], new, *program.rows[r + 1 :])
                    yield partial(replace, program, rows=rows)
