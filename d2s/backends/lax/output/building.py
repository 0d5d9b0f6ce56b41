"""Prints while a graph is built: which ticket they belong to, and whether their line is reached.

Whether a line is reached is a conjunction: the call itself is reached, no failure came before, and
every condition of the blocks around holds. It matters where JAX runs code that Python would not:

    def f(x):                   # under jax.vmap, both sides of the branch run for all lanes
        if x > 0:
            print(x)            # reached = x > 0, one flag for each lane
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.failures import failing, texts
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.output.host import PrintRecord
from d2s.backends.lax.output.operation import tell
from d2s.backends.lax.private import (
    BatchTrace,
    DynamicJaxprTrace,
    input_tracers,
    lanes_of,
    running_traces,
)
from d2s.errors import Site, StagingError


class NeedsTicket(BaseException):
    """A print was met in a graph without a ticket: the graph must be built again, with one."""


class Printer:
    """What the prints of the function that is being traced need to know of the call.

    `ticket` is the number of the call, None as long as nobody prints; `reached` tells whether the
    call itself is reached.
    """

    def __init__(self, ticket: Any, reached: Any) -> None:
        self.ticket, self.reached = ticket, reached
        self.root = next(running_traces())
        #: conditions of the blocks around, as functions: where nothing is printed, they are not
        #: called and leave nothing in the graph
        self.gates: list[Callable[[], Any]] = []
        #: how many prints were met inside of a vmap of the function's own
        self.with_lanes = 0
        #: objects that the call was given
        self.given: list[Any] = []
        self._vmaps: list[Any] = []

    def groups(self) -> tuple[int, ...]:
        """The running vmaps inside of the function, each by a number, the outermost first."""
        found = [trace for trace in reversed(chain()) if isinstance(trace, BatchTrace)]
        self._vmaps += [t for t in found if not any(t is known for known in self._vmaps)]
        return tuple(n for t in found for n, known in enumerate(self._vmaps) if known is t)


class _PrintsHere(threading.local):
    printer: Printer | None = None
    #: the lines whose prints were left out so far; None where prints are not left out
    left_out: list[Site] | None = None


here = _PrintsHere()


@contextmanager
def into(ticket: Any, reached: Any, inputs: Any, key: tuple[Any, ...]) -> Iterator[None]:
    """Around the trace of a function whose prints belong to a ticket; None if it has none yet.

    `key` has the objects that the call was given.
    """
    before = here.printer
    if ticket is not None:
        # Under vmap a print has the lanes of the arguments, even if it shows none of them.
        reached = jnp.logical_and(reached, all_always(inputs))
    here.printer = Printer(ticket, reached)
    here.printer.given = [token.value for token in key if hasattr(token, "value")]
    try:
        yield
    finally:
        here.printer = before


@contextmanager
def dropped() -> Iterator[list[Site]]:
    """Around graphs that are built without their prints: gives the lines that would print."""
    before, here.left_out = here.left_out, []
    try:
        yield here.left_out
    finally:
        here.left_out = before


@contextmanager
def only_if(gate: Callable[[], Any]) -> Iterator[None]:
    """Around the trace of a block that runs under a condition, for prints in it.

    Under vmap the block runs for all lanes, also for those in which the condition does not hold.
    """
    if here.printer is None:
        yield
        return
    gates = here.printer.gates
    gates.append(gate)
    try:
        yield
    finally:
        gates.pop()


def all_always(values: Any) -> Any:
    """True, computed from all the values, so that it has the lanes of each of them."""
    result: Any = True
    for value in values:
        result = jnp.logical_and(result, _always(value))
    return result


def _always(value: Any) -> Any:
    """True, computed from a value (from none of its elements), so that it has the value's lanes."""
    value = jnp.asarray(value)
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        value = jax.random.key_data(value)
    return jnp.all(value.reshape(-1)[:0])


def chain() -> list[Any]:
    """The traces that are running, the innermost first, up to the graph of the function."""
    root = None if here.printer is None else here.printer.root
    return list(itertools.takewhile(lambda trace: trace is not root, running_traces()))


def _reached(printer: Printer) -> Any:
    """Whether the line that prints is reached, in each lane."""
    flags = [printer.reached, *(gate() for gate in printer.gates)]
    flags += [scope.code == 0 for scope in scopes.scopes() if scope.code is not None]
    for trace in _transformations():
        if isinstance(trace, BatchTrace):
            lanes = np.zeros((trace.axis_data.size, 0), bool)
            flags.append(jnp.all(lanes_of(trace, lanes)))
        else:
            # The body of a loop that jax's own functions make: JAX would take a print out of the
            # loop that does not depend on the inputs of the body.
            flags += map(_always, input_tracers(trace))
    reached = flags[0]
    for flag in flags[1:]:
        reached = jnp.logical_and(reached, flag)
    return jnp.asarray(reached)


def _transformations() -> Iterator[Any]:
    """The running vmaps, and graphs that d2s has not started, the innermost first."""
    own = {id(scope.graphs[0]) for scope in scopes.scopes()}
    for trace in chain():
        is_graph = isinstance(trace, DynamicJaxprTrace) and id(trace) not in own
        if is_graph or isinstance(trace, BatchTrace):
            yield trace


def current() -> Printer:
    """What prints need to know, with a ticket; raises `NeedsTicket` if the graph has none yet."""
    printer = here.printer
    if printer is None:
        raise StagingError(
            "print in a graph that is not d2s's own: nobody would know when it is over",
            code="D2S023",
            site=sites.where(),
            fix="`d2s.to_static` around the function, or jax.debug.print(...)",
        )
    if printer.ticket is None:
        raise NeedsTicket
    return printer


def emit(text: Any, file: Any, flush: bool) -> None:
    """`print` of one text, newline and all."""
    printer = current()
    failures = scopes.root().failures
    if failures.calls_back:
        failing.refuse_print_after_callback()
    failures.prints_inside |= any(True for _ in _transformations())
    groups = printer.groups()
    printer.with_lanes += bool(groups)
    values: list[Any] = []
    text = texts.taken(text, values)
    weak = [bool(getattr(jax.typeof(value), "weak_type", False)) for value in values]
    looks = list(zip(texts.are_numbers(values), weak, strict=True))
    record = PrintRecord(text, looks, groups, file, flush)
    tell.bind(printer.ticket, _reached(printer), *values, host=record, lanes=())


def separated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Code of a library that is called by a function that prints.

    It may contain a vmap whose function prints. The next vmap has other lanes, so a mark in the log
    separates the two.
    """
    printer = here.printer
    if printer is None or printer.ticket is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        before = printer.with_lanes
        result = function(*args, **kwargs)
        if printer.with_lanes != before:
            mark = PrintRecord(None, [], printer.groups(), None, False)
            tell.bind(printer.ticket, _reached(printer), host=mark, lanes=())
        return result

    return call
