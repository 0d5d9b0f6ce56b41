"""Lists, dicts and objects whose sole owner is the variable that a staged block is about to bind.

In ``pair = [a, b]`` followed by ``if x > 0: pair = [b, a]``, the branch joins two lists into a new
one. That is right only if no other name has the first list: its owner could tell the two apart.
References are counted to see that.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from d2s.backends.lax.forms.parts import taken_apart
from d2s.backends.lax.trace.blame import assigned_here


def solely_owned(
    block: Callable[..., Any], state: tuple[Any, ...], skip: int = 0
) -> frozenset[int]:
    """The ids of objects that only those variables have which a block takes and binds anew."""
    code = getattr(block, "__code__", None)
    if code is None or code.co_argcount - skip != len(state):
        return frozenset()
    bound = assigned_here()
    found: set[int] = set()
    for n in range(len(state)):
        name = code.co_varnames[skip + n]
        if (bound is None or name in bound) and _counts(state, n) == _usual()[0]:
            _inside(state[n], found)
    return frozenset(found)


def _counts(state: tuple[Any, ...], n: int) -> int:
    return sys.getrefcount(state[n])


def _inside(value: Any, found: set[int]) -> None:
    held = taken_apart(value)
    if held is None:
        return
    found.add(id(value))
    parts = held.parts
    for n in range(len(parts)):
        if sys.getrefcount(parts[n]) == _usual()[1]:
            _inside(parts[n], found)


@functools.cache
def _usual() -> tuple[int, int]:
    """How often something is referred to when only a variable, or only a list, has it."""
    variable: list[Any] = [[]]
    held = taken_apart(variable)
    assert held is not None, "a list has parts"
    return _counts((variable,), 0), sys.getrefcount(held.parts[0])
