"""Copies: the objects that a graph is built with, in place of those that live outside.

While the function is traced, every mutable object that it can reach is a copy made for the trace,
with run-time values for arrays. The outside never holds a value of the graph, not for a moment;
what the function did to the copies is compared afterwards and done to the real ones on every call.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import NUMBERS
from d2s.backends.lax.forms.trees import map_leaves
from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.scopes import Scope, current_graphs
from d2s.backends.lax.objects.attributes import set_raw
from d2s.backends.lax.objects.contents import contents, keys_of, same_contents, slot_of, slots_of
from d2s.backends.lax.objects.flatten import new_object
from d2s.backends.lax.objects.keys import (
    Again,
    ChangingNumber,
    Contents,
    Itself,
    Node,
    Pairs,
    Static,
    layout,
)
from d2s.backends.lax.objects.nnx import is_mark, keep_order, unordered
from d2s.backends.lax.objects.slots import EMPTY, OuterSlot, Slot, cell_contents, copy_of_array
from d2s.backends.lax.private import trace_of
from d2s.backends.lax.reach.reach import Reach
from d2s.backends.lax.reach.reach import Restart as Restart
from d2s.backends.lax.trace.namespaces import refuse_inner_of
from d2s.conversion import is_made_inside
from d2s.errors import StagingError
from d2s.static import METHODS, StaticFunction, method


@dataclass
class Change:
    """What became of one copy: its contents before and after, in the terms of its kind."""

    #: number of the object among the owners, or the place
    target: int | OuterSlot
    before: Any
    after: Any


def _sharing(arrays: dict[int, Any]) -> set[int]:
    """The numbers of arrays that share memory with another one of them."""
    real = [(n, array) for n, array in arrays.items() if isinstance(array, np.ndarray)]
    pairs = itertools.combinations(real, 2)
    return {n for pair in pairs if np.may_share_memory(pair[0][1], pair[1][1]) for n, _ in pair}


class Copies:
    """A copy of everything that a key describes, made with the given leaves."""

    def __init__(
        self,
        key: tuple[Any, ...],
        leaves: tuple[Any, ...],
        owners: Any,
        places: tuple[OuterSlot, ...],
        reach: Reach,
    ) -> None:
        #: copies of the owners, in their order
        self.made: list[Any] = []
        self.roots: list[Any] = []
        self._reach, self._places = reach, places
        self._known = {(id(place.owner), place.name) for place in places}
        self._leaves = iter(leaves)
        changing = sum(type(token) is ChangingNumber for token in key)
        self._changing = iter(leaves[len(leaves) - changing :])
        self._tokens: Iterator[Any] = iter(key)
        self._count = len(owners)
        for token in self._tokens:
            self.roots.append(self._make(token))
        self._by_id = {id(real): copy for real, copy in zip(owners, self.made, strict=True)}
        self._numbers = {id(copy): n for n, copy in enumerate(self.made)}
        self._before = [contents(copy) for copy in self.made]
        self._kinds = [type(copy) for copy in self.made]
        arrays = {n: copy for n, copy in enumerate(self.made) if isinstance(copy, np.ndarray)}
        self._layouts = {n: layout(copy) for n, copy in arrays.items()}
        self._shared = _sharing({n: owners[n] for n in arrays})
        #: the places of those outside, which nobody may store anything in
        self._outside: list[Any] = [*map(slots_of, owners), [p for p in places if not p.is_fixed]]
        self._held_outside = [[place.get() for place in group] for group in self._outside]
        self._functions: dict[int, types.FunctionType] = {}
        self._kept: list[Any] = []
        self._make_places()

    def has(self, value: Any) -> bool:
        """Whether an object from outside has a copy."""
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
                self.made.append(aliases.argument(leaf))
            return leaf
        if kind is ChangingNumber:
            return origins.made(next(self._changing), token.exact)
        if kind is Again:
            return self._made(token.exact)
        if kind is Contents:
            self.made.append(copy_of_array(token.value))
            return self.made[-1]
        if isinstance(token, Static | Itself):
            return token.value
        if isinstance(token, Node):
            return self._make_node(token)
        # the metaclass of arrays is not `type`
        return next(self._leaves)

    def _made(self, number: int) -> Any:
        copy = self.made[number]
        if copy is None:
            raise StagingError(
                "a tuple, a frozen set or a pytree contains itself",
                code="D2S024",
                site=sites.where(),
                fix="an object that is not part of itself",
            )
        return copy

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
            made: Any = functools.partial(function)
            made.__setstate__((function, args, keywords, None))  # with this very dict
            return made
        if is_mark(kind):
            return kind()
        if isinstance(names, StaticFunction):
            self._parts(len(names.bound))
            return names
        if issubclass(kind, tuple) and isinstance(names, int):
            return kind(*self._parts(names))
        if issubclass(kind, tuple | frozenset):
            return self._make_fixed(kind, names)
        if isinstance(names, jax.tree_util.PyTreeDef):
            number = self._keep(None)
            parts = self._parts(names.num_leaves)
            self.made[number] = jax.tree_util.tree_unflatten(names, parts)
            return self.made[number]
        # first the object, then what is in it: it may contain itself
        if issubclass(kind, list):
            copy: Any = self.made[self._keep(list.__new__(kind))]
            list.extend(copy, self._parts(names))
        elif kind is deque:
            copy = self.made[self._keep(deque(maxlen=names[1]))]
            copy.extend(self._parts(names[0]))
        elif kind is set:
            copy = self.made[self._keep(set())]
            copy.update(self._parts(names) if isinstance(names, Pairs) else names)
        elif issubclass(kind, dict):
            # one of the user's is made without running any code of its class
            library = kind in (OrderedDict, defaultdict)
            copy = self.made[self._keep(kind() if library else dict.__new__(kind))]
            if kind is defaultdict:
                copy.default_factory = self._parts(1)[0]
            if isinstance(names, Pairs):
                for _ in range(names):
                    key, part = self._parts(2)
                    copy[key] = part
            else:
                for name in names:
                    copy[name] = self._parts(1)[0]
        else:
            copy = self.made[self._keep(new_object(kind))]
            for name, part in zip(names, self._parts(len(names)), strict=True):
                set_raw(copy, name, part)
        return copy

    def _make_fixed(self, kind: Any, names: Any) -> Any:
        """A tuple of the user's or a frozen set: the parts first, it is made of them."""
        number = self._keep(None)
        if kind is frozenset:
            self.made[number] = frozenset(self._parts(names))
            return self.made[number]
        count, attributes = names
        items = self._parts(count)
        copy = self.made[number] = tuple.__new__(kind, items)
        for name, part in zip(attributes, self._parts(len(attributes)), strict=True):
            set_raw(copy, name, part)
        return copy

    def _keep(self, copy: Any) -> int:
        self.made.append(copy)
        return len(self.made) - 1

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

    def _now(self, place: OuterSlot) -> Any:
        if place.is_fixed:
            return EMPTY
        if place.name is None:
            try:
                return self._cells[id(place.owner)].cell_contents
            except ValueError:
                return EMPTY
        return self._spaces[id(place.owner)].get(place.name, EMPTY)

    def enter(self, function: types.FunctionType) -> types.FunctionType:
        """What to run for a converted function: one that sees the copies instead of the outside."""
        known = self._functions.get(id(function))
        if known is not None:
            return known
        refuse_inner_of(function)
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
        defaults = self._copy_all(function.__defaults__)
        named = self._copy_all(function.__kwdefaults__)
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

    def _copy_all(self, values: Any) -> Any:
        if not values:
            return values
        if isinstance(values, tuple):
            new = tuple(map(self.of, values))
            return values if all(map(lambda a, b: a is b, new, values)) else new
        named = {name: self.of(value) for name, value in values.items()}
        return values if all(named[n] is values[n] for n in named) else named

    def of(self, real: Any) -> Any:
        """The copy of an object from outside; itself where it has none."""
        return self._by_id.get(id(real), real)

    def space_of(self, space: dict[str, Any]) -> dict[str, Any]:
        """The globals that functions with these globals have while the graph is built."""
        return self._spaces.get(id(space), space)

    def real_space(self, space: dict[str, Any]) -> dict[str, Any]:
        """The globals outside that these stand for."""
        for place in self._places:
            if self._spaces.get(id(place.owner)) is space:
                return place.owner  # type: ignore[no-any-return]
        return space

    def meets_name(self, space: dict[str, Any], name: str, written: bool = False) -> bool:
        """A global name is used that no function mentions; whether that brings something new."""
        return self._reach.meets_name(space, name, written)

    def sees_names(self, space: dict[str, Any], names: list[str]) -> bool:
        """Global names are read as they are outside; whether that brings something new."""
        return self._reach.sees_names(space, names)

    def meets_class(self, kind: type) -> None:
        """Objects of a class may be made, by code that looks at the outside itself."""
        if self._reach.meets_class(kind):
            raise Restart

    def meets_attribute(self, name: str) -> bool:
        return self._reach.meets_attribute(name)

    def meets_module(self, module: types.ModuleType) -> bool:
        return self._reach.meets_module(module)

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
        return not self.made and not self._places

    def leave_transformation(self, scope: Scope) -> None:
        """After jax has transformed a function of the user's: what that wrote is a plain value.

        Inside of `jax.grad` a value comes with its tangent, which nobody outside can use; but
        whoever returns may be called inside of another transformation, which goes on.
        """
        graphs = current_graphs()

        def lowered(leaf: Any) -> Any:
            while isinstance(leaf, jax.core.Tracer) and not scope.holds(leaf):
                if any(trace_of(leaf) is graph for graph in graphs):
                    break
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
            # jax keeps Python's numbers in classes of its own
            kind = next((k for k in NUMBERS if isinstance(leaf, k)), None)
            return leaf if kind is None or type(leaf) is kind else kind(leaf)

        for slot in self.places():
            value = slot.get()
            new = map_leaves(lowered, value)
            if new is not value:
                slot.set(new)
        for _, values in scope.snapshots:  # what somebody would find after a failure
            for identity, (slot, value) in values.items():
                values[identity] = slot, map_leaves(lowered, value)

    def take_back(self) -> bool:
        """Whether a value of the graph got into an object outside; it is taken out again."""
        found = False
        for group, before in zip(self._outside, self._held_outside, strict=True):
            for place, held in zip(group, before, strict=True):
                now = place.get() if place.is_there else held
                if now is not held and isinstance(now, jax.core.Tracer):
                    place.set(held)
                    found = True
        return found

    # -- what became of them ----------------------------------------------------------------------

    def number(self, copy: Any) -> int | None:
        """Which object from outside a copy stands for."""
        return self._numbers.get(id(copy))

    def changes(self) -> Iterator[Change]:
        for n, (copy, before) in enumerate(zip(self.made, self._before, strict=True)):
            attributes = unordered(copy)
            if attributes is not None:
                keep_order(attributes, before)
            after = contents(copy)
            if type(copy) is not self._kinds[n]:
                raise StagingError(
                    f"the class of a {self._kinds[n].__name__} is changed; a compiled call would "
                    "not repeat that",
                    code="D2S024",
                    fix="a new object of the other class",
                )
            if isinstance(copy, np.ndarray) and layout(copy) != self._layouts[n]:
                raise StagingError(
                    "the shape, the dtype or a flag of a NumPy array from outside is changed; a "
                    "compiled call would not repeat that",
                    code="D2S024",
                    fix="an array of its own: a.reshape(...), a.astype(...), a.copy()",
                )
            if not same_contents(before, after):
                if n in self._shared:
                    raise StagingError(
                        "a NumPy array from outside is changed, and another one from there is a "
                        "view of it; in the graph they are two",
                        code="D2S024",
                        fix="one of the two arrays, and what is needed of the other taken from it",
                    )
                yield Change(n, before, after)
        for place, before in zip(self._places, self._places_before, strict=True):
            after = self._now(place)
            if after is not before:
                yield Change(place, before, after)

    def changed(self) -> set[tuple[int, Any]]:
        """The identities of the places that do not hold what they held."""
        found = set()
        for change in self.changes():
            if isinstance(change.target, OuterSlot):
                found.add(self.slot(change.target).identity)
                continue
            copy, before = self.made[change.target], change.before
            if isinstance(before, list):
                before = dict(enumerate(before))
            for slot in (slot_of(copy, key) for key in keys_of(copy)):
                if before.get(slot.key, EMPTY) is not slot.get():
                    found.add(slot.identity)
        return found

    def places(self) -> list[Slot]:
        """Every place of the copies that holds a value now."""
        found: list[Slot] = []
        for copy in self.made:
            found += [slot_of(copy, key) for key in keys_of(copy)]
        found += [Slot(cell, None) for cell in self._cells.values()]
        for place in self._places:
            if place.name is not None and not place.is_fixed and self._now(place) is not EMPTY:
                found.append(self.slot(place))
        return found

    def wholes(self) -> list[Slot]:
        """None: a failure before or after something gets another size is refused at the end."""
        return []

    def slot(self, place: OuterSlot) -> Slot:
        if place.name is None:
            return Slot(self._cells[id(place.owner)], None)
        return Slot(self._spaces[id(place.owner)], place.name)

    def is_stray(self, slot: Slot) -> bool:
        """Whether a place is a global name that has no copy: code that is not converted sees it."""
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
