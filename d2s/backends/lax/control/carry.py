"""What a staged loop carries: the least fixed point of its body.

The body is traced on abstract values until the types of its state no longer change. The last trace
is the graph that runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.carried_aliases import Ties
from d2s.backends.lax.arrays.may_alias import Kin, bases, link
from d2s.backends.lax.control import notes
from d2s.backends.lax.control.trips import Hole, Last, State, Trip
from d2s.backends.lax.forms.appended import NeedsLast
from d2s.backends.lax.forms.dtypes import NUMBERS, Mismatch, Type, is_dynamic, type_of, varies
from d2s.backends.lax.forms.trees import (
    FILLER,
    Box,
    Difference,
    Filler,
    Join,
    Joined,
    Known,
    Out,
    leaves,
    map_leaves,
)
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.slots import WHOLE, Slot
from d2s.backends.lax.regions.regions import Region, leaf_value, trace
from d2s.backends.lax.trace.blame import change, difference
from d2s.backends.lax.trace.boxes import boxed, content, known, opened
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError
from d2s.runtime import record
from d2s.runtime.values import Maybe, Unbound

CODE = Type((), jnp.dtype("int32"), False)


class _LoopJoin(Join):
    """Joins the state before the loop with the state after an iteration."""

    def _join_leaves(self, one: Any, other: Any, path: str) -> Any:
        if not isinstance(one, Hole):
            return super()._join_leaves(one, other, path)
        if isinstance(other, Out) and other.same_as is one:
            return one  # the iteration leaves it as it is
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
            return known(other.origin, {})  # the iteration leaves it as it is
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


@dataclass
class Plan:
    """A loop whose types have settled."""

    region: Region
    holes: list[Hole]
    tree: Any
    carried: list[Joined]
    slots: list[Slot]
    with_code: bool
    #: of the variables that are carried; if a record is made, of the places it writes, too
    names: list[str]
    #: lists, dicts and objects that its state replaces, and identities of those that replace them
    replaced: list[Any]
    aliased: set[Any]
    #: lists that it appends to, and what it appends in one trip
    appended: list[tuple[list[Any], Any]]
    #: which of the arrays that it carries may be one
    ties: Ties

    def refuse_other_reads(self, region: Region) -> None:
        """An array that an iteration writes must not be read in the loop under another name."""
        written = [array for n in self._written() for array in self.ties.before[n].values()]
        seen = [one for const in region.jaxpr.consts for one in (const, *bases(const))]
        if any(one is array for one in seen for array in written):
            aliases.refuse_alias()

    def _written(self) -> list[int]:
        first = len(self.region.inputs) - len(self.holes)
        return [n - first for n in self.region.spent_inputs if n >= first]

    def link(self, values: list[Any], trips: int | None) -> None:
        """Note which results may be the same array, or, without a trip, the one from before."""
        by_number = self._by_number(values)
        for one, other in self.ties.after if trips else self.ties.pairs:
            if one in by_number and other in by_number:
                link(by_number[one], by_number[other])
        for n, value in by_number.items():
            for array in (self.ties.ends if trips else self.ties.before)[n].values():
                link(value, array)

    def _by_number(self, values: list[Any]) -> dict[int, Any]:
        """What is carried, by the numbers of the holes."""
        numbers = {id(hole): n for n, hole in enumerate(self.holes)}
        pairs = zip(self.carried, values, strict=True)
        return {numbers[id(leaf.sides[0])]: value for leaf, value in pairs}

    def spend(self) -> None:
        """What an iteration has written, the loop has written."""
        self.refuse_other_reads(self.region)
        before = [array for n in self._written() for array in self.ties.before[n].values()]
        carried = {id(hole.init) for hole in self.holes}
        written = {id(array): array for array in (*before, *self.region.spent)}
        for array in written.values():
            if isinstance(array, Tracer):
                aliases.spend(array, in_region=True)
            elif isinstance(array, np.ndarray) and id(array) in carried:
                aliases.refuse_shared(array, None)

    def refuse_rows(self) -> None:
        """An array that a list got in one trip must not be written in a later one."""
        written = set(self._written())
        for _, numbers, _ in self._rows():
            for n in sorted(self.ties.later(numbers) & written):
                first = len(self.region.inputs) - len(self.holes)
                aliases.refuse_alias(aliases.written_at(self.region.inputs[first + n]))

    def link_rows(self, stacked: dict[int, Any], values: list[Any]) -> None:
        """Note what the items of lists may be: a write after the loop is one to them, too."""
        by_number = self._by_number(values)
        for leaf, numbers, arrays in self._rows():
            row = stacked.get(id(leaf))
            others = [by_number[n] for n in self.ties.later(numbers) if n in by_number]
            for array in (*others, *arrays):
                link(row, array)

    def _rows(self) -> list[tuple[Any, set[int], list[Any]]]:
        """What a trip appends, under which numbers that is carried on, and what else it may be."""
        inputs = self.region.inputs[len(self.region.inputs) - len(self.holes) :]
        leaves_of = [leaf for _, tree in self.appended for leaf in leaves(tree)]
        return [
            (leaf, *self.ties.carries(inputs, self.region.kin_of(leaf)))
            for leaf in leaves_of
            if isinstance(leaf, Out)
        ]

    def inputs(self, carry: list[Any]) -> list[Any]:
        """Inputs of the body's graph: what is carried, and what stays as it was."""
        values = {id(j.sides[0]): c for j, c in zip(self.carried, carry, strict=True)}
        return [values[id(h)] if id(h) in values else h.before() for h in self.holes]

    def outputs(self, outs: list[Any], carry: list[Any]) -> list[Any]:
        return [
            c if isinstance(j.sides[1], Filler) else leaf_value(j.sides[1], outs, j.type)
            for j, c in zip(self.carried, carry, strict=True)
        ]


