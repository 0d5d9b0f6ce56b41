"""Writes into arrays are seen by one name: who else has the array may not use it any more.

Jax arrays are values. ``x[i] = v`` gives the name `x` a new array; in NumPy every other name and
every view of it would see the write. So the old array is spent: whatever uses it afterwards is
refused, at its own line. What a piece of the graph spends is given back when its trace ends, and
spent again once the piece is part of the graph.
"""

from __future__ import annotations

import functools
import sys
import threading
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from d2s.backends.lax import private
from d2s.backends.lax.arrays.holders import is_alone, is_forgotten, names_of
from d2s.backends.lax.arrays.may_alias import as_outside, bases, is_spent, is_view, kin
from d2s.backends.lax.graph import scopes, sites
from d2s.errors import Site, StagingError
from d2s.libraries import is_of_d2s


class _Spent(threading.local):
    def __init__(self) -> None:
        #: for each piece of the graph being traced, the arrays it has spent, with their classes
        self.logs: list[dict[int, tuple[Any, type]]] = []
        #: where they were written
        self.sites: dict[int, Site] = {}
        #: what came out of writes
        self.made: dict[int, Any] = {}
        #: arrays with a view that was given a new value, and where
        self.views: dict[int, tuple[Any, Site]] = {}
        #: arrays that were written, the graph that did it, and how many equations it had before
        self.uses: list[tuple[Any, Any, int]] = []
        #: arguments that are NumPy arrays outside
        self.arguments: dict[int, Any] = {}
        #: the classes of arguments that are Python numbers, or NumPy's arrays and scalars
        self.plain: set[type] = set()
        #: plain Python has made an array of NumPy's from run-time values
        self.makes_numpy = False


_state = _Spent()


@functools.cache
def _spent_class(kind: Any) -> type:
    def aval(self: Any) -> Any:
        refuse_alias(_state.sites.get(id(self)))

    def val(self: Any) -> Any:
        # d2s looks what is behind it; to everybody else that is the value itself
        return own(self) if is_of_d2s(sys._getframe(1).f_code.co_filename) else aval(self)

    space = {"__slots__": (), "__module__": kind.__module__, "aval": property(aval)}
    if private.is_of_lanes(kind):
        # what a mapped function gives back is asked for nothing but this
        own, space["val"] = kind.val.__get__, property(val)
    return type("SpentTracer", (kind,), space)


def refuse_alias(written: Site | None = None) -> None:
    line = f" (line {written.line})" if written is not None else ""
    raise StagingError(
        f"an array is used that was written{line} under another name, or through a view; jax "
        "arrays are values, so this name would not see the write",
        code="D2S024",
        site=written if written is not None and not sites.in_user_code() else sites.where(),
        fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
    )


def spend(array: Any, by_rows: bool = False, in_region: bool = False) -> None:
    """An array was written: nothing may use its old value.

    `by_rows` says that a loop over its rows did it, each row in its own trip; `in_region` that a
    piece of the graph did it, and names of other arrays were looked for there.
    """
    every = kin(array, is_written=True).every
    if any(_state.arguments.get(id(one)) is one for one in every):
        raise StagingError(
            "an argument that is a NumPy array is written; the caller's array would not change",
            code="D2S024",
            site=sites.where(),
            fix="a jax array as argument, or a copy (`x = jnp.array(x)`), returned to the caller",
        )
    if not by_rows and _is_iterated(array):
        raise StagingError(
            "an array is written in a loop over its own rows; the loop would not see the write",
            code="D2S024",
            site=sites.where(),
            fix="a loop over a copy (`for row in x.copy()`), or over positions",
        )
    if not isinstance(array, jax.core.Tracer) and isinstance(array, jax.Array):
        _refuse_other_names(array)
    for one in every:
        if isinstance(one, jax.core.Tracer):
            _spend_one(one)
        elif one is not array and not in_region and not is_forgotten(one):
            _refuse_maybe()


