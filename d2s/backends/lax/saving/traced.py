"""The graph of a static function for a file: what goes in, what comes out, what it writes.

It is built as for a call (`function/build.py`), on specifications in the place of arrays. The key
of the call says where each leaf was found: a leaf under an argument is an input of every call of
the saved function, any other belongs to the state and gets a name.

    layer.forward(x)    leaves [layer.w, x]   ->   state "w", argument "x"
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.boundary.results import all_leaves, only_leaf
from d2s.backends.lax.boundary.write_back import Build, Write
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.forms.dtypes import Type, cast
from d2s.backends.lax.function.compiled import Compiled
from d2s.backends.lax.function.entries import JittedGraph, Result, ResultInfo
from d2s.backends.lax.function.running import tracing
from d2s.backends.lax.graph.sites import here
from d2s.backends.lax.objects.keys import ChangingNumber, Number
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.output import printing
from d2s.backends.lax.saving.paths import LeafPaths, SlotPath, walk
from d2s.errors import Site
from d2s.files.trees import refusal
from d2s.options.options import Options

#: the kinds of roots under which a call brings its values; what is under other roots is state
ARGUMENT, KEYWORD = "argument", "keyword"

#: identifies a slot of the state: whoever holds it, by identity, and the way from there
Location = tuple[Any, ...]


def is_given(slot: SlotPath) -> bool:
    """Whether every call brings the value of this slot; everything else is state."""
    return slot.root[0] in (ARGUMENT, KEYWORD)


@dataclass
class Locator:
    """Finds the location of a slot, which is the same for all methods of one object."""

    owners: Sequence[Any]
    places: Sequence[OuterSlot]
    function: Any

    def __call__(self, slot: SlotPath) -> Location:
        if slot.holder is not None:
            return id(self.owners[slot.holder]), *slot.inside
        kind, n = slot.root
        if kind == "place":
            place = self.places[n]
            return id(place.owner), place.name, "", *slot.inside
        return id(self.function), n, "", *slot.inside


class State:
    """What the functions of a file share: values by name, whoever holds them now."""

    def __init__(self) -> None:
        self.values: dict[str, Any] = {}
        self.names: dict[Location, str] = {}
        #: the locations of the Python numbers that some function changes
        self.changing: set[Location] = set()

    def value(self, at: Location, label: str, value: Any) -> Any:
        """The value of the state at a location, which gets a name when it is first met."""
        name = self.names.get(at)
        if name is None:
            label = label or "value"
            count = sum(n == label or n.startswith(f"{label}#") for n in self.values)
            name = self.names[at] = f"{label}#{count + 1}" if count else label
            self.values[name] = jnp.asarray(value)
        return self.values[name]


@dataclass
class TracedGraph:
    """One trace: a jaxpr on leaves, and everything that is known about them."""

    jaxpr: Any
    #: the leaves in the order of the jaxpr: abstract ones for arguments, values for state
    leaves: list[Any]
    #: where each of those leaves was found
    slots: list[SlotPath]
    #: numbers whose value turned out to be needed, which are constants of the graph
    fixed: dict[int, Any]
    walk: LeafPaths
    owners: Sequence[Any]
    locate: Locator
    build: Build
    writes: list[Write]
    failures: Failures
    #: how many outputs are values; the error code and the quoted values follow
    count: int
    has_code: bool
    numbers: set[int] = field(default_factory=set)
    quoted: dict[int, int] = field(default_factory=dict)
    prints: list[Site] = field(default_factory=list)

    @property
    def types(self) -> list[Any]:
        return list(self.jaxpr.out_avals)


class Exporter(Compiled):
    """A static function that is looked at and never run: nothing it builds is used by others."""

    def __init__(self, original: Any, options: Options, state: State) -> None:
        super().__init__(original, options)
        self.state = state
        #: examples of numbers that stand for any number of their type; known by identity
        self.loose: list[Any] = []
        #: numbers found in objects that are inputs, by their positions in the key
        self.changing: set[int] = set()

    def graph(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> TracedGraph:
        """Build the graph for arguments like these."""
        with printing.dropped() as prints:
            found: TracedGraph = self.look(args, kwargs, self._use)
        found.prints = prints
        return found

    def _key(self, taken: Any) -> tuple[Any, ...]:
        key = taken.key
        for n in self.changing:
            if type(key[n]) is Number:
                taken.changing[n] = key[n].value
                key[n] = ChangingNumber(type(key[n].value))
        taken.leaves += [taken.changing[n] for n in sorted(taken.changing)]
        return tuple(key)

    def _by_value(self, entry: Any, leaves: Sequence[Any], positions: tuple[int, ...]) -> Any:
        for n in positions:
            if any(leaves[n] is value for value in self.loose):
                raise refusal(
                    f"{self._name} needs the value of a Python {type(leaves[n]).__name__} to build "
                    "its graph; a type is not enough",
                    "the number itself in place of its type: it becomes a constant of the graph",
                    here(),
                )
        return super()._by_value(entry, leaves, positions)

    def _use(self, looked_at: JittedGraph, leaves: Sequence[Any]) -> TracedGraph:
        entry = looked_at.entry
        owners = tracing.owners
        found = walk(entry.key, owners, self._roots(entry))
        order = entry.fill(tuple(_Position(n) for n in range(len(leaves))))
        slots = [found.leaves[n] for n, at in enumerate(order) if type(at) is _Position]
        fixed = {n: at for n, at in enumerate(order) if type(at) is not _Position}
        locate = Locator(owners, entry.places, self.function)
        leaves = [
            leaf if is_given(slot) else self.state.value(locate(slot), slot.label, leaf)
            for slot, leaf in zip(slots, leaves, strict=True)
        ]
        seen: list[Any] = []

        def flat(*inputs: Any) -> Any:
            result = looked_at.function(*inputs)
            seen.append(result)
            if type(result) is not Result:
                return list(result) if type(result) is tuple else [result]
            quoted = [value for n in sorted(result.payload) for value in result.payload[n]]
            code = [] if result.code is None else [result.code]
            return [*result.leaves, *code, *quoted]

        jaxpr = jax.jit(flat).trace(*leaves).jaxpr
        result = seen[-1]
        if type(result) is not Result:
            # nothing but arrays: the graph returns them as they are
            several = type(result) is tuple
            outs, make = (list(result), all_leaves) if several else ([result], only_leaf)
            result = Result(outs, None, {}, ResultInfo(make, [], Failures(), set()))
        info = result.static
        return TracedGraph(
            jaxpr=jaxpr,
            leaves=list(leaves),
            slots=slots,
            fixed=fixed,
            walk=found,
            owners=owners,
            locate=locate,
            build=info.build,
            writes=info.writes,
            failures=info.failures,
            count=len(result.leaves),
            has_code=result.code is not None,
            numbers=info.numbers,
            quoted={n: len(result.payload[n]) for n in sorted(result.payload)},
        )

    def _roots(self, entry: Any) -> list[SlotPath]:
        """The slots of arguments and keywords, then those outside, in the order of the key."""
        count, names = entry.key[0].names, len(self.bound)
        parameters = list(inspect.signature(self.function).parameters)
        roots: list[SlotPath] = []
        for n in range(count):
            name = parameters[min(n, len(parameters) - 1)]
            if n < names:
                # what a method finds in its object goes by the names that it has there
                roots.append(
                    SlotPath(("bound", n), None, (), "" if n == 0 and names == 1 else name)
                )
            else:
                roots.append(SlotPath((ARGUMENT, n - names), None, (), name))
        for name in self.given_names:
            bound = name in self.keywords
            roots.append(SlotPath(("bound", name) if bound else (KEYWORD, name), None, (), name))
        for n, place in enumerate(entry.places):
            roots.append(SlotPath(("place", n), None, (), place_name(place)))
        return roots

    def look(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], use: Any) -> Any:
        self.given_names = [*self.keywords, *(n for n in kwargs if n not in self.keywords)]
        return super().look(args, kwargs, use)


class _Position(int):
    """Stands for an input of the graph, to see which leaves of the key are inputs."""


def place_name(place: OuterSlot) -> str:
    """A name for people: of a global, a variable of a function around, or defaults."""
    if place.is_fixed:
        return f"{place.owner.__name__}.defaults"
    return place.name or "variable"


def refuse_callbacks(graph: TracedGraph, name: str) -> None:
    """Refuse a graph that calls back to Python: where the file is loaded, nobody answers."""
    if graph.failures.calls_back:
        raise refusal(
            f"{name} may fail inside a jax transformation (jax.vmap, jax.lax.scan, ...), which "
            "reaches the caller by a callback only; a file has none",
            "the check outside of the transformed function, or checks=False",
            here(),
        )
    if graph.jaxpr.effects:
        raise refusal(
            f"{name} calls back to Python ({', '.join(map(str, graph.jaxpr.effects))}); a file has "
            "no Python to call",
            "print(...), which is left out, or no callback",
            here(),
        )


def is_weak(kind: Any) -> bool:
    return bool(getattr(kind, "weak_type", False))


def retyped(value: Any, kind: Any) -> Any:
    """A state value as the type that it will have after a call; None where it does not fit."""
    if value.shape != kind.shape:
        return None
    if value.dtype != kind.dtype and not (
        # a Python number takes the type of what it meets: the value is the same in either form
        is_weak(value) and jnp.result_type(value, jnp.zeros((), kind.dtype)) == kind.dtype
    ):
        return None
    exact = np.asarray(value)
    new = exact.astype(kind.dtype)
    if not np.array_equal(new.astype(exact.dtype), exact, equal_nan=exact.dtype.kind in "fc"):
        return None
    return cast(jnp.asarray(exact), Type(kind.shape, kind.dtype, is_weak(kind)))