def settle(
    body: Callable[..., State],
    extra: list[Type],
    state: State,
    watch: Snapshot,
    names: list[str],
    *,
    numbers: bool,
    code_inside: bool,
    counted: bool,
    stacks: bool,
    with_code: bool = False,
    length: int | None = None,
    makes_a_trip: bool = False,
) -> Plan:
    """Trace the body until the types of the state no longer change.

    extra        types of inputs of the body that are not state (position, rows)
    numbers      treat Python numbers as carried from the start
    code_inside  the body must see the error code of earlier iterations
    with_code    it is known that the body fails, and has to see the code
    counted      the first input of the body is the position of the loop
    stacks       what each iteration appends to a list may come out as one array
    length       how many positions there are
    makes_a_trip surely: what the state was before the loop is gone after it
    """
    shared: list[Slot] = []
    grown: list[tuple[list[Any], int]] = []
    plan = [_holes(boxed(value), numbers) for value in state]
    followed: Ties | None = None
    #: along which axes of a mesh anything in the loop differs
    axes: frozenset[str] = frozenset()
    start = record.mark()
    for _ in range(2 * len(leaves(list(state))) + 12):
        record.back_to(start)  # only the last round counts
        holes = [leaf for leaf in leaves(plan) if isinstance(leaf, Hole)]
        trip = Trip(body, plan, holes, shared, grown, watch, len(extra), state)
        axes = axes.union(*(k.varies for k in extra), *(hole.type.varies for hole in holes))
        code = CODE._replace(varies=axes)
        kinds = [code] * with_code + extra + [hole.type for hole in holes]
        stand_for = [None] * (with_code + len(extra)) + holes
        counts = all(map(_counts_from_near, holes))
        first = with_code + len(extra)
        ties, followed = followed or Ties([hole.init for hole in holes]), None
        try:
            region = trace(
                trip.run,
                kinds,
                watch,
                stand_for=stand_for,
                with_code=with_code,
                carries=True,
                counts=counts,
                counted=counted and (bool(extra) or isinstance(plan[0], Hole)),
                length=length,
                begin=lambda inputs: ties.tie(inputs[first:]),  # noqa: B023
            )
        except NeedsLast as need:
            carried = any(isinstance(s, Last) and s.owner is need.owner for s in shared)
            if carried or not need.owner or not any(o is need.owner for o, _ in grown):
                raise
            shared = [*shared, Last(need.owner)]
            plan = [*plan, _holes(boxed(need.owner[-1]), numbers)]
            continue
        axes = axes.union(*map(varies, region.jaxpr.out_avals))
        if with_code and axes != code.varies:
            continue  # how it fails differs between devices, too
        if trip.changed:
            before = [*state, *(slot.get() for slot in shared)]
            for n in trip.changed:
                plan[n] = known(before[n], {})
            continue
        more = _new_places(region, shared)
        if more:
            lists = [s for s in more if stacks and _grows(s, region, grown)]
            grown += [
                (s.owner, len(region.slots[s.identity][1].parts) - len(s.owner)) for s in lists
            ]
            more = [s for s in more if s not in lists]
            whole = {s.identity[0] for s in more if s.key is WHOLE}
            kept = [n for n, s in enumerate(shared) if s.identity[0] not in whole]
            plan = [*plan[: len(state)], *(plan[len(state) + n] for n in kept)]
            shared = [*(shared[n] for n in kept), *more]
            plan += [_holes(_before(slot), numbers) for slot in more]
            continue
        if region.code is not None and code_inside and not with_code:
            with_code = True
            continue
        result = _state_after(region, shared, len(state))
        joining = _LoopJoin(watch.solely_owned, makes_a_trip)
        try:
            tree = joining.join(plan, result)
        except Difference as found:
            raise _blamed(found, names, len(state), shared, watch, body) from None
        if _only_strengthens(joining.dynamic, region):
            # from the second trip on they are array elements; the graph is the same
            changed = [j for j in joining.dynamic if j.type != j.sides[0].type]
            renamed = {id(j.sides[0]): Hole(j.sides[0].init, j.type) for j in changed}
            strong = {id(j.sides[0]) for j in changed if j.type.weak != j.sides[0].type.weak}
            positions = [first + n for n, hole in enumerate(holes) if id(hole) in strong]
            plan = replaced_leaves(plan, renamed)
            holes = [renamed.get(id(hole), hole) for hole in holes]
            stronger = region.strengthened(positions, renamed)
            if stronger is None:
                continue
            region = stronger
            joining = _LoopJoin(watch.solely_owned, makes_a_trip)
            tree = joining.join(plan, _state_after(region, shared, len(state)))
        if all(isinstance(j.sides[0], Hole) and j.type == j.sides[0].type for j in joining.dynamic):
            is_last = ties.is_followed
            after = _kin_after(region, holes, joining.dynamic)
            if ties.follow(region.inputs[first:], after) and region.writes and not is_last:
                followed = ties  # once more, to see which line it concerns
                continue
            owners = [owner for owner, _ in grown]
            appended = [] if region.raised else zip(owners, region.value[len(state) :], strict=True)
            every = [*names, *notes.labels(watch, shared)]
            return Plan(
                *(region, holes, tree, joining.dynamic, shared, with_code, every),
                *(joining.replaced, joining.aliased, list(appended), ties),
            )
        plan = map_leaves(_next_hole, tree)
    raise StagingError(
        f"the types of {', '.join(names)} do not settle",
        code="D2S011",
        site=sites.where(),
        fix="values of one type, before the loop and in it",
    )


