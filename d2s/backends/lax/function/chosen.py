"""Lists, dicts and objects that calls have chosen between several: they must stay as they are.

A graph cannot hand out one of several objects, so what a call leaves in a place is a new one, with
the values of the one that was chosen. In plain Python it *is* that one, and a change of either is
one of both. So static functions may not change either as long as somebody has the other.
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
    """Pairs of an object that a call has left and one that it may be, by the identity of both."""

    def __init__(self) -> None:
        self.pairs: dict[int, list[_Pair]] = {}
        self.lock = threading.RLock()  # a collection may run code of the user's, here too
        #: from how many on those that are gone are looked for: they may be large
        self._many = 0

    def add(self, pair: _Pair) -> None:
        for one in pair:
            self.pairs.setdefault(id(one), []).append(pair)

    def clean(self) -> None:
        """Forget pairs of which nobody has one any more."""
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
    """How many references there are to what only one pair has, while it is asked about."""
    pair = ([], [])  # type: ignore[var-annotated]
    return sys.getrefcount(pair[0]) - 1


_OF_THE_QUESTION = _of_the_question()
_table = _ChosenPairs()


def note(made: Any, originals: list[Any]) -> None:
    """A call has left an object in the place of one of these."""
    with _table.lock:
        _table.clean()
        for original in originals:
            if original is not made:
                _table.add((made, original))


def refuse_change(owner: Any) -> None:
    """Refuse the change of an object if there is another one that should change with it."""
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
