"""Writes into arrays are seen by one name: who else has the array may not use it any more.

Jax arrays are values. ``x[i] = v`` gives the name `x` a new array; in NumPy every other name and
every view of it would see the write. So the old array is spent: whatever uses it afterwards is
refused, at its own line. What a piece of the graph spends is given back when its trace ends, and
spent again once the piece is part of the graph.
"""

from __future__ import annotations

import copy
import functools
import gc
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np

from d2s.backends.lax import channels
from d2s.conversion import is_block, is_made_code
from d2s.errors import Site, StagingError
from d2s.items import Item


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
        #: arrays that were written, and how many equations there were before
        self.uses: list[tuple[Any, int]] = []
        #: arrays that may be the same one, by id
        self.links: dict[int, list[Any]] = {}
        #: arguments that are NumPy arrays outside
        self.arguments: dict[int, Any] = {}


_state = _Spent()


@functools.cache
def _spent_class(kind: Any) -> type:
    def aval(self: Any) -> Any:
        refuse_alias(_state.sites.get(id(self)))

    space = {"__slots__": (), "__module__": kind.__module__, "aval": property(aval)}
    return type("SpentTracer", (kind,), space)


def refuse_alias(written: Site | None = None) -> None:
    line = f" (line {written.line})" if written is not None else ""
    raise StagingError(
        f"an array is used that was written{line} under another name, or through a view; jax "
        "arrays are values, so this name would not see the write",
        code="D2S024",
        site=written if written is not None and not channels.in_user_code() else channels.where(),
        fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
    )


def spend(array: Any, by_rows: bool = False) -> None:
    """An array was written: nothing may use its old value.

    `by_rows` says that a loop over its rows did it, each row in its own trip.
    """
    if any(_state.arguments.get(id(one)) is one for one in (array, *_same(array))):
        raise StagingError(
            "an argument that is a NumPy array is written; the caller's array would not change",
            code="D2S024",
            site=channels.where(),
            fix="a jax array as argument, or a copy (`x = jnp.array(x)`), returned to the caller",
        )
    if not by_rows and _is_iterated(array):
        raise StagingError(
            "an array is written in a loop over its own rows; the loop would not see the write",
            code="D2S024",
            site=channels.where(),
            fix="a loop over a copy (`for row in x.copy()`), or over positions",
        )
    if isinstance(array, jax.core.Tracer):
        one: Any
        for one in _same(array):
            if id(one) in _state.views:
                refuse_alias(_state.views[id(one)][1])
            kind: Any = type(one)
            if not is_spent(one):
                if _state.logs:
                    _state.logs[-1][id(one)] = (one, kind)
                _state.uses.append((one, _equations(one)))
                one.__class__ = _spent_class(kind)
            _state.sites[id(one)] = channels.where()
    elif isinstance(array, jax.Array):
        _refuse_other_names(array)


def refuse_views(written: list[Any], used: Iterable[Any]) -> None:
    """A piece of the graph that writes an array must not read a view made of it before."""
    seen = (
        [v for v in used if isinstance(v, jax.core.Tracer) and not is_spent(v)] if written else []
    )
    if any(base is array for one in seen for base in bases(one) for array in written):
        refuse_alias()


#: operations whose results are views in NumPy
_VIEWS = ("slice", "squeeze", "reshape", "transpose", "dynamic_slice", "rev", "expand_dims")


def bases(array: Any) -> list[Any]:
    """The arrays that NumPy's array would be a view of."""
    found: list[Any] = []
    if not array.shape:
        return found  # an element is a number, not a view
    while True:
        made_by: Any = getattr(type(array), "parent", None) and array.parent
        name = made_by.primitive.name if made_by is not None else ""
        is_reshape = name == "broadcast_in_dim" and array.size == made_by.in_tracers[0].size
        if made_by is None or not (name in _VIEWS or is_reshape):
            return found
        array = made_by.in_tracers[0]
        if is_spent(array):
            return found
        found.append(array)


def _same(array: Any) -> list[Any]:
    """An array, those it is a view of, and those it may be after a branch or a loop."""
    found: dict[int, Any] = {}
    stack = [array]
    while stack:
        one = stack.pop()
        if id(one) not in found:
            found[id(one)] = one
            stack += _state.links.get(id(one), ())
            if isinstance(one, jax.core.Tracer) and not is_spent(one):
                stack += bases(one)
    return [one for one in found.values() if isinstance(one, jax.core.Tracer)]


