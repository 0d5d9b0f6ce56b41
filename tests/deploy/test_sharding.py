"""Several devices: virtual ones, in processes of their own, which have that many from the start."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ..patience import HANG

pytestmark = pytest.mark.full

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "samples" / "data_parallel.py"


def run(*command, **more):
    environment = {k: v for k, v in os.environ.items() if k != "XLA_FLAGS"}
    return subprocess.run(
        [sys.executable, *map(str, command)],
        cwd=ROOT,
        env={**environment, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu", **more},
        capture_output=True,
        text=True,
        timeout=HANG,
    )


def test_on_eight_devices():
    """The checks of `sharded.py`, all in one process."""
    flags = "--xla_force_host_platform_device_count=8"
    done = run("-m", "tests.deploy.sharded", XLA_FLAGS=flags)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "all of it is so" in done.stdout


def losses(done):
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"^losses (.*)$", done.stdout, re.MULTILINE)
    return [float(value) for value in line.split()]


def test_training_is_the_same_on_one_device_on_eight_and_in_two_processes():
    code = "import samples.data_parallel as d; print('losses', *d.train(d.ENTRY))"
    one = losses(run("-c", code))
    eight = losses(run(SAMPLE))
    two = losses(run(SAMPLE, "--processes", "2"))
    assert one[-1] < one[0]
    assert eight == pytest.approx(one, rel=1e-5) and two == pytest.approx(one, rel=1e-5)


def test_processes_that_do_not_end_are_ended():
    done = run(SAMPLE, "--processes", "2", "--seconds", "0.5")
    assert done.returncode == 124 and "no end after" in done.stderr
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
    address = re.search(r"--address=(\S+)", done.stdout + done.stderr)
    assert address is None or address[1] not in listed


def test_a_process_that_fails_ends_the_others_at_once():
    from samples import data_parallel

    slow, fails = (
        subprocess.Popen([sys.executable, "-c", code])
        for code in (f"import time; time.sleep({HANG})", "raise SystemExit(3)")
    )
    try:
        assert data_parallel.first_failure([slow, fails], time.monotonic() + HANG) == 3
        assert slow.poll() is None
    finally:
        slow.kill()
        slow.wait()


@pytest.mark.parametrize("options", [["--processes", "0"], ["--processes", "3"], ["--proceses=2"]])
def test_options_that_there_are_not(options):
    done = run(SAMPLE, *options)
    assert done.returncode == 2 and "error:" in done.stderr and "Traceback" not in done.stderr
