"""Written modules do what the modules they were made from do: the samples and the whole corpus."""

from __future__ import annotations

import ast
import copy
import importlib
import inspect
import runpy
import sys
from pathlib import Path

import pytest

import d2s
from d2s.conversion import conversion_of, is_written
from d2s.modules.rewrite import rewrite

from ..differential.harness import (
    CASES,
    Surroundings,
    arguments,
    flavoured,
    outcome_difference,
    run,
)
from ..differential.test_programs import MODULES
from ..modules.test_rewrite import comments
from ..samples.test_samples import FOLDER, SAMPLES, sample
from .written import written

pytestmark = pytest.mark.full


def dump(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
    return ast.dump(tree)


def functions(tree):
    return {n.name: n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_gives_the_same(name, tmp_path):
    original = sample(name)
    module = written(FOLDER / f"{name}.py", tmp_path)
    assert is_written(module.ENTRY.original)
    for given in original.examples():
        want = run(original.ENTRY, arguments(given))
        got = run(module.ENTRY, arguments(given))
        assert outcome_difference(want, got, 1e-6, 1e-6) is None


@pytest.mark.parametrize("name", SAMPLES)
def test_a_sample_runs_as_a_program(name, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", [f"{name}.py"])
    runpy.run_path(str(FOLDER / f"{name}.py"), run_name="__main__")
    want = capsys.readouterr().out
    path = tmp_path / f"{name}.py"
    path.write_text(rewrite((FOLDER / f"{name}.py").read_text(), everything=True).text)
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out == want


@pytest.mark.parametrize("name", SAMPLES)
def test_what_is_written_is_what_is_executed(name, tmp_path):
    original = sample(name)
    module = written(FOLDER / f"{name}.py", tmp_path)
    found = functions(ast.parse(Path(module.__file__).read_text()))
    node = found[module.ENTRY.__name__]
    node.decorator_list = []
    assert dump(node) == dump(conversion_of(original.ENTRY.original).tree)
    assert module.ENTRY.code == d2s.to_code(module.ENTRY)
    assert dump(ast.parse(module.ENTRY.code).body[0]) == dump(node)


@pytest.fixture(scope="module", params=MODULES, ids=lambda m: m.__name__.rpartition(".")[2])
def corpus(request, tmp_path_factory):
    """Pairs of programs, as they are and as they are written."""
    module = request.param
    before = len(CASES)
    home = module.__name__.rpartition(".")[0]
    short = module.__name__.rpartition(".")[2]
    folder = tmp_path_factory.mktemp("written")
    made = written(Path(module.__file__), folder, f"{home}.written_{short}", everything=True)
    new = CASES[before:]
    del CASES[before:]
    prefix = short.removeprefix("programs_") + "-"
    old = [item for item in CASES if item.id.startswith(prefix)]
    assert len(old) == len(new) > 0
    return module, made, list(zip(old, new, strict=True))


def unnamed(outcome):
    """The two modules differ by name, and only by that."""
    for name in ("__name__", "__qualname__"):
        outcome.state.pop(name, None)
    outcome.message = outcome.message.replace("written_", "")
    return outcome


def test_the_functions_are_marked(corpus):
    module, made, _ = corpus
    plain = [n for n, v in vars(module).items() if inspect.isfunction(v) and not is_foreign(v)]
    local = [n for n in plain if vars(module)[n].__module__ == module.__name__]
    written_ones = [n for n in local if n in vars(made) and is_written(vars(made)[n])]
    assert len(written_ones) > 0.9 * len(local)


def is_foreign(function):
    return function.__code__.co_filename.endswith("harness.py") or "<lambda>" in function.__name__


def test_the_corpus_does_the_same(corpus):
    _, _, pairs = corpus
    for old, new in pairs:
        if "converted" not in old.options.get("modes", ("converted",)):
            continue
        plain = old.options.get("oracle") or old.fn
        codes = old.options.get("error_ok") or ()
        codes = (codes,) if isinstance(codes, str) else tuple(codes)
        for given, same in zip(old.inputs, new.inputs, strict=True):
            args = arguments(given)
            want = unnamed(run(plain, copy.copy(args), Surroundings(old.fn)))
            got = unnamed(run(new.fn, arguments(same), Surroundings(new.fn)))
            if got.code is not None and got.code.startswith(codes or ("?",)):
                continue
            why = outcome_difference(want, got, 1e-4, 1e-5)
            assert why is None, f"{new.id}: {why}\n{want}\n{got}"


def test_the_corpus_is_static_in_the_same_way(corpus):
    """One input each, as arrays: what the module in memory does, errors and codes included."""
    _, _, pairs = corpus
    for old, new in pairs[::3]:
        if "static" not in old.options.get("modes", ("static",)):
            continue
        keep = tuple(old.options.get("keep", ()))
        want, got = (
            unnamed(
                run(
                    d2s.to_static(item.fn),
                    flavoured(arguments(item.inputs[0]), "traced", keep),
                    Surroundings(item.fn),
                )
            )
            for item in (old, new)
        )
        if want.code is not None:
            assert got.code == want.code, f"{new.id}\n{want}\n{got}"
            continue
        why = outcome_difference(want, got, 1e-4, 1e-5)
        assert why is None, f"{new.id}: {why}\n{want}\n{got}"


def test_every_program_is_what_is_executed(corpus):
    """The trees of the written functions are those that run in memory."""
    module, made, _ = corpus
    found = functions(ast.parse(Path(made.__file__).read_text()))
    checked = 0
    for name, value in vars(module).items():
        if not inspect.isfunction(value) or value.__module__ != module.__name__:
            continue
        if name not in found or value.__name__ != name or is_foreign(value):
            continue
        if hasattr(value, "__wrapped__"):
            continue  # what has the name is the function of a decorator
        node = found[name]
        if not any("generated" in ast.unparse(d) for d in node.decorator_list):
            continue
        node.decorator_list = []
        assert dump(node) == dump(conversion_of(value).tree), name
        checked += 1
    assert checked > 5


@pytest.mark.parametrize("name", ["textwrap", "difflib", "fractions"])
def test_modules_that_nobody_wrote_for_this(name, tmp_path):
    """Every comment survives, and the module does its work once all of it can be converted."""
    module = importlib.import_module(name)
    path = Path(module.__file__)
    made = written(path, tmp_path, everything=True)
    assert comments(Path(made.__file__).read_text()) == comments(path.read_text())
    if any(
        reason.startswith("D2S") for _, reason in rewrite(path.read_text(), everything=True).left
    ):
        return
    text = "Whatever is written here is wrapped, compared and taken to pieces. " * 3
    work = {
        "textwrap": lambda m: (m.wrap(text, 30), m.dedent("  a\n   b"), m.shorten(text, 20)),
        "difflib": lambda m: (
            list(m.ndiff(text.split(), text.upper().split())),
            m.get_close_matches("a", "abc"),
        ),
        "fractions": lambda m: (
            str(m.Fraction("3.25") / 7 + 1),
            hash(m.Fraction(1, 3)),
            round(m.Fraction(7, 2)),
        ),
    }[name]
    assert work(made) == work(module)