def link(one: Any, other: Any) -> None:
    """Two arrays may be the same one: after a branch, or after a loop of no trips."""
    if one is not other and getattr(type(one), "aval", None) and getattr(type(other), "aval", None):
        for a, b in ((one, other), (other, one)):
            _state.links.setdefault(id(a), []).append(b)


def link_results(leaves: list[Any], values: list[Any], name: Callable[[Any], Any]) -> None:
    """Results of a piece of the graph that are one array inside of it are one outside."""
    groups: dict[int, Any] = {}
    for leaf, value in zip(leaves, values, strict=True):
        key = name(leaf)
        if key is not None:
            link(groups.setdefault(key, value), value)


def _equations(array: Any) -> int:
    frame = getattr(array._trace, "frame", None)
    return len(frame.tracing_eqns) if frame is not None else 0


def written(array: Any) -> None:
    """An array came out of a write: in NumPy, views of it would be written in place, too."""
    _state.made[id(array)] = array


def changed_view(array: Any) -> None:
    """``row += v`` is about to give a name a new array, which in NumPy is a write."""
    if not isinstance(array, jax.core.Tracer) or is_spent(array):
        return
    for base in bases(array):
        if id(base) in _state.made:
            refuse_alias(channels.where())
        _state.views[id(base)] = (base, channels.where())


def may_be_numpy(array: Any) -> bool:
    """Whether a run-time value may be, in plain Python, a NumPy array that is changed in place.

    It may in every function that is called with one: arrays that jax makes there cannot be told
    from NumPy's.
    """
    return bool(_state.arguments) and (bool(array.shape) or id(array) in _state.arguments)


