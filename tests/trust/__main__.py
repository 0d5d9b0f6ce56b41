"""`python -m tests.trust --programs 2000 --seed 7 border`: write programs, run them, count."""

from __future__ import annotations

import argparse
import faulthandler
import logging
import sys

from . import ledger
from .families import FAMILIES
from .report import run


def main() -> int:
    """Exit code 1 when a program is different."""
    parser = argparse.ArgumentParser(prog="python -m tests.trust", description=__doc__)
    parser.add_argument("--programs", type=int, default=500, help="so many of each family")
    parser.add_argument("--seed", type=int, default=0, help="which stream of programs")
    parser.add_argument("--compiled", action="store_true", help="run the graphs by XLA")
    parser.add_argument("--all", action="store_true", help="show every difference, not one a name")
    parser.add_argument("--ledger", action="store_true", help="write open.txt for the test suite")
    parser.add_argument("family", nargs="*", choices=[*FAMILIES, []], help="all by default")
    options = parser.parse_args()
    logging.getLogger("d2s").setLevel(logging.ERROR)
    faulthandler.enable()
    if options.ledger:
        print(f"{ledger.write()} open differences in the programs of the test suite")
        return 0
    different = 0
    for family in options.family or FAMILIES:
        report = run(family, options.seed, options.programs, options.compiled)
        print(report.text(options.all), flush=True)
        different += len(report.differences)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
