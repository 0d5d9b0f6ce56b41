"""What an argument was marked as by the options of its function, until it is taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax


class Constant:
    """An argument that is a constant of the graph because that was asked for."""

    __slots__ = ("name", "value")

    def __init__(self, value: Any, name: str) -> None:
        self.value, self.name = value, name


class Donated:
    """An argument whose memory the graph may use."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class FutureArray:
    """Stands for an array that an object will hold, where a graph is looked at and not run."""

    __slots__ = ("value",)
    # as an array: what holds one is no constant
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: jax.ShapeDtypeStruct) -> None:
        self.value = value


def unmarked(value: Any) -> Any:
    """An argument as the user gave it."""
    return value.value if type(value) in (Constant, Donated) else value


def unmarked_values(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: unmarked(value) for name, value in kwargs.items()}