def _counts_from_near(hole: Hole) -> bool:
    """Whether counting by one from here does not reach the limit in any time."""
    if not hole.type.weak or not jnp.issubdtype(hole.type.dtype, jnp.integer):
        return True
    if type(hole.init) is int:
        return abs(hole.init) < 2**30
    return not scopes.is_exact()


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


def _kin_after(region: Region, holes: list[Hole], carried: list[Joined]) -> list[Kin]:
    """For each hole, which arrays it may be after an iteration."""
    sides = {id(leaf.sides[0]): leaf.sides[1] for leaf in carried}
    inputs = region.inputs[len(region.inputs) - len(holes) :]
    return [
        Kin([one], [one])
        if isinstance(sides.get(id(hole), FILLER), Filler)
        else region.kin_of(sides[id(hole)])
        for hole, one in zip(holes, inputs, strict=True)
    ]


def _state_after(region: Region, slots: list[Slot], count: int) -> list[Any]:
    """State and shared names after an iteration; after one that fails, the shared names alone."""
    state = [FILLER] * count if isinstance(region.value, Filler) else region.value[:count]
    return [*state, *(content(slot, region.slots) for slot in slots)]


def _new_places(region: Region, shared: list[Slot]) -> list[Slot]:
    """The places that an iteration changed and the loop does not carry yet."""
    places = {slot.identity for slot in shared}
    return [
        slot
        for key, (slot, _) in region.slots.items()
        if key not in places and (key[0], WHOLE) not in places
    ]


def _before(slot: Slot) -> Any:
    now = slot.get()
    return opened(now) if slot.key is WHOLE else boxed(now)


def _blamed(
    found: Difference,
    names: list[str],
    count: int,
    shared: list[Slot],
    watch: Snapshot,
    body: Any,
) -> StagingError:
    what = "before the loop|after an iteration"
    number, _, rest = found.path[1:].partition("]")
    if not number.isdigit() or int(number) < count:
        path = found.path if len(names) > 1 else found.path.removeprefix("[0]")
        return difference(found, names, path, what, sites.where(), (None, body))
    slot = shared[int(number) - count]
    return change(found, slot, watch, rest, what, (None, body))


def _grows(slot: Slot, region: Region, grown: list[tuple[list[Any], int]]) -> bool:
    """Whether an iteration did nothing to a list but append to it."""
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
