"""What the host does with prints: a call has a ticket, a ticket has a log, lanes come in order.

A graph under `jax.vmap` runs line by line for all lanes; a person expects lane by lane:

    arrives:   "a" of lanes 0, 1      "b" of lanes 0, 1
    written:   a0 b0                  a1 b1
"""

from __future__ import annotations

import itertools
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from d2s.backends.lax.failures import texts


@dataclass(frozen=True)
class LogEntry:
    """One arrival of a print: for all lanes at once, whether its line was reached, and its values.

    `lanes` are the sizes of the vmaps, the outermost first; `reached` and the values have an axis
    for each of them.
    """

    record: PrintRecord
    lanes: tuple[int, ...]
    reached: Any
    values: tuple[Any, ...]

    @property
    def depth(self) -> int:
        return len(self.lanes)

    def group(self, depth: int) -> Any:
        """The number of the vmap that the lanes at a depth belong to; None if outside."""
        own = depth - (len(self.lanes) - len(self.record.groups))
        return self.record.groups[own] if own >= 0 else None


class Log:
    """What a call has printed, as far as it is not written yet.

    An entry is written at once where that is safe: it has no lanes, which must come one after the
    other, no earlier entry waits, and the call cannot be computed again by another graph.
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
            except BaseException as error:
                # JAX's thread runs this; the thread of the call raises it in `close`.
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
        #: for each value that the text quotes: whether it is a Python number, and whether its type
        #: is weak
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
    """Write what one lane has printed; the lanes of a vmap inside of it one after the other.

    `lane` has the position in each vmap so far. Entries with more lanes than that come in runs: all
    that belong to one vmap, or to the vmaps of one number, are written lane by lane.
    """
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
    """Makes the ticket for a call inside of somebody else's graph, each time that graph runs."""

    results = 1

    def __call__(self, lanes: tuple[int, ...], seed: Any) -> Any:
        ticket = next(tickets)
        logs[ticket] = Log()
        return (np.int32(ticket),)


class _Close:
    """Writes the log of a call inside of somebody else's graph, which is over."""

    results = 0

    def __call__(self, lanes: tuple[int, ...], ticket: Any) -> Any:
        logs.pop(int(ticket)).close()
        return ()


OPEN, CLOSE = _OpenTicket(), _Close()
