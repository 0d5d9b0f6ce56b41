"""`print` in a graph: every call prints what plain Python prints, in its order.

A print is an operation with an ordered effect, so jax keeps it in its place through branches,
loops and transformations, and runs it once. It hands the host three things: the ticket of the call,
whether this place was reached (under `jax.vmap` both sides of a branch run), and the values of its
text. The host writes it at once, or collects it until the call returns where lanes come one after
the other. A function that does not print pays nothing; one that does is traced again, with the
ticket as an argument.
"""

from __future__ import annotations

import io
import itertools
import sys
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import effects
from jax._src.core import Tracer, trace_ctx
from jax._src.interpreters.batching import BatchTrace, BatchTracer
from jax._src.interpreters.partial_eval import DynamicJaxprTrace, DynamicJaxprTracer
from jax._src.source_info_util import current as source_info
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

from d2s.backends.lax import channels, texts
from d2s.backends.lax.trees import leaves, map_leaves
from d2s.backends.lax.wrappers import anew
from d2s.errors import StagingError

# -- the operation --------------------------------------------------------------------------------


class _Effect(effects.Effect):
    def __str__(self) -> str:
        return "print"


_EFFECT = _Effect()
for _allowed in (
    effects.ordered_effects,
    effects.lowerable_effects,
    effects.control_flow_allowed_effects,
    effects.remat_allowed_effects,
    effects.custom_derivatives_allowed_effects,
    effects.partial_eval_kept_effects,
):
    _allowed.add_type(_Effect)

#: hands its operands to the host; `lanes` are the sizes of the vmaps around it
_tell = Primitive("print")
_tell.multiple_results = True
_TICKET = jax.core.ShapedArray((), np.dtype("int32"))


def _types(*operands: Any, host: Any, lanes: tuple[int, ...]) -> Any:
    return [_TICKET] * host.results, {_EFFECT}


def _at_once(*operands: Any, host: Any, lanes: tuple[int, ...]) -> Any:
    return [jnp.asarray(made) for made in host(lanes, *map(np.asarray, operands))]


def _lowering(ctx: Any, *operands: Any, host: Any, lanes: tuple[int, ...]) -> Any:
    def call(*values: Any) -> Any:
        # the memory of the values is the graph's
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
    _tell.bind(*operands, **params)
    return [], []


def _batch(operands: Any, axes: Any, *, host: Any, lanes: tuple[int, ...]) -> Any:
    """A lane for each; the ticket, which is first, is one for all."""
    size = next(o.shape[a] for o, a in zip(operands, axes, strict=True) if a is not None)
    ticket = operands[0]
    if axes[0] is not None:
        ticket = jnp.max(ticket, axes[0], initial=0)
    values = [
        jnp.broadcast_to(v, (size, *v.shape)) if a is None else jnp.moveaxis(v, a, 0)
        for v, a in zip(operands[1:], axes[1:], strict=True)
    ]
    results = _tell.bind(ticket, *values, host=host, lanes=(size, *lanes))
    return results, [None] * len(results)


_tell.def_effectful_abstract_eval(_types)
_tell.def_impl(_at_once)
mlir.register_lowering(_tell, _lowering)
ad.primitive_jvps[_tell] = _jvp
batching.primitive_batchers[_tell] = _batch


def prints(graph_effects: Any) -> bool:
    return _EFFECT in graph_effects


# -- the host -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    record: _Record
    lanes: tuple[int, ...]
    reached: Any
    values: tuple[Any, ...]

    @property
    def depth(self) -> int:
        return len(self.lanes)

    def group(self, depth: int) -> Any:
        """Which vmap inside the function the lanes at a depth belong to; None for one around."""
        own = depth - (len(self.lanes) - len(self.record.groups))
        return self.record.groups[own] if own >= 0 else None


