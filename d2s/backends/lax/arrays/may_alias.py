"""Which values of the graph may be one array in NumPy.

A view shares its memory with the array that it is a view of, and what comes out of a branch or a
loop may be any of the arrays that went in. Two arrays that may be one are *linked*. A link is about
these two and is not handed on: after ``y = x if c else z``, `y` may be `x` and may be `z`, but `x`
is not `z`. So a new value is linked, when it is made, with every array that it may be.

    row = x[0]              # a view: found by the equation that made `row`, without a link
    y = row if c else z     # links (y, row), (y, x), (y, z)
    y[0] = 1.0              # may write `row`, `x` and `z`: all of them are spent
"""

from __future__ import annotations

import math
import threading
import weakref
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import Var

from d2s.backends.lax.forms.appended import is_row
from d2s.backends.lax.private import frame_of, trace_of

#: operations whose results are views in NumPy; `broadcast_in_dim` makes a view of some operands
_VIEWS = frozenset(
    {lax.slice_p, lax.squeeze_p, lax.reshape_p, lax.transpose_p, lax.dynamic_slice_p, lax.rev_p}
    | {lax.real_p, lax.imag_p, lax.bitcast_convert_type_p}
)

_ARRAYS = (jax.core.Tracer, jax.Array, np.ndarray)
_Partners = dict[int, "weakref.ref[Any]"]


class _AliasTable(threading.local):
    def __init__(self) -> None:
        #: for an array, by its identity: a reference to it, and the arrays it is linked with
        self.partners: dict[int, tuple[weakref.ref[Any], _Partners]] = {}


_table = _AliasTable()

#: the classes that `aliases` gives to tracers of arrays that were written
SPENT_CLASSES: set[type] = set()


def is_spent(array: Any) -> bool:
    """Whether an array was written under another name."""
    return type(array) in SPENT_CLASSES


def link(one: Any, other: Any) -> None:
    """Note that two arrays may be the same one."""
    if one is not other and isinstance(one, _ARRAYS) and isinstance(other, _ARRAYS):
        _partners(one)[id(other)] = weakref.ref(other)
        _partners(other)[id(one)] = weakref.ref(one)


def link_view(view: Any, array: Any) -> None:
    """Note that an array may be a view of another, and so of every array that the other may be."""
    for one in alias_set(array).every:
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
class AliasSet:
    """The arrays that a value may share its memory with."""

    #: the value itself and the arrays that it is a view of
    roots: list[Any]
    #: the roots, and every array that one of them is linked with
    every: list[Any]


def alias_set(array: Any, is_written: bool = False) -> AliasSet:
    """The arrays that a value may share its memory with; none if it is no array."""
    if not isinstance(array, _ARRAYS):
        return AliasSet([], [])
    roots = [array, *bases(array, is_written)]
    outside = as_outside(array)
    if outside is not array:
        # Inside a region, a tracer of its own stands for an array of the graph around it.
        roots += [outside, *bases(outside)]
    every = {id(one): one for root in roots for one in (root, *_linked(root))}
    return AliasSet(roots, list(every.values()))


def related(sets: list[AliasSet]) -> set[tuple[int, int]]:
    """The pairs of positions, the smaller first, of values that may be one array."""
    by_root: dict[int, list[int]] = {}
    for n, one in enumerate(sets):
        for root in one.roots:
            by_root.setdefault(id(root), []).append(n)
    return {
        (min(n, m), max(n, m))
        for n, one in enumerate(sets)
        for array in one.every
        for m in by_root.get(id(array), ())
        if n != m
    }


def link_ways(values: list[Any], ways: list[list[AliasSet]]) -> None:
    """Link the results of a branch, given what they may be on each of its ways.

    `ways` has, for each way through the branch, the alias sets of the results on that way.
    """
    for sets in ways:
        for one, other in related(sets):
            link(values[one], values[other])
        for value, own in zip(values, sets, strict=True):
            for array in own.every:
                link(value, array)


def bases(array: Any, is_written: bool = False) -> list[Any]:
    """The arrays that a value is a view of in NumPy, the nearest first.

    A value without dimensions is mostly an element, ``x[0]``, which NumPy gives as a number and not
    as a view. Nobody can write into a number, so where something is written into such a value
    (`is_written`), it must be a view like ``x[..., 0]``.
    """
    if isinstance(array, np.ndarray):
        base: Any = array.base
        while base is not None and not isinstance(base, np.ndarray):
            # A view that `as_strided` makes has an object of NumPy's between it and its array.
            base = getattr(base, "base", None)
        return [] if base is None else [base]
    found: list[Any] = []
    if not isinstance(array, jax.core.Tracer) or is_spent(array):
        return found
    if not (array.shape or is_written):
        return found
    while True:
        array = _viewed(array)
        if array is None or is_spent(array):
            return found
        found.append(array)


def _viewed(array: Any) -> Any:
    """The array that a tracer is directly a view of; None if it is no view."""
    made_by: Any = getattr(type(array), "parent", None) and array.parent
    if made_by is None or is_row(array):
        return None
    return as_outside(made_by.in_tracers[0]) if is_view(made_by, array) else None


def is_view(made_by: Any, made: Any) -> bool:
    """Whether the result of an equation is a view of its operand in NumPy."""
    if made_by.primitive is not lax.broadcast_in_dim_p:
        return made_by.primitive in _VIEWS
    operand = made_by.in_tracers[0]
    # The variable is asked for the shape, because a spent tracer no longer tells its own.
    shape = getattr(getattr(operand, "val", None), "aval", operand).shape
    # ``x[None]`` is a view; a number that fills an array is not, even an array of one element.
    return bool(shape) and bool(made.size == math.prod(shape))


def as_outside(tracer: Any) -> Any:
    """The array of the graph around that a tracer of a region stands for; or the tracer itself.

    For an array from outside, JAX gives a region a constant of its own with its own tracer.
    """
    if isinstance(getattr(tracer, "val", None), Var):
        constants = getattr(frame_of(trace_of(tracer)), "constvar_to_val", {})
        held = constants.get(tracer.val)
        if isinstance(held, jax.core.Tracer):
            return as_outside(held)
    return tracer
