"""``checks="nan"``: the user's line that made the first NaN of a call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import checkify

from d2s.backends.lax.graph import sites
from d2s.errors import NanFound


def checked(graph: Callable[..., Any], **options: Any) -> tuple[Any, Callable[..., Any]]:
    """The jitted graph with a check behind every operation, and how to run it."""
    jitted = jax.jit(checkify.checkify(graph, errors=checkify.nan_checks), **options)

    def run(*leaves: Any) -> Any:
        error, result = jitted(*leaves)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(error)):
            # Inside a transformation the values are known only to a callback, lane by lane.
            jax.debug.callback(lambda error, *leaves: _tell(error, leaves), error, *leaves)
        else:
            _tell(error, leaves)
        return result

    return jitted, run


def _tell(error: Any, leaves: Sequence[Any]) -> None:
    """Raise what the checks have found."""
    found: Any = error.get_exception()
    if found is None:
        return
    what, fix = "made a NaN", "a guard of the operand, or a look at its values with .watch(...)"
    if any(map(_has_nan, leaves)):
        what, fix = "gave a NaN; there is one in the input already", "an input without NaN"
    raise NanFound(f"`{found.prim}` {what}", site=sites.of_traceback(found.traceback_info), fix=fix)


def _has_nan(leaf: Any) -> bool:
    """Whether an input holds a NaN, as far as that can be known.

    A donated array is deleted after the call, and a tracer of a transformation has no value.
    """
    if isinstance(leaf, jax.core.Tracer) or (isinstance(leaf, jax.Array) and leaf.is_deleted()):
        return False
    is_inexact = jnp.issubdtype(jnp.result_type(leaf), jnp.inexact)
    return is_inexact and bool(jnp.isnan(leaf).any())
