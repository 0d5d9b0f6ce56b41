"""Run many programs of a family and count what came of them."""

from __future__ import annotations

import gc
import itertools
import random
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

import jax

from .families import FAMILIES
from .judge import DIFFERENT, ENDLESS, REFUSED, Program, Verdict, judge

CLEAR_EVERY = 1000


@dataclass
class Report:
    """The counts of one family, and its differences."""

    family: str
    seconds: float = 0.0
    ends: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    differences: list[tuple[Program, Verdict]] = field(default_factory=list)

    def add(self, program: Program, verdict: Verdict) -> None:
        """Count one program."""
        self.ends[verdict.end] += 1
        if verdict.end == REFUSED:
            self.codes[verdict.code] += 1
            self.reasons[f"{verdict.code} {verdict.why}"] += 1
        if verdict.end == DIFFERENT:
            self.differences.append((program, verdict))

    def text(self, every: bool = False) -> str:
        """The counts, and one difference for each name, or every one."""
        total = sum(self.ends.values())
        ends = ", ".join(f"{end} {n}" for end, n in sorted(self.ends.items()))
        codes = ", ".join(f"{code} {n}" for code, n in self.codes.most_common())
        lines = [f"{self.family}: {total} programs in {self.seconds:.0f} s: {ends} ({codes})"]
        shown: set[str] = set()
        for program, verdict in sorted(self.differences, key=lambda d: len(str(d[0]))):
            if every or program.about not in shown:
                lines += ["-" * 80, str(program), f"# {verdict.why}"]
            shown.add(program.about)
        return "\n".join(lines)


def run(family: str, seed: int, count: int, compiled: bool = False) -> Report:
    """Judge the first programs of a family's stream."""
    stream = FAMILIES[family](random.Random(f"{family} {seed}"))
    return judged(family, itertools.islice(stream, count), compiled)


def confirmed(program: Program, verdict: Verdict) -> Verdict:
    """A difference in a graph that NumPy ran counts only if XLA shows one too."""
    if verdict.end != DIFFERENT or verdict.why.endswith(ENDLESS):  # XLA could not be stopped
        return verdict
    return judge(program, compiled=True)


def judged(family: str, programs: Iterable[Program], compiled: bool = False) -> Report:
    """Judge these programs."""
    report, start = Report(family), time.monotonic()
    for number, program in enumerate(programs, 1):
        report.add(program, confirmed(program, judge(program, compiled)))
        if number % CLEAR_EVERY == 0:
            jax.clear_caches()
            gc.collect()
    report.seconds = time.monotonic() - start
    return report
