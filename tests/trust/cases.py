"""The tables that programs are made of: text files in `cases`, comments behind `#`."""

from __future__ import annotations

import pathlib

FOLDER = pathlib.Path(__file__).with_name("cases")


def lines(name: str) -> list[str]:
    """The lines of a table, without comments at its head."""
    every = (FOLDER / f"{name}.txt").read_text(encoding="utf8").splitlines()
    start = next(n for n, line in enumerate(every) if not line.startswith("#"))
    return every[start:]


def paragraphs(name: str) -> list[list[str]]:
    """The lines between empty ones."""
    return [part.splitlines() for part in "\n".join(lines(name)).strip().split("\n\n")]


def sections(name: str) -> dict[str, list[str]]:
    """The lines under each `[heading]`."""
    found: dict[str, list[str]] = {}
    for line in lines(name):
        if line.startswith("[") and line.endswith("]") and " = " not in line:
            found[line[1:-1]] = under = []
        elif found:
            under.append(line)
    return found
