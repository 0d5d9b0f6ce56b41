"""Types of run-time values and their join: the least type that holds both sides exactly.

    y = x if c else 1       # `x` of float32, 1 a Python number: the join is float32
    y = x if c else n       # `x` of int8, `n` of int32: no join, it is refused

A Python number takes the dtype of the array that it meets. Two arrays of different dtypes have no
join: in plain Python, integers of 8 bits stay what they are, and wrap at 127.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.forms import origins
from d2s.backends.lax.private import SymbolicDimension, convert_element_type

_iinfo: Any = jnp.iinfo
_finfo: Any = jnp.finfo
NUMBERS = origins.PYTHON


_ARRAYS = (jax.core.Tracer, jax.Array)


class Type(NamedTuple):
    """Shape and dtype; weak means that the value came from a Python number and yields to arrays."""

    shape: tuple[int, ...]
    dtype: Any
    weak: bool
    #: inside of `jax.shard_map`: the axes of the mesh along which the value differs
    varies: frozenset[str] = frozenset()
    #: what the value is in plain Python (see `origins`): an array, or a kind of number
    kind: Any = origins.ARRAY

    def __str__(self) -> str:
        name = np.dtype(self.dtype).name if isinstance(self.dtype, np.dtype) else str(self.dtype)
        text = f"{name}[{','.join(map(own_text, self.shape))}]"
        return f"{text} (Python number)" if self.weak else text

    @property
    def bare(self) -> Type:
        """The type as the graph has it, which knows nothing of Python's kinds of numbers."""
        return self._replace(kind=origins.ARRAY)

    def struct(self) -> Any:
        return jax.ShapeDtypeStruct(self.shape, self.dtype, weak_type=self.weak)

    def zeros(self) -> Any:
        if jnp.issubdtype(self.dtype, jax.dtypes.prng_key):
            impl = self.dtype._impl
            data = jnp.zeros((*self.shape, *impl.key_shape), jnp.uint32)
            return varying(jax.random.wrap_key_data(data, impl=impl.name), self.varies)
        return varying(jnp.zeros(self.shape, self.dtype), self.varies)


class Mismatch(Exception):
    """Two types that cannot be joined; the caller knows the variable and the lines."""

    def __init__(self, code: str, why: str, fix: str) -> None:
        super().__init__(why)
        self.code, self.why, self.fix = code, why, fix


def is_dynamic(value: object) -> bool:
    """Whether a value can live in a graph: arrays and numbers."""
    if type(value) in NUMBERS or isinstance(value, _ARRAYS):
        return True
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype.kind in "biufcV" and value.dtype.fields is None
    return False


def is_symbolic(value: object) -> bool:
    """Whether a value is a named dimension, or computed from some: a size that is not known yet."""
    return isinstance(value, SymbolicDimension)


def own_text(size: Any) -> str:
    """The text of a size for a message of d2s's own.

    Programs are refused the text of a named dimension, so the method without that guard is called.
    """
    method: Any = type(size).__str__
    return str(getattr(method, "__wrapped__", method)(size))


def fits(value: int) -> bool:
    """Whether a Python integer is in the range of the graph's integers."""
    limit: int = 2**63 if jax.config.read("jax_enable_x64") else 2**31
    return -limit <= value < limit


def type_of(value: Any) -> Type:
    if type(value) is int and not fits(value):
        raise Mismatch(
            "D2S012",
            f"the Python integer {value} does not fit into the integers of the graph",
            "a float, or set jax_enable_x64",
        )
    return type_of_aval(jax.typeof(value))._replace(kind=origins.kind_of(value))


def type_of_aval(aval: Any) -> Type:
    return Type(aval.shape, aval.dtype, bool(getattr(aval, "weak_type", False)), varies(aval))


def varies(aval: Any) -> frozenset[str]:
    """The axes of a mesh along which a value differs, where devices run on their own."""
    kind = getattr(aval, "manual_axis_type", None)
    found: frozenset[str] = frozenset() if kind is None else kind.varying
    return found


def varying(value: Any, axes: frozenset[str]) -> Any:
    """The value, marked as different along more axes of a mesh."""
    more = axes - varies(jax.typeof(value)) if axes else axes
    return jax.lax.pcast(value, tuple(sorted(more)), to="varying") if more else value


