"""Dicts of all kinds: entries by key; with other keys, or another order, they change as a whole.

The dict that holds the attributes of an object is one of them.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from typing import Any

from d2s.backends.lax.forms.kinds.form import WHOLE, Form, register


class _Mapping(Form):
    can_grow = is_container = is_by_key = True

    def keys(self, owner: Any) -> list[Any]:
        return list(self.base.__iter__(owner))

    def has(self, owner: Any, key: Any) -> bool:
        return bool(self.base.__contains__(owner, key))

    def held(self, owner: Any) -> dict[Any, Any]:
        return dict(self.base.items(owner))

    def reached(self, held: dict[Any, Any]) -> list[Any]:
        return list(held.values())

    def is_same(self, owner: Any, held: dict[Any, Any]) -> bool:
        if self.base.__len__(owner) != len(held):
            return False
        pairs = zip(self.base.items(owner), held.items(), strict=True)
        return all(k is k2 and v is v2 for (k, v), (k2, v2) in pairs)

    def restore(self, owner: Any, held: Any) -> None:
        self.base.clear(owner)
        for key, value in dict(held).items():
            self.base.__setitem__(owner, key, value)

    def names(self, held: dict[Any, Any]) -> list[Any]:
        return list(held)

    def delete(self, owner: Any, key: Any) -> None:
        self.base.pop(owner, key, None)

    def changed(self, owner: Any, held: dict[Any, Any]) -> list[Any]:
        if self.keys(owner) != list(held):
            return [WHOLE]
        return [k for k, v in self.base.items(owner) if v is not held[k]]


class _Dict(_Mapping):
    base = dict


class _OrderedDict(_Mapping):
    base = OrderedDict  # it keeps the order in a list of its own, so the methods of `dict` won't do


class _DefaultDict(_Mapping):
    base = defaultdict
    extra_name = "default_factory"

    def bare(self, kind: Any, extra: Any) -> Any:
        made = defaultdict.__new__(kind)
        defaultdict.__init__(made, extra)
        return made


DICT = register(_Dict())
ORDERED, DEFAULT = register(_OrderedDict()), register(_DefaultDict())
