"""`d2s inspect`, `d2s explain` and `d2s verify` of a function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from d2s.cli import main
from d2s.report.verification import Outcome, difference

from ..patience import HANG

ROOT = Path(__file__).resolve().parents[2]
MODEL = """\
import time

import d2s
import jax.numpy as jnp


@d2s.to_static
def f(x):
    return x if x.sum() > 0 else -x


def plain(x, n, *, flag=False):
    for _ in range(n):
        x = x * 2 if x > 0 else x
    return -x if flag else x


def size(rows, weights):
    return rows.sum(axis=1) * weights


def nested(batch, pair):
    return batch["x"].sum() + pair[0] + pair[1]


class Net:
    scale = 2.0

    @d2s.to_static
    def step(self, x):
        return x * self.scale if x > 0 else x

    def __call__(self, x):
        return self.step(x)


class Counter:
    def __init__(self):
        self.count = jnp.zeros(3)

    @d2s.to_static
    def step(self, x):
        if x.sum() > 0:
            self.count = self.count + x
        return self.count

    def plain(self, x):
        self.count = self.count + x
        return self.count

    def __call__(self, x):
        return self.plain(x)


@d2s.to_static(input_spec=["f32[b, 3]", "f32[b]"], static_argnames="kind")
def specified(rows, weights, kind="sum"):
    if kind == "sum":
        return rows.sum(axis=1) * weights
    return rows


@d2s.to_static(backend="python")
def without_graph(x):
    return x


class Needs:
    def __init__(self, size):
        self.size = size

    def step(self, x):
        return x


def refused(x):
    return "positive" if x > 0 else "negative"


def frames(x):
    return locals()


@d2s.to_static(input_spec=[d2s.spec("f32[b]", constraints=("b >= 6", "mod(b, 4) == 0"))])
def constrained(x):
    return x * 2


def fails(x):
    raise KeyError("no such thing")


def endless(n):
    while n < 0:
        n = n * 1
    return n


def generator(x):
    yield x


def differs(x):
    return x + time.perf_counter_ns() % 7


number = 3
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "model.py").write_text(MODEL)
    yield tmp_path
    sys.modules.pop("model", None)


def run(*arguments):
    try:
        return main(list(arguments))
    except SystemExit as end:
        return end.code


# -- inspect --------------------------------------------------------------------------------------


def test_the_code(here, capsys):
    assert run("inspect", "model.py:f") == 0
    assert capsys.readouterr().out == (
        "def f(x):\n    return d2s.cond(d2s.fn(x.sum)() > 0, lambda: x, lambda: -x)\n"
    )


def test_the_graph(here, capsys):
    assert run("inspect", "model.py:f", "--spec", "f32[3]") == 0
    out = capsys.readouterr().out
    assert "-- code --" in out and "-- jaxpr --" in out and "cond[" in out and "flops" in out


@pytest.mark.parametrize(
    ("part", "text"),
    [
        ("source", "def f(x):\n    return x if"),
        ("jaxpr", "cond["),
        ("hlo", "stablehlo"),
        ("optimized", "HloModule"),
        ("cost", "flops"),
        ("backward", "cond["),
    ],
)
def test_parts(here, capsys, part, text):
    assert run("inspect", "model.py:f", "--spec", "f32[b]", "--size", "b=8", "--show", part) == 0
    assert text in capsys.readouterr().out


def test_values_and_names(here, capsys):
    arguments = ["--spec", "float", "3", "flag=True", "--show", "jaxpr"]
    assert run("inspect", "model.py:plain", *arguments) == 0
    assert "cond[" in capsys.readouterr().out


def test_containers(here, capsys):
    specs = ["{'x': 'f32[3]', 'kind': 'text'}", "['f32', 2]"]
    assert run("inspect", "model.py:nested", "--spec", *specs, "--show", "jaxpr") == 0


def test_methods_and_callables(here, capsys):
    for name in ("Net.step", "Net"):
        assert run("explain", f"model.py:{name}", "--spec", "float") == 0
        assert "lax.cond" in capsys.readouterr().out


def test_a_module_by_its_name(here, capsys):
    assert run("inspect", "model:f") == 0


# -- explain --------------------------------------------------------------------------------------


