"""Programs out of Markdown, run as files of their own."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path

_FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """A block of code; `raises` is the code that it must end with."""

    language: str
    raises: str
    text: str


def blocks(text: str) -> list[Block]:
    return [
        Block(language, options.partition("raises ")[2].strip(), code)
        for language, options, code in _FENCE.findall(text)
    ]


def run(text: str, folder: Path) -> None:
    path = folder / "example.py"
    path.write_text(text)
    spec = importlib.util.spec_from_file_location("document_example", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    finally:
        del sys.modules[spec.name]
