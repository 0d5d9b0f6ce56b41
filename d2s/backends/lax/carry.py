"""What a staged loop carries: the least fixed point of its body.

The body is traced on abstract values until the types of its state no longer change. The last trace
is the graph that runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from d2s.backends.lax import aliases, channels
from d2s.backends.lax.blame import difference
from d2s.backends.lax.dtypes import NUMBERS, Mismatch, Type, cast, is_dynamic, type_of
from d2s.backends.lax.regions import (
    Region,
    leaf_value,
    trace,
)
from d2s.backends.lax.trees import (
    FILLER,
    Difference,
    Filler,
    Join,
    Joined,
    Kept,
    Leaf,
    Out,
    leaves,
    map_leaves,
    nodes,
)
from d2s.backends.lax.watch import Slot, Watch
from d2s.errors import StagingError
from d2s.values import Maybe, Unbound

State = tuple[Any, ...]
CODE = Type((), jnp.dtype("int32"), False)


class Hole(Leaf):
    """A leaf of the state that the loop may carry: its value before the loop, its type in it."""

    def __init__(self, init: Any, kind: Type) -> None:
        self.init, self.type = init, kind

    def before(self) -> Any:
        if isinstance(self.init, Filler):
            return self.type.zeros()
        # jax would keep a reference to a NumPy array, which may be written later
        init = self.init.copy() if isinstance(self.init, np.ndarray) else self.init
        return cast(init, self.type)


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
    #: what existed before the loop, and the containers that its state replaces
    before: Watch
    replaced: list[Any]

    def refuse_other_reads(self, region: Region) -> None:
        """An array that an iteration writes must not be read in the loop under another name."""
        for hole in self._written():
            others = [n for n, h in enumerate(self.holes) if h is not hole and h.init is hole.init]
            first = len(region.jaxpr.jaxpr.invars) - len(self.holes)
            if any(_is_seen_in(hole.init, const) for const in region.jaxpr.consts) or any(
                region.reads(first + n) for n in others
            ):
                aliases.refuse_alias()

    def _written(self) -> list[Hole]:
        first = len(self.region.jaxpr.jaxpr.invars) - len(self.holes)
        return [self.holes[n - first] for n in self.region.spent_inputs if n >= first]

    def link(self, values: list[Any], trips: int | None) -> None:
        """Note which results may be the same array, or, without a trip, the one from before."""
        aliases.link_results(self.carried, values, lambda leaf: self.region.array_of(leaf.sides[1]))
        for leaf, value in zip(self.carried, values, strict=True) if not trips else ():
            aliases.link(value, leaf.sides[0].init)

    def spend(self) -> None:
        """What an iteration has written, the loop has written."""
        self.refuse_other_reads(self.region)
        inits = [hole.init for hole in self._written()]
        written = {id(array): array for array in (*inits, *self.region.spent)}
        for array in written.values():
            if isinstance(array, np.ndarray):
                aliases.refuse_shared(array, None)
            else:
                aliases.spend(array)

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
    watch: Watch,
    names: list[str],
    *,
    numbers: bool,
    code_inside: bool,
    counted: bool,
) -> Plan:
    """Trace the body until the types of the state no longer change.

    extra        types of inputs of the body that are not state (position, rows)
    numbers      treat Python numbers as carried from the start
    code_inside  the body must see the error code of earlier iterations
    counted      the first input of the body is the position of the loop
    """
    shared: list[Slot] = []
    plan = [
        Kept(value) if channels.is_mutable(value) else _holes(value, numbers) for value in state
    ]
    with_code = False
    for _ in range(2 * len(leaves(list(state))) + 12):
        holes = [leaf for leaf in leaves(plan) if isinstance(leaf, Hole)]

        def run(*inputs: Any, plan: list[Any] = plan, holes: list[Hole] = holes) -> Any:
            values = given(plan, holes, inputs[len(extra) :])
            for slot, value in zip(shared, values[len(state) :], strict=True):  # noqa: B023
                slot.set(value)
            kept = [isinstance(part, Kept) for part in plan[: len(state)]]
            own = [v.value if isinstance(v, Kept) else v for v in values[: len(state)]]
            copies = [v for v, is_kept in zip(own, kept, strict=True) if not is_kept and nodes(v)]
            carried = Watch(*copies)
            after = list(body(*inputs[: len(extra)], *own))
            if not carried.is_unchanged():
                raise StagingError(
                    "a list, dict or object that a loop carries is changed in place in it; other "
                    "names of it would not see the change",
                    code="D2S024",
                    site=channels.where(),
                    fix="a new list, dict or object instead of the change in place",
                )
            return after

        kinds = [CODE] * with_code + extra + [hole.type for hole in holes]
        stand_for = [None] * (with_code + len(extra)) + holes
        counts = all(map(_counts_from_near, holes))
        region = trace(
            run,
            kinds,
            watch,
            stand_for=stand_for,
            with_code=with_code,
            carries=True,
            counts=counts,
            counted=counted and (bool(extra) or isinstance(plan[0], Hole)),
        )
        more = [
            slot
            for key, (slot, _) in region.slots.items()
            if key not in {s.identity for s in shared}
        ]
        if more:
            shared += more
            plan += [_holes(slot.get(), numbers) for slot in more]
            continue
        if region.code is not None and code_inside and not with_code:
            with_code = True
            continue
        rebound = _rebound(plan[: len(state)], region)
        if rebound:
            plan = [_holes(v.value, numbers) if v in rebound else v for v in plan]
            continue
        result = _state_after(region, shared, len(state), plan)
        joining = _LoopJoin()
        try:
            tree = joining.join(plan, result)
        except Difference as found:
            labels = names + [f"variable {n + 1}" for n in range(len(plan) - len(names))]
            what = "before the loop|after an iteration"
            raise difference(found, labels, "", what, channels.where()) from None
        if _only_strengthens(joining.dynamic, region):
            # from the second trip on they are array elements; the graph is the same
            changed = [j for j in joining.dynamic if j.type != j.sides[0].type]
            strong = {id(j.sides[0]): Hole(j.sides[0].init, j.type) for j in changed}
            first = with_code + len(extra)
            positions = [first + n for n, hole in enumerate(holes) if id(hole) in strong]
            plan = replaced_leaves(plan, strong)
            holes = [strong.get(id(hole), hole) for hole in holes]
            stronger = region.strengthened(positions, strong)
            if stronger is None:
                continue
            region = stronger
            joining = _LoopJoin()
            tree = joining.join(plan, _state_after(region, shared, len(state), plan))
        if all(isinstance(j.sides[0], Hole) and j.type == j.sides[0].type for j in joining.dynamic):
            whole = [v for v, part in zip(state, plan, strict=False) if type(part) is not Kept]
            before = (*whole, *(s.get() for s in shared))
            replaced = [*joining.replaced, *(v for value in before for v in nodes(value))]
            return Plan(region, holes, tree, joining.dynamic, shared, with_code, watch, replaced)
        plan = map_leaves(_next_hole, tree)
    raise StagingError(
        f"the types of {', '.join(names)} do not settle",
        code="D2S011",
        site=channels.where(),
        fix="values of one type, before the loop and in it",
    )


def _counts_from_near(hole: Hole) -> bool:
    """Whether counting by one from here does not reach the limit in any time."""
    if not hole.type.weak or not jnp.issubdtype(hole.type.dtype, jnp.integer):
        return True
    if type(hole.init) is int:
        return abs(hole.init) < 2**30
    return not channels.is_exact()


def _only_strengthens(changes: list[Joined], region: Region) -> bool:
    """Whether all that changes is that Python numbers meet arrays of their own dtype.

    Then the graph is the same for both, unless it knows another dtype of that kind, with which the
    two promote differently.
    """
    weak = [j for j in changes if isinstance(j.sides[0], Hole) and j.type != j.sides[0].type]
    if not weak or not all(isinstance(j.sides[0], Hole) for j in changes):
        return False
    if not all(j.type == j.sides[0].type._replace(weak=False) for j in weak):
        return False
    met = region.dtypes()
    return not any(
        jnp.issubdtype(dtype, kind) and dtype != j.type.dtype
        for j in weak
        for kind in (jnp.floating, jnp.integer, jnp.complexfloating)
        if jnp.issubdtype(j.type.dtype, kind)
        for dtype in met
    )


def _rebound(plan: list[Any], region: Region) -> list[Any]:
    """Lists, dicts and objects of the state in whose place an iteration puts another one."""
    if region.raised:
        return []
    pairs = zip(plan, region.raw, strict=True)
    return [part for part, new in pairs if isinstance(part, Kept) and new is not part.value]


def _is_seen_in(array: Any, const: Any) -> bool:
    """Whether a constant of a graph is an array, or a view of it."""
    if const is array:
        return True
    return isinstance(const, Tracer) and any(base is array for base in aliases.bases(const))


def _state_after(region: Region, slots: list[Slot], count: int, plan: list[Any]) -> list[Any]:
    """State and shared names after an iteration; after one that fails, the shared names alone."""
    state = [FILLER] * count if isinstance(region.value, Filler) else region.value
    state = [
        part if isinstance(part, Kept) else value for part, value in zip(plan, state, strict=False)
    ]
    shared = [
        region.slots[slot.identity][1] if slot.identity in region.slots else slot.get()
        for slot in slots
    ]
    return [*state, *shared]


def given(plan: list[Any], holes: list[Hole], inputs: Iterable[Any]) -> list[Any]:
    """The plan with values in its holes."""
    return replaced_leaves(plan, dict(zip(map(id, holes), inputs, strict=True)))


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
