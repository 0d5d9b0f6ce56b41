"""The texts of the errors: every code can be met, and what to write instead works."""

from __future__ import annotations

from pathlib import Path

import pytest

import d2s
from d2s import manual
from d2s.errors import CODES

from .documents import blocks, run

ROOT = Path(__file__).resolve().parents[1]
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


@pytest.mark.parametrize("code", sorted(set(CODES) - {"D2S001", "D2S031", "D2S033"}))
def test_the_error_shows_the_line(code, here):
    """What has no source has no line."""
    (block,) = [block for block in PROGRAMS[code] if block.raises]
    with pytest.raises(d2s.Error) as caught:
        run(block.text, here)
    site = caught.value.site
    assert site is not None and Path(site.filename).suffix == ".py"
    assert code == "D2S002" or "^" in site.excerpt()


def test_the_document_is_made_of_these_texts():
    written = (ROOT / "docs" / "errors.md").read_text()
    assert written == manual.document(), "run `python -m d2s.manual`"


def test_no_text_without_a_code():
    found = {path.stem for path in (ROOT / "d2s" / "manual").glob("*.md")}
    assert found == set(CODES)
