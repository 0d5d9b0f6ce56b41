"""Whether asking an iterator for items changes something that others can see."""

from __future__ import annotations

import gc
import sys
import types
from typing import Any

from d2s.backends.lax.watch import Watch


class Effects:
    """What asking an iterator for more items has changed."""

    def __init__(self, iterator: Any) -> None:
        frame = getattr(iterator, "gi_frame", None)
        names = {} if frame is None else dict(frame.f_locals)
        source = names.pop(".0", None)
        self._is_shared = source is not None and sys.getrefcount(source) > _references()
        parts = iterator.__reduce__()[1] if isinstance(iterator, map | filter) else ()
        cells = [c for c in gc.get_referents(iterator) if isinstance(c, types.CellType)]
        self._watch = Watch(*cells, *names.values(), *parts)

    def happened(self) -> bool:
        return self._is_shared or any(True for _ in self._watch.changed())


def _references() -> int:
    """How many references there are to what a generator runs over when nobody else has it."""
    alone: Any = (_ for _ in (1, 2))
    next(alone)  # while it runs, its frame has one more
    frame = alone.gi_frame
    names = dict(frame.f_locals)
    source = names.pop(".0", None)
    return sys.getrefcount(source)
