"""Runs a test module twice, plain and converted, and compares test by test."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.judge import exclusions
from tests.judge.cases import Case
from tests.patience import HANG

ROOT = Path(__file__).resolve().parents[2]
PLAIN = "tests.judge.loader:plain"
CONVERT = "d2s:convert"
ON_CALL = "tests.judge.loader:on_call"
PASSED = ("passed", "expected failure")


@dataclass
class Run:
    """Everything that the processes of one run wrote down."""

    functions: list[dict[str, Any]] = field(default_factory=list)
    outcomes: dict[str, tuple[str, str]] = field(default_factory=dict)
    died: str = ""
    seconds: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Seconds: for one test, for the import with its conversions, and for all of a run.

    Each is some fifty times of what it takes, so that a busy machine makes no difference.
    """

    test: float = HANG / 3
    start: float = HANG
    whole: float = 2 * HANG


@dataclass
class Verdict:
    """One case: what was converted, what ran, what was lost."""

    name: str
    functions: list[dict[str, Any]]
    tests: int
    lost: dict[str, str]
    excluded: dict[str, str]
    died: str
    seconds: tuple[float, float]

    def count(self, outcome: str) -> int:
        return sum(one["outcome"] == outcome for one in self.functions)

    @property
    def unexpected(self) -> list[dict[str, Any]]:
        """Refusals without a stated reason, and failures of d2s itself."""
        return [
            one
            for one in self.functions
            if one["outcome"] == "broken"
            or (one["outcome"] == "refused" and not exclusions.why_refused(one["why"]))
        ]

    @property
    def good(self) -> bool:
        return not self.lost and not self.died and not self.unexpected


def judge(case: Case, convert: str = CONVERT, limits: Limits | None = None) -> Verdict:
    """Run a case plain, then converted."""
    limits = limits or Limits()
    before = run(case, PLAIN, limits, ())
    after = run(case, convert, limits, tuple(exclusions.ENDLESS))
    good = [test for test, (outcome, _) in before.outcomes.items() if outcome in PASSED]
    missing = ("missing", after.died or "the test did not run")
    lost = {
        test: f"{found[0]}: {found[1]}"
        for test in good
        if (found := after.outcomes.get(test, missing))[0] not in PASSED
    }
    excluded = {test: why for test in lost if (why := exclusions.why_lost(test))}
    return Verdict(
        case.name,
        after.functions,
        len(good),
        {test: why for test, why in lost.items() if test not in excluded},
        excluded,
        "" if before.died else after.died,
        (before.seconds, after.seconds),
    )


def run(case: Case, convert: str, limits: Limits, without: tuple[str, ...]) -> Run:
    """One run, in as many processes as it takes: after a crash the others get their turn."""
    result = Run()
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        out, skip = Path(folder, "out"), Path(folder, "skip")
        while True:
            out.write_text("")
            skip.write_text(json.dumps([*result.outcomes, *without]))
            command = [sys.executable, "-m", "tests.judge.worker", str(out), convert, case.test]
            command += case.converted
            left = limits.whole - (time.monotonic() - started)
            end = _watch([*command, "--skip", str(skip)], out, limits, left)
            at = _read(out, result)
            if at is None or left <= 0:
                break
            result.outcomes[at] = ("died", end)
    result.seconds = time.monotonic() - started
    return result


def _watch(command: list[str], out: Path, limits: Limits, left: float) -> str:
    """Wait for a process; say how it ended. One that makes no progress is stopped."""
    environment = {**os.environ, "PYTHONHASHSEED": "0", "JAX_PLATFORMS": "cpu"}
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + left
    size, since, limit = -1, time.monotonic(), limits.start
    while process.poll() is None:
        time.sleep(0.05)
        now = out.stat().st_size
        if now != size:
            size, since = now, time.monotonic()
            if b'"imported"' in out.read_bytes()[-4096:]:
                limit = limits.test
        if time.monotonic() > min(since + limit, deadline):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"no end after {limit:.0f} seconds"
    return f"the process ended with {process.returncode}"


def _read(out: Path, result: Run) -> str | None:
    """Take over what a process wrote; the test it was at, if it did not come to its end."""
    at, done, text = None, False, out.read_text(encoding="utf-8")
    first = not result.functions
    for line in text.splitlines():
        try:
            entry = json.loads(line)
        except json.JSONDecodeError:
            continue  # the process died while writing
        kind = entry["kind"]
        if kind == "function" and first:
            result.functions.append(entry)
        elif kind == "start":
            at = entry["id"]
        elif kind == "end":
            result.outcomes[entry["id"]] = (entry["outcome"], entry["why"])
            at = None
        elif kind == "died":
            result.died = entry["why"]
            done = True
        elif kind == "done":
            done = True
    if not done and at is None:
        result.died = "the process died between tests"
    return None if done else at
