"""Productions for what people program: sorting, searching, stacks, queues, matrices, small tables.

Each is a text with holes from `cases/algorithms.txt`; the program goes on with what it leaves.
"""

from __future__ import annotations

import pathlib
import re

from .writer import Writer, indented, statement

TABLE = pathlib.Path(__file__).with_name("cases") / "algorithms.txt"


def algorithms() -> dict[str, tuple[str, str]]:
    """The texts of the table by name, each with the kind of what it leaves."""
    parts = re.split(r"^\[(.+) -> (\w+)\]\n", TABLE.read_text(encoding="utf8"), flags=re.M)[1:]
    return {
        name: (text.strip(), kind)
        for name, kind, text in zip(parts[::3], parts[1::3], parts[2::3], strict=True)
    }


def _register(name: str, text: str, kind: str) -> None:
    @statement(name, 0.07)
    def write(w: Writer) -> list[str]:
        if not w.may_loop() or w.in_function:
            return []
        names = {letter: w.new(letter.lower()) for letter in "LIJKNG"}
        lines = re.sub(r"\b[LIJKNG]\b", lambda found: names[found[0]], w.fill(text)).splitlines()
        left = names["L" if kind in ("list", "items") else "N"]
        w.bind(left, kind)
        if w.chance(0.2):
            otherwise = [f"{left} = {w.constant(kind)}"]
            return [f"if {w.expr('bool')}:", *indented(lines), "else:", *indented(otherwise)]
        return lines


for _name, (_text, _kind) in algorithms().items():
    _register(_name, _text, _kind)
