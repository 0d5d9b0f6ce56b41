"""Room for recursion: one call of the user's is several frames here."""

from __future__ import annotations

import sys
import threading
from typing import ClassVar


class Deep:
    """While converted code runs, Python's recursion limit is raised.

    A recursion then goes as deep as it goes in plain Python, and blocks may nest as deeply.
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
                if self._running == 0 and sys.getrecursionlimit() == self._limit * self.FRAMES:
                    sys.setrecursionlimit(self._limit)


deep = Deep()
