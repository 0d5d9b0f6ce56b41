"""Calls of static functions that print: a ticket for each, and its log written at the end."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from d2s.backends.lax.output.building import all_always, chain
from d2s.backends.lax.output.host import CLOSE, OPEN, Log, logs, tickets
from d2s.backends.lax.output.operation import tell
from d2s.backends.lax.private import DynamicJaxprTrace
from d2s.errors import StagingError


def run_with_ticket(entry: Any, inputs: Any) -> Any:
    """Run the graph of a static function that prints, and write what it printed."""
    if any(isinstance(trace, DynamicJaxprTrace) for trace in chain()):
        # it depends on the arguments, or jax would take it out of a loop
        seed = jnp.where(all_always(inputs), jnp.int32(0), jnp.int32(1))
        (ticket,) = tell.bind(seed, host=OPEN, lanes=())
        result = entry.printing.run(ticket, np.True_, *inputs)
        tell.bind(ticket, host=CLOSE, lanes=())
        return result
    ticket = next(tickets)
    log = logs[ticket] = Log(entry)
    try:
        result = _run_ordered(entry, np.int32(ticket), inputs)
        jax.effects_barrier()
        if not _is_to_be_repeated(result):
            log.close()
        return result
    finally:
        logs.pop(ticket, None)


def _run_ordered(entry: Any, ticket: Any, inputs: Any) -> Any:
    try:
        return entry.printing.run(ticket, np.True_, *inputs)
    except ValueError as error:
        if "ordered effects" not in str(error):
            raise
        raise StagingError(
            "print in a function that runs on several devices, where jax keeps no order",
            code="D2S023",
            fix="return the values and print them outside, or jax.debug.print(...)",
        ) from error


def _is_to_be_repeated(result: Any) -> bool:
    """Whether an integer left its range: the call is computed again, or it fails altogether."""
    code = getattr(result, "code", None)
    if code is None or isinstance(code, Tracer):
        return False
    return bool(code) and bool(result.static.failures.is_of_the_graph(int(code)))
