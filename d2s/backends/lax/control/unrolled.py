"""Loops that Python itself runs while a graph is built: every trip is in the graph.

for w in weights:               x = x @ weights[0]
    x = x @ w           =>      x = x @ weights[1]
    if x[0] > 9:                a run-time condition leaves it: each further trip is in a branch
        break                   ``if not broke:``
"""

from __future__ import annotations

import logging
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from d2s.backends.lax.control.branches import cond
from d2s.backends.lax.control.notes import note
from d2s.backends.lax.control.trips import State
from d2s.backends.lax.failures.whose import is_tracer_error
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics.sequences import Fresh, refuse_left_iterator
from d2s.backends.lax.trace.blocks import runs
from d2s.errors import StagingError
from d2s.runtime import record

Body = Callable[..., Any]

logger = logging.getLogger("d2s")

#: the logger warns of a graph with more unrolled trips than that
MANY = 1000


def as_tuple(value: Any, count: int) -> State:
    return (value,) if count == 1 else tuple(value) if count else ()


def unroll(iterable: Iterable[Any], body: Body, state: State, test: Body | None) -> State:
    with record.counted():
        return _unroll(iterable, body, state, test)


def _unroll(iterable: Iterable[Any], body: Body, state: State, test: Body | None) -> State:
    count = len(state)
    items = iter(iterable)
    if isinstance(items, types.GeneratorType):
        items = _yielded(items)
    trips = 0
    for trips, item in enumerate(items, 1):
        count_trip()
        # `aliases` counts the names of an array in the frames that run: it must find these, too
        arguments = (item, *state)
        state = as_tuple(body(*arguments), count)
        if test is None:
            continue
        go = test(*state)
        if is_traced(go):
            return _unroll_guarded(go, iterable, items, body, state, test, trips)
        if not go:
            break
    note(f"unrolled x{trips}", f"a {type(iterable).__name__} of Python values")
    return state


def count_trip() -> None:
    """Count a trip of any loop, and warn once for a graph that there are many in it."""
    if scopes.in_trial() or record.trip() != MANY + 1:
        return
    site = sites.where()
    logger.warning(
        "%s:%s: more than %s trips are unrolled, each is in the graph; d2s.roll(...) around "
        "what the loop runs over says why it is not rolled",
        site.filename,
        site.line,
        MANY,
    )


def _yielded(generator: types.GeneratorType[Any, Any, Any]) -> Iterator[Any]:
    """What a generator gives; where it needs a run-time value, the error says that it cannot."""
    while True:
        try:
            item = next(generator)
        except StopIteration:
            return
        except Exception as error:
            if not is_tracer_error(error):
                raise
            name = generator.__qualname__
            raise StagingError(
                f"{name} is a generator, which d2s does not convert, and needs a run-time value",
                code="D2S021",
                site=sites.where(error),
                fix="a function that builds a list",
            ) from error
        yield item


def _unroll_guarded(
    go: Any, iterable: Iterable[Any], items: Any, body: Body, state: State, test: Body, trips: int
) -> State:
    """The rest of a finite Python loop whose early exit is a run-time condition."""
    if iter(iterable) is iterable and not isinstance(iterable, Fresh):
        refuse_left_iterator()
    count = len(state)
    for item in items:
        trips += 1
        count_trip()

        @runs(body)
        def then(*values: Any, item: Any = item) -> Any:
            return as_tuple(body(item, *values), count)

        state = tuple(cond(go, then, lambda *values: tuple(values), state))
        go = test(*state)
        if not is_traced(go) and not go:
            break
    if isinstance(iterable, Fresh):
        iterable.is_left = True
    what = f"a {type(iterable).__name__} of Python values, left early by a run-time condition"
    note(f"unrolled x{trips}, guarded", what)
    return state
