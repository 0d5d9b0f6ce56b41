"""Eager and static runs, by a call, a block and the environment; the log."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import threading
import traceback
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import d2s
from d2s import logs
from d2s.options.modes import Modes

from ..patience import HANG

ROOT = Path(__file__).resolve().parents[2]


@d2s.to_static
def halves(x):
    steps = 0
    while x > 1:
        x = x / 2
        steps += 1
    return steps


def is_eager():
    """A Python number comes back from Python's own loop, an array from a graph."""
    steps = halves(8.0)
    assert steps == 3
    return type(steps) is int


@pytest.fixture(autouse=True)
def fresh():
    yield
    d2s.set_mode("static")
    assert Modes.special == 0


def test_a_block_runs_eagerly():
    assert not is_eager()
    with d2s.mode("eager"):
        assert is_eager()
    assert not is_eager()


def test_all_functions_of_the_process():
    d2s.set_mode("eager")
    d2s.set_mode("eager")
    assert is_eager()
    with d2s.mode("static"):
        assert not is_eager()
        with d2s.mode("eager"):
            assert is_eager()
    d2s.set_mode("static")
    assert not is_eager()


def test_a_block_is_for_one_thread():
    found = []
    with d2s.mode("eager"):
        thread = threading.Thread(target=lambda: found.append(is_eager()))
        thread.start()
        thread.join()
    assert found == [False]


def test_a_block_ends_with_an_exception():
    with pytest.raises(KeyError), d2s.mode("eager"):
        raise KeyError
    assert Modes.special == 0


def test_bound_arguments_and_exceptions():
    class Scaled:
        factor = 3.0

        @d2s.to_static
        def run(self, x, *, limit):
            if x > limit:
                raise ValueError(f"{x} is too much")
            return x * self.factor

    with d2s.mode("eager"):
        assert Scaled().run(2.0, limit=5.0) == 6.0
        with pytest.raises(ValueError, match="9.0 is too much"):
            Scaled().run(9.0, limit=5.0)


def test_inside_a_transformation_the_graph_is_that_of_jax():
    with d2s.mode("eager"):
        assert jax.jit(halves)(jnp.float32(8.0)) == 3


@pytest.mark.parametrize("use", [d2s.set_mode, lambda name: d2s.mode(name).__enter__()])
def test_an_unknown_mode(use):
    with pytest.raises(d2s.Error, match="there is no mode 'fast'") as caught:
        use("fast")
    assert caught.value.code == "D2S033" and '"eager"' in str(caught.value)


PROGRAM = """\
import d2s

@d2s.to_static
def f(x):
    return x + 1 if x > 0 else x

print(type(f(1.0)).__name__)
"""


