"""How many trips a loop makes at most, where an integer of it proves that.

A counter starts at a number that is known. All ways through a trip after which the loop goes on are
looked at, by the sides of the branches they take: on each of them the counter must move in one
direction, by a known number, and something that was asked on that way must keep it below (or above)
a known number. The question may be the test of the loop or a branch that would have left it. ::

    n = 0                        two ways: n moves by 1 or by 2, and on both ``n < 10`` was asked
    while x > 0:                 (else the loop would have been left), so n goes to 11 at most: no
        if n >= 10: break        more than 12 trips
        n += 2 if x > 5 else 1
        x = f(x)
"""

from __future__ import annotations

from dataclasses import dataclass

from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.jaxprs.ranges.terms import COMPARISONS, Term

#: the most ways through a trip that are looked at
MANY = 64

#: a term and the value that it has on a way through a trip
Claim = tuple[Term, int]

_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def most_trips(claims: list[Claim], own: Term, after: Term, start: int, whole: Span) -> int | None:
    """A number of trips that a counter does not let a loop exceed; None if it gives none.

    `claims` hold on all ways after which the loop goes on. The counter is `own` before a trip and
    `after` it, begins with `start`, and has a type of the range `whole`.
    """
    ways: list[_Way] = []
    choices: list[list[Claim]] = [[]]
    while choices:
        chosen = choices.pop()
        if len(ways) + len(choices) > MANY:
            return None
        try:
            ways.append(_Way.through([*chosen, *claims], own, after))
        except _Undecided as found:
            # the claim about the index comes first: the claims before may need it
            choices += [[(found.index, n), *chosen] for n in range(found.count)]
        except _Impossible:
            continue
        except _Unclear:
            return None
    return _Counter(start, ways, whole).trips()


class _Undecided(Exception):
    """A way that is two or more: an index is not known on it."""

    def __init__(self, index: Term, count: int) -> None:
        self.index, self.count = index, count


class _Impossible(Exception):
    """Nothing can go this way."""


class _Unclear(Exception):
    """The number is not moved by a known number."""


@dataclass
class _Way:
    """A way through a trip after which the loop goes on."""

    #: by how much it moves the number
    by: int
    #: what the number is compared with on it: how, and with what, as it is after the trip
    limits: list[tuple[str, int]]
    #: what is added to the number where it is compared
    offsets: list[int]

    @classmethod
    def through(cls, claims: list[Claim], own: Term, after: Term) -> _Way:
        facts = _Facts(claims)
        base, by = facts.line(after)
        if base is not own:
            raise _Unclear
        limits, offsets = [], [by]
        for name, one, other in facts.compared:
            (base, offset), (fixed, limit) = facts.line(one, own), facts.line(other, own)
            if fixed is own:
                name, base, offset, fixed, limit = _TURNED[name], fixed, limit, base, offset
            if base is own and fixed is None:
                limits.append((name, limit - offset + by))
                offsets.append(offset)
        return cls(by, limits, offsets)


class _Facts:
    """What follows from claims, as far as it takes no more than to look at each of them."""

    def __init__(self, claims: list[Claim]) -> None:
        self._known: dict[Term, int] = {}
        self.compared: list[tuple[str, Term, Term]] = []
        todo = list(reversed(claims))
        while todo:
            todo += self._follow(*todo.pop())

    def _follow(self, term: Term, value: int) -> list[Claim]:
        name, parts = term.name, term.parts
        is_new = term not in self._known
        is_known = term.number is not None
        now = term.number if is_known else self._known.setdefault(term, value)
        if now != value:
            raise _Impossible
        if not is_new or is_known:
            return []
        if name in COMPARISONS:
            self.compared.append((name if value else _OPPOSITE[name], *parts))
        if name == "not":
            return [(parts[0], 1 - value)]
        if name == "choose":
            return [(self._case(term), value)]
        is_all = (name == "and" and value == 1) or (name == "or" and value == 0)
        return [(part, value) for part in parts] if is_all else []

    def _case(self, term: Term) -> Term:
        """Which of its cases a choice is."""
        index, *cases = term.parts
        value = index.number if index.number is not None else self._known.get(index)
        if value is None:
            raise _Undecided(index, len(cases))
        case: Term = cases[min(max(value, 0), len(cases) - 1)]
        return case

    def line(self, term: Term, own: Term | None = None) -> tuple[Term | None, int]:
        """A term as another one and a number; None and a number where it is known.

        With `own`, a choice that is open is left alone: it says nothing about that.
        """
        offset = 0
        while term.number is None and term.name in ("sum", "choose"):
            if term.name == "sum":
                (*others, (first, factor)), by = term.parts
                if others or factor != 1:
                    break
                term, offset = first, offset + by
                continue
            try:
                term = self._case(term)
            except _Undecided:
                if own is None:
                    raise
                return term, offset
        return (term, offset) if term.number is None else (None, term.number + offset)


@dataclass
class _Counter:
    """A number that is known before the loop, and what the ways through a trip do to it."""

    start: int
    ways: list[_Way]
    whole: Span

    def trips(self) -> int | None:
        if not self.ways:
            return 1  # the loop does not go on after a trip
        for sign in (1, -1):
            least = min(sign * way.by for way in self.ways)
            if least > 0:
                counted = self._until_beyond(sign, least)
                return self._until_met() if counted is None else counted
        return None

    def _until_beyond(self, sign: int, least: int) -> int | None:
        """The number moves by `least` at least, and not beyond the largest of the limits."""
        ends = [_end(way.limits, sign) for way in self.ways]
        known = [end for end in ends if end is not None]
        if len(known) < len(ends) or not self._stays_in_range(sign * max(known)):
            return None
        return max(max(known) - sign * self.start, 0) // least + 1

    def _until_met(self) -> int | None:
        """The number moves by steps of one size, and a way that meets a limit leaves the loop."""
        step = self.ways[0].by
        met = [{limit for name, limit in way.limits if name == "ne"} for way in self.ways]
        if any(way.by != step for way in self.ways):
            return None
        found = []
        for limit in set.intersection(*met):
            trips, rest = divmod(limit - self.start, step)
            if rest == 0 and trips > 0 and self._stays_in_range(limit):
                found.append(trips)
        return min(found, default=None)

    def _stays_in_range(self, end: int) -> bool:
        """Whether nothing wraps around that is made of the number, from its start to its end."""
        least, most = min(self.start, end), max(self.start, end)
        offsets = [0, *(offset for way in self.ways for offset in way.offsets)]
        least, most = least + min(offsets), most + max(offsets)
        return self.whole[0] <= least and most <= self.whole[1]


def _end(limits: list[tuple[str, int]], sign: int) -> int | None:
    """How far the number goes at most, in its direction."""
    below, at = ("lt", "le") if sign > 0 else ("gt", "ge")
    ends = [sign * limit - 1 for name, limit in limits if name == below]
    ends += [sign * limit for name, limit in limits if name in (at, "eq")]
    return min(ends, default=None)
