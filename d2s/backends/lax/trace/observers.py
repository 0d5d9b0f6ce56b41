"""Who sees what was written: handlers, whoever calls a static function, other names."""

from __future__ import annotations

from typing import Any

from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.scopes import Scope, method_change_of, scopes
from d2s.backends.lax.objects.names import name_of
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import Site, StagingError


def joined(replaced: list[Any], made: list[Any]) -> None:
    """Lists, dicts and objects were made that stand for others now, which other names may have.

    A change in place of one would have to be one of the other, or not, as a run-time value
    wills: it is refused when the function ends.
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
    """All that somebody can get to who sees what was written before a failure.

    Those are handlers and whoever calls a static function. `scope` tells what they could get to
    at the time of a failure, too.
    """
    held = Snapshot()
    inner = [] if scope is None or scope in scopes() else [scope]
    for observer in (*scopes(), *inner):
        if observer.observed and (observer.catches or observer.is_whole):
            for slot in observer.snapshot.filled_slots():
                if slot.is_global:
                    held.add_unvisited(slot.holder)  # of a module, only the names that are watched
                else:
                    held.add(slot.holder)
                held.add(slot.get())
    for _, values in scope.at_failures if scope is not None else ():
        for slot, value in values.values():
            if held.knows(slot.holder):
                held.add(value)
    return held


def is_any_observed(owners: list[Any]) -> bool:
    """Whether somebody who sees what was written before a failure can get to one of these."""
    held = seen_after_failure() if owners else Snapshot()
    return any(held.knows(owner) for owner in owners)


def refuse_aliases(scope: Scope, name: str, site: Site | None = None) -> None:
    """Refuse changes in place of what was joined; `site` is shown where no line is known."""
    for watch in scope.joined:
        for owner, _ in watch.changed():
            place = method_change_of(owner)
            label = sites.target(place)
            label = f"the {type(owner).__name__} {label}" if label else watch.label(owner)
            raise StagingError(
                f"{name} changes {label} in place, which came out of, or went into, a branch or "
                "loop on a run-time value; who else sees the change cannot be known",
                code="D2S077",
                site=place or site,
                fix="a new list, dict or object instead of the change in place",
            )
