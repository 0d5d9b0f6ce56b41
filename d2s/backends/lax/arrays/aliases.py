"""Writes into arrays: who else holds the array that was written may not use it any more.

Jax arrays are values. ``x[i] = v`` gives the name `x` a new array, while in NumPy every other name
and every view of the array sees the write. So the old array is *spent* by the write: its tracer
gets a class that refuses to be used, at the line that would not see the write.

    y = x           # one array with two names
    x[0] = 1.0      # `x` names a new array now; the tracer that `y` still names is spent
    return y + 1    # refused here: `y` would not see the write of the line above

Arrays that may be the written one (views of it, results of a branch that has chosen it) are spent
with it: `may_alias` tells which they are. A region of the graph, such as one side of a branch, is
traced before it is known whether it becomes part of the graph. So what the region spends is given
back when its trace ends, and spent again once the region is part of the graph.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from d2s.backends.lax import private
from d2s.backends.lax.arrays.holders import has_sole_owner, is_forgotten, names_of
from d2s.backends.lax.arrays.may_alias import (
    SPENT_CLASSES,
    alias_set,
    as_outside,
    bases,
    is_spent,
    is_view,
)
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.names import name_of
from d2s.errors import Site, StagingError
from d2s.libraries import is_of_d2s
from d2s.options.loop_options import settled


class _Spent(threading.local):
    """What is noted about the arrays of the graph that this thread is building."""

    def __init__(self) -> None:
        #: for each region being traced, the arrays that it has spent, with the classes they had
        self.logs: list[dict[int, tuple[Any, type]]] = []
        #: for a spent array, by identity, the line that has written it
        self.sites: dict[int, Site] = {}
        #: the arrays that came out of writes, by identity
        self.made: dict[int, Any] = {}
        #: arrays with a view that ``view += v`` has given a new value, and the line that did it
        self.views: dict[int, tuple[Any, Site]] = {}
        #: arrays that were written, the equations of the graph that has written them, and how many
        #: of those there were before the write
        self.uses: list[tuple[Any, Any, int]] = []
        #: the arguments that are NumPy arrays outside of the graph, by identity
        self.arguments: dict[int, Any] = {}
        #: the classes of the arguments that are Python numbers, or NumPy's arrays and scalars
        self.plain: set[type] = set()
        #: whether an operation was met that gives an array of NumPy's in plain Python
        self.makes_numpy = False


class _RunningLoops(threading.local):
    def __init__(self) -> None:
        #: what the `for` loops that are running loop over, the outermost first
        self.iterables: list[Any] = []


_state = _Spent()
_loops = _RunningLoops()


@functools.cache
def _spent_class(kind: Any) -> type:
    """The class that a spent tracer gets: whatever uses the tracer asks for its `aval`."""

    def aval(self: Any) -> Any:
        refuse_alias(_state.sites.get(id(self)), self)

    def val(self: Any) -> Any:
        # d2s looks what is behind it; to everybody else that is the value itself
        return own(self) if is_of_d2s(sys._getframe(1).f_code.co_filename) else aval(self)

    space = {"__slots__": (), "__module__": kind.__module__, "aval": property(aval)}
    if private.is_of_lanes(kind):
        # what a mapped function gives back is asked for nothing but this
        own, space["val"] = kind.val.__get__, property(val)
    made = type("SpentTracer", (kind,), space)
    SPENT_CLASSES.add(made)
    return made


def refuse_alias(written: Site | None = None, array: Any = None) -> None:
    """Refuse the use of an array that was written, at the given line, under another name."""
    line = f" (line {written.line})" if written is not None else ""
    label = name_of(array) if array is not None else ""
    other = sites.target(written)
    other = f"as {other}" if other and other != label else "under another name, or through a view"
    raise StagingError(
        f"{f'{label}, an array,' if label else 'an array'} is used that was written{line} {other}; "
        f"jax arrays are values, so {label or 'its other names and views'} would not see the write",
        code="D2S070",
        site=written if written is not None and not sites.in_user_code() else sites.where(),
        fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
    )


def spend(array: Any, by_rows: bool = False, in_region: bool = False) -> None:
    """An array was written: nothing may use its old value from now on.

    `by_rows` says that a loop over the rows of the array has written each row in a trip of its own.
    `in_region` says that a region has written it, whose trace has already looked for other names.
    """
    every = alias_set(array, is_written=True).every
    if any(_state.arguments.get(id(one)) is one for one in every):
        raise StagingError(
            f"{_label(array)}, an argument that is a NumPy array, is written; the caller's array "
            "would not change",
            code="D2S071",
            site=sites.where(),
            fix="a jax array as argument, or a copy (`x = jnp.array(x)`), returned to the caller",
        )
    if not by_rows and _is_iterated(array):
        raise StagingError(
            f"{_label(array)} is written in a loop over its own rows; the loop would not see the "
            "write",
            code="D2S070",
            site=sites.where(),
            fix="a loop over a copy (`for row in x.copy()`), or over positions",
        )
    if not isinstance(array, jax.core.Tracer) and isinstance(array, jax.Array):
        _refuse_other_names(array)
    for one in every:
        if isinstance(one, jax.core.Tracer):
            _spend_one(one)
        elif one is not array and not in_region and not is_forgotten(one):
            _refuse_maybe(array)


def _label(array: Any) -> str:
    """What the user calls an array that is being written."""
    return sites.target(sites.where()) or name_of(array) or "an array"


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


def _refuse_maybe(array: Any) -> None:
    """Refuse a write that may concern an array of no graph, which cannot be marked as spent."""
    raise StagingError(
        f"{_label(array)} is written, which may be the array of another name, as a branch or loop "
        "on a run-time value decides; jax arrays are values, so the other name would not see the "
        "write",
        code="D2S070",
        site=sites.where(),
        fix="a copy (`y = x.copy()`) where one name gets the array of another",
    )


def _frame(array: Any) -> Any:
    """The equations of the graph that is being built, or else of the graph of the array."""
    frame = private.frame_of(next(private.running_traces()))
    return frame if frame is not None else private.frame_of(private.trace_of(array))


def written_at(array: Any) -> Site | None:
    """The line that has written an array; None if nobody has."""
    return _state.sites.get(id(array))


def refuse_views(written: list[Any], used: Iterable[Any]) -> None:
    """Refuse a region that writes an array and uses a view of it that was made before the region.

    Inside the region the view is another value, which the write does not reach.
    """
    seen = [v for v in used if not is_spent(v)] if written else []
    if any(base is array for one in seen for base in bases(one) for array in written):
        refuse_alias()


def written(array: Any) -> None:
    """Note that an array came out of a write.

    Views of it are views of an array that the program writes, so ``view += v`` is refused for them.
    """
    _state.made[id(array)] = array


def changed_view(array: Any) -> None:
    """Note that ``row += v`` gives a name a new array where NumPy writes into the viewed array."""
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
    """Note that some array of the graph is one of NumPy's in plain Python."""
    _state.makes_numpy = True


