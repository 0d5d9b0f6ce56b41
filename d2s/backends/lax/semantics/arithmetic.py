"""Python's operators on run-time values: a Python number keeps Python's results and errors.

JAX's operators take every number for an array: `7 / 0` is infinite, `True + True` is True, complex
numbers have an order. Here an operator asks what its operands are in plain Python (`origins`):

    n / d     both are Python integers    ->    a float, and ZeroDivisionError where `d` is zero
    x / d     `x` is an array             ->    what JAX gives
    y / d     `y` was joined of both      ->    what JAX gives, if Python gives the same;
                                                else the call ends with `d2s.NumberInDoubt`

Which kind the result of Python's operator has, and which kinds it refuses, is found by asking
Python itself about a sample of each kind. What Python refuses for some values alone, such as a
divisor of zero, goes through the error channel.

>>> operands = {bool: True, int: 1, float: 1.0}
>>> type(operator.add(operands[bool], operands[bool])).__name__
'int'
"""

from __future__ import annotations

import functools
import math
import numbers
import operator
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.origins import ARRAY, NUMPY, PYTHON, PYTHON_KINDS
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.spans import span_of
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics import operands
from d2s.backends.lax.semantics.casts import fail_where, is_integer, refuse, to_float, weak
from d2s.backends.lax.trace.provenance import needing
from d2s.backends.lax.trace.questions import is_of_jax
from d2s.errors import NumberInDoubt, a

Operator = Callable[..., Any]

_SAMPLES: dict[Any, Any] = {bool: True, int: 1, float: 1.0, complex: 1j}
_ZEROS: dict[Any, Any] = {bool: False, int: 0, float: 0.0, complex: 0j}

#: operators that refuse a divisor of zero
_DIVIDE = (operator.truediv, operator.floordiv, operator.mod, divmod)
_SHIFT = (operator.lshift, operator.rshift)
_COMPARE = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
_LOGICAL = (operator.and_, operator.or_, operator.xor)
_BINARY: tuple[Operator, ...] = (
    *(operator.add, operator.sub, operator.mul, operator.matmul, *_DIVIDE, operator.pow),
    *(*_SHIFT, *_LOGICAL, *_COMPARE),
)
_UNARY: tuple[Operator, ...] = (operator.neg, operator.pos, operator.invert, abs)

#: the largest exponent of a power of e that Python's floats hold
_LARGEST = math.log(sys.float_info.max)
#: a power of a 32-bit float with an exponent up to this is in the range of Python's 64-bit floats
_SAFE_EXPONENT = 8


def methods(tracer: Any) -> Iterator[tuple[str, Any]]:
    """Operators for a class of tracers, as Python's numbers have them; `patches` puts them in.

    Only for code outside of JAX: JAX's own code computes with arrays by the same operators. An
    operator is not told who calls it, so the file of the calling frame has to tell.
    """
    for op in _BINARY:
        name = op.__name__.strip("_")
        for swapped, method in ((False, f"__{name}__"), (True, f"__r{name}__")):
            own = getattr(tracer, method, None)
            if own is not None and not (swapped and op in _COMPARE):
                made = _binary(op, own, swapped)
                _METHODS[made] = method
                yield method, made
    for op in _UNARY:
        name = op.__name__.strip("_")
        yield f"__{name}__", _unary(op, getattr(tracer, f"__{name}__"))
    for method in ("__copy__", "__deepcopy__"):
        yield method, _copying(getattr(tracer, method))


#: the operators of tracers, by the functions behind them
_METHODS: dict[Operator, str] = {}


def by_name(function: Any) -> Operator | None:
    """What to call for ``a.__add__(b)``: Python's numbers know fewer operands than JAX's.

    None for other functions than the operators of tracers.
    """
    if isinstance(function, types.MethodWrapperType) and type(function.__self__) in PYTHON:
        return functools.partial(_of_known_number, function)
    method = _METHODS.get(function) if isinstance(function, types.FunctionType) else None
    if method is None:
        return None

    def call(self: Any, other: Any) -> Any:
        kind, kinds = origins.kind_of(self), _number_kind(other)
        if kind is ARRAY and not self.shape and aliases.has_numpy_arguments():
            raise refuse(f"{method}() of what may be a scalar of NumPy's", "the operator")
        if scopes.current() is None or kind not in PYTHON or not is_traced(self):
            return function(self, other)
        sample = _SAMPLES.get(kinds, object())
        if getattr(_SAMPLES[kind], method)(sample) is NotImplemented:
            return NotImplemented
        return function(self, other)

    return call


