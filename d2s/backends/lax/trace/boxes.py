"""Lists, dicts and objects that a region hands out: taken apart where it ends, made again after.

What the region made comes out as a `Box` with the run-time values in it as outputs of the graph.
What was there before comes out as itself (`Known`); the slots in it that changed come out one by
one. Nothing else may leave a region with run-time values inside. Of

    if x > 0:
        pair = [x, 1]
    else:
        pair = [0.0, 1]

each region hands out ``Box(list, keys [0, 1], parts [output 0, 1])``. The two boxes are joined part
by part, and behind the branch one list is made with ``select(x > 0, x, 0.0)`` as its first item.
"""

from __future__ import annotations

import functools
import gc
import itertools
import types
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.appended import Recorder, columns_of, items_of
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.kinds.table import known_form
from d2s.backends.lax.forms.parts import Opened, made, taken_apart
from d2s.backends.lax.forms.registered import STRUCTURES
from d2s.backends.lax.forms.trees import Box, Known, StackedRows, children
from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError
from d2s.runtime.values import Unbound

#: what slots hold after a region, by the identity of the slot: only those that it changed
View = dict[tuple[Any, Any], tuple[Slot, Any]]
#: values that hold nothing of a region's, or that are looked at by other means
_SKIPPED = (
    *(type, types.ModuleType, types.CodeType, jax.Array, np.ndarray, str, bytes),
    *(int, float, complex, *STRUCTURES, Unbound),
)


def build(tree: Any, put: Callable[[Any], Any], memo: dict[Any, Any]) -> Any:
    """The value of a tree: leaves by `put`, boxes made, each of them once."""
    if isinstance(tree, Known):
        return memo.get(id(tree.origin), tree.origin)
    if isinstance(tree, Box) and tree.identity in memo:
        return memo[tree.identity]
    if isinstance(tree, StackedRows):
        return items_of(tree, put, build)
    parts = children(tree)
    if parts is None:
        return put(tree)
    new = [build(part, put, memo) for _, part in parts[0]]
    if isinstance(tree, Box):
        memo[tree.identity] = made(tree.kind, tree.keys, new, tree.extra)
        return memo[tree.identity]
    if all(a is b for a, (_, b) in zip(new, parts[0], strict=True)):
        return tree
    return parts[1](new)


def boxed(value: Any) -> Any:
    """A value with its lists, dicts and objects taken apart, wherever they come from."""
    return Taking(None, lambda leaf: leaf, {})(value)


def opened(value: Any) -> Any:
    """The entries of a list or dict, each of them as it is."""
    parts = value if isinstance(value, dict) else dict(enumerate(value))
    held = [known(part, {}) for part in parts.values()]
    return Box(object(), type(value), list(parts), held)


