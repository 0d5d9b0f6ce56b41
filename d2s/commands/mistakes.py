"""What a user can get wrong at the command line: one line each, never a traceback."""

from __future__ import annotations

import os
import sys

from d2s.errors import ConversionError

Place = str | os.PathLike[str] | None


class Mistake(Exception):
    """Ends a command with one line on stderr and exit code 2."""

    def __init__(self, what: str, place: Place = None, line: int | None = None) -> None:
        self.what, self.place, self.line = " ".join(what.split()), place, line
        where = "" if place is None else os.fspath(place) + (f":{line}" if line else "") + ": "
        super().__init__(" ".join(f"{where}{what}".split()))


def from_os(error: OSError, place: Place = None) -> Mistake:
    """What the system refused."""
    return Mistake(error.strerror or str(error), place or error.filename)


def from_syntax(error: SyntaxError, place: Place) -> Mistake:
    """A file that is not Python, or not Python that d2s converts."""
    if not isinstance(error, ConversionError):
        return Mistake(f"syntax error: {error.msg}", place, error.lineno)
    fix = f"; write instead: {error.fix}" if error.fix else ""
    line = error.site.line if error.site is not None else None
    return Mistake(f"{error.code}: {error.what}{fix}", place, line)


def say(text: object) -> None:
    """A line for the user, beside the output."""
    print(f"d2s: {text}", file=sys.stderr)
