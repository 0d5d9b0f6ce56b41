"""Convert a file and import what was written."""

from __future__ import annotations

import importlib.util
import itertools
import sys
import types
from pathlib import Path

from d2s.commands.files import read
from d2s.modules.rewrite import rewrite

_count = itertools.count()


def written(path: Path, folder: Path, name: str = "", **options) -> types.ModuleType:
    """The module that `path` becomes, written to a folder and imported from there."""
    source = read(path)
    data = source.encoded(rewrite(source.text, str(path), **options).text)
    target = folder / path.name
    target.write_bytes(data)
    return imported(target, name)


def imported(path: Path, name: str = "") -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name or f"written_{next(_count)}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def module_of(text: str | bytes, folder: Path, **options) -> types.ModuleType:
    """The module that a text becomes."""
    path = folder / f"given_{next(_count)}.py"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    out = folder / "out"
    out.mkdir(exist_ok=True)
    return written(path, out, **options)
