"""Guards: whether what a graph was built from is still the same, as code that every call runs."""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable
from typing import Any

from d2s.backends.lax.places import EMPTY, cell_contents, is_unchanged

_numbers = itertools.count()

FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")


class Guard:
    """An expression that is true while nothing has changed, with what its names mean.

    Of all guards, no two use a name for different things: code that calls have to run anyway can
    have several of them in it.
    """

    def __init__(
        self,
        names: Iterable[tuple[dict[str, Any], str, Any]],
        functions: Iterable[tuple[types.FunctionType, Any, Any, Any]],
        snapshots: Iterable[tuple[Any, Any]],
    ) -> None:
        self.names: dict[str, Any] = {
            "EMPTY": EMPTY,
            "cell_contents": cell_contents,
            "is_unchanged": is_unchanged,
        }
        names = list(names)
        tests = [f"{self._of(d)}.get({n!r}, EMPTY) is {self._of(v)}" for d, n, v in names]
        self._asked = [n for _, n, _ in names]
        for function, *parts in functions:
            name = self._of(function)
            pairs = zip(FUNCTION_PARTS, parts, strict=True)
            tests += [f"{name}.{part} is {self._of(value)}" for part, value in pairs]
        for owner, before in snapshots:
            is_cell = type(owner) is types.CellType
            ask = "cell_contents({}) is {}" if is_cell else "is_unchanged({}, {})"
            tests.append(ask.format(self._of(owner), self._of(before)))
        self.test = " and ".join(tests)
        self.holds: Callable[[], bool] = eval(f"lambda: {self.test or True}", dict(self.names))

    def __eq__(self, other: object) -> bool:
        """Whether two guards ask for the very same things."""
        return isinstance(other, Guard) and self._meant() == other._meant()

    def __hash__(self) -> int:
        return hash(tuple(self._meant()))

    def _meant(self) -> list[Any]:
        return [*self._asked, *map(id, self.names.values())]

    def _of(self, value: Any) -> str:
        name = f"guarded{next(_numbers)}"
        self.names[name] = value
        return name
