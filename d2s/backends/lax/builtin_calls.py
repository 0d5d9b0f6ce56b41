"""Builtin functions on run-time values."""

from __future__ import annotations

import builtins
import io
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax import channels
from d2s.backends.lax.branches import cond
from d2s.backends.lax.dtypes import Type, cast, type_of
from d2s.backends.lax.regions import is_internal, is_traced, scalar_predicate
from d2s.backends.lax.sequences import Enumerate, Fresh, Range, Reversed, Sequence, Zip, as_sequence
from d2s.backends.lax.trees import leaves
from d2s.backends.lax.watch import Effects
from d2s.errors import StagingError

Call = Callable[..., Any]


def has_traced(args: Any) -> bool:
    return any(is_traced(leaf) for leaf in leaves(args))


def refuse(what: str, fix: str, code: str = "D2S020") -> StagingError:
    return StagingError(what, code=code, site=channels.where(), fix=fix)


def _range(*args: Any) -> Any:
    if not any(is_traced(a) for a in args):
        return range(*(int(a) if isinstance(a, jax.Array) and not a.shape else a for a in args))
    for a in args:
        kind = getattr(a, "dtype", None)
        if kind is not None and not jnp.issubdtype(kind, jnp.integer):
            raise TypeError("'float' object cannot be interpreted as an integer")
    weak = type_of(0)
    values = [cast(scalar(a), weak) if is_traced(a) else int(a) for a in args]
    start, stop, step = (0, *values, 1) if len(values) == 1 else (*values, 1)[:3]
    if is_traced(step):
        cond(step == 0, _zero_step, lambda: None, ())
    elif step == 0:
        _zero_step()
    return Range(start, stop, step)


def scalar(value: Any) -> Any:
    return value.reshape(()) if value.shape else value


def _zero_step() -> None:
    raise ValueError("range() arg 3 must not be zero")


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    sequence = as_sequence(iterable, with_ranges=is_traced(start))
    if sequence is not None:
        return Enumerate(sequence, start)
    return Fresh.of(enumerate(iterable, start), iterable)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    parts = [as_sequence(i, with_ranges=True) for i in iterables]
    lazy = any(as_sequence(i) is not None for i in iterables)
    if lazy and all(part is not None for part in parts) and not strict:
        return Zip([part for part in parts if part is not None])
    return Fresh.of(zip(*iterables, strict=strict), *iterables)


def _reversed(iterable: Any) -> Any:
    sequence = as_sequence(iterable)
    return Fresh.of(reversed(iterable), iterable) if sequence is None else Reversed(sequence)


def _len(value: Any) -> Any:
    if isinstance(value, Sequence):
        return value.length
    return len(value)


def _refuse_type_test(value: Any) -> None:
    """In a graph a Python number looks like an array; what it was cannot be asked there."""
    if is_traced(value) and type_of(value).weak:
        raise refuse(
            "what kind of Python value a run-time number is",
            "the test outside the static function, or the number as a static (hashable) argument",
        )


def _isinstance(value: Any, kinds: Any) -> bool:
    wanted = kinds if isinstance(kinds, tuple) else (kinds,)
    if not all(isinstance(kind, type) for kind in wanted) or any(
        issubclass(number, kinds) for number in (int, float, complex, jax.Array)
    ):
        _refuse_type_test(value)
    if is_traced(value) and any(kind in (np.ndarray, np.generic) for kind in wanted):
        raise refuse(
            "whether a run-time value was a NumPy array",
            "the test outside the static function, or isinstance(x, jax.Array)",
        )
    return isinstance(value, kinds)


def _of_first(plain: Call) -> Call:
    def ask(*args: Any) -> Any:
        _refuse_type_test(args[0])
        return plain(*args)

    return ask


