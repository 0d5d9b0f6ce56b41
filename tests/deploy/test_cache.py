"""Compiled graphs that are kept, and processes that start without devices."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import jax.numpy as jnp
import pytest

import d2s

from ..patience import HANG

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = """\
import jax.numpy as jnp
import d2s


@d2s.to_static
def f(x):
    while x.sum() < 100:
        x = x * 2
    return x


SETTING
print(f(jnp.ones(3)).sum())
"""


def run(folder, setting="", **more):
    (folder / "program.py").write_text(PROGRAM.replace("SETTING", setting))
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", "HOME": str(folder), **more},
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "192.0"


@pytest.mark.parametrize("by", ["environment", "call"])
def test_a_second_process_finds_the_graphs_of_the_first(by, tmp_path):
    cache = tmp_path / "cache"
    setting = "" if by == "environment" else 'd2s.set_cache("cache")'
    more = {"D2S_CACHE": str(cache)} if by == "environment" else {}
    run(tmp_path, setting, **more)
    kept = {path.name for path in cache.iterdir() if not path.name.endswith("-atime")}
    assert any("jit_f" in name for name in kept)
    run(tmp_path, setting, **more)
    again = {path.name for path in cache.iterdir() if not path.name.endswith("-atime")}
    assert again == kept, "nothing was compiled again"


def test_a_folder_that_cannot_be(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(d2s.Error) as caught:
        d2s.set_cache(tmp_path / "file" / "cache")
    assert caught.value.code == "D2S033"


def test_devices_are_not_started_before_the_first_call(tmp_path):
    """`jax.distributed.initialize` must come before them, and decorators come first."""
    check = "from jax._src import xla_bridge as b; f.code; assert not b.backends_are_initialized()"
    run(tmp_path, check)


def test_numbers_that_change_beside_numbers_that_do_not():
    class Counter:
        def __init__(self):
            self.best, self.steps, self.rate = 9.0, 0, 0.5

    @d2s.to_static
    def step(counter, x):
        counter.steps += 1
        if x < counter.best:
            counter.best = x
        return counter.rate * counter.steps

    counter = Counter()
    found = [float(step(counter, jnp.float32(n))) for n in (5, 7, 3, 8, 1, 2)]
    assert found == [0.5, 1.0, 1.5, 2.0, 2.5, 3.0] and counter.steps == 6 and counter.best == 1
