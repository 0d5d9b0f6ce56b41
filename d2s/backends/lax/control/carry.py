"""What a staged loop carries: the least fixed point of its body.

The body is traced on abstract values until the types of its state no longer change. The last trace
is the graph that runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from d2s.backends.lax.arrays.carried_aliases import CarriedAliases
from d2s.backends.lax.arrays.may_alias import AliasSet
from d2s.backends.lax.control import notes
from d2s.backends.lax.control.carried_spans import CarriedSpans, guess
from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.control.trips import Hole, Last, State, Trip
from d2s.backends.lax.forms.appended import NeedsLast
from d2s.backends.lax.forms.dtypes import NUMBERS, Mismatch, Type, is_dynamic, type_of, varies
from d2s.backends.lax.forms.join import Difference, Join, Joined
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.trees import FILLER, Box, Filler, Known, Out, leaves, map_leaves
from d2s.backends.lax.graph import sites
from d2s.backends.lax.jaxprs.ranges.induction import TRIPS
from d2s.backends.lax.jaxprs.ranges.rules import Span, full, inside
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.regions.checks import CODE
from d2s.backends.lax.regions.regions import Region
from d2s.backends.lax.regions.strengthen import strengthened
from d2s.backends.lax.regions.trace import Role, trace
from d2s.backends.lax.trace.blame import change, difference
from d2s.backends.lax.trace.boxes import boxed, content, known, opened
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError
from d2s.runtime import record
from d2s.runtime.values import Maybe, Unbound


class _LoopJoin(Join):
    """Joins the state before the loop with the state after a trip."""

    def _join_leaves(self, one: Any, other: Any, path: str) -> Any:
        if not isinstance(one, Hole):
            return super()._join_leaves(one, other, path)
        if isinstance(other, Out) and other.same_as is one:
            return one  # the trip leaves it as it is
        if isinstance(one.init, Filler):
            kind = other.type if isinstance(other, Out) else type_of(other)
            return self._add(kind, (one, other))
        joined = super()._join_leaves(one.init, other, path)
        if isinstance(joined, Joined):
            self.dynamic.pop()
            return self._add(joined.type, (one, other))
        return one

    def join(self, one: Any, other: Any, path: str = "") -> Any:
        if isinstance(one, Hole) and not isinstance(other, Filler):
            if isinstance(other, Out) or is_dynamic(other):
                return self._join_leaves(one, other, path)
            if not isinstance(other, Unbound | Maybe):
                init = FILLER if isinstance(one.init, Filler) else one.init
                return super().join(init, other, path)
        return super().join(one, other, path)

    def _join_boxes(self, one: Any, other: Any, path: str) -> Any:
        if isinstance(one, Known) and isinstance(other, Known) and one.origin is other.origin:
            return one
        if isinstance(other, Box) and other.origin is not None and other.origin is one.origin:
            return known(other.origin, {})  # the trip leaves it as it is
        made = super()._join_boxes(one, other, path)
        if isinstance(made, Box) and one.origin is not None:
            made.origin = one.origin
            moved = isinstance(other, Box) and other.origin is not None
            if moved or id(one.origin) not in self.alone:
                self.aliased.add(made.identity)  # without a trip it is what it was before
                self.replaced.append(one.origin)
        return made

    def _filled(self, value: Any, first: bool, path: str) -> Any:
        if first:
            return super()._filled(value, first, path)
        return map_leaves(
            lambda v: self._add(v.type, (v, FILLER)) if isinstance(v, Hole) else v, value
        )


@dataclass(frozen=True)
class LoopTraits:
    """What is known of a loop before its body is traced."""

    #: types of inputs of the body that are not carried: the position, the rows
    extra: list[Type]
    #: Python numbers are carried from the start, and not only if the body changes them
    numbers: bool
    #: a trip must see the error code of the trips before it; it is known that the body fails
    code_inside: bool
    with_code: bool = False
    #: the first input of the body, after the code, is the position
    is_counted: bool = False
    #: there are so many trips, or fewer
    length: int | None = None
    #: what each trip appends to a list may come out as one array
    stacks: bool = False
    #: surely, so what was carried before the loop is gone after it
    makes_a_trip: bool = False


class _Again(Exception):
    """A round has shown that the loop carries something else than was thought; trace it again."""


class Settling:
    """A loop on the way to its fixed point.

    inputs of the body  = [error code?] [position] [rows] [a run-time leaf of what is carried]...
    what is carried     = [the state of the loop: its variables] [slots that its body changes]

    In each round the body is traced on holes: a `Hole` stands for a run-time leaf of what is
    carried, and knows the value before the loop and the type. A round that finds that more is
    carried than was thought, or with another type, changes `plan` (and `shared`, `grown`,
    `with_code`, `axes`) and is followed by another. Types only grow, so the rounds come to an end;
    the region of the last one is the body that runs. For

        total = 0                       round 1: Hole(0, int), and the trip leaves a float
        for row in x:                   round 2: Hole(0, float) and the slot log[0], which
            total = total + row[0]               round 1 showed to change
            log[0] = total              round 3: nothing changes: these are the types
    """

    def __init__(
        self,
        body: Callable[..., State],
        state: State,
        watch: Snapshot,
        names: list[str],
        loop: LoopTraits,
    ) -> None:
        self.body, self.state, self.watch, self.names, self.loop = body, state, watch, names, loop
        self.with_code = loop.with_code
        #: what is carried, with holes: the state, then what is in the shared slots
        self.plan = [_holes(boxed(value), loop.numbers) for value in state]
        #: slots that the body changes, so that they are carried like variables
        self.shared: list[Slot] = []
        #: lists that the body appends to, and how many items in one trip
        self.grown: list[tuple[list[Any], int]] = []
        #: the axes of a mesh along which anything in the loop differs between devices
        self.axes: frozenset[str] = frozenset()
        #: whether the trip was traced with the ranges of integers that are proven
        self.is_proven = False
        #: which carried arrays may be one, as the round before has found out
        self.followed: CarriedAliases | None = None

    def run(self) -> Plan:
        """Rounds until nothing changes."""
        start = record.mark()
        for _ in range(2 * len(leaves(list(self.state))) + 12):
            record.back_to(start)  # only the last round counts
            try:
                return self._round()
            except _Again:
                continue
        raise StagingError(
            f"the types of {', '.join(self.names)} do not settle",
            code="D2S011",
            site=sites.where(),
            fix="values of one type, before the loop and in it",
        )

    def _round(self) -> Plan:
        """One trace of the body; the plan, if it showed nothing new."""
        holes = [leaf for leaf in leaves(self.plan) if isinstance(leaf, Hole)]
        ties, self.followed = self.followed or CarriedAliases([hole.init for hole in holes]), None
        region = self._trace(holes, ties)
        self._carry_new_slots(region)
        joining, tree = self._joined(region)
        if _only_strengthens(joining.dynamic, region):
            region, holes = self._strengthened(region, holes, joining.dynamic)
            joining, tree = self._joined(region)
        if not all(map(_is_settled, joining.dynamic)):
            self.plan = map_leaves(_next_hole, tree)
            raise _Again
        self._prove_spans(region, holes, joining.dynamic)
        if region.code is not None and self.loop.code_inside and not self.with_code:
            self.with_code = True
            raise _Again
        self._follow(region, holes, joining.dynamic, ties)
        return self._settled(region, holes, tree, joining, ties)

    @property
    def _first(self) -> int:
        """How many inputs of the body come before what is carried."""
        return self.with_code + len(self.loop.extra)

    def _trace(self, holes: list[Hole], ties: CarriedAliases) -> Region:
        """The region of one trip."""
        loop, first = self.loop, self._first
        extra = [kind.varies for kind in loop.extra]
        self.axes = self.axes.union(*extra, *(hole.type.varies for hole in holes))
        code = CODE._replace(varies=self.axes)
        trip = Trip(
            *(self.body, self.plan, holes, self.shared, self.grown, self.watch),
            *(len(loop.extra), self.state),
        )
        role = Role(is_body=True, with_code=self.with_code)
        try:
            region = trace(
                trip.run,
                [code] * self.with_code + loop.extra + [hole.type for hole in holes],
                self.watch,
                role,
                stand_for=[None] * first + holes,
                begin=lambda inputs: ties.tie(inputs[first:]),
                spans=[*self._extra_spans(), *map(guess, holes)],
            )
        except NeedsLast as need:
            self._carry_last_item(need)
            raise _Again from None
        self.axes = self.axes.union(*map(varies, region.jaxpr.out_avals))
        if self.with_code and self.axes != code.varies:
            raise _Again  # how it fails differs between devices, too
        if trip.changed:
            before = [*self.state, *(slot.get() for slot in self.shared)]
            for n in trip.changed:
                self.plan[n] = known(before[n], {})
            raise _Again
        return region

    def _carry_last_item(self, need: NeedsLast) -> None:
        """The body reads the last item of a list that it appends to: that is carried, too."""
        carried = any(isinstance(s, Last) and s.owner is need.owner for s in self.shared)
        if carried or not need.owner or not any(o is need.owner for o, _ in self.grown):
            raise need
        self.shared = [*self.shared, Last(need.owner)]
        self.plan = [*self.plan, _holes(boxed(need.owner[-1]), self.loop.numbers)]

    def _carry_new_slots(self, region: Region) -> None:
        """Slots that this round showed to change are carried from the next one on.

        A list that is only appended to is not: what all trips append comes out as one array. A list
        or dict that gets more or fewer entries is carried as a whole, in place of its entries.
        """
        more = _new_slots(region, self.shared)
        if not more:
            return
        lists = [s for s in more if self.loop.stacks and _grows(s, region, self.grown)]
        for slot in lists:
            items = len(region.slots[slot.identity][1].parts) - len(slot.owner)
            self.grown.append((slot.owner, items))
        more = [s for s in more if s not in lists]
        whole = {s.identity[0] for s in more if s.key is WHOLE}
        kept = [n for n, s in enumerate(self.shared) if s.identity[0] not in whole]
        count = len(self.state)
        self.plan = [*self.plan[:count], *(self.plan[count + n] for n in kept)]
        self.plan += [_holes(_before(slot), self.loop.numbers) for slot in more]
        self.shared = [*(self.shared[n] for n in kept), *more]
        raise _Again

    def _joined(self, region: Region) -> tuple[_LoopJoin, Any]:
        """What is carried before the loop, joined with what a trip leaves."""
        joining = _LoopJoin(self.watch.solely_owned, self.loop.makes_a_trip)
        try:
            return joining, joining.join(self.plan, self._after(region))
        except Difference as found:
            raise self._blamed(found) from None

    def _after(self, region: Region) -> list[Any]:
        """State and shared slots after a trip; after one that fails, the shared slots alone."""
        count = len(self.state)
        state = [FILLER] * count if isinstance(region.value, Filler) else region.value[:count]
        return [*state, *(content(slot, region.slots) for slot in self.shared)]

    def _strengthened(
        self, region: Region, holes: list[Hole], joined: list[Joined]
    ) -> tuple[Region, list[Hole]]:
        """The same round with array elements where Python numbers were, without another trace.

        From the second trip on they are array elements, and the graph is the same for both.
        """
        changed = [j for j in joined if j.type != j.sides[0].type]
        renamed = {id(j.sides[0]): Hole(j.sides[0].init, j.type) for j in changed}
        strong = {id(j.sides[0]) for j in changed if j.type.weak != j.sides[0].type.weak}
        positions = [self._first + n for n, hole in enumerate(holes) if id(hole) in strong]
        self.plan = replaced_leaves(self.plan, renamed)
        stronger = strengthened(region, positions, renamed)
        if stronger is None:
            raise _Again
        return stronger, [renamed.get(id(hole), hole) for hole in holes]

    def _extra_spans(self) -> list[Span | None]:
        """The ranges of the inputs of the body that come before what is carried."""
        spans: list[Span | None] = [None] * self._first
        if self.loop.is_counted and self.loop.extra:
            spans[int(self.with_code)] = (
                0,
                TRIPS if self.loop.length is None else self.loop.length - 1,
            )
        return spans

    def _prove_spans(self, region: Region, holes: list[Hole], joined: list[Joined]) -> None:
        """Prove the ranges of integers that the trip was traced with; trace it again if they fail.

        Checks of Python integers that turn out to be needless are dropped. If there are some in
        graphs inside, where they cannot be dropped any more, the trip is traced again once.
        """
        if not any(full(hole.type) is not None for hole in holes):
            return
        found = CarriedSpans(region, holes, joined, self._extra_spans(), self.loop.length)
        checked = {v for v in region.checked_results()}
        own = {v for equation in region.jaxpr.jaxpr.eqns for v in equation.outvars}
        relies = bool((found.wrapping & own) - checked)
        wrong, better = False, False
        for hole, span in zip(holes, found.asked, strict=True):
            hole.asked = span
        for hole, one, span in zip(holes, region.inputs[self._first :], found.heads, strict=True):
            taken = guess(hole)
            if taken is not None and not inside(span, taken):
                wrong |= relies or id(one) in region.asked
                hole.span = span
            elif region.nested_overflow and span != (taken or full(hole.type)):
                better |= id(one) in region.asked
                hole.span = span if not self.is_proven else hole.span
        if wrong or (better and not self.is_proven):
            self.is_proven |= not wrong
            raise _Again
        region.relieve(found.wrapping)

    def _follow(
        self, region: Region, holes: list[Hole], joined: list[Joined], ties: CarriedAliases
    ) -> None:
        """Note which carried arrays may be one after a trip.

        If that is new and an array is written, the body is traced once more, so that an error can
        name the line of the write.
        """
        is_last = ties.is_followed
        after = _aliases_after(region, holes, joined)
        if ties.follow(region.inputs[self._first :], after) and region.written.any and not is_last:
            self.followed = ties
            raise _Again

    def _settled(
        self, region: Region, holes: list[Hole], tree: Any, joining: _LoopJoin, ties: CarriedAliases
    ) -> Plan:
        owners = [owner for owner, _ in self.grown]
        items = [] if region.raised else region.value[len(self.state) :]
        return Plan(
            region=region,
            holes=holes,
            tree=tree,
            carried=joining.dynamic,
            slots=self.shared,
            with_code=self.with_code,
            names=[*self.names, *notes.labels(self.watch, self.shared)],
            replaced=joining.replaced,
            aliased=joining.aliased,
            appended=[] if region.raised else list(zip(owners, items, strict=True)),
            ties=ties,
        )

    def _blamed(self, found: Difference) -> StagingError:
        what = "before the loop|after a trip"
        number, _, rest = found.path[1:].partition("]")
        if not number.isdigit() or int(number) < len(self.state):
            path = found.path if len(self.names) > 1 else found.path.removeprefix("[0]")
            return difference(found, self.names, path, what, sites.where(), (None, self.body))
        slot = self.shared[int(number) - len(self.state)]
        return change(found, slot, self.watch, rest, what, (None, self.body))


def settle(
    body: Callable[..., State], state: State, watch: Snapshot, names: list[str], loop: LoopTraits
) -> Plan:
    """Trace the body of a loop until the types of what it carries no longer change."""
    return Settling(body, state, watch, names, loop).run()


def _is_settled(leaf: Joined) -> bool:
    """Whether a trip leaves the type that the hole has."""
    return isinstance(leaf.sides[0], Hole) and leaf.type == leaf.sides[0].type


def _only_strengthens(changes: list[Joined], region: Region) -> bool:
    """Whether all that changes is that Python numbers meet arrays of their own dtype.

    Then the graph is the same for both, unless it depends on which of them they are, or knows
    another dtype of that kind, with which the two promote differently.
    """
    other = [j for j in changes if isinstance(j.sides[0], Hole) and j.type != j.sides[0].type]
    if not other or not all(isinstance(j.sides[0], Hole) for j in changes):
        return False
    if region.asks_kinds and any(j.type.kind is not j.sides[0].type.kind for j in other):
        return False
    weak = [j for j in other if j.type.bare != j.sides[0].type.bare]
    if not all(j.type.bare == j.sides[0].type.bare._replace(weak=False) for j in weak):
        return False
    met = region.dtypes()
    return not any(
        jnp.issubdtype(dtype, kind) and dtype != j.type.dtype
        for j in weak
        for kind in (jnp.floating, jnp.integer, jnp.complexfloating)
        if jnp.issubdtype(j.type.dtype, kind)
        for dtype in met
    )


def _aliases_after(region: Region, holes: list[Hole], carried: list[Joined]) -> list[AliasSet]:
    """For each hole, which arrays it may be after a trip."""
    sides = {id(leaf.sides[0]): leaf.sides[1] for leaf in carried}
    inputs = region.inputs[len(region.inputs) - len(holes) :]
    return [
        AliasSet([one], [one])
        if isinstance(sides.get(id(hole), FILLER), Filler)
        else region.aliases_of(sides[id(hole)])
        for hole, one in zip(holes, inputs, strict=True)
    ]


def _new_slots(region: Region, shared: list[Slot]) -> list[Slot]:
    """The slots that a trip changed and the loop does not carry yet."""
    carried = {slot.identity for slot in shared}
    return [
        slot
        for key, (slot, _) in region.slots.items()
        if key not in carried and (key[0], WHOLE) not in carried
    ]


def _before(slot: Slot) -> Any:
    now = slot.get()
    return opened(now) if slot.key is WHOLE else boxed(now)


def _grows(slot: Slot, region: Region, grown: list[tuple[list[Any], int]]) -> bool:
    """Whether a trip did nothing to a list but append to it."""
    owner = slot.owner
    if (
        type(owner) is not list
        or slot.key is not WHOLE
        or any(owner is other for other, _ in grown)
    ):
        return False
    parts = region.slots[slot.identity][1].parts
    return len(parts) > len(owner) and all(map(is_same, owner, parts))


def is_same(before: Any, now: Any) -> bool:
    """Whether a leaf is what it was before."""
    if isinstance(now, Known):
        return now.origin is (before.origin if isinstance(before, Known) else before)
    return now.same_as is before if isinstance(now, Out) else now is before


def replaced_leaves(plan: list[Any], by: dict[int, Any]) -> list[Any]:
    return [map_leaves(lambda leaf: by.get(id(leaf), leaf), value) for value in plan]


def _holes(value: Any, numbers: bool) -> Any:
    def hole(leaf: Any) -> Any:
        if not is_dynamic(leaf) or (type(leaf) in NUMBERS and not numbers):
            return leaf
        try:
            return Hole(leaf, type_of(leaf))
        except Mismatch:
            return leaf  # an integer too large for the graph may still stay as it is

    return map_leaves(hole, value)


def _next_hole(leaf: Any) -> Any:
    if not isinstance(leaf, Joined):
        return leaf
    before = leaf.sides[0]
    return Hole(before.init if isinstance(before, Hole) else before, leaf.type)