class _Log:
    """What a call has printed and not written yet.

    It is written at once where that is safe: not in lanes, which come one after the other, and not
    by a call that may be computed again.
    """

    def __init__(self, owner: Any = None) -> None:
        self.owner = owner
        self.entries: list[_Entry] = []
        self.error: BaseException | None = None

    def add(self, entry: _Entry) -> None:
        if entry.lanes or self.entries or not (self.owner is None or self.owner.is_final):
            self.entries.append(entry)
        elif self.error is None:
            try:
                _write([entry])
            except BaseException as error:  # the thread is not that of the call
                self.error = error

    def close(self) -> None:
        """Write the rest."""
        if self.error is not None:
            raise self.error
        _write(self.entries)


_logs: dict[int, _Log] = {}
_tickets = itertools.count(1)


class _Record:
    """One `print` of the program; `text` is None for a mark that ends a group of lanes."""

    results = 0

    def __init__(
        self, text: Any, weak: list[bool], groups: tuple[int, ...], file: Any, flush: bool
    ) -> None:
        self.text, self.weak, self.groups = text, weak, groups
        self.file, self.flush = file, flush

    def __call__(self, lanes: tuple[int, ...], ticket: Any, reached: Any, *values: Any) -> Any:
        log = _logs.get(int(ticket))
        if log is not None:
            log.add(_Entry(self, lanes, reached, values))
        return ()

    def write(self, values: list[Any]) -> None:
        if self.text is None:
            return
        known = [texts.shown(v, weak) for v, weak in zip(values, self.weak, strict=True)]
        text = texts.filled(self.text, known)
        file = getattr(sys, self.file) if isinstance(self.file, str) else self.file
        print(text, end="", file=file, flush=self.flush)


def _write(log: list[_Entry], lane: tuple[int, ...] = ()) -> None:
    """What one lane has printed; the lanes of a vmap inside it one after the other."""
    depth, rest = len(lane), log
    while rest:
        first = rest[0]
        if first.depth == depth:
            if first.reached[lane]:
                first.record.write([value[lane] for value in first.values])
            rest = rest[1:]
            continue
        group = first.lanes[depth], first.group(depth)
        together = itertools.takewhile(
            lambda e: e.depth > depth and (e.lanes[depth], e.group(depth)) == group,  # noqa: B023
            rest,
        )
        inner = list(together)
        for n in range(first.lanes[depth]):
            _write(inner, (*lane, n))
        rest = rest[len(inner) :]


class _Open:
    """A ticket for a call inside somebody else's graph."""

    results = 1

    def __call__(self, lanes: tuple[int, ...], seed: Any) -> Any:
        ticket = next(_tickets)
        _logs[ticket] = _Log()
        return (np.int32(ticket),)


class _Close:
    """The call inside somebody else's graph is over."""

    results = 0

    def __call__(self, lanes: tuple[int, ...], ticket: Any) -> Any:
        _logs.pop(int(ticket)).close()
        return ()


_OPEN, _CLOSE = _Open(), _Close()


# -- while a graph is built -----------------------------------------------------------------------


class Asked(BaseException):
    """A print was met in a graph that has no ticket: it is built again, with one."""


class _Printer:
    """Where the prints of the function that is being traced go."""

    def __init__(self, ticket: Any, reached: Any) -> None:
        self.ticket, self.reached = ticket, reached
        self.root = trace_ctx.trace
        #: conditions of the blocks around, as thunks: they cost nothing where nothing is printed
        self.gates: list[Callable[[], Any]] = []
        #: how many prints were met that have lanes of their own
        self.with_lanes = 0
        #: objects that were there before the call
        self.given: list[Any] = []
        self._vmaps: list[Any] = []

    def groups(self) -> tuple[int, ...]:
        """The vmaps inside the function that are running, as numbers, the outermost first."""
        found = [trace for trace in reversed(_chain()) if isinstance(trace, BatchTrace)]
        self._vmaps += [t for t in found if not any(t is known for known in self._vmaps)]
        return tuple(n for t in found for n, known in enumerate(self._vmaps) if known is t)


class _Here(threading.local):
    printer: _Printer | None = None


