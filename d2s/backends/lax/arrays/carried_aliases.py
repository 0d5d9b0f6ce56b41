"""Which arrays that a loop carries may be one array when a trip begins.

    for _ in range(n):
        cur[0] += 1.0       # from the second trip on, this may write the array of `prev` as well
        prev = cur          # one array with two names when the next trip begins

An assignment at the end of a trip makes two carried arrays one for the next trip, and several trips
later a name may hold the array that another name held before the loop. Both are followed from trip
to trip until nothing new is found. A body that writes arrays is then traced once more with its
inputs linked accordingly, so that the line that would not see the write is refused.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from d2s.backends.lax.arrays.may_alias import AliasSet, alias_set, link, related
from d2s.backends.lax.private import trace_of


class CarriedAliases:
    """What the values that a loop carries may be; a value is named by its position in the carry.

    Two relations are kept, each for the begin and for the end of a trip:

        pairs  -> after     positions whose values may be one array
        before -> ends      for a position, the arrays from outside the loop that its value may be

    The invariant after `follow`: whatever holds at the end of a trip holds at the begin of the next
    one, so `pairs` contains `after`, and `before` contains `ends`. In the example above, with the
    carry ``[cur, prev]``, `after` gets the pair (0, 1) from the body, and so `pairs` has it too.
    """

    def __init__(self, inits: list[Any]) -> None:
        sets = [alias_set(init) for init in inits]
        #: identities of the NumPy arrays that the loop starts with: run-time values take their
        #: place, and who else holds them is looked for when the loop is done
        self._replaced = {id(init) for init in inits if isinstance(init, np.ndarray)}
        #: pairs of positions whose values may be one array when a trip begins, and when one ends
        self.pairs = related(sets)
        self.after: set[tuple[int, int]] = set()
        #: for each position, the arrays from outside the loop, by identity, that its value may be
        #: when a trip begins, and when one ends
        self.before = [_by_id(one.every) for one in sets]
        self.ends: list[dict[int, Any]] = [{} for _ in inits]
        #: for each position at the end of a trip, the positions at its begin it may have come from
        self._flows: list[set[int]] = []
        #: for each position, what its value may be at the end of a trip
        self._outs: list[AliasSet] = []
        self.is_followed = False

    def tie(self, inputs: tuple[Any, ...]) -> None:
        """Link the inputs of a trace of the body with each other and with arrays from outside."""
        for one, other in self.pairs:
            link(inputs[one], inputs[other])
        for value, arrays in zip(inputs, self.before, strict=True):
            for key, array in arrays.items():
                if key not in self._replaced:
                    link(value, array)

    def follow(self, inputs: list[Any], outs: list[AliasSet]) -> bool:
        """Hand on what a trip leaves to the trips after it, up to a fixed point.

        `inputs` are the carried values when the trip begins, `outs` what they may be when it ends.
        Tells whether more is known now than before: the body has then been traced without it.
        """
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
        """Hand on what is known by one more trip; whether that was anything new."""
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
        """Whether two values may be one array that came from these positions."""
        return any((min(a, b), max(a, b)) in self.pairs for a in flows for b in others)

    def carries(self, inputs: list[Any], out: AliasSet) -> tuple[set[int], list[Any]]:
        """The positions in the carry that a value which a trip leaves may share an array with, and
        the arrays from outside the loop that it may be.
        """
        own = set(map(id, out.every))
        came = {n for n, one in enumerate(inputs) if id(one) in own}
        stays = {n for n, one in enumerate(self._outs) if related([out, one])}
        before = [array for n in came for array in self.before[n].values()]
        return came | stays, [*_from_outside(out.every, inputs), *before]

    def later(self, numbers: set[int]) -> set[int]:
        """The positions at which arrays that are at these positions may be in later trips."""
        found = set(numbers)
        while True:
            more = {n for n, flows in enumerate(self._flows) if flows & found} - found
            if not more:
                return found
            found |= more


def _by_id(arrays: list[Any]) -> dict[int, Any]:
    return {id(array): array for array in arrays}


def _from_outside(arrays: list[Any], inputs: list[Any]) -> list[Any]:
    """Those of the arrays that are not of the graph of the body, whose inputs are given."""
    graphs = {id(trace_of(one)) for one in inputs}
    return [
        a for a in arrays if not isinstance(a, jax.core.Tracer) or id(trace_of(a)) not in graphs
    ]
