"""Which values of the graph may be one array in NumPy.

A view is the array that it is a view of, and what comes out of a branch or a loop may be any of
those that went in. That is said of pairs and not handed on: where ``y = x if c else z``, `y` may be
`x` and may be `z`, but `x` is not `z`. A new value is linked with all that it may be when it is
made.
"""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.extend.core import Var

from d2s.backends.lax.forms.appended import is_row
from d2s.backends.lax.private import frame_of, trace_of

#: operations whose results are views in NumPy
VIEWS = (
    *("slice", "squeeze", "reshape", "transpose", "dynamic_slice", "rev", "expand_dims"),
    *("real", "imag", "bitcast_convert_type"),
)

_ARRAYS = (jax.core.Tracer, jax.Array, np.ndarray)
_Partners = dict[int, "weakref.ref[Any]"]


class _AliasTable(threading.local):
    def __init__(self) -> None:
        #: for an array, by identity: itself, and those it may be
        self.partners: dict[int, tuple[weakref.ref[Any], _Partners]] = {}


_table = _AliasTable()


def is_spent(array: Any) -> bool:
    """Whether an array was written under another name."""
    return type(array).__name__ == "SpentTracer"


def link(one: Any, other: Any) -> None:
    """Two arrays may be the same one."""
    if one is not other and isinstance(one, _ARRAYS) and isinstance(other, _ARRAYS):
        _partners(one)[id(other)] = weakref.ref(other)
        _partners(other)[id(one)] = weakref.ref(one)


def link_view(view: Any, array: Any) -> None:
    """An array is, or may be, a view of another, and of whatever that may be."""
    for one in kin(array).every:
        link(view, one)


def _partners(array: Any) -> _Partners:
    table, key = _table.partners, id(array)
    if key not in table:
        gone = weakref.ref(array, lambda _: table.pop(key, None))
        table[key] = gone, {}
    return table[key][1]


def _linked(array: Any) -> list[Any]:
    partners = _table.partners.get(id(array))
    found = [ref() for ref in list(partners[1].values())] if partners is not None else []
    return [one for one in found if one is not None]


@dataclass
class Kin:
    """An array with those it is a view of, and all that these may be."""

    roots: list[Any]
    every: list[Any]


def kin(array: Any, is_written: bool = False) -> Kin:
    if not isinstance(array, _ARRAYS):
        return Kin([], [])
    roots = [array, *bases(array, is_written)]
    outside = as_outside(array)
    if outside is not array:  # a branch or loop that gives an array of the graph around it
        roots += [outside, *bases(outside)]
    every = {id(one): one for root in roots for one in (root, *_linked(root))}
    return Kin(roots, list(every.values()))


def related(kins: list[Kin]) -> set[tuple[int, int]]:
    """The pairs that may be one array."""
    by_root: dict[int, list[int]] = {}
    for n, one in enumerate(kins):
        for root in one.roots:
            by_root.setdefault(id(root), []).append(n)
    return {
        (min(n, m), max(n, m))
        for n, one in enumerate(kins)
        for array in one.every
        for m in by_root.get(id(array), ())
        if n != m
    }


def link_ways(values: list[Any], ways: list[list[Kin]]) -> None:
    """Link values that are, on each of several ways, one of these: a write is one to both."""
    for kins in ways:
        for one, other in related(kins):
            link(values[one], values[other])
        for value, own in zip(values, kins, strict=True):
            for array in own.every:
                link(value, array)


def bases(array: Any, is_written: bool = False) -> list[Any]:
    """The arrays that NumPy's array would be a view of.

    `is_written` says that something is written into it, which no element of an array lets anybody
    do: without dimensions, it is a view like ``x[..., 0]``.
    """
    if isinstance(array, np.ndarray):
        base: Any = array.base
        while base is not None and not isinstance(base, np.ndarray):
            base = getattr(base, "base", None)  # `as_strided` puts an object in between
        return [] if base is None else [base]
    found: list[Any] = []
    if not isinstance(array, jax.core.Tracer) or is_spent(array):
        return found
    if not (array.shape or is_written):
        return found  # an element is a number, not a view
    while True:
        array = _viewed(array)
        if array is None or is_spent(array):
            return found
        found.append(array)


def _viewed(array: Any) -> Any:
    """What an array is a view of; None if it is none."""
    made_by: Any = getattr(type(array), "parent", None) and array.parent
    if made_by is None or is_row(array):
        return None
    return as_outside(made_by.in_tracers[0]) if is_view(made_by, array) else None


def is_view(made_by: Any, made: Any) -> bool:
    """Whether an equation makes what is a view in NumPy."""
    if made_by.primitive.name != "broadcast_in_dim":
        return made_by.primitive.name in VIEWS
    operand = made_by.in_tracers[0]
    # by its variable: an array that was written does not tell its type any more
    shape = getattr(getattr(operand, "val", None), "aval", operand).shape
    # a number that fills an array is no view, also of one element
    return bool(shape) and bool(made.size == math.prod(shape))


def as_outside(tracer: Any) -> Any:
    """An array of a graph around as it is there; inside, jax has an input of its own for it."""
    if isinstance(getattr(tracer, "val", None), Var):
        constants = getattr(frame_of(trace_of(tracer)), "constvar_to_val", {})
        held = constants.get(tracer.val)
        if isinstance(held, jax.core.Tracer):
            return as_outside(held)
    return tracer
