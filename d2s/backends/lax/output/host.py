"""What the host does with it: calls have tickets, a ticket has a log, lanes come in order."""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.backends.lax.failures import texts


@dataclass(frozen=True)
class LogEntry:
    record: PrintRecord
    lanes: tuple[int, ...]
    reached: Any
    values: tuple[Any, ...]

    @property
    def depth(self) -> int:
        return len(self.lanes)

    def group(self, depth: int) -> Any:
        """Which vmap inside the function the lanes at a depth belong to; None for one around."""
        own = depth - (len(self.lanes) - len(self.record.groups))
        return self.record.groups[own] if own >= 0 else None


class Log:
    """What a call has printed and not written yet.

    It is written at once where that is safe: not in lanes, which come one after the other, and not
    by a call that may be computed again.
    """

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner
        self.entries: list[LogEntry] = []
        self.error: BaseException | None = None

    def add(self, entry: LogEntry) -> None:
        if entry.lanes or self.entries or not (self.owner is None or self.owner.is_final):
            self.entries.append(entry)
        elif self.error is None:
            try:
                _write([entry])
            except BaseException as error:  # the thread is not that of the call
                self.error = error

    def close(self) -> None:
        """Write the rest."""
        if self.error is not None:
            raise self.error
        _write(self.entries)


logs: dict[int, Log] = {}
tickets = itertools.count(1)


class PrintRecord:
    """One `print` of the program; `text` is None for a mark that ends a group of lanes."""

    results = 0

    def __init__(
        self,
        text: Any,
        looks: list[tuple[bool, bool]],
        groups: tuple[int, ...],
        file: Any,
        flush: bool,
    ) -> None:
        #: of each value that the text quotes, whether it is a Python number, or of a weak type
        self.looks = looks
        self.text, self.groups = text, groups
        self.file, self.flush = file, flush

    def __call__(self, lanes: tuple[int, ...], ticket: Any, reached: Any, *values: Any) -> Any:
        log = logs.get(int(ticket))
        if log is not None:
            log.add(LogEntry(self, lanes, reached, values))
        return ()

    def write(self, values: list[Any]) -> None:
        if self.text is None:
            return
        known = [texts.shown(v, *look) for v, look in zip(values, self.looks, strict=True)]
        text = texts.filled(self.text, known)
        file = getattr(sys, self.file) if isinstance(self.file, str) else self.file
        print(text, end="", file=file, flush=self.flush)


def _write(log: list[LogEntry], lane: tuple[int, ...] = ()) -> None:
    """What one lane has printed; the lanes of a vmap inside it one after the other."""
    depth, rest = len(lane), log
    while rest:
        first = rest[0]
        if first.depth == depth:
            if first.reached[lane]:
                first.record.write([value[lane] for value in first.values])
            rest = rest[1:]
            continue
        group = first.lanes[depth], first.group(depth)
        together = itertools.takewhile(
            lambda e: e.depth > depth and (e.lanes[depth], e.group(depth)) == group,  # noqa: B023
            rest,
        )
        inner = list(together)
        for n in range(first.lanes[depth]):
            _write(inner, (*lane, n))
        rest = rest[len(inner) :]


class _OpenTicket:
    """A ticket for a call inside somebody else's graph."""

    results = 1

    def __call__(self, lanes: tuple[int, ...], seed: Any) -> Any:
        ticket = next(tickets)
        logs[ticket] = Log()
        return (np.int32(ticket),)


class _Close:
    """The call inside somebody else's graph is over."""

    results = 0

    def __call__(self, lanes: tuple[int, ...], ticket: Any) -> Any:
        logs.pop(int(ticket)).close()
        return ()


OPEN, CLOSE = _OpenTicket(), _Close()
