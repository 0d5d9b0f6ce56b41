"""Which tests are fast ones: all that have no mark `full`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import pytest


def sampled(items: Sequence[Any], every: int = 5) -> list[Any]:
    """Parameters with an `id`: one of so many is for the fast tier, the others for the full one."""
    return [
        pytest.param(item, id=item.id, marks=[pytest.mark.full] if n % every else [])
        for n, item in enumerate(items)
    ]


def without(names: Sequence[str], slow: Collection[str]) -> list[Any]:
    """Names as parameters, the slow ones for the full tier."""
    assert set(slow) <= set(names), "a slow one that there is not"
    return [
        pytest.param(name, id=name, marks=[pytest.mark.full] if name in slow else [])
        for name in names
    ]
