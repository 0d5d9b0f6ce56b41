"""Copies: the objects that a graph is built with, in place of those that live outside.

While the function is traced, every mutable object that it can reach is a copy made for the trace,
with run-time values for arrays. The outside never holds a value of the graph, not for a moment;
what the function did to the copies is compared afterwards and done to the real ones on every call.

    m.n = m.n + 1      the copy of `m` holds <tracer> in `n` before, <another tracer> after:
                       Change(target=number of m, before={"n": ...}, after={"n": ...})

`Copies` knows which copy stands for what, and what became of it. `copy_maker.py` makes the copies,
`surroundings.py` the globals and closures in which the functions of the graph find them.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.boundary.copy_maker import CopyMaker
from d2s.backends.lax.boundary.surroundings import Surroundings
from d2s.backends.lax.forms.dtypes import NUMBERS
from d2s.backends.lax.forms.exact import layout
from d2s.backends.lax.forms.kinds.attributes import own_dict
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import form_of, known_form
from d2s.backends.lax.forms.trees import map_leaves
from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.scopes import Scope, current_graphs
from d2s.backends.lax.objects.contents import contents, keys_of, same_contents, slot_of, slots_of
from d2s.backends.lax.objects.nnx import keep_order, unordered
from d2s.backends.lax.objects.slots import OuterSlot, Slot
from d2s.backends.lax.private import behind, trace_of
from d2s.backends.lax.reach.reach import Reach
from d2s.backends.lax.reach.reach import Restart as Restart
from d2s.backends.lax.trace.changed import LAYOUT, assigned
from d2s.errors import StagingError, a


@dataclass
class Change:
    """What became of one copy: its contents before and after, in the terms of its kind."""

    #: the number of the object among the owners of the call, or the slot outside
    target: int | OuterSlot
    before: Any
    after: Any


def extra_of(copy: Any) -> Any:
    """What can be assigned of a container besides its entries: a `default_factory`."""
    form = form_of(type(copy))
    extra = None if form is None or form.extra_name is None else form.extra(copy)
    return None if isinstance(extra, int) else extra


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
        """`owners` are the mutable objects of the call, in the order of the key."""
        maker = CopyMaker(key, leaves)
        #: the copies of the owners, in their order
        self.made = maker.made
        self.roots = maker.roots
        #: whose code works on them, for errors
        self.function: Any = None
        self._by_id = {id(real): copy for real, copy in zip(owners, self.made, strict=True)}
        self._numbers = {id(copy): n for n, copy in enumerate(self.made)}
        self._places = places
        self._known = {(id(place.owner), place.name) for place in places}
        # what the copies hold now, to see later what became of them
        self._before = [contents(copy) for copy in self.made]
        self._kinds = [type(copy) for copy in self.made]
        self._extras = [extra_of(copy) for copy in self.made]
        self._dicts = [own_dict(copy) for copy in self.made]
        arrays = {n: copy for n, copy in enumerate(self.made) if isinstance(copy, np.ndarray)}
        self._layouts = {n: layout(copy) for n, copy in arrays.items()}
        self._shared = _sharing({n: owners[n] for n in arrays})
        #: the slots of those outside, which nobody may store a value of the graph in
        self._outside: list[Any] = [*map(slots_of, owners), [p for p in places if not p.is_fixed]]
        self._held_outside = [[place.get() for place in group] for group in self._outside]
        values = self.roots[len(self.roots) - len(places) :]
        self._surroundings = Surroundings(places, values, reach, self._by_id)
        self._places_before = [self._surroundings.now(place) for place in places]

    def has(self, value: Any) -> bool:
        """Whether an object from outside has a copy."""
        return id(value) in self._by_id

    def has_place(self, owner: Any, name: str | None) -> bool:
        """Whether a global or a cell outside has one of its own in the graph."""
        return (id(owner), name) in self._known

    def of(self, real: Any) -> Any:
        """The copy of an object from outside; itself where it has none."""
        return self._by_id.get(id(real), real)

    def number(self, copy: Any) -> int | None:
        """Which object from outside a copy stands for."""
        return self._numbers.get(id(copy))

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing that the function could change."""
        return not self.made and not self._places

    def leave_transformation(self, scope: Scope) -> None:
        """A function that JAX transforms has ended: take what it left in the copies out of there.

        Inside of `jax.grad` a value comes with its tangent, which nobody outside can use. Values
        of a transformation around this one stay as they are.
        """
        graphs, label = current_graphs(), "an object"

        def lowered(leaf: Any) -> Any:
            while isinstance(leaf, jax.core.Tracer) and not scope.holds(leaf):
                if any(trace_of(leaf) is graph for graph in graphs):
                    break
                plain = behind(leaf)
                if plain is None:
                    site = assigned(self.function, label.strip("`"))
                    raise StagingError(
                        f"{sites.target(site) or label} is changed inside a jax transformation; "
                        "the new value is known only in there",
                        code="D2S078",
                        site=site or sites.where(),
                        fix="return the new value from the function that jax transforms",
                    )
                leaf = plain
            # jax keeps Python's numbers in classes of its own
            kind = next((k for k in NUMBERS if isinstance(leaf, k)), None)
            return leaf if kind is None or type(leaf) is kind else kind(leaf)

        for slot in self.filled_slots():
            value = slot.get()
            label = f"`{slot.key}`" if isinstance(slot.key, str) else "an object"
            new = map_leaves(lowered, value)
            if new is not value:
                slot.set(new)
        for _, values in scope.at_failures:  # what somebody would find after a failure
            for identity, (slot, value) in values.items():
                values[identity] = slot, map_leaves(lowered, value)

    def take_back(self) -> bool:
        """Take values of the graph out of the objects outside; whether there were any."""
        found = False
        for group, before in zip(self._outside, self._held_outside, strict=True):
            for place, held in zip(group, before, strict=True):
                now = place.get() if place.is_there else held
                if now is not held and isinstance(now, jax.core.Tracer):
                    place.set(held)
                    found = True
        return found

    # -- what became of them ----------------------------------------------------------------------

    def changes(self) -> Iterator[Change]:
        """The copies, and the slots outside, that do not hold what they held at first."""
        for n, (copy, before) in enumerate(zip(self.made, self._before, strict=True)):
            attributes = unordered(copy)
            if attributes is not None:
                keep_order(attributes, before)
            after = contents(copy)
            self._refuse_replaced(n, copy)
            if not same_contents(before, after):
                if n in self._shared:
                    raise StagingError(
                        "a NumPy array from outside is changed, and another one from there is a "
                        "view of it; in the graph they are two",
                        code="D2S070",
                        fix="one of the two arrays, and what is needed of the other taken from it",
                    )
                yield Change(n, before, after)
        for place, before in zip(self._places, self._places_before, strict=True):
            after = self._surroundings.now(place)
            if after is not before:
                yield Change(place, before, after)

    def _refuse_replaced(self, n: int, copy: Any) -> None:
        """Refuse what a program may assign of an object besides its entries and attributes."""
        kind, extra = self._kinds[n], extra_of(copy)
        if type(copy) is not kind:
            what = f"the class of {a(kind)}, is changed", "a new object of the other class"
            raise self._replaced(["__class__"], "D2S080", *what)
        if own_dict(copy) is not self._dicts[n]:
            fix = "the attributes one by one, or vars(one).update(vars(other))"
            what = f"the attributes of {a(kind)}, are replaced by those of another", fix
            raise self._replaced(["__dict__"], "D2S080", *what)
        if extra is not self._extras[n]:
            what = f"of {a(kind)}, is changed", "another one with the entries of the old"
            raise self._replaced([str(known_form(kind).extra_name)], "D2S080", *what)
        if isinstance(copy, np.ndarray) and layout(copy) != self._layouts[n]:
            fix = "an array of its own: a.reshape(...), a.astype(...), a.copy()"
            raise self._replaced(LAYOUT, "D2S071", "of a NumPy array from outside, is changed", fix)

    def _replaced(self, names: Sequence[str], code: str, what: str, fix: str) -> StagingError:
        site = assigned(self.function, *names)
        name = f"`{names[0]}`" if len(names) == 1 else "the shape, the dtype or a flag"
        return StagingError(
            f"{sites.target(site) or name}, {what}; a compiled call would not repeat that",
            code=code,
            site=site,
            fix=fix,
        )

    def changed(self) -> set[tuple[int, Any]]:
        """The identities of the slots that do not hold what they held at first."""
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

    def filled_slots(self) -> list[Slot]:
        """Every slot of the copies that holds a value now."""
        found: list[Slot] = []
        for copy in self.made:
            found += [slot_of(copy, key) for key in keys_of(copy)]
        found += [Slot(cell, None) for cell in self._surroundings.cells.values()]
        for place in self._places:
            is_global = place.name is not None and not place.is_fixed
            if is_global and self._surroundings.now(place) is not EMPTY:
                found.append(self.slot(place))
        return found

    def whole_slots(self) -> list[Slot]:
        """No object is followed as a whole: results.py refuses those that may have two sizes."""
        return []

    # -- the surroundings of functions: see there --------------------------------------------------

    def enter(self, function: types.FunctionType) -> types.FunctionType:
        return self._surroundings.enter(function)

    def enter_as_is(self, function: types.FunctionType) -> None:
        self._surroundings.enter_as_is(function)

    def space_of(self, space: dict[str, Any]) -> dict[str, Any]:
        return self._surroundings.space_of(space)

    def real_space(self, space: dict[str, Any]) -> dict[str, Any]:
        return self._surroundings.real_space(space)

    def cell_of(self, cell: types.CellType) -> types.CellType:
        return self._surroundings.cell_of(cell)

    def slot(self, place: OuterSlot) -> Slot:
        return self._surroundings.slot(place)

    def is_stray(self, slot: Slot) -> bool:
        return self._surroundings.is_stray(slot)

    def stray(self) -> str | None:
        return self._surroundings.stray()

    # -- what turns out to be reached while the graph is built -------------------------------------

    def meets_name(self, space: dict[str, Any], name: str, written: bool = False) -> bool:
        """A global name is used that no function mentions; whether that brings something new."""
        return self._surroundings.reach.meets_name(space, name, written)

    def sees_names(self, space: dict[str, Any], names: list[str]) -> bool:
        """Global names are read as they are outside; whether that brings something new."""
        return self._surroundings.reach.sees_names(space, names)

    def meets_class(self, kind: type) -> None:
        """Objects of a class may be made, by code that looks at the outside itself."""
        if self._surroundings.reach.meets_class(kind):
            raise Restart

    def meets_attribute(self, name: str) -> bool:
        return self._surroundings.reach.meets_attribute(name)

    def meets_module(self, module: types.ModuleType) -> bool:
        return self._surroundings.reach.meets_module(module)
