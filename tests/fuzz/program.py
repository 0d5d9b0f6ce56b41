"""One generated program: its text, its inputs, and the function that text makes."""

from __future__ import annotations

import ast
import functools
import inspect
import itertools
import linecache
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from . import prelude

Row = Callable[[], tuple[Any, ...]]


@dataclass(frozen=True)
class Program:
    """The text of `f`, and rows of arguments as text."""

    seed: int
    body: str
    rows: tuple[tuple[str, ...], ...]
    flavour: str = "traced"
    used: frozenset[str] = field(default_factory=frozenset)

    @functools.cached_property
    def source(self) -> str:
        """The whole text: what it needs of the prelude, then the function."""
        more = {"jnp"} if "jnp." in str(self.rows) else set()
        return with_needed(self.body, prelude, more)

    @functools.cached_property
    def size(self) -> int:
        """What shrinking makes smaller."""
        nodes = sum(1 for _ in ast.walk(ast.parse(self.body)))
        return nodes * 10 + sum(len(cell) for row in self.rows for cell in row)

    @property
    def test(self) -> str:
        """The text of a test that is ready to run."""
        rows = "".join(f"        lambda: {_tuple(row)},\n" for row in self.rows)
        return (
            f"# seed {self.seed}\nfrom tests.fuzz.oracles import assert_agrees\n{self.source}\n\n"
            f"def test_seed_{self.seed}():\n    assert_agrees(\n        f,\n{rows}"
            f'        flavour="{self.flavour}",\n    )\n'
        )


def with_needed(body: str, prelude: types.ModuleType, more: Iterable[str] = ()) -> str:
    """The text of a program after what it mentions of a prelude."""
    needed = _names(body) | set(more)
    parts = _parts(prelude)
    while more := {n for name in needed & parts.keys() for n in _names(parts[name])} - needed:
        needed |= more
    chosen = [text for name, text in parts.items() if name in needed]
    return "\n\n\n".join([*chosen, body.strip()]) + "\n"


def _names(text: str) -> set[str]:
    """All names a text mentions, those after `global` too."""
    nodes = list(ast.walk(ast.parse(text)))
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    return found | {n for node in nodes if isinstance(node, ast.Global) for n in node.names}


@functools.cache
def _parts(prelude: types.ModuleType) -> dict[str, str]:
    """The statements of a prelude by the name each binds."""
    text = inspect.getsource(prelude)
    found = {}
    for node in ast.parse(text).body:
        segment = ast.get_source_segment(text, node) or ""
        match node:
            case ast.Import():
                found[node.names[0].asname or node.names[0].name.split(".")[0]] = segment
            case ast.Assign(targets=[ast.Name(name)]):
                found[name] = segment
            case ast.ClassDef() | ast.FunctionDef():
                marks = (f"@{ast.unparse(mark)}" for mark in node.decorator_list)
                found[node.name] = "\n".join([*marks, segment])
    return found


_numbers = itertools.count()


def load(program: Program) -> tuple[Callable[..., Any], list[Row]]:
    """The function, and for each row a maker of fresh arguments."""
    # Few names in rotation: what is remembered by file name must not grow with the programs.
    filename = f"<fuzz {next(_numbers) % 8}>"
    source = program.source
    # Without a time of change `linecache` takes the lines as they are.
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    namespace: dict[str, Any] = {"__name__": "fuzzed"}
    exec(compile(source, filename, "exec"), namespace)
    return namespace["f"], [_maker(row) for row in program.rows]


def _tuple(row: tuple[str, ...]) -> str:
    return f"({', '.join(row)}{',' if len(row) == 1 else ''})"


def _maker(row: tuple[str, ...]) -> Row:
    code = compile(_tuple(row), "<row>", "eval")
    return lambda: eval(code, vars(prelude))  # type: ignore[no-any-return]
