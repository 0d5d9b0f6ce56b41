"""Names for what d2s generates: readable, tied to a source line, never one of the user's."""

from __future__ import annotations

import re
from itertools import chain, count
from string import ascii_lowercase

_BLOCK = re.compile(
    r"(?:then|else|test|body|try|except|finally|case|message|operand|and|or)_\d+(?:[a-z]|_\d+)?"
)


def is_block_name(name: str) -> bool:
    """Whether a function of this name is a block, in text that d2s wrote."""
    return _BLOCK.fullmatch(name) is not None


class Names:
    """Hands out fresh names; ``then_4`` is what line 4 of the function became."""

    def __init__(self, taken: set[str], first_line: int) -> None:
        self._taken = set(taken) | {"d2s"}
        self._first_line = first_line
        #: every name handed out
        self.made: set[str] = set()

    def fresh(self, *stems: str, line: int | None = None) -> tuple[str, ...]:
        """One name per stem, all with the same ending, so that pairs are seen as such."""
        tail = "" if line is None else f"_{line - self._first_line + 1}"
        endings = chain(("", *ascii_lowercase), (f"_{n}" for n in count(2)))
        names = next(
            names
            for more in endings
            if self._taken.isdisjoint(names := tuple(f"{stem}{tail}{more}" for stem in stems))
        )
        self._taken.update(names)
        self.made.update(names)
        return names
