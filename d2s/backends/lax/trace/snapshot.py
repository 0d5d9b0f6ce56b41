"""What code under trial may have changed: found by comparing, undone without a trace.

A region of the graph is built by running the user's code, perhaps several times, perhaps for a
branch that is not taken. Whatever that run stored in a closure cell, a list, a dict or an object
is found afterwards (even when C code did it), taken out as a value where that is possible, and
undone. In

    if x > 0:
        self.count += 1
        log.append(x)

each of the two ways through the ``if`` runs once while the graph is built. The snapshot taken
before knows `self`, `log` and what else the blocks can reach. After the first way it tells that
two slots have changed, ``self.count`` (a new value) and ``log`` as a whole (one entry more); their
contents become outputs of the region, and `undo` puts the old ones back before the other way runs.

A snapshot consists of four objects, each with one task:

    Snapshot   which objects are reached, in the order they were met
      Before       what their slots held: comparing, undoing, guards      (`before`)
      Labels       what a user calls them, for messages                   (`labels`)
      Visitor      looks at one object and says what it leads to          (`visitor`)
        ModulesRead    the attributes of modules that functions mention   (`modules_read`)
"""

from __future__ import annotations

import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

from d2s.backends.lax.forms.kinds.attributes import own_dict
from d2s.backends.lax.forms.kinds.code import FunctionAttributes
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.guards import Guard
from d2s.backends.lax.objects.slots import Slot, changed_slots
from d2s.backends.lax.reach.mentions import codes_inside
from d2s.backends.lax.trace.before import Before
from d2s.backends.lax.trace.labels import Labels
from d2s.backends.lax.trace.visitor import Apart, Visitor
from d2s.errors import StagingError

#: values that hold nothing else; a module is no value of its own here, its names are
_ATOMS = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, range, slice)
_METHODS = (types.BuiltinMethodType, types.MethodWrapperType, types.MethodType)


def _has_attributes(value: Any) -> bool:
    """Whether a text or number is of a class of the user's, whose objects have attributes."""
    return not isinstance(value, types.ModuleType) and own_dict(value) is not None


