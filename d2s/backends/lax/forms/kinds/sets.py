"""Sets: no entries, since what is in them is a key and no value of a graph.

All items are what a set has besides entries, so two sets are joined only if they are the same.
"""

from __future__ import annotations

from typing import Any

from d2s.backends.lax.forms.kinds.form import WHOLE, Form, register


class _Set(Form):
    base = set
    has_slots = False
    can_grow = is_container = True

    def keys(self, owner: Any) -> list[Any]:
        return []

    def has(self, owner: Any, key: Any) -> bool:
        return False

    def held(self, owner: Any) -> set[Any]:
        return set(set.__iter__(owner))

    def reached(self, held: set[Any]) -> list[Any]:
        return list(held)

    def is_same(self, owner: Any, held: set[Any]) -> bool:
        return bool(set.__eq__(owner, held))

    def restore(self, owner: Any, held: Any) -> None:
        set.clear(owner)
        set.update(owner, held)

    def names(self, held: set[Any]) -> list[Any]:
        return list(held)

    def extra(self, owner: Any) -> Any:
        return tuple(set.__iter__(owner))

    def bare(self, kind: Any, extra: Any) -> Any:
        made = set.__new__(kind)
        set.update(made, extra or ())
        return made

    def fill(self, owner: Any, held: Any) -> None:
        """Nothing: the items are there already."""

    def changed(self, owner: Any, held: set[Any]) -> list[Any]:
        return [] if self.is_same(owner, held) else [WHOLE]


SET = register(_Set())
