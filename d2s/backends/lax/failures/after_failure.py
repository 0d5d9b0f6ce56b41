"""What shared slots hold once a failure at run time is seen: their values when it happened.

In

    try:
        self.count = 1
        check(x)          # may raise
        self.count = 2
    except ValueError:
        ...

the handler has to see 1 in ``self.count``, although the code that goes on without a failure has
stored 2. Each possible failure keeps what the slots held then (`Scope.at_failures`); behind the
``try``, `at_failure` chooses: ``select(code after check != 0, 1, 2)``.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms.dtypes import cast, of_type
from d2s.backends.lax.forms.join import Difference, Join, Joined
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.trees import Filler
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Scope
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.blame import difference
from d2s.backends.lax.trace.boxes import build, known, opened
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError


def keep_transient(scope: Scope, changed: set[tuple[int, Any]]) -> None:
    """Take out slots that hold their old value again, but held another one at some failure.

    They are in no list of changes (`changed` has the identities of those that are), so the value
    that they had at the failure is stored in them here.
    """
    found: dict[tuple[int, Any], Slot] = {}
    for _, values in scope.at_failures:
        for identity, (slot, then) in values.items():
            is_old = identity not in changed and (identity[0], WHOLE) not in changed
            if is_old and slot.key is not WHOLE and (not slot.is_there or slot.get() is not then):
                found[identity] = slot
    if not found:
        return
    seen = observers.seen_after_failure(scope)
    for slot in found.values():
        if seen.knows(slot.holder):
            if not slot.is_there:
                raise _other_size(scope, Slot(slot.owner, WHOLE))
            slot.set(at_failure(scope, slot, slot.get()))


def at_failure(scope: Scope, slot: Slot, now: Any) -> Any:
    """What a handler sees in a slot: its value when the first failure happened.

    `now` is the value if nothing failed. Going from the last possible failure to the first, each
    one that happened replaces the value, so the first has the last word.
    """
    with aliases.given_back():
        for code, values in reversed(scope.at_failures):
            if slot.identity in values:
                then = values[slot.identity][1]
                if slot.key is WHOLE:
                    owned = [(s.key, v) for s, v in values.values() if s.owner is slot.owner]
                    held = {key: part for key, part in owned if key is not WHOLE}
                    if len(held) != len(now) and not _is_seen(scope, slot):
                        continue
                    then = held if isinstance(now, dict) else list(held.values())
                    now = _grown(code, then, now, scope, slot)
                else:
                    now = select(code != 0, then, now)
    return now


def _grown(code: Any, then: Any, now: Any, scope: Scope, slot: Slot) -> Any:
    """A container as a whole: it must have had as many entries at the failure as now."""
    if len(then) == len(now):
        return select(code != 0, opened(then), opened(now))
    raise _other_size(scope, slot)


def _is_seen(scope: Scope, slot: Slot) -> bool:
    return observers.seen_after_failure(scope).knows(slot.holder)


def _other_size(scope: Scope, slot: Slot) -> StagingError:
    named = isinstance(scope.snapshot, Snapshot)  # the copies of a whole function have no labels
    kind, name = type(slot.holder).__name__, sites.target(scopes.method_change_of(slot.owner))
    label = f"the {kind} {name}" if name else f"a {kind}"
    label = scope.snapshot.label_of(slot) if named else label
    return StagingError(
        f"{label} gets more or fewer entries where a failure at run time could be caught",
        code="D2S075",
        site=scopes.change_of(slot.owner),
        fix="entries that are there before the `try`, or an array of fixed size and a counter",
    )


def select(test: Any, one: Any, other: Any) -> Any:
    """One of two values that are both computed already, chosen without a branch."""
    joining = Join()
    try:
        tree = joining.join(known(one, {}), known(other, {}))
    except Difference as found:
        what = "after a failure|otherwise"
        raise difference(found, [], found.path, what, sites.where()) from None

    def pick(leaf: Any) -> Any:
        if not isinstance(leaf, Joined):
            return leaf
        a, b = leaf.sides
        if isinstance(a, Filler) or isinstance(b, Filler):
            return of_type(b if isinstance(a, Filler) else a, leaf.type)
        return of_type(jnp.where(test, cast(a, leaf.type), cast(b, leaf.type)), leaf.type)

    memo: dict[Any, Any] = {}
    picked = build(tree, pick, memo)
    observers.joined(joining.replaced, [memo[n] for n in joining.aliased if n in memo])
    return picked