class Snapshot:
    """Everything mutable that some roots reach, as it is now.

    `outside` says that it is the snapshot of what exists beside a whole static function; functions
    made while that runs are none of its business. `apart` tells what of it has a copy in the graph:
    that is an input, and left out here.
    """

    def __init__(self, *roots: Any, outside: bool = False, apart: Apart | None = None) -> None:
        self.outside = outside
        self._apart = apart
        #: the objects that were reached, by identity, in the order they were met
        self._reached: dict[int, Any] = {}
        #: what each of them leads to, in the same order
        self._parts: list[list[Any]] = []
        #: objects that were met only after the region had begun, which may have made them
        self._met_late: set[int] = set()
        self._region_has_begun = False
        #: the code of functions that those which ran in the region may have made
        self._made_in_region: set[types.CodeType] = set()
        #: objects that nothing holds but variables which the region binds anew, by identity
        self.solely_owned: frozenset[int] = frozenset()
        self._before, self._labels = Before(), Labels()
        self._visitor = Visitor(self._before, self._labels, outside, apart)
        for root in roots:
            self.add(root)

    # -- which objects are reached -----------------------------------------------------------------

    def add(self, root: Any) -> None:
        """Take an object into the snapshot, with all that it leads to."""
        stack = [root]
        copies = None if self.outside else scopes.copies()
        while stack:
            value = stack.pop()
            if copies is not None:
                value = copies.of(value)
            known = id(value) in self._reached
            if type(value) in weakref.ProxyTypes and not known:
                # A proxy says of itself that it is the object it stands for, so it is recognised
                # by its own type before anything else is asked.
                self._reached[id(value)] = value
                self._parts.append(self._visitor.visit_elsewhere(value))
                stack.extend(self._parts[-1])
                continue
            if isinstance(value, types.ModuleType) and self.outside:
                stack += self._visitor.modules.find(value)
            if known or (isinstance(value, _ATOMS) and not _has_attributes(value)):
                continue
            self._reached[id(value)] = value
            if self._region_has_begun:
                self._met_late.add(id(value))
            size = len(self._before.contents)
            self._parts.append(self._visitor.visit(value))
            stack.extend(self._parts[-1])
            if self._apart is not None and self._apart.has(value):
                del self._before.contents[size:]

    def add_unvisited(self, value: Any) -> None:
        """Something is reached; what it leads to is not looked at."""
        if id(value) not in self._reached:
            self._reached[id(value)] = value
            self._parts.append([])

    def add_name(self, space: dict[str, Any], name: str) -> None:
        """A global name is read, or about to be written, that no function mentions."""
        self.add(self._before.remember_name(space, name))

    def add_answer(self, is_same: Callable[[], bool]) -> None:
        """The graph depends on an answer; every call asks again whether it is the same."""
        self._before.remember_answer(is_same)

    def enter(self, function: types.FunctionType, code: types.CodeType) -> None:
        """A function runs, by this code; one that the region made reaches nothing from before."""
        if function.__code__ not in self._made_in_region:
            self.add(function)
        self._made_in_region |= codes_inside(code)

    def begin_region(self) -> None:
        """From now on objects may be met that the region itself has made."""
        self._region_has_begun = True

    def reached(self) -> list[Any]:
        """Every object that the roots lead to."""
        return list(self._reached.values())

    def reached_from(self) -> Iterator[tuple[Any, list[Any]]]:
        """Every object that the roots lead to, each with what it leads to itself."""
        return zip(self._reached.values(), self._parts, strict=True)

    def knows(self, value: Any) -> bool:
        return id(value) in self._reached

    def knew(self, value: Any) -> bool:
        """Whether an object was there before the region began."""
        return id(value) in self._reached and id(value) not in self._met_late

    def is_fixed_in_something(self, value: Any) -> bool:
        """Whether something holds a value that cannot be told to hold another.

        Those are tuples and bound methods, and the attributes of classes and functions, which a
        loop does not replace.
        """
        for holder in self._reached.values():
            parts: Any = holder if isinstance(holder, tuple | frozenset) else ()
            if isinstance(holder, _METHODS):
                parts = (holder.__self__,)
            if any(part is value for part in parts):
                return True
        kinds = (type, FunctionAttributes)
        owners = (held for owner, held in self._before.contents if isinstance(owner, kinds))
        return any(part is value for held in owners for part in held.values())

    # -- what has changed --------------------------------------------------------------------------

    def changed(self) -> Iterator[tuple[Any, Any]]:
        """Every owner that holds something else than before, with what it held."""
        return self._before.changed()

    def is_unchanged(self) -> bool:
        return next(self.changed(), None) is None

    def undo(self) -> None:
        """Put everything back that has changed."""
        self._before.undo()

    def changed_slots(self) -> list[Slot]:
        """The slots whose value changed; refuses changes that are more than a new value."""
        found: list[Slot] = []
        for owner, before in self.changed():
            slots = changed_slots(owner, before)
            if slots is None:
                label = self.label_of(Slot(owner, WHOLE))
                raise StagingError(
                    f"{label} is changed where the change depends on a run-time value",
                    code="D2S024",
                    site=scopes.method_change_of(owner) or sites.where(),
                    fix="keep the values in variables or arrays of fixed size and assign those",
                )
            found += slots
        return found

    def filled_slots(self) -> list[Slot]:
        """Every slot that holds a value now."""
        return self._before.filled_slots()

    def global_slots(self) -> list[Slot]:
        """The global names that had a value."""
        return self._before.global_slots()

    def whole_slots(self) -> list[Slot]:
        """Everything that can get more or fewer entries, as slots with the key `WHOLE`."""
        return self._before.whole_slots()

    # -- for those who keep it or speak of it ------------------------------------------------------

    def guard(self) -> Guard | None:
        """Code that asks on every call whether something has changed; None if nothing can."""
        return self._before.guard(self._labels.variables)

    def forget_objects(self) -> None:
        """Let go of the objects; what is compared stays, as short as it can be."""
        self._reached, self._parts = {}, []
        self._before.shorten()

    def label(self, owner: Any) -> str:
        """What a user calls the owner of something that changed."""
        return self._labels.of(owner)

    def label_of(self, slot: Slot) -> str:
        """What a user calls a slot, by the way that leads to it."""
        return self._labels.of_slot(slot, self._before, self.knows)
