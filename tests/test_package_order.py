"""The front of d2s imports downwards only: function-level and typing imports count as well."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "d2s"

#: from the bottom to the top; a package imports only what stands before it
ORDER = [
    *("errors", "libraries", "recursion", "made_code", "source", "analysis", "converters"),
    *("pipeline", "conversion", "options", "runtime"),
]


def imported(path: Path) -> set[str]:
    """The parts of d2s that a module imports, wherever in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        found |= {name.split(".")[1] for name in names if name.startswith("d2s.")}
    return found


@pytest.mark.parametrize("name", ORDER)
def test_imports_go_downwards(name: str) -> None:
    folder = PACKAGE / name
    paths = sorted(folder.rglob("*.py")) if folder.is_dir() else [folder.with_suffix(".py")]
    allowed = {*ORDER[: ORDER.index(name)], name}
    assert paths
    assert {p.name: imported(p) - allowed for p in paths if imported(p) - allowed} == {}