def _spend_one(array: Any) -> None:
    if id(array) in _state.views:
        refuse_alias(_state.views[id(array)][1])
    kind: Any = type(array)
    if not is_spent(array):
        if _state.logs:
            _state.logs[-1][id(array)] = (array, kind)
        frame = _frame(array)
        _state.uses.append((array, frame, private.count_of(frame) if frame is not None else 0))
        array.__class__ = _spent_class(kind)
    _state.sites[id(array)] = sites.where()


def _refuse_maybe() -> None:
    """An array of nobody's graph cannot be marked: who has it would read the old value."""
    raise StagingError(
        "an array is written that may be another one, as a branch or loop on a run-time value "
        "wills; jax arrays are values, so the other name would not see the write",
        code="D2S024",
        site=sites.where(),
        fix="a copy (`y = x.copy()`) where one name gets the array of another",
    )


def _frame(array: Any) -> Any:
    """The equations of the graph that is being built."""
    frame = private.frame_of(next(private.running_traces()))
    return frame if frame is not None else private.frame_of(private.trace_of(array))


def written_at(array: Any) -> Site | None:
    """Where an array was written."""
    return _state.sites.get(id(array))


def refuse_views(written: list[Any], used: Iterable[Any]) -> None:
    """A piece of the graph that writes an array must not read a view made of it before."""
    seen = [v for v in used if not is_spent(v)] if written else []
    if any(base is array for one in seen for base in bases(one) for array in written):
        refuse_alias()


def written(array: Any) -> None:
    """An array came out of a write: in NumPy, views of it would be written in place, too."""
    _state.made[id(array)] = array


def changed_view(array: Any) -> None:
    """``row += v`` is about to give a name a new array, which in NumPy is a write."""
    if not isinstance(array, jax.core.Tracer) or is_spent(array):
        return
    for base in bases(array):
        if id(base) in _state.made:
            refuse_alias(sites.where())
        _state.views[id(base)] = (base, sites.where())


def is_argument(array: Any) -> bool:
    """Whether an array is an argument that is a NumPy array outside."""
    return _state.arguments.get(id(array)) is array


def numpy_made() -> None:
    """An array of the graph is NumPy's in plain Python."""
    _state.makes_numpy = True


def may_be_numpy(array: Any) -> bool:
    """Whether a run-time value may be, in plain Python, a NumPy array that is changed in place.

    It may in every function that is called with one, or has computed one: arrays that jax makes
    there cannot be told from NumPy's.
    """
    if is_argument(array):
        return True
    return bool(array.shape) and bool(_state.arguments or _state.makes_numpy)


def _is_iterated(array: Any) -> bool:
    """Whether a loop over the rows of an array is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "for_loop" and not sites.is_user_code(frame.f_code):
            iterable = frame.f_locals.get("iterable")
            arrays = getattr(iterable, "arrays", None)
            if iterable is array or (arrays and any(one is array for one in arrays())):
                return True
        frame = frame.f_back
    return False


def check_views(outs: list[Any]) -> None:
    """Refuse views that are read after the array they are a view of was written."""
    uses, _state.uses = _state.uses, []
    for array, frame, count in uses:
        if frame is None:
            continue
        views: set[int] = set()
        for n, equation in private.numbered_equations(frame):
            if n >= count and any(_view_of(one) in views for one in equation.in_tracers):
                refuse_alias(_state.sites.get(id(array)))
            operand = equation.in_tracers[0] if equation.in_tracers else None
            viewed = n < count and operand is not None and _is_array(equation)
            viewed = viewed and is_view(equation, equation.outvars[0].aval)
            if viewed and (as_outside(operand) is array or _view_of(operand) in views):
                views.add(id(equation))
        if any(_view_of(out) in views for out in outs):
            refuse_alias(_state.sites.get(id(array)))


def _view_of(tracer: Any) -> int:
    """The equation that an array came from, by its identity."""
    return id(getattr(type(tracer), "parent", None) and tracer.parent)


def _is_array(equation: Any) -> bool:
    return any(var.aval.shape for var in equation.outvars[:1])


def refuse_held(values: Iterable[Any]) -> None:
    """What lives outside must not hold an array that was written under another name."""
    for value in values:
        if is_spent(value):
            refuse_alias(_state.sites.get(id(value)))


def argument(array: Any) -> Any:
    """An argument that is a NumPy array for the caller."""
    _state.arguments[id(array)] = array
    return array


def plain_argument(kind: type) -> None:
    """An argument is a Python number, or of NumPy's: what plain Python computes is no jax array."""
    _state.plain.add(kind)


