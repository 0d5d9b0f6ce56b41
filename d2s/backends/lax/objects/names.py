"""What the user's code calls a value: its variables are looked through, and what they hold."""

from __future__ import annotations

import sys
import types
from typing import Any

import jax

from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.slots import path_to


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
        if sites.is_user_code(frame.f_code):
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