def may_be_numpy(array: Any) -> bool:
    """Whether a run-time value may be, in plain Python, a NumPy array that is changed in place.

    It may in every function that is called with one, or has computed one: arrays that jax makes
    there cannot be told from NumPy's.
    """
    if is_argument(array):
        return True
    return bool(array.shape) and bool(_state.arguments or _state.makes_numpy)


@contextmanager
def looped_over(iterable: Any) -> Iterator[None]:
    """Around a `for` loop over something: its arrays must not be written while the loop runs.

    Lists and NumPy arrays are not kept: they see a write into them, and one more reference to a
    NumPy array would look like one more owner of it.
    """
    iterable, _ = settled(iterable)
    if not isinstance(iterable, (*_JAX_ARRAYS, MadeOfRows)):
        yield
        return
    _loops.iterables.append(iterable)
    try:
        yield
    finally:
        _loops.iterables.pop()


_JAX_ARRAYS = (jax.core.Tracer, private.ArrayImpl)


class MadeOfRows:
    """Something to loop over whose items are made of the rows of arrays, as ``enumerate(x)``."""

    def arrays(self) -> list[Any]:
        """The arrays whose rows the items are made of, first item first."""
        return []


def _is_iterated(array: Any) -> bool:
    """Whether a loop over the rows of an array is running."""
    for iterable in reversed(_loops.iterables):
        arrays = iterable.arrays() if isinstance(iterable, MadeOfRows) else [iterable]
        if any(one is array for one in arrays):
            return True
    return False


