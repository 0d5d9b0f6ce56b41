"""How static functions run: as compiled graphs, or eagerly, so that a debugger sees values."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from d2s.errors import boundary, wrong_option
from d2s.options.fast_path import mark_unusual

_KNOWN = ("static", "eager")


class Modes:
    """Whether calls have to ask for the mode: a number that is zero in the ordinary case."""

    #: the mode of the whole process; a wrong one is told when it is first asked for
    process = os.environ.get("D2S_MODE") or "static"
    #: how many settings, of the process or of a block, may ask for another mode than "static"
    special = int(process != "static")
    lock = threading.Lock()

    @classmethod
    def change(cls, by: int) -> None:
        with cls.lock:
            cls.special += by
            mark_unusual(by)


mark_unusual(Modes.special)

_block: ContextVar[str | None] = ContextVar("d2s_mode", default=None)


@boundary
def set_mode(name: str) -> None:
    """Run all static functions of this process like that: ``"static"`` or ``"eager"``.

    Eagerly, a static function is its converted code without a graph around it: breakpoints, `pdb`
    and `print` see real values. The environment variable ``D2S_MODE`` sets the mode at the start.
    """
    name = _checked(name, "set_mode")
    Modes.change((name != "static") - (Modes.process != "static"))
    Modes.process = name


@contextmanager
def mode(name: str) -> Iterator[None]:
    """The same for a block of code, in this thread or task alone."""
    token = _block.set(_checked(name, "mode"))
    Modes.change(1)
    try:
        yield
    finally:
        Modes.change(-1)
        _block.reset(token)


def is_eager() -> bool:
    """Whether static functions that are called here run eagerly."""
    return (_block.get() or _checked(Modes.process, "the environment variable D2S_MODE")) == "eager"


def _checked(name: str, where: str) -> str:
    if name not in _KNOWN:
        known = " or ".join(f'"{known}"' for known in _KNOWN)
        raise wrong_option(f"{where}: there is no mode {name!r}", known)
    return name
