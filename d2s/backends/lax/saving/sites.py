"""The user's line that saves, loads or calls."""

from __future__ import annotations

from d2s.backends.lax import channels
from d2s.errors import Site


def here() -> Site | None:
    """The line that is running; None at the command line, which has none."""
    found = channels.where()
    return None if found.filename.startswith("<") else found
