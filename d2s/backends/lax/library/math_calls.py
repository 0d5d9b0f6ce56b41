"""Functions of `math` on run-time values.

    math.sqrt(x)    ->    jnp.sqrt(x) as a Python float, and where x < 0 the ValueError that Python
                          raises for math.sqrt(-1.0)

They take and give Python numbers. What Python refuses fails as in Python, with the text of the
Python that runs: an example of a wrong argument is tried. The ranges are those of Python's 64-bit
floats; the values are the graph's, so `math.exp(100.0)` is infinite where those have 32 bits.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.scipy import special

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.library import numpy_own
from d2s.backends.lax.library.as_python import called
from d2s.backends.lax.semantics.casts import (
    fail_where,
    has_tracer,
    index,
    is_integer,
    refuse,
    scalar,
    to_bool,
    to_float,
    to_int,
    too_large,
    weak,
)

Call = Callable[..., Any]
_LOG_MAX = math.log(sys.float_info.max)


class _Bound(NamedTuple):
    """Where a function fails, and an argument that shows with which exception it does."""

    fails: Call
    example: tuple[Any, ...]


def _example(function: Call, args: tuple[Any, ...]) -> Exception:
    """What Python raises for an argument that the function does not take."""
    try:
        function(*args)
    except Exception as error:
        return type(error)(*error.args)
    raise AssertionError(f"unreachable: {function.__name__}{args} fails")


def _is_pole(x: Any) -> Any:
    return (x <= 0) & (x == jnp.floor(x)) & jnp.isfinite(x)


def _over(limit: float) -> Call:
    return lambda x: jnp.isfinite(x) & (abs(x) > limit) & (x > 0)


def _beyond(limit: float) -> Call:
    return lambda x: jnp.isfinite(x) & (abs(x) > limit)


_NEGATIVE = _Bound(lambda x: x < 0, (-1.0,))
_NOT_POSITIVE = _Bound(lambda x: x <= 0, (-1.0,))
_INFINITE = _Bound(jnp.isinf, (math.inf,))
_OUTSIDE_ONE = _Bound(lambda x: abs(x) > 1, (2.0,))

#: float -> float: what computes it, and where it fails
_FLOATS: dict[str, tuple[Call, tuple[_Bound, ...]]] = {
    "acos": (jnp.arccos, (_OUTSIDE_ONE,)),
    "acosh": (jnp.arccosh, (_Bound(lambda x: x < 1, (0.5,)),)),
    "asin": (jnp.arcsin, (_OUTSIDE_ONE,)),
    "asinh": (jnp.arcsinh, ()),
    "atan": (jnp.arctan, ()),
    "atanh": (jnp.arctanh, (_Bound(lambda x: abs(x) >= 1, (2.0,)),)),
    "cbrt": (jnp.cbrt, ()),
    "cos": (jnp.cos, (_INFINITE,)),
    "cosh": (jnp.cosh, (_Bound(_beyond(710.4758600739439), (1e4,)),)),
    "degrees": (lambda x: x * (180 / math.pi), ()),
    "erf": (special.erf, ()),
    "erfc": (special.erfc, ()),
    "exp": (jnp.exp, (_Bound(_over(_LOG_MAX), (1e4,)),)),
    "exp2": (jnp.exp2, (_Bound(_over(math.nextafter(1024.0, 0.0)), (1e4,)),)),
    "expm1": (jnp.expm1, (_Bound(_over(_LOG_MAX), (1e4,)),)),
    "fabs": (jnp.abs, ()),
    "gamma": (
        special.gamma,
        (
            _Bound(lambda x: _is_pole(x) | (x == -jnp.inf), (-1.0,)),
            _Bound(_over(171.6243769563027), (1e4,)),
        ),
    ),
    "lgamma": (special.gammaln, (_Bound(_is_pole, (-1.0,)),)),
    "log10": (jnp.log10, (_NOT_POSITIVE,)),
    "log1p": (jnp.log1p, (_Bound(lambda x: x <= -1, (-2.0,)),)),
    "log2": (jnp.log2, (_NOT_POSITIVE,)),
    "radians": (lambda x: x * (math.pi / 180), ()),
    "sin": (jnp.sin, (_INFINITE,)),
    "sinh": (jnp.sinh, (_Bound(_beyond(710.4758600739439), (1e4,)),)),
    "sqrt": (jnp.sqrt, (_NEGATIVE,)),
    "tan": (jnp.tan, (_INFINITE,)),
    "tanh": (jnp.tanh, ()),
}


def _real(value: Any) -> Any:
    """An argument as the float that `math` makes of it."""
    if isinstance(value, jax.core.Tracer):
        if origins.kind_of(value) is complex:
            raise TypeError("must be real number, not complex")
        return to_float(value)
    return float(value)


def _floats(name: str) -> Call:
    function = getattr(math, name)
    compute, bounds = _FLOATS[name]

    def call(x: Any, /) -> Any:
        x = _real(x)
        fail_where(*((b.fails(x), _example(function, b.example)) for b in bounds))
        return weak(compute(x), float)

    return call


def _log(x: Any, base: Any = None, /) -> Any:
    x = _real(x)
    fail_where((x <= 0, _example(math.log, (-1.0,))))
    if base is None:
        return weak(jnp.log(x), float)
    base = _real(base)
    fail_where(
        (base <= 0, _example(math.log, (2.0, -1.0))),
        (base == 1, _example(math.log, (2.0, 1.0))),
    )
    return weak(jnp.log(x) / jnp.log(base), float)


def _pow(x: Any, y: Any, /) -> Any:
    x, y = _real(x), _real(y)
    finite = jnp.isfinite(x) & jnp.isfinite(y)
    not_whole = y != jnp.floor(y)
    fail_where(
        (finite & (((x < 0) & not_whole) | ((x == 0) & (y < 0))), _example(math.pow, (-1.0, 0.5))),
        (finite & (x != 0) & (y * jnp.log2(jnp.abs(x)) >= 1024), _example(math.pow, (10.0, 1e4))),
    )
    return weak(jnp.power(x, y), float)


def _fmod(x: Any, y: Any, /) -> Any:
    x, y = _real(x), _real(y)
    _fail_without_rest(math.fmod, x, y)
    return weak(jnp.fmod(x, y), float)


def _remainder(x: Any, y: Any, /) -> Any:
    """`math.remainder`: what is left to the nearest multiple, and to the even one of two."""
    x, y = _real(x), _real(y)
    _fail_without_rest(math.remainder, x, y)
    size, step = jnp.abs(x), jnp.abs(y)
    below = jnp.fmod(size, step)
    above = step - below
    even = below - 2 * jnp.fmod(0.5 * (size - below), step)
    rest = jnp.where(below < above, below, jnp.where(below > above, -above, even))
    rest = jnp.where(jnp.isinf(y) & jnp.isfinite(x), x, jnp.copysign(1.0, x) * rest)
    return weak(rest, float)


def _fail_without_rest(function: Call, x: Any, y: Any) -> None:
    no_number = jnp.isnan(x) | jnp.isnan(y)
    fail_where((~no_number & (jnp.isinf(x) | (y == 0)), _example(function, (1.0, 0.0))))


def _atan2(y: Any, x: Any, /) -> Any:
    return weak(jnp.arctan2(_real(y), _real(x)), float)


def _copysign(x: Any, y: Any, /) -> Any:
    return weak(jnp.copysign(_real(x), _real(y)), float)


def _hypot(*coordinates: Any) -> Any:
    values = [jnp.abs(jnp.asarray(_real(c))) for c in coordinates]
    return weak(_length(values), float)


def _dist(p: Any, q: Any, /) -> Any:
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("both points must have the same number of dimensions")
    return _hypot(*(a - b for a, b in zip(p, q, strict=True)))


def _length(values: list[Any]) -> Any:
    """The length of a vector, scaled so that no square leaves the range of floats.

    An infinite coordinate makes it infinite, even beside a NaN.
    """
    largest = functools.reduce(jnp.maximum, values)
    scale = jnp.where((largest > 0) & jnp.isfinite(largest), largest, 1.0)
    total = sum((v / scale) ** 2 for v in values)
    infinite = functools.reduce(jnp.logical_or, [jnp.isinf(v) for v in values])
    # The root of zero has no gradient, so the root is taken of another number there.
    positive = jnp.where(total > 0, total, 1.0)
    return jnp.where(
        infinite, jnp.inf, jnp.where(total == 0, 0.0, scale * jnp.sqrt(positive) + 0 * total)
    )


def _isclose(a: Any, b: Any, *, rel_tol: Any = 1e-09, abs_tol: Any = 0.0) -> Any:
    a, b, rel_tol, abs_tol = map(_real, (a, b, rel_tol, abs_tol))
    fail_where(
        ((rel_tol < 0) | (abs_tol < 0), ValueError("tolerances must be non-negative")),
    )
    near = jnp.abs(a - b) <= jnp.maximum(
        rel_tol * jnp.maximum(jnp.abs(a), jnp.abs(b)), jnp.asarray(abs_tol)
    )
    finite = jnp.isfinite(a) & jnp.isfinite(b)
    return to_bool((a == b) | (finite & near))


def _asks(function: Call) -> Call:
    def call(x: Any, /) -> Any:
        return to_bool(function(_real(x)))

    return call


def _whole(function: Call) -> Call:
    def call(x: Any, /) -> Any:
        if function is jnp.trunc and origins.kind_of(x) is origins.ARRAY:
            if aliases.has_numpy_arguments():  # of NumPy's, some know it
                raise refuse("math.trunc of an array, or a scalar of NumPy's", "int(x)")
            with jax.ensure_compile_time_eval():
                # Jax arrays have no `__trunc__`, and Python's error about it says so.
                raise _example(math.trunc, (jnp.zeros(()),))
        if origins.kind_of(x) is complex:
            raise _example(getattr(math, function.__name__), (1j,))
        x = scalar(x)
        is_complex = jnp.issubdtype(x.dtype, jnp.complexfloating)
        return to_int(x if is_integer(x) else function(to_float(x) if is_complex else x))

    return call


def _modf(x: Any, /) -> Any:
    x = _real(x)
    whole = jnp.trunc(x)
    part = jnp.copysign(jnp.where(jnp.isinf(x), 0.0, x - whole), x)
    return weak(part, float), weak(whole, float)


def _frexp(x: Any, /) -> Any:
    x = _real(x)
    plain = jnp.isfinite(x) & (x != 0)
    mantissa, exponent = jnp.frexp(jnp.where(plain, x, 1.0))
    return weak(jnp.where(plain, mantissa, x), float), weak(jnp.where(plain, exponent, 0), int)


def _fsum(values: Any, /) -> Any:
    values = [_real(v) for v in values]
    total: Any = jnp.asarray(0.0)
    for value in values:
        total = total + value
    up, down = ([jnp.any(jnp.isinf(v) & (s * v > 0)) for v in values] for s in (1, -1))
    both = functools.reduce(jnp.logical_or, up) & functools.reduce(jnp.logical_or, down)
    fail_where((both, _example(math.fsum, ([math.inf, -math.inf],))))
    return weak(total, float)


def _prod(values: Any, /, *, start: Any = 1) -> Any:
    for value in values:
        start = start * value
    return start


def _sumprod(p: Any, q: Any, /) -> Any:
    p, q = list(p), list(q)
    if len(p) != len(q):
        raise ValueError("Inputs are not the same length")
    return sum(a * b for a, b in zip(p, q, strict=True))


def _gcd(*integers: Any) -> Any:
    return _folded(_two_gcd, integers, 0)


def _lcm(*integers: Any) -> Any:
    return _folded(_two_lcm, integers, 1)


def _folded(function: Call, integers: tuple[Any, ...], empty: int) -> Any:
    result: Any = empty
    for value in map(index, integers):
        result = weak(function(jnp.asarray(result), jnp.asarray(value)), int)
    return result


def _two_gcd(a: Any, b: Any) -> Any:
    divisor = numpy_own.gcd(a, b)
    fail_where((divisor < 0, too_large()))
    return divisor


def _two_lcm(a: Any, b: Any) -> Any:
    divisor = numpy_own.gcd(a, b)
    one, other = (jnp.abs(1.0 * value) for value in (a, b))
    fail_where(
        (one * (other / jnp.where(divisor == 0, 1.0, divisor * 1.0)) >= _largest(), too_large())
    )
    return jnp.abs(a) // jnp.maximum(divisor, 1) * jnp.abs(b)


def _largest() -> float:
    """The largest integer of the graph, less what a float may be off by."""
    bits = 64 if jax.config.read("jax_enable_x64") else 32
    return float(2 ** (bits - 1)) * (1 - 2**-20)


def _factorial(x: Any, /) -> Any:
    x = index(x)
    last = 20 if jax.config.read("jax_enable_x64") else 12
    fail_where((x < 0, _example(math.factorial, (-1,))), (x > last, too_large()))
    table = jnp.asarray([math.factorial(n) for n in range(last + 1)])
    return weak(table[jnp.clip(x, 0, last)], int)


def _isqrt(n: Any, /) -> Any:
    n = index(n)
    fail_where((n < 0, _example(math.isqrt, (-1,))))
    root = jnp.sqrt(jnp.maximum(n, 0) * 1.0).astype(n.dtype)
    root = jnp.where(root > n // jnp.maximum(root, 1), root - 1, root)
    root = jnp.where(root + 1 <= n // (root + 1), root + 1, root)
    return weak(root, int)


def _refused(name: str, fix: str) -> Call:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise refuse(f"math.{name} of a run-time value", fix)

    return call


_STEP = "jnp.{}: the floats of a graph have 32 bits, and their neighbours are others than Python's"
_PRODUCT = "a product in a loop, or a Python number"

#: functions that mean nothing for the floats of a graph, or whose results its integers cannot hold
REFUSED = {
    "comb": _PRODUCT,
    "fma": "x * y + z",
    "ldexp": "x * 2.0 ** n, or jnp.ldexp(x, n)",
    "nextafter": _STEP.format("nextafter(x, y)"),
    "perm": _PRODUCT,
    "ulp": _STEP.format("spacing(x)"),
}

_OTHERS: dict[str, Call] = {
    "atan2": _atan2,
    "ceil": _whole(jnp.ceil),
    "copysign": _copysign,
    "dist": _dist,
    "factorial": _factorial,
    "floor": _whole(jnp.floor),
    "fmod": _fmod,
    "frexp": _frexp,
    "fsum": _fsum,
    "gcd": _gcd,
    "hypot": _hypot,
    "isclose": _isclose,
    "isfinite": _asks(jnp.isfinite),
    "isinf": _asks(jnp.isinf),
    "isnan": _asks(jnp.isnan),
    "isqrt": _isqrt,
    "lcm": _lcm,
    "log": _log,
    "modf": _modf,
    "pow": _pow,
    "prod": _prod,
    "remainder": _remainder,
    "sumprod": _sumprod,
    "trunc": _whole(jnp.trunc),
}


def _on_tracers(name: str, staged: Call) -> Call:
    plain = getattr(math, name)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not has_tracer([args, kwargs]) and not _is_iterator(args):
            return plain(*args, **kwargs)
        if _is_iterator(args):
            args = (list(args[0]), *args[1:])
            return call(*args, **kwargs)
        return called(plain, staged, args, kwargs)

    return call


def _is_iterator(args: tuple[Any, ...]) -> bool:
    """Whether the values come from an iterator, which does not tell yet what they are."""
    return len(args) == 1 and hasattr(args[0], "__next__")


GIVEN: dict[str, Call] = {**_OTHERS, **{name: _floats(name) for name in _FLOATS}}

#: what to call for a function of `math`; which of them there are depends on the version of Python
MATH: dict[Any, Call] = {
    getattr(math, name): _on_tracers(name, staged)
    for name, staged in (*GIVEN.items(), *((n, _refused(n, fix)) for n, fix in REFUSED.items()))
    if hasattr(math, name)
}
