"""The graph that a thread is building: all that code must find without being told of it.

The user's code runs between one op of d2s and the next, so ops cannot hand each other what they
know of the graph around them. They find it here: one object, with fields of its own in each
thread. Who reads or changes a field does so through the functions in `scopes`.
"""

from __future__ import annotations

import threading
from typing import Any

from d2s.errors import Site


class Construction(threading.local):
    """The graph that this thread is building; without scopes, it builds none."""

    def __init__(self) -> None:
        #: the scopes (`scopes.Scope`) of the regions around the code that runs now, the outermost
        #: first
        self.scopes: list[Any] = []
        #: the snapshots that belong to those regions and to whole static functions
        self.snapshots: list[Any] = []
        #: in how many bodies of staged loops the code is that runs now
        self.loops = 0
        #: integers of which is known between which numbers they lie: positions of loops, and what
        #: loops carry
        self.spans: list[Any] = []
        #: the static function got Python integers, whose arithmetic is checked for overflow
        self.exact = False
        #: how many possible failures at run time were found; it only grows
        self.failures = 0
        #: how often something depended on the kind of a Python value; it only grows
        self.questions = 0
        #: in how many trials the code is that runs now, whose graph nobody will use
        self.trials = 0
        #: what was found out about loops of this graph (see `control.memory`)
        self.memories: dict[Any, Any] | None = None
        #: the copies that the static function works on in place of what is outside
        self.copies: Any = None
        #: the lines where containers were last changed by a method, by identity of the container
        self.changes: dict[int, Site] = {}
        #: wrappers of JAX that are being made again (see `reach.wrappers`)
        self.wrappers: list[Any] = []


construction = Construction()
