"""Where the leaves of a graph are: the key of a graph, read again with names.

A key is a flat tuple of tokens; this walks over it as `boundary/copy_maker.py` does, but what it
makes are the paths of slots. Each leaf belongs to a *holder*, the mutable object that it would be
written into, and has a label for people:

    f({"a": [x]})    the leaf x: holder = the list, inside = (0,), label = "arg.a.0"
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax

from d2s.backends.lax.forms.exact import Contents
from d2s.backends.lax.forms.kinds.table import known_form
from d2s.backends.lax.forms.parts import container_form
from d2s.backends.lax.forms.registered import Layout
from d2s.backends.lax.objects.keys import Again, ChangingNumber, Itself, Node, Number, Pairs, Static
from d2s.backends.lax.objects.nnx import is_mark
from d2s.files.trees import Json, described, refusal
from d2s.static import StaticFunction


@dataclass(frozen=True)
class SlotPath:
    """A slot: under which root of the key, in which mutable object, and the way for people."""

    #: a pair of the kind of root and its position or name, for example ("argument", 0)
    root: Any
    #: number of the mutable object among the owners; None in a root that is no such object
    holder: int | None
    #: the way from the holder to the slot
    inside: tuple[Any, ...]
    label: str

    def part(self, key: Any) -> SlotPath:
        return SlotPath(self.root, self.holder, (*self.inside, key), _joined(self.label, key))

    def within(self, owner: int) -> SlotPath:
        return SlotPath(self.root, owner, (), self.label)


def _joined(label: str, key: Any) -> str:
    return f"{label}.{key}" if label else str(key)


@dataclass
class LeafPaths:
    """Where all leaves, owners and numbers of a key were found."""

    leaves: list[SlotPath] = field(default_factory=list)
    changing: list[SlotPath] = field(default_factory=list)
    owners: list[SlotPath] = field(default_factory=list)
    #: Python numbers that are constants, by their positions in the key
    numbers: dict[int, SlotPath] = field(default_factory=dict)
    #: the description of each root, by which a loaded function takes its arguments apart
    trees: list[Json] = field(default_factory=list)


def walk(key: tuple[Any, ...], owners: Sequence[Any], roots: Sequence[SlotPath]) -> LeafPaths:
    """Read a key; `roots` are the slots of the arguments, of the keywords and of names outside."""
    reader = _Reader(key, owners)
    reader.run(roots)
    found = reader.found
    # numbers that change are the last leaves
    count = len(found.leaves)
    found.leaves += found.changing

    def numbered(tree: Json) -> Json:
        return ["leaf", count + tree[1]] if tree[0] == "changing" else tree

    found.trees = [changed(tree, numbered) for tree in found.trees]
    return found


def changed(tree: Json, change: Callable[[Json], Json]) -> Json:
    """A description of an argument with its parts changed; constants in it are left alone."""
    kind = tree[0]
    if kind in ("tuple", "list"):
        return [*tree[:3], [changed(part, change) for part in tree[3]]]
    if kind in ("record", "dict"):
        return [*tree[:3], [[name, changed(part, change)] for name, part in tree[3]]]
    return change(tree)


class _Reader:
    """Walks over a key, token after token."""

    def __init__(self, key: tuple[Any, ...], owners: Sequence[Any]) -> None:
        self._tokens: Iterator[tuple[int, Any]] = iter(enumerate(key))
        self._owners = owners
        self.found = LeafPaths()

    def run(self, roots: Sequence[SlotPath]) -> None:
        """The arguments, the names and the values of keywords, then the slots outside."""
        places = iter(roots)
        for kind in ("arguments", "names", "values"):
            _, token = next(self._tokens)
            assert isinstance(token, Node) and token.kind is tuple, kind
            for _ in range(token.names):
                slot = SlotPath(None, None, (), "") if kind == "names" else next(places)
                tree = self._value(slot)
                if kind != "names":
                    self.found.trees.append(tree)
        for slot in places:
            self.found.trees.append(self._value(slot))

    def _value(self, slot: SlotPath) -> Json:
        position, token = next(self._tokens)
        kind = type(token)
        if kind is Again:
            return ["same", token.exact]
        if kind is ChangingNumber:
            self.found.changing.append(slot)
            return ["changing", len(self.found.changing) - 1]
        if kind is Contents:
            self._own(slot)
            return ["fixed", slot.label]
        if isinstance(token, Static | Itself):
            if isinstance(token, Number):
                self.found.numbers[position] = slot
            return self._constant(token.value, slot)
        if isinstance(token, Node):
            return self._node(token, slot)
        self.found.leaves.append(slot)
        return ["leaf", len(self.found.leaves) - 1]

    def _constant(self, value: Any, slot: SlotPath) -> Json:
        try:
            return ["constant", described(value)]
        except Exception:
            return ["fixed", slot.label]

    def _own(self, slot: SlotPath) -> SlotPath:
        self.found.owners.append(slot)
        return slot.within(len(self.found.owners) - 1)

    def _parts(self, slot: SlotPath, keys: Sequence[Any]) -> list[Json]:
        return [self._value(slot.part(key)) for key in keys]

    def _node(self, node: Node, slot: SlotPath) -> Json:
        kind, names = node.kind, node.names
        if is_mark(kind):
            return ["fixed", slot.label]
        if isinstance(names, StaticFunction):
            self._parts(slot, range(len(names.bound)))
        elif kind is types.MethodType:
            self._parts(slot, ["__self__"])
        elif kind is slice:
            self._parts(slot, ["start", "stop", "step"])
        elif kind is functools.partial:
            self._parts(slot, ["func", "args", "keywords"])
        elif kind is types.MappingProxyType:
            self._value(self._own(slot))
        elif issubclass(kind, tuple) and isinstance(names, tuple):
            self._parts(self._own(slot), [*range(names[0]), *names[1]])
        elif issubclass(kind, tuple):
            fields = list(getattr(kind, "_fields", ()))
            parts = self._parts(slot, fields or range(names))
            return ["tuple", fields and kind.__name__, fields, parts]
        elif isinstance(names, Layout):
            self._parts(self._own(slot), range(names.num_leaves))
        elif isinstance(names, jax.tree_util.PyTreeDef):
            own = self._own(slot)
            return self._record(kind, own, pytree_names(self._owners[own.holder or 0]))
        elif container_form(kind) is not None:
            return self._container(node, slot)
        elif kind is frozenset:
            self._parts(self._own(slot), range(names))
        else:
            return self._record(kind, self._own(slot), names)
        return ["fixed", slot.label]

    def _container(self, node: Node, slot: SlotPath) -> Json:
        """A list, dict or the like; of a class of the user's a file knows what it is made of."""
        form, names, own = known_form(node.kind), node.names, self._own(slot)
        if form.extra_name is not None:
            self._value(own.part(form.extra_name))
        tree: Json = ["fixed", slot.label]
        if isinstance(names, Pairs):
            for n in range(names * (2 if form.is_by_key else 1)):
                self._value(own.part(n))
        elif form.is_by_key:
            tree = self._entries(names, own) or tree
        elif form.has_slots:
            tree = ["list", own.holder, form.base.__name__, self._parts(own, range(names))]
        if node.has_attributes and self._value(own.part("__dict__"))[-1]:
            return ["fixed", slot.label]
        return tree

    def _record(self, kind: Any, own: SlotPath, names: Sequence[str]) -> Json:
        parts = self._parts(own, names)
        return [
            "record",
            own.holder,
            kind.__name__,
            list(map(list, zip(names, parts, strict=True))),
        ]

    def _entries(self, names: list[Any], own: SlotPath) -> Json | None:
        """The entries of a dict; None if a file cannot hold its keys."""
        parts = self._parts(own, names)
        try:
            pairs = [[described(key), part] for key, part in zip(names, parts, strict=True)]
        except Exception:
            return None
        return ["dict", own.holder, "dict", pairs]


def pytree_names(value: Any) -> list[str]:
    """Names of the parts of an object that jax takes apart."""
    parts = jax.tree_util.tree_flatten_with_path(value, is_leaf=lambda v: v is not value)[0]
    return [str(getattr(way[-1], "name", getattr(way[-1], "key", way[-1]))) for way, _ in parts]


def refuse_unfit(tree: Json) -> None:
    """Refuse a description of an argument that no file can hold."""

    def refuse(tree: Json) -> Json:
        if tree[0] == "fixed":
            raise refusal(
                f"the argument {tree[1]} is something that a saved function cannot be called with",
                "arrays, numbers, texts, or lists, tuples, dicts and objects of those; "
                "functools.partial(function, value) for what stays the same",
            )
        return tree

    changed(tree, refuse)
