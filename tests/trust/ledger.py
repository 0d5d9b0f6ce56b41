"""The programs of the test suite, and which of them are known to be different: `open.txt`.

The ledger is a list of debts. A difference that is not on it fails the suite, and so does an entry
that is not different any more: `python -m tests.trust --ledger` writes what is still open.
"""

from __future__ import annotations

import itertools
import pathlib
import random

from .families import FAMILIES
from .judge import Program
from .report import judged

#: how many programs of each family the suite runs, in how many parts
COUNTS = {"texts": 300, "names": 300, "keys": 240, "numbers": 300, "border": 400, "views": 160}
PARTS = 2
FILE = pathlib.Path(__file__).with_name("open.txt")


def part(family: str, number: int) -> list[Program]:
    """One part of the programs of a family."""
    stream = FAMILIES[family](random.Random(f"suite {family} {number}"))
    return list(itertools.islice(stream, COUNTS[family] // PARTS))


def known(family: str, number: int) -> set[str]:
    """What is on the ledger for a part of a family."""
    lines = FILE.read_text(encoding="utf8").splitlines() if FILE.exists() else []
    head = f"{family} {number}: "
    return {line.removeprefix(head) for line in lines if line.startswith(head)}


def write() -> int:
    """Write the ledger anew; how long it is."""
    lines = []
    for family, number in itertools.product(FAMILIES, range(PARTS)):
        report = judged(family, part(family, number))
        names = {program.about for program, _ in report.differences}
        lines += [f"{family} {number}: {name}" for name in sorted(names)]
    FILE.write_text("".join(f"{line}\n" for line in lines), encoding="utf8")
    return len(lines)
