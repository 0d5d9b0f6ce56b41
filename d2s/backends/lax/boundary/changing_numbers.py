"""Which Python numbers of a key change from call to call: those become inputs of the graph.

A number found in an object is a constant of the graph at first, since most of them are sizes and
switches. Once a call comes with another value in the same position of a key that is the same
otherwise, it is a counter: the position holds a `ChangingNumber` from then on, and the number is
the last leaf.

    self.step = 0    (tuple of 1, Layer, Number(0), ...)                    constant
    self.step = 1    (tuple of 1, Layer, ChangingNumber(int), ...)          leaves = [..., 1]
"""

from __future__ import annotations

import dataclasses
from typing import Any

from d2s.backends.lax.objects.flatten import Taken
from d2s.backends.lax.objects.keys import ChangingNumber, Number


@dataclasses.dataclass
class _SeenNumbers:
    """The numbers of all keys that differ in nothing else, by their positions."""

    #: the first value that was seen
    first: dict[int, Any]
    changing: set[int]


class ChangingNumbers:
    """Remembers the numbers of earlier calls of one static function."""

    def __init__(self) -> None:
        self._seen: dict[tuple[Any, ...], _SeenNumbers] = {}

    def key(self, taken: Taken) -> tuple[Any, ...]:
        """The key of a call, whose changing numbers become leaves."""
        key = taken.key
        positions = [n for n, token in enumerate(key) if type(token) is Number]
        if positions:
            shape = list(key)
            for n in positions:
                shape[n] = ChangingNumber(type(key[n].value))
            seen = self._seen.get(tuple(shape))
            if seen is None:
                seen = _SeenNumbers({n: key[n] for n in positions}, set())
                self._seen[tuple(shape)] = seen
            seen.changing |= {n for n in positions if key[n] != seen.first.setdefault(n, key[n])}
            for n in seen.changing.intersection(positions):
                taken.changing[n] = key[n].value
                key[n] = shape[n]
        taken.leaves += [taken.changing[n] for n in sorted(taken.changing)]
        return tuple(key)

    def clear(self) -> None:
        self._seen = {}
