"""The texts of the errors: every code can be met, and what to write instead works."""

from __future__ import annotations

import linecache
import sys
from pathlib import Path

import pytest

import d2s
from d2s import manual
from d2s.errors import CODES, Site

from ..documents import blocks, run

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = {code: blocks(manual.page(code)) for code in CODES}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("code", CODES)
def test_the_error_happens(code, here):
    wrong = [block for block in PROGRAMS[code] if block.raises]
    assert wrong
    for block in wrong:
        assert block.raises == code
        with pytest.raises(d2s.Error) as caught:
            run(block.text, here)
        assert caught.value.code == code
        assert caught.value.fix, "an error says what to write instead"


@pytest.mark.parametrize("code", CODES)
def test_what_to_write_instead_works(code, here):
    right = [block for block in PROGRAMS[code] if not block.raises]
    assert right
    for block in right:
        run(block.text, here)


@pytest.mark.parametrize("code", CODES)
def test_the_error_shows_the_line(code, here):
    (block,) = [block for block in PROGRAMS[code] if block.raises]
    with pytest.raises(d2s.Error) as caught:
        run(block.text, here)
    site = caught.value.site
    assert site is not None and Path(site.filename).suffix == ".py"
    assert code == "D2S002" or "^" in site.excerpt()


@pytest.mark.parametrize("code", ["D2S010", "D2S011", "D2S012", "D2S013"])
def test_both_sides_of_a_mismatch_are_shown(code, here):
    (block,) = [block for block in PROGRAMS[code] if block.raises]
    with pytest.raises(d2s.Error) as caught:
        run(block.text, here)
    text = str(caught.value).splitlines()
    sides = caught.value.sides
    assert len(sides) == 2 and sides[0].what != sides[1].what
    for side in sides:
        assert side.site is not None
        # Python 3.12 keeps no columns of a constant that a lambda returns: the line is marked
        known = sys.version_info[:2] != (3, 12) or code != "D2S013"
        assert side.site.column + 1 <= side.site.end_column or not known
        assert any(line.startswith(f"  {side.when}: ") for line in text)
        at = text.index(f"  {side.when}, line {side.site.line}")
        assert text[at + 1].strip() == side.site.text.strip() and set(text[at + 2]) == {" ", "^"}


def test_a_long_line_is_shown_in_part():
    text = "x = " + " + ".join(f"value_{n}" for n in range(200))
    linecache.cache["long.py"] = (len(text), None, [text], "long.py")
    start = text.index("value_150")
    line, marks = Site("long.py", 1, "f", start, start + 9).marked()
    assert len(line) < 200 and line[marks.index("^") : marks.rindex("^") + 1] == "value_150"


def test_the_document_is_made_of_these_texts():
    written = (ROOT / "docs" / "errors.md").read_text()
    assert written == manual.document(), "run `python -m d2s.manual`"


def test_no_text_without_a_code():
    found = {path.stem for path in (ROOT / "d2s" / "manual").glob("*.md")}
    assert found == set(CODES)
