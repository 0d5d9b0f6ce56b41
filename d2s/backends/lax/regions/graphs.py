"""Tracing a function into a graph of its own.

`jax.make_jaxpr` does it with all the ceremony of a `jit` (signatures, caches, argument trees),
which costs more than the tracing itself where regions nest. The plain entry underneath is not
public; where a version of jax does not have it, the public way is taken.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, DebugInfo
from jax.sharding import ManualAxisType, NamedSharding, PartitionSpec, get_abstract_mesh

from d2s.backends.lax import private
from d2s.backends.lax.forms.dtypes import Type
from d2s.backends.lax.objects.nnx import block


def graph_of(
    function: Callable[..., list[Any]], kinds: list[Type], inputs: str = "inputs"
) -> ClosedJaxpr:
    """The graph of a function of arrays; jax calls its arguments ``inputs[0]`` and so on."""
    if private.trace_to_jaxpr is None:  # pragma: no cover - depends on the version of jax
        return jax.make_jaxpr(block(function))(*(kind.struct() for kind in kinds))
    names = tuple(f"{inputs}[{n}]" for n in range(len(kinds)))
    label = f"{function.__name__} at {function.__code__.co_filename}"
    wrapped = private.wrap_init(block(function), debug_info=DebugInfo("d2s", label, names, None))
    avals = [_aval(kind) for kind in kinds]
    jaxpr, _, consts = private.trace_to_jaxpr(wrapped, avals)
    return ClosedJaxpr(jaxpr, consts)


def _aval(kind: Type) -> Any:
    if not kind.varies:
        return ShapedArray(kind.shape, kind.dtype, weak_type=kind.weak)
    # inside of `jax.shard_map`, where jax wants to know the mesh
    layout = NamedSharding(get_abstract_mesh(), PartitionSpec(*[None] * len(kind.shape)))
    return ShapedArray(
        kind.shape,
        kind.dtype,
        weak_type=kind.weak,
        sharding=layout,
        manual_axis_type=ManualAxisType(varying=kind.varies),
    )
