"""The fixed list of the judge, and the judge on trial."""

from __future__ import annotations

import json
import os
import types
import unittest
from pathlib import Path

import pytest

import d2s
from d2s import libraries
from tests.judge import exclusions, figures, report
from tests.judge.cases import FIXED, Case, all_cases
from tests.judge.compare import judge

CASES = all_cases()


@pytest.mark.full
@pytest.mark.parametrize("name", [name for name in FIXED if name in CASES])
def test_nothing_is_lost(name: str) -> None:
    verdict = judge(CASES[name])
    assert verdict.tests and verdict.count("converted")
    assert verdict.good, "\n".join([report.summary(verdict), *report.details(verdict)])


# -- the judge itself -----------------------------------------------------------------------------

SPECIMEN = Case("tests.judge.specimen")


def wrong(function: types.FunctionType) -> types.FunctionType:
    """A conversion that is not one: whatever is named `double` adds one more."""
    made = d2s.convert(function)
    if function.__name__ != "double":
        return made

    def double(x: int) -> int:
        return made(x) + 1

    return double


def refusing(function: types.FunctionType) -> types.FunctionType:
    if function.__name__ == "double":
        raise d2s.ConversionError("a refusal nobody has explained", code="D2S003")
    return d2s.convert(function)


def broken(function: types.FunctionType) -> types.FunctionType:
    if function.__name__ == "double":
        raise KeyError("double")
    return d2s.convert(function)


def deadly(function: types.FunctionType) -> types.FunctionType:
    return d2s.convert(function) if function.__name__ != "double" else lambda x: os._exit(3)


def test_a_good_conversion_passes() -> None:
    verdict = judge(SPECIMEN)
    assert verdict.good
    assert verdict.tests in (4, 5)  # some versions of Python count a test that is skipped
    outcomes = {one["name"]: one["outcome"] for one in verdict.functions}
    assert outcomes["double"] == outcomes["Tests.test_double"] == "converted"
    assert outcomes["Box.value"] == outcomes["Box.make"] == outcomes["Box.<lambda>"] == "converted"
    assert outcomes["numbers"] == "as it is"
    assert "Tests.test_double.<locals>.inner" not in outcomes


@pytest.mark.full
def test_a_wrong_conversion_is_found() -> None:
    verdict = judge(SPECIMEN, "tests.judge.test_judge:wrong")
    assert not verdict.good
    assert list(verdict.lost) == ["tests.judge.specimen.Tests.test_double"]
    assert "AssertionError: 43 != 42" in "\n".join(report.details(verdict))


@pytest.mark.full
def test_a_refusal_without_a_reason_is_found() -> None:
    verdict = judge(SPECIMEN, "tests.judge.test_judge:refusing")
    assert not verdict.good and not verdict.lost
    assert [one["name"] for one in verdict.unexpected] == ["double"]
    assert "nobody has explained" in "\n".join(report.details(verdict))


@pytest.mark.full
def test_a_failure_of_the_converter_is_found() -> None:
    verdict = judge(SPECIMEN, "tests.judge.test_judge:broken")
    assert [one["why"] for one in verdict.unexpected] == ["KeyError: 'double'"]


def test_a_crash_takes_one_test_with_it() -> None:
    verdict = judge(SPECIMEN, "tests.judge.test_judge:deadly")
    assert list(verdict.lost) == ["tests.judge.specimen.Tests.test_double"]
    assert "ended with" in verdict.lost["tests.judge.specimen.Tests.test_double"]


def test_exclusions_have_reasons_and_are_few() -> None:
    known = exclusions.TESTS | exclusions.ENDLESS
    assert all(known.values()) and all(exclusions.REFUSALS.values())
    assert len(known) < 60


def test_a_claimed_file_is_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(libraries, "_chosen", {})
    assert libraries.is_library_file(unittest.__file__)
    libraries.claim(unittest.__file__)
    assert not libraries.is_library_file(unittest.__file__)
    assert libraries.is_library_file(unittest.case.__file__)
    libraries.is_library_file.cache_clear()


def test_figures_count_shared_functions_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"module": "m", "name": "f", "line": 1, "outcome": "converted"}
    other = {"module": "m", "name": "g", "line": 2, "outcome": "as it is"}
    cases = [
        {"name": "a", "functions": [one, other], "tests": 3, "lost": {"x": "why"}},
        {"name": "b", "functions": [one], "tests": 4, "lost": {}},
    ]
    for version in ("3.9.1", "3.10.0"):
        (tmp_path / version).write_text(json.dumps({"python": version, "cases": cases}))
    document = tmp_path / "document.md"
    document.write_text(f"before\n{figures.START}\nold\n{figures.END}\nafter\n")
    monkeypatch.setattr(figures, "DOCUMENT", document)
    figures.main([str(tmp_path / "3.10.0"), str(tmp_path / "3.9.1")])
    text = document.read_text()
    assert text.startswith("before") and text.endswith("after\n") and "old" not in text
    assert "| 3.9 | 2 | 2 | 1 | 1 | 0 | 7 | 1 |\n| 3.10 |" in text
    assert "| a | 1 / 1 | 1 / 1 | 0 / 0 | 3 / 3 | 1 / 1 |" in text
