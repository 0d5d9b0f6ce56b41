"""Arguments made up from specifications: one example, or many different ones.

`d2s verify` runs a function plain and static on such arguments, and the commands that show a graph
need one example:

    "f32[b, 3]"   ->   f32[3, 3], f32[1, 3], f32[2, 3], ... with other numbers each time
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from d2s.options.specs import Spec, sizes_for

#: the sizes that a named dimension has in one run after the other
_SIZES = (3, 1, 2, 5, 4)
#: the search for sizes that keep to the constraints stops below this one
LARGEST = 129


def example(value: Any) -> Any:
    """An argument with a number for each type of number in it; specifications stay."""
    if isinstance(value, type):
        return value(3)
    if type(value) in (list, tuple):
        return type(value)(map(example, value))
    if type(value) is dict:
        return {key: example(part) for key, part in value.items()}
    return value


class Generator:
    """Inputs from a seed: small numbers of both signs first, then larger ones, zeros and ones."""

    def __init__(self, seed: int, sizes: Mapping[str, int]) -> None:
        self._random = np.random.default_rng(seed)
        self._fixed = sizes
        self._run = -1
        self._sizes: dict[str, int] = {}

    def next(self, value: Any) -> Any:
        """The arguments of the next run."""
        self._run += 1
        turn = self._run % len(_SIZES)
        self._sizes = sizes_for(
            value, self._fixed, (*_SIZES[turn:], *_SIZES[:turn], *range(6, LARGEST))
        )
        return self._value(value)

    def _value(self, value: Any) -> Any:
        if isinstance(value, Spec):
            return self._array(value)
        if isinstance(value, type):
            return value(self._numbers((), np.dtype(value))[()])
        if type(value) in (list, tuple):
            return type(value)(map(self._value, value))
        if type(value) is dict:
            return {key: self._value(part) for key, part in value.items()}
        return value

    def _array(self, wanted: Spec) -> Any:
        shape = [self._size(d) if isinstance(d, str) else d for d in wanted.shape]
        dtype = jnp.dtype(wanted.dtype)
        return jnp.asarray(self._numbers(tuple(shape), dtype)).astype(dtype)

    def _size(self, name: str) -> int:
        if name == "?":
            return _SIZES[int(self._random.integers(len(_SIZES)))]
        count = self._run + len(self._sizes)
        return self._sizes.setdefault(name, _SIZES[count % len(_SIZES)])

    def _numbers(self, shape: tuple[int, ...], dtype: Any) -> Any:
        if self._run % 7 == 5:
            return np.zeros(shape, dtype)
        if self._run % 7 == 6:
            return np.ones(shape, dtype)
        scale = (1, 3, 10, 100)[self._run % 4]
        if dtype == np.bool_:
            return self._random.random(shape) < 0.5
        if jnp.issubdtype(dtype, jnp.integer):
            low = 0 if jnp.issubdtype(dtype, jnp.unsignedinteger) else -scale
            return self._random.integers(low, scale + 1, shape)
        found = np.asarray(self._random.normal(0, scale, shape))
        if jnp.issubdtype(dtype, jnp.complexfloating):
            found = found + 1j * self._random.normal(0, scale, shape)
        return np.round(found, 3)
