"""Run many programs and say what came of it."""

from __future__ import annotations

import faulthandler
import gc
import re
import resource
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import jax

from .coverage import Tally
from .grammar import generate
from .interpret import handed_on
from .oracles import ORACLES, Finding, Verdict, judge
from .program import Program
from .shrink import same_failure, shrink

#: One program in so many is also compiled by XLA; each of the costly oracles is asked in turn.
COMPILED_EVERY = 10
CLEAR_EVERY = 400
CODE = re.compile(r"D2S\d\d\d$|reverse-mode$")


@dataclass
class Divergence:
    """A program that is silently different, and its smallest form."""

    program: Program
    finding: Finding
    small: Program
    count: int = 1


@dataclass
class Report:
    """What a run of many programs found."""

    programs: int = 0
    seconds: float = 0.0
    asked: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    refusing: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    written: Counter[str] = field(default_factory=Counter)
    tally: Tally = field(default_factory=Tally)
    divergences: dict[tuple[str, ...], Divergence] = field(default_factory=dict)

    def add(self, program: Program, verdict: Verdict) -> None:
        """Count one program."""
        self.programs += 1
        self.asked.update(verdict.ran)
        self.refused.update(f"{oracle} {code}" for oracle, code in verdict.refusals)
        self.refusing += any(oracle in ("static", "converted") for oracle, _ in verdict.refusals)
        self.reasons.update(set(verdict.reasons))
        self.ends.update(end or "a value" for end in verdict.ends)
        self.written.update(program.used)
        if verdict.skipped:
            self.skipped[verdict.skipped] += 1
        self.tally.add(program.source, verdict.staged)

    def __str__(self) -> str:
        rate = self.programs / max(self.seconds, 1e-9)
        share = 100 * self.refusing / max(self.programs, 1)
        lines = [
            f"{self.programs} programs in {self.seconds:.0f} s, {rate:.1f} per second",
            f"oracles asked: {_counts(self.asked)}",
            f"plain Python ended with: {_counts(self.ends)}",
            f"refused: {share:.1f} % of the programs; {_counts(self.refused)}",
            "refused because, so many programs:",
            *(f"  {count:5d}  {reason}" for reason, count in self.reasons.most_common()),
            f"skipped: {_counts(self.skipped)}",
            "constructs, generated (staged): " + _staged(self.tally.generated, self.tally.staged),
            "nested pairs, generated (staged): "
            + _staged(self.tally.pairs, self.tally.staged_pairs),
            f"productions: {_counts(self.written)}",
            f"equations without a rule of their own: {_counts(Counter(handed_on))}",
            f"memory at most {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024} MB",
            f"divergences: {len(self.divergences)} kinds, "
            f"{sum(d.count for d in self.divergences.values())} programs",
        ]
        for d in self.divergences.values():
            lines += ["", "=" * 80, f"seed {d.program.seed}, seen {d.count} times: {d.finding}"]
            lines += ["", d.small.test]
        return "\n".join(lines)


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {n}" for name, n in counts.most_common()) or "none"


def _staged(generated: Counter[str], staged: Counter[str]) -> str:
    return ", ".join(f"{name} {n} ({staged[name]})" for name, n in generated.most_common())


def shape_of(finding: Finding) -> tuple[str, ...]:
    """What two findings of one cause most likely share."""
    first = re.sub(r"'[^']*'|\d+|array\(.*", "", finding.got.splitlines()[0])
    return finding.kind, first[:60] if finding.got.startswith("raised") else ""


def oracles_for(seed: int) -> tuple[str, ...]:
    """Which oracles a program gets: the costly ones take turns."""
    turn = {"vmap": seed % 2 == 0, "grad": seed % 2 == 1, "recall": seed % 4 == 0}
    turn["compiled"] = seed % COMPILED_EVERY == 0
    return tuple(oracle for oracle in ORACLES if turn.get(oracle, True))


def fuzz(
    seeds: Iterable[int],
    features: frozenset[str],
    seconds: float = float("inf"),
    shrink_seconds: float = 40,
    talk: bool = False,
) -> Report:
    """Run the programs of these seeds, at most for a time."""
    report, start = Report(), time.monotonic()
    for seed in seeds:
        if time.monotonic() - start > seconds:
            break
        program = generate(seed, features)
        # What hangs inside XLA cannot be interrupted; say where it was and stop.
        faulthandler.dump_traceback_later(300, exit=True)
        verdict = judge(program, oracles_for(seed))
        report.add(program, verdict)
        for finding in confirmed(program, verdict):
            _note(report, program, finding, shrink_seconds, talk)
        faulthandler.cancel_dump_traceback_later()
        if report.programs % CLEAR_EVERY == 0:
            jax.clear_caches()
            gc.collect()
    report.seconds = time.monotonic() - start
    return report


def confirmed(program: Program, verdict: Verdict) -> Iterator[Finding]:
    """The first finding; one of a graph run by NumPy only if XLA says so too."""
    for finding in verdict.findings[:1]:
        if finding.oracle == "static":
            again = judge(program, ("compiled",)).findings
            if not again:
                yield Finding("static", f"only by NumPy: {finding.kind}", *_rest(finding))
                continue
        yield finding


def _rest(finding: Finding) -> tuple[str, str, str]:
    return finding.why, finding.want, finding.got


def _note(report: Report, program: Program, finding: Finding, seconds: float, talk: bool) -> None:
    shape = shape_of(finding)
    if shape in report.divergences:
        report.divergences[shape].count += 1
        return
    key = finding.oracle, finding.kind.removeprefix("only by NumPy: ")
    faulthandler.dump_traceback_later(300 + seconds, exit=True)
    small = shrink(program, same_failure(key), seconds)
    left = [f for f in judge(small, (key[0],)).findings if f.key == key]
    report.divergences[shape] = Divergence(program, left[0] if left else finding, small)
    if talk:
        print(f"--- seed {program.seed}: {finding}\n{small.test}", flush=True)
