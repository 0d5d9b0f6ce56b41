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

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.forms.trees import Filler, Out
from d2s.backends.lax.jaxprs.formulas import COMPARISONS, Formula, Formulas
from d2s.backends.lax.regions.regions import Region

#: the most ways through a trip that are looked at
MANY = 64

#: a formula and the value that it has on a way through a trip
Claim = tuple[Formula, int]

_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "eq": "ne", "ne": "eq"}
_TURNED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def most_trips(plan: Plan, tested: Region) -> int | None:
    """A number of trips that the loop surely does not exceed; None if no counter gives one."""
    if not isinstance(tested.value, Out):
        return None
    starts = {
        id(j): j.sides[0].init
        for j in plan.carried
        if type(j.sides[0].init) is int and jnp.issubdtype(j.type.dtype, jnp.integer)
    }
    if not starts:
        return None
    trip = _TripFormulas(plan, tested)
    found = []
    for joined in plan.carried:
        if id(joined) in starts:
            counter = trip.counter(joined.sides[0], starts[id(joined)], joined.type.dtype)
            found.append(None if counter is None else counter.trips())
    return min((n for n in found if n is not None), default=None)


class _TripFormulas:
    """A trip of a loop as formulas: the state before and after it, and whether the loop goes on."""

    def __init__(self, plan: Plan, tested: Region) -> None:
        self._formulas = Formulas()
        carried = {id(j.sides[0]): j for j in plan.carried}
        self._before: dict[int, Formula] = {
            id(hole): self._start(hole, n, id(hole) in carried) for n, hole in enumerate(plan.holes)
        }
        body, test = plan.region.jaxpr.jaxpr, tested.jaxpr.jaxpr
        before = list(self._before.values())
        others = [self._formulas.unknown() for _ in body.invars[len(before) :]]
        outs = self._formulas.read(body, [*others, *before])
        self._after = {
            id(hole): self._end(carried[id(hole)], outs, body.outvars)
            if id(hole) in carried
            else self._before[id(hole)]
            for hole in plan.holes
        }
        number = tested.value.index
        goes_on = [
            self._formulas.read(test, list(state.values()))[number]
            for state in (self._before, self._after)
        ]
        self._claims: list[Claim] = [(formula, 1) for formula in goes_on]

    def _start(self, hole: Any, number: int, is_carried: bool) -> Formula:
        if is_carried:
            return self._formulas.make("input", number)
        is_known = type(hole.init) in (int, bool)
        return self._formulas.known(hole.init) if is_known else self._formulas.unknown()

    def _end(self, joined: Any, outs: list[Formula], outvars: Sequence[Any]) -> Formula:
        after = joined.sides[1]
        if isinstance(after, Filler):
            return self._before[id(joined.sides[0])]
        if isinstance(after, Out):
            is_same = outvars[after.index].aval.dtype == joined.type.dtype
            number: int = after.index
            return outs[number] if is_same else self._formulas.unknown()
        is_known = type(after) in (int, bool)
        return self._formulas.known(after) if is_known else self._formulas.unknown()

    def counter(self, hole: Any, start: int, dtype: Any) -> _Counter | None:
        """What the ways through a trip do to a number; None if some way is not clear."""
        own, after = self._before[id(hole)], self._after[id(hole)]
        ways: list[_Way] = []
        choices: list[list[Claim]] = [[]]
        while choices:
            chosen = choices.pop()
            if len(ways) + len(choices) > MANY:
                return None
            try:
                ways.append(_Way.through([*chosen, *self._claims], own, after))
            except _Undecided as found:
                # the claim about the index comes first: the claims before may need it
                choices += [[(found.index, n), *chosen] for n in range(found.count)]
            except _Impossible:
                continue
            except _Unclear:
                return None
        return _Counter(start, ways, np.iinfo(dtype))


class _Undecided(Exception):
    """A way that is two or more: an index is not known on it."""

    def __init__(self, index: Formula, count: int) -> None:
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
    def through(cls, claims: list[Claim], own: Formula, after: Formula) -> _Way:
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
        self._known: dict[Formula, int] = {}
        self.compared: list[tuple[str, Formula, Formula]] = []
        todo = list(reversed(claims))
        while todo:
            todo += self._follow(*todo.pop())

    def _follow(self, formula: Formula, value: int) -> list[Claim]:
        name, parts = formula.name, formula.parts
        is_new = formula not in self._known
        now = parts[0] if name == "known" else self._known.setdefault(formula, value)
        if now != value:
            raise _Impossible
        if not is_new or name == "known":
            return []
        if name in COMPARISONS:
            self.compared.append((name if value else _OPPOSITE[name], *parts))
        if name == "not":
            return [(parts[0], 1 - value)]
        if name == "choose":
            return [(self._case(formula), value)]
        is_all = (name == "and" and value == 1) or (name == "or" and value == 0)
        return [(part, value) for part in parts] if is_all else []

    def _case(self, formula: Formula) -> Formula:
        """Which of its cases a choice is."""
        index, *cases = formula.parts
        value = index.parts[0] if index.name == "known" else self._known.get(index)
        if value is None:
            raise _Undecided(index, len(cases))
        case: Formula = cases[min(max(value, 0), len(cases) - 1)]
        return case

    def line(self, formula: Formula, own: Formula | None = None) -> tuple[Formula | None, int]:
        """A formula as another one and a number; None and a number where it is known.

        With `own`, a choice that is open is left alone: it says nothing about that.
        """
        offset = 0
        while formula.name in ("plus", "choose"):
            if formula.name == "plus":
                formula, by = formula.parts
                offset += by
                continue
            try:
                formula = self._case(formula)
            except _Undecided:
                if own is None:
                    raise
                return formula, offset
        return (None, formula.parts[0] + offset) if formula.name == "known" else (formula, offset)


@dataclass
class _Counter:
    """A number that is known before the loop, and what the ways through a trip do to it."""

    start: int
    ways: list[_Way]
    fits: Any

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
        return bool(self.fits.min <= least and most <= self.fits.max)


def _end(limits: list[tuple[str, int]], sign: int) -> int | None:
    """How far the number goes at most, in its direction."""
    below, at = ("lt", "le") if sign > 0 else ("gt", "ge")
    ends = [sign * limit - 1 for name, limit in limits if name == below]
    ends += [sign * limit for name, limit in limits if name in (at, "eq")]
    return min(ends, default=None)