def run(text, folder, **environment):
    (folder / "program.py").write_text(text)
    return subprocess.run(
        [sys.executable, "program.py"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=HANG,
    )


def test_the_environment_sets_the_mode(tmp_path):
    assert run(PROGRAM, tmp_path, D2S_MODE="eager").stdout == "float\n"
    assert run(PROGRAM, tmp_path).stdout == "ArrayImpl\n"


@pytest.mark.full
def test_a_wrong_environment_is_told_by_the_first_call(tmp_path):
    assert run(PROGRAM, tmp_path, D2S_MODE="").stdout == run(PROGRAM, tmp_path).stdout
    done = run(PROGRAM, tmp_path, D2S_MODE="fast")
    assert "the environment variable D2S_MODE: there is no mode 'fast'" in done.stderr


def test_a_breakpoint_in_a_graph_says_how_it_is_used():
    def f(x):
        breakpoint()
        return x

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(f)(1.0)
    assert caught.value.code == "D2S023" and 'with d2s.mode("eager")' in caught.value.fix


def test_a_breakpoint_sees_values(tmp_path):
    text = (
        "import d2s\n\n@d2s.to_static\ndef f(x):\n    if x > 0:\n        y = x * 2\n"
        "        breakpoint()\n        y = y + 1\n    else:\n        y = x\n    return y\n\n"
        "f(21.0)\n"
    )
    (tmp_path / "program.py").write_text(text)
    done = subprocess.run(
        [sys.executable, "program.py"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "D2S_MODE": "eager"},
        input="p y\nc\n",
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert "(Pdb) 42.0" in done.stdout, done.stdout + done.stderr


# -- tracebacks ----------------------------------------------------------------------------------

RAISES = """\
import d2s
import jax.numpy as jnp

@d2s.to_static
def f(x):
    return "positive" if x > 0 else "negative"

f(jnp.float32(1.0))
"""


@pytest.mark.full
def test_own_frames_are_hidden(tmp_path):
    shown = run(RAISES, tmp_path).stderr
    frames = [line for line in shown.splitlines() if line.startswith('  File "')]
    assert all("program.py" in line for line in frames), shown
    assert "D2S013" in shown
    full = run(RAISES, tmp_path, D2S_FULL_TRACEBACK="1").stderr
    assert "branches.py" in full and "branches.py" not in shown


#: what people do wrong, each outside of a static function or by code that d2s cannot convert
MISTAKES = (
    "d2s.to_static(3)",
    "d2s.to_static(checks='nans')",
    "d2s.to_static()(len)",
    "d2s.convert(len)",
    "d2s.to_code(len)",
    "d2s.explain(len)",
    "d2s.trace(f, x)",
    "d2s.spec('f33')",
    "d2s.set_mode('fast')",
    "d2s.options(loops='sometimes')",
    "d2s.to_static(f).jaxpr(x)",
    "d2s.to_static(f).explain(x)",
    "d2s.to_static(f).watch('nothing')",
    "d2s.to_static(f).watch('y')(x)",
    "d2s.to_static(f)(x)",
    "Net().run(x)",
    "Net().run.jaxpr(x)",
    "Net().run.watch('y')(x)",
)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_only_lines_of_the_user_are_shown(mistake):
    def f(x):
        y = {x: 1}
        return y

    class Net:
        @d2s.to_static
        def run(self, x):
            y = {x: 1}
            return y

    with pytest.raises(d2s.Error) as caught:
        eval(mistake, {"d2s": d2s, "f": f, "Net": Net, "x": jnp.ones(3)[0]})
    text = "".join(traceback.format_exception(caught.value))
    assert "direct cause" not in text and "During handling" not in text
    frames = traceback.extract_tb(caught.value.__traceback__)
    assert {frame.filename for frame in frames} <= {__file__, "<string>"}, text


# -- the log --------------------------------------------------------------------------------------


@pytest.mark.full
def test_the_environment_opens_the_log(tmp_path):
    done = run(PROGRAM, tmp_path, D2S_LOG="debug")
    assert "d2s INFO: converted f" in done.stderr
    assert "return d2s.cond(x > 0" in done.stderr
    assert run(PROGRAM, tmp_path, D2S_LOG="error").stderr == ""


def test_the_log_tells_of_conversions_and_graphs(tmp_path):
    program = (
        "import d2s\nimport jax.numpy as jnp\n\n\n@d2s.to_static\ndef f(x, n):\n"
        "    return x * n if x.sum() > 0 else x\n\n\n"
        "f(jnp.ones(2), 2)\nf(jnp.ones((3, 2)), 2)\n"
    )
    lines = run(program, tmp_path, D2S_LOG="info").stderr.splitlines()
    kept = [line for line in lines if "converted" in line or "a graph for" in line]
    assert lines == kept and all(line.startswith("d2s INFO: ") for line in lines)
    assert "converted f (" in lines[0] and "the first call" in lines[1]
    assert "another type: x: float32[2] became float32[3,2]" in lines[2] and len(lines) == 3


def test_a_wrong_level_is_told(tmp_path):
    done = run(PROGRAM, tmp_path, D2S_LOG="loud")
    assert "D2S_LOG=loud is not known" in done.stderr and done.returncode == 0


def test_no_level_changes_nothing():
    before = list(logging.getLogger("d2s").handlers)
    logs.configure(None)
    assert logging.getLogger("d2s").handlers == before
