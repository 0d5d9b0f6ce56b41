"""Which functions a static function may call, and the outside names that those read and write.

Globals and variables of enclosing functions that hold data are places: inputs of the graph, and
outputs where they are written. Functions that run as they are (properties, operators, constructors,
what is marked `do_not_convert`) look at the outside themselves; what they can see stays as it is
for everybody: it is pinned.
"""

from __future__ import annotations

import dis
import functools
import gc
import threading
import types
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.mentions import attribute_names_of, global_names
from d2s.backends.lax.places import EMPTY, OF_PYTHON, Elsewhere, cell_contents, own_dict, slot_names
from d2s.backends.lax.wrappers import is_of_jax
from d2s.conversion import RUNS_LATER, is_made_by_d2s, is_written, why_not
from d2s.libraries import is_library_class, is_library_file
from d2s.static import StaticFunction

_ARRAYS = (jax.Array, jax.core.Tracer)
_ATOMS = (str, bytes, int, float, complex, bool, type(None), range, slice, *_ARRAYS)
#: beyond so many objects behind one of C's, looking for what it holds ends
_FAR = 2000


@dataclass(frozen=True, eq=False)
class Place:
    """A global name of a module, a cell (which has no name), or the defaults of a function."""

    owner: Any
    name: str | None

    @property
    def is_fixed(self) -> bool:
        """Whether nothing can be stored there, only in what is there."""
        return isinstance(self.owner, types.FunctionType)

    def get(self) -> Any:
        if self.is_fixed:
            return self.owner.__defaults__, self.owner.__kwdefaults__
        if self.name is None:
            return cell_contents(self.owner)
        return self.owner.get(self.name, EMPTY)

    def set(self, value: Any) -> None:
        if self.name is not None:
            if value is EMPTY:
                self.owner.pop(self.name, None)
            else:
                self.owner[self.name] = value
        elif value is EMPTY:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value


class Reach:
    """Grows with what a function is called with, and never forgets: a key has a part per place."""

    def __init__(self, function: types.FunctionType) -> None:
        #: replaced as a whole, never changed: other threads may be looking at them
        self.places: tuple[Place, ...] = ()
        self.pins: dict[int, Any] = {}
        self._lock = threading.RLock()
        self.pinned: dict[int, Any] = {}
        #: functions that were called, by their ids
        self._met: dict[int, types.FunctionType] = {id(function): function}
        self._known: set[tuple[int, str | None]] = set()
        self._pinned_places: set[tuple[int, str | None]] = set()
        self._as_is: dict[int, types.FunctionType] = {}
        self._names_as_is: set[str] = set()

    def explore(self, *given: Any) -> bool:
        """Look again, with these arguments; whether there is a new place or a new pin."""
        with self._lock:
            return self._explore(given)

    def _explore(self, given: tuple[Any, ...]) -> bool:
        before = set(self._known), len(self.pinned)
        places = list(self.places)
        while True:
            walk = _Walk(self)
            walk.run([*self._met.values(), *given])
            size = len(self._pinned_places), len(self.pinned), len(self._names_as_is)
            for function in walk.methods:
                # code that is not converted may call a method by its name
                if function.__name__ in self._names_as_is:
                    self._as_is[id(function)] = function
            for function in list(self._as_is.values()):
                self._pin_names(function)
            if size == (len(self._pinned_places), len(self.pinned), len(self._names_as_is)):
                break
        for place in walk.places:
            key = id(place.owner), place.name
            if key not in self._known and key not in self._pinned_places:
                self._known.add(key)
                places.append(place)
        self._known -= self._pinned_places
        is_new = before != (self._known, len(self.pinned))
        if is_new:
            self.places = tuple(p for p in places if (id(p.owner), p.name) in self._known)
            self.pins = dict(self.pinned)
        return is_new

    def label(self, place: Place) -> str:
        """What a user calls a place."""
        if isinstance(place.owner, types.FunctionType):
            return f"the defaults of {place.owner.__qualname__}"
        if place.name is not None:
            return place.name
        for function in self._met.values():
            cells = function.__closure__ or ()
            for name, cell in zip(function.__code__.co_freevars, cells, strict=True):
                if cell is place.owner:
                    return name
        return "a variable of an enclosing function"

    def meets(self, function: types.FunctionType) -> bool:
        """A function is called while the graph is built; whether it brings something new."""
        if id(function) in self._met:
            return False
        self._met[id(function)] = function
        return self.explore()

    def meets_as_is(self, function: types.FunctionType) -> bool:
        """A function turned out to run as it is; whether it sees something that has a twin."""
        if id(function) in self._as_is:
            return False
        self._met[id(function)] = self._as_is[id(function)] = function
        return self.explore()

    def as_is(self, function: types.FunctionType) -> None:
        self._as_is[id(function)] = function

    def _pin_names(self, function: types.FunctionType) -> None:
        self._names_as_is |= set(attribute_names_of(function.__code__))
        for place in _places_of(function):
            key = id(place.owner), place.name
            if key not in self._pinned_places:
                self._pinned_places.add(key)
                value = place.get()
                if isinstance(value, types.FunctionType):
                    self._as_is[id(value)] = value
                else:
                    self.pin(value)

    def pin(self, value: Any) -> None:
        """Keep an object, and all that it holds, as it is."""
        stack = [value]
        while stack:
            value = stack.pop()
            if id(value) in self.pinned or isinstance(value, (*_ATOMS, types.ModuleType)):
                continue
            if isinstance(value, type | types.FunctionType | StaticFunction):
                continue  # they have no twins
            self.pinned[id(value)] = value
            stack += _held(value)


