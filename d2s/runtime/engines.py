"""Which engine runs converted code, and whether one of them is building a graph.

Engines are imported when they are first asked for: only the jax engine, `d2s.backends.lax`, imports
jax, and converted code on the plain Python engine does without it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module

from d2s.errors import wrong_option
from d2s.options.fast_path import mark_unusual
from d2s.runtime.protocol import Backend as Backend

_MODULES = {"python": "d2s.backends.python", "jax": "d2s.backends.lax.backend"}


@cache
def backend(name: str) -> Backend:
    """The backend of that name, imported when first asked for."""
    if name not in _MODULES:
        known = ", ".join(sorted(_MODULES))
        raise wrong_option(f"there is no backend {name!r}", f"one of {known}")
    found: Backend = import_module(_MODULES[name]).BACKEND
    return found


_active: ContextVar[Backend | None] = ContextVar("d2s_backend", default=None)


def active() -> Backend:
    """The backend that ops ask when a value is not plain Python."""
    return _active.get() or backend("jax")


@contextmanager
def use_backend(name: str) -> Iterator[None]:
    """Run converted code on another backend inside the block; ``"python"`` is the reference."""
    with running_on(backend(name)):
        yield


@contextmanager
def running_on(chosen: Backend) -> Iterator[None]:
    """The same for a backend that has no name of its own."""
    token = _active.set(chosen)
    try:
        yield
    finally:
        _active.reset(token)


class RegionsInProgress:
    """How many regions of graphs are being traced now, in all threads; 0 most of the time.

    While it is 0, a function that is called can run at once: no engine wants to know of the call.
    """

    count = 0
    lock = threading.Lock()

    @classmethod
    def change(cls, by: int) -> None:
        with cls.lock:
            cls.count += by
            mark_unusual(by)
