"""Functions that jax.numpy has but does otherwise than NumPy: here they do as NumPy does.

    np.linalg.inv(a)    ->    jnp.linalg.inv(a), and NumPy's LinAlgError where the result is not
                              finite although `a` is

`OWN` has the functions with other parameters or results, `fail_like_numpy` the errors of linear
algebra, which jax.numpy does not raise.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.semantics.casts import fail_where, is_integer, refuse, too_large

Call = Callable[..., Any]


def _clip(a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None) -> Any:
    low, high = (min if a_min is None else a_min), (max if a_max is None else a_max)
    return jnp.clip(a, low, high)


def _around(a: Any, decimals: Any = 0) -> Any:
    if is_integer(a) and type(decimals) is int and decimals >= 0:
        return jnp.asarray(a)
    return jnp.round(a, decimals)


def _convolve(a: Any, v: Any, mode: str = "full") -> Any:
    return _slid(jnp.convolve, a, v, mode)


def _correlate(a: Any, v: Any, mode: str = "valid") -> Any:
    return _slid(jnp.correlate, a, v, mode)


def _slid(slide: Call, a: Any, v: Any, mode: str) -> Any:
    """A convolution or correlation, by XLA's operation if all numbers are finite.

    XLA multiplies with zeros around the array, and zero times NaN or infinity is NaN: then the
    products are summed without such zeros.
    """
    a, v = jnp.asarray(a), jnp.asarray(v)
    whole = jnp.issubdtype(jnp.result_type(a, v), jnp.integer)
    if whole or a.ndim != 1 or v.ndim != 1 or not (a.size and v.size):
        return slide(a, v, mode)
    finite = jnp.all(jnp.isfinite(a)) & jnp.all(jnp.isfinite(v))
    kernel = jnp.conj(v[::-1]) if slide is jnp.correlate else v

    def summed() -> Any:
        """Rows of products, each one further to the right, without zeros around them."""
        result = jax.typeof(quick())
        long, short = (a, kernel) if a.size >= kernel.size else (kernel, a)
        long, short = long.astype(result.dtype), short.astype(result.dtype)

        def add(n: Any, total: Any) -> Any:
            row = jax.lax.dynamic_slice(total, (n,), (long.size,))
            return jax.lax.dynamic_update_slice(total, row + long * short[n], (n,))

        total = jnp.zeros(long.size + short.size - 1, result.dtype)
        total = jax.lax.fori_loop(0, short.size, add, total)
        start = {"full": 0, "valid": short.size - 1}.get(mode)
        if start is None:
            # The mode "same" takes the middle. For a correlation with a longer array, NumPy
            # exchanges the two, which moves the middle.
            turned = slide is jnp.correlate and a.size < kernel.size
            start = short.size // 2 if turned else (short.size - 1) // 2
        return jax.lax.dynamic_slice(total, (start,), result.shape)

    def quick() -> Any:
        return slide(a, v, mode)

    return jax.lax.cond(finite, quick, summed)


def _eigh(a: Any, UPLO: str = "L") -> Any:
    return jnp.linalg.eigh(a, UPLO, symmetrize_input=False)


def _eigvalsh(a: Any, UPLO: str = "L") -> Any:
    return jnp.linalg.eigvalsh(a, UPLO, symmetrize_input=False)


def _cholesky(a: Any, *, upper: bool = False) -> Any:
    return jnp.linalg.cholesky(a, upper=upper, symmetrize_input=False)


def _vector_norm(x: Any, **kwargs: Any) -> Any:
    x = jnp.asarray(x)
    return jnp.linalg.vector_norm(x.astype(float) if is_integer(x) else x, **kwargs)


def _trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if jnp.result_type(y) == jnp.bool_:
        raise refuse("np.trapezoid of bools", "numbers (.astype(int))", code="D2S021")
    return jnp.trapezoid(y, x, dx, axis)


def _unwrap(p: Any, *args: Any, **kwargs: Any) -> Any:
    if jnp.issubdtype(jnp.result_type(p), jnp.unsignedinteger):
        raise refuse("np.unwrap of unsigned integers", "floats (.astype(float))", code="D2S021")
    return jnp.unwrap(p, *args, **kwargs)


def _unravel_index(indices: Any, shape: Any) -> Any:
    return jnp.unravel_index(jnp.asarray(indices).astype(int), shape)


def gcd(a: Any, b: Any) -> Any:
    """The greatest common divisor; JAX's finds no end for the least integer, which has no abs()."""
    is_pythons = jnp.add(a, b).weak_type and not (jnp.shape(a) or jnp.shape(b))
    a, b = jnp.broadcast_arrays(*_promoted(a, b))
    if not jnp.issubdtype(a.dtype, jnp.signedinteger):
        return jnp.gcd(a, b)
    bits = jnp.dtype(f"uint{8 * a.dtype.itemsize}")
    found = jnp.gcd(*(jnp.abs(v).astype(bits) for v in (a, b))).astype(a.dtype)
    if is_pythons:
        fail_where((found < 0, too_large()))
    return found