def test_explaining(here, capsys):
    assert run("explain", "model.py:f", "--spec", "f32[3]") == 0
    out = capsys.readouterr().out
    assert out.startswith("f(float32[3])\nmodel.py\n") and "lax.cond" in out and "\033" not in out
    assert run("explain", "model.py:f", "--spec", "f32[3]", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["became"] == "lax.cond"
    assert run("explain", "model.py:f", "--spec", "f32[3]", "--format", "html") == 0
    assert "<table class='d2s'>" in capsys.readouterr().out


# -- verify ---------------------------------------------------------------------------------------


def test_plain_and_static_agree(here, capsys):
    assert run("verify", "model.py:size", "--spec", "f32[b, 3]", "f32[b]", "--runs", "6") == 0
    assert capsys.readouterr().out == "6 inputs: plain and static agree\n"


def test_methods_are_verified(here, capsys):
    assert run("verify", "model.py:Net.step", "--spec", "float", "--runs", "4") == 0


@pytest.mark.parametrize("name", ["Counter.step", "Counter.plain", "Counter"])
def test_objects_that_change_are_verified(here, capsys, name):
    """Plain and static must not see what the other one has done to the object."""
    assert run("verify", f"model.py:{name}", "--spec", "f32[3]", "--runs", "6") == 0
    assert "6 inputs: plain and static agree" in capsys.readouterr().out


STATEFUL = """
count = 0
log = []


class Large(Exception):
    pass


def step(x):
    global count
    count += 1
    log.append(count)
    if x > 1:
        raise Large(count)
    return x + count


def writes(x):
    global count
    count += 1
    x = x.copy()
    x[0] = count
    return x.sum()
"""


@pytest.mark.parametrize("place", ["stateful.py", "stateful"])
def test_globals_are_those_of_each_side(here, capsys, place):
    (here / "stateful.py").write_text(STATEFUL)
    assert run("verify", f"{place}:step", "--spec", "f32", "--runs", "6") == 0
    assert "6 inputs: plain and static agree" in capsys.readouterr().out
    assert run("verify", f"{place}:writes", "--spec", "f32[3]", "--runs", "6") == 0


def test_a_difference_in_the_globals_is_one():
    one, other = (Outcome(1, None, "", (), {"log": [1, n]}) for n in (2, 3))
    assert difference(one, other).startswith("the globals afterwards['log'][1]\n")
    assert not difference(one, one)


def test_the_options_of_the_function_count(here, capsys):
    assert run("verify", "model.py:specified", "--runs", "3") == 0
    assert run("inspect", "model.py:specified") == 0
    assert "a:f32[4,3] b:f32[4]" in capsys.readouterr().out
    assert run("explain", "model.py:specified") == 0
    assert "Python" in capsys.readouterr().out
    assert run("inspect", "model.py:specified", "--spec", "f32[3]", "f32[4]") == 1
    assert "D2S032" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["inspect", "explain", "verify"])
@pytest.mark.parametrize(
    "name, why", [("generator", "a generator"), ("without_graph", "the backend python")]
)
def test_what_has_no_graph(here, capsys, command, name, why):
    assert run(command, f"model.py:{name}", "--spec", "f32") == 2
    assert why in capsys.readouterr().err


def test_the_same_failure_is_agreement(here, capsys):
    assert run("verify", "model.py:fails", "--spec", "float", "--runs", "2") == 0


def test_a_refusal_is_told(here, capsys):
    assert run("verify", "model.py:refused", "--spec", "f32") == 1
    out = capsys.readouterr().out
    assert out.startswith("input 1: ") and "d2s stops: D2S013" in out


def test_what_does_not_convert_is_told(here, capsys):
    assert run("verify", "model.py:frames", "--spec", "f32") == 1
    err = capsys.readouterr().err
    assert err.startswith("D2S003: `locals()`") and "return locals()" in err


def test_sizes_of_the_function_s_own_specifications(here, capsys):
    assert run("inspect", "model.py:specified", "--size", "b=8", "--show", "jaxpr") == 0
    assert "a:f32[8,3] b:f32[8]" in capsys.readouterr().out


