"""Keys: what a graph was built for, as far as that is known before the graph runs.

The things that a call can reach are taken apart into run-time leaves and a key. The key is a flat
tuple of tokens in the order of the walk, so it can be compared in one step and read again from
left to right to make the same structure anew. A type stands for a leaf of that type. For the
arguments ``([x, 2], "mean", items, items)``, with an array `x` and an empty list `items`, it is

    Node(tuple, 4)  Node(list, 2) ARRAY int  Static("mean")  Node(list, 0)  Again(1)

with the leaves `x` and 2. Lists and other mutable objects are numbered as they are met, and `items`
has the number 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from d2s.backends.lax.forms.exact import Holders, Token, attribute_or_empty, exact_key
from d2s.backends.lax.forms.kinds.attributes import slot_names
from d2s.backends.lax.forms.kinds.table import CONTAINERS, known_form


class Static(Token):
    """A value that is a constant of the graph; equal only to one that no program can tell apart."""

    __slots__ = ("holders", "value")

    def __init__(self, value: Any) -> None:
        #: the objects in it that can change
        self.holders: Holders = {}
        super().__init__(exact_key(value, self.holders))
        self.value = value

    def is_frozen(self) -> bool:
        """Whether nothing in it can change, except by tricks that get around a frozen dataclass."""
        kinds = (type(holder) for holder in self.holders.values())
        parameters = (getattr(kind, "__dataclass_params__", None) for kind in kinds)
        return all(known is not None and known.frozen for known in parameters)

    def __repr__(self) -> str:
        return repr(self.value)


class Number(Static):
    """A Python number found in an object, a global or a closure: a constant until it changes."""

    __slots__ = ()


class ChangingNumber(Token):
    """A number found in an object that has changed once: a leaf from then on, after all others."""

    __slots__ = ()


class Itself(Token):
    """An object that stays what it is inside the graph: a function, a lock, an iterator."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        super().__init__(id(value))
        self.value = value


class Again(Token):
    """A mutable object that was met before, by the number that it got then."""

    __slots__ = ()


class Pairs(int):
    """The size of a dict or set whose keys are objects, which are parts like the values."""


class Node(Token):
    """An object with parts; their tokens follow.

    `names` says how many parts there are and what they are called, `exact` what is compared of it.
    A container of a class of the user's has the dict of its attributes as its last part.
    """

    __slots__ = ("has_attributes", "kind", "names")

    def __init__(
        self, kind: Any, names: Any, exact: Any = None, has_attributes: bool = False
    ) -> None:
        super().__init__((kind, names if exact is None else exact))
        self.kind, self.names, self.has_attributes = kind, names, has_attributes

    def __repr__(self) -> str:
        size = self.names if isinstance(self.names, int) else getattr(self.names, "__len__", int)()
        return f"a {self.kind.__name__} of {size} parts"


def are_unchanged(state: list[tuple[Any, Any]]) -> bool:
    """Whether the objects that a key was read from hold what they held then."""
    return all(_state(holder) == before for holder, before in state)


def states(holders: Holders) -> list[tuple[Any, Any]]:
    return [(holder, _state(holder)) for holder in holders.values()]


def _state(holder: Any) -> Any:
    """What an object holds, as the identities of its parts."""
    if isinstance(holder, np.ndarray):
        return holder.tobytes()
    ids: list[Any] = []
    if isinstance(holder, CONTAINERS):
        form = known_form(type(holder))
        held = form.held(holder)
        ids = [*map(id, held if form.is_by_key else ()), *map(id, form.reached(held))]
    own = getattr(holder, "__dict__", None)
    if own:
        ids += [*own, *map(id, own.values())]
    kind: Any = type(holder)
    return ids + [id(attribute_or_empty(holder, name)) for name in slot_names(kind)]
