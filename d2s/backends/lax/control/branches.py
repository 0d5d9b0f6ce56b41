"""`if`, the ternary, `and` and `or` on run-time conditions: both sides in one graph.

Each side is traced into a region. What the sides give, wrote and may fail with is joined leaf by
leaf, and one branch of the graph chooses between the joined values::

    if x > 0:               then: y = Out 0 of its graph, code 0
        y = x        =>     else: y = 1.0, code 3 (the `raise`)
    else:                   joined: two leaves, float32 and int32:
        raise E             y, code = lax.cond(x > 0, run then, run else)

`switch` does the same for several regions, `and_` and `or_` for operands.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core.primitives import jit_p

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.may_alias import AliasSet, link_ways
from d2s.backends.lax.control import direct, notes
from d2s.backends.lax.control.ownership import solely_owned
from d2s.backends.lax.failures import failing
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import Type, cast, is_dynamic, type_of
from d2s.backends.lax.forms.join import Difference, Join, Joined
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.trees import FILLER, Out, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Halt
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.output.printing import only_if
from d2s.backends.lax.regions.regions import (
    Region,
    failures,
    fill,
    is_traced,
    leaf_value,
    scalar_predicate,
)
from d2s.backends.lax.regions.trace import trace
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.blame import change, difference, target_names
from d2s.backends.lax.trace.boxes import content
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError

#: equations that may run although their value is not needed
CHEAP = 12
#: operands of a boolean operator that may be blocks inside blocks
LONG = 8


def cond(
    test: Any, then: Callable[..., Any], orelse: Callable[..., Any], state: tuple[Any, ...]
) -> Any:
    """`lax.cond` of two blocks, with everything they wrote, and their failures, joined."""
    predicate = scalar_predicate(test)
    only = solely_owned(then, state)
    watch = Snapshot(then, orelse, *state)
    watch.solely_owned = only
    with only_if(lambda: predicate):
        one = trace(lambda: then(*state), [], watch)
    with only_if(lambda: jnp.logical_not(predicate)):
        other = trace(lambda: orelse(*state), [], watch)
    return join_branches(predicate, one, other, watch, (then, orelse))


#: what a branch became, and its results
Choice = tuple[str, list[Any]]


def join_branches(
    predicate: Any, one: Region, other: Region, before: Snapshot, blocks: tuple[Any, ...] = ()
) -> Any:
    """The branch on two regions; `before` knows what existed before them."""

    def choose(runs: list[Callable[[], list[Any]]], leaves: list[Joined]) -> Choice:
        if _is_nothing(one) and _is_nothing(other):
            pairs = list(zip(*(run() for run in runs), strict=True))
            if all(jnp.ndim(value) == 0 for value, _ in pairs):
                # flags, counters, numbers that are there already: a branch costs more
                return "lax.select", [jax.lax.select(predicate, *pair) for pair in pairs]
        sides = [[_side(leaf, number, 1) for leaf in leaves] for number in (1, 0)]
        outs = direct.branch(predicate, [other, one], sides, [leaf.type for leaf in leaves])
        return "lax.cond", jax.lax.cond(predicate, *runs) if outs is None else outs

    return _join([one, other], choose, before, blocks)


def _is_nothing(region: Region) -> bool:
    """Whether a region computes nothing: what it gives is there already."""
    graph = region.jaxpr.jaxpr
    return not graph.eqns and not region.effects and not region.risky


def switch(
    subject: Any,
    cases: dict[int, Callable[..., Any]],
    orelse: Callable[..., Any],
    state: tuple[Any, ...],
) -> Any:
    """`lax.switch` on a number: the cases in turn, then everything else."""
    blocks = list(dict.fromkeys(cases.values()))
    watch = Snapshot(*blocks, orelse, *state)
    first, numbers = min(cases), [blocks.index(f) for f in cases.values()]
    in_order = list(cases) == list(range(first, first + len(cases)))
    whole = jnp.issubdtype(subject.dtype, jnp.integer)
    if whole and in_order and numbers == list(range(len(cases))):
        inside = (subject >= first) & (subject <= max(cases))
        wide = subject.astype(jnp.int32) if subject.dtype.itemsize < 4 else subject
        index = jnp.where(inside, wide - first, len(cases))
    else:
        index = jnp.asarray(len(blocks))
        for value, number in zip(reversed(cases), reversed(numbers), strict=True):
            index = jnp.where(subject == value, number, index)
    regions = []
    for number, block in enumerate((*blocks, orelse)):
        with only_if(functools.partial(operator.eq, index, number)):
            regions.append(trace(lambda f=block: f(*state), [], watch))

    def choose(runs: list[Callable[[], list[Any]]], _: list[Joined]) -> Choice:
        return f"lax.switch of {len(runs)}", jax.lax.switch(index.astype(jnp.int32), runs)

    return _join(regions, choose, watch, (*blocks, orelse))


def _join(
    regions: list[Region],
    choose: Callable[[list[Callable[[], list[Any]]], list[Joined]], Choice],
    before: Snapshot,
    blocks: tuple[Any, ...] = (),
) -> Any:
    """One of several regions runs: their results, writes and failures are joined.

        a region, as a tree = (value, contents of slots, contents at a failure, code, payload)

    The trees of all regions are joined two by two. Leaves that differ, or are known only when the
    graph runs, are the outputs of one branch, which `choose` puts into the graph; its results fill
    the joined tree, and the slots are set. For three regions a joined leaf has the sides
    ((first, second), third).
    """
    slots = changed_slots(regions)
    told = sorted({n for region in regions for n in region.payload})
    scope = scopes.current()
    # a handler sees what was written before a failure; the code that goes on does not
    seen = scope is not None and scope.observed and any(region.raised for region in regions)
    trees = [_results(region, slots, told, seen) for region in regions]
    joined = _joined_trees(trees, slots, before, blocks)
    leaves = joined.leaves
    became, outs = "", list[Any]()
    if leaves or any(region.effects for region in regions):
        runs = [_branch(n, regions, leaves) for n in range(len(regions))]
        became, outs = choose(runs, leaves)
    memo: dict[Any, Any] = {}
    value, contents, at_failure, code, payload = fill(joined.tree, outs, memo)
    copied = [memo[identity] for identity in joined.aliased if identity in memo]
    observers.joined(joined.replaced, copied)
    for slot, held in zip(slots, at_failure if seen else contents, strict=True):
        slot.set(held)
    if any(region.code is not None for region in regions):
        numbers = set().union(*(region.numbers for region in regions))
        failing.report(code, payload, numbers, failures())
    for slot, held in zip(slots, contents, strict=True):
        slot.set(held)
    for region in regions:
        aliases.refuse_views(region.written.outer, region.jaxpr.consts)
    aliased_by_way = [_may_alias(n, regions, leaves) for n in range(len(regions))]
    for array in {id(a): a for region in regions for a in region.written.outer}.values():
        aliases.spend(array, in_region=True)
    link_ways(outs, aliased_by_way)
    if blocks:
        labels = notes.labels(before, slots)
        notes.branch(blocks, joined.tree[0], labels, joined.tree[1], became)
    if all(region.raised for region in regions):
        raise Halt
    return value


class _JoinedTrees(NamedTuple):
    """The trees of all regions in one."""

    tree: Any
    #: the leaves of the last join that are outputs of the branch
    leaves: list[Joined]
    #: objects of which a new one was made, and the identities of the new ones
    replaced: list[Any]
    aliased: set[Any]


def _joined_trees(
    trees: list[Any], slots: list[Slot], before: Snapshot, blocks: tuple[Any, ...]
) -> _JoinedTrees:
    joining = Join()
    tree, *others = trees
    replaced: list[Any] = []
    aliased: set[Any] = set()
    number = 0
    try:
        while number < len(others):
            joining = Join(before.solely_owned)
            tree = joining.join(map_leaves(_so_far, tree), others[number])
            number += 1
            replaced += joining.replaced
            aliased |= joining.aliased
    except Difference as found:
        sides = (blocks[0], blocks[number + 1]) if blocks else (None, None)
        raise _blamed(found, slots, before, sides, len(trees)) from None
    return _JoinedTrees(tree, joining.dynamic, replaced, aliased)


def _may_alias(number: int, regions: list[Region], leaves: list[Joined]) -> list[AliasSet]:
    """Which arrays the joined leaves may be if this region runs."""
    sides = (_side(leaf, number, len(regions) - 1) for leaf in leaves)
    return [regions[number].aliases_of(side) for side in sides]


def _blamed(
    found: Difference, slots: list[Slot], before: Snapshot, sides: tuple[Any, ...], ways: int
) -> StagingError:
    """The error for two sides that do not fit together."""
    what = "when the condition holds|otherwise" if ways == 2 else "in one case|in another"
    part, _, rest = found.path[1:].partition("]")
    if part not in ("1", "2"):
        path = found.path.removeprefix("[0]")
        return difference(found, target_names(), path, what, sites.where(), sides)
    number, _, rest = rest[1:].partition("]")
    slot = slots[int(number)]
    return change(found, slot, before, rest, what, sides)


def _so_far(leaf: Any) -> Any:
    """A leaf joined of the regions before, as one side of the next join."""
    return Out(leaf, leaf.type, None) if isinstance(leaf, Joined) else leaf


def _branch(number: int, regions: list[Region], leaves: list[Joined]) -> Callable[[], list[Any]]:
    def run() -> list[Any]:
        outs = regions[number].run()
        return [
            leaf_value(_side(leaf, number, len(regions) - 1), outs, leaf.type) for leaf in leaves
        ]

    return run


def _side(leaf: Joined, number: int, last: int) -> Any:
    """What a joined leaf is in one of the regions; the last of them is its second side."""
    if number == last:
        return leaf.sides[1]
    side = leaf.sides[0]
    if isinstance(side, Out) and isinstance(side.index, Joined):
        return _side(side.index, number, last - 1)
    return side


def changed_slots(regions: list[Region]) -> list[Slot]:
    """The slots that some region changed; the slot of a whole list stands for those inside it."""
    slots = {key: slot for region in regions for key, (slot, _) in region.slots.items()}
    whole = {key[0] for key in slots if key[1] is WHOLE}
    return [slot for key, slot in slots.items() if key[1] is WHOLE or key[0] not in whole]


def _results(region: Region, slots: list[Slot], told: list[int], seen: bool) -> tuple[Any, ...]:
    at_failure = [content(slot, region.slots) for slot in slots]
    contents = [FILLER for _ in slots] if region.raised else at_failure
    payload = {n: region.payload.get(n, FILLER) for n in told}
    code = 0 if region.code is None else region.code
    return region.value, contents, at_failure if seen else [], code, payload


def and_(first: Any, rest: tuple[Callable[[], Any], ...]) -> Any:
    return _short_circuit(first, rest, stop_when=False)


def or_(first: Any, rest: tuple[Callable[[], Any], ...]) -> Any:
    return _short_circuit(first, rest, stop_when=True)


def _short_circuit(first: Any, rest: tuple[Callable[[], Any], ...], stop_when: bool) -> Any:
    while rest:
        if is_traced(first):
            return _staged(first, rest, stop_when)
        if bool(first) is stop_when:
            return first
        first, rest = rest[0](), rest[1:]
    return first


def _staged(first: Any, rest: tuple[Callable[[], Any], ...], stop_when: bool) -> Any:
    while len(rest) > LONG:
        # Operands are combined one by one: regions would nest as deep as the chain is long.
        with only_if(_goes_on(first, stop_when)):
            later = trace(rest[0], [], Snapshot(rest[0]))
        if not _is_cheap_bool(first, later):
            break
        first, rest = _combined(first, later, stop_when), rest[1:]
    predicate = scalar_predicate(first)
    watch = Snapshot(*rest)

    def run(kind: Type | None = None) -> Region:
        with only_if(_goes_on(predicate, stop_when)):
            return trace(
                lambda: _as_number(_short_circuit(rest[0](), rest[1:], stop_when), kind), [], watch
            )

    later = run()
    if _is_cheap_bool(first, later):
        return _combined(first, later, stop_when)
    value = later.value
    kind = value.type if isinstance(value, Out) else type_of(value) if is_dynamic(value) else None
    if kind is not None and kind.dtype == jnp.bool_ != first.dtype:
        later = run(type_of(first))
    now = trace(lambda: _as_number(first, kind, is_zero=not stop_when), [], Snapshot())
    one, other = (now, later) if stop_when else (later, now)
    return join_branches(predicate, one, other, watch)


def _as_number(value: Any, other: Type | None, is_zero: bool = False) -> Any:
    """A bool beside a number is a number: False is 0 and True is 1, in Python too.

    So is an integer beside a float if it can only be zero, as the `n` of ``n and x / n`` where that
    is the result.
    """
    if other is None or not is_dynamic(value) or not jnp.issubdtype(other.dtype, jnp.number):
        return value
    own = type_of(value)
    loses_nothing = own.dtype == jnp.bool_ or (
        is_zero
        and jnp.issubdtype(own.dtype, jnp.integer)
        and jnp.issubdtype(other.dtype, jnp.inexact)
    )
    return cast(jnp.asarray(value), other) if loses_nothing and own.shape == other.shape else value


def _goes_on(first: Any, stop_when: bool) -> Callable[[], Any]:
    return lambda: scalar_predicate(first) ^ stop_when


def _combined(first: Any, later: Region, stop_when: bool) -> Any:
    own = later.value
    value = later.run()[own.index] if isinstance(own, Out) else own
    kind = own.type.kind if isinstance(own, Out) else bool
    # not `|`: to the graph that is the sum of two bools, which Python computes otherwise
    found = jnp.where(first, True, value) if stop_when else jnp.logical_and(first, value)
    return origins.made(found, origins.joined(origins.kind_of(first), kind))


def _is_cheap_bool(first: Any, later: Region) -> bool:
    """Whether a logical operation is exact: boolean scalars, nothing that fails or takes long."""
    value = later.value
    scalar = type(value) is bool or (
        isinstance(value, Out) and value.type.dtype == jnp.bool_ and value.type.shape == ()
    )
    equations = later.jaxpr.jaxpr.eqns
    plain = len(equations) <= CHEAP and not any(_has_graphs(e) for e in equations)
    flag = first.dtype == jnp.bool_ and first.shape == ()
    return scalar and flag and later.is_pure and plain


def _has_graphs(equation: Any) -> bool:
    graphs = jax.extend.core.jaxprs_in_params(equation.params)
    return any(True for _ in graphs) and equation.primitive is not jit_p
