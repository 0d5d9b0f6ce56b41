"""What code that is not converted prints would show only while the graph is built: refused.

Operators, properties, constructors, generators and functions that a library calls run as they are.
Whoever of them prints, and by whatever means, writes to standard output, which is watched as long
as a graph is being built.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from d2s.errors import Site, StagingError
from d2s.libraries import is_library_file

#: a person who looks at a trace with one of these talks to it by standard output
_DEBUGGERS = frozenset({"pdb", "bdb", "cmd", "code", "ipdb", "pudb", "IPython"})


class _UnseenOutput(threading.local):
    """What this thread is doing."""

    graphs = 0
    refusal: StagingError | None = None


class _Watched:
    """Standard output while some thread builds a graph; to all others it is as it was."""

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
_watching: list[_Watched] = []


def unwatched(stream: Any) -> Any:
    """The stream itself."""
    return stream.stream if isinstance(stream, _Watched) else stream


@contextmanager
def refused() -> Iterator[None]:
    """Refuse what is printed before the graph runs."""
    with _lock:
        now: Any = sys.stdout
        watched = now if isinstance(now, _Watched) else _Watched(now)
        sys.stdout = watched
        _watching.append(watched)
    before, _here.graphs, _here.refusal = _here.refusal, _here.graphs + 1, None
    try:
        yield
    except Exception as error:
        # whoever caught the refusal may have failed with something else
        if _here.refusal is not None and error is not _here.refusal:
            raise _here.refusal from error
        raise
    else:
        if _here.refusal is not None:
            raise _here.refusal
    finally:
        _here.graphs, _here.refusal = _here.graphs - 1, before
        with _lock:
            _watching.remove(watched)
            if watched not in _watching and sys.stdout is watched:
                sys.stdout = watched.stream


def _refuse_unseen() -> None:
    frame = sys._getframe(2)
    if frame.f_globals.get("__name__", "").partition(".")[0] in _DEBUGGERS:
        return
    while frame.f_back is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    name = frame.f_code.co_qualname
    _here.refusal = StagingError(
        f"{name} prints, and d2s does not convert it: it would print only while the graph is built",
        code="D2S023",
        site=Site(frame.f_code.co_filename, frame.f_lineno, name),
        fix="a plain function, which d2s converts, or the print outside of the static function",
    )
    raise _here.refusal
