"""The shortcut of an entry: calls like an earlier one, without the walk that finds their key.

There are two of them (`reader.py` writes both as straight Python code):

    read      from arguments to the leaves of the graph and the objects they are in, or None
    runner    read, the guards and the run of the graph in one function, or `MISS`

The runner of the entry that was called last is kept in the static function itself, which tries it
before anything else. Every thread may call the function at any time, so a runner that was made of
what does not hold any more must not come back: `drop` counts, and `take_over` looks at the count.
"""

from __future__ import annotations

from typing import Any

from d2s.backends.lax.boundary.reader import Found, Read, missed, reader, runner, unreadable


class Shortcut:
    """Finds the leaves of calls with the key of an entry, and runs its graph at once if it may."""

    def __init__(self, entry: Any) -> None:
        self._entry = entry
        #: finds the leaves of arguments that have this key; made when it is first asked for
        self._read: Read | None = None
        self._runner: Any = None
        #: a call is one run of the plain graph, if only the guards hold
        self.is_allowed = False
        #: how often what a call has to do has changed
        self._version = 0

    def is_readable(self) -> bool:
        """Whether the leaves of such arguments are found without the walk."""
        if self._read is None:
            self._read = reader(self._entry.key, self._entry.places) or unreadable
        return self._read is not unreadable

    def read(self, args: tuple[Any, ...]) -> Found | None:
        """The leaves of these arguments and their owners; None where they have another key."""
        return None if self._read is None else self._read(args)

    def take_over(self) -> None:
        """Let calls like the last one go straight to the graph, if that is all they have to do."""
        version, entry = self._version, self._entry
        if self._runner is None:
            made = None
            if self.is_allowed:
                made = runner(entry.key, entry.places, entry.guards, entry.plain.run)
            if made is not None:
                made.entry = entry
            self._runner = made or missed
        entry.owner.runner = self._runner
        if self._version != version:  # another thread has found something out meanwhile
            self.drop()

    def drop(self) -> None:
        """A runner that was made before does not hold any more."""
        self._version += 1  # first, for other threads: see `take_over`
        self._runner, self._entry.owner.runner = None, missed
