"""Which functions a static function may call, and the outside names that those read and write.

Globals and variables of enclosing functions that hold data are *slots* of the graph: inputs, and
outputs where they are written. Functions that run as they are (properties, operators, constructors,
what is marked `do_not_convert`) look at the outside themselves; what they can see is *pinned*: it
stays as it is for everybody, a constant of the graph that is guarded. In

    rate, table = jnp.ones(3), jnp.zeros(3)

    class Model:
        @property
        def first(self): return table[0]

    def f(model, x): return model.first + rate * x

`rate` is a slot, since only `f` reads it, which is converted. `table` is pinned, since the property
reads it. What a function reaches is known only by looking, and grows with what it is called with:
`explore` looks until it finds nothing new.
"""

from __future__ import annotations

import threading
import types
from collections.abc import Iterable, Set
from typing import Any

from d2s.backends.lax.forms.kinds.elsewhere import Elsewhere
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.reach.mentions import attribute_names_of, users_modules
from d2s.backends.lax.reach.opaque import is_elsewhere
from d2s.backends.lax.reach.walk import ATOMS, Walk, held_by, is_data, places_of
from d2s.errors import StagingError
from d2s.libraries import is_library_class, is_library_module, is_of_python
from d2s.static import StaticFunction


class Restart(BaseException):
    """Ends the building of a graph: the function reaches more than its key says, so look again."""


