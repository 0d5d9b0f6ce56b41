"""`min`, `max` and `sorted` of run-time values: what Python finds by comparing one by one.

    min(a, b)            ->    cond(b < a, lambda: b, lambda: a), so that `a` wins if they are equal
    min(x)               ->    x[argmin(x)], for an array of one dimension
    sorted(l, key=f)     ->    the stacked items in the order of a stable sort of the stacked keys

The order of items without run-time values in their keys is Python's own.
"""

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


def extreme(plain: Call) -> Call:
    """What computes `min` or `max`, whichever is given: the first of the best items."""
    better: Call = (lambda a, b: a < b) if plain is min else (lambda a, b: a > b)

    def pick(*args: Any, key: Any = None, **default: Any) -> Any:
        if not args or (default and (len(args) > 1 or "default" not in default)):
            return plain(*args, key=key, **default)  # Python raises its own error
        if len(args) == 1 and key is None and _is_row(args[0]):
            return _extreme_element(args[0], plain)
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
    """What `min` or `max` gives for no items: the default, or else Python's own exception."""
    try:
        return plain([], **default)
    except ValueError as error:
        raise ValueError(*error.args) from None


def _deciding(keys: list[Any]) -> list[Any]:
    """The keys as far as Python looks at them.

    Tuples are compared from their first entries on. Where those are all different and known, the
    run-time values behind them decide nothing.
    """
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
    """A key without run-time values, with NumPy's numbers for jax arrays.

    While a graph is built, a comparison of jax arrays that are known gives a run-time value.
    """
    return map_leaves(_number, key)


def _number(leaf: Any) -> Any:
    if isinstance(leaf, jax.core.Tracer):
        leaf = leaf.to_concrete_value()  # jax.grad follows a value that is known
    return np.asarray(leaf)[()] if isinstance(leaf, jax.Array) else leaf


def _is_row(value: Any) -> bool:
    return is_traced(value) and value.ndim == 1 and value.size > 0


def _extreme_element(array: Any, plain: Call) -> Any:
    """`min` or `max` of an array of one dimension, in one operation.

    A NaN is never better than another number, nor is any number better than a NaN: a NaN that comes
    first is the result, and all others are passed over.
    """
    position_of: Call = jnp.argmin if plain is min else jnp.argmax
    if not jnp.issubdtype(array.dtype, jnp.inexact):
        return array[position_of(array)]
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise TypeError(f"{plain.__name__}() of complex numbers")
    worst = jnp.inf if plain is min else -jnp.inf
    known = jnp.where(jnp.isnan(array), worst, array)
    position = position_of(known)
    return jnp.where(jnp.isnan(array[0]), array[0], array[position])


def sorted_(iterable: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    """`sorted`: stable, also when it is reversed."""
    items = list(iterable)
    keys = _deciding(items if key is None else [key(item) for item in items])
    reverse = bool(reverse)
    if not has_traced(keys):
        keys = [_known(key) for key in keys]
        positions = builtins.sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
        return [items[n] for n in positions]
    if len(items) < 2:
        return items
    if reverse:
        # Items that are equal keep their order, so it is turned around before and after the sort.
        items, keys = items[::-1], keys[::-1]
    order = _order(keys)
    made = [_picked(items, order[n]) for n in range(len(items))]
    return made[::-1] if reverse else made


def sort(items: list[Any]) -> Call:
    """What stands for the method `sort` of a list."""

    def in_place(*, key: Any = None, reverse: Any = False) -> None:
        items[:] = sorted_(items, key=key, reverse=reverse)

    return in_place


def _order(keys: list[Any]) -> Any:
    """The positions of the keys in ascending order; keys are numbers, or tuples of numbers."""
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


def _picked(items: list[Any], position: Any) -> Any:
    """The item at a position that is a run-time value."""
    first = items[0]
    kinds_ = {(type(item), len(item)) if type(item) in (tuple, list) else None for item in items}
    if len(kinds_) == 1 and None not in kinds_:
        columns = zip(*items, strict=True)
        return type(first)(_picked(list(column), position) for column in columns)
    if all(is_dynamic(item) for item in items) and len({np.shape(item) for item in items}) == 1:
        kind = _joined(items)._replace(shape=np.shape(first))
        stacked = jnp.stack([cast(jnp.asarray(item), kind) for item in items])
        chosen = jax.lax.dynamic_index_in_dim(stacked, position, keepdims=False)
        return _same_kind(items, cast(chosen, kind))
    if all(item is first for item in items):
        return first
    raise refuse(
        "which of several Python objects comes at a place depends on run-time values",
        "arrays, numbers, or tuples of those; the order alone is jnp.argsort(...)",
    )


def _same_kind(items: list[Any], made: Any) -> Any:
    """A value that is one of several numbers, as the kind of number that all of them have."""
    kind = functools.reduce(origins.joined, map(origins.kind_of, items))
    return origins.made(made, kind) if is_traced(made) else made