def test_sizes_that_keep_to_constraints(here, capsys):
    assert run("verify", "model.py:constrained", "--runs", "3") == 0
    assert run("inspect", "model.py:constrained", "--show", "jaxpr") == 0
    assert "f32[8]" in capsys.readouterr().out


def test_codes_as_data(capsys):
    assert run("explain", "D2S010", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["code"] == "D2S010" and "Write instead" in found["text"]
    assert run("explain", "--format", "json") == 0
    assert json.loads(capsys.readouterr().out)["D2S010"] == found["meaning"]


def test_a_plain_function_that_does_not_end(here, capsys):
    arguments = ["--spec", "i32", "--runs", "2", "--seconds", "0.5", "--seed", "3"]
    assert run("verify", "model.py:endless", *arguments) in (0, 2)
    out, err = capsys.readouterr()
    assert "passed over, where plain took over 0.5 s" in out


def test_seeds_are_repeatable(here, capsys):
    shown = []
    for _ in range(2):
        run("verify", "model.py:refused", "--spec", "f32[2]", "--seed", "5")
        shown.append(capsys.readouterr().out)
    assert shown[0] == shown[1] != ""


# -- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["inspect", "model.py"], "names no function"),
        (["inspect", "none.py:f"], "none.py: no such file"),
        (["inspect", "none:f"], "the import failed: ModuleNotFoundError"),
        (["inspect", "model.py:ff"], "there is no ff in model.py:ff; did you mean f?"),
        (["inspect", "model.py:number"], "is no function but a int"),
        (["inspect", "model.py:Needs.step"], "cannot be made without arguments"),
        (["inspect", "model.py:generator"], "generator"),
        (["inspect", "broken.py:f"], "the import failed: SyntaxError"),
        (["inspect", "raising.py:f"], "raising.py:1: the import failed: ValueError: at import"),
        (["inspect", "exits.py:f"], "the import failed: SystemExit: 3"),
        (["explain", "model.py:f"], "missing 1 required positional argument"),
        (["explain", "model.py:f", "--spec", "f33[2]"], "there is no dtype f33"),
        (["explain", "model.py:f", "--spec", "f32", "--size", "b"], "write NAME=N"),
        (["explain", "model.py:fails", "--spec", "float"], "KeyError: 'no such thing'"),
        (["verify", "model.py:f", "--spec", "f32", "--runs", "0"], "--runs must be at least 1"),
        (["verify", "model.py:f", "--spec", "f32", "--runs", "x"], "invalid int value"),
        (["inspect", "model.py:f", "--show", "all"], "invalid choice"),
        (["inspect", "model.py:f", "--spec", "f32[b]", "--size", "q=3"], "no specification has a"),
        (["verify", "model.py:f", "--spec", "f32[b]", "--size", "q=3"], "there is b"),
        (["verify", "model.py:f", "--spec", "f32", "--seconds", "-1"], "--seconds must be"),
        (["verify", "model.py:f", "--spec", "f32", "--seconds", "inf"], "--seconds must be"),
        (["verify", "model.py:f", "--spec", "f32", "--seed", "-1"], "--seed must not be"),
        (["explain", "D2S010", "--format", "html"], "--format html is for functions"),
    ],
    ids=" ".join,
)
def test_mistakes_are_told_in_one_line(here, capsys, arguments, text):
    (here / "broken.py").write_text("def f(:\n")
    (here / "raising.py").write_text("raise ValueError('at import')\n")
    (here / "exits.py").write_text("raise SystemExit(3)\n")
    assert run(*arguments) == 2
    out, err = capsys.readouterr()
    assert text in err and err.count("\n") == 1 and err.startswith("d2s: ")


def test_a_refusal_is_shown_with_its_line(here, capsys):
    assert run("explain", "model.py:refused", "--spec", "f32") == 1
    error = capsys.readouterr().err
    assert error.startswith("D2S013: ") and "^" in error and "Traceback" not in error


def test_end_to_end(here):
    done = subprocess.run(
        [sys.executable, "-m", "d2s", "verify", "model.py:f", "--spec", "f32[b]", "--runs", "3"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=HANG,
    )
    assert (done.returncode, done.stdout) == (0, "3 inputs: plain and static agree\n"), done.stderr
