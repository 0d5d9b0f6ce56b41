"""`min`, `max` and `sorted` of run-time values: what Python finds by comparing one by one."""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.control.branches import cond
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import Mismatch, Type, cast, is_dynamic, join, type_of
from d2s.backends.lax.forms.trees import map_leaves
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics.casts import fail_where, has_traced, refuse

Call = Callable[..., Any]


def extreme(name: str) -> Call:
    """`min` or `max`: the first of the best items."""
    plain = getattr(builtins, name)
    better: Call = (lambda a, b: a < b) if name == "min" else (lambda a, b: a > b)

    def pick(*args: Any, key: Any = None, **default: Any) -> Any:
        if not args or (default and (len(args) > 1 or "default" not in default)):
            return plain(*args, key=key, **default)  # Python says what is wrong
        if len(args) == 1 and key is None and _is_row(args[0]):
            return _extreme_element(args[0], name)
        items = list(args[0]) if len(args) == 1 else list(args)
        keys = _deciding(items if key is None else [key(item) for item in items])
        if not has_traced(keys):
            pairs = list(zip(items, map(_known, keys), strict=True))
            best = plain(pairs, key=lambda pair: pair[1], default=None)
            return best[0] if best is not None else _of_nothing(plain, default)
        best, best_key = items[0], keys[0]
        for item, item_key in zip(items[1:], keys[1:], strict=True):
            test = better(item_key, best_key)
            if not is_traced(test):
                best, best_key = (item, item_key) if test else (best, best_key)
                continue
            best, best_key = cond(
                test,
                lambda item=item, own=item_key: (item, own),
                lambda best=best, own=best_key: (best, own),
                (),
            )
        return best

    return pick


def _of_nothing(plain: Call, default: dict[str, Any]) -> Any:
    """What there is for no items: the default, or else Python's own exception."""
    try:
        return plain([], **default)
    except ValueError as error:
        raise ValueError(*error.args) from None


def _deciding(keys: list[Any]) -> list[Any]:
    """Of keys that are tuples, what comes first, if Python looks no further: it all differs."""
    if not has_traced(keys) or not all(type(key) is tuple for key in keys):
        return keys
    for length in range(1, min(map(len, keys)) + 1):
        heads = [key[:length] for key in keys]
        if has_traced(heads):
            break
        try:
            if len(set(heads)) == len(heads):
                return heads
        except TypeError:  # not hashable
            break
    return keys


def _known(key: Any) -> Any:
    """A key that is known: what jax computes while a graph is built is not, NumPy's answers are."""
    return map_leaves(_number, key)


def _number(leaf: Any) -> Any:
    if isinstance(leaf, jax.core.Tracer):
        leaf = leaf.to_concrete_value()  # under jax.grad
    return np.asarray(leaf)[()] if isinstance(leaf, jax.Array) else leaf


def _is_row(value: Any) -> bool:
    return is_traced(value) and value.ndim == 1 and value.size > 0


def _extreme_element(array: Any, name: str) -> Any:
    """The same for an array of one dimension, in one operation.

    A NaN is never better than another number, nor is anything better than a NaN.
    """
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return array[jnp.argmin(array) if name == "min" else jnp.argmax(array)]
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError(f"{name}() of complex numbers")
    worst = jnp.inf if name == "min" else -jnp.inf
    known = jnp.where(jnp.isnan(array), worst, array)
    place = jnp.argmin(known) if name == "min" else jnp.argmax(known)
    return jnp.where(jnp.isnan(array[0]), array[0], array[place])


def sorted_(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """`sorted`: stable, also when it is reversed."""
    items = list(iterable)
    keys = _deciding(items if key is None else [key(item) for item in items])
    reverse = bool(reverse)
    if not has_traced(keys):
        keys = [_known(key) for key in keys]
        places = builtins.sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[n] for n in places]
    if len(items) < 2:
        return items
    if reverse:
        # as Python does it: what is equal stays in its order
        items, keys = items[::-1], keys[::-1]
    order = _order(keys)
    made = [_picked(items, order[n]) for n in range(len(items))]
    return made[::-1] if reverse else made


def sort(items: list[Any]) -> Call:
    """The method of a list."""

    def in_place(*, key: Any = None, reverse: Any = False) -> None:
        items[:] = sorted_(items, key=key, reverse=reverse)

    return in_place


def _order(keys: list[Any]) -> Any:
    """The places of the keys in ascending order; keys are numbers, or tuples of numbers."""
    if all(type(key) in (tuple, list) for key in keys):
        if len({len(key) for key in keys}) > 1:
            raise _refused_order()
        columns = [_column(list(column)) for column in zip(*keys, strict=True)]
    else:
        columns = [_column(keys)]
    floats = [c for c in columns if jnp.issubdtype(c.dtype, jnp.floating)]
    if floats:
        error = refuse(
            "the order of values with a NaN among them, which depends on how Python sorts",
            "values without NaN, or jnp.sort, which puts NaN last",
        )
        fail_where((jnp.any(jnp.isnan(jnp.stack(floats))), error))
    return jnp.lexsort(columns[::-1])


def _column(values: list[Any]) -> Any:
    if not all(is_dynamic(v) and np.size(v) == 1 for v in values):
        raise _refused_order()
    kind = _joined(values)
    if jnp.issubdtype(kind.dtype, jnp.complexfloating):
        raise TypeError("'<' not supported between instances of 'complex' and 'complex'")
    return jnp.stack([cast(jnp.reshape(v, ()), Type((), kind.dtype, False)) for v in values])


def _joined(values: list[Any]) -> Type:
    try:
        kind, exact = type_of(values[0])._replace(shape=()), values[0]
        for value in values[1:]:
            kind = join(kind, type_of(value)._replace(shape=()), (exact, value))
            exact = None
    except Mismatch as found:
        raise refuse(f"the order of values of different kinds: {found.why}", found.fix) from None
    return kind


def _refused_order() -> BaseException:
    return refuse(
        "the order of items that are not all numbers depends on run-time values",
        "numbers, or tuples of numbers of one length, as keys",
    )


def _picked(items: list[Any], place: Any) -> Any:
    """The item at a place that is a run-time value."""
    first = items[0]
    kinds_ = {(type(item), len(item)) if type(item) in (tuple, list) else None for item in items}
    if len(kinds_) == 1 and None not in kinds_:
        columns = zip(*items, strict=True)
        return type(first)(_picked(list(column), place) for column in columns)
    if all(is_dynamic(item) for item in items) and len({np.shape(item) for item in items}) == 1:
        kind = _joined(items)._replace(shape=np.shape(first))
        stacked = jnp.stack([cast(jnp.asarray(item), kind) for item in items])
        chosen = jax.lax.dynamic_index_in_dim(stacked, place, keepdims=False)
        return _same_kind(items, cast(chosen, kind))
    if all(item is first for item in items):
        return first
    raise refuse(
        "which of several Python objects comes at a place depends on run-time values",
        "arrays, numbers, or tuples of those; the order alone is jnp.argsort(...)",
    )


def _same_kind(items: list[Any], made: Any) -> Any:
    """What is one of several numbers is of their kind, if they have one."""
    kind = functools.reduce(origins.joined, map(origins.kind_of, items))
    return origins.made(made, kind) if is_traced(made) else made
