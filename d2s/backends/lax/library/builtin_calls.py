"""Builtin functions on run-time values.

While a graph is built, a call of a builtin looks it up in the table `BUILTINS` at the end of this
module, and calls what it finds there instead:

    any(x > 0 for x in values)    ->    _any(...), which asks item after item, joined by `or`
    len(x)                        ->    _len(x), which knows run-time lengths
    hash(x)                       ->    hash(x): what is not in the table is called as it is

Each of them calls Python's own function where no argument is a run-time value, and where Python is
the one to say what is wrong with the arguments.
"""

from __future__ import annotations

import functools
import gc
import io
import operator
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.control.branches import and_, cond, or_
from d2s.backends.lax.failures.texts import Text
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.forms.dtypes import is_dynamic, is_symbolic
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.library import ordering
from d2s.backends.lax.library.as_python import like
from d2s.backends.lax.library.text_calls import TEXTS, percent
from d2s.backends.lax.library.unrepeatable import unrepeatable
from d2s.backends.lax.regions.regions import is_traced, scalar_predicate
from d2s.backends.lax.semantics import classes
from d2s.backends.lax.semantics.casts import (
    as_bool,
    has_traced,
    index,
    is_integer,
    not_,
    refuse,
    refuse_part,
    scalar,
    to_bool,
    to_float,
    to_int,
    weak,
)
from d2s.backends.lax.semantics.membership import is_in
from d2s.backends.lax.semantics.sequences import (
    Enumerate,
    Fresh,
    Range,
    Reversed,
    Sequence,
    Zip,
    as_sequence,
)
from d2s.backends.lax.trace import namespaces
from d2s.conversion import is_made_code

Call = Callable[..., Any]


def _range(*args: Any) -> Any:
    if len(args) > 3:
        raise TypeError(f"range expected at most 3 arguments, got {len(args)}")
    if not any(is_traced(a) or is_symbolic(a) for a in args):
        return range(*map(index, args))
    sized = not any(is_traced(a) for a in args)
    args = tuple(jnp.asarray(a) if is_symbolic(a) and not sized else a for a in args)
    values = [a if is_symbolic(a) else index(a) for a in args]
    start, stop, step = (0, *values, 1) if len(values) == 1 else (*values, 1)[:3]
    if is_traced(step):
        cond(step == 0, _zero_step, lambda: None, ())
    elif step == 0:
        _zero_step()
    return Range(start, stop, step)


def _zero_step() -> None:
    raise ValueError("range() arg 3 must not be zero")


def _enumerate(iterable: Any, start: Any = 0) -> Any:
    sequence = as_sequence(iterable, with_ranges=is_traced(start))
    if sequence is not None:
        return Enumerate(sequence, start)
    if is_traced(start):
        return Fresh.of(((start + n, item) for n, item in enumerate(iterable)), iterable)
    return Fresh.of(enumerate(iterable, start), iterable)


def _zip(*iterables: Any, strict: bool = False) -> Any:
    parts = [as_sequence(i, with_ranges=True) for i in iterables]
    lazy = any(as_sequence(i) is not None for i in iterables)
    whole = [part for part in parts if part is not None]
    if lazy and len(whole) == len(parts) and (not strict or _are_as_long(whole)):
        return Zip(whole)
    return Fresh.of(zip(*iterables, strict=strict), *iterables)


def _are_as_long(parts: list[Sequence]) -> bool:
    lengths = [part.length for part in parts]
    return not any(map(is_traced, lengths)) and len(set(map(int, lengths))) == 1


def _reversed(iterable: Any) -> Any:
    is_number = is_traced(iterable) and not iterable.shape
    sequence = None if is_number else as_sequence(iterable)
    return Fresh.of(reversed(iterable), iterable) if sequence is None else Reversed(sequence)


def _len(value: Any) -> Any:
    if isinstance(value, Sequence):
        return origins.made(value.length, int)
    if isinstance(value, Recorder):
        return value.length()
    if isinstance(value, jax.Array) and value.ndim and is_symbolic(value.shape[0]):
        return value.shape[0]
    return len(value)


def _number(kind: type, convert: Call) -> Call:
    def make(*args: Any, **kwargs: Any) -> Any:
        if len(args) != 1 or kwargs or not is_traced(args[0]):
            return kind(*(str(a) if isinstance(a, Text) else a for a in args), **kwargs)
        return convert(args[0])

    return make