def _number(kind: type, dtype: str) -> Call:
    def convert(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not is_traced(args[0]):
            return kind(*args, **kwargs)
        value = args[0]
        if value.size != 1:
            raise TypeError(
                f"Only scalar arrays can be converted to Python scalars; got arr.ndim={value.ndim}"
            )
        value = scalar(value)
        if kind is bool:
            return scalar_predicate(value)
        wide = jax.dtypes.canonicalize_dtype(dtype)
        if kind is int and jnp.issubdtype(value.dtype, jnp.floating):
            value = jnp.trunc(value)
            limit = 2.0 ** (8 * np.dtype(wide).itemsize - 1)
            cond(abs(value) < limit, lambda: None, _too_large, ())
        return cast(value, Type((), np.dtype(wide), True))

    return convert


def _too_large() -> None:
    raise channels.overflow(channels.where())


def _extreme(name: str, better: Call) -> Call:
    plain = getattr(builtins, name)

    def pick(*args: Any, **kwargs: Any) -> Any:
        if kwargs or not args:
            return plain(*args, **kwargs)
        values = list(args[0]) if len(args) == 1 else list(args)
        if not any(isinstance(value, jax.Array) for value in values):
            return plain(values)
        if not values:
            return plain(values)
        best = values[0]
        for value in values[1:]:
            test = better(value, best)
            best = (
                cond(test, lambda v=value: v, lambda b=best: b, ())
                if is_traced(test)
                else (value if test else best)
            )
        return best

    return pick


def _any(iterable: Any) -> Any:
    return _quantified(iterable, builtins.any, jnp.logical_or, False)


def _all(iterable: Any) -> Any:
    return _quantified(iterable, builtins.all, jnp.logical_and, True)


def _quantified(iterable: Any, plain: Call, combine: Call, empty: bool) -> Any:
    items = iter(iterable)
    for value in items:
        if is_traced(value):
            break
        if bool(value) is not empty:
            return not empty
    else:
        return empty
    # whether Python would ask for the others is not known: to ask must do nothing else
    effects = Effects(iterable) if items is iterable else None
    result = scalar_predicate(value)
    try:
        for value in items:
            flag = scalar_predicate(value) if is_traced(value) else bool(value)
            result = combine(result, flag)
    except Exception as error:
        if effects is None or is_internal(error):
            raise
        raise _refuse_items(plain) from error
    if effects is not None and effects.happened():
        raise _refuse_items(plain)
    return result


def _refuse_items(plain: Call) -> StagingError:
    name = plain.__name__
    return StagingError(
        f"{name}() stops at a run-time value, and to ask for the items after it has effects",
        code="D2S023",
        site=channels.where(),
        fix="a for loop with an `if` and a `break`",
    )


def _round(number: Any, digits: Any = None) -> Any:
    if not is_traced(number):
        return round(number, digits) if digits is not None else round(number)
    rounded = jnp.round(number, 0 if digits is None else digits)
    return _number(int, "int64")(rounded) if digits is None else rounded


def _text(name: str) -> Call:
    plain = getattr(builtins, name)

    def show(*args: Any, **kwargs: Any) -> Any:
        if has_traced(args):
            raise refuse(
                f"{name}() of a run-time value, whose text is not known yet",
                "the text outside the static function",
            )
        return plain(*args, **kwargs)

    return show


def _print(*args: Any, **kwargs: Any) -> None:
    raise refuse(
        "print inside a static function would show only while the graph is built",
        "return the value and print it outside, or jax.debug.print(...)",
        code="D2S023",
    )


#: modules whose functions give something else on every call, or do something outside
_UNREPEATABLE = {
    "random": "jax.random",
    "numpy.random": "jax.random",
    "secrets": "jax.random",
    "uuid": "a value made outside and passed in",
    "time": "the time taken outside and passed in",
    "datetime": "the time taken outside and passed in",
    "warnings": "a warning outside the static function",
    "logging": "logging outside the static function",
}


def refuse_unrepeatable(function: Any) -> None:
    """Calls that would happen only while the graph is built."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, io.IOBase):
        _print()
    names = (getattr(function, "__module__", None), type(owner).__module__)
    for name in names:
        for module, fix in _UNREPEATABLE.items():
            if isinstance(name, str) and (name == module or name.startswith(module + ".")):
                label = getattr(function, "__name__", repr(function))
                raise refuse(
                    f"{module}.{label} would run only while the graph is built", fix, code="D2S023"
                )


def _next(*args: Any) -> Any:
    iterator = args[0]
    if any(not w.outside or w.knows(iterator) for w in channels.watches()):
        raise refuse(
            "next() on an iterator would happen only while the graph is built",
            "the items as a list or an array",
            code="D2S025",
        )
    return next(*args)


BUILTINS: dict[Any, Call] = {
    range: _range,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    len: _len,
    isinstance: _isinstance,
    type: _of_first(type),
    hasattr: _of_first(hasattr),
    getattr: _of_first(getattr),
    int: _number(int, "int64"),
    float: _number(float, "float64"),
    bool: _number(bool, "bool"),
    min: _extreme("min", lambda value, best: value < best),
    max: _extreme("max", lambda value, best: value > best),
    any: _any,
    all: _all,
    round: _round,
    str: _text("str"),
    repr: _text("repr"),
    format: _text("format"),
    print: _print,
    next: _next,
}