def has_plain_arguments() -> bool:
    return bool(_state.plain)


def is_numpy_argument(array: Any) -> bool:
    """Whether a run-time value is, in plain Python, an array of NumPy's that was an argument."""
    return id(array) in _state.arguments


def has_numpy_arguments() -> bool:
    return not _state.plain.isdisjoint((np.ndarray, np.generic))


@contextmanager
def arguments() -> Iterator[None]:
    """The arguments of one static function, while its graph is built."""
    before = dict(vars(_state))
    _state.__init__()  # type: ignore[misc]
    _state.logs.append({})
    try:
        yield
    finally:
        vars(_state).update(before)


@contextmanager
def piece() -> Iterator[dict[int, tuple[Any, type]]]:
    """A piece of the graph: what it spends is given back at its end."""
    log: dict[int, tuple[Any, type]] = {}
    uses, _state.uses = _state.uses, []
    _state.logs.append(log)
    try:
        yield log
    finally:
        _state.logs.pop()
        _state.uses = uses
        for array, kind in log.values():
            array.__class__ = kind


@contextmanager
def given_back() -> Iterator[None]:
    """What was spent can be used: for values as they were when a failure happened."""
    spent = [pair for log in _state.logs for pair in log.values()]
    for array, kind in spent:
        array.__class__ = kind
    try:
        yield
    finally:
        for array, kind in spent:
            array.__class__ = _spent_class(kind)


def _refuse_other_names(array: Any) -> None:
    """A jax array that is no part of the graph: other names of it are looked for."""
    for watch in scopes.watches():
        if watch.outside and watch.knows(array):
            raise StagingError(
                "an array is written that lives outside the static function; others would not "
                "see the write",
                code="D2S024",
                site=sites.where(),
                fix="a copy of it (`x = jnp.array(x)`), or the array as an argument",
            )
    if len(names_of(array)) > 1:
        raise StagingError(
            "an array is written that has several names; jax arrays are values, so the others "
            "would not see the write",
            code="D2S024",
            site=sites.where(),
            fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
        )


# -- NumPy arrays ---------------------------------------------------------------------------------


def refuse_shared(array: np.ndarray[Any, Any], owner: Any) -> None:
    """A NumPy array gets a run-time value, so a jax array takes its place: nobody may see both."""
    copies = scopes.copies()
    if copies is not None and any(copies.number(one) is not None for one in (array, *bases(array))):
        raise StagingError(
            "a NumPy array that lives outside the static function gets a run-time value; who has "
            "it there would not see the write",
            code="D2S024",
            site=sites.where(),
            fix="a jax array in its place (`jnp.array(x)`), or a copy, returned to the caller",
        )
    if not is_alone(array, owner):
        raise StagingError(
            "a NumPy array that has other names or views, or is passed to a function, gets a "
            "run-time value; they would not see it",
            code="D2S024",
            site=sites.where(),
            fix="jnp.zeros(...) and the like instead of np.zeros(...), and one name for the array",
        )
    spend_maybe(array)


def spend_maybe(array: np.ndarray[Any, Any]) -> None:
    """A NumPy array is written: what may be it, as a branch or loop wills, is spent."""
    for one in kin(array).every:
        if isinstance(one, jax.core.Tracer):
            _spend_one(one)
