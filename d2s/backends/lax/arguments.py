"""Arguments and results of a static function: what is traced, what is static, how both are made."""

from __future__ import annotations

import enum
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax import channels
from d2s.backends.lax.dtypes import NUMBERS, fits, is_dynamic
from d2s.backends.lax.trees import children
from d2s.backends.lax.watch import Watch, slot_names
from d2s.errors import StagingError

Build = Callable[[Any], Any]
ARRAY = type(jnp.zeros(()))


class _Static:
    """A static argument inside a key: equal only to a value that behaves the same."""

    __slots__ = ("_hash", "exact", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self.exact = exact_key(value)
        self._hash = hash(self.exact)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and self.exact == other.exact


def exact_key(value: Any) -> Any:
    """A key that tells 0.0 from -0.0 and 1 from True, inside hashable objects too."""
    kind: Any = type(value)
    if kind in NUMBERS:
        return kind, repr(value)
    if isinstance(value, tuple):
        return kind, *(exact_key(v) for v in value)
    if isinstance(value, frozenset):
        return kind, frozenset(exact_key(v) for v in value)
    if isinstance(value, str | bytes | type | enum.Enum) or not _defines_equality(kind):
        return kind, value
    names = [*getattr(value, "__dict__", ()), *slot_names(kind)]
    parts = [(name, exact_key(getattr(value, name))) for name in names if hasattr(value, name)]
    return kind, value, *parts


def _defines_equality(kind: type) -> bool:
    return any("__eq__" in vars(base) for base in kind.__mro__[:-1])


def flatten(value: Any, leaves: list[Any], key: list[Any]) -> None:
    """Append the run-time leaves of an argument, and what else its graph depends on."""
    kind = type(value)
    if kind is float or kind is ARRAY or kind is complex:
        leaves.append(value)
        key.append(kind)
    elif kind is int:
        if fits(value):
            leaves.append(value)
            key.append(int)
        else:
            key.append(_Static(value))
    elif kind is not bool and is_dynamic(value):
        leaves.append(value)
        key.append(jax.Array)
    else:
        parts = children(value) if not _is_frozen(value) else None
        if parts is None:
            key.append(_static(value))
            return
        key.append(kind)
        if isinstance(value, dict):
            key.append(tuple(map(exact_key, value)))
        for name, part in parts[0]:
            key.append(name)
            flatten(part, leaves, key)
        key.append(len(parts[0]))


def _is_frozen(value: Any) -> bool:
    """A hashable configuration: static as a whole."""
    params = getattr(type(value), "__dataclass_params__", None)
    if params is None or not params.frozen or isinstance(value, type):
        return False
    registered = jax.tree_util.all_leaves([value])
    try:
        hash(value)
    except TypeError:
        return False
    return registered


def _static(value: Any) -> _Static:
    try:
        if isinstance(value, Iterator):
            raise TypeError("an iterator is used up while the graph is built")
        return _Static(value)
    except TypeError:
        raise StagingError(
            f"an argument of type {type(value).__name__} is neither an array, a number, a "
            "container of those, nor hashable",
            code="D2S030",
            site=channels.where(),
            fix="an array, a list, a dict, a dataclass, or a hashable value",
        ) from None


class Builder:
    """Remembers how arguments were taken apart."""

    def __init__(self) -> None:
        self.count = 0

    def template(self, value: Any) -> Build:
        kind = type(value)
        if kind is not bool and is_dynamic(value) and (kind is not int or fits(value)):
            position = self.count
            self.count += 1
            return lambda leaves: leaves[position]
        parts = children(value) if not _is_frozen(value) else None
        if parts is None:
            return lambda leaves: value
        builds = [self.template(part) for _, part in parts[0]]
        make = parts[1]
        return lambda leaves: make([build(leaves) for build in builds])


def only_leaf(leaves: Any) -> Any:
    return leaves[0]


def template_of_result(value: Any, outs: list[Any], watch: Watch) -> Build:
    """How to make the returned value from the outputs of the graph."""
    if isinstance(value, jax.Array) or (is_dynamic(value) and type(value) not in NUMBERS):
        outs.append(value)
        position = len(outs) - 1
        return only_leaf if position == 0 else lambda leaves: leaves[position]
    if watch.knows(value):
        return lambda leaves: value
    parts = children(value)
    if parts is not None:
        builds = [template_of_result(part, outs, watch) for _, part in parts[0]]
        make = parts[1]
        return lambda leaves: make([build(leaves) for build in builds])
    if isinstance(value, set):
        return lambda leaves: set(value)
    if not _is_same_on_every_call(value):
        raise StagingError(
            f"a {type(value).__name__} made inside a static function cannot be returned from it",
            code="D2S031",
            fix="arrays, numbers, texts, or lists, dicts and dataclasses of those",
        )
    return lambda leaves: value


def _is_same_on_every_call(value: Any) -> bool:
    """Whether a value can be made once, while the graph is built, and returned by every call."""
    if isinstance(value, types.FunctionType):
        captured = [cell.cell_contents for cell in value.__closure__ or ()]
        return all(isinstance(held, types.ModuleType) for held in captured)
    plain = (str, bytes, enum.Enum, type, types.ModuleType, range, slice, frozenset, np.dtype)
    return value is None or type(value) in NUMBERS or isinstance(value, plain)


def objects(value: Any) -> list[Any]:
    """Static objects among the arguments: what they hold is read while the graph is built."""
    parts = children(value)
    if parts is not None:
        return [found for _, part in parts[0] for found in objects(part)]
    atoms = (str, bytes, enum.Enum, type)
    return [] if is_dynamic(value) or isinstance(value, atoms) else [value]
