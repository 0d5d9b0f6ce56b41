"""Readers and runners: the walk over the arguments of a call, written out as Python code for a key.

The key of a graph says exactly where its leaves are. Code that goes there, and looks on its way
that everything else is as it was, takes a fraction of the time of the walk that finds the key. It
gives None when something is different; then the walk decides. For `f(m, x)`, where `m` is an object
with an array `w` and the number 3 in `n`, the reader is

    def made(args):
     if len(args) != 2: return None
     (v1, v2, ) = args
     if not (type(v1) is c1): return None                   # c1 is the class of m
     v3 = v1.__dict__
     if not (tuple(v3) == c2): return None                  # c2 is ("w", "n")
     v4 = v3['w']
     if not (type(v4) is A ...): return None                # a leaf
     v5 = v3['n']
     if not (type(v5) is c3 and v5 == c4): return None      # the number 3
     if not (type(v2) is A): return None                    # a leaf
     return (v4, v2, ), (v1, )                              # leaves, owners

A runner asks the guards as well and calls the graph with the leaves, all in one function.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.dtypes import fits
from d2s.backends.lax.forms.exact import Contents
from d2s.backends.lax.forms.kinds.attributes import slot_names
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import known_form
from d2s.backends.lax.forms.origins import LEFT, left_kind
from d2s.backends.lax.forms.parts import container_form
from d2s.backends.lax.forms.registered import Layout
from d2s.backends.lax.forms.trees import behind_proxy
from d2s.backends.lax.forms.widths import SMALL, narrowed
from d2s.backends.lax.objects.flatten import ARRAY
from d2s.backends.lax.objects.guards import Guard
from d2s.backends.lax.objects.keys import (
    Again,
    ChangingNumber,
    Itself,
    Node,
    Number,
    Pairs,
    Static,
    are_unchanged,
    states,
)
from d2s.backends.lax.objects.nnx import is_mark
from d2s.backends.lax.objects.refs import RefCopy
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.static import METHODS, StaticFunction

#: the leaves of a call, and its owners: the mutable objects that they were found in
Found = tuple[tuple[Any, ...], tuple[Any, ...]]
Read = Callable[[tuple[Any, ...]], Found | None]

#: for a key of more tokens the code would take longer to compile than it saves
_LONG = 5000
_NUMBERS = (int, float, complex)
#: what lies between an argument and the numbers in it that are leaves
_CONTAINERS = (tuple, types.MappingProxyType)


#: what a runner gives for a call that has another key
MISS = object()


def missed(*_: Any) -> Any:
    """The runner of a function that has none."""
    return MISS


def unreadable(args: tuple[Any, ...]) -> None:
    """The reader of a key that has none."""


def reader(key: tuple[Any, ...], places: tuple[OuterSlot, ...]) -> Read | None:
    """The reader of a key for calls without keywords; None where there is nothing to gain."""
    writer = _written(key, places, "None")
    if writer is None:
        return None
    names = _tuple(writer.parameters)
    leaves = "args" if writer.leaves == writer.parameters else _tuple(writer.leaves)
    lines = [
        "def made(args):",
        f" if len(args) != {len(writer.parameters)}: return None",
        *([f" {names} = args"] if writer.parameters else []),
        *writer.lines,
        f" return {leaves}, {_tuple(writer.owners)}",
    ]
    read: Read = _made(lines, writer.constants)
    return read


def runner(
    key: tuple[Any, ...], places: tuple[OuterSlot, ...], guards: Sequence[Guard], graph: Any
) -> Any:
    """A reader that runs the graph as well, or gives `MISS`; only where no object is an owner."""
    writer = _written(key, places, "MISS")
    if writer is None or writer.owners:
        return None
    space = {**writer.constants, "MISS": MISS, "graph": graph}
    for guard in guards:
        space |= guard.names
    given = "".join(f"{name}=MISS, " for name in writer.parameters)
    lines = [
        f"def made({given}*rest):",
        " if rest: return MISS",
        *writer.lines,
        *(f" if not ({guard.test}): return MISS" for guard in guards),
        f" return graph({', '.join(writer.leaves)})",
    ]
    return _made(lines, space)


def _written(key: tuple[Any, ...], places: tuple[OuterSlot, ...], miss: str) -> _Writer | None:
    if len(key) > _LONG:
        return None
    writer = _Writer(key, miss)
    try:
        writer.write(places)
    except _NotWorthIt:
        return None
    return writer


def _made(lines: list[str], space: dict[str, Any]) -> Any:
    exec(compile("\n".join(lines), "<d2s reader>", "exec"), space)
    return space["made"]


class _NotWorthIt(Exception):
    """The key has a part for which straight code would be as slow as the walk."""


class _Writer:
    """Writes the lines of a reader, token after token; the walk met the values in this order."""

    def __init__(self, key: tuple[Any, ...], miss: str) -> None:
        self._tokens: Iterator[Any] = iter(key)
        self._miss = miss
        self.constants: dict[str, Any] = {"A": ARRAY, "EMPTY": EMPTY, "fits": fits}
        self.constants |= {"is_number": _is_number, "are_unchanged": are_unchanged}
        self.constants |= {"left": LEFT, "not_left": lambda value: left_kind(value) is None}
        self.constants["narrowed"] = narrowed
        #: the names of the variables that hold the arguments, the leaves and the owners
        self.parameters: list[str] = []
        self.lines: list[str] = []
        self.leaves: list[str] = []
        self.owners: list[str] = []
        self._changing: list[str] = []
        self._distinct: list[str] = []
        self._count = 0
        #: whether the value that is read comes from an argument, and not from a slot outside
        self._given = False

    def write(self, places: tuple[OuterSlot, ...]) -> None:
        self.parameters = [self._name() for _ in range(next(self._tokens).names)]
        self._given = True
        for name in self.parameters:
            self._value(name)
        self._given = False
        names, values = next(self._tokens), next(self._tokens)
        assert names.names == values.names == 0, "no keywords"
        for place in places:
            owner, name = self._constant(place.owner), self._name()
            if place.name is None or place.is_fixed:
                self.lines.append(f" {name} = {self._constant(place)}.get()")
            else:
                self.lines.append(f" {name} = {owner}.get({place.name!r}, EMPTY)")
            self._value(name)
        if len(self._distinct) > 1:
            ids = ", ".join(f"id({name})" for name in self._distinct)
            self._unless(f"len({{{ids}}}) == {len(self._distinct)}")
        self.leaves += self._changing

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _constant(self, value: Any) -> str:
        name = f"c{len(self.constants)}"
        self.constants[name] = value
        return name

    def _unless(self, test: str) -> None:
        self.lines.append(f" if not ({test}): return {self._miss}")

    def _owner(self, name: str) -> None:
        self.owners.append(name)
        self._distinct.append(name)

    def _value(self, name: str) -> None:
        token = next(self._tokens)
        kind = type(token)
        if token is ARRAY:
            other = "" if self._given else f" and (id({name}) not in left or not_left({name}))"
            self._unless(f"type({name}) is A{other}")
            self.leaves.append(name)
        elif kind is Again:
            self._unless(f"{name} is {self.owners[token.exact]}")
        elif kind is ChangingNumber:
            self._unless(f"is_number({name}, {self._constant(token.exact)})")
            self._changing.append(name)
        elif kind is Contents:
            expected = self._constant(token)
            self._unless(
                f"type({name}) is {self._constant(np.ndarray)} and {expected}.is_in({name})"
            )
            self._owner(name)
        elif kind in (Static, Number, Itself):
            # Python makes some integers anew each time that they are read, as `deque.maxlen`.
            known = self._constant(token.value)
            is_int = kind is Static and type(token.value) is int
            self._unless(
                f"type({name}) is int and {name} == {known}" if is_int else f"{name} is {known}"
            )
            if kind is Static and token.holders:
                self._unless(f"are_unchanged({self._constant(states(token.holders))})")
        elif kind is Node:
            given = self._given
            is_container = container_form(token.kind) is not None
            self._given = given and (is_container or issubclass(token.kind, _CONTAINERS))
            self._node(name, token)
            self._given = given
        elif token in _NUMBERS:
            self._number(name, token)
            self.leaves.append(name)
        elif token is np.ndarray:
            self._unless(f"type({name}) is {self._constant(np.ndarray)}")
            self._owner(name)
            fitting = self._name()
            is_small = f"{name}.dtype.char in {SMALL!r}"
            self.lines.append(f" {fitting} = {name} if {is_small} else narrowed({name})")
            self._unless(f"{fitting} is not None")
            self.leaves.append(fitting)
        else:
            raise _NotWorthIt  # under a transformation, or NumPy's scalars

    def _number(self, name: str, kind: type) -> None:
        in_range = f" and fits({name})" if kind is int else ""
        self._unless(f"type({name}) is {self._constant(kind)}{in_range}")

    def _node(self, name: str, node: Node) -> None:
        kind, names = node.kind, node.names
        if kind is RefCopy:
            raise _NotWorthIt
        if is_mark(kind):
            self._unless(f"type({name}) is {self._constant(kind)}")
            return
        self._unless(f"type({name}) is {self._constant(kind)}")
        if kind in METHODS:
            self._unless(f"{name}.__func__ is {self._constant(names)}")
            self._part(f"{name}.__self__")
        elif isinstance(names, StaticFunction):
            self._unless(f"{name} is {self._constant(names)}")
            for n in range(len(names.bound)):
                self._part(f"{name}.bound[{n}]")
        elif kind is slice:
            for part in ("start", "stop", "step"):
                self._part(f"{name}.{part}")
        elif kind is functools.partial:
            for part in ("func", "args", "keywords"):
                self._part(f"{name}.{part}")
        elif isinstance(names, jax.tree_util.PyTreeDef):
            self._pytree(name, names)
        elif (
            isinstance(names, Layout)
            or kind is frozenset
            or (issubclass(kind, tuple) and not isinstance(names, int))
        ):
            raise _NotWorthIt
        elif issubclass(kind, tuple):
            self._unless(f"len({name}) == {names}")
            for n in range(names):
                self._part(f"{name}[{n}]")
        elif container_form(kind) is not None:
            self._container(name, node)
        elif kind is types.MappingProxyType:
            self._owner(name)
            self._part(f"{self._constant(behind_proxy)}({name})")
        else:
            self._owner(name)
            self._attributes(name, kind, names)

    def _part(self, expression: str) -> None:
        name = self._name()
        self.lines.append(f" {name} = {expression}")
        self._value(name)

    def _container(self, name: str, node: Node) -> None:
        """The order is that of the walk: see `Taken._container`."""
        form, names = known_form(node.kind), node.names
        self._owner(name)
        if isinstance(names, bytes):
            self._unless(f"{name} == {self._constant(names)}")
        elif type(names) is int:
            self._unless(f"len({name}) == {names}")
        else:
            self._keys(name, names)
        if form.extra_name is not None:
            self._part(f"{name}.{form.extra_name}")
        if form.has_slots:
            for key in names if form.is_by_key else range(names):
                self._part(f"{name}[{key!r}]")
        if node.has_attributes:
            self._part(f"{name}.__dict__")

    def _keys(self, name: str, keys: Any) -> None:
        """The keys of a dict or the items of a set, if they are texts: others are not looked at."""
        if isinstance(keys, Pairs) or not all(type(key) is str for key in keys):
            raise _NotWorthIt
        known, kinds = self._constant(tuple(keys)), self._constant((str,) * len(keys))
        self._unless(f"tuple({name}) == {known} and tuple(map(type, {name})) == {kinds}")

    def _attributes(self, name: str, kind: Any, names: tuple[str, ...]) -> None:
        if slot_names(kind):
            raise _NotWorthIt
        own = self._name()
        self.lines.append(f" {own} = {name}.__dict__")
        self._unless(f"tuple({own}) == {self._constant(names)}")
        for attribute in names:
            self._part(f"{own}[{attribute!r}]")

    def _pytree(self, name: str, treedef: Any) -> None:
        self._owner(name)
        parts = self._name()
        flatten = self._constant(_flat)
        self.lines.append(f" {parts} = {flatten}({name}, {self._constant(treedef)})")
        self._unless(f"{parts} is not None")
        for n in range(treedef.num_leaves):
            self._part(f"{parts}[{n}]")


def _tuple(names: list[str]) -> str:
    return "({})".format("".join(f"{name}, " for name in names))


def _is_number(value: Any, kind: type) -> bool:
    if type(value) is ARRAY:
        return left_kind(value) is kind
    return type(value) is kind and (type(value) is not int or fits(value))


def _flat(value: Any, treedef: Any) -> list[Any] | None:
    parts, found = jax.tree_util.tree_flatten(value, is_leaf=lambda v: v is not value)
    return parts if found == treedef else None
