"""Errors about two values that do not fit together, in the words of the user's program.

Two ways through a program leave a variable, or a slot, with values that no graph can choose
between. From

    if x > 0:
        y = 1.0
    else:
        y = "negative"

comes a `Difference` between a float and a text, at a path in a tree that the user never sees. Here
the path becomes the variable `y`, and each of the two sides gets the line that made it.
"""

from __future__ import annotations

import sys
import types
from typing import Any

from d2s.backends.lax.forms.join import ORDER, Difference
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.kinds.table import SEQUENCES
from d2s.backends.lax.forms.trees import Leaf, describe
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.trace import assignments
from d2s.backends.lax.trace.blocks import user_block
from d2s.backends.lax.trace.changed import entry_set
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.conversion import is_block
from d2s.errors import Side, Site, StagingError, function_name


def change(
    found: Difference,
    slot: Slot,
    snapshot: Snapshot,
    rest: str,
    what: str,
    blocks: tuple[Any, ...] = (None, None),
) -> StagingError:
    """The error for a slot whose contents on two ways do not fit together.

    `rest` leads from the slot to the part that differs, `what` says when there is the one value and
    when the other, with a bar in between. `blocks` are as in `difference`.
    """
    name = _cell_name(slot, blocks)
    sides = _sides(found, what, name, blocks, is_only=False)
    label = snapshot.label_of(slot)
    if slot.key is not WHOLE or rest:
        return StagingError(
            f"{label}{rest}: {found.mismatch.why}",
            sides=sides,
            code=_code(found, blocks),
            site=sites.where(),
            fix=found.mismatch.fix,
        )
    if found.mismatch is ORDER:
        message, fix = f"{label}: {found.mismatch.why}", found.mismatch.fix
    else:
        message = f"{label} gets more or fewer entries where that depends on a run-time value"
        fix = "the same entries both ways, with a value that says that there is none"
        if isinstance(slot.owner, SEQUENCES):
            fix = "an array of fixed size, written at an index, and a counter"
    return StagingError(
        message,
        sides=sides,
        code="D2S074",
        site=scopes.method_change_of(slot.owner) or entry_set(found, blocks) or sites.where(),
        fix=fix,
    )


def difference(
    found: Difference,
    names: list[str],
    path: str,
    what: str,
    site: Site,
    blocks: tuple[Any, ...] = (None, None),
) -> StagingError:
    """The error for a variable whose two sides do not fit together.

    `blocks` are the functions of the user's code that make the two sides; None for a side that is
    there before them, as the first side of a loop is.
    """
    name, rest = _variable(path, names)
    subject = f"`{name}{rest}`" if name not in ("", RETURNED) else name or "the value"
    is_only = len([n for n in names if n not in (POSITION, CONDITION)]) == 1
    return StagingError(
        f"{subject}: {found.mismatch.why}",
        code=_code(found, blocks),
        site=site,
        fix=found.mismatch.fix,
        sides=_sides(found, what, name, blocks, is_only),
    )


def _code(found: Difference, blocks: tuple[Any, ...]) -> str:
    """The code of an error: a loop whose trip changes a type has another one than a branch."""
    is_loop = blocks[0] is None and blocks[1] is not None
    return "D2S011" if found.mismatch.code == "D2S010" and is_loop else found.mismatch.code


def _sides(
    found: Difference, what: str, name: str, blocks: tuple[Any, ...], is_only: bool
) -> tuple[Side, ...]:
    """The two values with their types and lines; `is_only` says that the blocks make no other."""
    return tuple(
        Side(when, describe(_shown(value)), _made_at(name, block, is_only) if name else None)
        for when, value, block in zip(
            what.split("|"), (found.one, found.other), blocks, strict=True
        )
    )


#: stands for the name of what is not stored but returned
RETURNED = "the returned value"
#: what loops carry beside the variables of the user's
POSITION, CONDITION = "the position", "the condition"


def _made_at(name: str, block: Any, is_only: bool) -> Site | None:
    """Where a block makes the value of a name, or the code that runs the block made it before."""
    block = user_block(block)
    if block is not None:
        found = assignments.returned(block.__code__, name) if is_only else None
        found = found or assignments.stored(block.__code__, name)
        if found is not None:
            return found
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not sites.is_user_code(frame.f_code):
        frame = frame.f_back
    return None if frame is None else assignments.stored(frame.f_code, name, frame.f_lasti)


def _cell_name(slot: Slot, blocks: tuple[Any, ...]) -> str:
    """The name of a variable that blocks of code share; empty for other slots."""
    for block in filter(None, map(user_block, blocks)):
        for name, cell in zip(block.__code__.co_freevars, block.__closure__ or (), strict=True):
            if cell is slot.owner:
                return str(name)
    return ""


def made_or_returned(value: Any, function: types.FunctionType) -> Site:
    """Where a function or a generator is written, or where a function returns a value."""
    own = next((c for c in (getattr(value, n, None) for n in _CODES) if c is not None), None)
    if own is not None and sites.is_user_code(own):
        return Site(own.co_filename, own.co_firstlineno, function_name(function.__code__))
    code = function.__code__
    found = assignments.last_return(code)
    return found or Site(code.co_filename, code.co_firstlineno, function.__name__)


#: attributes that hold the code of what runs later
_CODES = ("__code__", "gi_code", "cr_code", "ag_code")


def _shown(value: Any) -> Any:
    return getattr(value, "init", value) if isinstance(value, Leaf) else value


def _variable(path: str, names: list[str]) -> tuple[str, str]:
    """The variable that a path in a tree begins at, and the rest of the path.

    The values of several variables are a tuple, so the path of the second one begins with "[1]".
    """
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
            names = assignments.stored_after(frame.f_code, frame.f_lasti)
            if names is not None:
                return list(names)
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
    names = () if frame is None else assignments.stored_after(frame.f_code, frame.f_lasti)
    return None if names is None else list(names)
