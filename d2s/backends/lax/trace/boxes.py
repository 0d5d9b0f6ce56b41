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
import sys
import types
import weakref
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.appended import Recorder, columns_of, items_of
from d2s.backends.lax.forms.trees import Box, Known, StackedRows, children
from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.slots import WHOLE, Slot, own_dict, slot_names
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError
from d2s.libraries import is_library_file
from d2s.runtime.values import Unbound

#: what slots hold after a region, by the identity of the slot: only those that it changed
View = dict[tuple[int, Any], tuple[Slot, Any]]
_DICTS = (dict, OrderedDict, defaultdict)
#: the flag of classes that a class statement made, and not C (`Py_TPFLAGS_HEAPTYPE`)
_HEAP_TYPE = 1 << 9
#: values that hold nothing of a region's, or that are looked at by other means
_SKIPPED = (
    *(type, types.ModuleType, types.CodeType, jax.Array, np.ndarray, str, bytes),
    *(int, float, complex, jax.tree_util.PyTreeDef, Unbound),
)


def contents(value: Any) -> tuple[dict[Any, Any], Any] | None:
    """The parts of a list, dict or object by key, and what else it has; None for other values."""
    held = _holders(value)
    if held is None:
        return None
    extra = getattr(value, "maxlen", None) if type(value) is deque else None
    if type(value) is defaultdict:
        extra = value.default_factory
    return {key: part for _, parts in held for key, part in parts.items()}, extra


def _holders(value: Any) -> list[tuple[int, dict[Any, Any]]] | None:
    """The parts of a list, dict or object, by the identity of what holds them.

    The identities are those of `Slot.identity`: of the dict that holds the attributes, or of the
    object itself where they are in `__slots__`.
    """
    kind: Any = type(value)
    if kind is list or kind is deque:
        return [(id(value), dict(enumerate(value)))]
    if kind in _DICTS:
        return [(id(value), dict(value))]
    if not _is_plain(kind) or not _is_leaf(kind, value):
        return None
    found: list[tuple[int, dict[Any, Any]]] = []
    attributes = own_dict(value)
    if attributes is not None:
        found.append((id(attributes), dict(attributes)))
    names = slot_names(kind)
    if names:
        found.append((id(value), {n: getattr(value, n) for n in names if hasattr(value, n)}))
    return found


@functools.cache
def _is_plain(kind: Any) -> bool:
    """Whether objects of a class are their attributes and nothing else.

    A class whose module has no file was made by the program itself and counts as the user's.
    """
    if kind is types.SimpleNamespace:
        return True
    params = getattr(kind, "__dataclass_params__", None)
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    own = kind.__module__ not in sys.builtin_module_names and not is_library_file(file or "<none>")
    if not own and params is None:
        return False
    if any(not base.__flags__ & _HEAP_TYPE for base in kind.__mro__[:-1]):
        return False
    if (params is not None and params.frozen) or hasattr(kind, "__del__"):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        return False  # something of C's is in it
    return True


_LEAVES: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def _is_leaf(kind: type, value: Any) -> bool:
    """Whether JAX has no way of its own to take objects of a class apart."""
    found = _LEAVES.get(kind)
    if found is None:
        found = _LEAVES[kind] = bool(jax.tree_util.all_leaves([value]))
    return found


def made(box: Box, parts: list[Any]) -> Any:
    """The list, dict or object with these parts."""
    kind: Any = box.kind
    if kind is list:
        return parts
    if kind is deque:
        return deque(parts, box.extra)
    pairs = zip(box.keys, parts, strict=True)
    if kind is defaultdict:
        return defaultdict(box.extra, pairs)
    if kind in _DICTS:
        return kind(pairs)
    value = kind.__new__(kind) if kind is types.SimpleNamespace else object.__new__(kind)
    slots = slot_names(kind)
    for name, part in pairs:
        if name in slots:
            object.__setattr__(value, name, part)
        else:
            value.__dict__[name] = part
    return value


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
        memo[tree.identity] = made(tree, new)
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
        held = contents(value)
        if held is not None:
            if self._snapshot is not None and self._snapshot.knew(value):
                return known(value, self.view)
            return self._box(value, *held, compact)
        parts = children(value)
        if parts is not None:
            new = [self(part, compact) for _, part in parts[0]]
            same = all(a is b for a, (_, b) in zip(new, parts[0], strict=True))
            return value if same else parts[1](new)
        self._statics.append(value)
        return self._out(value)

    def _box(self, value: Any, parts: dict[Any, Any], extra: Any, compact: bool) -> Any:
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
            return StackedRows(self(item, compact), len(parts))
        self._made[id(value)] = None
        self._seen.append(value)
        inner = [self(part, compact) for part in parts.values()]
        origin = value if self._snapshot is None else self.copies.get(id(value))
        box = Box(id(value), type(value), list(parts), inner, extra, origin)
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
    if contents(value) is not None:
        return Known(value, functools.partial(_expand, value, view))
    parts = children(value)
    if parts is None:
        return value
    new = [known(part, view) for _, part in parts[0]]
    return value if all(a is b for a, (_, b) in zip(new, parts[0], strict=True)) else parts[1](new)


def _expand(value: Any, view: View) -> Box:
    held = contents(value)
    assert held is not None, "only what has contents is known"
    now: dict[Any, Any] = {}
    for owner, parts in _holders(value) or ():
        now |= changed(owner, parts, view)
    return Box(id(value), type(value), list(now), list(now.values()), held[1])


def changed(owner: int, parts: dict[Any, Any], view: View) -> dict[Any, Any]:
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
    parts = now if isinstance(now, dict) else dict(enumerate(now))
    after = changed(slot.identity[0], parts, view)
    return Box(object(), type(now), list(after), list(after.values()))
