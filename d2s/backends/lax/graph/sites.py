"""Sites: the lines of the user's code that errors, failures and changes are about.

A site is found from outside in: of the frames that run, or of those in a traceback, the innermost
one whose file is no library's. For

    def scale(x):                    # the user's, line 1
        return jnp.reshape(x, 3)     # the user's, line 2; JAX raises somewhere below

`where(error)` is line 2 of the user's file, whatever JAX called after it.
"""

from __future__ import annotations

import ast
import dis
import sys
import types
from typing import Any

from d2s.backends.lax.forms.kinds.table import CONTAINERS
from d2s.backends.lax.private import user_frames
from d2s.conversion import is_made_code
from d2s.errors import UNKNOWN, Site, site_of
from d2s.libraries import is_library_file

#: the module that runs the commands of d2s; this room may not import it
_COMMANDS = "d2s.cli"
_RAISE = dis.opmap["RAISE_VARARGS"]


def where(error: BaseException | None = None) -> Site:
    """The user's line that an exception came from; without one, the line that is running now."""
    return place(error)[0]


def here() -> Site | None:
    """The line that is running; None where code has no file, as at the command line."""
    found = where()
    return None if found.filename.startswith("<") else found


def place(error: BaseException | None = None) -> tuple[Site, types.CodeType | None]:
    """The user's line as `where` gives it, and the code that the line belongs to."""
    found: tuple[types.CodeType, int, int] | None = None
    traceback = error.__traceback__ if error is not None else None
    while traceback is not None:
        if is_user_code(traceback.tb_frame.f_code):
            found = traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_lasti
        traceback = traceback.tb_next
    if found is None:
        frame: types.FrameType | None = sys._getframe(1)
        commands = getattr(sys.modules.get(_COMMANDS), "__dict__", None)
        while frame is not None and not is_user_code(frame.f_code):
            # The script that started a command of d2s lies in no library, but is no user's code.
            frame = None if frame.f_globals is commands else frame.f_back
        if frame is None:
            return Site(UNKNOWN, 1, UNKNOWN), None
        found = frame.f_code, frame.f_lineno, frame.f_lasti
    return site_of(*found), found[0]


def target(site: Site | None) -> str:
    """What the marked code writes, or calls a method of, in quotes: `x` of ``x[i] = v``."""
    begin, end = site.characters() if site is not None else (0, 0)
    if site is None or not end:
        return ""
    try:
        (statement,) = ast.parse(site.text[begin:end]).body
    except (SyntaxError, ValueError):
        return ""
    found = statement.value if isinstance(statement, ast.Expr) else statement
    if isinstance(found, ast.Assign):
        found = found.targets[0]
    elif isinstance(found, ast.AugAssign | ast.AnnAssign):
        found = found.target
    elif isinstance(found, ast.Call) and isinstance(found.func, ast.Attribute):
        # `heapq.heappush(h, x)` changes no `heapq`
        return f"`{ast.unparse(found.func.value)}`" if found.func.attr in _METHODS else ""
    if isinstance(found, ast.Subscript):
        found = found.value
    return f"`{ast.unparse(found)}`" if isinstance(found, _NAMED) else ""


_NAMED = (ast.Name, ast.Attribute, ast.Subscript)
_METHODS = frozenset(name for kind in CONTAINERS for name in dir(kind))


def path() -> tuple[tuple[types.CodeType, int], ...]:
    """The user's lines that are running, each with its code, the innermost first."""
    found = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code):
            found.append((frame.f_code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def of_traceback(traceback: Any) -> Site | None:
    """The user's line in the traceback that JAX keeps with an equation."""
    for frame in user_frames(traceback):
        if not is_library_file(frame.file_name):
            name = frame.function_name.rpartition(".<locals>.")[2]
            end = frame.end_column if frame.end_line == frame.start_line else 0
            return Site(frame.file_name, frame.start_line, name, frame.start_column, end)
    return None


def is_raise(error: BaseException) -> bool:
    """Whether a `raise` statement in the user's code raised an exception, and not Python itself."""
    code = innermost(error)
    return code is not None and is_user_code(code) and is_explicit(error)


def is_explicit(error: BaseException) -> bool:
    """Whether a `raise` statement, whoever wrote it, raised an exception, and not Python itself.

    A traceback knows the instruction that raised, and `raise` and `assert` have one of their own.
    """
    traceback = _last(error)
    if traceback is None or traceback.tb_lasti < 0:
        return False
    return traceback.tb_frame.f_code.co_code[traceback.tb_lasti] == _RAISE


def innermost(error: BaseException) -> types.CodeType | None:
    """The Python code that raised an exception, or that called the C code which did."""
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
    """Whether code lies in no library: it may be the user's own, or converted from that."""
    return not is_library_file(code.co_filename)


def is_written_code(code: types.CodeType) -> bool:
    """Whether a user has written code, and no library has made it of a text.

    Python gives code that `exec` gets as a text the file name "<string>", and no other mark.
    """
    return is_user_code(code) and code.co_filename != "<string>"
