"""Notes for `explain`: what a statement became, in the words of this engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.control.trips import Hole
from d2s.backends.lax.forms.dtypes import is_dynamic, type_of
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Known, Out, children
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.trace.blame import CONDITION, POSITION, target_names
from d2s.backends.lax.trace.blocks import user_block
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.runtime import record
from d2s.runtime.ops import is_assertion
from d2s.runtime.record import Carried, Note
from d2s.runtime.values import Maybe, Unbound


def note(became: str, why: str, carried: Sequence[Carried] = ()) -> None:
    """Note the statement that runs now, unless this is a trial of a loop, which is taken back."""
    if record.is_on() and not scopes.in_trial():
        record.add(Note(sites.where(), became, why, tuple(carried)))


def branch(
    blocks: tuple[Any, ...], value: Any, labels: list[str], contents: Sequence[Any], became: str
) -> None:
    """Note a branch on a run-time value, with the variables it leaves and what it wrote."""
    if not record.is_on():
        return
    why = "the condition is a run-time value"
    if all(map(user_block, blocks)):
        names = target_names()
        if not became:
            became, why = "no branch", f"{why}, but both sides do the same"
        elif became == "lax.select":
            why = f"{why}; both values are there"
        several = value if isinstance(value, tuple | list) else []  # an array may be taken apart
        values = [value] if len(names) == 1 else several if names else []
        found = carried(names, values, sides=2) + carried(labels, contents, sides=2)
        note(became, why, found)
    elif is_assertion(*blocks):
        note("error code", why)


def labels(watch: Snapshot, slots: Sequence[Slot]) -> list[str]:
    """The user's names of slots; none while no record is made, because nobody would read them."""
    return [watch.label_of(slot).replace("`", "") for slot in slots] if record.is_on() else []


def loop(names: list[str], tree: Sequence[Any], trips: int | None) -> None:
    """Note a staged loop, with what it carries."""
    if not record.is_on():
        return
    became, hidden = "lax.while_loop", names[:1] in ([POSITION], [CONDITION])
    why = "the condition depends on a run-time value"
    if trips is not None:
        became, why = f"lax.scan(length={trips})", "the number of trips is known, one body for all"
    elif names[:1] == [POSITION]:
        why = "how often it runs depends on a run-time value"
    note(became, why, carried(names[hidden:], tree[hidden:], sides=1))


def carried(names: list[str], tree: Sequence[Any], sides: int) -> list[Carried]:
    """The variables behind joined values, with their types on the sides of the join."""
    return [
        Carried(name, tuple(_shown(value, side) for side in range(sides)), _shown(value, None))
        for name, value in zip(names, tree, strict=False)
    ]


def _shown(value: Any, side: int | None) -> str:
    """A value as its type: on one side of the join, or after it."""
    if isinstance(value, Joined):
        return str(value.type) if side is None else _shown(value.sides[side], side)
    if isinstance(value, Maybe):
        inner = _shown(value.value, side)
        return "no value" if inner == "no value" else f"{inner} or no value"
    if isinstance(value, Unbound | Filler):
        return "no value"
    if isinstance(value, Out):
        # a side that is joined of sides itself shows what it came to
        return str(value.type)
    if isinstance(value, Known):
        return type(value.origin).__name__
    if isinstance(value, Hole):
        if isinstance(value.init, Filler):
            return "no value"
        # one that was written in the loop must not be looked at any more
        return str(value.type if aliases.written_at(value.init) else type_of(value.init))
    if is_dynamic(value) and type(value) not in (bool, int, float, complex):
        return str(type_of(value))
    parts = children(value)
    if parts is None:
        text = repr(value)
        return text if len(text) <= 40 else f"{text[:37]}..."
    return f"{type(value).__name__}({', '.join(_shown(part, side) for _, part in parts[0])})"
