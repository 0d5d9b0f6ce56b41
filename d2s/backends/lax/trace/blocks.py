"""Which block of the user's code a function of d2s runs.

What a region is given to run is often a function of d2s's own, around a block of the user's; an
error about the region shows the lines of the block.
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from d2s.backends.lax.graph import sites

_Function = TypeVar("_Function", bound=Callable[..., Any])

#: functions of d2s that run a block of the user's, with the block or another such function
_runs: weakref.WeakKeyDictionary[types.FunctionType, Any] = weakref.WeakKeyDictionary()


def runs(block: Any) -> Callable[[_Function], _Function]:
    """Marks a function of d2s that runs a block of the user's: messages show the lines of that."""

    def mark(function: _Function) -> _Function:
        assert isinstance(function, types.FunctionType), "d2s marks what it defines"
        _runs[function] = block
        return function

    return mark


def user_block(function: Any) -> Any:
    """The block of the user's that a function of d2s runs, or itself; None for other functions."""
    while isinstance(function, types.FunctionType):
        if sites.is_user_code(function.__code__):
            return function
        function = _runs.get(function)
    return None
