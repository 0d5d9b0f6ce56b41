"""Syntax that Python does not have: what one converter makes for another that runs later."""

from __future__ import annotations

import gast


class Switch(gast.stmt):  # type: ignore[misc]
    """`if`/`elif` on one name and integers: `cases` in turn, then `orelse`."""

    _fields = ("subject", "cases", "orelse")
    _attributes = gast.If._attributes


class Case(gast.AST):  # type: ignore[misc]
    """The body for some integers."""

    _fields = ("values", "body")