def join(
    one: Type, other: Type, exact: tuple[object, object] = (None, None), passes: bool = False
) -> Type:
    """The least type that holds values of both types, or a `Mismatch`.

    `exact` has the Python numbers behind the types, where they are known. `passes` says that the
    first type is that of what a loop starts with, which is gone after the first trip: nothing is
    computed from it that could wrap.
    """
    if one.shape != other.shape:
        raise Mismatch(
            "D2S010",
            "the shapes differ",
            "the same shape on both sides, for example with jnp.broadcast_to or jnp.zeros",
        )
    weak, along = one.weak and other.weak, one.varies | other.varies
    kind = origins.joined(one.kind, other.kind)
    if one.dtype == other.dtype:
        return Type(one.shape, one.dtype, weak, along, kind)
    if jnp.issubdtype(one.dtype, jax.dtypes.extended) or jnp.issubdtype(
        other.dtype, jax.dtypes.extended
    ):
        raise Mismatch("D2S010", "the dtypes differ", "values of one dtype on both sides")
    if jnp.bool_ in (one.dtype, other.dtype):
        raise Mismatch(
            "D2S010",
            "one side is a bool, the other a number",
            "int(...) or bool(...) around one of them",
        )
    if not (one.weak or other.weak):
        raise Mismatch(
            "D2S012",
            f"one side is {np.dtype(one.dtype).name}, the other {np.dtype(other.dtype).name}; what "
            "is computed with it depends on which of them it is",
            "an explicit .astype(...) on one of the sides",
        )
    dtype = jnp.result_type(_promotable(one), _promotable(other))
    joined = Type(one.shape, dtype, weak, along, kind)
    for side, value in zip((one, other), exact, strict=True):
        _check_lossless(side, joined, value)
        if side.weak and not (passes and side is one):
            _check_wrapping(side, joined, value)
    return joined


def _promotable(one: Type) -> Any:
    """What stands for a type in JAX's promotion: a dtype, or a Python number for a weak type."""
    if not one.weak:
        return one.dtype
    return np.dtype(one.dtype).type(0).item()


def _check_lossless(side: Type, joined: Type, value: object) -> None:
    """Refuse a join in which values of one side would lose digits or not fit."""
    if type(value) is float and jnp.issubdtype(joined.dtype, jnp.floating):
        if math.isfinite(value) and abs(value) > float(_finfo(joined.dtype).max):
            raise Mismatch("D2S012", f"{value} does not fit into {joined}", "a wider dtype")
        return
    if side.dtype == joined.dtype or not jnp.issubdtype(side.dtype, jnp.integer):
        return
    if jnp.issubdtype(joined.dtype, jnp.integer):
        inner, outer = _iinfo(side.dtype), _iinfo(joined.dtype)
        if type(value) is int and outer.min <= value <= outer.max:
            return
        if outer.min <= inner.min and inner.max <= outer.max:
            return
        raise Mismatch(
            "D2S012",
            f"{side if value is None else value} does not fit into {joined}",
            "an explicit .astype(...) on the side that may be converted",
        )
    exactly = 2 ** (_finfo(joined.dtype).nmant + 1)
    if type(value) is int and abs(value) <= exactly:
        return
    if _iinfo(side.dtype).bits < _finfo(joined.dtype).nmant + 1 and not side.weak:
        return
    raise Mismatch(
        "D2S012",
        f"{side} would become {joined}, which holds integers only up to {exactly}",
        "a float on both sides (float(n), n.astype(float)) if that is what you mean",
    )


def _check_wrapping(number: Type, joined: Type, value: object) -> None:
    """Refuse a Python integer as a narrow or unsigned one, which wraps where Python's does not."""
    if number.dtype == joined.dtype or not (
        jnp.issubdtype(number.dtype, jnp.integer) and jnp.issubdtype(joined.dtype, jnp.integer)
    ):
        return
    bounds = _iinfo(joined.dtype)
    if bounds.min == 0 or bounds.bits < 32:
        shown = "a Python integer" if value is None else f"the Python integer {value}"
        raise Mismatch(
            "D2S012",
            f"{shown} would become {joined}, and what is computed with it would wrap",
            f"jnp.{np.dtype(joined.dtype).name}(...) around the number, or .astype(int) on the "
            "other side",
        )


def cast(value: Any, to: Type) -> Any:
    """A value as the given type, weak or not."""
    if isinstance(to.dtype, np.dtype):
        value = convert_element_type(value, to.dtype, weak_type=to.weak)
    return varying(value, to.varies)


def of_type(value: Any, kind: Type) -> Any:
    """What a branch or a loop has made, as the type to which its sides were joined."""
    value = value if type_of(value).bare == kind.bare else cast(value, kind)
    return origins.made(value, kind.kind)
