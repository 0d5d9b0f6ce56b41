"""The globals and closures that functions have while a graph is built.

A function from outside reads and writes its globals and the cells of its closure. While a graph is
built it must find run-time values there, and nobody else may see those. So it runs as another
function with the same code:

    outside                                  in the graph
    def step(): return scale * x             the same code; globals = {**globals, "scale": <tracer>}

Only the slots that the key has parts for (`OuterSlot`, found by `reach`) hold copies. A function
that reaches more than the key says raises `Restart`: the walk starts again, with that as well.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

import jax

from d2s.backends.lax.forms.kinds.code import cell_contents
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.objects.slots import OuterSlot, Slot
from d2s.backends.lax.reach.reach import Reach, Restart
from d2s.backends.lax.trace.namespaces import refuse_inner_of
from d2s.conversion import is_made_inside


class Surroundings:
    """Namespaces and cells made for one graph, and the functions that see them."""

    def __init__(
        self,
        slots: tuple[OuterSlot, ...],
        values: list[Any],
        reach: Reach,
        copies: Mapping[int, Any],
    ) -> None:
        """`values` is what the slots hold in the graph; `copies` go by the identity of the real."""
        self.slots, self.reach = slots, reach
        self._copies = copies
        self._own = {id(copy) for copy in copies.values()}
        #: the namespaces and cells of the graph, by the identity of those outside
        self._spaces: dict[int, dict[str, Any]] = {}
        self.cells: dict[int, types.CellType] = {}
        for slot, value in zip(slots, values, strict=True):
            self._make(slot, value)
        self._spaces_before = {key: dict(space) for key, space in self._spaces.items()}
        #: the functions of the graph by the identity of those outside, and by their own
        self._functions: dict[int, types.FunctionType] = {}
        #: both are kept, or another function could get the identity
        self._kept: list[Any] = []

    def _make(self, slot: OuterSlot, value: Any) -> None:
        if slot.is_fixed:
            return
        if slot.name is None:
            cell = self.cells[id(slot.owner)] = types.CellType()
            if value is not EMPTY:
                cell.cell_contents = value
        else:
            space = self._spaces.setdefault(id(slot.owner), dict(slot.owner))
            if value is not EMPTY:
                space[slot.name] = value

    def now(self, slot: OuterSlot) -> Any:
        """What a slot holds in the graph now."""
        if slot.is_fixed:
            return EMPTY
        if slot.name is None:
            return cell_contents(self.cells[id(slot.owner)])
        return self._spaces[id(slot.owner)].get(slot.name, EMPTY)

    # -- functions ---------------------------------------------------------------------------------

    def enter(self, function: types.FunctionType) -> types.FunctionType:
        """What to run for a converted function: one that sees the copies instead of the outside."""
        known = self._functions.get(id(function))
        if known is not None:
            return known
        refuse_inner_of(function)
        if not self._is_own(function) and self.reach.meets(function):
            raise Restart
        self._functions[id(function)] = known = self._make_function(function)
        self._kept += [function, known]
        self._functions[id(known)] = known
        return known

    def enter_as_is(self, function: types.FunctionType) -> None:
        """A function that is not converted looks at the outside itself."""
        if not self._is_own(function) and self.reach.meets_as_is(function):
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
        """Defaults of a function with copies in them, or the very same where none has a copy."""
        if not values:
            return values
        if isinstance(values, tuple):
            new = tuple(self._copies.get(id(value), value) for value in values)
            return values if all(map(lambda a, b: a is b, new, values)) else new
        named = {name: self._copies.get(id(value), value) for name, value in values.items()}
        return values if all(named[n] is values[n] for n in named) else named

    def _is_own(self, function: types.FunctionType) -> bool:
        """Whether a function was made inside the trace."""
        if is_made_inside(function):
            return True
        if any(function.__globals__ is space for space in self._spaces.values()):
            return True
        held = [cell_contents(cell) for cell in function.__closure__ or ()]
        return any(isinstance(v, jax.core.Tracer) or id(v) in self._own for v in held)

    # -- namespaces --------------------------------------------------------------------------------

    def space_of(self, space: dict[str, Any]) -> dict[str, Any]:
        """The globals that functions with these globals have while the graph is built."""
        return self._spaces.get(id(space), space)

    def real_space(self, space: dict[str, Any]) -> dict[str, Any]:
        """The globals outside that these stand for."""
        for slot in self.slots:
            if self._spaces.get(id(slot.owner)) is space:
                return slot.owner  # type: ignore[no-any-return]
        return space

    def cell_of(self, cell: types.CellType) -> types.CellType:
        return self.cells.get(id(cell), cell)

    def slot(self, outer: OuterSlot) -> Slot:
        """The slot of the graph that stands for one outside."""
        if outer.name is None:
            return Slot(self.cells[id(outer.owner)], None)
        return Slot(self._spaces[id(outer.owner)], outer.name)

    def is_stray(self, slot: Slot) -> bool:
        """Whether a slot is a global name that has no copy: code that is not converted sees it."""
        if not slot.is_global:
            return False
        own = (outer for outer in self.slots if outer.name == slot.key and not outer.is_fixed)
        return not any(self.slot(outer).owner is slot.owner for outer in own)

    def stray(self) -> str | None:
        """A global that was made or changed though no function says that it does."""
        for key, space in self._spaces.items():
            before = self._spaces_before[key]
            known = {slot.name for slot in self.slots if id(slot.owner) == key}
            # Python itself notes in the globals which warnings it has shown.
            for name in (space.keys() | before.keys()) - {"__warningregistry__"}:
                if name not in known and space.get(name, EMPTY) is not before.get(name, EMPTY):
                    return str(name)
        return None
