"""What named dimensions answer to comparisons while a function is saved.

A function is saved for `f32[b, 3]`, and its `x.shape[0]` is then JAX's symbol for `b`. JAX answers
`b == 5` with False where it does not know, because it looks for sizes in tables of its own, and
takes every size for true. A graph that the program builds by such an answer would be wrong for
some sizes. So the program gets what is certain for all sizes, or an error:

    x.shape[0] == 0     False: a named dimension is at least 1
    x.shape[0] == 5     InconclusiveDimensionOperation, which `symbols.explained` puts in our words

`patches` puts the methods of `replacements` into JAX's class once and for all. They answer as
JAX's own do, unless this thread is inside of `decided()`: other threads, and whoever else uses
symbolic dimensions, notice nothing.
"""

from __future__ import annotations

import operator
import os
import sys
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any

import numpy as np
from jax.errors import InconclusiveDimensionOperation

from d2s.backends.lax.forms.dtypes import is_symbolic, own_text
from d2s.backends.lax.private import SymbolicDimension
from d2s.backends.lax.trace.questions import is_of_jax
from d2s.libraries import is_library_file, is_of_d2s
from d2s.runtime.on_behalf import is_for_program

#: JAX's own methods
_EQUAL = SymbolicDimension.__eq__
_UNEQUAL = SymbolicDimension.__ne__
_HASH = SymbolicDimension.__hash__

#: whether a program is being traced for a file, in this thread
_is_saving: ContextVar[bool] = ContextVar("d2s_is_saving", default=False)


@contextmanager
def decided() -> Iterator[None]:
    """A program that compares sizes in here, or asks for their truth, gets what is certain."""
    before = _is_saving.set(True)
    try:
        yield
    finally:
        _is_saving.reset(before)


def replacements() -> dict[str, Callable[..., Any]]:
    """The methods that `patches` gives to the class of named dimensions."""
    return {"__eq__": _equal, "__ne__": _unequal, "__bool__": _truth, "__hash__": _hash}


def _equal(one: Any, other: Any) -> Any:
    if _is_saving.get() and _is_by_program(sys._getframe(1)):
        return _is_equal(one, other)
    return _EQUAL(one, other)


def _unequal(one: Any, other: Any) -> Any:
    if not _is_saving.get():
        return _UNEQUAL(one, other)
    return not (_is_equal if _is_by_program(sys._getframe(1)) else _EQUAL)(one, other)


def _truth(one: Any) -> bool:
    """JAX has no such method: an object without one is true."""
    if not _is_saving.get() or is_of_jax(_file_of(sys._getframe(1))):
        return True
    return not _is_equal(one, 0)


def _hash(one: Any) -> int:
    if not _is_saving.get() or _may_look_up(sys._getframe(1)):
        return int(_HASH(one))
    raise InconclusiveDimensionOperation(
        f"Symbolic dimension '{own_text(one)}' is looked up in a set or dict"
    )


def _is_equal(one: Any, other: Any) -> bool:
    """Whether two sizes are equal, if that is certain."""
    if _EQUAL(one, other):
        return True
    if not (is_symbolic(other) or isinstance(other, int | np.integer)):
        return False
    for differs in (operator.gt, operator.lt):
        with suppress(InconclusiveDimensionOperation):
            if differs(one, other):
                return False
    raise InconclusiveDimensionOperation(
        f"Symbolic dimension comparison '{own_text(one)}' == '{own_text(other)}' is inconclusive."
    )


def _is_by_program(frame: types.FrameType) -> bool:
    """Whether the program compares, or d2s does it for the program.

    JAX and d2s compare for themselves as well: to them "not known to be equal" is an answer.
    """
    file = _file_of(frame)
    return is_for_program(frame) or not (is_of_jax(file) or is_of_d2s(file))


def _may_look_up(frame: types.FrameType) -> bool:
    """Whether a library asks its own table, which keeps what was made for this very size."""
    return is_library_file(frame.f_code.co_filename) and not is_for_program(frame)


def _file_of(frame: types.FrameType) -> str:
    """The file of the module that runs: the methods of a dataclass are in no file themselves.

    For what was typed into an interpreter it is the root of the disk, which is in no package.
    """
    file = frame.f_globals.get("__file__")
    return file if isinstance(file, str) else os.sep
