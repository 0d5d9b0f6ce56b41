"""Saved functions as the command line shows them, and the values that go in and come out."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from d2s.commands.mistakes import Mistake, from_os
from d2s.deploy import saving

PARTS = ("code", "source", "hlo")


def is_saved(target: str) -> bool:
    """Whether a target is a file that d2s has saved, and no function of a module."""
    path = Path(target)
    return path.suffix == ".d2s" or (":" not in target and path.suffix != ".py" and path.is_file())


def load(path: str) -> Any:
    """A saved function; a file that is not there is a mistake."""
    try:
        return saving.load(path)
    except OSError as error:
        raise from_os(error, path) from error


def summary(path: str, loaded: Any) -> Iterator[str]:
    """What a file holds, in a few lines."""
    manifest = loaded.manifest
    size = os.path.getsize(path)
    yield f"{path}: {size:,} bytes, written by d2s {manifest['d2s']} with jax {manifest['jax']}"
    yield f"runs on {', '.join(manifest['platforms'])}; gradients: {manifest['vjp_order']}"
    for name, method in loaded.methods.items():
        yield f"{name}: {method.__func__!r}"
        yield f"    gives {', '.join(method.results) or 'no arrays'}"
        for text in method.failures:
            yield f"    may raise {text}"
    if loaded.state:
        yield "state:"
        width = max(map(len, loaded.state))
        for name, value in loaded.state.items():
            yield f"    {name:<{width}}  {value.aval.str_short()}"


def argument(text: str) -> tuple[str | None, Any]:
    """``x.npy``, ``name=x.npy``, or a value as Python writes it."""
    name, equals, rest = text.partition("=")
    if equals and name.strip().isidentifier():
        return name.strip(), _value(rest.strip())
    return None, _value(text)


def _value(text: str) -> Any:
    if text.endswith((".npy", ".npz")):
        try:
            found = np.load(text, allow_pickle=False)
        except OSError as error:
            raise from_os(error, text) from error
        except (ValueError, EOFError) as error:
            raise Mistake(f"it holds no arrays ({error})", text) from error
        if isinstance(found, np.ndarray):
            return found
        with found:
            return {name: found[name] for name in found}
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        raise Mistake(f"--input {text}: write FILE.npy, FILE.npz or a Python value") from None


def arrays(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """The arrays and numbers of a result, by their places."""
    if isinstance(value, dict):
        parts = [(str(key), part) for key, part in value.items()]
    elif isinstance(value, saving.Record):
        parts = list(vars(value).items())
    elif isinstance(value, list | tuple):
        fields = getattr(value, "_fields", range(len(value)))
        parts = [(str(key), part) for key, part in zip(fields, value, strict=True)]
    else:
        if value is not None and not isinstance(value, str | bytes):
            yield name or "result", value
        return
    for key, part in parts:
        yield from arrays(part, f"{name}.{key}" if name else key)
