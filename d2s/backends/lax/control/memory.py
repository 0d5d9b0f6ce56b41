"""What was found out about a loop, for the next time that the same loop comes on the same values.

A loop inside a loop is traced many times: in trials of the loops around it, and in each round of
those. What it becomes depends on its code and on everything that this can reach, with run-time
values by their types alone. That is the key here: in ::

    for i in range(n):              the inner loop has the same key in every trial of the outer
        while x > y:                one in which `x` and `y` are float32, and its prediction and
            x = x - y               refusals are found once.

A key holds for one graph that is built. Where something cannot be compared, nothing is remembered.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.may_alias import is_spent
from d2s.backends.lax.forms.dtypes import type_of
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import CONTAINERS, known_form
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.semantics.sequences import Sequence
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.conversion import MARKS
from d2s.libraries import is_d2s_function, is_library_class, is_library_file
from d2s.options import loop_options
from d2s.runtime.values import Maybe, Unbound
from d2s.static import StaticFunction

#: arrays of so many elements are compared by their values
SMALL = 64


@dataclass
class Memory:
    """What is known of a loop; None where nobody has found out yet."""

    #: whether its test becomes a run-time value (`prediction`)
    becomes_traced: bool | None = None
    #: whether its test counts a few trips and then ends it
    is_short: bool = False
    #: why it is not rolled (`rolling`)
    refusal: str | None = None
    #: whether the staged loop asks its test at the end of each trip, and not before the next: it
    #: prints, or the test does more than to compare
    asks_ahead: bool = False
    #: whether the staged body knows the error code: it must not print after a failure
    carries_code: bool = False
    #: whether the body needs Python numbers as Python numbers
    keeps_numbers: bool = False


def of(watch: Snapshot, *roots: Any) -> Memory:
    """What is remembered of a loop; `watch` knows all that it reaches."""
    store = scopes.memories()
    if store is None:
        return Memory()
    try:
        key, kept = _Key(watch).of(roots)
    except _Unknown:
        return Memory()
    if key not in store:
        store[key] = Memory(), kept
    found: Memory = store[key][0]
    return found


class _Unknown(Exception):
    """Something may differ in a way that cannot be seen."""


class _Key:
    """The key of a loop: what is reached, by its number in the order in which it is found."""

    def __init__(self, watch: Snapshot) -> None:
        self._watch = watch
        self._numbers = {id(value): n for n, value in enumerate(watch.reached())}
        #: objects that the key knows by their id, kept so that no other object gets that id
        self._kept: list[Any] = []

    def of(self, roots: tuple[Any, ...]) -> tuple[Hashable, list[Any]]:
        found = [
            (self._kind(value), tuple(map(self._token, parts)))
            for value, parts in self._watch.reached_from()
        ]
        key = _context(), tuple(map(self._token, roots)), tuple(found)
        return key, self._kept

    def _token(self, value: Any) -> Hashable:
        copies = scopes.copies()
        if copies is not None:
            value = copies.of(value)
        number = self._numbers.get(id(value))
        if number is not None:
            return number
        if type(value) is list:
            return list, tuple(map(self._token, value))
        is_apart = isinstance(value, Sequence | jax.core.Tracer)
        return self._kind(value) if is_apart else self._atom(value)

    def _atom(self, value: Any) -> Hashable:
        kind = type(value)
        if kind in (int, bool, str, bytes, types.NoneType, range):
            return kind, value
        if kind in (float, complex):
            return kind, repr(value)  # 0.0 and -0.0 are equal, and nan is not equal to itself
        if kind is slice:
            return kind, *map(self._token, (value.start, value.stop, value.step))
        if kind is types.ModuleType or isinstance(value, enum.Enum):
            return self._itself(value)
        raise _Unknown

    def _itself(self, value: Any) -> Hashable:
        self._kept.append(value)
        return "itself", id(value)

    def _kind(self, value: Any) -> Hashable:
        """All that makes up a value but the parts that are reached from it."""
        kind: Any = type(value)
        if value is EMPTY:
            return "empty"
        if kind in _PLAIN:
            return "plain", kind
        for kinds, describe in _DESCRIBED:
            if isinstance(value, kinds):
                return kind, describe(self, value)
        own = all(k is object or not is_library_class(k) for k in kind.__mro__)
        return self._itself(kind) if own else self._library(value)

    def _library(self, value: Any) -> Hashable:
        """Functions of JAX and NumPy by identity; objects of other libraries may have a state.

        There is no class that such functions have in common, but the package of their class.
        """
        home = type(value).__module__.partition(".")[0]
        if callable(value) and home in ("jax", "jaxlib", "numpy"):
            return self._itself(value)
        raise _Unknown

    def _function(self, value: types.FunctionType) -> Hashable:
        if any(name not in MARKS for name in value.__dict__):
            raise _Unknown
        # Functions of d2s's are made anew each time, and differ by what they close over. Those that
        # pass for one of the user's have its module, and are kept with it: they are themselves.
        if is_library_file(value.__code__.co_filename) and not is_d2s_function(value):
            return self._itself(value)
        return self._itself(value.__code__), self._itself(value.__globals__)

    def _class(self, value: type) -> Hashable:
        return self._itself(value), () if is_library_class(value) else tuple(vars(value))

    def _container(self, value: Any) -> Hashable:
        form = known_form(type(value))
        if type(value) is not form.base:
            raise _Unknown
        extra = form.extra(value) if form.has_slots else None
        return self._token(extra), tuple(
            map(self._atom, form.keys(value) if form.is_by_key else ())
        )

    def _method(self, value: Any) -> Hashable:
        return str(value.__name__)

    def _tracer(self, value: Any) -> Hashable:
        if is_spent(value):
            return "spent"
        if value.to_concrete_value() is not None:
            raise _Unknown
        return type_of(value), scopes.position_span(value), aliases.may_be_numpy(value)

    def _array(self, value: Any) -> Hashable:
        is_key = jnp.issubdtype(value.dtype, jax.dtypes.extended)
        is_view = isinstance(value, np.ndarray) and value.base is not None
        if is_key or is_view or value.dtype == object or value.size > SMALL:
            raise _Unknown
        held = np.asarray(value)
        weak = getattr(value, "weak_type", False)
        return held.shape, str(held.dtype), weak, held.tobytes()

    def _number(self, value: np.generic) -> Hashable:
        return str(value.dtype), value.tobytes()

    def _maybe(self, value: Maybe) -> Hashable:
        bound = value.bound
        is_tracer = isinstance(bound, jax.core.Tracer)
        return value.name, self._tracer(bound) if is_tracer else self._token(bound)

    def _sequence(self, value: Sequence) -> Hashable:
        """What a loop runs over, by what it is made of: the snapshot does not reach into it."""
        held = {name: part for name, part in vars(value).items() if name not in _USE}
        return tuple(held), tuple(map(self._token, held.values()))

    def _unbound(self, value: Unbound) -> Hashable:
        return value.name


#: where a sequence was made, and whether it was used
_USE = ("_made_in", "_used")

_PLAIN = (
    *(tuple, frozenset),
    *(types.CellType, types.MethodType, staticmethod, classmethod, property, partial),
)

_DESCRIBED: list[tuple[Any, Callable[[_Key, Any], Hashable]]] = [
    (jax.core.Tracer, _Key._tracer),
    ((jax.Array, np.ndarray), _Key._array),
    (np.generic, _Key._number),
    (types.FunctionType, _Key._function),
    ((types.BuiltinMethodType, types.MethodWrapperType), _Key._method),
    (type, _Key._class),
    (Maybe, _Key._maybe),
    (Unbound, _Key._unbound),
    (Sequence, _Key._sequence),
    (CONTAINERS, _Key._container),
    (
        (
            *(StaticFunction, np.dtype, enum.Enum, dataclasses.Field, jax.sharding.Mesh),
            *(types.MemberDescriptorType, types.GetSetDescriptorType),
            *(jax.sharding.AbstractMesh, jax.sharding.Sharding, jax.Device),
        ),
        _Key._itself,
    ),
]


def _context() -> Hashable:
    """What a loop depends on besides the values: options, and the scopes around it."""
    options = loop_options.loops(), loop_options.max_iterations(), loop_options.checkpoints()
    return options, loop_options.checks(), scopes.surroundings()
