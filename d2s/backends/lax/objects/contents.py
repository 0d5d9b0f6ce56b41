"""What is in a mutable object: its slots, and a copy of what they hold."""

from __future__ import annotations

import types
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.kinds.attributes import attribute_names, getattr_raw
from d2s.backends.lax.forms.kinds.table import form_of
from d2s.backends.lax.objects.slots import Slot, instance_slot

#: values that have a copy, and do not change
_FIXED = (frozenset, types.MappingProxyType, jax.Array)


def keys_of(value: Any) -> list[Any]:
    """The keys of the slots in a mutable object: positions, keys, or names of attributes."""
    form = form_of(type(value))
    if form is not None:
        return form.keys(value) if form.has_slots else []
    return [] if isinstance(value, _FIXED) else list(attribute_names(value))


def slots_of(value: Any) -> list[Slot]:
    is_ref = type(value) is jax.Ref  # what it holds is no slot: JAX stores it
    return [] if is_ref else [slot_of(value, key) for key in keys_of(value)]


def slot_of(value: Any, key: Any) -> Slot:
    return instance_slot(value, key) if form_of(type(value)) is None else Slot(value, key)


def contents(value: Any) -> Any:
    """What is in a mutable object, as it is now."""
    form = form_of(type(value))
    if form is not None:
        return form.held(value)
    if isinstance(value, _FIXED):
        return None
    return {name: getattr_raw(value, name) for name in attribute_names(value)}


def same_contents(before: Any, after: Any) -> bool:
    if isinstance(before, dict):
        return list(before) == list(after) and all(before[k] is after[k] for k in before)
    if isinstance(before, list):
        return len(before) == len(after) and all(a is b for a, b in zip(before, after, strict=True))
    if isinstance(before, np.ndarray):
        return bool(before.tobytes() == after.tobytes())
    return bool(before == after)
