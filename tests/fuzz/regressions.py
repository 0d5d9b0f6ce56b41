"""Programs that once came out different, one function each, with the seed that wrote it.

`@found(*rows)` registers the function with its arguments; `test_fuzz.py` asks all oracles
about each.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .program import Row

FOUND: list[tuple[Callable[..., Any], tuple[Row, ...], str, tuple[str, ...]]] = []


def found(*rows: Row, flavour: str = "traced", refused: tuple[str, ...] = ()) -> Callable[..., Any]:
    """Register a program; `refused` are the codes with which d2s may stop instead."""

    def register(fn: Callable[..., Any]) -> Callable[..., Any]:
        FOUND.append((fn, rows, flavour, refused))
        return fn

    return register
