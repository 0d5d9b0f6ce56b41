"""Marks that generated code passes around in the place of values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Unbound:
    """Stands where a name has no value; a block that does not bind the name hands it on.

    Without a name it stands for a value that nobody reads unless a flag says that it is there.
    """

    __slots__ = ("name",)

    def __init__(self, name: str = "") -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"unbound({self.name!r})" if self.name else "unbound()"

    def error(self, free: bool = False) -> NameError:
        """What Python raises when the name is read."""
        if free:
            return NameError(
                f"cannot access free variable '{self.name}' where it is not associated with a "
                "value in enclosing scope"
            )
        return UnboundLocalError(
            f"cannot access local variable '{self.name}' where it is not associated with a value"
        )


@dataclass(frozen=True)
class Maybe:
    """A value of a name that a run-time condition may have left unbound."""

    bound: Any
    value: Any
    name: str


class Stored:
    """The result of an augmented assignment, on its way to the slot that it is stored in.

    ``d2s.ref(o).w[i] += v`` computes the result first, and then assigns it to ``d2s.ref(o).w[i]``
    as any value: the mark says that nothing is left to compute.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass(frozen=True)
class Window:
    """A slice that starts at a run-time value and whose size is known."""

    start: Any
    size: int
