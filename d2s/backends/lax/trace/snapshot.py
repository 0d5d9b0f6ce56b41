"""What code under trial may have changed: found by comparing, undone without a trace.

A region of the graph is built by running the user's code, perhaps several times, perhaps for a
branch that is not taken. Whatever that run stored in a closure cell, a list, a dict or an object
is found afterwards (even when C code did it), taken out as a value where that is possible, and
undone.
"""

from __future__ import annotations

import array
import functools
import sys
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any, Protocol

import jax
import numpy as np

from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.guards import FUNCTION_PARTS, Guard
from d2s.backends.lax.objects.nnx import keep_order, unordered
from d2s.backends.lax.objects.slots import (
    EMPTY,
    WHOLE,
    Answer,
    Buffer,
    Elsewhere,
    FunctionAttributes,
    GlobalName,
    Slot,
    SlotAttributes,
    cell_contents,
    changed_slots,
    class_attributes,
    copy_of_array,
    is_unchanged,
    own_dict,
    path_to,
    restore,
    slot_names,
)
from d2s.backends.lax.reach.mentions import (
    attribute_names_of,
    codes_inside,
    dotted,
    global_names,
    imported,
    users_modules,
)
from d2s.backends.lax.reach.opaque import behind
from d2s.backends.lax.reach.walk import users_functions
from d2s.conversion import MARKS, is_made_by_d2s, is_written, runtime_cell
from d2s.errors import StagingError
from d2s.libraries import is_library_class, is_library_file, is_library_module
from d2s.runtime.values import Maybe
from d2s.static import StaticFunction

_ATOMS = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, range, slice)
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType, types.MethodType)


class Apart(Protocol):
    """What is not watched because it is an input of the graph."""

    def has(self, value: Any) -> bool: ...

    def has_place(self, owner: Any, name: str | None) -> bool: ...


#: arrays, and what says where they are: values, whatever they remember of themselves
_OF_JAX = (
    jax.core.Tracer,
    jax.Array,
    jax.sharding.Mesh,
    jax.sharding.AbstractMesh,
    jax.sharding.Sharding,
    jax.Device,
)


