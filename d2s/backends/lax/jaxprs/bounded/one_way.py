"""Loops without reverse mode raise an error of d2s's there, which says what to write.

A loop that does something on the host, as `print` does, is JAX's own and not the primitive of this
package. Its results go through an operation that does nothing but raise in reverse mode, which
comes to it before it comes to the loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from d2s.errors import Site, StagingError

one_way_p = Primitive("one_way")


def one_way(values: Sequence[Any], site: Site) -> list[Any]:
    """The results of a loop; those that could have a gradient go through the operation."""
    return [
        one_way_p.bind(value, site=site)
        if jnp.issubdtype(jax.typeof(value).dtype, jnp.inexact)
        else value
        for value in values
    ]


def _transpose(cotangent: Any, _: Any, *, site: Site) -> Any:
    raise StagingError(
        "the gradient of a loop that prints, and whose number of trips is a run-time value",
        code="D2S043",
        site=site,
        fix="the print behind the loop, or a `for` over a range whose length is a constant and "
        "that is not left early; forward mode (jax.jvp, jax.jacfwd) takes it as it is",
    )


one_way_p.def_impl(lambda value, site: value)
one_way_p.def_abstract_eval(lambda value, site: value)
mlir.register_lowering(one_way_p, lambda ctx, value, site: [value])
ad.deflinear2(one_way_p, _transpose)
batching.defvectorized(one_way_p)
