"""The first call in a new process, with compiled graphs kept from the one before, and without.

    python -m benchmarks.startup [--check]

Two programs: a static function, whose source is converted and traced again, and a saved one. Each
runs in a process of its own, first with an empty cache, then with what that run has left there, in
turns; the first call is timed, not the imports.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[1]
LIMIT = 3.0
STATIC = """
import time, jax, jax.numpy as jnp, d2s
from benchmarks.specimens import deep_network, weights
layers, x = weights()
jax.block_until_ready(jnp.zeros(3) + 1)
static = d2s.to_static(deep_network)
start = time.perf_counter()
jax.block_until_ready(static(layers, x))
print(time.perf_counter() - start)
"""
SAVED = """
import time, jax, jax.numpy as jnp, d2s
from benchmarks.specimens import weights
layers, x = weights()
jax.block_until_ready(jnp.zeros(3) + 1)
start = time.perf_counter()
loaded = d2s.load({path!r})
jax.block_until_ready(loaded(layers, x))
print(time.perf_counter() - start)
"""
SAVE = """
import d2s
from benchmarks.specimens import deep_network, weights
d2s.save(deep_network, {path!r}, *weights())
"""


def seconds(program: str, cache: str) -> float:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "D2S_CACHE": cache}
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=600,
    )
    return float(done.stdout.split()[-1]) if done.stdout.strip() else 0.0


def measured(program: str, turns: int) -> tuple[float, float]:
    """The first call with an empty cache and with a full one."""
    times = []
    for _ in range(turns):
        with tempfile.TemporaryDirectory() as cache:
            times.append((seconds(program, cache), seconds(program, cache)))
    cold, warm = (median(side) for side in zip(*times, strict=True))
    return cold, warm


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help=f"fail below {LIMIT}x")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    ok = True
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "network.d2s")
        seconds(SAVE.format(path=path), "")
        for name, program in (("static", STATIC), ("saved", SAVED.format(path=path))):
            cold, warm = measured(program, options.turns)
            ok = ok and cold / warm >= LIMIT
            print(f"{name}: cold {cold:.2f} s, warm {warm:.2f} s, {cold / warm:.1f}x faster")
    return 1 if options.check and not ok else 0


if __name__ == "__main__":
    sys.exit(main())
