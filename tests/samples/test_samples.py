"""Every sample against plain Python, on every call, and as the program it is."""

from __future__ import annotations

import gc
import importlib.util
import runpy
import sys
from pathlib import Path

import pytest

from ..differential.harness import check
from ..tiers import without

FOLDER = Path(__file__).resolve().parents[2] / "samples"
SAMPLES = sorted(path.stem for path in FOLDER.glob("*.py"))
SLOW = ("kmeans", "mandelbrot", "text_generator", "train_mlp", "two_branches")


def sample(name):
    spec = importlib.util.spec_from_file_location(f"samples_{name}", FOLDER / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_samples_are_there():
    assert len(SAMPLES) >= 8


@pytest.mark.full
@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_gives_what_plain_python_gives(name):
    module = sample(name)
    plain = module.ENTRY.original
    check(plain, *module.examples(), flavours=("static",))


@pytest.mark.parametrize("name", without(SAMPLES, SLOW))
def test_a_sample_runs(name, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [name])  # the options of pytest are not for it
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    assert capsys.readouterr().out.strip()


def test_generated_code_is_short():
    written = generated = 0
    for name in SAMPLES:
        function = sample(name).ENTRY
        code = function.original.__code__
        lines = {line for _, _, line in code.co_lines() if line}
        written += max(lines | {code.co_firstlineno}) - code.co_firstlineno + 1
        generated += len(function.code.strip().splitlines())
    assert generated <= 2.2 * written


@pytest.mark.full
def test_a_sample_does_not_depend_on_when_garbage_is_collected():
    module = sample("text_generator")
    gc.disable()
    try:
        check(module.ENTRY.original, *module.examples(), flavours=("static",))
    finally:
        gc.enable()
