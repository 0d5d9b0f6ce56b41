"""The judge on the command line.

python -m tests.judge                     the fixed list
python -m tests.judge textwrap grammar    these
python -m tests.judge --all --jobs 2      everything that this Python has
"""

from __future__ import annotations

import argparse
import sys
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path

from tests.judge import report
from tests.judge.cases import FIXED, all_cases
from tests.judge.compare import CONVERT, ON_CALL, Limits, judge


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.judge")
    parser.add_argument("names", nargs="*", metavar="NAME", help="cases, such as textwrap")
    parser.add_argument("--all", action="store_true", help="every case")
    parser.add_argument("--list", action="store_true", help="say the names of the cases")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="cases at a time")
    parser.add_argument("--on-call", action="store_true", help="convert tests, the rest on call")
    parser.add_argument("--limit", type=float, metavar="S", help="seconds for a run of a case")
    parser.add_argument("--json", type=Path, metavar="OUT", help="write everything to a file")
    parser.add_argument("--verbose", action="store_true", help="show every reason in full")
    given = parser.parse_args()
    cases = all_cases()
    names = list(cases) if given.all else given.names or [n for n in FIXED if n in cases]
    unknown = [name for name in names if name not in cases]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    if given.list:
        print("\n".join(names))
        return 0
    convert = ON_CALL if given.on_call else CONVERT
    limits = Limits(whole=given.limit) if given.limit else Limits()
    verdicts = []
    with ThreadPoolExecutor(given.jobs) as pool:
        futures = [pool.submit(judge, cases[name], convert, limits) for name in names]
        for future in as_completed(futures):
            verdict = future.result()
            verdicts.append(verdict)
            print(report.summary(verdict))
            print(*report.details(verdict, given.verbose), sep="\n", flush=True)
            verdicts.sort(key=lambda v: names.index(v.name))
            if given.json:  # as far as it goes: a long run may be stopped
                given.json.write_text(report.to_json(verdicts))
    print(report.total(verdicts))
    for why, number in report.refusals(verdicts).most_common():
        print(f"  {number} {why}")
    return 0 if all(verdict.good for verdict in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
