"""Which code of d2s's compares values, or looks them up in a table, on behalf of the program.

`n == 4` of the program may reach a value through d2s: `d2s.compare(0, "<", n, "==", lambda: 4)` and
`n in {4, 5}` do. A value that has no certain answer must raise an error then, as it would had the
program's own line asked. Where d2s compares for its own purposes, for example to find a graph that
was built before, "not known to be equal" is an answer, and no error.

The value sees only the frame that asks. So the functions of the first kind are marked once, where
they are defined, and the code of a frame tells whether it is one of theirs.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import TypeVar

_F = TypeVar("_F", bound=Callable[..., object])

#: the code of the marked functions, by identity: code that is merely equal is not marked
_codes: dict[int, types.CodeType] = {}


def asks_for_program(function: _F) -> _F:
    """Mark a function, and the functions in it, as one that asks on behalf of the program."""
    _mark(function.__code__)
    return function


def _mark(code: types.CodeType) -> None:
    _codes[id(code)] = code
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            _mark(inner)


def is_for_program(frame: types.FrameType) -> bool:
    """Whether this frame belongs to a function that was marked."""
    return id(frame.f_code) in _codes