_here = _Here()


@contextmanager
def into(ticket: Any, reached: Any, inputs: Any, key: tuple[Any, ...]) -> Iterator[None]:
    """Prints of the function traced here go to a ticket; None when there is no need for one yet.

    `key` has the objects that the call was given.
    """
    before = _here.printer
    if ticket is not None:
        # under vmap a print has the lanes of the arguments, also when it shows none of them
        reached = jnp.logical_and(reached, _all_always(inputs))
    _here.printer = _Printer(ticket, reached)
    _here.printer.given = [token.value for token in key if hasattr(token, "value")]
    try:
        yield
    finally:
        _here.printer = before


@contextmanager
def only_if(gate: Callable[[], Any]) -> Iterator[None]:
    """A block that runs under a condition; under vmap it runs for the other lanes as well."""
    if _here.printer is None:
        yield
        return
    gates = _here.printer.gates
    gates.append(gate)
    try:
        yield
    finally:
        gates.pop()


def _all_always(values: Any) -> Any:
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


def _chain() -> list[Any]:
    """The traces that are running, the innermost first, up to the graph of the function."""
    found: list[Any] = []
    trace = trace_ctx.trace
    root = None if _here.printer is None else _here.printer.root
    while trace is not None and trace is not root:
        found.append(trace)
        trace = getattr(trace, "parent_trace", None)
    return found


def _reached(printer: _Printer) -> Any:
    """Whether this place is reached, in each lane."""
    flags = [printer.reached, *(gate() for gate in printer.gates)]
    flags += [scope.code == 0 for scope in channels._stack.scopes if scope.code is not None]
    own = {id(scope.graphs[0]) for scope in channels._stack.scopes}
    for trace in _chain():
        if isinstance(trace, BatchTrace):
            lanes = np.zeros((trace.axis_data.size, 0), bool)
            flags.append(jnp.all(BatchTracer(trace, lanes, 0, source_info())))
        elif isinstance(trace, DynamicJaxprTrace) and id(trace) not in own:
            # the body of a loop that is not ours: what depends on nothing in it would leave it
            for var in trace.frame.invars:
                flags.append(_always(DynamicJaxprTracer(trace, var.aval, var, source_info())))
    reached = flags[0]
    for flag in flags[1:]:
        reached = jnp.logical_and(reached, flag)
    return jnp.asarray(reached)


def _printer() -> _Printer:
    printer = _here.printer
    if printer is None:
        raise StagingError(
            "print in a graph that is not d2s's own: nobody would know when it is over",
            code="D2S023",
            site=channels.where(),
            fix="`d2s.to_static` around the function, or jax.debug.print(...)",
        )
    if printer.ticket is None:
        raise Asked
    return printer


def emit(text: Any, file: Any, flush: bool) -> None:
    """`print` of one text, newline and all."""
    printer = _printer()
    groups = printer.groups()
    printer.with_lanes += bool(groups)
    values: list[Any] = []
    text = texts.taken(text, values)
    record = _Record(text, texts.are_numbers(values), groups, file, flush)
    _tell.bind(printer.ticket, _reached(printer), *values, host=record, lanes=())


