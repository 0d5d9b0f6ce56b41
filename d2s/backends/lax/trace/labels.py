"""What a user calls something that changed: "the global name `K`", "the list `self.items`"."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.backends.lax.forms.kinds.code import GlobalName, cell_contents
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.objects.slots import Slot, path_to
from d2s.backends.lax.trace.before import Before


class Labels:
    """The words of error messages for the owners in a `Before`."""

    def __init__(self) -> None:
        self._by_owner: dict[int, str] = {}
        #: the cells of closures, with the names that functions have for them
        self.variables: list[tuple[types.CellType, str]] = []

    def note(self, owner: Any, label: str) -> None:
        self._by_owner[id(owner)] = label

    def note_attributes(self, owner: Any, value: Any) -> None:
        """`owner` holds the attributes of an object."""
        self.note(owner, f"an attribute of a {type(value).__name__}")

    def note_variable(self, cell: types.CellType, name: str) -> None:
        self.variables.append((cell, name))
        label = f"the variable `{name}` of an enclosing function"
        self._by_owner.setdefault(id(cell), label)

    def of(self, owner: Any) -> str:
        """An owner in the user's words, without the way that leads to it."""
        if isinstance(owner, GlobalName):
            return f"the global name `{owner.name}`"
        kind = "NumPy array" if type(owner) is np.ndarray else type(owner).__name__
        return self._by_owner.get(id(owner), f"a {kind}")

    def of_slot(self, slot: Slot, before: Before, is_known: Callable[[Any], bool]) -> str:
        """A slot by the way that leads to it from a variable, where there is one.

        The entry ``0`` of a list that is an attribute of the variable `model` is
        ``model.layers[0]``. Ways lead only through objects that are known.
        """
        if isinstance(slot.owner, types.CellType):
            names = [f"`{name}`" for cell, name in self.variables if cell is slot.owner]
            return names[0] if names else self.of(slot.owner)
        if slot.is_global and slot.key is not WHOLE:
            return f"`{slot.key}`"
        roots = [(name, cell_contents(cell)) for cell, name in self.variables]
        roots += [(name, value) for _, name, value in before.names]
        path = path_to(slot.owner, roots, is_known)
        if slot.key is WHOLE or not path:
            kind = type(slot.owner).__name__
            if path.endswith("."):
                return f"the object `{path[:-1]}`"
            return f"the {kind} `{path}`" if path else self.of(slot.owner)
        is_entry = not path.endswith(".")
        return f"`{path}[{slot.key!r}]`" if is_entry else f"`{path}{slot.key}`"
