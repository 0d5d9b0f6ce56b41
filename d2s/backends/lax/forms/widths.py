"""NumPy's 64-bit numbers as arguments of a graph of 32 bits.

    f(np.array([2**40]))    # without x64: JAX would take 0 without a word; here it is refused
    f(np.array([7]))        # fits: taken as int32

In plain Python the numbers of NumPy arrays and scalars keep all their bits. So either they fit into
the types of the graph, or the call is refused.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from d2s.errors import Error, IntegerOverflow

_LETTERS = {"lq": np.int32, "LQ": np.uint32, "d": np.float32, "D": np.complex64}
#: by the letter of a dtype of 64 bits, or a complex one of 128: the dtype that the graph has for it
_NARROW: dict[str, Any] = {
    letter: to for letters, to in _LETTERS.items() for letter in letters
    if np.dtype(letter).itemsize > np.dtype(to).itemsize
}  # fmt: skip


#: the letters of the dtypes that a graph has itself
SMALL = "?bBhHiIefF"


def narrowed(value: Any) -> Any:
    """A NumPy array or scalar as a graph takes it; None if its numbers do not fit."""
    if value.dtype.kind not in "biufcV":
        return None
    to = _NARROW.get(value.dtype.char)
    if to is None or jax.config.read("jax_enable_x64"):
        return value
    if value.dtype.kind in "iu":
        made = value.astype(to)
        return made if (made == value).all() else None
    with np.errstate(over="raise"):
        try:
            return value.astype(to)
        except FloatingPointError:
            return None


class Wide(Exception):
    """Raised for an argument, or a part of one, whose numbers do not fit."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


def taken(value: Any) -> Any:
    """An argument as the graph takes it; raises `Wide` if its numbers do not fit."""
    made = narrowed(value)
    if made is None:
        raise Wide(value)
    return made


def refusal(value: Any, what: str, site: Any = None) -> Error:
    """The error about a NumPy value that does not fit; `what` names the value."""
    to = np.dtype(_NARROW[value.dtype.char])
    if to.kind in "iu":
        bounds = np.iinfo(to)
        wrong = value[(value < bounds.min) | (value > bounds.max)]
        return IntegerOverflow(
            f"{what} holds {int(wrong.ravel()[0])}, and the integers of a graph have 32 bits",
            site=site,
            fix="set jax_enable_x64, or smaller numbers",
        )
    with np.errstate(over="ignore"):
        wrong = value[np.isfinite(value) & ~np.isfinite(value.astype(to))]
    return Error(
        f"{what} holds {wrong.ravel()[0].item()!r}, and the floats of a graph have 32 bits",
        code="D2S012",
        site=site,
        fix="set jax_enable_x64, or smaller numbers",
    )
