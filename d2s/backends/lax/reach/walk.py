"""One look at everything that a static function may call or read.

The walk follows functions to the names that they mention, objects to their attributes and classes,
classes to their methods, and tells a listener (`reach.Reach`) what it meets: slots that hold data,
functions that run as they are, and objects that somebody sees who is not converted.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import itertools
import sys
import types
from collections.abc import Iterable
from typing import Any, Protocol

import jax
import numpy as np

from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.forms.kinds.code import OF_PYTHON, cell_contents
from d2s.backends.lax.forms.kinds.elsewhere import Elsewhere
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import CONTAINERS, form_of, known_form
from d2s.backends.lax.objects.flatten import stays_whole
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.reach.mentions import attribute_names_of, dotted, global_names, imported
from d2s.backends.lax.reach.opaque import behind, is_elsewhere
from d2s.backends.lax.reach.wrappers import is_of_jax
from d2s.conversion import RUNS_LATER, is_made_by_d2s, is_written, why_not
from d2s.errors import StagingError
from d2s.libraries import (
    is_d2s_class,
    is_d2s_function,
    is_library_class,
    is_library_file,
    is_library_module,
)
from d2s.static import StaticFunction

_ARRAYS = (jax.Array, jax.core.Tracer)
ATOMS = (str, bytes, int, float, complex, bool, type(None), range, slice, *_ARRAYS)

#: methods that run when an object of a class is made
_MAKE = ("__init__", "__new__", "__post_init__")
#: modules whose objects hold functions of users to call them; what other libraries hold is theirs
_WRAPPING = (contextlib, functools)


def users_functions(values: Iterable[Any], wrapped: bool = False) -> list[types.FunctionType]:
    """The user's functions among values, and in containers: who gets the values may call them.

    `wrapped` says to look into functions and objects of libraries as well: what
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
            elif sys.modules.get(kind.__module__) in _WRAPPING:
                stack += held_by(value)
        if not isinstance(value, types.FunctionType) or is_made_by_d2s(value):
            continue
        if not is_library_file(value.__code__.co_filename):
            found.append(value)
        elif wrapped:
            stack += [cell_contents(cell) for cell in value.__closure__ or ()]
    return found


def places_of(function: types.FunctionType) -> list[OuterSlot]:
    """The slots outside that a function reads or writes: global names, and cells."""
    space = function.__globals__
    found = [OuterSlot(space, name) for name in global_names(function.__code__)]
    return [*found, *(OuterSlot(cell, None) for cell in function.__closure__ or ())]


def _refuse_base(code: types.CodeType, name: str | None, value: Any) -> None:
    """In a graph an array from outside is a copy, and no view of another one."""
    if type(value) is not np.ndarray or value.base is None or "base" not in code.co_names:
        return
    for one, other in itertools.pairwise(dis.get_instructions(code)):
        if one.argval == name and other.opname == "LOAD_ATTR" and other.argval == "base":
            raise StagingError(
                f"the base of {name} is asked for, a NumPy array that lives outside",
                code="D2S079",
                fix="the array that it is a view of, by a name of its own",
            )


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
    """Globals that generators inside a function mention.

    A generator is not converted, so neither is what it calls. Generator expressions are: Python
    names their code "<genexpr>", which no function can be called, and marks them by nothing else.
    """
    names: set[str] = set()
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            is_expression = constant.co_name == "<genexpr>"
            if constant.co_flags & RUNS_LATER and not is_expression:
                names.update(global_names(constant))
            names |= _names_in_generators(constant)
    return frozenset(names)


def held_by(value: Any) -> list[Any]:
    """What an object holds: items, attributes, those in `__slots__` included."""
    if isinstance(value, tuple | frozenset):
        return list(value)
    if isinstance(value, (*CONTAINERS, np.ndarray)):
        form = known_form(type(value))
        held = form.held(value)
        return form.leads_to(value, held)
    if isinstance(value, types.MethodType):
        return [value.__self__]
    own = own_dict(value)
    values = list(own.values()) if isinstance(own, dict) else []
    kind: Any = type(value)
    return values + [getattr(value, n) for n in slot_names(kind) if hasattr(value, n)]


