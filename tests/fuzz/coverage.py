"""What was generated, and what of it became part of a graph."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from jax._src import source_info_util
from jax.extend.core import ClosedJaxpr, Jaxpr

#: syntax -> what the report calls it
NAMES: dict[type[ast.AST], str] = {
    ast.If: "if",
    ast.While: "while",
    ast.For: "for",
    ast.Try: "try",
    ast.With: "with",
    ast.Match: "match",
    ast.FunctionDef: "def",
    ast.Lambda: "lambda",
    ast.IfExp: "ternary",
    ast.BoolOp: "and-or",
    ast.Break: "break",
    ast.Continue: "continue",
    ast.Return: "return",
    ast.Raise: "raise",
    ast.Assert: "assert",
    ast.AugAssign: "augmented assign",
    ast.ListComp: "comprehension",
    ast.GeneratorExp: "comprehension",
    ast.DictComp: "comprehension",
    ast.SetComp: "comprehension",
    ast.NamedExpr: "walrus",
    ast.Delete: "del",
    ast.Nonlocal: "nonlocal",
    ast.Global: "global",
    ast.ClassDef: "class",
    ast.Yield: "generator",
}
#: what decides by a value, so that it can become a `cond`, a `while` or a `scan` of its own
DECIDING = (ast.If, ast.While, ast.For, ast.IfExp, ast.BoolOp, ast.Assert, ast.Match)


class Tally:
    """Counts of constructs and nested pairs, over many programs."""

    def __init__(self) -> None:
        self.generated: Counter[str] = Counter()
        self.staged: Counter[str] = Counter()
        self.pairs: Counter[str] = Counter()
        self.staged_pairs: Counter[str] = Counter()

    def add(self, source: str, lines: set[int]) -> None:
        """Count one program; `lines` are those whose construct is in a graph."""
        for node, outer in _nested(ast.parse(source).body[-1]):
            name = NAMES[type(node)]
            around = next((o for o in reversed(outer) if isinstance(o, DECIDING)), None)
            inside = around is not None and bool(_lines(around) & lines)
            own = bool(_lines(node) & lines) if isinstance(node, DECIDING) else inside
            self.generated[name] += 1
            self.staged[name] += own
            if outer:
                pair = f"{name} in {NAMES[type(outer[-1])]}"
                whole = own and (inside or not isinstance(outer[-1], DECIDING))
                self.pairs[pair] += 1
                self.staged_pairs[pair] += whole


def _lines(node: Any) -> set[int]:
    """Where a decision of this construct is written; those of a `match` stand at its cases."""
    return {node.lineno, *(case.pattern.lineno for case in getattr(node, "cases", ()))}


def _nested(tree: ast.AST, outer: tuple[Any, ...] = ()) -> Iterator[tuple[Any, tuple[Any, ...]]]:
    """The constructs inside `f` with those around each."""
    for child in ast.iter_child_nodes(tree):
        if type(child) in NAMES:
            yield child, outer
            yield from _nested(child, (*outer, child))
        else:
            yield from _nested(child, outer)


def staged_lines(graphs: Iterable[ClosedJaxpr]) -> set[int]:
    """The lines of the program that a `cond`, a `while` or a `scan` of a graph comes from."""
    found: set[int] = set()
    for graph in graphs:
        _collect(graph.jaxpr, found)
    return found


def _collect(jaxpr: Jaxpr, found: set[int]) -> None:
    for equation in jaxpr.eqns:
        if equation.primitive.name in ("cond", "while", "scan", "bounded_while"):
            frame = source_info_util.user_frame(equation.source_info.traceback)
            if frame is not None:
                found.add(frame.start_line)
        for value in equation.params.values():
            for part in value if isinstance(value, tuple | list) else (value,):
                if isinstance(part, ClosedJaxpr):
                    _collect(part.jaxpr, found)
                elif isinstance(part, Jaxpr):
                    _collect(part, found)