def _of_known_number(method: Any, *args: Any) -> Any:
    """``(2.5).__mod__(x)``: Python's own method knows nothing of run-time values."""
    traced = [value for value in args if is_traced(value)]
    if traced and scopes.current() is not None:
        raise needing(refuse(f"{method.__name__}() of a run-time value", "the operator"), *traced)
    return method(*args)


def _copying(own: Operator) -> Operator:
    """`copy.copy` of a value: a number is its own copy, the copy of an array is another array."""

    def copied(self: Any, *memo: Any) -> Any:
        return own(self, *memo) if origins.kind_of(self) is ARRAY else self

    return copied


def in_place(change: Operator, own: Operator) -> Operator:
    """`x += v`; Python's error about two numbers that do not fit together names this operator."""

    def apply(self: Any, other: Any) -> Any:
        kinds = origins.kind_of(self), _number_kind(other)
        if scopes.current() is not None and kinds[0] in PYTHON and kinds[1] in PYTHON:
            change(_SAMPLES[kinds[0]], _SAMPLES[kinds[1]])
        return own(self, other)

    return apply


def _binary(op: Operator, own: Operator, swapped: bool) -> Operator:
    def apply(self: Any, other: Any) -> Any:
        if scopes.current() is None or is_of_jax(sys._getframe(1).f_code.co_filename):
            return own(self, other)
        if swapped:
            return _apply(op, other, self, lambda a, b: own(b, a))
        return _apply(op, self, other, own)

    apply.__name__ = apply.__qualname__ = op.__name__
    return apply


def _unary(op: Operator, own: Operator) -> Operator:
    def apply(self: Any) -> Any:
        if scopes.current() is None or is_of_jax(sys._getframe(1).f_code.co_filename):
            return own(self)
        kind = origins.kind_of(self)
        if kind is ARRAY:
            operands.refuse_flag(op, self)
            return own(self)
        if kind is None:
            _refuse_doubtful_bools(self)
        elif kind in PYTHON:
            scopes.ask_kinds(kind is bool)
            result = type(op(_SAMPLES[kind]))  # raises Python's error for a wrong kind
            return _as(own(_as_integer(self)), result)
        return origins.made(own(self), kind)

    apply.__name__ = apply.__qualname__ = op.__name__
    return apply


def _apply(op: Operator, one: Any, other: Any, own: Operator) -> Any:
    """The result of a binary operator; `own` is what JAX does.

    1. Where an operand is an array, JAX decides; where one is a NumPy scalar, the result is one.
    2. Of two Python numbers, Python tells the kind of the result, or raises its TypeError.
    3. What Python refuses for some values alone is reported through the error channel.
    4. JAX computes it, of integers in the place of bools, and the result gets its kind.

    An operand that may be a Python number or an array goes the same way, and its result is then in
    doubt as well. For ``flag + n``: the kinds are (bool, int), so the result is an int.
    """
    _refuse_other_numbers(op, one, other)
    kinds = _number_kind(one), _number_kind(other)
    if ARRAY in kinds or NUMPY in kinds:
        operands.meet(one, other)
    if ARRAY in kinds:
        _check_division(op, one, other)
        if op in (operator.eq, operator.ne) and operands.unlike(one, other):
            return jnp.full(one.shape, op is operator.ne)
        try:
            return own(one, other)
        except TypeError:
            operands.refuse_shapes(op, one, other)
            raise
    if NUMPY in kinds:
        return origins.made(own(one, other), NUMPY if None not in kinds else None)
    if op is operator.pow:
        return power(one, other, own)
    likely = _likely_kind(one), _likely_kind(other)
    is_sure = None not in kinds
    if op in _COMPARE and complex in likely and not is_traced(other):
        _refuse_order(op, one)
    result = _kind_of_result(op, *likely) if is_sure else None
    _check(op, one, other, likely, is_sure)
    if op not in _LOGICAL and op not in _COMPARE:
        if not is_sure:
            _refuse_doubtful_bools(one, other)
        scopes.ask_kinds(likely == (bool, bool))
        one, other = _as_integer(one), _as_integer(other)
    found = own(one, other)
    if isinstance(found, tuple):
        return tuple(_as(part, result) for part in found)
    return _as(found, result)


