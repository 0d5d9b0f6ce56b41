"""The operation of a graph that hands values to the host, in order and once.

    print(x)    ->    tell[host=record, lanes=()](ticket, reached, x)

`host` is a Python object that is called with the operands when the graph runs: it makes a ticket,
writes a line, or closes a log. The operation has an ordered effect, so JAX neither drops nor moves
it. Under `jax.vmap` all operands but the ticket get a leading axis, and `lanes` its size.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from d2s.backends.lax import private
from d2s.errors import StagingError


class _Effect(private.Effect):  # type: ignore[misc]
    def __str__(self) -> str:
        return "print"


_EFFECT = _Effect()
for _allowed in private.EFFECT_SETS:
    _allowed.add_type(_Effect)

#: hands its operands to the host; `lanes` are the sizes of the vmaps around it, outermost first
tell = Primitive("print")
tell.multiple_results = True
_TICKET = jax.core.ShapedArray((), np.dtype("int32"))


def _types(*operands: Any, host: Any, lanes: tuple[int, ...]) -> Any:
    return [_TICKET] * host.results, {_EFFECT}


def _at_once(*operands: Any, host: Any, lanes: tuple[int, ...]) -> Any:
    return [jnp.asarray(made) for made in host(lanes, *map(np.asarray, operands))]


def _lowering(ctx: Any, *operands: Any, host: Any, lanes: tuple[int, ...]) -> Any:
    if private.device_count(ctx) > 1:
        raise StagingError(
            "print in a function that runs on several devices, where jax keeps no order",
            code="D2S023",
            fix="return the values and print them outside, or jax.debug.print(...)",
        )

    def call(*values: Any) -> Any:
        # The graph uses the memory of its values again, so what is written later needs a copy.
        return host(lanes, *(np.array(value) for value in values))

    results, token, _ = mlir.emit_python_callback(
        ctx,
        call,
        ctx.tokens_in.get(_EFFECT),
        list(operands),
        ctx.avals_in,
        ctx.avals_out,
        has_side_effect=True,
        returns_token=True,
    )
    ctx.set_tokens_out(ctx.tokens_in.update_tokens(mlir.TokenSet({_EFFECT: token})))
    return results


def _jvp(operands: Any, tangents: Any, **params: Any) -> Any:
    tell.bind(*operands, **params)
    return [], []


def _batch(operands: Any, axes: Any, *, host: Any, lanes: tuple[int, ...]) -> Any:
    """Hand over the values of all lanes at once; the ticket, which comes first, is one for all."""
    size = next(o.shape[a] for o, a in zip(operands, axes, strict=True) if a is not None)
    ticket = operands[0]
    if axes[0] is not None:
        ticket = jnp.max(ticket, axes[0], initial=0)
    values = [
        jnp.broadcast_to(v, (size, *v.shape)) if a is None else jnp.moveaxis(v, a, 0)
        for v, a in zip(operands[1:], axes[1:], strict=True)
    ]
    results = tell.bind(ticket, *values, host=host, lanes=(size, *lanes))
    return results, [None] * len(results)


tell.def_effectful_abstract_eval(_types)
tell.def_impl(_at_once)
mlir.register_lowering(tell, _lowering)
ad.primitive_jvps[tell] = _jvp
batching.primitive_batchers[tell] = _batch


def prints(graph_effects: Any) -> bool:
    """Whether a graph with these effects prints."""
    return _EFFECT in graph_effects
