"""Plain Python, `lax` by hand and d2s on programs that people write: one table, one plot.

python -m benchmarks [--only NAME ...] [--turns N] [--json FILE] [--plot STEM] [--check]
"""

from __future__ import annotations

import argparse
import json
import math
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

import jax
import numpy as np

import d2s
from benchmarks.timing import in_turns, per_call, seconds
from benchmarks.workloads import WORKLOADS, Workload, fresh

#: limits of geometric means, d2s against `lax` by hand
STEADY, FIRST = 1.03, 1.25
#: how long all calls of one turn take, about
TURN = 0.05


@dataclass(frozen=True)
class Row:
    """Seconds, bytes and lines of one workload."""

    name: str
    plain_first: float
    plain: float
    hand_first: float
    hand: float
    first_ratio: float
    steady_ratio: float
    hand_bytes: int
    bytes: int
    plain_lines: int
    hand_lines: int


def measure(n: int, turns: int) -> Row:
    """All numbers of the workload with this position in the table."""
    workload = WORKLOADS[n]
    args = workload.arguments(True)
    firsts = in_turns(lambda: first(n, args, True), lambda: first(n, args, False), 3)
    ours, theirs = d2s.to_static(workload.plain), jax.jit(workload.by_hand)
    check_equal(workload, ours(*args), theirs(*args))
    once = seconds(lambda: jax.block_until_ready(theirs(*args)))
    count = max(1, int(TURN / once))
    steady = in_turns(per_call(ours, args, count), per_call(theirs, args, count), turns)
    jax.clear_caches()
    plain = [seconds(lambda: jax.block_until_ready(workload.plain(*args))) for _ in range(2)]
    lines = workload.lines
    return Row(
        workload.name,
        *plain,
        median(other for _, other in firsts),
        median(other for _, other in steady),
        median(one / other for one, other in firsts),
        median(one / other for one, other in steady),
        memory(theirs.lower(*args).compile()),
        memory(ours.lower(*args).compile()),
        *lines,
    )


def first(n: int, args: Sequence[Any], is_ours: bool) -> float:
    """The first call of a function that nobody has seen, conversion and compilation included."""
    workload = fresh()[n]
    jax.clear_caches()

    def call() -> None:
        made = d2s.to_static(workload.plain) if is_ours else jax.jit(workload.by_hand)
        jax.block_until_ready(made(*args))

    return seconds(call)


def check_equal(workload: Workload, ours: Any, theirs: Any) -> None:
    for one, other in zip(jax.tree.leaves(ours), jax.tree.leaves(theirs), strict=True):
        close = np.allclose(one, other, rtol=workload.tolerance, atol=workload.tolerance)
        assert close, f"{workload.name}: the results differ"


def memory(compiled: Any) -> int:
    """Bytes that XLA reserves for a call: arguments, results and what is in between."""
    known = compiled.memory_analysis()
    parts = ("argument", "output", "temp")
    return sum(getattr(known, f"{part}_size_in_bytes") for part in parts)


def mean(ratios: Sequence[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def table(rows: Sequence[Row]) -> str:
    lines = [
        f"{'':22}{'first call':^27}{'steady state':^31}{'memory':^17}{'lines':^11}",
        f"{'':22}{'plain':>9}{'by hand':>9}{'d2s':>9}{'plain':>11}{'by hand':>11}{'d2s':>9}"
        f"{'by hand':>9}{'d2s':>8}{'by hand':>9}{'d2s':>5}",
    ]
    for row in rows:
        lines.append(
            f"{row.name:22}{row.plain_first / row.hand_first:8.2f}x{row.hand_first * 1e3:7.0f}ms"
            f"{row.first_ratio:8.2f}x{row.plain / row.hand:10.1f}x{row.hand * 1e3:9.3f}ms"
            f"{row.steady_ratio:8.2f}x{row.hand_bytes / 2**20:7.2f}MB"
            f"{row.bytes / row.hand_bytes:7.2f}x"
            f"{row.hand_lines:9}{row.plain_lines:5}"
        )
    return "\n".join(lines)


def summary(rows: Sequence[Row]) -> list[tuple[str, float, float]]:
    """What is measured over all workloads: a name, the value, its limit."""
    found = [
        ("first call, geometric mean", mean([row.first_ratio for row in rows]), FIRST),
        ("steady state, geometric mean", mean([row.steady_ratio for row in rows]), STEADY),
    ]
    steps = {row.name: row.first_ratio * row.hand_first for row in rows if row.name[:3] == "for"}
    if len(steps) == 3:
        few, _, many = steps.values()
        found.append(("first call, 1000 steps against 10", many / few, 1.3))
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--only", nargs="+", default=[""], help="parts of names of workloads")
    parser.add_argument("--turns", type=int, default=15, help="how often both sides are measured")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    parser.add_argument("--plot", type=Path, metavar="STEM", help="write STEM.png and STEM.svg")
    parser.add_argument("--check", action="store_true", help="fail when a limit is exceeded")
    options = parser.parse_args()
    rows = []
    for n, workload in enumerate(WORKLOADS):
        if any(part in workload.name for part in options.only):
            print(f"{workload.name} ...", file=sys.stderr)
            rows.append(measure(n, options.turns))
    print(table(rows))
    results = summary(rows)
    for name, value, limit in results:
        print(f"{name:40}{value:6.2f}x  limit {limit:g}x  {'ok' if value <= limit else 'over'}")
    if options.json is not None:
        versions = {"python": platform.python_version(), "jax": jax.__version__}
        content = {**versions, "rows": [asdict(row) for row in rows]}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    if options.plot is not None:
        from benchmarks.plot import plot

        plot(rows, options.plot)
    return int(options.check and any(value > limit for _, value, limit in results))


if __name__ == "__main__":
    sys.exit(main())
