"""Which variable of the user's an error is about."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from d2s.backends.lax.forms.trees import Box, Difference, Leaf, describe
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.slots import (
    EMPTY,
    WHOLE,
    FunctionAttributes,
    GlobalName,
    Slot,
    cell_contents,
    class_attributes,
)
from d2s.backends.lax.reach.mentions import codes_inside
from d2s.backends.lax.trace.snapshot import Watch
from d2s.conversion import is_block
from d2s.errors import Side, Site, StagingError, function_name


def change(
    found: Difference,
    slot: Slot,
    watch: Watch,
    rest: str,
    what: str,
    blocks: tuple[Any, ...] = (None, None),
) -> StagingError:
    """The error for a place whose contents on two ways do not fit together."""
    first, second = what.split("|")
    name = _cell_name(slot, blocks)
    sides = tuple(
        Side(when, describe(_shown(value)), _made_at(name, block, False) if name else None)
        for when, value, block in zip(
            (first, second), (found.one, found.other), blocks, strict=True
        )
    )
    label = watch.label_of(slot)
    if slot.key is not WHOLE or rest:
        code = found.mismatch.code
        if code == "D2S010" and second.startswith("after"):
            code = "D2S011"
        return StagingError(
            f"{label}{rest}: {found.mismatch.why}",
            sides=sides,
            code=code,
            site=sites.where(),
            fix=found.mismatch.fix,
        )
    if found.mismatch.why.endswith("order"):
        return StagingError(
            f"{label}: {found.mismatch.why}",
            sides=sides,
            code="D2S074",
            site=scopes.change_of(slot.owner),
            fix=found.mismatch.fix,
        )
    fix = "the same entries both ways, with a value that says that there is none"
    if isinstance(slot.owner, list | deque):
        fix = "an array of fixed size, written at an index, and a counter"
    return StagingError(
        f"{label} gets more or fewer entries where that depends on a run-time value",
        sides=sides,
        code="D2S074",
        site=scopes.changes.get(id(slot.owner)) or _entry_set(found, blocks) or sites.where(),
        fix=fix,
    )


def _entry_set(found: Difference, blocks: tuple[Any, ...]) -> Site | None:
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
            for instruction in dis.get_instructions(code):
                name, done = instruction.argval, instruction.opname
                if name in names and (done in _ASSIGNING or name in _METHODS):
                    return _site(code, instruction, None)
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
    now = class_attributes(owner) if isinstance(owner, type) else owner
    now = now.items if isinstance(now, FunctionAttributes) else now
    if not isinstance(now, dict) or not isinstance(before, dict):
        return []
    return [n for n in {**before, **now} if before.get(n, EMPTY) is not now.get(n, EMPTY)]


def loaded(function: types.FunctionType, value: Any) -> tuple[str, Site | None]:
    """The name by which a function reads a value of a module or a function around, and where."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    names = {name: cell_contents(cell) for name, cell in cells}
    for code in (function.__code__, *codes_inside(function.__code__)):
        for instruction in dis.get_instructions(code):
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_DEREF"):
                name = instruction.argval
                if names.get(name, function.__globals__.get(name, EMPTY)) is value:
                    return f"`{name}`", _site(code, instruction, None)
    return "", None


#: what changes the layout of a NumPy array
_METHODS = ("resize", "setflags")
LAYOUT = ("shape", "dtype", "strides", "writeable", *_METHODS)
_ASSIGNING = ("STORE_ATTR", "DELETE_ATTR", "STORE_GLOBAL", "DELETE_GLOBAL")
#: so many functions are looked through
_FUNCTIONS = 50


def difference(
    found: Difference,
    names: list[str],
    path: str,
    what: str,
    site: Site,
    blocks: tuple[Any, ...] = (None, None),
) -> StagingError:
    """The error for a variable whose two sides do not fit together.

    `blocks` are the pieces of code that make the sides; None for what is there before them.
    """
    name, rest = _variable(path, names)
    subject = f"`{name}{rest}`" if name not in ("", RETURNED) else name or "the value"
    first, second = what.split("|")
    code = found.mismatch.code
    if code == "D2S010" and second.startswith("after"):
        code = "D2S011"
    alone = len([n for n in names if n not in (POSITION, CONDITION)]) == 1
    values = describe(_shown(found.one)), describe(_shown(found.other))
    return StagingError(
        f"{subject}: {found.mismatch.why}",
        code=code,
        site=site,
        fix=found.mismatch.fix,
        sides=tuple(
            Side(when, value, _made_at(name, block, alone) if name else None)
            for when, value, block in zip((first, second), values, blocks, strict=True)
        ),
    )


#: stands for the name of what is not stored but returned
RETURNED = "the returned value"
#: what loops carry beside the variables of the user's
POSITION, CONDITION = "the position", "the condition"


def _made_at(name: str, block: Any, alone: bool) -> Site | None:
    """Where a block makes the value of a name, or the code that runs the block made it before."""
    block = user_block(block)
    if block is not None:
        found = _returned(block.__code__, name) if alone else None
        found = found or _stored(block.__code__, name)
        if found is not None:
            return found
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not sites.is_user_code(frame.f_code):
        frame = frame.f_back
    return None if frame is None else _stored(frame.f_code, name, before=frame.f_lasti)


