"""What is known of the values of a graph: a range and a term each.

    values = Values()
    i = values.input(aval, (0, 99))         0 .. 99, and an unknown term
    seven = values.constant(7)              7 .. 7,  and the term 7

`walk` computes with them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import jax
import numpy as np

from d2s.backends.lax.jaxprs.ranges.overflow import limits
from d2s.backends.lax.jaxprs.ranges.rules import Span, full, inside
from d2s.backends.lax.jaxprs.ranges.terms import Term, Terms

#: an array of so many elements is looked at for the least and the largest of them
_FEW = 4096


class Value(NamedTuple):
    """What is known of a value of a graph."""

    #: the numbers between which it lies; None for what is no integer
    span: Span | None
    term: Term
    #: whether Python would compute it by itself, from its own numbers, if the loop were unrolled
    own: bool = False


class SeenOperation(NamedTuple):
    """An operation that the walk came by."""

    equation: Any
    given: list[Value]
    #: the range of its result if integers had no limits; None where that is not known
    exact: Span | None
    #: whether it is inside of a function of JAX's, or of a loop
    in_call: bool
    in_loop: bool

    @property
    def wraps(self) -> bool:
        """Whether the result may not be what it would be without limits."""
        return not inside(self.exact, limits(self.equation))


class Values:
    """Makes values, and knows what was seen of the graph that they are in."""

    def __init__(self) -> None:
        self.terms = Terms()
        self.seen: list[SeenOperation] = []
        #: whether the term of what may wrap is kept, to guess what is then proven without it
        self.guesses = False

    def input(self, aval: Any, span: Span | None = None, own: bool = False) -> Value:
        """A value of which no more is known than its type and its range."""
        whole = full(aval)
        if span is not None and whole is not None:
            span = max(span[0], whole[0]), min(span[1], whole[1])
        return self.value(whole if span is None else span, None, own)

    def constant(self, value: Any) -> Value:
        """A value that is there: a number, or an array, of which few elements are looked at."""
        if isinstance(value, jax.core.Tracer):
            return self.input(value.aval)
        array = value if isinstance(value, jax.Array) else np.asarray(value)
        span = full(array)
        if span is not None and 0 < array.size <= _FEW:
            held = np.asarray(array)
            span = int(held.min()), int(held.max())
        if span is not None and span[0] == span[1]:
            return Value(span, self.terms.known(span[0]), own=True)
        return self.value(span, own=True)

    def value(self, span: Span | None, term: Term | None = None, own: bool = False) -> Value:
        return Value(span, self.terms.unknown(span) if term is None else term, own)

    def run(self, jaxpr: Any, inputs: Sequence[Value], consts: Sequence[Value] = ()) -> list[Value]:
        """What the outputs of a graph are, by what its inputs are."""
        raise NotImplementedError  # pragma: no cover - the subclass has its own

    @contextmanager
    def guessing(self) -> Iterator[None]:
        """What is found meanwhile is a guess: terms are kept though they may wrap."""
        before, self.guesses = self.guesses, True
        try:
            yield
        finally:
            self.guesses = before
