"""`python -m tests.fuzz --seconds 60 --seed 7`: write programs, run them, report."""

from __future__ import annotations

import argparse
import itertools
import logging
import sys

from .extras import PROBES, probe
from .report import fuzz


def main() -> int:
    """Exit code 1 when a program diverged."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after a time")
    parser.add_argument("--programs", type=int, help="stop after so many programs")
    parser.add_argument("--seed", type=int, default=0, help="which stream of programs")
    parser.add_argument("--start", type=int, default=0, help="the first program of the stream")
    parser.add_argument("--features", help="comma separated; all that d2s supports by default")
    parser.add_argument("--shrink", type=float, default=40, help="seconds to shrink one program")
    options = parser.parse_args()
    logging.getLogger("d2s").setLevel(logging.ERROR)  # what runs as it is, it says each time
    if options.seconds == float("inf") and options.programs is None:
        options.programs = 200
    reasons = {feature: probe(feature) for feature in PROBES}
    features = frozenset(feature for feature in PROBES if not reasons[feature])
    if options.features is not None:
        wanted = frozenset(options.features.split(",")) - {""}
        parser.error(f"unknown features {wanted - PROBES.keys()}") if wanted - PROBES.keys() else 0
        features = wanted
    print("features:", ", ".join(sorted(features)) or "none")
    missing = [f"{feature} ({reason})" for feature, reason in reasons.items() if reason]
    print("not yet:", ", ".join(missing) or "none", flush=True)
    seeds = itertools.count(options.seed * 1_000_000 + options.start)
    report = fuzz(
        itertools.islice(seeds, options.programs),
        features,
        options.seconds,
        options.shrink,
        talk=True,
    )
    print(report)
    return 1 if report.divergences else 0


if __name__ == "__main__":
    sys.exit(main())
