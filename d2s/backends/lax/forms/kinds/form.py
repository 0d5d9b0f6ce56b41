"""Forms: what one kind of Python value holds, in one file for each kind, asked by everybody.

An *owner* is something that holds values: a list, a dict (also the one with the attributes of an
object), a set, a cell, a NumPy array. Its form says which entries it has, what is in it at this
moment, whether that is still the same, and how to put it back. For ``items = [x, 2]``

    form = form_of(list)
    form.keys(items)                    [0, 1]
    held = form.held(items)             [x, 2], a list of its own
    items.append(3)
    form.is_same(items, held)           False
    form.changed(items, held)           [WHOLE], since it has another length
    form.restore(items, held)           items is [x, 2] again

All of it is done by the methods of the builtin class, because a class of the user's may have its
own: nothing of the program runs when d2s looks at its values.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

from d2s.libraries import is_library_class

T = TypeVar("T")

#: stands for the value of an entry that holds none
EMPTY = object()

#: the key of an entry that is all that an owner holds, for more or fewer entries than before
WHOLE = object()


class Form:
    """The questions that every form answers."""

    #: the builtin class that the form is about
    base: Any
    #: whether its entries can be values of a graph, one by one or as a whole
    has_slots = True
    #: whether it can get more or fewer entries
    can_grow = False
    #: whether it is a container of Python's, and by what its entries are found
    is_container = False
    is_by_key = False
    #: the attribute by which a program reads what it has besides its entries; None for nothing
    extra_name: str | None = None
    #: how an entry is written in a program
    is_by_attribute = False

    def keys(self, owner: Any) -> list[Any]:
        """The keys of its entries, in their order."""
        raise NotImplementedError

    def get(self, owner: Any, key: Any) -> Any:
        return self.base.__getitem__(owner, key)

    def set(self, owner: Any, key: Any, value: Any) -> None:
        self.base.__setitem__(owner, key, value)

    def has(self, owner: Any, key: Any) -> bool:
        """Whether there is such an entry: it may be gone."""
        raise NotImplementedError

    def held(self, owner: Any) -> Any:
        """What is in it now, as a value of its own that nobody changes."""
        raise NotImplementedError

    def reached(self, held: Any) -> list[Any]:
        """The values to which what it holds leads."""
        return []

    def leads_to(self, owner: Any, held: Any) -> list[Any]:
        """The objects that a program gets by it: values, keys, and what is called for new ones.

        Keys that are objects of a library are its own business, as texts and numbers are.
        """
        keys = filter(_is_users, held) if self.is_by_key else ()
        extra = () if self.extra_name is None else (self.extra(owner),)
        return [*keys, *self.reached(held), *extra]

    def can_change(self, owner: Any) -> bool:
        """Whether a program can change it at all."""
        return True

    def is_same(self, owner: Any, held: Any) -> bool:
        """Whether it holds what it held, by identity of the values."""
        raise NotImplementedError

    def restore(self, owner: Any, held: Any) -> None:
        """Put back what it held."""
        raise NotImplementedError

    def refill(self, owner: Any, held: Any) -> None:
        """Give it what it holds after a call; what it is otherwise, a call does not change."""
        self.restore(owner, held)

    def delete(self, owner: Any, key: Any) -> None:
        """Take an entry away, if it is there."""
        raise NotImplementedError

    def changed(self, owner: Any, held: Any) -> list[Any] | None:
        """The keys of the entries that have changed; None if entries are not all that changed."""
        raise NotImplementedError

    # -- what is needed to make another one --------------------------------------------------------

    def names(self, held: Any) -> Any:
        """What a key knows of the entries: how many there are, their keys, or all of them."""
        return len(held)

    def extra(self, owner: Any) -> Any:
        """What it has besides its entries, as the `maxlen` of a deque; None for nothing."""
        return None if self.extra_name is None else getattr(owner, self.extra_name)

    def bare(self, kind: Any, extra: Any) -> Any:
        """An empty one of a class; no code of the class runs."""
        return self.base.__new__(kind)

    def fill(self, owner: Any, held: Any) -> None:
        """Put values into one that is empty."""
        self.restore(owner, held)

    def name(self, key: Any) -> str:
        """An entry as a program writes it, behind the name of its owner."""
        return f".{key}" if self.is_by_attribute else f"[{key!r}]"


def _is_users(key: Any) -> bool:
    kind: Any = type(key)
    return isinstance(key, tuple | frozenset) or not is_library_class(kind)


def per_class(ask: Callable[[Any], T]) -> Callable[[Any], T]:
    """A question about classes that is asked once for each, as long as the class lives."""
    known: weakref.WeakKeyDictionary[type, T] = weakref.WeakKeyDictionary()

    @functools.wraps(ask)
    def answer(kind: Any) -> T:
        try:
            return known[kind]
        except KeyError:
            found = known[kind] = ask(kind)
            return found

    return answer


_FORMS: dict[Any, Form] = {}


def register(form: Form) -> Form:
    """Put a form into the table: it is that of its class, and of the subclasses without another."""
    _FORMS[form.base] = form
    return form


def forms() -> list[Form]:
    """All forms of the table."""
    return list(_FORMS.values())


@per_class
def form_of(kind: Any) -> Form | None:
    """The form of a class; None where its objects are no owners, but hold their attributes."""
    return next((_FORMS[base] for base in kind.__mro__ if base in _FORMS), None)


def known_form(kind: Any) -> Form:
    """The form of a class that is known to have one."""
    form = form_of(kind)
    assert form is not None, f"{kind.__name__} is no owner"
    return form
