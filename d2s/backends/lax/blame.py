"""Which variable of the user's an error is about."""

from __future__ import annotations

import dis
import sys
import types
from collections import deque
from typing import Any

from d2s.backends.lax import channels
from d2s.backends.lax.trees import Difference, Leaf, describe
from d2s.backends.lax.watch import WHOLE, Slot, Watch
from d2s.conversion import is_block
from d2s.errors import Site, StagingError


def change(found: Difference, slot: Slot, watch: Watch, rest: str, what: str) -> StagingError:
    """The error for a place whose contents on two ways do not fit together."""
    first, second = what.split("|")
    one, other = describe(_shown(found.one)), describe(_shown(found.other))
    sides = f"\n  {first}: {one}\n  {second}: {other}"
    label = watch.label_of(slot)
    if slot.key is not WHOLE or rest:
        code = found.mismatch.code
        if code == "D2S010" and second.startswith("after"):
            code = "D2S011"
        return StagingError(
            f"{label}{rest}: {found.mismatch.why}{sides}",
            code=code,
            site=channels.where(),
            fix=found.mismatch.fix,
        )
    if found.mismatch.why.endswith("order"):
        return StagingError(
            f"{label}: {found.mismatch.why}{sides}",
            code="D2S024",
            site=channels.change_of(slot.owner),
            fix=found.mismatch.fix,
        )
    fix = "the same entries both ways, with a value that says that there is none"
    if isinstance(slot.owner, list | deque):
        fix = "an array of fixed size, written at an index, and a counter"
    return StagingError(
        f"{label} gets more or fewer entries where that depends on a run-time value{sides}",
        code="D2S024",
        site=channels.change_of(slot.owner),
        fix=fix,
    )


def difference(
    found: Difference, names: list[str], prefix: str, what: str, site: Site
) -> StagingError:
    """The error for a variable whose two sides do not fit together."""
    path = found.path.removeprefix(prefix)
    name, rest = _variable(path, names)
    subject = f"`{name}{rest}`" if name else "the value"
    first, second = what.split("|")
    code = found.mismatch.code
    if code == "D2S010" and second.startswith("after"):
        code = "D2S011"
    one, other = describe(_shown(found.one)), describe(_shown(found.other))
    return StagingError(
        f"{subject}: {found.mismatch.why}\n  {first}: {one}\n  {second}: {other}",
        code=code,
        site=site,
        fix=found.mismatch.fix,
    )


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
        if channels.is_user_code(frame.f_code):
            names = _assigned_next(frame)
            if names is not None:
                return names
            if not is_block(frame.f_code):
                return ["the returned value"]
            # what a block returns is assigned where the block is used
        frame = frame.f_back
    return []


def assigned_here() -> list[str] | None:
    """The names that the block running now assigns the result of its op to; None for a return."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and not channels.is_user_code(frame.f_code):
        frame = frame.f_back
    return [] if frame is None else _assigned_next(frame)


def _assigned_next(frame: types.FrameType) -> list[str] | None:
    """The names stored after the instruction that runs; None when it is a return that follows."""
    names: list[str] = []
    for instruction in dis.get_instructions(frame.f_code):
        name = instruction.opname
        if instruction.offset <= frame.f_lasti or name in ("CACHE", "UNPACK_SEQUENCE"):
            continue
        if name.startswith("RETURN") and not names:
            return None
        if not name.startswith("STORE_"):
            break
        if isinstance(instruction.argval, tuple):
            both = name == "STORE_FAST_STORE_FAST"
            names += instruction.argval if both else instruction.argval[:1]
            if not both:
                break
        else:
            names.append(instruction.argval)
    return names
