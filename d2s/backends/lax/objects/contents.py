"""What is in a mutable object: its slots, and a copy of what they hold."""

from __future__ import annotations

from collections import deque
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.objects.attributes import attribute_names, getattr_raw
from d2s.backends.lax.objects.slots import Slot, instance_slot


def keys_of(value: Any) -> list[Any]:
    """The keys of the slots in a mutable object: positions, keys, or names of attributes."""
    if isinstance(value, list | deque):
        return list(range(len(value)))
    if isinstance(value, dict):
        return list(value)
    if isinstance(value, set | frozenset | np.ndarray | jax.Array):
        return []
    return list(attribute_names(value))


def slots_of(value: Any) -> list[Slot]:
    is_ref = type(value) is jax.Ref  # what it holds is no slot: JAX stores it
    return [] if is_ref else [slot_of(value, key) for key in keys_of(value)]


def slot_of(value: Any, key: Any) -> Slot:
    if isinstance(value, list | deque | dict):
        return Slot(value, key)
    return instance_slot(value, key)


def contents(value: Any) -> Any:
    """What is in a mutable object, as it is now."""
    if isinstance(value, list | deque):
        return list(value)
    if isinstance(value, dict):
        return dict(value)
    if isinstance(value, set):
        return set(value)
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, jax.Array | frozenset):
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
