"""The page ``docs/syntax.md``; ``python -m tests.syntax.table`` writes it."""

from __future__ import annotations

from pathlib import Path

import d2s

from .programs import PROGRAMS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "syntax.md"
HEAD = """\
# Python's syntax, and what each becomes

<!-- written by `python -m tests.syntax.table` from programs that the tests run -->

On Python values converted code *is* Python. On run-time values (arrays, and numbers that are
arguments) it becomes part of the graph. Each row is a program of `tests/syntax/programs.py`, which
runs plain and static and must end the same; the second cell is what `explain` says of it.
`unrolled x3` means that Python runs the loop while the graph is built, and the graph holds each of
its three trips.
"""


def becomes(name: str) -> str:
    """What `explain` says of a program's own statements."""
    function, args, _, says = PROGRAMS[name]
    if says is not None:
        return says
    report = d2s.explain(function, *args)
    first = function.__code__.co_firstlineno
    rows = [row for row in report if row.line >= first]
    cells = dict.fromkeys(row.became for row in rows)
    return ", ".join(f"`{cell}`" if cell.startswith("lax.") else cell for cell in cells)


def page() -> str:
    lines = [HEAD]
    group = ""
    for name, (function, _, own_group, _) in PROGRAMS.items():
        if own_group != group:
            group = own_group
            lines += [f"## {group}\n", "| Python | becomes |", "|---|---|"]
        cell = (function.__doc__ or "").strip().replace("|", "\\|")
        lines.append(f"| {cell} | {becomes(name)} |")
        following = list(PROGRAMS)[list(PROGRAMS).index(name) + 1 :]
        if following and PROGRAMS[following[0]][2] != group:
            lines.append("")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
