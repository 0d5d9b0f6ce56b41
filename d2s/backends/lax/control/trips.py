"""One trip of a loop on abstract values: what goes into the body, and what comes out of it.

    plan  = the state as a tree, with a `Hole` for each leaf that is or may become a run-time value
    trip  = the body on the plan with tracers in its holes; then the state after it, taken apart

For ``while ...: l.append(x); x = x * 2`` the plan is ``[list, Hole(x)]``. While the trip runs, a
`Recorder` stands in the place of the list, which takes what is appended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.forms.dtypes import Type, cast
from d2s.backends.lax.forms.kinds.form import WHOLE
from d2s.backends.lax.forms.trees import Filler, Known, Leaf, boxes_in
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.jaxprs.ranges.rules import Span
from d2s.backends.lax.objects.names import name_of
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.regions.regions import Handed
from d2s.backends.lax.trace.boxes import Taking, build
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError

State = tuple[Any, ...]


class Hole(Leaf):
    """A leaf of the state that the loop may carry: its value before the loop, its type in it.

    `span` is the range that an integer has at the head of a trip: what is taken for granted while
    the trip is traced, and proven when its graph is there (`carried_spans`).
    """

    def __init__(self, init: Any, kind: Type, span: Span | None = None) -> None:
        self.init, self.type, self.span = init, kind, span
        #: its range where the test of the loop is asked, which also is after the last trip
        self.asked: Span | None = None

    def before(self) -> Any:
        if isinstance(self.init, Filler):
            return self.type.zeros()
        # JAX would keep a reference to the NumPy array, which the program may write later
        init = self.init.copy() if isinstance(self.init, np.ndarray) else self.init
        return cast(init, self.type)


def given(
    plan: list[Any], holes: list[Hole], inputs: Iterable[Any], memo: dict[Any, Any] | None = None
) -> list[Any]:
    """The plan with values in its holes."""
    by = dict(zip(map(id, holes), inputs, strict=True))
    made: dict[Any, Any] = {} if memo is None else memo
    return [build(value, lambda leaf: by.get(id(leaf), leaf), made) for value in plan]


class Last(Slot):
    """The last item of a list that a loop appends to, for a body that reads it."""

    def __init__(self, owner: list[Any]) -> None:
        super().__init__(owner, "last")

    def get(self) -> Any:
        return self.owner[-1]

    def set(self, value: Any) -> None:
        """Nothing to do: after the loop the item is in the list."""


class _NamedRecorder(Recorder):
    """A recorder that finds out what the program calls the list that it stands for."""

    def called(self) -> str:
        return name_of(self)


class Trip(Handed):
    """One run of the body on abstract values."""

    def __init__(
        self,
        body: Callable[..., State],
        plan: list[Any],
        holes: list[Hole],
        shared: list[Slot],
        grown: list[tuple[list[Any], int]],
        watch: Snapshot,
        extra: int,
        state: State,
    ) -> None:
        self._body, self._plan, self._holes, self._shared = body, plan, holes, shared
        self._grown, self._watch, self._extra, self._state = grown, watch, extra, state
        self._memo: dict[Any, Any] = {}
        #: positions in the state of lists, dicts and objects that the trip has changed in place
        self.changed: list[int] = []
        self._after: list[Any] = []
        self._recorders: list[Recorder] = []

    def run(self, *inputs: Any) -> Trip:
        count = len(self._state)
        self._memo = {}
        self._recorders = [_NamedRecorder(owner, inputs[0], count) for owner, count in self._grown]
        self._memo |= {id(r.owner): r for r in self._recorders}
        values = given(self._plan, self._holes, inputs[self._extra :], self._memo)
        for slot, value in zip(self._shared, values[count:], strict=True):
            if isinstance(slot, Last):
                self._memo[id(slot.owner)].last = [value]
            else:
                slot.set(value)
        places = self._stand_in()
        carried = [Snapshot(value) for value in values]
        after = list(self._body(*inputs[: self._extra], *values[:count]))
        for place, owner, recorder in places:
            if place.get() is recorder:
                place.set(owner)
        for recorder in self._recorders:
            if not recorder.is_only_appended_to():
                _refuse_surgery(self._label(recorder))
        now = [*after, *(slot.get() for slot in self._shared)]
        for n, watch in enumerate(carried):
            if not isinstance(self._plan[n], Known) and not watch.is_unchanged():
                if now[n] is not values[n]:
                    _refuse_changes(next(watch.changed())[0])
                self.changed.append(n)
        self._after = after
        return self

    def _stand_in(self) -> list[tuple[Slot, list[Any], Recorder]]:
        """Put a recorder into every slot that holds its list."""
        stands = {id(r.owner): r for r in self._recorders}
        for recorder in self._recorders:
            if self._watch.is_fixed_in_something(recorder.owner):
                _refuse_hidden(self._label(recorder))
        places = []
        names = self._watch.global_slots() if stands else []
        for place in (*self._watch.filled_slots(), *names) if stands else ():
            held = place.get()
            if id(held) in stands:
                if scopes.copies() is None and any(place is name for name in names):
                    _refuse_hidden(f"the list `{place.key}`")  # the name belongs to everybody
                places.append((place, held, stands[id(held)]))
                place.set(stands[id(held)])
        return places

    def _label(self, recorder: Recorder) -> str:
        return self._watch.label_of(Slot(recorder.owner, WHOLE))

    def take(self, take: Taking) -> list[Any]:
        originals = {b.identity: b.origin for b in boxes_in(self._plan)}
        made = {id(v): originals[key] for key, v in self._memo.items() if key in originals}
        take.copies = made
        state = [take(value) for value in self._after]
        for slot in self._shared:
            if isinstance(slot, Last):
                recorder = self._memo[id(slot.owner)]
                take.view[slot.identity] = slot, take((recorder.added or recorder.last)[-1])
        taken = [*state, *(take(r.added, compact=True) for r in self._recorders)]
        # let go of the values: those that nobody else holds are no outputs of the graph
        self._memo, self._after, self._recorders = {}, [], []
        return taken


def _refuse_changes(owner: Any) -> None:
    site = scopes.change_of(owner)
    label = (
        f"{sites.target(site)}, which a loop carries,"
        if sites.target(site)
        else (f"a {type(owner).__name__} that a loop carries")
    )
    raise StagingError(
        f"{label} is changed in place in it, and another takes its place; other names of it would "
        "not see the change",
        code="D2S077",
        site=site,
        fix="a new list, dict or object instead of the change in place",
    )


def _refuse_hidden(label: str) -> None:
    raise StagingError(
        f"{label}, which a staged loop appends to, is also in a tuple, a global name, a class or a "
        "bound method, where the loop could read it",
        code="D2S076",
        site=sites.where(),
        fix="the list in a variable, an attribute, a list or a dict alone",
    )


def _refuse_surgery(label: str) -> None:
    raise StagingError(
        f"{label}, which a staged loop appends to, is changed in another way in the loop, too",
        code="D2S076",
        site=sites.where(),
        fix="an array of fixed size, written at an index",
    )