class ReachListener(Protocol):
    """Is told what the walk finds: `reach.Reach`, which has the meaning of each method."""

    classes: dict[int, type]

    def pin(self, value: Any, weakly: bool = False) -> None: ...
    def pin_names(self, space: dict[str, Any], names: Iterable[str]) -> None: ...
    def as_is(
        self, function: types.FunctionType, makes: type | None = None, name: str | None = None
    ) -> None: ...
    def may_find_modules(self) -> None: ...
    def may_read(self, kind: type, name: str) -> bool: ...
    def modules(self) -> list[types.ModuleType]: ...


class Walk:
    """One look at everything that may be called or read."""

    def __init__(self, reach: ReachListener) -> None:
        self.reach = reach
        #: the slots outside that hold data, or that some function binds
        self.places: list[OuterSlot] = []
        #: the methods of the user's classes, except special ones
        self.methods: list[types.FunctionType] = []
        self._seen: dict[int, Any] = {}

    def run(self, roots: list[Any]) -> None:
        stack = roots
        while stack:
            value = stack.pop()
            if id(value) in self._seen or (not is_elsewhere(value) and isinstance(value, ATOMS)):
                continue
            self._seen[id(value)] = value
            stack += self._look(value)

    def _look(self, value: Any) -> list[Any]:
        """Look at one object; returns what it leads to."""
        if type(value) is jax.Ref:
            return []
        if is_elsewhere(value):
            there = Elsewhere(value)
            for held in there.held():
                self.reach.pin(held, weakly=there.is_weak)
            return []
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
        if isinstance(value, (*CONTAINERS, tuple, frozenset, np.ndarray)):
            self._keep_whole(value)
            kind: Any = type(value)
            form = form_of(kind)
            factory = None if form is None else form.extra(value)
            if isinstance(factory, types.FunctionType):
                self.reach.as_is(factory)  # a dict calls it by itself where an entry is missing
            own = [] if is_library_class(kind) else [kind, own_dict(value)]
            return [*held_by(value), *own]
        return self._object(value)

    def _object(self, value: Any) -> list[Any]:
        kind: Any = type(value)
        if is_library_class(kind):
            wrapped = getattr(value, "__wrapped__", None)
        else:  # a class of the user's may make up any attribute in `__getattr__`
            wrapped = (own_dict(value) or {}).get("__wrapped__")
        inner = [wrapped] if isinstance(wrapped, types.FunctionType) else []
        if inner and not is_of_jax(value):
            self.reach.as_is(inner[0])  # `functools.lru_cache` calls the plain function
        if is_d2s_class(type(value)):
            return []
        if own_dict(value) is not None or slot_names(kind):
            self._keep_whole(value)
            return [*inner, type(value), *held_by(value)]
        if not inner:
            for held in behind(value):
                self.reach.pin(held)
        return inner

    def _keep_whole(self, value: Any) -> None:
        """Pin what is in something that has no copy: it can be seen there as it is."""
        if stays_whole(value):
            for held in held_by(value):
                self.reach.pin(held)

    def _function(self, function: types.FunctionType) -> list[Any]:
        code = function.__code__
        made = is_made_by_d2s(function)
        if is_library_file(code.co_filename) and not made:
            return self._function_of_library(function)
        if not made and why_not(function):
            self.reach.as_is(function)
        for name in _names_in_generators(code):
            helper = function.__globals__.get(name)
            if isinstance(helper, types.FunctionType):
                self.reach.as_is(helper)
        stored = _stored_names(code)
        defaults = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        reached: list[Any] = list(defaults)
        if any(is_data(value) and not isinstance(value, ATOMS) for value in defaults):
            self.places.append(OuterSlot(function, "__defaults__"))
        for place in places_of(function):
            value = place.get()
            reached.append(value)
            _refuse_base(code, place.name, value)
            if isinstance(value, types.ModuleType):
                reached += self._module(value, attribute_names_of(code))
            elif value is sys.modules:
                self.reach.may_find_modules()
            elif place.name in stored or is_data(value) or _is_written_cell(place, function):
                self.places.append(place)
        if not made or is_written(function):
            for value in vars(function).values():
                if not callable(value):
                    self.reach.pin(value)
        self._attributes_of_modules(function)
        for module in (*self.reach.modules(), *imported(function)):
            names = attribute_names_of(code)
            reached += self._module(module, names)
            self.reach.pin_names(vars(module), vars(module) if "__dict__" in names else names)
        return reached

    def _function_of_library(self, function: types.FunctionType) -> list[Any]:
        """A wrapper of d2s leads to all that it holds.

        One of a library leads to the functions in its closure, which are converted. Everything else
        there belongs to the library: it is pinned, and functions in it run as they are.
        """
        held = [cell_contents(cell) for cell in function.__closure__ or ()]
        if is_d2s_function(function):
            return held
        own = [value for value in held if not isinstance(value, types.FunctionType)]
        for value in own:
            self.reach.pin(value)
        kept = users_functions(value for value in own if not callable(value))
        for called in kept:
            self.reach.as_is(called)
        return [*kept, *(value for value in held if callable(value))]

    def _attributes_of_modules(self, function: types.FunctionType) -> None:
        """Pin what a function reads of modules by a dot: a module has no copy."""
        for holder, name, value in dotted(function, function.__globals__):
            if value is sys.modules:
                self.reach.may_find_modules()
            elif isinstance(holder, types.ModuleType) and not is_library_module(holder):
                self.reach.pin_names(vars(holder), vars(holder) if name == "__dict__" else [name])

    def _class(self, kind: type) -> list[Any]:
        if is_library_class(kind):
            return []
        self.reach.classes[id(kind)] = kind
        reached: list[Any] = list(kind.__bases__)
        for name, value in vars(kind).items():
            function = getattr(value, "__func__", value)
            if isinstance(function, types.FunctionType):
                reached.append(function)
                if name.startswith("__") and name.endswith("__") and name != "__call__":
                    self.reach.as_is(function, kind if name in _MAKE else None)
                else:
                    self.methods.append(function)
            elif isinstance(value, property):
                for part in (value.fget, value.fset, value.fdel):
                    if isinstance(part, types.FunctionType):
                        self.reach.as_is(part, name=name)
                        reached.append(part)
            elif isinstance(getattr(value, "func", None), types.FunctionType):
                self.reach.as_is(value.func, name=name)  # as `functools.cached_property`
                reached.append(value.func)
            elif name not in OF_PYTHON and self.reach.may_read(kind, name):
                self.reach.pin(value)  # a class has no copy, so all who know it see what it holds
                reached.append(value)
        return reached

    def _module(self, module: types.ModuleType, names: tuple[str, ...]) -> list[Any]:
        """Of a module of the user's, the attributes that a function mentions.

        A module may hold another one, and that one the first: each is looked at once.
        """
        modules, reached = [module], []
        for one in modules:
            if is_library_module(one):
                continue
            for value in map(vars(one).get, names):
                if not isinstance(value, types.ModuleType):
                    reached.append(value)
                    self.reach.pin(value)
                elif value not in modules:
                    modules.append(value)
        return reached


def is_data(value: Any) -> bool:
    """Whether a value is one that can be an input or hold one."""
    code = (types.FunctionType, types.BuiltinFunctionType, type, types.ModuleType)
    if value is EMPTY or isinstance(value, code):
        return False
    if type(value) in (str, bytes, type(None), bool):  # objects of subclasses have attributes
        return False
    if isinstance(value, StaticFunction):
        return bool(value.bound)
    return not is_d2s_class(type(value))


def _is_written_cell(place: OuterSlot, function: types.FunctionType) -> bool:
    """Whether a function, or one inside it, binds a variable of a function around."""
    if place.name is not None:
        return False
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    bound = _bound_free_names(function.__code__)
    # Cells are compared by identity, since `==` compares what is in them.
    return any(cell is place.owner and name in bound for name, cell in cells)


@functools.lru_cache(maxsize=4096)
def _bound_free_names(code: types.CodeType) -> frozenset[str]:
    """Variables of enclosing functions that a function, or one inside it, binds or deletes."""
    uses = ("STORE_DEREF", "DELETE_DEREF")
    names = {i.argval for i in dis.get_instructions(code) if i.opname in uses}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _bound_free_names(constant) & set(constant.co_freevars)
    return frozenset(names)