class Reach:
    """What a static function reaches; it only grows, since every slot is a part of all keys."""

    def __init__(self, function: types.FunctionType) -> None:
        #: the slots and the identities of pinned objects; replaced as a whole and never changed,
        #: because other threads may be looking at them
        self.places: tuple[OuterSlot, ...] = ()
        self.pins: Set[int] = frozenset()
        self._lock = threading.RLock()
        #: the pinned objects, kept alive so that their identities stay theirs
        self.pinned: dict[int, Any] = {}
        #: pinned objects that only weak references lead to: not kept alive, found anew on each look
        self._weakly: set[int] = set()
        #: functions that were called, by identity
        self._met: dict[int, types.FunctionType] = {id(function): function}
        #: the slots of the graph, and the pinned ones, by the identity of the owner and the name
        self._known: set[tuple[int, str | None]] = set()
        self._pinned_places: set[tuple[int, str | None]] = set()
        #: functions that run as they are
        self._as_is: dict[int, types.FunctionType] = {}
        #: the class of each function that runs when an object is made, by identity of the function
        self._constructors: dict[int, type] = {}
        #: classes whose objects may be made while the graph is built
        self._makes: dict[int, type] = {}
        #: the names of properties, by the identity of the function that they run
        self._properties: dict[int, str] = {}
        #: classes of the user's whose objects the function has got
        self.classes: dict[int, type] = {}
        #: attributes that are asked for by a text, as in `getattr(model, "rate")`
        self._asked: set[str] = set()
        #: attributes that functions mention which run as they are
        self._names_as_is: set[str] = set()
        #: global names that were asked for by a text, and whether they were written
        self._named: dict[tuple[int, str], tuple[OuterSlot, bool]] = {}
        #: modules that were found while a graph was built
        self._modules: dict[int, types.ModuleType] = {}

    def explore(self, *given: Any) -> bool:
        """Look again, with these arguments; whether there is a new slot or a new pinned object."""
        with self._lock:
            try:
                return self._explore(given)
            except ReferenceError:  # it cannot even be asked for its class
                raise StagingError(
                    "a weak proxy is within reach whose object is gone",
                    code="D2S079",
                    fix="a weak reference (weakref.ref), which can be asked",
                ) from None

    def _explore(self, given: tuple[Any, ...]) -> bool:
        """Walk until nothing is new: what is pinned may name functions that pin more."""
        before, alive = (set(self._known), len(self.pinned)), self._weakly
        places, self._weakly = list(self.places), set()
        while True:
            walk = Walk(self)
            named = [place.get() for place, _ in self._named.values()]
            walk.run([*self._met.values(), *given, *named, *self.classes.values()])
            walk.places += [p for p, written in self._named.values() if written or is_data(p.get())]
            size = self._size()
            for function in walk.methods:
                # Code that is not converted calls methods by names, of whatever class.
                if function.__name__ in self._names_as_is:
                    self._as_is[id(function)] = function
            for function in list(self._as_is.values()):
                self._pin_names(function)
            if size == self._size():
                break
        for place in walk.places:
            key = id(place.owner), place.name
            if key not in self._known and key not in self._pinned_places:
                self._known.add(key)
                places.append(place)
        self._known -= self._pinned_places
        is_new = before != (self._known, len(self.pinned)) or not self._weakly <= alive
        if is_new or self._weakly != alive:
            self.places = tuple(p for p in places if (id(p.owner), p.name) in self._known)
            self.pins = self._weakly.union(self.pinned)
        return is_new

    def _size(self) -> tuple[int, ...]:
        """How much is known; everything that is counted only grows."""
        grow = self._pinned_places, self.pinned, self._names_as_is, self._modules, self._makes
        return tuple(map(len, grow))

    def label(self, place: OuterSlot) -> str:
        """What a user calls a slot."""
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

    def meets_name(self, space: dict[str, Any], name: str, written: bool) -> bool:
        """A global name is asked for by a text; whether that brings something new."""
        with self._lock:
            known = self._named.get((id(space), name))
            if known is None or (written and not known[1]):
                self._named[id(space), name] = OuterSlot(space, name), written
                return self.explore()
        return False

    def sees_names(self, space: dict[str, Any], names: Iterable[str]) -> bool:
        """Global names are read as they are outside; whether one of them has a copy."""
        with self._lock:
            self.pin_names(space, names)
            return self.explore()

    def meets_module(self, module: types.ModuleType) -> bool:
        """A module is found while the graph is built; whether that brings something new."""
        with self._lock:
            known, self._modules[id(module)] = id(module) in self._modules, module
            return not known and self.explore()

    def may_find_modules(self) -> None:
        """The function has `sys.modules`, where all of them are."""
        self._modules |= {id(module): module for module in users_modules()}

    def modules(self) -> list[types.ModuleType]:
        """Modules of the user's that the function has by other means than names."""
        return [module for module in self._modules.values() if not is_library_module(module)]

    def meets_as_is(self, function: types.FunctionType) -> bool:
        """A function turned out to run as it is; whether it sees something that has a copy."""
        if id(function) in self._as_is:
            return False
        self._met[id(function)] = self._as_is[id(function)] = function
        return self.explore()

    def as_is(
        self, function: types.FunctionType, makes: type | None = None, name: str | None = None
    ) -> None:
        """A function that runs as it is.

        `makes` is the class whose objects it makes, `name` the attribute that it is asked for.
        """
        self._as_is[id(function)] = function
        if makes is not None:
            self._constructors.setdefault(id(function), makes)
        if name is not None:
            self._properties.setdefault(id(function), name)

    def meets_class(self, kind: type) -> bool:
        """Objects of a class may be made while the graph is built; whether that is new."""
        if id(kind) in self._makes or is_library_class(kind):
            return False
        with self._lock:
            self._makes[id(kind)] = kind
            return self.explore()

    def meets_attribute(self, name: str) -> bool:
        """An attribute is asked for by a text; whether that brings something new."""
        with self._lock:
            known, self._asked = name in self._asked, {*self._asked, name}
            return not known and self.explore()

    def may_read(self, kind: type, name: str) -> bool:
        """Whether code that runs for the graph may look at an attribute of a class.

        An attribute that no code mentions is not looked at, because that would pin what it holds: a
        class that lists its objects when they are made may list one that is an input of the graph.
        """
        named = self._named_somewhere()
        if name in named or {"__dict__", "vars"} & named:
            return True
        bases = kind.__mro__[1:]
        return any(is_library_class(b) and not is_of_python(b) for b in bases)

    def _named_somewhere(self) -> set[str]:
        """The attributes that are mentioned by code which runs for the graph, or may run."""
        met = {name for f in self._met.values() for name in attribute_names_of(f.__code__)}
        return met | self._asked | self._names_as_is

    def _may_run(self, function: types.FunctionType) -> bool:
        """Whether a function may run at all: a constructor if its class is called, a property if
        its name is mentioned, any other always.
        """
        made, name = self._constructors.get(id(function)), self._properties.get(id(function))
        if made is not None:
            return id(made) in self._makes
        return name is None or name in self._named_somewhere()

    def _pin_names(self, function: types.FunctionType) -> None:
        """Pin what a function reads that runs as it is."""
        names = set(attribute_names_of(function.__code__))
        if self._may_run(function):
            self._names_as_is |= names
            # A function that gets hold of a class may make objects of it. Nothing but the name of
            # a parameter tells that a plain function is handed one: `cls` is Python's convention.
            if {"type", "__class__", "cls"} & {*names, *function.__code__.co_varnames}:
                self._makes |= {id(kind): kind for kind in self._constructors.values()}
            called = [place.get() for place in places_of(function)]
            self._makes |= {id(kind): kind for kind in called if isinstance(kind, type)}
        for place in places_of(function):
            self._pin_place(place)

    def pin_names(self, space: dict[str, Any], names: Iterable[str]) -> None:
        """Pin global names of a module: they are read in the module itself, not in a copy."""
        for name in names:
            if not isinstance(space.get(name), types.FunctionType):
                self._pin_place(OuterSlot(space, name))

    def _pin_place(self, place: OuterSlot) -> None:
        key = id(place.owner), place.name
        if key not in self._pinned_places:
            self._pinned_places.add(key)
            value = place.get()
            if isinstance(value, types.FunctionType):
                self._as_is[id(value)] = value
            else:
                self.pin(value)

    def pin(self, value: Any, weakly: bool = False) -> None:
        """Keep an object, and all that it holds, as it is.

        `weakly` says that the program itself does not keep it alive, so that d2s must not either.
        """
        stack = [value]
        while stack:
            value = stack.pop()
            if is_elsewhere(value):
                there = Elsewhere(value)
                for held in there.held():
                    self.pin(held, weakly or there.is_weak)
                continue
            if isinstance(value, (*ATOMS, types.ModuleType)) or id(value) in self.pinned:
                continue
            if isinstance(value, type | types.FunctionType | StaticFunction):
                continue  # they have no copies anyway
            if weakly:
                if id(value) in self._weakly:
                    continue
                self._weakly.add(id(value))
            else:
                self.pinned[id(value)] = value
            stack += held_by(value)
