"""Arguments with what the options of their function say of them, until they are taken apart.

With ``to_static(f, static_argnums=1)``, the call ``f(x, n)`` becomes ``(x, Constant(n, "n"))``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax


class Constant:
    """An argument that is a constant of the graph because an option says so."""

    __slots__ = ("name", "value")

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name


class Donated:
    """An argument whose memory the graph may use for its results."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class FutureArray:
    """Stands in an object for an array, where a graph is only looked at and never runs."""

    __slots__ = ("value",)
    # It has no hash, as arrays have none, so that nothing which holds one is taken for a constant.
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: jax.ShapeDtypeStruct) -> None:
        self.value = value


def unmarked(value: Any) -> Any:
    """An argument as the user gave it."""
    return value.value if type(value) in (Constant, Donated) else value


def unmarked_values(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: unmarked(value) for name, value in kwargs.items()}
