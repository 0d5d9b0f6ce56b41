"""`d2s export`, `d2s run` and `d2s inspect` of saved functions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.cli import main

MODEL = """\
import jax.numpy as jnp


def weighted(rows, by=2.0):
    total = 0.0
    for row in rows:
        if row.sum() > 0:
            total = total + row.sum() * by
    assert total < 1000, f"{total} is too much"
    return {"total": total, "parts": (rows * 2, [rows.shape[1], "text"])}


class Net:
    def __init__(self):
        self.w = jnp.ones(3)

    def __call__(self, x):
        self.w = self.w * 0.5
        return x @ self.w
"""
ROWS = np.arange(12.0, dtype=np.float32).reshape(4, 3) - 5


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "net_model.py").write_text(MODEL)
    np.save("rows.npy", ROWS)
    return tmp_path


def test_a_function_goes_to_a_file_and_runs(here, capsys):
    command = ["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "-o", "w.d2s"]
    assert main([*command, "--gradients", "1"]) == 0
    (here / "net_model.py").unlink()
    assert main(["run", "w.d2s", "--input", "rows.npy", "-o", "out.npz", "--repeat", "3"]) == 0
    assert "median of 2" in capsys.readouterr().err
    with np.load("out.npz") as found:
        assert sorted(found) == ["parts.0", "parts.1.0", "total"]
        assert found["total"] == 42 and (found["parts.0"] == ROWS * 2).all()
    assert main(["run", "w.d2s", "--input", "rows=rows.npy"]) == 0
    assert "'total': Array(42." in capsys.readouterr().out


def test_what_a_file_holds_is_shown(here, capsys):
    assert main(["export", "net_model.py:Net", "--spec", "f32[b, 3]", "-o", "net.d2s"]) == 0
    assert main(["inspect", "net.d2s"]) == 0
    shown = capsys.readouterr().out
    for text in ("Net.__call__(x: f32[b, 3])", "gives float32[b]\n", "w  float32[3]", "cpu, cuda"):
        assert text in shown
    assert main(["inspect", "net.d2s", "--show", "source", "code", "hlo"]) == 0
    shown = capsys.readouterr().out
    assert "self.w = self.w * 0.5" in shown and "stablehlo.multiply" in shown
    assert main(["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "-o", "w.d2s"]) == 0
    assert main(["inspect", "w.d2s"]) == 0
    assert "may raise AssertionError (net_model.py, line 9)" in capsys.readouterr().out
    assert main(["inspect", "net.d2s", "--show", "cost"]) == 2


def test_plain_stablehlo(here):
    from jax._src.interpreters import mlir
    from jaxlib.mlir import ir

    command = ["export", "net_model.py:weighted", "--spec", "f32[4, 3]"]
    assert main([*command, "-o", "w.d2s", "--mlir"]) == 0
    assert main([*command, "-o", "alone.mlir"]) == 0
    assert not (here / "alone.d2s").exists()
    text, alone = ((here / name).read_text() for name in ("w.mlir", "alone.mlir"))
    assert text.count("stablehlo.") == alone.count("stablehlo.")
    assert str(here) not in text and "_platform_index" not in text
    with mlir.make_ir_context():
        assert ir.Module.parse(text).operation.verify()


def test_constraints_and_types(here, capsys):
    command = ["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "by=float"]
    more = ["--constraint", "b >= 4", "--platform", "cpu", "--no-source", "-o", "w.d2s"]
    assert main([*command, *more]) == 0
    loaded = d2s.load("w.d2s")
    assert loaded.source is None and loaded.manifest["platforms"] == ["cpu"]
    assert loaded(jnp.asarray(ROWS), by=3.0)["total"] == 63
    np.save("few.npy", ROWS[:2])
    assert main(["run", "w.d2s", "--input", "rows.npy", "by=3.0"]) == 0
    assert main(["run", "w.d2s", "--input", "few.npy", "by=3.0"]) == 1
    assert "D2S032" in capsys.readouterr().err
    assert main(["inspect", "w.d2s"]) == 0
    assert "by: float), b >= 4\n" in capsys.readouterr().out


def test_texts(here, capsys):
    (here / "net_model.py").write_text("def f(x, how, pair):\n    return x * (how == pair[1])\n")
    command = ["export", "net_model.py:f", "--spec", "x=f32[n]", "how='up'", "pair=['f32', 'up']"]
    assert main([*command, "--constraint", "n >= 2", "-o", "f.d2s"]) == 0, capsys.readouterr().err
    loaded = d2s.load("f.d2s")
    assert loaded.spec == {"x": "f32[n]", "how": "up", "pair": ["f32[]", "up"]}
    assert loaded(jnp.ones(3), "up", [jnp.float32(1), "up"]).tolist() == [1, 1, 1]
    with pytest.raises(d2s.Error, match="D2S032"):
        loaded(jnp.ones(1), "up", [jnp.float32(1), "up"])


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (["run", "w.d2s", "--input", "nothing.npy"], 2, "No such file"),
        (["run", "nothing.d2s"], 2, "No such file"),
        (["run", "net_model.py", "--input", "rows.npy"], 1, "D2S061"),
        (["run", "w.d2s", "--input", "pickled.npy"], 2, "holds no arrays"),
        (["run", "w.d2s", "--input", "__import__('os')"], 2, "write FILE.npy"),
        (["run", "w.d2s", "--input", "large.npy"], 1, "AssertionError: 42000.0 is too much"),
        (["run", "w.d2s", "--input", "rows.npy", "--method", "step"], 2, "there is no method step"),
        (["run", "w.d2s", "--input", "rows.npy", "--repeat", "0"], 2, "--repeat"),
        (["run", "w.d2s"], 1, "missing a required argument"),
        (["run", "w.d2s", "--input", "large.npy", "1.0", "3"], 1, "too many positional arguments"),
        (["run", "w.d2s", "--input", "[1.0]"], 1, "does not fit"),
        (["run", "w.d2s", "--input", "rows.npy", "-o", "out.txt"], 2, "out.txt: arrays are"),
        (["inspect", "w.d2s", "--spec", "f32"], 2, "leave --spec and --size out"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "--constraint", "b >=",
          "-o", "x.d2s"], 2, "--constraint: the constraint 'b >=' cannot be read"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "--constraint", "q >= 2",
          "-o", "x.d2s"], 1, "no specification has a dimension q"),
        (["export", "net_model.py:weighted", "-o", "x.d2s"], 1, "D2S033"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "-o", "no/x.d2s"], 2,
         "d2s: no/x.d2s: No such file or directory"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "-o", "."], 2,
         "d2s: .: Is a directory"),
        (["export", "net_model.py:nothing", "-o", "x.d2s"], 2, "there is no nothing"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "--platform", "x",
          "-o", "x.d2s"], 1, "there is no platform"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "--constraint", "b >=",
          "-o", "x.d2s"], 2, "the constraint 'b >=' cannot be read"),
        (["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "--constraint", "n >= 2",
          "-o", "x.d2s"], 1, "no specification has a dimension n"),
        (["export", "net_model.py:weighted", "--constraint", "n >= 2", "-o", "x.d2s"], 2,
         "those of --spec"),
        (["inspect", "rows.npy"], 1, "D2S061"),
    ],
)  # fmt: skip
def test_mistakes(arguments, code, text, here, capsys):
    d2s_file = ["export", "net_model.py:weighted", "--spec", "f32[b, 3]", "-o", "w.d2s"]
    assert main(d2s_file) == 0
    np.save("pickled.npy", np.array([{}], object), allow_pickle=True)
    np.save("large.npy", ROWS * 1000)
    assert main(arguments) == code
    said = capsys.readouterr().err
    assert text in said and "Traceback" not in said
    assert 'File "' not in said, "they have no place in the user's source"
    assert not (here / "x.d2s").exists() and not (here / "out.txt.npz").exists()
