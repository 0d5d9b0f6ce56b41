"""A line on the terminal that shows how far a command is."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

T = TypeVar("T")


def progress(items: Sequence[T], width: int = 24) -> Iterator[T]:
    """The items, with a bar on stderr while they are worked on, if that is a terminal."""
    if not sys.stderr.isatty():
        yield from items
        return
    columns = shutil.get_terminal_size().columns - 1
    try:
        for done, item in enumerate(items):
            filled = width * done // len(items)
            text = f"[{'#' * filled:<{width}}] {done}/{len(items)} {item}"
            sys.stderr.write(f"\r{text[:columns]:<{columns}}")
            sys.stderr.flush()
            yield item
    finally:
        sys.stderr.write(f"\r{'':<{columns}}\r")
        sys.stderr.flush()