def _is_iterated(array: Any) -> bool:
    """Whether a loop over the rows of an array is running."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code.co_name == "for_loop" and not channels.is_user_code(frame.f_code):
            iterable = frame.f_locals.get("iterable")
            arrays = getattr(iterable, "arrays", None)
            if iterable is array or (arrays and any(one is array for one in arrays())):
                return True
        frame = frame.f_back
    return False


def check_views(outs: list[Any]) -> None:
    """Refuse views that are read after the array they are a view of was written."""
    uses, _state.uses = _state.uses, []
    for array, count in uses:
        frame = getattr(array._trace, "frame", None)
        if frame is None:
            continue
        views: set[int] = set()
        for n, made in enumerate(frame.tracing_eqns):
            equation = made() if callable(made) else made
            if equation is None:
                continue
            if n >= count and any(_view_of(one) in views for one in equation.in_tracers):
                refuse_alias(_state.sites.get(id(array)))
            operand = equation.in_tracers[0] if equation.in_tracers else None
            is_view = n < count and equation.primitive.name in _VIEWS and _is_array(equation)
            if is_view and (operand is array or _view_of(operand) in views):
                views.add(id(equation))
        if any(_view_of(out) in views for out in outs):
            refuse_alias(_state.sites.get(id(array)))


def _view_of(tracer: Any) -> int:
    """The equation that an array came from, by its identity."""
    return id(getattr(type(tracer), "parent", None) and tracer.parent)


def _is_array(equation: Any) -> bool:
    return bool(equation.outvars[0].aval.shape)


def refuse_held(values: Iterable[Any]) -> None:
    """What lives outside must not hold an array that was written under another name."""
    for value in values:
        if is_spent(value):
            refuse_alias(_state.sites.get(id(value)))


def is_spent(array: Any) -> bool:
    return type(array).__name__ == "SpentTracer"


def argument(array: Any) -> Any:
    """An argument that is a NumPy array for the caller."""
    _state.arguments[id(array)] = array
    return array


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
    for watch in channels.watches():
        if watch.outside and watch.knows(array):
            raise StagingError(
                "an array is written that lives outside the static function; others would not "
                "see the write",
                code="D2S024",
                site=channels.where(),
                fix="a copy of it (`x = jnp.array(x)`), or the array as an argument",
            )
    names = set()
    seen: dict[int, Any] = {}
    for frame, owner in _user_frames():
        for name, value in frame.f_locals.items():
            if name in frame.f_code.co_freevars:
                continue  # the function around has it
            if value is array:
                names.add((owner, name))
            elif _occurrences(array, value, seen):
                names.add((owner, f"{name}[…]"))
    if len(names) > 1:
        raise StagingError(
            "an array is written that has several names; jax arrays are values, so the others "
            "would not see the write",
            code="D2S024",
            site=channels.where(),
            fix="one name for the array, or a copy of it (`y = x.copy()`) before the write",
        )


# -- NumPy arrays ---------------------------------------------------------------------------------


def keep_constants(array: np.ndarray[Any, Any]) -> None:
    """A NumPy array is about to be changed: what the graph already has of it stays as it was."""
    scope = channels.current()
    for graph in scope.graphs if scope is not None else ():
        constants = getattr(getattr(graph, "frame", None), "constvar_to_val", {})
        for var, value in list(constants.items()):
            held = getattr(value, "val", value)
            if isinstance(held, np.ndarray) and np.may_share_memory(held, array):
                constants[var] = copy.deepcopy(value)


def refuse_shared(array: np.ndarray[Any, Any], owner: Any) -> None:
    """A NumPy array gets a run-time value, so a jax array takes its place: nobody may see both."""
    alone = _is_alone(array, owner)
    if not alone:
        gc.collect()  # what only waits to be collected sees nothing
        alone = _is_alone(array, owner)
    if not alone:
        raise StagingError(
            "a NumPy array that has other names or views, or is passed to a function, gets a "
            "run-time value; they would not see it",
            code="D2S024",
            site=channels.where(),
            fix="jnp.zeros(...) and the like instead of np.zeros(...), and one name for the array",
        )


def _is_alone(array: np.ndarray[Any, Any], owner: Any) -> bool:
    """Whether every reference to an array is of one variable, or of d2s while it works on it."""
    if array.base is not None and sys.getrefcount(array.base) > _REFERENCES_OF_A_BASE:
        return False
    inside = type(owner) is Item
    holders: set[tuple[Any, str]] = set()
    known = 0
    seen: dict[int, Any] = {}
    frame: types.FrameType | None = sys._getframe()
    while frame is not None:
        code, space = frame.f_code, frame.f_locals
        if space is not frame.f_globals:
            for name, value in space.items():
                if value is array:
                    # up to Python 3.12 the dict of a frame's variables holds them as well
                    known += (name not in code.co_freevars) + _FRAMES_HOLD
                    if channels.is_user_code(code):
                        holders.add((_owner(frame), name))
                elif not channels.is_user_code(code):
                    known += _occurrences(array, value, seen)
                elif not inside and _occurrences(array, value, seen):
                    return False
        frame = frame.f_back
    known += _occurrences(array, vars(channels._stack), seen)
    known += _occurrences(array, channels.twins(), seen)
    if inside:
        known += 1  # the list or dict around it
        if holders:
            return False
    return len(holders) <= 1 and sys.getrefcount(array) - known <= 1


_FRAMES_HOLD = int(sys.version_info < (3, 13))


def _references_of_a_base() -> int:
    view = np.zeros(2)[:1]
    return sys.getrefcount(view.base)


_REFERENCES_OF_A_BASE = _references_of_a_base()


def _owner(frame: types.FrameType) -> Any:
    """The function of the user's that a frame, perhaps that of a block, belongs to."""
    name = frame.f_code.co_qualname
    code = frame.f_code
    while is_block(code) and frame.f_back is not None:
        frame = frame.f_back
        code = frame.f_code if channels.is_user_code(frame.f_code) else code
        name = code.co_qualname
    return name


def _user_frames() -> Iterator[tuple[types.FrameType, Any]]:
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_made_code(frame.f_code):
            yield frame, _owner(frame)
        frame = frame.f_back


def _occurrences(array: Any, value: Any, seen: dict[int, Any], depth: int = 0) -> int:
    """How often an array occurs in a value, in its containers and in objects of d2s."""
    if depth > 8 or id(value) in seen:
        return 0
    parts: list[Any] = []
    if isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, types.FunctionType) and _is_ours(value):
        cells = [c.cell_contents for c in value.__closure__ or () if c != types.CellType()]
        parts = [*cells, *(value.__defaults__ or ())]
    elif isinstance(value, types.MethodType):
        parts = [value.__self__]
    elif _is_ours(type(value)):
        slots = [n for n in getattr(type(value), "__slots__", ()) if n != "__dict__"]
        parts = [object.__getattribute__(value, n) for n in slots if _has(value, n)]
        parts += getattr(value, "__dict__", {}).values() if not slots else []
    else:
        return 0
    seen[id(value)] = value
    found = sum(part is array for part in parts)
    return found + sum(_occurrences(array, part, seen, depth + 1) for part in parts)


def _is_ours(value: Any) -> bool:
    return str(value.__module__).startswith("d2s.")


def _has(value: Any, name: str) -> bool:
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True
