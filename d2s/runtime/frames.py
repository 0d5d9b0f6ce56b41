"""What shows frames shows the user's: blocks are part of their function, d2s is not there."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

from d2s.conversion import is_block
from d2s.errors import HOME

#: builtins that count frames from where they are called
READERS = {"warn", "_getframe"}


def reader(function: Any) -> Any:
    """A builtin that counts frames, told to count the user's."""
    return {id(warnings.warn): _warn, id(sys._getframe): _getframe}.get(id(function), function)


def _is_shown(frame: types.FrameType) -> bool:
    return not frame.f_code.co_filename.startswith(HOME)


def _users(frame: types.FrameType | None) -> Iterator[tuple[int, types.FrameType]]:
    """The frames of the user's functions, innermost first, and how far they are from `frame`."""
    distance, inner = 0, ""
    while frame is not None:
        code = frame.f_code
        if _is_shown(frame):
            # of a block and its function, the inner one is where the function is
            if code.co_qualname != inner:
                yield distance, frame
            inner = code.co_qualname if is_block(code) and code.co_name != "<lambda>" else ""
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
            outer = entries[-1].tb_frame.f_code if entries else None
            inside = is_block(code) and code.co_name != "<lambda>"
            if inside and outer is not None and outer.co_qualname == code.co_qualname:
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