def _lcm(a: Any, b: Any) -> Any:
    divisor = gcd(a, b)
    a, b = _promoted(a, b)
    return jnp.abs(a // jnp.where(divisor == 0, 1, divisor) * b)


def _promoted(a: Any, b: Any) -> Any:
    kind = jnp.result_type(a, b)
    if not jnp.issubdtype(kind, jnp.integer):
        raise TypeError("only integers have divisors")
    return [jnp.asarray(value).astype(kind) for value in (a, b)]


def _argextreme(compute: Call) -> Call:
    """`np.argmax` and `np.argmin`: complex numbers have an order in NumPy, and none in JAX."""

    def find(a: Any, axis: Any = None, **kwargs: Any) -> Any:
        if jnp.iscomplexobj(a):
            what = f"np.{compute.__name__} of complex numbers"
            raise refuse(what, "the real parts, or abs() of the numbers", code="D2S021")
        return compute(a, axis, **kwargs)

    return find


def _truth(compute: Call) -> Call:
    """`np.any` and `np.all`: JAX's ask only for the real part of a complex number."""

    def ask(a: Any, *args: Any, **kwargs: Any) -> Any:
        a = jnp.asarray(a)
        return compute(a != 0 if jnp.iscomplexobj(a) else a, *args, **kwargs)

    return ask


def _power(a: Any, b: Any) -> Any:
    found = jnp.power(a, b)
    if not jnp.iscomplexobj(found):
        return found
    zero = jnp.asarray(a) == 0  # JAX's has no such power
    found = jnp.where(zero & (jnp.real(b) > 0), 0, found)
    return jnp.where(jnp.asarray(b) == 0, 1, found)


OWN: dict[str, Call] = {
    "all": _truth(jnp.all),
    "any": _truth(jnp.any),
    "power": _power,
    "argmax": _argextreme(jnp.argmax),
    "argmin": _argextreme(jnp.argmin),
    "gcd": gcd,
    "lcm": _lcm,
    "clip": _clip,
    "round": _around,
    "around": _around,
    "convolve": _convolve,
    "correlate": _correlate,
    "linalg.eigh": _eigh,
    "linalg.eigvalsh": _eigvalsh,
    "linalg.cholesky": _cholesky,
    "linalg.vector_norm": _vector_norm,
    "trapezoid": _trapezoid,
    "unravel_index": _unravel_index,
    "unwrap": _unwrap,
}

_SINGULAR = np.linalg.LinAlgError("Singular matrix")
_NOT_DEFINITE = np.linalg.LinAlgError("Matrix is not positive definite")
_NO_SVD = np.linalg.LinAlgError("SVD did not converge")

#: functions for which NumPy raises an error where jax.numpy gives NaN or infinity
_FAILS = {
    "linalg.inv": _SINGULAR,
    "linalg.matrix_power": _SINGULAR,
    "linalg.solve": _SINGULAR,
    "linalg.tensorinv": _SINGULAR,
    "linalg.tensorsolve": _SINGULAR,
    "linalg.cholesky": _NOT_DEFINITE,
}

#: functions that need singular values, which an array with a NaN does not have: for these orders
#: of a norm, or always
_BY_SVD: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("linalg.svd", "linalg.svdvals", "linalg.pinv", "linalg.matrix_rank"), ()),
    "linalg.cond": (None, 2, -2),
    "linalg.norm": (2, -2, "nuc"),
    "linalg.matrix_norm": (2, -2, "nuc"),
}


@functools.cache
def _cond_raises() -> bool:
    """Whether a NaN is an error to `np.linalg.cond`, as it is up to NumPy 2.4."""
    try:
        np.linalg.cond([[np.nan, 1.0], [1.0, 2.0]])
    except np.linalg.LinAlgError:
        return True
    return False


def fail_like_numpy(name: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
    """Raise where NumPy's functions of linear algebra do."""
    if name == "linalg.matrix_power" and args[-1] >= 0:
        return
    if name in _FAILS:
        given: Any = True
        for array in args:
            given = given & jnp.all(jnp.isfinite(jnp.asarray(array)))
        wrong = given & ~jnp.all(jnp.isfinite(result))
        fail_where((wrong, np.linalg.LinAlgError(*_FAILS[name].args)))
    elif name in _BY_SVD and (name != "linalg.cond" or _cond_raises()):
        orders = _BY_SVD[name]
        order = next((kwargs[k] for k in ("p", "ord") if k in kwargs), [*args, None][1])
        is_vector = name == "linalg.norm" and (
            jnp.ndim(args[0]) == 1 or type(kwargs.get("axis")) is int
        )
        if not is_vector and (
            not orders or any(order is known or order == known for known in orders)
        ):
            wrong = jnp.any(jnp.isnan(jnp.asarray(leaves(args)[0])))
            fail_where((wrong, np.linalg.LinAlgError(*_NO_SVD.args)))