#: modules whose objects hold functions of others to call them; what else libraries hold is theirs
_WRAPPING = ("contextlib", "functools")


def users_functions(values: Iterable[Any], wrapped: bool = False) -> list[types.FunctionType]:
    """The functions of the user's among values, which whoever gets them may call as they are.

    `wrapped` says to look into functions and objects of libraries, too: what
    `contextlib.contextmanager` gives has a generator in its closure, `functools.singledispatch` a
    table.
    """
    found: list[types.FunctionType] = []
    stack, seen = list(values), set()
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, types.MethodType):
            value = value.__func__
        elif isinstance(value, functools.partial):
            stack += [value.func, *value.args, *value.keywords.values()]
        elif type(value) in (list, tuple):
            stack += value
        elif type(value) in (dict, types.MappingProxyType):
            stack += value.values()
        elif wrapped and not isinstance(value, types.FunctionType | type | types.ModuleType):
            kind: Any = type(value)
            if not is_library_class(kind):
                stack += vars(kind).values()
            elif kind.__module__ in _WRAPPING:
                stack += _held(value)
        if not isinstance(value, types.FunctionType) or is_made_by_d2s(value):
            continue
        if not is_library_file(value.__code__.co_filename):
            found.append(value)
        elif wrapped:
            stack += [cell_contents(cell) for cell in value.__closure__ or ()]
    return found


def _places_of(function: types.FunctionType) -> list[Place]:
    space = function.__globals__
    found = [Place(space, name) for name in global_names(function.__code__)]
    return [*found, *(Place(cell, None) for cell in function.__closure__ or ())]


@functools.lru_cache(maxsize=4096)
def _stored_names(code: types.CodeType) -> frozenset[str]:
    """Globals that a function, or one inside it, binds or deletes."""
    uses = ("STORE_GLOBAL", "DELETE_GLOBAL")
    names = {i.argval for i in dis.get_instructions(code) if i.opname in uses}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _stored_names(constant)
    return frozenset(names)


def _names_in_generators(code: types.CodeType) -> frozenset[str]:
    """Globals that generators inside a function mention: what they call runs as it is, like them.

    Generator expressions are converted.
    """
    names: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            is_expression = constant.co_name == "<genexpr>"
            if constant.co_flags & RUNS_LATER and not is_expression:
                names.update(global_names(constant))
            names |= _names_in_generators(constant)
    return frozenset(names)


def _held(value: Any) -> list[Any]:
    """What an object holds, whether Python or C made it."""
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset | deque):
        return list(value)
    if isinstance(value, np.ndarray):
        return []
    if isinstance(value, types.MethodType):
        return [value.__self__]
    own = own_dict(value)
    held = list(own.values()) if isinstance(own, dict) else []
    kind: Any = type(value)
    return held + [getattr(value, n) for n in slot_names(kind) if hasattr(value, n)]


