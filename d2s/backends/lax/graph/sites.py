"""Which line of the user's an error is about."""

from __future__ import annotations

import dis
import sys
import types
from typing import Any

from d2s.backends.lax.private import user_frames
from d2s.conversion import is_made_code
from d2s.errors import UNKNOWN, Site, site_of
from d2s.libraries import is_library_file

#: the module that runs the commands of d2s
COMMANDS = "d2s.cli"


def where(error: BaseException | None = None) -> Site:
    """The user's line an exception came from, or the one that is running now."""
    return place(error)[0]


def here() -> Site | None:
    """The line that is running; None at the command line, which has none."""
    found = where()
    return None if found.filename.startswith("<") else found


def place(error: BaseException | None = None) -> tuple[Site, types.CodeType | None]:
    """The same, and the code that the line belongs to."""
    found: tuple[types.CodeType, int, int] | None = None
    traceback = error.__traceback__ if error is not None else None
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            found = traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next
    if found is None:
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and not is_user_code(frame.f_code):
            # whoever started the command line is no user's code
            frame = None if frame.f_globals.get("__name__") == COMMANDS else frame.f_back
        if frame is None:
            return Site(UNKNOWN, 1, UNKNOWN), None
        found = frame.f_code, frame.f_lineno, frame.f_lasti
    return site_of(*found), found[0]


def path() -> tuple[tuple[types.CodeType, int], ...]:
    """The lines of the user's that are running, from the innermost on."""
    found = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code):
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def of_traceback(traceback: Any) -> Site | None:
    """The user's line in what jax remembers of how an equation was made."""
    for frame in user_frames(traceback):
        if not is_library_file(frame.file_name):
            name = frame.function_name.rpartition(".<locals>.")[2]
            end = frame.end_column if frame.end_line == frame.start_line else 0
            return Site(frame.file_name, frame.start_line, name, frame.start_column, end)
    return None


def is_raise(error: BaseException) -> bool:
    """Whether a `raise` of the user's has raised an exception, and not Python by itself."""
    code = innermost(error)
    return code is not None and is_user_code(code) and is_explicit(error)


def is_explicit(error: BaseException) -> bool:
    """Whether a `raise`, whoever wrote it, has raised an exception, and not Python by itself."""
    traceback = _last(error)
    if traceback is None:
        return False
    code, place = traceback.tb_frame.f_code, traceback.tb_lasti
    return any(
        i.opname == "RAISE_VARARGS" and i.offset == place for i in dis.get_instructions(code)
    )


def innermost(error: BaseException) -> types.CodeType | None:
    """The code that an exception comes from, or that has called what is no Python code."""
    traceback = _last(error)
    return None if traceback is None else traceback.tb_frame.f_code


def _last(error: BaseException) -> types.TracebackType | None:
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    return traceback


def in_user_code() -> bool:
    """Whether converted code of the user's is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not is_made_code(frame.f_code):
        frame = frame.f_back
    return frame is not None


def is_user_code(code: types.CodeType) -> bool:
    return not is_library_file(code.co_filename)


def is_written_code(code: types.CodeType) -> bool:
    """Whether a user has written code, and no library has made it of a text."""
    return is_user_code(code) and code.co_filename != "<string>"
