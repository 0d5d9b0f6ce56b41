"""Prints while a graph is built: where they go, and whether their place is reached."""

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


class Asked(BaseException):
    """A print was met in a graph that has no ticket: it is built again, with one."""


class Printer:
    """Where the prints of the function that is being traced go."""

    def __init__(self, ticket: Any, reached: Any) -> None:
        self.ticket, self.reached = ticket, reached
        self.root = next(running_traces())
        #: conditions of the blocks around, as thunks: they cost nothing where nothing is printed
        self.gates: list[Callable[[], Any]] = []
        #: how many prints were met that have lanes of their own
        self.with_lanes = 0
        #: objects that were there before the call
        self.given: list[Any] = []
        self._vmaps: list[Any] = []

    def groups(self) -> tuple[int, ...]:
        """The vmaps inside the function that are running, as numbers, the outermost first."""
        found = [trace for trace in reversed(chain()) if isinstance(trace, BatchTrace)]
        self._vmaps += [t for t in found if not any(t is known for known in self._vmaps)]
        return tuple(n for t in found for n, known in enumerate(self._vmaps) if known is t)


class _Printing(threading.local):
    printer: Printer | None = None
    #: where prints are left out, the lines that would print
    left_out: list[Site] | None = None


here = _Printing()


@contextmanager
def into(ticket: Any, reached: Any, inputs: Any, key: tuple[Any, ...]) -> Iterator[None]:
    """Prints of the function traced here go to a ticket; None when there is no need for one yet.

    `key` has the objects that the call was given.
    """
    before = here.printer
    if ticket is not None:
        # under vmap a print has the lanes of the arguments, also when it shows none of them
        reached = jnp.logical_and(reached, all_always(inputs))
    here.printer = Printer(ticket, reached)
    here.printer.given = [token.value for token in key if hasattr(token, "value")]
    try:
        yield
    finally:
        here.printer = before


@contextmanager
def dropped() -> Iterator[list[Site]]:
    """Prints of graphs that are built inside are left out: the lines are told."""
    before, here.left_out = here.left_out, []
    try:
        yield here.left_out
    finally:
        here.left_out = before


@contextmanager
def only_if(gate: Callable[[], Any]) -> Iterator[None]:
    """A block that runs under a condition; under vmap it runs for the other lanes as well."""
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
    result: Any = True
    for value in values:
        result = jnp.logical_and(result, _always(value))
    return result


def _always(value: Any) -> Any:
    """True, as far as a value is concerned: what depends on it has its lanes."""
    value = jnp.asarray(value)
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        value = jax.random.key_data(value)
    return jnp.all(value.reshape(-1)[:0])


def chain() -> list[Any]:
    """The traces that are running, the innermost first, up to the graph of the function."""
    root = None if here.printer is None else here.printer.root
    return list(itertools.takewhile(lambda trace: trace is not root, running_traces()))


def _reached(printer: Printer) -> Any:
    """Whether this place is reached, in each lane."""
    flags = [printer.reached, *(gate() for gate in printer.gates)]
    flags += [scope.code == 0 for scope in scopes.scopes() if scope.code is not None]
    for trace in _transformations():
        if isinstance(trace, BatchTrace):
            lanes = np.zeros((trace.axis_data.size, 0), bool)
            flags.append(jnp.all(lanes_of(trace, lanes)))
        else:
            # the body of a loop that is not ours: what depends on nothing in it would leave it
            flags += map(_always, input_tracers(trace))
    reached = flags[0]
    for flag in flags[1:]:
        reached = jnp.logical_and(reached, flag)
    return jnp.asarray(reached)


def _transformations() -> Iterator[Any]:
    """The vmaps and graphs of jax's own that are being traced, the innermost first."""
    own = {id(scope.graphs[0]) for scope in scopes.scopes()}
    for trace in chain():
        is_graph = isinstance(trace, DynamicJaxprTrace) and id(trace) not in own
        if is_graph or isinstance(trace, BatchTrace):
            yield trace


def current() -> Printer:
    printer = here.printer
    if printer is None:
        raise StagingError(
            "print in a graph that is not d2s's own: nobody would know when it is over",
            code="D2S023",
            site=sites.where(),
            fix="`d2s.to_static` around the function, or jax.debug.print(...)",
        )
    if printer.ticket is None:
        raise Asked
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
    """Code of others that is called where something is printed.

    It may hold a vmap: the lanes of the next one are other lanes, so a mark comes after it.
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
