"""Which line of the user's an error is about."""

from __future__ import annotations

import ast
import dis
import sys
import types
from collections import deque
from typing import Any

import jax
from jax._src import source_info_util

from d2s.backends.lax.objects.slots import path_to
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


def name_of(value: Any) -> str:
    """What the code that is running calls a value, in quotes; empty where nobody knows.

    Only for errors: up to Python 3.12, whoever looks at the variables of a frame holds them.
    """
    looked_at = 0

    def is_near(one: Any) -> bool:
        nonlocal looked_at
        looked_at += 1
        return one is value or (looked_at < _NEAR and not isinstance(one, _APART))

    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_code(frame.f_code):
            known = frame.f_globals
            roots = [(n, known[n]) for n in frame.f_code.co_names if n in known]
            if frame.f_locals is not known:
                roots = [*frame.f_locals.items(), *roots]
            try:
                found = path_to(value, roots, is_near)
            except Exception:  # an object of the user's does not let itself be looked at
                return ""
            if found:
                return f"`{found.removesuffix('.')}`"
        frame = frame.f_back
    return ""


#: so many values are looked at for the name of one
_NEAR = 2000
#: these lead to nothing, or to too much
_APART = (types.ModuleType, types.FunctionType, jax.core.Tracer, jax.Array)


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
_METHODS = frozenset(name for kind in (list, dict, set, deque) for name in dir(kind))


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
    for frame in source_info_util.user_frames(traceback):
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
