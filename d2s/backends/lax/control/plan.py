"""A loop whose types have settled, ready to be put into the graph.

A `Plan` knows the region of one trip, what the loop carries, and which of the carried arrays may be
one array, so that a write to one of them is a write that others would see.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.core import Tracer

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.arrays.carried_aliases import CarriedAliases
from d2s.backends.lax.arrays.may_alias import bases, link
from d2s.backends.lax.control.trips import Hole
from d2s.backends.lax.forms.join import Joined
from d2s.backends.lax.forms.trees import Filler, Out, leaves
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.regions.regions import Region, leaf_value


@dataclass
class Plan:
    """What a loop carries, and the region of one trip."""

    region: Region
    holes: list[Hole]
    tree: Any
    carried: list[Joined]
    slots: list[Slot]
    with_code: bool
    #: the names of the variables that are carried; if a record is made, of the slots, too
    names: list[str]
    #: lists, dicts and objects that its state replaces, and identities of those that replace them
    replaced: list[Any]
    aliased: set[Any]
    #: lists that it appends to, and what it appends in one trip
    appended: list[tuple[list[Any], Any]]
    #: which of the arrays that it carries may be one
    ties: CarriedAliases

    def refuse_other_reads(self, region: Region) -> None:
        """An array that a trip writes must not be read in the loop under another name."""
        written = [array for n in self._written() for array in self.ties.before[n].values()]
        seen = [one for const in region.jaxpr.consts for one in (const, *bases(const))]
        if any(one is array for one in seen for array in written):
            aliases.refuse_alias()

    def _written(self) -> list[int]:
        first = len(self.region.inputs) - len(self.holes)
        return [n - first for n in self.region.written.inputs if n >= first]

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
        """What a trip has written, the loop has written."""
        self.refuse_other_reads(self.region)
        before = [array for n in self._written() for array in self.ties.before[n].values()]
        carried = {id(hole.init) for hole in self.holes}
        written = {id(array): array for array in (*before, *self.region.written.outer)}
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
        """The arrays that a trip appends to lists, with what each may be.

        That is the positions in the carry that it may have had before the trip, and arrays from
        outside of the loop.
        """
        inputs = self.region.inputs[len(self.region.inputs) - len(self.holes) :]
        leaves_of = [leaf for _, tree in self.appended for leaf in leaves(tree)]
        return [
            (leaf, *self.ties.carries(inputs, self.region.aliases_of(leaf)))
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
