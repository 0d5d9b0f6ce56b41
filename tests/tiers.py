"""Which tests are fast ones: all that have no mark `full`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest


def sampled(items: Sequence[Any], every: int = 5) -> list[Any]:
    """Parameters with an `id`: one of so many is for the fast tier, the others for the full one."""
    return [
        pytest.param(item, id=item.id, marks=[pytest.mark.full] if n % every else [])
        for n, item in enumerate(items)
    ]
