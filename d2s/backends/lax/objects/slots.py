"""Slots: what holds one value of a program. A cell, an entry, an attribute, a global name.

In ``self.count += 1`` the slot is the entry "count" of the dict of attributes of `self`, which is
``Slot(vars(self), "count")``. ``items.append(x)`` gives the list another length, so the slot is the
list as a whole: ``Slot(items, WHOLE)``. What the owner holds, and how it is changed, its form says.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from d2s.backends.lax.forms.kinds.attributes import own_dict
from d2s.backends.lax.forms.kinds.code import GlobalName, SlotAttributes, cell_contents
from d2s.backends.lax.forms.kinds.form import EMPTY, WHOLE
from d2s.backends.lax.forms.kinds.table import form_of, known_form


class Slot:
    """What holds one value: a closure cell, an entry of a list or dict, an attribute.

    With the key `WHOLE` it is all that a list, dict or object holds, for the case that there are
    more or fewer entries than before.
    """

    def __init__(self, owner: Any, key: Any) -> None:
        self.owner, self.key = owner, key

    def get(self) -> Any:
        form = known_form(type(self.owner))
        return form.held(self.owner) if self.key is WHOLE else form.get(self.owner, self.key)

    def set(self, value: Any) -> None:
        form = known_form(type(self.owner))
        if self.key is WHOLE:
            form.restore(self.owner, value)
        else:
            form.set(self.owner, self.key, value)

    @property
    def is_there(self) -> bool:
        """Whether there is such a slot at all: the entry or attribute may be gone."""
        return self.key is WHOLE or known_form(type(self.owner)).has(self.owner, self.key)

    @property
    def is_global(self) -> bool:
        """Whether it is a global name of a module.

        Python puts `__builtins__` into every dict that code runs in as its globals.
        """
        return isinstance(self.owner, dict) and "__builtins__" in self.owner

    @property
    def holder(self) -> Any:
        """The object of the program that holds the value."""
        return self.owner.owner if isinstance(self.owner, SlotAttributes) else self.owner

    @property
    def identity(self) -> tuple[int, Any]:
        return id(self.holder), self.key


@dataclass(frozen=True, eq=False)
class OuterSlot:
    """A slot outside of a static function that is an input of its graph.

    It is a global name of a module, a cell (which has no name), or the defaults of a function.
    """

    owner: Any
    name: str | None

    #: a name is a slot whether or not it has a value
    is_there = True

    @property
    def is_fixed(self) -> bool:
        """Whether nothing can be stored in the slot, only in the objects that it holds."""
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


def instance_slot(value: Any, name: str) -> Slot:
    """An attribute of an object as a slot: in its dict, or else in its `__slots__`."""
    own = own_dict(value)
    if own is not None and name in own:
        return Slot(own, name)
    return Slot(SlotAttributes(value), name)


def restore(owner: Any, before: Any) -> None:
    """Put back what was in something before it changed."""
    known_form(type(owner)).restore(owner, before)


def is_unchanged(owner: Any, before: Any) -> bool:
    """Whether an owner holds what it held before, by identity of the values."""
    return known_form(type(owner)).is_same(owner, before)


def changed_slots(owner: Any, before: Any) -> list[Slot] | None:
    """The slots of an owner whose value changed; None if that is not all that changed."""
    keys = known_form(type(owner)).changed(owner, before)
    owner = owner.space if isinstance(owner, GlobalName) else owner
    return None if keys is None else [Slot(owner, key) for key in keys]


def path_to(owner: Any, roots: Iterable[tuple[str, Any]], is_known: Callable[[Any], bool]) -> str:
    """How a program gets to an owner from one of some variables: ``model.layers[0]``.

    The path to the attributes of an object ends with a dot. Empty if no way is found.
    """
    wanted = owner.owner if isinstance(owner, SlotAttributes) else owner
    queue = list(roots)
    seen: set[int] = set()
    for path, value in queue:
        if id(value) in seen or not is_known(value) or isinstance(value, type):
            continue
        seen.add(id(value))
        if value is wanted:
            return f"{path}." if isinstance(owner, SlotAttributes) else path
        attributes = getattr(value, "__dict__", None)
        if attributes is wanted:
            return f"{path}."
        form = form_of(type(value))
        if isinstance(value, tuple):
            queue += [(f"{path}[{n}]", part) for n, part in enumerate(tuple.__iter__(value))]
        elif form is not None and form.has_slots:
            queue += [(path + form.name(key), form.get(value, key)) for key in form.keys(value)]
        elif type(attributes) is dict and not callable(value):
            queue += [(f"{path}.{name}", part) for name, part in attributes.items()]
    return ""
