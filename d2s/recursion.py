"""Python's recursion limit, raised while code of d2s's own making runs.

One call of a function of the user's is several frames here: its converted code, the blocks it
became, and the ops between them. This module is below all packages, because conversion walks deep
trees as well.
"""

from __future__ import annotations

import sys
import threading
from typing import ClassVar


class Deep:
    """While a block ``with deep:`` runs, Python's recursion limit is `FRAMES` times as high.

    A recursion of the user's then goes as deep as it goes in plain Python, and statements may be
    nested as deeply. The limit belongs to the whole process, so it is raised by the first thread
    that enters and put back by the last one that leaves.
    """

    FRAMES: ClassVar[int] = 8

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._depth = threading.local()
        self._running = 0
        self._limit = 0

    def __enter__(self) -> None:
        depth = getattr(self._depth, "value", 0)
        self._depth.value = depth + 1
        if depth == 0:
            with self._lock:
                self._running += 1
                if self._running == 1:
                    self._limit = sys.getrecursionlimit()
                    sys.setrecursionlimit(self._limit * self.FRAMES)

    def __exit__(self, *_: object) -> None:
        depth = self._depth.value = self._depth.value - 1
        if depth == 0:
            with self._lock:
                self._running -= 1
                # a limit that the user's code has set in the meantime stays
                if self._running == 0 and sys.getrecursionlimit() == self._limit * self.FRAMES:
                    sys.setrecursionlimit(self._limit)


deep = Deep()