def check_views(outs: list[Any]) -> None:
    """Refuse views that are read after the array that they are a view of was written.

    The equations of a graph are numbered. A view made before the write has a number below `count`;
    a reader of such a view is too late from `count` on. `outs` are read behind all equations:

        n      equation            with `x` written when there were 2 equations (count = 2)
        0      row = x[0]          a view of `x`
        1      part = row[:2]      a view of a view
        2      x' = x.at[0].set
        3      sum(part)           refused: NumPy's `part` would show the write
    """
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
    """The identity of the equation that an array came from."""
    return id(getattr(type(tracer), "parent", None) and tracer.parent)


def _is_array(equation: Any) -> bool:
    return any(var.aval.shape for var in equation.outvars[:1])


def refuse_held(values: Iterable[Any]) -> None:
    """Refuse results and changes of objects that are arrays written under another name."""
    for value in values:
        if is_spent(value):
            refuse_alias(_state.sites.get(id(value)))


def argument(array: Any) -> Any:
    """The same array, noted as an argument that is a NumPy array for the caller."""
    _state.arguments[id(array)] = array
    return array


def plain_argument(kind: type) -> None:
    """Note the class of an argument that is a Python number, or an array or scalar of NumPy's.

    What plain Python computes from such arguments need not be jax arrays.
    """
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
    """Around the building of one graph: what is noted about arrays belongs to this graph alone."""
    before = dict(vars(_state))
    _state.__init__()  # type: ignore[misc]
    _state.logs.append({})
    try:
        yield
    finally:
        vars(_state).update(before)


@contextmanager
def traced_region() -> Iterator[dict[int, tuple[Any, type]]]:
    """Around the trace of a region: gives the log of what it spends, all given back at its end."""
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
    """Around code that may use spent arrays: it needs values as they were before a failure."""
    spent = [pair for log in _state.logs for pair in log.values()]
    for array, kind in spent:
        array.__class__ = kind
    try:
        yield
    finally:
        for array, kind in spent:
            array.__class__ = _spent_class(kind)


def _refuse_other_names(array: Any) -> None:
    """Refuse the write of a jax array that is no part of the graph and has other names.

    It is a constant, not a tracer, so it cannot be marked as spent.
    """
    for watch in scopes.snapshots():
        if watch.outside and watch.knows(array):
            raise StagingError(
                f"{_label(array)} is written, an array that lives outside the static function; "
                "others would not see the write",
                code="D2S071",
                site=sites.where(),
                fix="a copy of it (`x = jnp.array(x)`), or the array as an argument",
            )
    names = sorted(f"`{name}`" for _, name in names_of(array))
    if len(names) > 1:
        raise StagingError(
            f"{_label(array)} is written, an array that has several names ({', '.join(names)}); "
            "jax arrays are values, so the others would not see the write",
            code="D2S070",
            site=sites.where(),
            fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
        )


# -- NumPy arrays ---------------------------------------------------------------------------------


def refuse_shared(array: np.ndarray[Any, Any], owner: Any) -> None:
    """Refuse a run-time value in a NumPy array that somebody else holds.

    The name or slot that is written, `owner`, gets a jax array instead of the NumPy array; another
    holder would keep the NumPy array, and not see the write.
    """
    copies = scopes.copies()
    if copies is not None and any(copies.number(one) is not None for one in (array, *bases(array))):
        raise StagingError(
            f"{_label(array)}, a NumPy array that lives outside the static function, gets a "
            "run-time value; who has it there would not see the write",
            code="D2S071",
            site=sites.where(),
            fix="a jax array in its place (`jnp.array(x)`), or a copy, returned to the caller",
        )
    if not has_sole_owner(array, owner):
        names = sorted({f"`{name}`" for _, name in names_of(array)} - {_label(array)})
        others = f" ({', '.join(names)})" if names else ""
        raise StagingError(
            f"{_label(array)}, a NumPy array that has other names or views{others}, or is passed "
            "to a function, gets a run-time value; they would not see it",
            code="D2S070",
            site=sites.where(),
            fix="jnp.zeros(...) and the like instead of np.zeros(...), and one name for the array",
        )
    spend_maybe(array)


def spend_maybe(array: np.ndarray[Any, Any]) -> None:
    """A NumPy array is written: spend the run-time values that may be it.

    A branch or a loop on a run-time value gives such values: ``y = a if c else b`` of NumPy arrays.
    """
    for one in alias_set(array).every:
        if isinstance(one, jax.core.Tracer):
            _spend_one(one)
