"""What the slots of objects held at one moment: compared with now, put back, turned into a guard.

``Before`` only remembers; which objects are looked at is decided by `visitor`. A list that held
``[1, 2]`` is remembered as the pair ``(the list, [1, 2])``, the global name `K` as
``(the dict of its module, "K", its value)``.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterator
from typing import Any

from d2s.backends.lax.forms.kinds.code import Answer, FunctionAttributes, GlobalName
from d2s.backends.lax.forms.kinds.form import EMPTY, WHOLE
from d2s.backends.lax.forms.kinds.table import known_form
from d2s.backends.lax.objects.guards import FUNCTION_PARTS, Guard
from d2s.backends.lax.objects.nnx import keep_order
from d2s.backends.lax.objects.slots import Slot, is_unchanged, restore


class Before:
    """What was in the slots of objects when a snapshot was taken.

    An *owner* is a cell, a container, a class, or one of the stand-ins of `objects.slots`
    (`SlotAttributes`, `FunctionAttributes`, `Elsewhere`, `Buffer`, `Answer`).
    """

    def __init__(self) -> None:
        #: each owner with a copy of what it held
        self.contents: list[tuple[Any, Any]] = []
        #: each global name: the dict of its module, the name, and its value or `EMPTY`
        self.names: list[tuple[dict[str, Any], str, Any]] = []
        #: each function with its code, its defaults and its keyword defaults
        self.functions: list[tuple[types.FunctionType, Any, Any, Any]] = []
        #: exceptions that existed already: raising one changes its traceback, context and cause
        self._exceptions: list[tuple[BaseException, Any, Any, Any, bool]] = []
        #: attributes whose order means nothing, with the order that they had
        self._unordered: list[tuple[dict[str, Any], list[str]]] = []

    def remember(self, owner: Any, held: Any) -> None:
        self.contents.append((owner, held))

    def remember_name(self, space: dict[str, Any], name: str) -> Any:
        """Remember a global name; returns its value, or `EMPTY`."""
        value = space.get(name, EMPTY)
        self.names.append((space, name, value))
        return value

    def remember_function(self, function: types.FunctionType) -> None:
        parts = function.__code__, function.__defaults__, function.__kwdefaults__
        self.functions.append((function, *parts))

    def remember_exception(self, error: BaseException) -> None:
        links = error.__traceback__, error.__context__, error.__cause__
        self._exceptions.append((error, *links, error.__suppress_context__))

    def remember_order(self, attributes: dict[str, Any]) -> None:
        self._unordered.append((attributes, list(attributes)))

    def remember_answer(self, is_same: Callable[[], bool]) -> None:
        self.contents.append((Answer(is_same), True))

    def changed(self) -> Iterator[tuple[Any, Any]]:
        """Every owner that holds something else now, with what it held."""
        for attributes, order in self._unordered:
            keep_order(attributes, order)
        for owner, before in self.contents:
            if not is_unchanged(owner, before):
                yield owner, before
        for space, name, before in self.names:
            if space.get(name, EMPTY) is not before:
                yield GlobalName(space, name), before
        for function, *parts in self.functions:
            held = dict(zip(FUNCTION_PARTS, parts, strict=True))
            if not is_unchanged(function, held):
                yield function, held

    def undo(self) -> None:
        """Put everything back that has changed."""
        for error, traceback, context, cause, hides_context in self._exceptions:
            error.__traceback__, error.__context__, error.__cause__ = traceback, context, cause
            error.__suppress_context__ = hides_context
        for owner, before in list(self.changed()):
            restore(owner, before)

    def guard(self, variables: list[tuple[types.CellType, str]]) -> Guard | None:
        """Code that asks on every call whether something has changed; None if nothing can.

        `variables` are the names of the cells, for the message that says what has changed.
        """
        held = self.names, self.functions, self.contents
        return Guard(*held, variables) if any(held) else None

    def shorten(self) -> None:
        """Drop what no guard needs: exceptions, names that are there twice, empty attributes."""
        self._exceptions = []
        self.names = list({(id(n[0]), n[1]): n for n in reversed(self.names)}.values())
        self.contents = [
            (owner, before)
            for owner, before in self.contents
            if type(owner) is not FunctionAttributes or before
        ]

    def filled_slots(self) -> list[Slot]:
        """Every remembered slot that holds a value now."""
        found: list[Slot] = []
        for owner, _ in self.contents:
            form = known_form(type(owner))
            if form.has_slots:
                found += [Slot(owner, key) for key in form.keys(owner)]
        found += [Slot(space, name) for space, name, _ in self.names if name in space]
        return found

    def global_slots(self) -> list[Slot]:
        """The global names that had a value."""
        return [Slot(space, name) for space, name, held in self.names if held is not EMPTY]

    def whole_slots(self) -> list[Slot]:
        """Everything that can get more or fewer entries, each as a slot with the key `WHOLE`."""
        owners = [owner for owner, _ in self.contents if known_form(type(owner)).can_grow]
        return [Slot(owner, WHOLE) for owner in owners]