class _Walk:
    """One look at everything that may be called or read."""

    def __init__(self, reach: Reach) -> None:
        self.reach = reach
        self.places: list[Place] = []
        self.methods: list[types.FunctionType] = []
        self._seen: dict[int, Any] = {}

    def run(self, roots: list[Any]) -> None:
        stack = roots
        while stack:
            value = stack.pop()
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            stack += self._look(value)

    def _look(self, value: Any) -> list[Any]:
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, types.ModuleType):
            return []
        if isinstance(value, types.CellType):
            return [cell_contents(value)]
        if isinstance(value, types.MethodType):
            return [value.__func__, value.__self__]
        if isinstance(value, staticmethod | classmethod):
            return [value.__func__]
        if isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords]
        if isinstance(value, StaticFunction):
            return [value.original]
        if isinstance(value, Elsewhere.KINDS):
            for held in Elsewhere(value).held():
                self.reach.pin(held)
            return []
        if isinstance(value, dict | list | tuple | set | frozenset | deque | np.ndarray):
            return _held(value)
        wrapped = getattr(value, "__wrapped__", None)
        inner = [wrapped] if isinstance(wrapped, types.FunctionType) else []
        if inner and not is_of_jax(value):
            self.reach.as_is(inner[0])  # `functools.lru_cache`, whose memory is its own
        if type(value).__module__.startswith("d2s."):
            return []
        kind: Any = type(value)
        if own_dict(value) is not None or slot_names(kind):
            return [*inner, type(value), *_held(value)]
        if not inner:
            self._behind(value)
        return inner

    def _function(self, function: types.FunctionType) -> list[Any]:
        code = function.__code__
        made = is_made_by_d2s(function)
        if is_library_file(code.co_filename) and not made:
            held = [cell_contents(cell) for cell in function.__closure__ or ()]
            if not function.__module__.startswith("d2s."):
                # a wrapper of a library's: its functions are converted, what else it has is its own
                own = [value for value in held if not isinstance(value, types.FunctionType)]
                for value in own:
                    self.reach.pin(value)  # objects that can be called, and their state, too
                kept = users_functions(value for value in own if not callable(value))
                for called in kept:
                    self.reach.as_is(called)
                held = [*kept, *(value for value in held if callable(value))]
            return held
        if not made and why_not(function):
            self.reach.as_is(function)
        for name in _names_in_generators(code):
            helper = function.__globals__.get(name)
            if isinstance(helper, types.FunctionType):
                self.reach.as_is(helper)
        stored = _stored_names(code)
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        reached: list[Any] = list(defaults)
        if any(_is_data(value) and not isinstance(value, _ATOMS) for value in defaults):
            self.places.append(Place(function, "__defaults__"))
        for place in _places_of(function):
            value = place.get()
            reached.append(value)
            if isinstance(value, types.ModuleType):
                reached += self._module(value, attribute_names_of(code))
            elif place.name in stored or _is_data(value) or _is_written_cell(place, function):
                self.places.append(place)
        if not made or is_written(function):
            for value in vars(function).values():
                if not callable(value):
                    self.reach.pin(value)
        return reached

    def _class(self, kind: type) -> list[Any]:
        if is_library_class(kind):
            return []
        reached: list[Any] = list(kind.__bases__)
        for name, value in vars(kind).items():
            function = getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                reached.append(function)
                if name.startswith("__") and name.endswith("__") and name != "__call__":
                    self.reach.as_is(function)
                else:
                    self.methods.append(function)
            elif isinstance(value, property):
                for part in (value.fget, value.fset, value.fdel):
                    if isinstance(part, types.FunctionType):
                        self.reach.as_is(part)
                        reached.append(part)
            elif isinstance(getattr(value, "func", None), types.FunctionType):
                self.reach.as_is(value.func)  # functools.cached_property and its kin
                reached.append(value.func)
            elif name not in OF_PYTHON:
                self.reach.pin(value)  # what a class holds is there for all who know the class
                reached.append(value)
        return reached

    def _module(self, module: types.ModuleType, names: tuple[str, ...]) -> list[Any]:
        """Of a module of the user's, the attributes that a function mentions."""
        filename = getattr(module, "__file__", None)
        if filename is None or is_library_file(filename):
            return []
        reached: list[Any] = []
        for name in names:
            value = vars(module).get(name)
            if isinstance(value, types.ModuleType):
                reached += self._module(value, names) if value is not module else []
            else:
                reached.append(value)
                self.reach.pin(value)
        return reached

    def _behind(self, value: Any) -> None:
        """Objects that something of C's holds: nobody sees it use them."""
        stack, count = gc.get_referents(value), 0
        while stack and count < _FAR:
            held = stack.pop()
            count += 1
            passing = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
            if not isinstance(held, passing) and not isinstance(held, _ATOMS):
                self.reach.pin(held)


def _is_data(value: Any) -> bool:
    """Whether a value is one that can be an input or hold one."""
    code = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)
    if value is EMPTY or isinstance(value, code):
        return False
    if type(value) in (str, bytes, type(None), bool):  # those of other classes have attributes
        return False
    if isinstance(value, StaticFunction):
        return bool(value.bound)
    return not type(value).__module__.startswith("d2s.")


def _is_written_cell(place: Place, function: types.FunctionType) -> bool:
    """Whether a function, or one inside it, binds a variable of a function around."""
    if place.name is not None:
        return False
    # cells are equal when what is in them is; two variables may hold the same
    pairs = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    name = next(name for name, cell in pairs if cell is place.owner)
    return name in _bound_free_names(function.__code__)


@functools.lru_cache(maxsize=4096)
def _bound_free_names(code: types.CodeType) -> frozenset[str]:
    uses = ("STORE_DEREF", "DELETE_DEREF")
    names = {i.argval for i in dis.get_instructions(code) if i.opname in uses}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _bound_free_names(constant) & set(constant.co_freevars)
    return frozenset(names)
