"""What the documents say is so."""

from __future__ import annotations

import re
import shlex
from itertools import pairwise
from pathlib import Path

import pytest

import d2s
from d2s.cli import main
from d2s.errors import CODES

from .documents import Block, blocks, run

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
#: the programs of this one are those of the manual, which has tests of its own
MADE = ("errors.md",)
#: a text right behind a program is what it prints, or the error it ends with
END = Block("", "", "")
BLOCKS = [
    pytest.param(block, after, id=f"{path.name}-{n}")
    for path in DOCUMENTS
    if path.name not in MADE
    for n, (block, after) in enumerate(pairwise([*blocks(path.read_text()), END]))
    if block.language == "python"
]


@pytest.mark.parametrize("block, after", BLOCKS)
def test_code_in_the_documents_runs(block, after, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    if not block.raises:
        run(block.text, tmp_path)
        if after.language == "text":
            assert capsys.readouterr().out.strip() == after.text.strip()
        return
    with pytest.raises(d2s.Error) as caught:
        run(block.text, tmp_path)
    assert caught.value.code == block.raises
    if after.language == "text":
        shown = str(caught.value).replace(str(tmp_path / "example.py"), "example.py")
        assert after.text.rstrip().endswith(shown)


def test_every_link_leads_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_error_code_is_used():
    source = "".join(p.read_text() for p in (ROOT / "d2s").rglob("*.py") if p.name != "errors.py")
    own = (ROOT / "d2s" / "errors.py").read_text()
    for code in CODES:
        assert f'"{code}"' in source or own.count(f'"{code}"') > 1, code


MODEL = """\
import d2s


@d2s.to_static
def weighted(rows, weights):
    total = 0.0
    for row, weight in zip(rows, weights):
        if weight > 0:
            total = total + row.sum() * weight
    return total
"""
COMMANDS = sorted(
    {
        line.partition("#")[0].removeprefix("$ ").strip()
        for path in DOCUMENTS
        for block in blocks(path.read_text())
        if block.language == "sh"
        for line in block.text.splitlines()
        if line.startswith("d2s ")
    }
)


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_in_the_documents_run(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package").mkdir()
    for path in ("model.py", "package/model.py"):
        (tmp_path / path).write_text(MODEL)
    arguments = shlex.split(command)[1:]
    if "--check" in arguments:
        assert main([a for a in arguments if a != "--check"]) == 0
    assert main(arguments) == 0
    assert capsys.readouterr()


SESSIONS = [
    pytest.param(*block.text.split("\n", 1), id=f"{path.name}-{n}")
    for path in DOCUMENTS
    for n, block in enumerate(blocks(path.read_text()))
    if block.language == "text" and re.match(r"\$ d2s .*samples/", block.text)
]


@pytest.mark.parametrize("command, output", SESSIONS)
def test_sessions_in_the_documents(command, output, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    main(shlex.split(command)[2:])
    assert capsys.readouterr().out.strip() == output.strip()
