"""The logger ``d2s``: what is converted, traced again, or run as it is, and why.

``D2S_LOG=info`` (or ``debug``, ``warning``, ``error``) shows it on stderr without a line of code.
"""

from __future__ import annotations

import logging
import os

logger = logging.getLogger("d2s")
_LEVELS = ("debug", "info", "warning", "error")


def configure(wanted: str | None = os.environ.get("D2S_LOG")) -> None:
    """Show messages from a level on; called when d2s is imported."""
    if not wanted:
        return
    if wanted.lower() not in _LEVELS:
        logger.warning("D2S_LOG=%s is not known; it is one of %s", wanted, ", ".join(_LEVELS))
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("d2s %(levelname)s: %(message)s"))
    logger.addHandler(handler)
    logger.setLevel(wanted.upper())
    logger.propagate = False