def separated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Code of others that is called where something is printed.

    A graph that jax remembers of a function belongs to another ticket, so it gets a new function.
    It may hold a vmap: the lanes of the next one are other lanes, so a mark comes after it.
    """
    printer = _here.printer
    if printer is None or printer.ticket is None:
        return function

    def call(*args: Any, **kwargs: Any) -> Any:
        before = printer.with_lanes
        fresh = [_anew(arg) for arg in args]
        result = anew(function)(*fresh, **{name: _anew(arg) for name, arg in kwargs.items()})
        if printer.with_lanes != before:
            mark = _Record(None, [], printer.groups(), None, False)
            _tell.bind(printer.ticket, _reached(printer), host=mark, lanes=())
        return result

    return call


def _anew(argument: Any) -> Any:
    """Some take a list of functions: one for each case."""
    if type(argument) in (list, tuple) and any(map(callable, argument)):
        return type(argument)(map(anew, argument))
    return anew(argument)


# -- calls ----------------------------------------------------------------------------------------


def run(entry: Any, inputs: Any) -> Any:
    """Run the graph of a static function, and write what it printed."""
    if not entry.prints:
        try:
            return entry.run(*inputs)
        except Asked:
            entry.prints = True
    if any(isinstance(trace, DynamicJaxprTrace) for trace in _chain()):
        # it depends on the arguments, or jax would take it out of a loop
        seed = jnp.where(_all_always(inputs), jnp.int32(0), jnp.int32(1))
        (ticket,) = _tell.bind(seed, host=_OPEN, lanes=())
        result = entry.run_printing(ticket, np.True_, *inputs)
        _tell.bind(ticket, host=_CLOSE, lanes=())
        return result
    ticket = next(_tickets)
    log = _logs[ticket] = _Log(entry)
    try:
        result = _run_ordered(entry, np.int32(ticket), inputs)
        jax.effects_barrier()
        if not _is_to_be_repeated(result):
            log.close()
        return result
    finally:
        _logs.pop(ticket, None)


def _run_ordered(entry: Any, ticket: Any, inputs: Any) -> Any:
    try:
        return entry.run_printing(ticket, np.True_, *inputs)
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


# -- the statement --------------------------------------------------------------------------------


def print_(
    *args: Any, sep: Any = None, end: Any = None, file: Any = None, flush: Any = False
) -> None:
    """`print` while a graph is built."""
    if _here.printer is None and not any(isinstance(t, _GRAPHS) for t in _chain()):
        known = map_leaves(_value, list(args))  # a derivative is taken, of values that are known
        print(*known, sep=_value(sep), end=_value(end), file=file, flush=flush)
        return
    _printer()
    for value in leaves([args, sep, end, flush]):
        if isinstance(value, Tracer) and jnp.issubdtype(value.dtype, jax.dtypes.extended):
            raise StagingError(
                "a key of jax.random cannot be shown while the graph runs",
                code="D2S020",
                site=channels.where(),
                fix="print(jax.random.key_data(key))",
            )
    for name, value in (("sep", sep), ("end", end)):
        if isinstance(value, Tracer):
            str(texts.Text((value,)))  # says that it is not known
        if value is not None and not isinstance(value, str | texts.Text):
            raise TypeError(f"{name} must be None or a string, not {type(value).__name__}")
    pieces: list[Any] = []
    for arg in args:
        pieces += [" " if sep is None else sep, _text_of(arg)]
    line = texts.joined([*pieces[1:], "\n" if end is None else end])
    emit(line, _file(file), bool(flush))


_GRAPHS = (DynamicJaxprTrace, BatchTrace)


def _value(leaf: Any) -> Any:
    return leaf.to_concrete_value() if isinstance(leaf, Tracer) else leaf


def _text_of(value: Any) -> Any:
    if isinstance(value, texts.Text):
        return value
    if any(isinstance(leaf, Tracer) for leaf in leaves(value)):
        return texts.of(value, "s")
    own = type(value).__str__
    if isinstance(own, types.FunctionType) and channels.is_user_code(own.__code__):
        from d2s.ops import fn

        return fn(own)(value)
    return texts.checked(str(value))


def _file(file: Any) -> Any:
    """The file, or the name of a standard one, which is the one of the time of the call."""
    if file is None or file is sys.stdout:
        return "stdout"
    if file is sys.stderr:
        return "stderr"
    outside = any(given is file for given in _printer().given) or any(
        watch.outside and watch.knows(file) for watch in channels.watches()
    )
    if not isinstance(file, io.IOBase) or not outside:
        raise StagingError(
            "print to a file that is made inside the static function, or is none of Python's own",
            code="D2S023",
            site=channels.where(),
            fix="a file that is opened outside, or print without `file`",
        )
    return file