def _refuse_order(op: Operator, value: Any) -> None:
    """Refuse the order of complex numbers.

    Python raises a TypeError whose text tells which of the operands comes first. That is not known
    here, because ``1 < z`` arrives as ``z > 1``.
    """
    if op not in (operator.eq, operator.ne):
        error = refuse("the order of a complex number", "its real part, or abs(...) of it")
        raise needing(error, value)


def _refuse_other_numbers(op: Operator, *values: Any) -> None:
    """Numbers with an arithmetic of their own, as fractions, which no graph computes."""
    for value in values:
        kind: Any = type(value)
        if kind in PYTHON or isinstance(value, _ARRAYS) or not isinstance(value, numbers.Number):
            continue
        base = next((base for base in PYTHON if issubclass(kind, base)), None)
        method = f"__{op.__name__.strip('_')}__"
        if base is None or getattr(kind, method, None) is not getattr(base, method, None):
            raise scopes.refuse(
                refuse(f"{a(kind)} that meets a run-time number", "float(...) or int(...) of it")
            )


_ARRAYS = (np.generic, np.ndarray, jax.Array, jax.core.Tracer)


def _number_kind(value: Any) -> Any:
    """The kind of an operand; what is no number at all counts as an array, and is left to JAX."""
    if isinstance(value, PYTHON) and type(value) not in PYTHON:
        return next(kind for kind in PYTHON if isinstance(value, kind))
    return origins.kind_of(value)


def _as(found: Any, kind: Any) -> Any:
    """A result as the kind of number that Python gives; None if nobody knows."""
    if not isinstance(found, jax.core.Tracer):
        return found  # NotImplemented, by which Python goes on to the other operand
    is_weak = kind in (None, bool) or jax.typeof(found).weak_type
    return origins.made(found, kind) if is_weak else weak(found, kind)


def _likely_kind(value: Any) -> Any:
    """What a value is if it is a Python number."""
    kind = _number_kind(value)
    return kind if kind is not None else PYTHON_KINDS[value.dtype.kind]


@functools.cache
def _kind_of_result(op: Operator, one: Any, other: Any) -> Any:
    """The kind of number that Python gives; its TypeError where it gives none."""
    try:
        found = op(_SAMPLES[one], _SAMPLES[other])
    except TypeError:
        scopes.ask_kinds(True)
        raise
    return type(found[0] if isinstance(found, tuple) else found)


def _as_integer(value: Any) -> Any:
    """A Python bool as the integer that Python's arithmetic takes it for."""
    if isinstance(value, jax.core.Tracer) and value.dtype == jnp.bool_:
        return weak(value, int)
    return value


def _refuse_doubtful_bools(*values: Any) -> None:
    """Refuse arithmetic with bools that may be Python's, which are integers, or an array's."""
    if all(_likely_kind(value) is bool for value in values):
        raise refuse(
            "arithmetic with bools of which a run-time condition decides whether they are "
            "Python's or an array's",
            "int(...) around them",
        )


# -- what Python refuses ---------------------------------------------------------------------------


def _check(op: Operator, one: Any, other: Any, kinds: tuple[Any, ...], is_sure: bool) -> None:
    """Report through the error channel where Python raises an exception for some of the values."""
    if op in _DIVIDE and not _is_never_zero(other):
        scopes.ask_kinds(True)
        _fail_where(_equals_zero(other), _error(op, kinds, _ZEROS[kinds[1]]), is_sure)
    elif op in _SHIFT and not _is_never_negative(other):
        scopes.ask_kinds(True)
        negative = jnp.less(other, 0) if is_traced(other) else other < 0
        _fail_where(negative, _error(op, kinds, -1), is_sure)


def _check_division(op: Operator, one: Any, other: Any) -> None:
    """End the call where an integer array that may be NumPy's or JAX's is divided by zero."""
    if op not in _DIVIDE or op is operator.truediv or not aliases.has_numpy_arguments():
        return
    if not (operands.is_number(one) and operands.is_number(other)):
        return
    if is_integer(one) and is_integer(other) and (is_traced(other) or not np.all(other)):
        zero = NumberInDoubt(
            "an integer array is divided by zero, which is 0 in NumPy and another number in JAX",
            site=sites.where(),
            fix="jnp.where(b == 0, 0, a // jnp.where(b == 0, 1, b))",
        )
        fail_where((_known(jnp.any(jnp.equal(other, 0))), zero))


