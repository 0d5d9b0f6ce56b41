"""Who can see what code has written: handlers, the caller of a static function, other names.

After a failure, a handler or the caller sees objects as they were when it happened. Where a branch
chose between two lists, a later ``append`` to the result may be seen by another name, or may not:
`joined` notes such choices, and `refuse_aliases` refuses the change.
"""

from __future__ import annotations

from typing import Any

from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.scopes import Scope, method_change_of, scopes
from d2s.backends.lax.objects.names import name_of
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import Site, StagingError


def joined(replaced: list[Any], made: list[Any]) -> None:
    """Note that the containers `made` stand for those `replaced`, which other names may have.

    Whether a change in place of one of them is a change of the other depends on a run-time value:
    it is refused when the function ends.
    """
    containers = [*replaced, *made]
    if not scopes() and containers:
        kind = type(containers[0]).__name__
        name = next(filter(None, map(name_of, containers)), "")
        raise StagingError(
            f"{f'the {kind} {name}' if name else f'a {kind}'}, which other names may have, too, is "
            "replaced or not as a run-time value decides; outside a static function nobody could "
            "see a change of it",
            code="D2S077",
            site=sites.where(),
            fix=f"d2s.to_static around the function, or a new {kind} on every way",
        )
    if containers:
        scopes()[0].joined += [Snapshot(container) for container in containers]
        scopes()[0].choices.append((made, replaced))


def seen_after_failure(scope: Scope | None = None) -> Snapshot:
    """All objects that a handler, or the caller of a static function, can see after a failure.

    With a scope, also those that they could see at the time of one of its failures.
    """
    held = Snapshot()
    inner = [] if scope is None or scope in scopes() else [scope]
    for observer in (*scopes(), *inner):
        if observer.observed and (observer.catches or observer.is_whole):
            for slot in observer.snapshot.filled_slots():
                if slot.is_global:
                    held.add_unvisited(slot.holder)  # of a module, only some names are remembered
                else:
                    held.add(slot.holder)
                held.add(slot.get())
    for _, values in scope.at_failures if scope is not None else ():
        for slot, value in values.values():
            if held.knows(slot.holder):
                held.add(value)
    return held


def is_any_observed(owners: list[Any]) -> bool:
    """Whether a handler or the caller of a static function can see one of these after a failure."""
    held = seen_after_failure() if owners else Snapshot()
    return any(held.knows(owner) for owner in owners)


def refuse_aliases(scope: Scope, name: str, site: Site | None = None) -> None:
    """Refuse changes in place of what was joined; `site` is shown where no line is known."""
    for snapshot in scope.joined:
        for owner, _ in snapshot.changed():
            place = method_change_of(owner)
            label = sites.target(place)
            label = f"the {type(owner).__name__} {label}" if label else snapshot.label(owner)
            raise StagingError(
                f"{name} changes {label} in place, which came out of, or went into, a branch or "
                "loop on a run-time value; who else sees the change cannot be known",
                code="D2S077",
                site=place or site,
                fix="a new list, dict or object instead of the change in place",
            )
