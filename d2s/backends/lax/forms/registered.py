"""Forms of the user's: classes of which the program itself says how they are taken apart.

    d2s.register_form(Grid, lambda g: ({"cells": g.cells()}, g.shape), lambda p, s: Grid(s, **p))

The first function gives the parts, by name or in order, and all the rest, which belongs to the key
of a graph; the second makes the object again.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

import jax

from d2s.backends.lax.forms.exact import exact_key

Parts = dict[str, Any] | list[Any] | tuple[Any, ...]


class UserForm(NamedTuple):
    """How objects of a class are taken apart and made."""

    open: Callable[[Any], tuple[Parts, Hashable]]
    make: Callable[[Any, Any], Any]


class Layout:
    """All of an object but the values of its parts: what a key knows of it."""

    __slots__ = ("exact", "form", "keys", "static")

    def __init__(self, form: UserForm, keys: list[str] | int, static: Any) -> None:
        self.form, self.keys, self.static = form, keys, static
        names = keys if isinstance(keys, int) else tuple(keys)
        self.exact = form, names, exact_key(static)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Layout) and bool(self.exact == other.exact)

    def __hash__(self) -> int:
        return hash(self.exact)

    @property
    def num_leaves(self) -> int:
        return self.keys if isinstance(self.keys, int) else len(self.keys)

    @property
    def names(self) -> list[str]:
        """The parts as a program would write them."""
        if isinstance(self.keys, int):
            return [f"[{n}]" for n in range(self.keys)]
        return [f".{key}" for key in self.keys]

    def made(self, parts: list[Any]) -> Any:
        """The object with these parts."""
        if isinstance(self.keys, int):
            return self.form.make(list(parts), self.static)
        return self.form.make(dict(zip(self.keys, parts, strict=True)), self.static)


#: what keeps all of an object but its parts
STRUCTURES = (jax.tree_util.PyTreeDef, Layout)

_forms: weakref.WeakKeyDictionary[type, UserForm] = weakref.WeakKeyDictionary()


#: called with each class that is registered
when_registered: list[Callable[[type], Any]] = []


def register_form(kind: type, form: UserForm) -> None:
    _forms[kind] = form
    for told in when_registered:
        told(kind)


def is_registered(kind: type) -> bool:
    return kind in _forms


def opened(value: Any) -> tuple[list[Any], Layout]:
    """The parts of an object of a registered class, and the rest."""
    form = _forms[type(value)]
    parts, static = form.open(value)
    if isinstance(parts, dict):
        return list(parts.values()), Layout(form, [*parts], static)
    return list(parts), Layout(form, len(parts), static)
