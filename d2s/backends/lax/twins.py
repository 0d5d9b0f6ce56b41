"""Twins: the objects that a graph is built with, in place of those that live outside.

While the function is traced, every mutable object that it can reach is a copy made for the trace,
with run-time values for arrays. The outside never holds a value of the graph, not for a moment;
what the function did to the twins is compared afterwards and done to the real ones on every call.
"""

from __future__ import annotations

import functools
import types
from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from d2s.backends.lax import aliases, origins, sites
from d2s.backends.lax.channels import Scope
from d2s.backends.lax.dtypes import NUMBERS
from d2s.backends.lax.keys import Again, Changing, Contents, Itself, Node, Pairs, Static
from d2s.backends.lax.levels import is_mark, keep_order, unordered
from d2s.backends.lax.places import EMPTY, Slot, cell_contents, instance_slot
from d2s.backends.lax.reach import Place, Reach
from d2s.backends.lax.state import attribute_names, getattr_raw, set_raw
from d2s.backends.lax.trees import map_leaves
from d2s.conversion import is_made_inside
from d2s.errors import StagingError
from d2s.static import METHODS, StaticFunction, method


class Restart(BaseException):
    """What the function reaches turned out to be more than its key says: walk again."""


@dataclass
class Change:
    """What became of one twin: its contents before and after, in the terms of its kind."""

    #: number of the object among the owners, or the place
    target: int | Place
    before: Any
    after: Any


