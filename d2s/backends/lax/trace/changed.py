"""Where the user's code changes something, for errors that must name the line.

A change is found by comparing, after the code has run; which line made it is looked up in the
bytecode of the functions that ran: the first that assigns to the attribute or the name.
"""

from __future__ import annotations

import types
from typing import Any

import numpy as np

from d2s.backends.lax.forms.join import Difference
from d2s.backends.lax.forms.kinds.code import (
    FunctionAttributes,
    GlobalName,
    SlotAttributes,
    cell_contents,
)
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import known_form
from d2s.backends.lax.forms.trees import Box
from d2s.backends.lax.graph import sites
from d2s.backends.lax.reach.mentions import codes_inside
from d2s.backends.lax.trace import assignments
from d2s.backends.lax.trace.blocks import user_block
from d2s.errors import Site


def entry_set(found: Difference, blocks: tuple[Any, ...]) -> Site | None:
    """Where one of two blocks sets an attribute that the other one does not."""
    if not isinstance(found.one, Box) or not isinstance(found.other, Box):
        return None
    sides = found.one.keys, found.other.keys
    names = [name for side in sides for name in side if not all(name in keys for keys in sides)]
    made = (assigned(block, *names) for block in filter(None, map(user_block, blocks)))
    return next(filter(None, made), None)


def assigned(function: Any, *names: Any) -> Site | None:
    """Where a function, or one that it mentions, assigns to attributes or global names."""
    queue, seen = [function] if isinstance(function, types.FunctionType) else [], {id(function)}
    names = tuple(name for name in names if isinstance(name, str))
    for one in queue:
        inner = sorted(codes_inside(one.__code__), key=lambda code: code.co_firstlineno)
        for code in (one.__code__, *inner):
            for instruction in assignments.instructions(code):
                name, done = instruction.argval, instruction.opname
                if name in names and (done in _ASSIGNING or name in _METHODS):
                    return assignments.site(code, instruction)
        around = map(cell_contents, one.__closure__ or ())
        for other in (*map(one.__globals__.get, one.__code__.co_names), *around):
            if not isinstance(other, types.FunctionType) or id(other) in seen:
                continue
            if sites.is_user_code(other.__code__) and len(queue) < _FUNCTIONS:
                seen.add(id(other))
                queue.append(other)
    return None


def changed_names(owner: Any, before: Any) -> list[Any]:
    """The attributes of a class, function or object that have changed, or the global name."""
    if isinstance(owner, GlobalName):
        return [owner.name]
    if isinstance(owner, np.ndarray):
        return [*LAYOUT]
    kinds = type | FunctionAttributes | SlotAttributes
    now = known_form(type(owner)).held(owner) if isinstance(owner, kinds) else owner
    if not isinstance(now, dict) or not isinstance(before, dict):
        return []
    return [n for n in {**before, **now} if before.get(n, EMPTY) is not now.get(n, EMPTY)]


def loaded(function: types.FunctionType, value: Any) -> tuple[str, Site | None]:
    """The name by which a function reads a value of a module or a function around, and where."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    names = {name: cell_contents(cell) for name, cell in cells}
    for code in (function.__code__, *codes_inside(function.__code__)):
        for instruction in assignments.instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
                name = instruction.argval
                if names.get(name, function.__globals__.get(name, EMPTY)) is value:
                    return f"`{name}`", assignments.site(code, instruction)
    return "", None


#: what changes the layout of a NumPy array
_METHODS = ("resize", "setflags")
LAYOUT = ("shape", "dtype", "strides", "writeable", *_METHODS)
_ASSIGNING = ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL")
#: so many functions are looked through
_FUNCTIONS = 50
