"""Lists and deques: entries by position; with another length they change as a whole."""

from __future__ import annotations

from collections import deque
from typing import Any

from d2s.backends.lax.forms.kinds.form import WHOLE, Form, form_of, register


class _Sequence(Form):
    can_grow = is_container = True

    def keys(self, owner: Any) -> list[Any]:
        return list(range(self.base.__len__(owner)))

    def has(self, owner: Any, key: Any) -> bool:
        return bool(key < self.base.__len__(owner))

    def held(self, owner: Any) -> list[Any]:
        return list(self.base.__iter__(owner))

    def reached(self, held: list[Any]) -> list[Any]:
        return held

    def is_same(self, owner: Any, held: list[Any]) -> bool:
        if self.base.__len__(owner) != len(held):
            return False
        return all(a is b for a, b in zip(self.base.__iter__(owner), held, strict=True))

    def restore(self, owner: Any, held: Any) -> None:
        self.base.clear(owner)
        self.base.extend(owner, held)

    def changed(self, owner: Any, held: list[Any]) -> list[Any]:
        if self.base.__len__(owner) != len(held):
            return [WHOLE]
        return [n for n, v in enumerate(self.base.__iter__(owner)) if v is not held[n]]

    def replace_from(self, owner: Any, first: int, items: list[Any]) -> None:
        """Other items from a position on; those before it stay untouched."""
        while self.base.__len__(owner) > first:
            self.base.pop(owner)
        self.base.extend(owner, items)


class _List(_Sequence):
    base = list

    def restore(self, owner: Any, held: Any) -> None:
        list.__setitem__(owner, slice(None), held)

    def replace_from(self, owner: Any, first: int, items: list[Any]) -> None:
        list.__setitem__(owner, slice(first, None), items)


class _Deque(_Sequence):
    base = deque
    extra_name = "maxlen"

    def bare(self, kind: Any, extra: Any) -> Any:
        made = deque.__new__(kind)
        deque.__init__(made, maxlen=extra)
        return made


LIST, DEQUE = register(_List()), register(_Deque())


def sequence_form(kind: Any) -> _Sequence:
    """The form of a list or deque."""
    form = form_of(kind)
    assert isinstance(form, _Sequence), f"{kind.__name__} is no sequence"
    return form
