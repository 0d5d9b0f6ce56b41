"""Writes the figures of docs/judge.md from what the judge wrote under each version of Python.

python -m tests.judge.figures 3.11.json 3.12.json 3.13.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "judge.md"
START, END = "<!-- figures -->", "<!-- end of figures -->"
Record = dict[str, Any]


def _functions(cases: list[Record], outcome: str = "") -> int:
    """Functions with an outcome; those of a module that several cases share count once."""
    return len(
        {
            (one["module"], one["name"], one["line"])
            for case in cases
            for one in case["functions"]
            if one["outcome"].startswith(outcome)
        }
    )


def totals(runs: dict[str, list[Record]]) -> str:
    rows = ["| Python | cases | functions | converted | as they are | refused | tests | lost |"]
    rows.append("|---|---|---|---|---|---|---|---|")
    for version, cases in runs.items():
        counts = [len(cases), _functions(cases)]
        counts += [_functions(cases, kind) for kind in ("converted", "as it is", "refused")]
        counts += [sum(case["tests"] for case in cases), sum(len(case["lost"]) for case in cases)]
        rows.append(f"| {version} | " + " | ".join(map(str, counts)) + " |")
    return "\n".join(rows)


def by_case(runs: dict[str, list[Record]]) -> str:
    """One row per case; where there are several numbers, they are the versions' in order."""
    names = sorted({case["name"] for cases in runs.values() for case in cases})
    rows = ["| tests | functions converted | as they are | refused | tests | lost |"]
    rows.append("|---|---|---|---|---|---|")
    for name in names:
        found = [
            next((case for case in cases if case["name"] == name), None) for cases in runs.values()
        ]
        columns = [
            [_functions([case], kind) if case else "–" for case in found]
            for kind in ("converted", "as it is", "refused")
        ]
        columns.append([case["tests"] if case else "–" for case in found])
        columns.append([len(case["lost"]) if case else "–" for case in found])
        cells = (" / ".join(map(str, column)) for column in columns)
        rows.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def main(paths: list[str]) -> None:
    records = [json.loads(Path(path).read_text()) for path in paths]
    records.sort(key=lambda record: [int(part) for part in record["python"].split(".")])
    runs = {".".join(r["python"].split(".")[:2]): r["cases"] for r in records}
    before, _, rest = DOCUMENT.read_text().partition(START)
    after = rest.partition(END)[2]
    figures = f"{START}\n\n{totals(runs)}\n\n{by_case(runs)}\n\n{END}"
    DOCUMENT.write_text(before + figures + after)


if __name__ == "__main__":
    main(sys.argv[1:])
