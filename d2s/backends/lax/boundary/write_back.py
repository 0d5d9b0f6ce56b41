"""What a call writes into the objects and names of the program, once its graph has run.

The graph computes what they hold after the call; a `Write` puts it there. For

    def f(m, x):
        m.total = m.total + x

a call of the graph gives the new total, and the write stores it in the attribute of the object
that this call was given. All values are made before the first is stored, so that an error leaves
everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax

from d2s.backends.lax.boundary import chosen
from d2s.backends.lax.forms.kinds.attributes import delete_raw, own_dict, set_raw, slot_names
from d2s.backends.lax.forms.kinds.sequences import sequence_form
from d2s.backends.lax.forms.kinds.table import form_of, known_form
from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.refs import REF
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.trace.changed import assigned
from d2s.errors import Site, StagingError


class Call:
    """A call whose graph has run: its outputs, the objects it was given, those made for it."""

    __slots__ = ("made", "outs", "owners")

    def __init__(self, outs: list[Any], owners: Any) -> None:
        self.outs, self.owners = outs, owners
        self.made: dict[int, Any] = {}


#: makes a value of one call
Build = Callable[[Call], Any]


@dataclass
class Write:
    """A change of one object or one slot outside, which every call does."""

    target: int | OuterSlot
    #: of each slot that changes the key, how to make its value, and, where that depends on a
    #: failure, the output that says whether it holds one
    entries: list[tuple[Any, Build, Build | None]]
    #: the keys that are deleted
    gone: list[Any]
    #: other contents in place of entries: for a list of another length the first position that
    #: changes and how to make the items from there on, for a set or a dict the makers of all pairs,
    #: for a NumPy array its values
    refill: Any
    #: whose code does it, for errors
    function: Any = None

    def prepare(self, call: Call) -> Callable[[], None]:
        """Make the new values; what this returns stores them.

        All values of a call are made before any is stored, or one could be made of another.
        """
        values = [
            (key, self._outside(build(call), key))
            for key, build, flag in self.entries
            if flag is None or bool(flag(call))
        ]
        if isinstance(self.target, OuterSlot):
            place = self.target
            return lambda: _bind(place, values)
        owner = call.owners[self.target]
        chosen.refuse_change(owner)
        if isinstance(self.refill, tuple):
            kept, parts = self.refill
            made = [self._outside(part(call)) for part in parts]
            return lambda: sequence_form(type(owner)).replace_from(owner, kept, made)
        if isinstance(self.refill, list):
            pairs: Any = [(key(call), self._outside(part(call))) for key, part in self.refill]
            form = known_form(type(owner))
            if not form.is_by_key:  # a set
                pairs = [key for key, _ in pairs]
            return lambda: form.restore(owner, pairs)
        if self.refill is not None:
            return lambda: known_form(type(owner)).refill(owner, self.refill)
        return lambda: _store(owner, values, self.gone)

    def _outside(self, value: Any, key: Any = None) -> Any:
        try:
            return outside(value)
        except StagingError:
            name = self.target.name if isinstance(self.target, OuterSlot) else key
            site = assigned(self.function, name)
            label = sites.target(site) or ("an object" if name is None else f"`{name}`")
            return outside(value, label, site)


def outside(value: Any, label: str = "an object", site: Site | None = None) -> Any:
    """The value itself, unless it belongs to a graph: objects outlive that, and may not hold it."""
    if isinstance(value, jax.core.Tracer):
        known = value.to_concrete_value()
        if known is None:
            raise StagingError(
                f"{label} is changed by a static function while jax transforms that; the new value "
                "is known only inside the transformation",
                code="D2S078",
                site=site or sites.where(),
                fix="return the new value, or d2s.to_static around the whole, jax.jit, jax.vmap "
                "and jax.grad included",
            )
        return known
    return value


def _bind(place: OuterSlot, values: list[tuple[Any, Any]]) -> None:
    for _, value in values:
        place.set(value)


def _store(owner: Any, values: list[tuple[Any, Any]], gone: list[Any]) -> None:
    if type(owner) is REF:
        for _, value in values:
            owner[...] = value
        return
    form = form_of(type(owner))
    own = _attributes(owner) if form is None else None
    if own is not None:
        for key in gone:
            own.pop(key, None)
        own.update(values)
    elif form is not None:
        for key in gone:
            form.delete(owner, key)
        for key, value in values:
            form.set(owner, key, value)
    else:
        for key in gone:
            delete_raw(owner, key)
        for key, value in values:
            set_raw(owner, key, value)


def _attributes(owner: Any) -> dict[str, Any] | None:
    """All attributes of an object in one dict, if it has no others."""
    kind: Any = type(owner)
    return own_dict(owner) if not slot_names(kind) else None
