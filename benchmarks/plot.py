"""The plot of the README; needs matplotlib (``pip install 'd2s[plot]'``)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt


def plot(rows: Sequence[Any], stem: Path) -> None:
    """Time of a call against `lax` by hand: plain Python, and d2s."""
    names = [row.name for row in rows][::-1]
    places = range(len(rows))
    figure, axes = plt.subplots(figsize=(8, 0.32 * len(rows) + 1.4))
    plain = [row.plain / row.hand for row in rows][::-1]
    ours = [row.steady_ratio for row in rows][::-1]
    axes.barh([n + 0.2 for n in places], plain, 0.38, label="plain, eager", color="#c8c8c8")
    axes.barh([n - 0.2 for n in places], ours, 0.38, label="d2s", color="#2a6fb0")
    axes.axvline(1.0, color="black", linewidth=1, label="lax by hand")
    axes.set_xscale("log")
    axes.set_yticks(list(places), names)
    axes.set_xlabel("time of a call, lax by hand = 1")
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False)
    figure.tight_layout()
    for kind in ("png", "svg"):
        figure.savefig(stem.with_suffix(f".{kind}"), dpi=120, metadata=_METADATA[kind])
    plt.close(figure)


#: without the time of the run: the files change only when the numbers do
_METADATA: dict[str, dict[str, str | None]] = {"png": {"Software": None}, "svg": {"Date": None}}