def _complex(*args: Any, **kwargs: Any) -> Any:
    if not has_traced([args, kwargs]):
        return complex(*args, **kwargs)
    parts = dict(zip(("real", "imag"), args, strict=False)) | kwargs
    real, imag = (parts.get(name, 0) for name in ("real", "imag"))
    pair = [scalar(jnp.asarray(part)) for part in (real, imag)]
    refuse_part(*pair)
    if any(jnp.issubdtype(part.dtype, jnp.complexfloating) for part in pair):
        return weak(pair[0] + 1j * pair[1] if "imag" in parts else pair[0], complex)
    return weak(jax.lax.complex(*(part.astype(float) for part in pair)), complex)


def _flag_as_integer(value: Any, name: str) -> Any:
    """A Python bool as the integer that it is; the bools of arrays are no integers, and refused."""
    if value.shape or origins.kind_of(value) is not bool:
        raise refuse(f"{name}() of a bool, which in a graph is Python's or an array's", "int(...)")
    return to_int(value)


def power(base: Any, exp: Any, mod: Any = None) -> Any:
    """`**` and `pow`, whose arguments have names."""
    if mod is not None and has_traced([base, exp, mod]):
        raise refuse(
            "pow() of run-time values with a modulus",
            "a loop over `result = result * base % modulus`",
        )
    return pow(base, exp, mod) if mod is not None else base**exp


def _sum(iterable: Any, /, start: Any = 0) -> Any:
    if is_traced(iterable) and iterable.ndim and iterable.shape[0] > 1 and is_dynamic(start):
        # One operation for all items. Python adds them as they are, in their own dtype.
        kind = None if iterable.dtype == jnp.bool_ else iterable.dtype
        return start + jnp.sum(iterable, axis=0, dtype=kind)
    return sum(iterable, start)


def _filter(function: Any, iterable: Any, /) -> Any:
    def keeps(item: Any) -> Any:
        answer = item if function is None else function(item)
        if is_traced(answer):
            raise refuse(
                "filter() by a run-time condition: how many items stay is not known",
                "a loop with an `if`, or jnp.where(condition, x, 0) on an array",
            )
        return answer

    return filter(keeps, iterable)


def _any(iterable: Any) -> Any:
    return _quantified(iterable, or_, jnp.logical_or, False)


def _all(iterable: Any) -> Any:
    return _quantified(iterable, and_, jnp.logical_and, True)


def _quantified(iterable: Any, stops: Call, combine: Call, empty: bool) -> Any:
    """`any` or `all`: `stops` is the operator with its short circuit, `combine` without one."""
    items = iter(iterable)
    if items is iterable:
        return _asked_one_by_one(items, stops, empty)
    result: Any = empty
    # To take the items of a container runs no code, so nobody notices if all of them are taken.
    for value in items:
        if is_traced(value):
            result = as_bool(combine(result, scalar_predicate(value)))
        elif bool(value) is not empty:
            return not empty
    return result


def _asked_one_by_one(items: Iterator[Any], stops: Call, empty: bool) -> Any:
    """The same for an iterator, which may run code of the user's that fails or prints.

    So an item is taken only where Python would take it: inside of the short circuit.
    """
    result: Any = empty
    ended = False

    def next_truth(reached: list[Any]) -> Any:
        nonlocal ended
        for value in items:
            return to_bool(value)
        ended = True
        return empty

    # What the iterator calls is handed on as an argument, because the snapshots of the staged
    # branch look into arguments, and do not see what is behind an iterator of Python's own.
    asked = functools.partial(next_truth, _behind(items))
    while result is empty or is_traced(result):
        with_next = stops(result, (asked,))
        if ended:
            break
        result = with_next
        if is_traced(result):
            _refuse_shared(items)
    return result


def _refuse_shared(items: Iterator[Any]) -> None:
    """Refuse an iterator that a variable still holds: how far it got is a run-time value."""
    own = {id(v) for v in (items, *_behind(items)) if isinstance(v, Iterator)}
    frame: Any = sys._getframe(1)
    while frame is not None:
        if is_made_code(frame.f_code) and any(id(v) in own for v in frame.f_locals.values()):
            raise refuse(
                "any() or all() stops at a run-time value, and its iterator has a name",
                "a for loop with an `if` and a `break`, or an iterator of its own",
                code="D2S023",
            )
        frame = frame.f_back


def _behind(iterator: Iterator[Any]) -> list[Any]:
    """What an iterator holds: functions, cells, and other iterators with all that those hold."""
    held = gc.get_referents(iterator)
    inner = [value for value in held if isinstance(value, Iterator)]
    return [*held, *(value for one in inner for value in _behind(one))]