class Taking:
    """Takes apart what a region hands out.

    The snapshot tells what was there before the region; without one, everything is taken apart.
    `out` is called with each run-time value and each constant, `view` has the slots that changed.
    """

    def __init__(self, snapshot: Snapshot | None, out: Callable[[Any], Any], view: View) -> None:
        self._snapshot, self._out, self.view = snapshot, out, view
        #: the boxes by the identity of what was taken apart; None while that is being done
        self._made: dict[int, Box | None] = {}
        #: what was taken apart, kept alive so that no identity is used again
        self._seen: list[Any] = []
        #: what is handed out as it is, to be checked for run-time values that it may hide
        self._statics: list[Any] = []
        #: copies that stand for what a loop carries, by identity, with what they stand for
        self.copies: dict[int, Any] = {}

    def __call__(self, value: Any, compact: bool = False) -> Any:
        """The value taken apart; `compact` says that the rows of an array may stay one array."""
        if isinstance(value, jax.core.Tracer):
            return self._out(value)
        if isinstance(value, Recorder):
            return Known(value.owner, None)
        held = taken_apart(value)
        if held is not None:
            if self._snapshot is not None and self._snapshot.knew(value):
                return known(value, self.view)
            return self._box(value, held, compact)
        parts = children(value)
        if parts is not None:
            new = [self(part, compact) for _, part in parts[0]]
            same = all(a is b for a, (_, b) in zip(new, parts[0], strict=True))
            return value if same else parts[1](new)
        self._statics.append(value)
        return self._out(value)

    def _box(self, value: Any, held: Opened, compact: bool) -> Any:
        if id(value) in self._made:
            box = self._made[id(value)]
            if box is None:
                raise StagingError(
                    f"a {type(value).__name__} that contains itself is made in a branch or loop on "
                    "a run-time value",
                    code="D2S013",
                    site=sites.where(),
                    fix="objects that do not contain themselves, or made before it",
                )
            return box
        item = columns_of(value) if compact and type(value) is list else None
        if item is not None:
            return StackedRows(self(item, compact), len(held.parts))
        self._made[id(value)] = None
        self._seen.append(value)
        self._statics.append(held.extra)
        inner = [self(part, compact) for part in held.parts]
        origin = value if self._snapshot is None else self.copies.get(id(value))
        box = Box(id(value), type(value), held.keys, inner, held.extra, origin)
        self._made[id(value)] = box
        return box

    def check(self, is_own: Callable[[Any], bool]) -> None:
        """Refuse what would carry a run-time value of the region out of it unseen."""
        for value in self._statics:
            found = self._held(value, is_own)
            if found:
                name = getattr(value, "__qualname__", type(value).__qualname__)
                raise StagingError(
                    f"{name} is made in a branch or loop on a run-time value and holds {found} of "
                    "it; it cannot be used outside",
                    code="D2S013",
                    site=sites.where(),
                    fix="a list, dict, dataclass or object of a plain class that holds the values, "
                    "or the same made after the branch or loop",
                )

    def _held(self, value: Any, is_own: Callable[[Any], bool]) -> str:
        """What a value that leaves as it is holds of the region's own making; empty if nothing."""
        stack, seen = [value], set()
        while stack:
            item = stack.pop()
            if isinstance(item, jax.core.Tracer):
                if is_own(item):
                    return "a run-time value"
                continue
            if item is None or isinstance(item, _SKIPPED) or id(item) in seen:
                continue
            seen.add(id(item))
            if id(item) in self._made:
                return f"a {type(item).__name__}"
            if self._snapshot is not None and self._snapshot.knew(item):
                continue
            if isinstance(item, types.FunctionType):
                held = (item.__closure__, item.__defaults__, item.__kwdefaults__, item.__dict__)
                stack += held
            else:
                stack += gc.get_referents(item)
        return ""


def known(value: Any, view: View) -> Any:
    """A value from before a region as it is after it; `view` has the slots that changed."""
    if isinstance(value, jax.core.Tracer):
        return value
    if taken_apart(value) is not None:
        return Known(value, functools.partial(_expand, value, view))
    parts = children(value)
    if parts is None:
        return value
    new = [known(part, view) for _, part in parts[0]]
    return value if all(a is b for a, (_, b) in zip(new, parts[0], strict=True)) else parts[1](new)


def _expand(value: Any, view: View) -> Box:
    held = taken_apart(value)
    assert held is not None, "only what has parts is known"
    keys: list[Any] = []
    parts: list[Any] = []
    for owner, group in itertools.groupby(
        zip(held.holders, held.keys, held.parts, strict=True), _first
    ):
        now = changed(owner, {key: part for _, key, part in group}, view)
        keys += now
        parts += now.values()
    whole = view.get((id(value), WHOLE))
    # what a set or a bytearray holds is all in the extra
    is_new = whole is not None and not known_form(type(value)).has_slots
    extra = whole[1].extra if whole is not None and is_new else held.extra
    return Box(id(value), type(value), keys, parts, extra)


def _first(pair: tuple[Any, ...]) -> Any:
    return pair[0]


def changed(owner: int | None, parts: dict[Any, Any], view: View) -> dict[Any, Any]:
    """What a list or dict holds after a region; `parts` is what it held before."""
    whole = view.get((owner, WHOLE))
    if whole is not None:
        return dict(zip(whole[1].keys, whole[1].parts, strict=True))
    return {
        key: view[owner, key][1] if (owner, key) in view else known(part, view)
        for key, part in parts.items()
    }


def content(slot: Slot, view: View) -> Any:
    """What a slot holds after a region, whether or not the region changed it."""
    if slot.identity in view:
        return view[slot.identity][1]
    now = slot.get()
    if slot.key is not WHOLE:
        return known(now, view)
    held = taken_apart(now)
    assert held is not None, "what can grow is a container"
    after = changed(slot.identity[0], dict(zip(held.keys, held.parts, strict=True)), view)
    return Box(object(), type(now), list(after), list(after.values()), held.extra)
