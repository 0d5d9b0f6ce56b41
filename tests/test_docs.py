"""What the documents say is so."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from d2s.errors import CODES

ROOT = Path(__file__).resolve().parents[1]
DOCUMENTS = sorted([ROOT / "README.md", *(ROOT / "docs").glob("*.md")])
BLOCKS = [
    pytest.param(block, id=f"{path.name}-{n}")
    for path in DOCUMENTS
    for n, block in enumerate(re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL))
]


@pytest.mark.parametrize("block", BLOCKS)
def test_code_in_the_documents_runs(block, tmp_path):
    path = tmp_path / "example.py"
    path.write_text(block)
    spec = importlib.util.spec_from_file_location("document_example", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]


def test_every_link_leads_somewhere():
    for path in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
            if "://" not in target:
                assert (path.parent / target).exists(), f"{path.name}: {target}"


def test_every_error_code_is_documented():
    text = (ROOT / "docs" / "errors.md").read_text()
    for code, meaning in CODES.items():
        assert f"| {code} | {meaning} |" in text


def test_every_error_code_is_used():
    source = "".join(p.read_text() for p in (ROOT / "d2s").rglob("*.py") if p.name != "errors.py")
    own = (ROOT / "d2s" / "errors.py").read_text()
    for code in CODES:
        assert f'"{code}"' in source or own.count(f'"{code}"') > 1, code