class Watch:
    """A snapshot of everything mutable that some roots reach.

    `outside` says that it watches what exists beside a whole static function; functions made while
    that runs are none of its business. `apart` tells what of it has a copy in the graph, which is
    an input and not watched.
    """

    def __init__(self, *roots: Any, outside: bool = False, apart: Apart | None = None) -> None:
        self.outside = outside
        self._apart = apart
        self._seen: dict[int, Any] = {}
        #: what is reached from each of them
        self._parts: list[list[Any]] = []
        self._snapshots: list[tuple[Any, Any]] = []
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._functions: list[tuple[types.FunctionType, Any, Any, Any]] = []
        self._labels: dict[int, str] = {}
        self._modules: set[tuple[int, tuple[str, ...]]] = set()
        #: those that a function got by other means than by a global name
        self._found: dict[int, types.ModuleType] = {}
        #: exceptions from outside, and what raising them changes
        self._raised: list[tuple[BaseException, Any, Any, Any, bool]] = []
        #: attributes that have no order of their own, and the one they had
        self._unordered: list[tuple[dict[str, Any], list[str]]] = []
        #: the names of attributes that functions speak of
        self._mentioned: dict[str, None] = {}
        self._variables: list[tuple[types.CellType, str]] = []
        #: what was met only after a region had begun: it may be of the region's own making
        self._late: set[int] = set()
        self.begun = False
        #: the code of functions that those which ran here may have made
        self._makes: set[types.CodeType] = set()
        #: what nobody has but variables that the region binds anew
        self.alone: frozenset[int] = frozenset()
        for root in roots:
            self.add(root)

    def add(self, root: Any) -> None:
        stack = [root]
        copies = None if self.outside else scopes.copies()
        while stack:
            value = stack.pop()
            if copies is not None:
                value = copies.of(value)
            known = id(value) in self._seen
            if type(value) in weakref.ProxyTypes and not known:
                self._seen[id(value)] = value
                self._parts.append(self._take_elsewhere(value))
                stack.extend(self._parts[-1])
                continue
            if isinstance(value, types.ModuleType) and self.outside:
                self._found[id(value)] = value
                stack += self._take_module(value, tuple(self._mentioned))
            if known or isinstance(value, _ATOMS):
                continue
            self._seen[id(value)] = value
            if self.begun:
                self._late.add(id(value))
            marks = len(self._snapshots)
            self._parts.append(self._take(value))
            stack.extend(self._parts[-1])
            if self._apart is not None and self._apart.has(value):
                del self._snapshots[marks:]

    def know(self, value: Any) -> None:
        """Something is reached; what it leads to is not looked at."""
        if id(value) not in self._seen:
            self._seen[id(value)] = value
            self._parts.append([])

    def enter(self, function: types.FunctionType, code: types.CodeType) -> None:
        """A function runs, by this code; one that was made here has nothing from before."""
        if function.__code__ not in self._makes:
            self.add(function)
        self._makes |= codes_inside(code)

    def forget(self) -> None:
        """Let go of what was looked at; what is watched stays, as short as it can be."""
        self._seen, self._parts, self._raised = {}, [], []
        self._names = list({(id(n[0]), n[1]): n for n in reversed(self._names)}.values())
        self._snapshots = [
            (owner, before)
            for owner, before in self._snapshots
            if type(owner) is not FunctionAttributes or before
        ]

    def reached(self) -> list[Any]:
        """Everything that was looked at."""
        return list(self._seen.values())

    def reached_from(self) -> Iterator[tuple[Any, list[Any]]]:
        """The same, each with what it led to."""
        return zip(self._seen.values(), self._parts, strict=True)

    def knows(self, value: Any) -> bool:
        return id(value) in self._seen

    def knew(self, value: Any) -> bool:
        """Whether something was there before the region began."""
        return id(value) in self._seen and id(value) not in self._late

    def _take(self, value: Any) -> list[Any]:
        """Snapshot one object; returns what it reaches."""
        if isinstance(value, BaseException) and self.outside:
            led_to_it = value.__traceback__, value.__context__, value.__cause__
            self._raised.append((value, *led_to_it, value.__suppress_context__))
        if isinstance(value, Recorder):
            return [vars(value)]
        if isinstance(value, types.FunctionType):
            return self._take_function(value)
        if isinstance(value, type):
            return self._take_class(value)
        if isinstance(value, types.MethodType):
            return [value.__func__, value.__self__]
        if isinstance(value, types.BuiltinMethodType | types.MethodWrapperType):
            return [value.__self__]
        if isinstance(value, staticmethod | classmethod):
            return [value.__func__]
        if isinstance(value, property):
            return [value.fget, value.fset]
        if isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords]
        if isinstance(value, tuple | frozenset):
            return [*value, *self._beside(value)]
        if isinstance(value, types.CellType):
            if value is runtime_cell():
                return []
            if self._apart is None or not self._apart.has_place(value, None):
                self._snapshots.append((value, cell_contents(value)))
            return [cell_contents(value)]
        if isinstance(value, _OF_JAX) or type(value) is jax.Ref:
            return []
        if isinstance(value, np.ndarray):
            if value.flags.writeable or value.base is not None:
                self._snapshots.append((value, copy_of_array(value)))
            return list(value.flat) if value.dtype == object else []
        if isinstance(value, bytearray | array.array):
            self._snapshots.append((value, value[:]))
            return []
        if isinstance(value, list | deque):
            self._snapshots.append((value, list(value)))
            return [*value, *self._beside(value)]
        if isinstance(value, set):
            self._snapshots.append((value, set(value)))
            return [*value, *self._beside(value)]
        if value is sys.modules:
            return list(users_modules()) if self.outside else []
        if isinstance(value, dict) and not type(value).__module__.startswith("d2s."):
            self._snapshots.append((value, dict(value)))
            return [*value.values(), *self._beside(value)]
        if isinstance(value, StaticFunction):
            return [value.original]
        if isinstance(value, Elsewhere.KINDS):
            return self._take_elsewhere(value)
        if isinstance(value, Maybe):
            return [value.value]
        if isinstance(value, Slot):
            return self._take_slot(value)
        if type(value).__module__.startswith("d2s."):
            return []
        reached: list[Any] = [type(value)]
        attributes = own_dict(value)
        if self._apart is not None and self._apart.has(value):
            reached += [*(attributes or {}).values()]
        elif attributes is not None:
            self._labels[id(attributes)] = f"an attribute of a {type(value).__name__}"
            reached.append(attributes)
            if unordered(value) is not None:
                self._unordered.append((attributes, list(attributes)))
        kind: Any = type(value)
        names = slot_names(kind)
        if names:
            held = {n: getattr(value, n, EMPTY) for n in names}
            owner = SlotAttributes(value)
            self._labels[id(owner)] = f"an attribute of a {type(value).__name__}"
            self._snapshots.append((owner, held))
            reached += held.values()
        elif attributes is None and self.outside:
            reached += behind(value)
        buffer = Buffer.of(value) if self.outside else None
        if buffer is not None:
            self._labels[id(buffer)] = f"a {kind.__name__}"
            self._snapshots.append((buffer, buffer.contents()))
        return reached

    def _beside(self, value: Any) -> list[Any]:
        """The attributes that a container of the user's class has beside its items."""
        attributes = own_dict(value)
        if not attributes:
            return []
        self._labels[id(attributes)] = f"an attribute of a {type(value).__name__}"
        return [attributes]

    def _take_elsewhere(self, value: Any) -> list[Any]:
        there = Elsewhere(value)
        self._labels[id(there)] = f"a {type(value).__name__}"
        self._snapshots.append((there, there.contents()))
        return there.held()

    def ask(self, is_same: Callable[[], bool]) -> None:
        """An answer that the graph depends on; every call asks again whether it is the same."""
        self._snapshots.append((Answer(is_same), True))

    def _take_slot(self, slot: Slot) -> list[Any]:
        """A place that d2s itself is about to write to."""
        if slot.is_global:
            self._names.append((slot.owner, slot.key, slot.owner.get(slot.key, EMPTY)))
            return []
        return [slot.holder]

    def _take_class(self, kind: type) -> list[Any]:
        """Attributes of the user's classes; those of libraries stay as they are."""
        if is_library_class(kind):
            return []
        held = class_attributes(kind)
        self._labels[id(kind)] = f"an attribute of the class {kind.__name__}"
        self._snapshots.append((kind, held))
        return [*held.values()]

    def _take_function(self, function: types.FunctionType) -> list[Any]:
        reached: list[Any] = list(function.__closure__ or ())
        space = function.__globals__
        copies = scopes.copies()
        if copies is not None and not self.outside:
            # a function from outside runs with globals and cells of its own
            reached = [copies.cell_of(cell) for cell in reached]
            space = copies.space_of(space)
        if is_library_file(function.__code__.co_filename) and not is_made_by_d2s(function):
            # d2s wraps the user's functions in functions of its own; those of others are theirs
            ours = function.__module__.startswith("d2s.")
            if ours:
                return [cell_contents(cell) for cell in reached]
            if not self.outside:
                return []
            held = (cell_contents(cell) for cell in reached)
            return [*users_functions([function], wrapped=True), *filter(callable, held)]
        for name, cell in zip(function.__code__.co_freevars, reached, strict=True):
            self._variables.append((cell, name))
            self._labels.setdefault(id(cell), f"the variable `{name}` of an enclosing function")
        if self.outside:
            reached += self._take_mentioned(function, space)
        for name in global_names(function.__code__):
            value = space.get(name, EMPTY)
            if self._apart is None or not self._apart.has_place(space, name):
                self._names.append((space, name, value))
            reached.append(value)
            if isinstance(value, types.ModuleType):
                reached += self._take_module(value, attribute_names_of(function.__code__))
        if not is_made_by_d2s(function) or is_written(function):
            self._labels[id(function)] = f"the function {function.__name__}"
            parts = function.__code__, function.__defaults__, function.__kwdefaults__
            self._functions.append((function, *parts))
            own = {n: v for n, v in function.__dict__.items() if n not in MARKS}
            view = FunctionAttributes(function)
            self._labels[id(view)] = f"an attribute of the function {function.__name__}"
            self._snapshots.append((view, own))
        return [*reached, function.__defaults__, function.__kwdefaults__]

    def _take_mentioned(self, function: types.FunctionType, space: dict[str, Any]) -> list[Any]:
        """What a function may find by names of attributes: in modules, and in functions."""
        names = attribute_names_of(function.__code__)
        self._mentioned |= dict.fromkeys(names)
        reached: list[Any] = list(imported(function))
        for module in self._found.values():
            reached += self._take_module(module, names)
        for holder, name, value in dotted(function, space):
            is_module = isinstance(holder, types.ModuleType)
            if is_module and not is_library_module(holder):
                continue  # it is taken with all names that are mentioned
            if not name.startswith("__"):
                self._names.append((vars(holder), name, value))
            if isinstance(value, list | dict | set | deque | MutableMapping):
                reached.append(value)  # `sys.argv`, `os.environ`
        return reached

    def take_name(self, space: dict[str, Any], name: str) -> None:
        """A global name is read, or about to be written, that no function mentions."""
        value = space.get(name, EMPTY)
        self._names.append((space, name, value))
        self.add(value)

    def _take_module(self, module: types.ModuleType, names: tuple[str, ...]) -> list[Any]:
        """Of a module of the user's, the attributes whose names a function mentions."""
        if (id(module), names) in self._modules or is_library_module(module):
            return []
        self._modules.add((id(module), names))
        reached: list[Any] = []
        for name in names if "__dict__" not in names else tuple(vars(module)):
            value = vars(module).get(name, EMPTY)
            self._names.append((vars(module), name, value))
            reached.append(value)
            if isinstance(value, types.ModuleType) and value is not module:
                reached += self._take_module(value, names)
        return reached

    def changed(self) -> Iterator[tuple[Any, Any]]:
        for attributes, names in self._unordered:
            keep_order(attributes, names)
        for owner, before in self._snapshots:
            if not is_unchanged(owner, before):
                yield owner, before
        for space, name, before in self._names:
            if space.get(name, EMPTY) is not before:
                yield GlobalName(space, name), before
        for function, *parts in self._functions:
            held = dict(zip(FUNCTION_PARTS, parts, strict=True))
            if not is_unchanged(function, held):
                yield function, held

    def is_unchanged(self) -> bool:
        return next(self.changed(), None) is None

    def guard(self) -> Guard | None:
        """What asks the same on every call of a static function; None if nothing can change."""
        held = self._names, self._functions, self._snapshots
        return Guard(*held, self._variables) if any(held) else None

    def label(self, owner: Any) -> str:
        """What a user calls the thing that changed."""
        if isinstance(owner, GlobalName):
            return f"the global name `{owner.name}`"
        kind = "NumPy array" if type(owner) is np.ndarray else type(owner).__name__
        return self._labels.get(id(owner), f"a {kind}")

    def label_of(self, slot: Slot) -> str:
        """What a user calls a place."""
        if isinstance(slot.owner, types.CellType):
            names = [f"`{name}`" for cell, name in self._variables if cell is slot.owner]
            return names[0] if names else self.label(slot.owner)
        if slot.is_global and slot.key is not WHOLE:
            return f"`{slot.key}`"
        roots = [(name, cell_contents(cell)) for cell, name in self._variables]
        roots += [(name, value) for _, name, value in self._names]
        path = path_to(slot.owner, roots, self.knows)
        if slot.key is WHOLE or not path:
            kind = type(slot.owner).__name__
            if path.endswith("."):
                return f"the object `{path[:-1]}`"
            return f"the {kind} `{path}`" if path else self.label(slot.owner)
        is_entry = not path.endswith(".")
        return f"`{path}[{slot.key!r}]`" if is_entry else f"`{path}{slot.key}`"

    def slots(self) -> list[Slot]:
        """The places whose value changed; refuses changes that are more than a new value."""
        found: list[Slot] = []
        for owner, before in self.changed():
            places = changed_slots(owner, before)
            if places is None:
                label = self.label_of(Slot(owner, WHOLE))
                raise StagingError(
                    f"{label} is changed where the change depends on a run-time value",
                    code="D2S024",
                    site=scopes.changes.get(id(owner)) or sites.where(),
                    fix="keep the values in variables or arrays of fixed size and assign those",
                )
            found += places
        return found

    def places(self) -> list[Slot]:
        """Every place that is watched and holds a value now."""
        found: list[Slot] = []
        for owner, _ in self._snapshots:
            if isinstance(owner, types.CellType):
                found.append(Slot(owner, None))
            elif isinstance(owner, list | deque):
                found += [Slot(owner, n) for n in range(len(owner))]
            elif isinstance(owner, dict):
                found += [Slot(owner, key) for key in owner]
            elif isinstance(owner, SlotAttributes):
                kind: Any = type(owner.owner)
                names = [n for n in slot_names(kind) if hasattr(owner.owner, n)]
                found += [Slot(owner, n) for n in names]
        found += [Slot(space, name) for space, name, _ in self._names if name in space]
        return found

    def names(self) -> list[Slot]:
        """The global names that are watched and have a value."""
        return [Slot(space, name) for space, name, held in self._names if held is not EMPTY]

    def is_fixed_in_something(self, value: Any) -> bool:
        """Whether something that is no place has a value: a tuple, a bound method, a class."""
        for holder in self._seen.values():
            parts: Any = holder if isinstance(holder, tuple | frozenset) else ()
            if isinstance(holder, _METHODS):
                parts = (holder.__self__,)
            if any(part is value for part in parts):
                return True
        owners = (
            held for owner, held in self._snapshots if isinstance(owner, type | FunctionAttributes)
        )
        return any(part is value for held in owners for part in held.values())

    def wholes(self) -> list[Slot]:
        """Everything that is watched and can get more or fewer entries."""
        kinds = (list, dict, deque, SlotAttributes)
        return [Slot(owner, WHOLE) for owner, _ in self._snapshots if isinstance(owner, kinds)]

    def undo(self) -> None:
        for error, traceback, context, cause, hides_context in self._raised:
            error.__traceback__, error.__context__, error.__cause__ = traceback, context, cause
            error.__suppress_context__ = hides_context
        for owner, before in list(self.changed()):
            restore(owner, before)
