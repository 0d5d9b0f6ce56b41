"""What NumPy itself does with arrays like those of a graph: its errors, and what its results are.

jax.numpy follows NumPy, but not in every corner: a list for a tuple, a bool for an integer, another
message. NumPy is asked once, while the graph is built, with other numbers of the same types and
shapes.
"""

from __future__ import annotations

import warnings
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.casts import refuse
from d2s.backends.lax.dtypes import type_of
from d2s.backends.lax.trees import leaves, map_leaves

#: elements of all arguments together, beyond which NumPy is not asked
LARGE = 100_000


class Model:
    """One call of NumPy's function with numbers that stand for the run-time values."""

    def __init__(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.error: Exception | None = None
        self.result: Any = None
        parts = leaves([args, kwargs])
        arrays = [part for part in parts if isinstance(part, np.ndarray | jax.Array)]
        large = sum(array.size for array in arrays) > LARGE
        # a function of the user's is not called for this
        self.is_known = not large and not any(_is_function(part) for part in parts)
        if self.is_known:
            like = map_leaves(_example, [args, kwargs])
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                try:
                    self.result = function(*like[0], **like[1])
                except Exception as error:
                    self.error = error

    def fail(self) -> None:
        """Raise what NumPy raises for such arguments, whatever their values are."""
        if isinstance(self.error, TypeError | ValueError | IndexError) and not isinstance(
            self.error, np.linalg.LinAlgError
        ):
            raise self.error

    def like(self, result: Any, label: str) -> Any:
        """A result of jax.numpy's as NumPy gives it; refused if that is something else."""
        if isinstance(self.error, TypeError | OverflowError | np.exceptions.AxisError):
            raise self.error
        if not self.is_known or self.error is not None:
            return result
        if type(self.result) in (tuple, list) and type(result) in (tuple, list):
            result = type(self.result)(result)
        ours, theirs = (_look(part) for part in (result, self.result))
        if ours != theirs:
            raise refuse(
                f"{label} gives {theirs} for such arguments, and jax.numpy gives {ours}",
                "functions of jax.numpy, whose result is what you want",
                code="D2S021",
            )
        return result


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type | jax.Array | np.ndarray)


def _example(leaf: Any) -> Any:
    if not isinstance(leaf, jax.core.Tracer):
        return leaf
    kind = type_of(leaf)
    inexact = np.issubdtype(kind.dtype, np.inexact)
    made = np.ones(kind.shape, kind.dtype) if inexact else np.zeros(kind.shape, kind.dtype)
    return made.item() if kind.weak and not kind.shape else made


def _look(value: Any) -> str:
    """Containers, shapes and kinds of numbers."""
    if isinstance(value, tuple | list):
        name = "tuple" if isinstance(value, tuple) else "list"
        return f"{name}({', '.join(map(_look, value))})"
    if isinstance(value, bool | int | float | complex | np.generic | np.ndarray | jax.Array):
        dtype = np.dtype(getattr(value, "dtype", type(value)))
        names = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
        return f"{names.get(dtype.kind, dtype.name)}{list(np.shape(value))}"
    return type(value).__name__
