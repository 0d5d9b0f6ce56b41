"""What NumPy itself does with arrays like those of a graph: its errors, and what its results are.

    np.split(x, 2)      with a run-time `x` of shape (4,)
                        ->    NumPy is called with zeros or ones of the same shape and dtype: it
                              gives a list of two views, while jax.numpy's result is its own

jax.numpy follows NumPy, but not in every corner: a list for a tuple, a bool for an integer, another
message. NumPy is asked once, while the graph is built. Its result tells the containers, the dtypes
and the views that the plain program gets; its exception is the one that the plain program raises.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.arrays.may_alias import link_view
from d2s.backends.lax.forms.dtypes import is_dynamic, type_of
from d2s.backends.lax.forms.trees import leaves, map_leaves
from d2s.backends.lax.semantics.casts import refuse

#: the number of elements of all arguments together beyond which small arrays stand for them
LARGE = 100_000


class Model:
    """One call of NumPy's function with numbers that stand for the run-time values.

    Large arrays have small ones in their place, with other sizes: what NumPy does with those tells
    the dtypes, and whether the result is a view, but not its shape.
    """

    def __init__(
        self, function: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        self.error: Exception | None = None
        self.result: Any = None
        self._name = name
        #: the arrays among the arguments, each with the example that stands for it
        self._pairs: list[tuple[Any, Any]] = []
        parts = leaves([args, kwargs])
        arrays = [part for part in parts if isinstance(part, np.ndarray | jax.Array)]
        large = sum(array.size for array in arrays) > LARGE
        # A function of the user's must not be called just to find out something.
        is_asked = not any(_is_function(part) for part in parts)
        if is_asked:
            like = map_leaves(self._small if large else self._example, [args, kwargs])
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    self.result = function(*like[0], **like[1])
                except Exception as error:
                    self.error = error
        #: whether the result tells shapes as well: the examples have the shapes of the arguments
        self.is_known = is_asked and not large
        self._tells_dtypes = is_asked and self.error is None
        if large:
            self.error = None

    def _example(self, leaf: Any) -> Any:
        if not isinstance(leaf, jax.core.Tracer):
            return leaf
        kind = type_of(leaf)
        made = _filled(kind.shape, kind.dtype)
        if kind.weak and not kind.shape:
            return made.item()
        self._pairs.append((leaf, made))
        return made

    def _small(self, leaf: Any) -> Any:
        """A small example with the same number of dimensions; sizes that are equal stay equal."""
        if not isinstance(leaf, jax.core.Tracer | np.ndarray) or not leaf.shape:
            return self._example(leaf)
        made = _filled(tuple(min(size, 8 + size % 5) for size in leaf.shape), leaf.dtype)
        self._pairs.append((leaf, made))
        return made

    def fail(self) -> None:
        """Raise what NumPy raises for such arguments, whatever their values are."""
        if isinstance(self.error, TypeError | ValueError | IndexError) and not isinstance(
            self.error, np.linalg.LinAlgError
        ):
            raise self.error.with_traceback(None)

    def wider(self, result: Any) -> Any:
        """The dtype of NumPy's result, if it holds more than the one of jax.numpy's."""
        for ours, theirs in self._dtypes(result):
            if ours != theirs and np.promote_types(ours, theirs) == theirs:
                return theirs
        return None

    def _dtypes(self, result: Any) -> list[tuple[Any, Any]]:
        """The dtypes of the arrays in a result, and of those in NumPy's."""
        ours, theirs = leaves(result), leaves(self.result)
        if not self._tells_dtypes or len(ours) != len(theirs):
            return []
        pairs = zip(ours, theirs, strict=True)
        return [
            (one.dtype, jax.dtypes.canonicalize_dtype(other.dtype))
            for one, other in pairs
            if isinstance(one, jax.Array) and isinstance(other, np.ndarray | np.generic)
            if is_dynamic(other)
        ]

    def like(self, result: Any, label: str) -> Any:
        """A result of jax.numpy's as NumPy gives it; refused if that is something else."""
        if isinstance(self.error, TypeError | OverflowError | np.exceptions.AxisError):
            raise self.error.with_traceback(None)
        if self.error is not None:
            return result
        if type(self.result) in (tuple, list) and type(result) in (tuple, list):
            result = type(self.result)(result)
        pairs = self._dtypes(result)
        if any(ours != theirs for ours, theirs in pairs):
            dtypes = iter([theirs for _, theirs in pairs])
            result = map_leaves(lambda leaf: _narrowed(leaf, dtypes), result)
        if not self.is_known:
            return result
        ours, theirs = (_look(part) for part in (result, self.result))
        if ours != theirs:
            raise refuse(
                f"{label} gives {theirs} for such arguments, and jax.numpy gives {ours}",
                "functions of jax.numpy, whose result is what you want",
                code="D2S021",
            )
        return result

    def link_views(self, result: Any) -> None:
        """Link results that are views of arguments in NumPy, or may be, with those arguments."""
        ours, theirs = leaves(result), leaves(self.result)
        if not self._tells_dtypes or len(ours) != len(theirs):
            if self._name in VIEWING:
                for one in ours:
                    for array, _ in self._pairs:
                        link_view(one, array)
            return
        for one, other in zip(ours, theirs, strict=True):
            if not isinstance(other, np.ndarray) or not other.shape:
                continue
            for array, example in self._pairs:
                # NumPy lets nobody write into a result that is not writeable, such as a broadcast
                # array: linked with its argument, a write of either is refused.
                if np.may_share_memory(other, example) or not other.flags.writeable:
                    link_view(one, array)


