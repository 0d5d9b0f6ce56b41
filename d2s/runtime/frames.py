"""What shows frames shows the user's: a block is part of its function, and d2s is not there.

Converted code has more frames than the user wrote. In ::

    def f(x):
        if x > 0:
            warnings.warn("positive")

the call of `warn` stands in a block, a function of d2s's making that ``d2s.cond`` calls, and that
is called by `f`. Whoever counts frames (`warnings.warn` with its `stacklevel`, `sys._getframe`) or
prints them (a traceback) is to find the frame of the block in the place of that of `f`, and nothing
in between. Conversion knows which code is a block, and of which function.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

from d2s.conversion import function_around, is_statement_block
from d2s.errors import HOME


def _is_shown(frame: types.FrameType) -> bool:
    # converted code has the file name of the user's code that it was made from
    return not frame.f_code.co_filename.startswith(HOME)


def _users(frame: types.FrameType | None) -> Iterator[tuple[int, types.FrameType]]:
    """The frames of the user's functions, innermost first, and how far they are from `frame`.

    Of a block and the frames around it that belong to the same call, the innermost one is given:
    that is the line where the function is.
    """
    distance, inner = 0, None
    while frame is not None:
        code = frame.f_code
        if _is_shown(frame):
            if inner is None or function_around(code) is not inner:
                yield distance, frame
            inner = function_around(code) if is_statement_block(code) else None
        frame, distance = frame.f_back, distance + 1


def _warn(
    message: Any, category: Any = None, stacklevel: int = 1, source: Any = None, **others: Any
) -> None:
    level = stacklevel
    for count, (distance, _) in enumerate(_users(sys._getframe(1)), 1):
        level = distance + 1
        if count >= stacklevel:
            break
    else:
        level += stacklevel
    warnings.warn(message, category, level + 1, source, **others)


def _getframe(depth: int = 0, /) -> types.FrameType:
    for count, (_, frame) in enumerate(_users(sys._getframe(1))):
        if count >= depth:
            return frame
    raise ValueError("call stack is not deep enough")


#: builtins that count frames from where they are called, by identity, and what counts the user's
_COUNTING = {id(warnings.warn): _warn, id(sys._getframe): _getframe}


def counting_users_frames(function: Any) -> Any:
    """A builtin as it is, or, if it counts frames, one that counts the user's."""
    return _COUNTING.get(id(function), function)


def made_by_user(result: Any) -> Any:
    """A class that a library has made for its caller, which is the user's module and not d2s."""
    if isinstance(result, type) and result.__module__.partition(".")[0] == "d2s":
        module = sys.modules.get(result.__module__)
        if getattr(module, result.__name__, None) is not result:
            for _, frame in _users(sys._getframe(1)):
                result.__module__ = frame.f_globals.get("__name__", "__main__")
                break
    return result


def without_blocks(traceback: types.TracebackType | None) -> types.TracebackType | None:
    """A traceback with one entry for each function of the user's."""
    entries: list[types.TracebackType] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if _is_shown(traceback.tb_frame):
            if entries and is_statement_block(code):
                outer = entries[-1].tb_frame.f_code
                if function_around(outer) is function_around(code):
                    entries.pop()
            entries.append(traceback)
        traceback = traceback.tb_next
    kept: types.TracebackType | None = None
    for entry in reversed(entries):
        if entry.tb_next is kept:
            kept = entry  # nothing was taken out below it
        else:
            kept = types.TracebackType(kept, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
    return kept