def _error(op: Operator, kinds: tuple[Any, ...], other: Any) -> BaseException:
    """The exception that Python raises for an operand."""
    try:
        op(_SAMPLES[kinds[0]], other)
    except (ArithmeticError, ValueError) as error:
        return type(error)(*error.args)
    raise AssertionError(f"Python takes {other!r}")


def _fail_where(test: Any, error: BaseException, is_sure: bool) -> None:
    fail_where((test, error if is_sure else _in_doubt(error)))


def _in_doubt(error: BaseException) -> NumberInDoubt:
    name = type(error).__name__
    return NumberInDoubt(
        f"a number that is Python's or an array's, as a run-time value decides: Python raises "
        f"{name}({str(error)!r}), JAX goes on",
        site=sites.where(),
        fix="jnp.asarray(...) around the number, or float(...) around the array",
    )


def _equals_zero(value: Any) -> Any:
    return jnp.equal(value, 0) if is_traced(value) else value == 0


def _is_never_zero(value: Any) -> bool:
    if not is_traced(value):
        return bool(value != 0)
    span = span_of(value)
    return span is not None and not span[0] <= 0 <= span[1]


def _is_never_negative(value: Any) -> bool:
    if not is_traced(value):
        return bool(value >= 0)
    span = span_of(value)
    return span is not None and span[0] >= 0


# -- powers ----------------------------------------------------------------------------------------


def power(base: Any, exponent: Any, own: Operator) -> Any:
    """`**` of numbers of which none is an array.

    Python decides by the sign of an exponent what the power of an integer is, and by the sign of
    the base whether that of a float is complex.
    """
    kinds = _number_kind(base), _number_kind(exponent)
    one, two = _likely_kind(base), _likely_kind(exponent)
    is_sure = None not in kinds
    scopes.ask_kinds(True)
    if complex in (one, two):
        if not (is_traced(base) and _is_never_zero(base)):
            zero = jnp.equal(base, 0) & ((jnp.real(exponent) < 0) | (jnp.imag(exponent) != 0))
            _fail_where(_known(zero), _raised(lambda: 0j**-1), is_sure)
        return _as(own(base, exponent), complex if is_sure else None)
    if one in (bool, int) and two in (bool, int):
        if is_traced(exponent):
            error = refuse(
                "a power of Python integers, which is an integer or a float as the exponent wills",
                "float(base) ** exponent, or a Python number as exponent",
            )
            raise needing(error, exponent)
        if exponent >= 0:
            return _as(own(_as_integer(base), int(exponent)), int if is_sure else None)
        base = to_float(base)
    _check_real_power(_as_integer(base), _as_integer(exponent), is_sure)
    return _as(own(_as_integer(base), _as_integer(exponent)), float if is_sure else None)


def _check_real_power(base: Any, exponent: Any, is_sure: bool) -> None:
    """What Python refuses of a power of floats: a zero, a complex number, one out of range."""
    whole = is_integer(exponent) or (not is_traced(exponent) and float(exponent).is_integer())
    cases: list[tuple[Any, BaseException]] = []
    if is_traced(exponent) or exponent < 0:
        zero = jnp.logical_and(jnp.equal(base, 0), jnp.less(exponent, 0))
        cases.append((_known(zero), _raised(lambda: 0.0**-1.0)))
    if not whole and (is_traced(base) or base < 0):
        odd = jnp.isfinite(exponent) & (jnp.floor(exponent) != exponent)
        cases.append((_known(jnp.isfinite(base) & jnp.less(base, 0) & odd), _complex_power()))
    if is_traced(exponent) or abs(exponent) > _SAFE_EXPONENT:
        finite = jnp.isfinite(base) & jnp.isfinite(exponent) & (jnp.asarray(base) != 0)
        size = jnp.where(finite, exponent * jnp.log(jnp.abs(jnp.where(finite, base, 1.0))), 0.0)
        cases.append((_known(size > _LARGEST), _raised(lambda: 10.0**400)))
    if cases:
        fail_where(*((test, error if is_sure else _in_doubt(error)) for test, error in cases))


def _known(test: Any) -> Any:
    return test if is_traced(test) else bool(test)


def _raised(operation: Callable[[], Any]) -> BaseException:
    try:
        operation()
    except ArithmeticError as error:
        return type(error)(*error.args)
    raise AssertionError("Python computes it")


def _complex_power() -> NumberInDoubt:
    return NumberInDoubt(
        "a power of a negative number, which is complex in Python, and a float in the graph",
        site=sites.where(),
        fix="complex(base) ** exponent, or abs(base) ** exponent",
    )