def _cell_name(slot: Slot, blocks: tuple[Any, ...]) -> str:
    """The name of a variable that blocks of code share; empty for other places."""
    for block in filter(None, map(user_block, blocks)):
        for name, cell in zip(block.__code__.co_freevars, block.__closure__ or (), strict=True):
            if cell is slot.owner:
                return str(name)
    return ""


def user_block(function: Any) -> Any:
    """The block of the user's that a loop has wrapped into functions of its own."""
    while isinstance(function, types.FunctionType):
        code = function.__code__
        if sites.is_user_code(code):
            return function
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        function = cells["body"].cell_contents if "body" in cells else None
    return None


def _stored(code: types.CodeType, name: str, before: int | None = None) -> Site | None:
    """The last assignment to a name, from the name to the end of the value."""
    found, last = None, None
    for instruction in dis.get_instructions(code):
        if before is not None and instruction.offset >= before:
            break
        if instruction.opname.startswith("STORE_") and name in _targets(instruction):
            found = _site(code, instruction, last)
        last = instruction
    return found


def _targets(instruction: dis.Instruction) -> tuple[Any, ...]:
    """The names that an instruction stores; some store two, others load the second."""
    value = instruction.argval
    if not isinstance(value, tuple):
        return (value,)
    return value if instruction.opname == "STORE_FAST_STORE_FAST" else value[:1]


def _returned(code: types.CodeType, name: str) -> Site | None:
    """The value that a block returns without a name, unless that is what it was given."""
    last = None
    for instruction in dis.get_instructions(code):
        if instruction.opname == "RETURN_CONST":
            return _site(code, instruction, None)
        if instruction.opname == "RETURN_VALUE" and last is not None:
            two = last.opname in ("STORE_FAST_LOAD_FAST", "LOAD_FAST_LOAD_FAST")
            loaded = last.argval[-1] if two else last.argval
            return None if loaded == name else _site(code, last, None)
        last = instruction
    return None


def made_or_returned(value: Any, function: types.FunctionType) -> Site:
    """Where a function or a generator is written, or where a function returns a value."""
    own = next((c for c in (getattr(value, n, None) for n in _CODES) if c is not None), None)
    if own is not None and sites.is_user_code(own):
        return Site(own.co_filename, own.co_firstlineno, function_name(function.__code__))
    code = function.__code__
    ends = [i for i in dis.get_instructions(code) if i.opname.startswith("RETURN_")]
    found = _site(code, ends[-1], None) if ends else None
    return found or Site(code.co_filename, code.co_firstlineno, function.__name__)


#: attributes that hold the code of what runs later
_CODES = ("__code__", "gi_code", "cr_code", "ag_code")


def _site(code: types.CodeType, one: dis.Instruction, other: dis.Instruction | None) -> Site | None:
    """The place of an instruction, stretched to that of another one on the same line."""
    place = one.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return None
    end = place.end_col_offset if place.end_lineno == place.lineno else 0
    value = other.positions if other is not None else None
    if value is not None and value.lineno == place.lineno == value.end_lineno:
        end = max(end or 0, value.end_col_offset or 0)
    return Site(code.co_filename, place.lineno, function_name(code), place.col_offset, end or 0)


def _shown(value: Any) -> Any:
    return getattr(value, "init", value) if isinstance(value, Leaf) else value


def _variable(path: str, names: list[str]) -> tuple[str, str]:
    if len(names) == 1:
        return names[0], path
    if names and path.startswith("["):
        index, _, rest = path[1:].partition("]")
        if index.isdigit() and int(index) < len(names):
            return names[int(index)], rest
    return "", path


def target_names() -> list[str]:
    """The names that the result of the op running now is assigned to, in the user's function."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if sites.is_user_code(frame.f_code):
            names = _assigned_next(frame)
            if names is not None:
                return names
            if not is_block(frame.f_code):
                return [RETURNED]
            # what a block returns is assigned where the block is used
        frame = frame.f_back
    return []


def assigned_here() -> list[str] | None:
    """The names that the block running now assigns the result of its op to; None for a return."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not sites.is_user_code(frame.f_code):
        frame = frame.f_back
    return [] if frame is None else _assigned_next(frame)


def _assigned_next(frame: types.FrameType) -> list[str] | None:
    """The names stored after the instruction that runs; None when it is a return that follows."""
    names = _stored_after(frame.f_code, frame.f_lasti)
    return None if names is None else list(names)


@functools.lru_cache(maxsize=4096)
def _stored_after(code: types.CodeType, place: int) -> Sequence[str] | None:
    names: list[str] = []
    for instruction in dis.get_instructions(code):
        name = instruction.opname
        if instruction.offset <= place or name in ("CACHE", "UNPACK_SEQUENCE"):
            continue
        if name.startswith("RETURN") and not names:
            return None
        if not name.startswith("STORE_"):
            break
        names += _targets(instruction)
        if name == "STORE_FAST_LOAD_FAST":
            break
    return names
