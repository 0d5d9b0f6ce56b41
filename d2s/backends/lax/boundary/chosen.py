"""Objects that stand for one of several others: neither may change while the other is there.

    best = a if x > 0 else b        `a` and `b` are lists that the call was given
    state["best"] = best

A graph cannot hand out one of several objects, so what this call leaves in `state["best"]` is a new
list, with the values of the one that was chosen. In plain Python it *is* that one, and a change of
either is one of both. So a static function may not change `a` as long as somebody has the new list,
nor the new list as long as somebody has `a`: that is an error (D2S077).
"""

from __future__ import annotations

import gc
import sys
import threading
from typing import Any

from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.names import name_of
from d2s.errors import StagingError

_Pair = tuple[Any, Any]


class _ChosenPairs:
    """Pairs of an object that a call has made and one that it may stand for, by the ids of both."""

    def __init__(self) -> None:
        self.pairs: dict[int, list[_Pair]] = {}
        # a garbage collection in here may run code of the user's that calls static functions
        self.lock = threading.RLock()
        #: the number of pairs from which on `clean` looks at them, since that takes its time
        self._many = 0

    def add(self, pair: _Pair) -> None:
        for one in pair:
            self.pairs.setdefault(id(one), []).append(pair)

    def clean(self) -> None:
        """Forget the pairs of which nobody else has one of the two objects any more."""
        if len(self.pairs) < self._many:
            return
        every = {id(pair): pair for pairs in self.pairs.values() for pair in pairs}
        kept = [pair for pair in every.values() if self.is_held(pair, 0) and self.is_held(pair, 1)]
        del every
        self.pairs = {}
        for pair in kept:
            self.add(pair)
        self._many = 2 * len(self.pairs) + 2

    def is_held(self, pair: _Pair, side: int) -> bool:
        """Whether somebody has one side of a pair, besides the pairs themselves."""
        own = len(self.pairs[id(pair[side])])
        return sys.getrefcount(pair[side]) - own > _OF_THE_QUESTION


def _of_the_question() -> int:
    """The number of references to an object that only one pair has, as `is_held` counts them."""
    pair = ([], [])  # type: ignore[var-annotated]
    return sys.getrefcount(pair[0]) - 1


_OF_THE_QUESTION = _of_the_question()
_table = _ChosenPairs()


def note(made: Any, originals: list[Any]) -> None:
    """A call has made an object that stands for one of these."""
    with _table.lock:
        _table.clean()
        for original in originals:
            if original is not made:
                _table.add((made, original))


def refuse_change(owner: Any) -> None:
    """Refuse the change of an object if somebody has another one that should change with it."""
    if not _table.pairs or id(owner) not in _table.pairs:
        return
    if not _has_another(owner):
        return
    gc.collect()  # what only waits to be collected sees nothing
    if not _has_another(owner):
        return
    kind, name = type(owner).__name__, name_of(owner)
    raise StagingError(
        f"{f'{name}, a {kind},' if name else f'a {kind}'} is changed that an earlier call has put "
        "into another place, or not, as a run-time value decided; what stands there is a copy and "
        "would not change",
        code="D2S077",
        site=sites.where(),
        fix="a copy of your own where one is chosen (`copy.copy(x)`), or its index instead of it",
    )


def _has_another(owner: Any) -> bool:
    with _table.lock:
        pairs = _table.pairs.get(id(owner), ())
        return any(_table.is_held(pair, int(pair[0] is owner)) for pair in pairs)
