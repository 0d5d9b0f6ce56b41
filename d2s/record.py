"""What became of each control-flow statement, noted while a graph is built for `explain`.

Nobody records in the ordinary case; then a note costs one look at `Recording.on`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from d2s.errors import Site


@dataclass(frozen=True)
class Carried:
    """A variable that a statement carries: its types before the join, and after it."""

    name: str
    before: tuple[str, ...]
    after: str


@dataclass(frozen=True)
class Note:
    """A statement that ran once while the graph was built."""

    site: Site
    became: str
    why: str
    carried: tuple[Carried, ...] = ()


class Recording(threading.local):
    """The notes of this thread."""

    #: how many threads record, for all threads
    on = 0
    notes: list[Note] | None = None


_recording = Recording()
_lock = threading.Lock()


@contextmanager
def recorded() -> Iterator[list[Note]]:
    """Collect the notes of what is traced inside."""
    before, _recording.notes = _recording.notes, []
    with _lock:
        Recording.on += 1
    try:
        yield _recording.notes
    finally:
        with _lock:
            Recording.on -= 1
        _recording.notes = before


def is_on() -> bool:
    """Whether this thread records."""
    return Recording.on > 0 and _recording.notes is not None


def add(note: Note) -> None:
    if _recording.notes is not None:
        _recording.notes.append(note)


def mark() -> int:
    """How many notes there are; what an attempt adds can be taken back."""
    return len(_recording.notes or ())


def back_to(count: int) -> None:
    """Forget the notes of an attempt that came to nothing."""
    if _recording.notes is not None:
        del _recording.notes[count:]
