"""Engines that run converted code. Only the jax engine, `d2s.backends.lax`, imports jax."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from importlib import import_module

from d2s.errors import wrong_option
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
