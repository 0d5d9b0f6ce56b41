"""NumPy arrays that a graph has seen, and that are changed in place afterwards.

Jax takes an array for a constant when it is first used, and remembers what it has made of it for as
long as that is in use. So the graph keeps a copy of its own, and what jax remembers is brought up
to date.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from jax._src.dtypes import canonicalize_value

from d2s.backends.lax import channels
from d2s.backends.lax.dtypes import is_dynamic
from d2s.backends.lax.holders import user_frames
from d2s.backends.lax.trees import leaves


@contextmanager
def changing(array: np.ndarray[Any, Any]) -> Iterator[None]:
    """A NumPy array is changed inside: what the graph already has of it stays as it was."""
    seen: list[tuple[Any, Any]] = []
    if _constants() and is_dynamic(array):
        seen = [(one, canonicalize_value(one)) for one in (array, *_views(array))]
    _keep([one for pair in seen for one in pair])
    yield
    for one, constant in seen:
        if not np.may_share_memory(one, constant):
            constant[...] = one


def _views(array: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    """Other arrays of the code that is running that have elements of this one."""
    for frame in user_frames():
        for leaf in leaves(list(frame.f_locals.values())):
            is_other = isinstance(leaf, np.ndarray) and leaf is not array
            if is_other and np.may_share_memory(leaf, array):
                yield leaf


def _keep(arrays: list[Any]) -> None:
    """Give the graph copies of its own in place of these arrays."""
    for frame, var, value in _constants() if arrays else ():
        held = getattr(value, "val", value)
        is_array = isinstance(held, np.ndarray)
        if is_array and any(np.may_share_memory(held, one) for one in arrays):
            frame.constvar_to_val[var] = copy.deepcopy(value)
            frame.constid_to_tracer.pop(id(value), None)


def _constants() -> list[tuple[Any, Any, Any]]:
    """The constants of the graphs being built: the graph, the variable, the value."""
    scope = channels.current()
    frames = [getattr(graph, "frame", None) for graph in (scope.graphs if scope else ())]
    return [
        (frame, var, value)
        for frame in frames
        for var, value in list(getattr(frame, "constvar_to_val", {}).items())
    ]
