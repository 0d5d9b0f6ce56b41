"""Refuses prints of code that is not converted: they would show only while the graph is built.

Operators, properties, constructors, generators and functions that a library calls run as they are.
Whoever of them prints, and by whatever means, writes to standard output. So a stream that refuses
stands in for standard output as long as a graph is being built:

    class Point:
        def __add__(self, other):
            print("adding")         # an operator, not converted: refused with this line
"""

from __future__ import annotations

import bdb
import cmd
import code
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from d2s.errors import Site, StagingError
from d2s.libraries import is_library_file

#: what debuggers and consoles derive from: a person who looks at a trace talks to one of them by
#: standard output
_DEBUGGERS = (bdb.Bdb, cmd.Cmd, code.InteractiveInterpreter)


class _UnseenOutput(threading.local):
    #: how many graphs this thread is building
    graphs = 0
    #: the error that was raised for a print since the innermost of them was begun
    refusal: StagingError | None = None


class _RefusingStream:
    """Stands in for standard output while some thread builds a graph; other threads may write."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def write(self, text: str) -> Any:
        if _here.graphs:
            _refuse_unseen()
        return self.stream.write(text)

    def writelines(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


_here = _UnseenOutput()
_lock = threading.Lock()
_standing_in: list[_RefusingStream] = []


def stood_in_for(stream: Any) -> Any:
    """The stream itself, where another one stands in for it."""
    return stream.stream if isinstance(stream, _RefusingStream) else stream


@contextmanager
def refused() -> Iterator[None]:
    """Around the building of a graph: refuse what is printed before the graph runs."""
    with _lock:
        now: Any = sys.stdout
        stream = now if isinstance(now, _RefusingStream) else _RefusingStream(now)
        sys.stdout = stream
        _standing_in.append(stream)
    before, _here.graphs, _here.refusal = _here.refusal, _here.graphs + 1, None
    try:
        yield
    except Exception as error:
        # Code that caught the refusal may have failed with something else because of it.
        if _here.refusal is not None and error is not _here.refusal:
            raise _here.refusal from error
        raise
    else:
        if _here.refusal is not None:
            raise _here.refusal
    finally:
        _here.graphs, _here.refusal = _here.graphs - 1, before
        with _lock:
            _standing_in.remove(stream)
            if stream not in _standing_in and sys.stdout is stream:
                sys.stdout = stream.stream


def _refuse_unseen() -> None:
    """Refuse the write that is going on, at the line of the user's that it comes from."""
    frame = sys._getframe(2)
    while frame.f_back is not None and is_library_file(frame.f_code.co_filename):
        if _is_of_debugger(frame):
            return
        frame = frame.f_back
    name = frame.f_code.co_qualname
    _here.refusal = StagingError(
        f"{name} prints, and d2s does not convert it: it would print only while the graph is built",
        code="D2S023",
        site=Site(frame.f_code.co_filename, frame.f_lineno, name),
        fix="a plain function, which d2s converts, or the print outside of the static function",
    )
    raise _here.refusal


def _is_of_debugger(frame: types.FrameType) -> bool:
    """Whether a frame runs a method of a debugger or of a console.

    The object that a method belongs to is its first argument. IPython's console is none of Python's
    classes, but it is what shows the values of expressions (`sys.displayhook`).
    """
    if not frame.f_code.co_argcount:
        return False
    first = frame.f_locals.get(frame.f_code.co_varnames[0])
    return isinstance(first, _DEBUGGERS) or first is sys.displayhook
