"""A look at one object: what is in its slots is remembered, and what it leads to is returned.

Of ``def f(): total.append(rate)`` the visitor remembers the code and the defaults of `f` and the
values of the global names `total` and `rate`, and says that `f` leads to those two values. Of the
list `total` it remembers the items, and leads to each of them. `Snapshot` follows the ways.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any, Protocol, cast

import jax

from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.forms.kinds.buffers import Buffer
from d2s.backends.lax.forms.kinds.code import (
    FunctionAttributes,
    SlotAttributes,
    cell_contents,
)
from d2s.backends.lax.forms.kinds.elsewhere import Elsewhere
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import form_of, known_form
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.objects.nnx import unordered
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.reach.mentions import attribute_names_of, global_names, users_modules
from d2s.backends.lax.reach.opaque import behind
from d2s.backends.lax.reach.walk import users_functions
from d2s.backends.lax.trace.before import Before
from d2s.backends.lax.trace.labels import Labels
from d2s.backends.lax.trace.modules_read import ModulesRead
from d2s.conversion import is_made_by_d2s, is_written, runtime_cell
from d2s.libraries import is_d2s_class, is_d2s_function, is_library_class, is_library_file
from d2s.runtime.values import Maybe
from d2s.static import StaticFunction

#: arrays, and what says where they are: they are values, whatever attributes they have
_OF_JAX = (
    jax.core.Tracer,
    jax.Array,
    jax.sharding.Mesh,
    jax.sharding.AbstractMesh,
    jax.sharding.Sharding,
    jax.Device,
)


class Apart(Protocol):
    """Tells what is an input of the graph: its changes are outputs, and no snapshot has it."""

    def has(self, value: Any) -> bool: ...

    def has_place(self, owner: Any, name: str | None) -> bool: ...


class Visitor:
    """Looks at objects, one at a time.

    The three groups of methods below ask in this order: is it code, is it a container, is it an
    object of d2s? What is none of these is an object with attributes.
    """

    def __init__(self, before: Before, labels: Labels, outside: bool, apart: Apart | None) -> None:
        self._before, self._labels = before, labels
        self._outside, self._apart = outside, apart
        self.modules = ModulesRead(before)

    def visit(self, value: Any) -> list[Any]:
        """Remember what is in an object; returns the objects that it leads to."""
        if isinstance(value, BaseException) and self._outside:
            self._before.remember_exception(value)
        for look in (self._code, self._container, self._object_of_d2s):
            found = look(value)
            if found is not None:
                return found
        return self._object(value)

    def _has_copy(self, value: Any) -> bool:
        return self._apart is not None and self._apart.has(value)

    def _has_copy_of_slot(self, owner: Any, name: str | None) -> bool:
        return self._apart is not None and self._apart.has_place(owner, name)

    # -- code: functions, classes, and what wraps them --------------------------------------------

    def _code(self, value: Any) -> list[Any] | None:
        if isinstance(value, Recorder):
            return [vars(value)]
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.MethodType):
            return [value.__func__, value.__self__]
        if isinstance(value, types.BuiltinMethodType | types.MethodWrapperType):
            return [value.__self__]
        if isinstance(value, staticmethod | classmethod):
            return [value.__func__]
        if isinstance(value, property):
            return [value.fget, value.fset]
        if isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords, *self._attributes_beside(value)]
        return None

    def _function(self, function: types.FunctionType) -> list[Any]:
        cells: list[Any] = list(function.__closure__ or ())
        space = function.__globals__
        copies = scopes.copies()
        if copies is not None and not self._outside:
            # While a graph is built, a function from outside runs with copies of its globals and
            # cells: those are what code under trial can change.
            cells = [copies.cell_of(cell) for cell in cells]
            space = copies.space_of(space)
        if is_library_file(function.__code__.co_filename) and not is_made_by_d2s(function):
            return self._function_of_library(function, cells)
        for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
            self._labels.note_variable(cell, name)
        reached = [*cells]
        if self._outside:
            reached += self.modules.visit_function(function, space)
        for name in global_names(function.__code__):
            value = space.get(name, EMPTY)
            if not self._has_copy_of_slot(space, name):
                self._before.remember_name(space, name)
            reached.append(value)
            if isinstance(value, types.ModuleType):
                reached += self.modules.visit(value, attribute_names_of(function.__code__))
        if not is_made_by_d2s(function) or is_written(function):
            self._function_itself(function)
        return [*reached, function.__defaults__, function.__kwdefaults__]

    def _function_of_library(self, function: types.FunctionType, cells: list[Any]) -> list[Any]:
        """A wrapper of d2s leads to all that it holds, one of a library to the user's functions."""
        held = [cell_contents(cell) for cell in cells]
        if is_d2s_function(function):
            return held
        if not self._outside:
            return []
        return [*users_functions([function], wrapped=True), *filter(callable, held)]

    def _function_itself(self, function: types.FunctionType) -> None:
        """A program may assign the code, the defaults and the attributes of a function."""
        self._labels.note(function, f"the function {function.__name__}")
        self._before.remember_function(function)
        attributes = FunctionAttributes(function)
        self._labels.note(attributes, f"an attribute of the function {function.__name__}")
        self._before.remember(attributes, known_form(FunctionAttributes).held(attributes))

    def _class(self, kind: type) -> list[Any]:
        """The attributes of the user's classes; libraries may change their own as they like."""
        if is_library_class(kind):
            return []
        held = known_form(type).held(kind)
        self._labels.note(kind, f"an attribute of the class {kind.__name__}")
        self._before.remember(kind, held)
        return [*held.values()]

    # -- containers, cells and arrays --------------------------------------------------------------

    def _container(self, value: Any) -> list[Any] | None:
        if isinstance(value, tuple | frozenset):
            return [*value, *self._attributes_beside(value)]
        if isinstance(value, types.CellType):
            return self._cell(value)
        if isinstance(value, _OF_JAX) or type(value) is jax.Ref:
            return []
        if value is sys.modules:
            return list(users_modules()) if self._outside else []
        form = form_of(type(value))
        if form is None or is_d2s_class(type(value)):
            return None
        held = form.held(value)
        if form.can_change(value):
            self._before.remember(value, held)
        return [*form.leads_to(value, held), *self._attributes_beside(value)]

    def _cell(self, cell: types.CellType) -> list[Any]:
        if cell is runtime_cell():
            return []  # it holds the package d2s itself
        held = cell_contents(cell)
        if not self._has_copy_of_slot(cell, None):
            self._before.remember(cell, held)
        return [held]

    def _attributes_beside(self, value: Any) -> list[Any]:
        """What a container of a class of the user's has beside its items: attributes, methods."""
        attributes, kind = own_dict(value), cast(Any, type(value))
        if attributes is None:
            return [] if is_library_class(kind) else [kind]
        self._labels.note_attributes(attributes, value)
        return [attributes, kind]

    # -- objects of d2s, and those that Python keeps elsewhere -------------------------------------

    def _object_of_d2s(self, value: Any) -> list[Any] | None:
        if isinstance(value, StaticFunction):
            return [value.original]
        if isinstance(value, Elsewhere.KINDS):
            return self.visit_elsewhere(value)
        if isinstance(value, Maybe):
            return [value.value]
        if isinstance(value, Slot):
            return self._slot(value)
        return [] if is_d2s_class(type(value)) else None

    def visit_elsewhere(self, value: Any) -> list[Any]:
        """A context variable, a thread's own object or a weak reference."""
        there = Elsewhere(value)
        self._labels.note(there, f"a {type(value).__name__}")
        self._before.remember(there, there.contents())
        return there.held()

    def _slot(self, slot: Slot) -> list[Any]:
        """A slot that d2s itself is about to write to."""
        if slot.is_global:
            self._before.remember_name(slot.owner, slot.key)
            return []
        return [slot.holder]

    # -- all other objects -------------------------------------------------------------------------

    def _object(self, value: Any) -> list[Any]:
        kind: Any = type(value)
        reached: list[Any] = [kind]
        attributes = own_dict(value)
        if self._has_copy(value):
            reached += [*(attributes or {}).values()]
        elif attributes is not None:
            self._labels.note_attributes(attributes, value)
            reached.append(attributes)
            if unordered(value) is not None:
                self._before.remember_order(attributes)
        if slot_names(kind):
            reached += self._attributes_in_slots(value)
        elif attributes is None and self._outside:
            reached += behind(value)
        buffer = Buffer.of(value) if self._outside else None
        if buffer is not None:
            self._labels.note(buffer, f"a {kind.__name__}")
            self._before.remember(buffer, known_form(Buffer).held(buffer))
        return reached

    def _attributes_in_slots(self, value: Any) -> list[Any]:
        owner = SlotAttributes(value)
        held = known_form(SlotAttributes).held(owner)
        self._labels.note_attributes(owner, value)
        self._before.remember(owner, held)
        return [*held.values()]
