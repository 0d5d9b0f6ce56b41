"""When something has no end: told by the work it does, not by the clock of a busy machine."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from d2s.report.verification import TooLong

#: seconds: processes and threads that have not ended after so long never will, on any machine
HANG = 900


@contextlib.contextmanager
def limit(seconds: float) -> Iterator[None]:
    """`TooLong` after so many seconds of processor time."""

    def stop(*_: object) -> None:
        raise TooLong

    before = signal.signal(signal.SIGPROF, stop)
    # again and again: raised in a callback of the garbage collector's, it would be lost
    signal.setitimer(signal.ITIMER_PROF, seconds, 1.0)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
