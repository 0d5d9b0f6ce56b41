"""Calls of static functions that print: each has a ticket, and its log is written at the end.

A ticket is a number that goes into the graph as an argument. Every print of the graph hands it to
the host, so that the host knows which call the print belongs to.
"""

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


def run_with_ticket(entry: Any, inputs: Any) -> Any:
    """Run the graph of a static function that prints, and write what it printed."""
    if any(isinstance(trace, DynamicJaxprTrace) for trace in chain()):
        # Somebody else's graph is being built: the ticket is made when that graph runs. It depends
        # on the arguments, because JAX would take what depends on nothing out of a loop.
        seed = jnp.where(all_always(inputs), jnp.int32(0), jnp.int32(1))
        (ticket,) = tell.bind(seed, host=OPEN, lanes=())
        result = entry.printing.run(ticket, np.True_, *inputs)
        tell.bind(ticket, host=CLOSE, lanes=())
        return result
    ticket = next(tickets)
    log = logs[ticket] = Log(entry)
    try:
        result = entry.printing.run(np.int32(ticket), np.True_, *inputs)
        jax.effects_barrier()
        if not _is_to_be_repeated(result):
            log.close()
        return result
    finally:
        logs.pop(ticket, None)


def _is_to_be_repeated(result: Any) -> bool:
    """Whether the graph has failed for a reason of its own, such as an integer out of its range.

    The call is then computed again by another graph, which prints itself, or fails altogether.
    """
    code = getattr(result, "code", None)
    if code is None or isinstance(code, Tracer):
        return False
    return bool(code) and bool(result.static.failures.is_of_the_graph(int(code)))