class Twins:
    """A copy of everything that a key describes, made with the given leaves."""

    def __init__(
        self,
        key: tuple[Any, ...],
        leaves: tuple[Any, ...],
        owners: Any,
        places: tuple[Place, ...],
        reach: Reach,
    ) -> None:
        #: copies of the owners, in their order
        self.copies: list[Any] = []
        self.roots: list[Any] = []
        self._reach, self._places = reach, places
        self._known = {(id(place.owner), place.name) for place in places}
        self._leaves = iter(leaves)
        changing = sum(type(token) is Changing for token in key)
        self._changing = iter(leaves[len(leaves) - changing :])
        self._tokens: Iterator[Any] = iter(key)
        self._count = len(owners)
        for token in self._tokens:
            self.roots.append(self._make(token))
        self._by_id = {id(real): copy for real, copy in zip(owners, self.copies, strict=True)}
        self._numbers = {id(copy): n for n, copy in enumerate(self.copies)}
        self._before = [contents(copy) for copy in self.copies]
        self._functions: dict[int, types.FunctionType] = {}
        self._kept: list[Any] = []
        self._make_places()

    def has(self, value: Any) -> bool:
        """Whether an object from outside has a twin."""
        return id(value) in self._by_id

    def has_place(self, owner: Any, name: str | None) -> bool:
        return (id(owner), name) in self._known

    def _make(self, token: Any) -> Any:
        kind = type(token)
        if kind is type:
            leaf = origins.made(next(self._leaves), token if token in NUMBERS else origins.ARRAY)
            if token is not origins.ARRAY:
                aliases.plain_argument(token)
            if token is np.ndarray:
                self.copies.append(aliases.argument(leaf))
            return leaf
        if kind is Changing:
            return origins.made(next(self._changing), token.exact)
        if kind is Again:
            return self.copies[token.exact]
        if kind is Contents:
            self.copies.append(token.value.copy())
            return self.copies[-1]
        if isinstance(token, Static | Itself):
            return token.value
        if isinstance(token, Node):
            return self._make_node(token)
        # the metaclass of arrays is not `type`
        return next(self._leaves)

    def _parts(self, count: int) -> list[Any]:
        return [self._make(next(self._tokens)) for _ in range(count)]

    def _make_node(self, node: Node) -> Any:
        kind, names = node.kind, node.names
        if kind is tuple:
            return tuple(self._parts(names))
        if kind in METHODS:
            return method(names, self._parts(1)[0])
        if kind is slice:
            return slice(*self._parts(3))
        if kind is functools.partial:
            function, args, keywords = self._parts(3)
            return functools.partial(function, *args, **keywords)
        if is_mark(kind):
            return kind()
        if isinstance(names, StaticFunction):
            self._parts(len(names.bound))
            return names
        if issubclass(kind, tuple):
            return kind(*self._parts(names))
        if isinstance(names, jax.tree_util.PyTreeDef):
            number = self._keep(None)
            parts = self._parts(names.num_leaves)
            self.copies[number] = jax.tree_util.tree_unflatten(names, parts)
            return self.copies[number]
        # first the object, then what is in it: it may contain itself
        if kind is list:
            copy: Any = self.copies[self._keep([])]
            copy.extend(self._parts(names))
        elif kind is deque:
            copy = self.copies[self._keep(deque(maxlen=names[1]))]
            copy.extend(self._parts(names[0]))
        elif kind is set:
            copy = self.copies[self._keep(set())]
            copy.update(self._parts(names) if isinstance(names, Pairs) else names)
        elif issubclass(kind, dict):
            copy = self.copies[self._keep(kind())]
            if kind is defaultdict:
                copy.default_factory = self._parts(1)[0]
            if isinstance(names, Pairs):
                copy.update([self._parts(2) for _ in range(names)])
            else:
                for name in names:
                    copy[name] = self._parts(1)[0]
        else:
            copy = self.copies[self._keep(object.__new__(kind))]
            for name, part in zip(names, self._parts(len(names)), strict=True):
                set_raw(copy, name, part)
        return copy

    def _keep(self, copy: Any) -> int:
        self.copies.append(copy)
        return len(self.copies) - 1

    # -- functions from outside -------------------------------------------------------------------

    def _make_places(self) -> None:
        """Globals and cells of their own for the functions that read or write them."""
        self._spaces: dict[int, dict[str, Any]] = {}
        self._cells: dict[int, types.CellType] = {}
        values = self.roots[len(self.roots) - len(self._places) :]
        for place, value in zip(self._places, values, strict=True):
            if place.is_fixed:
                continue
            if place.name is None:
                cell = self._cells[id(place.owner)] = types.CellType()
                if value is not EMPTY:
                    cell.cell_contents = value
            else:
                space = self._spaces.setdefault(id(place.owner), dict(place.owner))
                if value is not EMPTY:
                    space[place.name] = value
        self._spaces_before = {key: dict(space) for key, space in self._spaces.items()}
        self._places_before = [self._now(place) for place in self._places]

    def _now(self, place: Place) -> Any:
        if place.is_fixed:
            return EMPTY
        if place.name is None:
            try:
                return self._cells[id(place.owner)].cell_contents
            except ValueError:
                return EMPTY
        return self._spaces[id(place.owner)].get(place.name, EMPTY)

    def enter(self, function: types.FunctionType) -> types.FunctionType:
        """What to run for a converted function: one that sees the twins instead of the outside."""
        known = self._functions.get(id(function))
        if known is not None:
            return known
        if not self._is_own(function) and self._reach.meets(function):
            raise Restart
        self._functions[id(function)] = known = self._make_function(function)
        # both are kept, or another function could get the id
        self._kept += [function, known]
        self._functions[id(known)] = known
        return known

    def enter_as_is(self, function: types.FunctionType) -> None:
        """A function that is not converted looks at the outside itself."""
        if not self._is_own(function) and self._reach.meets_as_is(function):
            raise Restart

    def _make_function(self, function: types.FunctionType) -> types.FunctionType:
        space = self.space_of(function.__globals__)
        closure = tuple(map(self.cell_of, function.__closure__ or ()))
        defaults = self._twin_all(function.__defaults__)
        named = self._twin_all(function.__kwdefaults__)
        cells = zip(closure, function.__closure__ or (), strict=True)
        same = space is function.__globals__ and all(a is b for a, b in cells)
        if same and defaults is function.__defaults__ and named is function.__kwdefaults__:
            return function
        made = types.FunctionType(
            function.__code__, space, function.__name__, defaults, closure or None
        )
        made.__kwdefaults__ = named
        made.__dict__.update(function.__dict__)
        made.__qualname__, made.__module__ = function.__qualname__, function.__module__
        return made

    def _twin_all(self, values: Any) -> Any:
        if not values:
            return values
        if isinstance(values, tuple):
            new = tuple(map(self.of, values))
            return values if all(map(lambda a, b: a is b, new, values)) else new
        named = {name: self.of(value) for name, value in values.items()}
        return values if all(named[n] is values[n] for n in named) else named

    def of(self, real: Any) -> Any:
        """The twin of an object from outside; itself where it has none."""
        return self._by_id.get(id(real), real)

    def space_of(self, space: dict[str, Any]) -> dict[str, Any]:
        """The globals that functions with these globals have while the graph is built."""
        return self._spaces.get(id(space), space)

    def cell_of(self, cell: types.CellType) -> types.CellType:
        return self._cells.get(id(cell), cell)

    def _is_own(self, function: types.FunctionType) -> bool:
        """Whether a function was made inside the trace."""
        if is_made_inside(function):
            return True
        if any(function.__globals__ is space for space in self._spaces.values()):
            return True
        held = [cell_contents(cell) for cell in function.__closure__ or ()]
        return any(isinstance(v, jax.core.Tracer) or self.number(v) is not None for v in held)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that the function could change."""
        return not self.copies and not self._places

    def leave_transformation(self, scope: Scope) -> None:
        """After jax has transformed a function of the user's: what that wrote is a plain value.

        Inside of `jax.grad` a value comes with its tangent, which nobody outside can use.
        """

        def lowered(leaf: Any) -> Any:
            while isinstance(leaf, jax.core.Tracer) and not scope.holds(leaf):
                plain = getattr(leaf, "primal", None)
                if plain is None and getattr(leaf, "batch_dim", EMPTY) is None:
                    plain = leaf.val
                if plain is None:
                    raise StagingError(
                        "an object is changed inside a jax transformation; the new value is known "
                        "only in there",
                        code="D2S024",
                        site=sites.where(),
                        fix="return the new value from the function that jax transforms",
                    )
                leaf = plain
            return leaf

        for slot in self.places():
            value = slot.get()
            new = map_leaves(lowered, value)
            if new is not value:
                slot.set(new)

    # -- what became of them ----------------------------------------------------------------------

    def number(self, copy: Any) -> int | None:
        """Which object from outside a twin stands for."""
        return self._numbers.get(id(copy))

    def changes(self) -> Iterator[Change]:
        for n, (copy, before) in enumerate(zip(self.copies, self._before, strict=True)):
            attributes = unordered(copy)
            if attributes is not None:
                keep_order(attributes, before)
            after = contents(copy)
            if not same_contents(before, after):
                yield Change(n, before, after)
        for place, before in zip(self._places, self._places_before, strict=True):
            after = self._now(place)
            if after is not before:
                yield Change(place, before, after)

    def changed(self) -> set[tuple[int, Any]]:
        """The identities of the places that do not hold what they held."""
        found = set()
        for change in self.changes():
            if isinstance(change.target, Place):
                found.add(self.slot(change.target).identity)
                continue
            copy, before = self.copies[change.target], change.before
            if isinstance(before, list):
                before = dict(enumerate(before))
            for slot in (slot_of(copy, key) for key in keys_of(copy)):
                if before.get(slot.key, EMPTY) is not slot.get():
                    found.add(slot.identity)
        return found

    def places(self) -> list[Slot]:
        """Every place of the twins that holds a value now."""
        found: list[Slot] = []
        for copy in self.copies:
            found += [slot_of(copy, key) for key in keys_of(copy)]
        found += [Slot(cell, None) for cell in self._cells.values()]
        for place in self._places:
            if place.name is not None and not place.is_fixed and self._now(place) is not EMPTY:
                found.append(self.slot(place))
        return found

    def wholes(self) -> list[Slot]:
        """None: a failure before or after something gets another size is refused at the end."""
        return []

    def slot(self, place: Place) -> Slot:
        if place.name is None:
            return Slot(self._cells[id(place.owner)], None)
        return Slot(self._spaces[id(place.owner)], place.name)

    def is_stray(self, slot: Slot) -> bool:
        """Whether a place is a global name that has no twin: code that is not converted sees it."""
        if not slot.is_global:
            return False
        own = (place for place in self._places if place.name == slot.key and not place.is_fixed)
        return not any(self.slot(place).owner is slot.owner for place in own)

    def stray(self) -> str | None:
        """A global that was made or changed though no function says that it does."""
        for key, space in self._spaces.items():
            before = self._spaces_before[key]
            known = {p.name for p in self._places if id(p.owner) == key}
            for name in space.keys() | before.keys():
                if name not in known and space.get(name, EMPTY) is not before.get(name, EMPTY):
                    return str(name)
        return None


def keys_of(value: Any) -> list[Any]:
    """By what the entries of a mutable object are told apart."""
    if isinstance(value, list | deque):
        return list(range(len(value)))
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, set | np.ndarray | jax.Array):
        return []
    return list(attribute_names(value))


def slot_of(value: Any, key: Any) -> Slot:
    if isinstance(value, list | deque | dict):
        return Slot(value, key)
    return instance_slot(value, key)


def contents(value: Any) -> Any:
    """What is in a mutable object, as it is now."""
    if isinstance(value, list | deque):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set):
        return set(value)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, jax.Array):
        return None
    return {name: getattr_raw(value, name) for name in attribute_names(value)}


def same_contents(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        return list(before) == list(after) and all(before[k] is after[k] for k in before)
    if isinstance(before, list):
        return len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))
    if isinstance(before, np.ndarray):
        return bool(before.tobytes() == after.tobytes())
    return bool(before == after)
