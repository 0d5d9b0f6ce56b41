"""What Python keeps for a thread or a context, or only weakly."""

from __future__ import annotations

import threading
import weakref
from contextvars import ContextVar
from typing import Any

from d2s.backends.lax.forms.kinds.form import EMPTY, Form, register


class Elsewhere:
    """A context variable, an object of a thread's own, or a weak reference, as an owner."""

    KINDS = (ContextVar, threading.local, weakref.ref, *weakref.ProxyTypes)

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    @property
    def is_weak(self) -> bool:
        # not `isinstance`: a proxy would ask its object, which may be gone
        return issubclass(type(self.owner), (weakref.ref, *weakref.ProxyTypes))

    def referent(self) -> Any:
        """The object that a weak reference leads to, or None."""
        if issubclass(type(self.owner), weakref.ref):
            return self.owner()
        try:
            # A proxy hands every question to its object, so a bound method has the object itself.
            return self.owner.__sizeof__.__self__
        except ReferenceError:
            return None

    def contents(self) -> dict[str, Any]:
        if self.is_weak:
            # Only a flag is remembered, because a snapshot must not keep the object alive.
            return {"is alive": self.referent() is not None}
        if isinstance(self.owner, ContextVar):
            return {"value": self.owner.get(EMPTY)}
        return dict(self.owner.__dict__)

    def held(self) -> list[Any]:
        """The objects that a program gets by it."""
        if self.is_weak:
            referent = self.referent()
            return [] if referent is None else [referent]
        return [value for value in self.contents().values() if value is not EMPTY]


class _Elsewhere(Form):
    base = Elsewhere
    has_slots = False

    def held(self, owner: Elsewhere) -> dict[str, Any]:
        return owner.contents()

    def is_same(self, owner: Elsewhere, held: dict[str, Any]) -> bool:
        now = self.held(owner)
        return list(now) == list(held) and all(now[name] is held[name] for name in now)

    def restore(self, owner: Elsewhere, held: dict[str, Any]) -> None:
        if owner.is_weak:
            return
        if isinstance(owner.owner, threading.local):
            owner.owner.__dict__.clear()
            owner.owner.__dict__.update(held)
        elif isinstance(owner.owner, ContextVar) and held["value"] is not EMPTY:
            owner.owner.set(held["value"])

    def changed(self, owner: Elsewhere, held: Any) -> None:
        return None


register(_Elsewhere())
