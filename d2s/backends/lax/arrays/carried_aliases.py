"""Which arrays that a loop carries may be one array when a trip begins.

``prev = cur`` makes two of them one for the next trip, and a name may have, trips later, the array
that another had before the loop. Both are followed from trip to trip; a body that writes arrays is
then traced once more with the inputs linked, so that it is refused at the line that would not see
the write.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from d2s.backends.lax.arrays.may_alias import Kin, kin, link, related
from d2s.backends.lax.private import trace_of


class Ties:
    """For the inputs of a body, by their numbers."""

    def __init__(self, inits: list[Any]) -> None:
        kins = [kin(init) for init in inits]
        #: what the loop replaces; NumPy arrays among it are looked for when it is done
        self._replaced = {id(init) for init in inits if isinstance(init, np.ndarray)}
        #: pairs that may be one array when a trip begins, and when one ends
        self.pairs = related(kins)
        self.after: set[tuple[int, int]] = set()
        #: what each may be of what there was before the loop, when a trip begins, and when one ends
        self.before = [_by_id(one.every) for one in kins]
        self.ends: list[dict[int, Any]] = [{} for _ in inits]
        self._flows: list[set[int]] = []
        self._outs: list[Kin] = []
        self.is_followed = False

    def tie(self, inputs: tuple[Any, ...]) -> None:
        """Link the inputs of a trace."""
        for one, other in self.pairs:
            link(inputs[one], inputs[other])
        for value, arrays in zip(inputs, self.before, strict=True):
            for key, array in arrays.items():
                if key not in self._replaced:
                    link(value, array)

    def follow(self, inputs: list[Any], outs: list[Kin]) -> bool:
        """Hand on what a trip leaves; whether that says more than was known before the loop."""
        self.is_followed, self._outs = True, outs
        pairs, sizes = len(self.pairs), list(map(len, self.before))
        numbers = {id(one): n for n, one in enumerate(inputs)}
        self._flows = [{numbers[id(a)] for a in out.every if id(a) in numbers} for out in outs]
        self.ends = [_by_id(_from_outside(out.every, inputs)) for out in outs]
        self.after = related(outs)
        while self._go_on():
            pass
        return len(self.pairs) > pairs or list(map(len, self.before)) != sizes

    def _go_on(self) -> bool:
        count = len(self.pairs), sum(map(len, self.before))
        for n, flows in enumerate(self._flows):
            for k in flows:
                self.ends[n] |= self.before[k]
            self.before[n] |= self.ends[n]
        for one, flows in enumerate(self._flows):
            for other in range(one + 1, len(self._flows)):
                if self._meet(flows, self._flows[other]):
                    self.after.add((one, other))
        self.pairs |= self.after
        return count != (len(self.pairs), sum(map(len, self.before)))

    def _meet(self, flows: set[int], others: set[int]) -> bool:
        return any((min(a, b), max(a, b)) in self.pairs for a in flows for b in others)

    def carries(self, inputs: list[Any], out: Kin) -> tuple[set[int], list[Any]]:
        """Under which numbers a value that a trip leaves may be carried on; what else it may be."""
        own = set(map(id, out.every))
        came = {n for n, one in enumerate(inputs) if id(one) in own}
        stays = {n for n, one in enumerate(self._outs) if related([out, one])}
        before = [array for n in came for array in self.before[n].values()]
        return came | stays, [*_from_outside(out.every, inputs), *before]

    def later(self, numbers: set[int]) -> set[int]:
        """Where arrays that are carried under these numbers may be in later trips."""
        found = set(numbers)
        while True:
            more = {n for n, flows in enumerate(self._flows) if flows & found} - found
            if not more:
                return found
            found |= more


def _by_id(arrays: list[Any]) -> dict[int, Any]:
    return {id(array): array for array in arrays}


def _from_outside(arrays: list[Any], inputs: list[Any]) -> list[Any]:
    graphs = {id(trace_of(one)) for one in inputs}
    return [
        a for a in arrays if not isinstance(a, jax.core.Tracer) or id(trace_of(a)) not in graphs
    ]
