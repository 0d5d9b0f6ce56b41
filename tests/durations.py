"""What the tests cost: `python -m pytest -n 2 -m "full or not full" -p tests.durations`.

Writes `tests/durations.md`, with the seconds of processor time of each file and of the slowest
tests. It is the time of all threads, and of processes that a test starts and waits for; what else
the machine does at the same time does not count.
"""

from __future__ import annotations

import collections
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).with_suffix(".md")
SLOWEST = 60
HEAD = """\
# What the tests cost

Seconds of processor time, on one machine; two cores share them. Written by `tests/durations.py`.
"""

#: test -> its tier and its seconds; filled where reports arrive
spent: dict[str, tuple[str, float]] = {}
since = 0.0


def now() -> float:
    """Seconds of this process and of those it waited for."""
    return sum(os.times()[:4])


def pytest_runtest_logstart() -> None:
    global since
    since = now()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Add what a phase of a test cost to its report, which goes to the process that collects."""
    global since
    report: Any = yield
    since, before = now(), since
    tier = "full" if item.get_closest_marker("full") else "fast"
    report.user_properties = [*report.user_properties, ("spent", (tier, since - before))]
    return report


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    for name, (tier, seconds) in report.user_properties:
        if name == "spent":
            spent[report.nodeid] = tier, seconds + spent.get(report.nodeid, ("", 0.0))[1]


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workerinput"):  # one of several processes
        return
    PAGE.write_text(page(spent), encoding="utf-8")


def page(spent: dict[str, tuple[str, float]]) -> str:
    """The tables."""
    files: dict[str, list[float]] = collections.defaultdict(lambda: [0, 0.0, 0, 0.0])
    for test, (tier, seconds) in spent.items():
        at = 0 if tier == "fast" else 2
        files[test.partition("::")[0]][at] += 1
        files[test.partition("::")[0]][at + 1] += seconds
    tiers = {tier for tier, _ in spent.values()}
    lines = [
        HEAD if len(tiers) > 1 else f"{HEAD}Of a run of the {' '.join(tiers)} tier alone.\n",
        "| File | Fast tests | Seconds | Full tests | Seconds |",
        "|---|--:|--:|--:|--:|",
    ]
    totals = [sum(column) for column in zip(*files.values(), strict=True)]
    rows = sorted(files.items(), key=lambda row: -row[1][1] - row[1][3])
    for name, (fast, a, full, b) in [("**all**", totals), *rows]:
        lines.append(f"| {name} | {fast} | {a:.1f} | {full} | {b:.1f} |")
    lines += ["", "The slowest tests:", "", "| Test | Tier | Seconds |", "|---|---|--:|"]
    for test, (tier, seconds) in sorted(spent.items(), key=lambda row: -row[1][1])[:SLOWEST]:
        lines.append(
            f"| `{test.removeprefix('tests/').replace('|', '/')}` | {tier} | {seconds:.1f} |"
        )
    return "\n".join([*lines, ""])
