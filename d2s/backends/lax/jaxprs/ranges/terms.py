"""Integers and flags of a graph as terms, to see how they depend on each other.

A body ``i = i + 2 if p else i + 1`` with the inputs `i` and `p` has the output ::

    choose(p, sum(i, 1), sum(i, 2))

which says that one trip moves `i` by 1 or by 2, and on which way by how much. A term is a number
without limits: what an operation of the graph gives is the term only where it does not wrap around.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable
from typing import Any, NamedTuple

Span = tuple[int, int]

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")


class Term:
    """One value; those that are computed in the same way are the same object.

    unknown  an input, or anything else
    sum      terms with their factors, and a number; without terms it is that number
    choose   an index, and what it is for each value of that
    moved    what a loop has moved: where it began, and by how much, in all and for each trip

    and `not`, `and`, `or` and comparisons of others. `span` are the numbers between which it lies.
    """

    __slots__ = ("name", "parts", "span")

    def __init__(self, name: str, parts: tuple[Any, ...], span: Span | None) -> None:
        self.name, self.parts, self.span = name, parts, span

    @property
    def number(self) -> int | None:
        """The number that it is, if it is known."""
        return self.span[0] if self.span is not None and self.span[0] == self.span[1] else None

    def summed(self) -> tuple[dict[Term, int], int]:
        """The term as others with their factors, and a number."""
        if self.name == "sum":
            return dict(self.parts[0]), self.parts[1]
        return {self: 1}, 0


class Move(NamedTuple):
    """By how much something is moved: a number, and a number for each trip of loops inside.

    How often loops inside go round may not be known; but all their trips together, in all trips of
    the loop around, are no more than a program makes. So of two loops the faster one counts.
    """

    least: int = 0
    most: int = 0
    #: for each trip of a loop inside
    down: int = 0
    up: int = 0

    def then(self, other: Move) -> Move:
        least, most = self.least + other.least, self.most + other.most
        return Move(least, most, min(self.down, other.down), max(self.up, other.up))

    def or_else(self, other: Move) -> Move:
        least, most = min(self.least, other.least), max(self.most, other.most)
        return Move(least, most, min(self.down, other.down), max(self.up, other.up))

    def within(self, other: Move) -> bool:
        return self.or_else(other) == other


class Terms:
    """Makes terms."""

    def __init__(self) -> None:
        self._made: dict[Any, Term] = {}

    def make(self, name: str, *parts: Any, span: Span | None = None) -> Term:
        key = name, *(id(part) if isinstance(part, Term) else (part,) for part in parts)
        return self._made.setdefault(key, Term(name, parts, span))

    def unknown(self, span: Span | None) -> Term:
        return self.make("unknown", len(self._made), span=span)

    def known(self, number: int) -> Term:
        return self.make("sum", (), number, span=(number, number))

    def sum(self, one: Term, other: Term, factor: int = 1, span: Span | None = None) -> Term:
        """`one + factor * other`."""
        (parts, number), (others, more) = one.summed(), other.summed()
        for term, count in others.items():
            parts[term] = parts.get(term, 0) + factor * count
        return self._sum(parts, number + factor * more, span)

    def product(self, one: Term, other: Term, span: Span | None = None) -> Term | None:
        """A product with a number; None where neither is one."""
        if other.number is None:
            one, other = other, one
        if other.number is None:
            return None
        return self.sum(self.known(0), one, other.number, span)

    def _sum(self, parts: dict[Term, int], number: int, span: Span | None) -> Term:
        kept = [(term, count) for term, count in parts.items() if count]
        if not kept:
            return self.known(number)  # as of ``a - a``
        if len(kept) == 1 and kept[0][1] == 1 and number == 0:
            return kept[0][0]
        kept.sort(key=lambda part: id(part[0]))
        return self.make("sum", tuple(kept), number, span=span)

    def choose(self, index: Term, cases: Iterable[Term], span: Span | None = None) -> Term:
        cases = tuple(cases)
        if all(case is cases[0] for case in cases):
            return cases[0]
        if index.number is not None:
            return cases[min(max(index.number, 0), len(cases) - 1)]
        return self.make("choose", index, *cases, span=span)


def move(term: Term, start: Term, paced: bool = False) -> Move | None:
    """By how much a term is `start` moved; None where it is not that.

    In ``choose(p, sum(i, 1), sum(i, 2))`` the input `i` is moved by 1 at least and by 2 at most. In
    ``sum(t, c)`` the input `t` is moved by a number between those between which `c` lies. With
    `paced`, what a loop inside moves is told for each of its trips, though their number is known.
    """
    found: dict[Term, Move | None] = {start: Move()}

    def of(term: Term) -> Move | None:
        if term not in found:
            found[term] = None
            found[term] = rules[term.name](term) if term.name in rules else None
        return found[term]

    def chosen(term: Term) -> Move | None:
        cases = [of(case) for case in term.parts[1:]]
        known = [case for case in cases if case is not None]
        return functools.reduce(Move.or_else, known) if len(known) == len(cases) else None

    def looped(term: Term) -> Move | None:
        before = of(term.parts[0])
        return None if before is None else before.then(term.parts[2 if paced else 1])

    def summed(term: Term) -> Move | None:
        parts, number = term.summed()
        first = next((part for part, n in parts.items() if n == 1 and of(part) is not None), None)
        total = None if first is None else of(first)
        for part, count in parts.items():
            if total is not None and part is not first:
                ends = part.span and sorted(count * end for end in part.span)
                total = total.then(Move(*ends)) if ends else None
        return None if total is None else total.then(Move(number, number))

    rules = {"choose": chosen, "moved": looped, "sum": summed}
    return of(term)