def round_(number: Any, ndigits: Any = None) -> Any:
    """`round`: half to even. Without digits it gives an integer, with digits the kind of number."""
    if not is_traced(number):
        return round(number, ndigits) if ndigits is not None else round(number)
    if origins.kind_of(number) in (origins.ARRAY, origins.NUMPY):
        flag = number.dtype == jnp.bool_ and aliases.has_numpy_arguments()
        if flag or aliases.may_be_numpy(number):
            raise refuse("round() of an array, which NumPy's do not take", "jnp.round(x)")
        if is_integer(number) and ndigits is not None and aliases.has_numpy_arguments():
            raise refuse("round() of an integer of NumPy's to digits, which JAX's do not", "int(x)")
        return round(number, ndigits) if ndigits is not None else round(number)
    if origins.kind_of(number) is complex:
        return round(1j)  # type: ignore[call-overload]  # Python says what is wrong
    if number.dtype == jnp.bool_:
        number = _flag_as_integer(number, "round")
    if ndigits is None:
        return to_int(number if is_integer(number) else jnp.round(number))
    digits = operator.index(ndigits)
    if not is_integer(number):
        return origins.made(jnp.round(number, digits), origins.kind_of(number))
    if digits >= 0:
        return number
    unit = 10**-digits
    if unit > 10**9:
        return number * 0
    rest = number % unit
    odd = (number // unit) % 2 == 1
    up = (rest > unit // 2) | ((rest == unit // 2) & odd)
    return weak(number - rest + jnp.where(up, unit, 0), int)


_LOCKS = (type(threading.Lock()), type(threading.RLock()))


def refuse_unrepeatable(function: Any) -> None:
    """Refuse calls that would happen only while the graph is built."""
    owner = getattr(function, "__self__", None)
    # Special methods are called by a `with` statement, which is fine. That a method is special is
    # something that Python itself tells by the name alone.
    is_asked = isinstance(owner, _LOCKS) and not function.__name__.startswith("__")
    if is_asked and any(watch.knows(owner) for watch in scopes.snapshots()):
        raise refuse(
            "a lock is asked or taken, which would happen only while the graph is built",
            "`with lock:`, or the lock outside the static function",
            code="D2S023",
        )
    if isinstance(owner, type) and function == type.__subclasses__.__get__(owner):
        raise refuse(
            "__subclasses__() gives other classes as soon as one is defined or gone",
            "a list of the classes",
            code="D2S023",
        )
    if isinstance(owner, io.IOBase):
        raise refuse(
            "a file is used directly, which would happen only while the graph is built",
            "print(..., file=...), or the file outside the static function",
            code="D2S023",
        )
    found = unrepeatable(function)
    if found is not None:
        name, fix = found
        raise refuse(f"{name} would run only while the graph is built", fix, code="D2S023")


def _next(iterator: Any, /, *default: Any) -> Any:
    if any(not w.outside or w.knows(iterator) for w in scopes.snapshots()):
        raise refuse(
            "next() on an iterator would happen only while the graph is built",
            "the items as a list or an array",
            code="D2S025",
        )
    return next(iterator, *default)


def _setattr(value: Any, name: Any, new: Any, /) -> None:
    namespaces.note_attribute(value, name)
    setattr(value, name, new)


def _delattr(value: Any, name: Any, /) -> None:
    namespaces.note_attribute(value, name)
    delattr(value, name)


BUILTINS: dict[Any, Call] = {
    **TEXTS,
    range: _range,
    enumerate: _enumerate,
    zip: _zip,
    reversed: _reversed,
    len: _len,
    isinstance: classes.isinstance_,
    issubclass: classes.issubclass_,
    type: classes.type_,
    hasattr: classes.hasattr_,
    getattr: classes.getattr_,
    int: _number(int, to_int),
    float: _number(float, to_float),
    bool: _number(bool, to_bool),
    complex: _complex,
    pow: power,
    sum: _sum,
    min: ordering.extreme(min),
    max: ordering.extreme(max),
    sorted: ordering.sorted_,
    filter: _filter,
    any: _any,
    all: _all,
    round: round_,
    next: _next,
    globals: namespaces.globals_,
    vars: namespaces.vars_,
    eval: namespaces.eval_,
    exec: namespaces.exec_,
    setattr: _setattr,
    delattr: _delattr,
}

#: functions of `operator` that ask a value more than its own operators would
OPERATORS: dict[Any, Call] = {
    operator.contains: lambda container, item: is_in(item, container),
    operator.index: index,
    operator.ipow: power,
    operator.is_: classes.is_,
    operator.is_not: lambda left, right: not classes.is_(left, right),
    operator.mod: percent,
    operator.not_: not_,
    operator.pow: power,
    operator.truth: _number(bool, to_bool),
}
OPERATORS = {function: like(function, ours) for function, ours in OPERATORS.items()}
