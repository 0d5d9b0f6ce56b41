"""From an entry and the leaves of a call to its result: one way to run a graph, one to end it.

    _run     runs the graph of the entry (or hands it to whoever only looks at it)
    _end     what comes of that: a failure while it was built, or a `Result`; arrays are the end
    _finish  a `Result`: the objects of the caller are written, exceptions are raised, the value
             is made

A call may be run more than once, because nothing is written before `_finish`. If the function needs
the value of a Python number (`jnp.zeros(n)`), the first attempt fails while the graph is built; the
number becomes a constant, and the call runs on the entry for this very number:

    f(x, 3)  ->  _run(entry of (array, int))  ->  _end: n is needed  ->  _run(entry of n = 3)

The same happens if an integer of Python's leaves the range of the graph's integers.

Most calls do not come here at all: the runner that `shortcut.py` has made is tried first, and what
it gives is the result already if it is nothing but arrays (`compiled.py`).
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax

from d2s.backends.lax.boundary.write_back import Call
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.failures.whose import is_tracer_error
from d2s.backends.lax.forms.exact import exact_key
from d2s.backends.lax.function.entries import Entry, JittedGraph, Result
from d2s.backends.lax.function.inspection import Inspected
from d2s.backends.lax.jaxprs.ranges.wraps import Unchecked
from d2s.backends.lax.objects.flatten import no_array
from d2s.backends.lax.private import Phrase
from d2s.backends.lax.trace.needs import needs_value
from d2s.backends.lax.trace.provenance import needed_by
from d2s.errors import Error, NanFound, wrong_option

logger = logging.getLogger("d2s")


class Tracing(threading.local):
    """Which functions this thread is building graphs of, and with what the call came."""

    def __init__(self) -> None:
        #: the static functions whose graphs are being built
        self.running: set[Any] = set()
        #: the mutable objects that the leaves of the call were found in
        self.owners: Any = ()
        #: looks at the graph of the call instead of running it
        self.look: Callable[[JittedGraph, Sequence[Any]], Any] | None = None


tracing = Tracing()


class GraphRuns(Inspected):
    """A static function that has found the entry and the leaves of a call."""

    def _run(self, entry: Entry, leaves: Sequence[Any], owners: Any) -> Any:
        """Run the graph of an entry, build it if need be, and end the call.

        The entry is current: its graphs were built from what is still there.
        """
        while entry.needed:
            entry, leaves = self._by_value(entry, leaves, entry.needed)
        result: Any = None
        failed: Exception | None = None
        tracing.owners = owners
        try:
            look = tracing.look
            result = entry.run(leaves) if look is None else entry.looked_at(look, leaves)
        except Exception as error:
            failed = error
        tracing.owners = ()
        if failed is None and type(result) is not Result:
            return result  # nothing but arrays, or what somebody says who looks at the graph
        return self._end(entry, leaves, owners, result, failed)

    def _end(
        self,
        entry: Entry,
        leaves: Sequence[Any],
        owners: Any,
        result: Any,
        failed: Exception | None,
    ) -> Any:
        """End a call that has not simply given arrays: what has failed is tried again or raised."""
        if failed is not None:
            return self._try_again(entry, leaves, owners, failed)
        return self._finish(entry, leaves, owners, result)

    def _finish(self, entry: Entry, leaves: Sequence[Any], owners: Any, result: Result) -> Any:
        """Write what changed, raise what failed, make the value."""
        info = result.static
        if info.failures.calls_back:
            _wait_for_callbacks(info.failures)
        call = Call(result.leaves, owners)
        code = result.code
        known = code is not None and not isinstance(code, jax.core.Tracer)
        number = int(code) if known else 0
        if number and info.failures.is_of_the_graph(number):
            if _numbers(leaves):
                return self._exactly(entry, leaves, owners)
            # what the graph could not compute is no state of the program
            failing.check(number, result.payload, info.failures)
        for store in [write.prepare(call) for write in info.writes]:
            store()
        if known:
            failing.check(number, result.payload, info.failures)
        elif code is not None:
            failing.report(code, result.payload, info.numbers, info.failures)
        return info.build(call)

    # -- once more, on another graph ---------------------------------------------------------------

    def _try_again(self, entry: Entry, leaves: Sequence[Any], owners: Any, error: Exception) -> Any:
        """Make the numbers static whose value was needed; otherwise say what went wrong."""
        if isinstance(error, Unchecked):
            entry.checks_integers = True
            entry.reset()
            return self._run(entry, leaves, owners)
        if tracing.look is None and any(isinstance(v, jax.ShapeDtypeStruct) for v in leaves):
            raise no_array()
        if self.options.compiler_options and _is_about_options(error):
            what = str(error).partition(": ")[2] or str(error)
            raise wrong_option(f"compiler_options: {what}", "an option that XLA knows") from error
        # a NaN is no reason to build another graph: this one has run
        staging = isinstance(error, Error) and not isinstance(error, SyntaxError | NanFound)
        if not staging and not is_tracer_error(error):
            failing.raise_again(error)
        numbers = _numbers(leaves)
        named = needed_by(error) or frozenset()
        wanted = tuple(n for n in numbers if n in named) or tuple(numbers)
        if wanted:
            entry.needed = wanted
            entry.settle()
            entry.reset()
            return self._run(entry, leaves, owners)
        if staging:
            raise error
        raise needs_value(error).with_traceback(error.__traceback__) from error

    def _exactly(self, entry: Entry, leaves: Sequence[Any], owners: Any) -> Any:
        """This very call with its Python numbers as constants: Python's integers are exact."""
        name = self.function.__qualname__
        logger.info("%s: beyond what the graph can do; this call gets one of its own", name)
        inner, rest = self._by_value(entry, leaves, tuple(_numbers(leaves)))
        return self._run(inner, rest, owners)

    def _by_value(
        self, entry: Entry, leaves: Sequence[Any], positions: tuple[int, ...]
    ) -> tuple[Entry, Sequence[Any]]:
        """The entry that has the leaves at these positions as constants, and the other leaves."""
        key = positions, *(exact_key(leaves[n]) for n in positions)
        inner = entry.by_value.get(key)
        if inner is None:
            inner = entry.by_value[key] = self._with_constants(entry, leaves, positions)
        inner.renew()
        return inner, [leaf for n, leaf in enumerate(leaves) if n not in positions]

    def _with_constants(
        self, entry: Entry, leaves: Sequence[Any], positions: tuple[int, ...]
    ) -> Entry:
        fixed = {n: leaves[n] for n in positions}
        fill = entry.fill

        def with_constants(rest: tuple[Any, ...]) -> tuple[Any, ...]:
            others = iter(rest)
            count = len(rest) + len(fixed)
            return fill(tuple(fixed[n] if n in fixed else next(others) for n in range(count)))

        donated = [n - sum(p < n for p in positions) for n in entry.donated if n not in positions]
        reasons = entry.reasons.by_value(fixed)
        return Entry(entry.owner, entry.key, entry.places, reasons, donated, with_constants)


def _wait_for_callbacks(failures: Failures) -> None:
    """A failure inside a transformation is known only when its callback has run."""
    jax.effects_barrier()
    failures.raise_first_told()


def _is_about_options(error: Exception) -> bool:
    """Whether XLA refuses an option, which it does when it compiles."""
    is_of_xla = isinstance(error, jax.errors.JaxRuntimeError)
    return is_of_xla and Phrase.COMPILER_OPTION.is_in(error)


def _numbers(leaves: Sequence[Any]) -> list[int]:
    """Positions of the Python numbers among the arguments."""
    return [n for n, leaf in enumerate(leaves) if type(leaf) in (int, float, complex)]