#: functions whose results may be views of their arguments, for calls about which NumPy is not asked
VIEWING = frozenset(
    f"{prefix}{name}"
    for prefix in ("", "linalg.", "ndarray.")
    for name in (
        *("array_split", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray"),
        *("asfortranarray", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays"),
        *("broadcast_to", "diag", "diagonal", "dsplit", "expand_dims", "flip", "fliplr", "flipud"),
        *(
            "hsplit",
            "imag",
            "matrix_transpose",
            "meshgrid",
            "moveaxis",
            "nan_to_num",
            "permute_dims",
        ),
        *("ravel", "real", "real_if_close", "require", "reshape", "rollaxis", "rot90", "split"),
        *("squeeze", "swapaxes", "transpose", "trim_zeros", "unstack", "view", "vsplit", "array"),
        *("diff", "from_dlpack", "frombuffer", "matrix_power", "polyint"),
    )
)


def _filled(shape: tuple[int, ...], dtype: Any) -> Any:
    inexact = np.issubdtype(dtype, np.inexact)
    return np.ones(shape, dtype) if inexact else np.zeros(shape, dtype)


def widened(leaf: Any, dtype: Any) -> Any:
    """A number or array as one of a dtype that holds more, if that holds all of it."""
    if not isinstance(leaf, jax.Array | np.ndarray | np.generic) or not is_dynamic(leaf):
        return leaf
    if not isinstance(leaf.dtype, np.dtype) or leaf.dtype == np.bool_ or leaf.dtype == dtype:
        return leaf
    return leaf.astype(dtype) if np.promote_types(leaf.dtype, dtype) == dtype else leaf


def _narrowed(leaf: Any, dtypes: Iterator[Any]) -> Any:
    """A result with the dtype that NumPy's has, of the same kind."""
    if not isinstance(leaf, jax.Array):
        return leaf
    dtype = next(dtypes)
    same = leaf.dtype.kind == dtype.kind or {leaf.dtype.kind, dtype.kind} == {"i", "u"}
    return leaf.astype(dtype) if same else leaf


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type | jax.Array | np.ndarray)


def _look(value: Any) -> str:
    """The containers, shapes and kinds of numbers of a value, as a text to compare and show."""
    if isinstance(value, tuple | list):
        name = "tuple" if isinstance(value, tuple) else "list"
        return f"{name}({', '.join(map(_look, value))})"
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray | jax.Array):
        dtype = np.dtype(getattr(value, "dtype", type(value)))
        names = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
        return f"{names.get(dtype.kind, dtype.name)}{list(np.shape(value))}"
    return type(value).__name__
