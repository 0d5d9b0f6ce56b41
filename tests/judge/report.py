"""What the judge found, for people and for programs."""

from __future__ import annotations

import json
import platform
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from tests.judge.compare import Verdict

#: tests that are named of those lost for the same reason
SHOWN = 3


def summary(verdict: Verdict) -> str:
    """One line."""
    counts = ", ".join(
        f"{number} {outcome}"
        for outcome in ("converted", "on call", "as it is", "refused", "broken")
        if (number := verdict.count(outcome))
    )
    plain, converted = verdict.seconds
    return (
        f"{verdict.name}: {len(verdict.functions)} functions ({counts}); {verdict.tests} tests, "
        f"{len(verdict.lost)} lost, {len(verdict.excluded)} excluded; "
        f"{plain:.1f} s plain, {converted:.1f} s converted"
    )


def details(verdict: Verdict, verbose: bool = False) -> Iterable[str]:
    """What is wrong, and with `verbose` all reasons."""
    if verdict.died:
        yield f"  died: {verdict.died.splitlines()[0]}"
    for one in verdict.unexpected:
        where = f"{one['module']}.{one['name']}:{one['at'] or one['line']}"
        yield f"  {one['outcome']} {one['code']} {where}: {one['why']}"
    for why, tests in _by_reason(verdict.lost).items():
        shown = tests if verbose else tests[:SHOWN]
        more = f" and {len(tests) - len(shown)} more" if len(tests) > len(shown) else ""
        yield f"  lost {', '.join(shown)}{more}: {why}"
        if verbose:
            yield from (f"      {line}" for line in verdict.lost[tests[0]].splitlines())
    if verbose:
        for one in verdict.functions:
            if one["outcome"] == "as it is":
                yield f"  as it is {one['module']}.{one['name']}:{one['line']}: {one['why']}"


def _by_reason(lost: dict[str, str]) -> dict[str, list[str]]:
    """Tests by what was raised in them; addresses aside, many are lost for one reason."""
    found: dict[str, list[str]] = {}
    for test, why in lost.items():
        first = re.sub(r"0x[0-9a-f]+", "0x", why.splitlines()[0])
        found.setdefault(first, []).append(test)
    return found


def total(verdicts: list[Verdict]) -> str:
    seen: Counter[str] = Counter()
    for one in _distinct(verdicts):
        seen[one["outcome"]] += 1
    counts = ", ".join(f"{number} {outcome}" for outcome, number in seen.items())
    lost = sum(len(v.lost) for v in verdicts)
    tests = sum(v.tests for v in verdicts)
    return f"{len(verdicts)} cases: {seen.total()} functions ({counts}); {tests} tests, {lost} lost"


def _distinct(verdicts: list[Verdict]) -> list[dict[str, Any]]:
    """Functions of all cases; a module that several cases share counts once."""
    found = {
        (one["module"], one["name"], one["line"]): one
        for verdict in verdicts
        for one in verdict.functions
    }
    return list(found.values())


def refusals(verdicts: list[Verdict]) -> Counter[str]:
    """Reasons of all refusals, with their numbers."""
    return Counter(
        f"{one['code']} {one['why']}".strip()
        for one in _distinct(verdicts)
        if one["outcome"] in ("refused", "broken")
    )


def to_json(verdicts: list[Verdict]) -> str:
    record = {"python": platform.python_version(), "cases": [asdict(v) for v in verdicts]}
    return json.dumps(record, indent=1)
