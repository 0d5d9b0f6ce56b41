"""The nesting matrix: every construct alone, inside every other, and after every other.

A program is named by its shape: `for_rows>if+break` is an `if` that ends with `break` inside a
loop over the rows of an array; `while;if+return` is an `if` that returns after a `while`.

Every program takes a float `x`, an integer `n` and a matrix `xs`, and returns `x`, `y`, `k`. Tests
look only at `x` and `k`, which change in exact steps, so rounding never decides which way it goes.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

KINDS = ("if", "while", "for_range", "for_traced", "for_rows")
EXITS = ("", "break", "continue", "return")
STATIC_LENGTH = ("if", "for_range", "for_rows")

HEADERS = {
    "while": "while w{d} < n and x < 40.0:",
    "for_range": "for i{d} in range(3):",
    "for_traced": "for i{d} in range(n):",
    "for_rows": "for row{d} in xs:",
}
ELEMENTS = {
    "if": "0.25",
    "while": "w{d}",
    "for_range": "i{d}",
    "for_traced": "i{d}",
    "for_rows": "row{d}[0] * row{d}[1]",
}
RESULT = "return x, y, k"
EARLY_RESULT = "return x, y + 100.0, k"


@dataclass(frozen=True)
class Level:
    """One construct, and how its body may leave."""

    kind: str
    exit: str = ""

    def __str__(self) -> str:
        return f"{self.kind}+{self.exit}" if self.exit else self.kind


@dataclass(frozen=True)
class Program:
    """Nests of constructs that run one after the other."""

    nests: tuple[tuple[Level, ...], ...]
    reads_created: bool = False

    @property
    def id(self) -> str:
        """The shape as text."""
        text = ";".join(">".join(map(str, nest)) for nest in self.nests)
        return text + "=created" if self.reads_created else text

    @property
    def name(self) -> str:
        """The shape as a function name."""
        return "p_" + re.sub(r"\W", "_", self.id.replace(">", "__"))

    @property
    def levels(self) -> list[Level]:
        """All constructs."""
        return [level for nest in self.nests for level in nest]

    @property
    def alone(self) -> bool:
        """Whether it is one construct only."""
        return len(self.levels) == 1

    @property
    def differentiable(self) -> bool:
        """Whether every loop has a static length and no traced way out."""
        kinds = {level.kind for level in self.levels}
        exits = {level.exit for level in self.levels}
        if kinds == {"if"}:
            return True
        return kinds.issubset(STATIC_LENGTH) and exits.issubset({"", "continue"})

    def source(self) -> str:
        """The program itself."""
        lines = [f"def {self.name}(x, n, xs):", "    y = 1.0", "    k = 0"]
        depth = 1
        for nest in self.nests:
            lines += indented(block(nest, depth, in_loop=False))
            depth += len(nest)
        result = RESULT.replace("y", "y + t1") if self.reads_created else RESULT
        return "\n".join([*lines, *indented([result]), ""])


def block(nest: tuple[Level, ...], depth: int, in_loop: bool) -> list[str]:
    """The lines of one nest; `depth` numbers its variables."""
    level, *inner = nest
    is_loop = level.kind != "if"
    body = [
        f"t{depth} = x * x * 0.125 + {ELEMENTS[level.kind].format(d=depth)}",
        f"y = y * 0.5 + t{depth}",
        "k = k + 1",
    ]
    if inner:
        body += block(tuple(inner), depth + 1, in_loop or is_loop)
    if is_loop:
        if level.exit:
            body += [f"if {test(depth, True)}:", *indented([leave(level.exit)])]
        body += ["x = x - 0.75"]
        if level.kind == "while":
            body = [f"w{depth} = w{depth} + 1", *body]
            return [f"w{depth} = 0", HEADERS["while"].format(d=depth), *indented(body)]
        return [HEADERS[level.kind].format(d=depth), *indented(body)]
    lines = [f"if {test(depth, in_loop)}:", *indented(body)]
    if level.exit:
        lines += indented([leave(level.exit)])
    if depth % 2:
        lines += ["else:", *indented(["y = y - x", "x = x + 0.25"])]
    return lines


def test(depth: int, in_loop: bool) -> str:
    """A condition: on the float alone, or inside of loops on the counter as well."""
    if in_loop and depth % 2 == 0:
        return "k % 3 == 2 and x < 1.0"
    return f"x < {0.5 if in_loop else 2.5 - depth}"


def leave(exit: str) -> str:
    """The statement of an exit."""
    return EARLY_RESULT if exit == "return" else exit


def indented(lines: list[str]) -> list[str]:
    """The lines one step to the right."""
    return ["    " + line for line in lines]


def legal(nest: tuple[Level, ...]) -> bool:
    """Whether every `break` and `continue` has a loop around it."""
    in_loop = False
    for level in nest:
        in_loop = in_loop or level.kind != "if"
        if level.exit in ("break", "continue") and not in_loop:
            return False
    return True


def nests(depth: int, at: int) -> Iterator[tuple[Level, ...]]:
    """All legal nests of one depth, with every exit at one of their levels."""
    for kinds in itertools.product(KINDS, repeat=depth):
        for exit in EXITS:
            nest = tuple(Level(kind, exit if i == at else "") for i, kind in enumerate(kinds))
            if legal(nest):
                yield nest


def programs() -> list[Program]:
    """The matrix: one and two levels complete, sequences and three levels by fixed strides."""
    alone = [Program((nest,)) for nest in nests(1, 0)]
    created = [Program(((Level(kind),),), reads_created=True) for kind in KINDS]
    inside = [Program((nest,)) for nest in nests(2, 1)]
    exit_outside = [Program((nest,)) for nest in nests(2, 0) if nest[0].exit]
    after = [Program(((Level(a),), (Level(b),))) for a, b in itertools.product(KINDS, KINDS)]
    after_exit = [
        Program(((first,), (Level(KINDS[i % len(KINDS)]),)))
        for i, (first,) in enumerate(nest for nest in nests(1, 0) if nest[0].exit)
    ]
    deep = [Program((nest,)) for at in (0, 1, 2) for nest in nests(3, at) if nest[at].exit or at]
    chosen = [*alone, *created, *inside, *exit_outside[::3], *after, *after_exit, *deep[::17]]
    return list(dict.fromkeys(chosen))


def module(members: list[Program]) -> str:
    """The text of a file with several programs."""
    return "\n\n".join(["# Generated by matrix.py.\n", *(member.source() for member in members)])
