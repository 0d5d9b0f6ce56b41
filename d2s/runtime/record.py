"""What became of each control-flow statement, noted while a graph is built for `explain`.

In the ordinary case nobody records, and the ops look at `Recording.on` and go on. While `explain`
records, each op adds a `Note`: the line, what the statement became there, and why.
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
    #: trips of unrolled loops in the graph that is built, whoever records; None when none is
    trips: int | None = None


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


@contextmanager
def counted(fresh: bool = False) -> Iterator[None]:
    """Count the trips of unrolled loops inside; a graph of its own begins a count of its own."""
    before = _recording.trips
    if fresh or before is None:
        _recording.trips = 0
    try:
        yield
    finally:
        if fresh or before is None:
            _recording.trips = before


def trip() -> int:
    """One more trip; how many there are, 0 where nobody counts."""
    if _recording.trips is None:
        return 0
    _recording.trips += 1
    return _recording.trips


Mark = tuple[int, int | None]


def mark() -> Mark:
    """How many notes and trips there are; what an attempt adds can be taken back."""
    return len(_recording.notes or ()), _recording.trips


def back_to(start: Mark) -> None:
    """Forget the notes and trips of an attempt that came to nothing."""
    count, _recording.trips = start
    if _recording.notes is not None:
        del _recording.notes[count:]
