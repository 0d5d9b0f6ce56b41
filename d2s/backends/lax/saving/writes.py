"""What a call changes, in terms of a file: state by name, and the arguments that it was given.

The values of a call are built once (`boundary/results.py`), with numbers in the place of outputs
and objects; where a number ends up tells what the loader has to put there.

    self.total = <output 1>    OutputNumber(1) in the slot `total`   ->   writes "total": ["out", 1]

State keeps its structure: a file holds one graph, which must be the right one for the next call,
too. What has another structure after a call is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.boundary.write_back import Call, Write
from d2s.backends.lax.forms.dtypes import NUMBERS, is_symbolic
from d2s.backends.lax.forms.exact import exact_key
from d2s.backends.lax.forms.kinds.attributes import attribute_names, getattr_raw
from d2s.backends.lax.forms.parts import container_form, is_copied
from d2s.backends.lax.graph.sites import here
from d2s.backends.lax.objects.slots import OuterSlot
from d2s.backends.lax.saving.paths import pytree_names
from d2s.backends.lax.saving.traced import Location, State, TracedGraph, is_given
from d2s.errors import a
from d2s.files.trees import Json, NotDescribed, described, refusal


class OutputNumber(int):
    """Stands for an output of the graph, by its position."""

    def __bool__(self) -> bool:
        raise refusal(
            "what something holds after a failure has another structure than what it holds "
            "without one, which a file cannot tell apart",
            "the same containers and kinds of values before and after what may fail",
            here(),
        )


class OwnerNumber(int):
    """Stands for a mutable object that the call was given."""


def outcome(graph: TracedGraph) -> Call:
    """A call whose outputs are their positions."""
    return Call(
        [OutputNumber(n) for n in range(graph.count)],
        [OwnerNumber(n) for n in range(len(graph.owners))],
    )


class Changes:
    """The writes of one graph: `state` from names to outputs or numbers, `given` as JSON."""

    def __init__(self, graph: TracedGraph, state: State, name: str) -> None:
        self._graph, self._state, self._name = graph, state, name
        self._call = outcome(graph)
        self.state: dict[str, Any] = {}
        self.given: list[Json] = []
        #: numbers that are constants and must become inputs
        self.numbers: set[Location] = set()
        for write in graph.writes:
            self._add(write)

    def _add(self, write: Write) -> None:
        target = write.target
        if isinstance(target, OuterSlot):
            location = id(target.owner), target.name, ""
            for _, build, _ in write.entries:
                label = target.name or "variable"
                self._pair(target.get(), build(self._call), location, label)
            return
        slot = self._graph.walk.owners[target]
        if is_given(slot):
            self.given.append(self._of_argument(write, target))
            return
        owner = self._graph.owners[target]
        if write.refill is not None or write.gone:
            raise self._refusal(f"{slot.label or 'it'} gets another size, or other contents")
        for key, build, _ in write.entries:
            label = f"{slot.label}.{key}" if slot.label else str(key)
            old = _entry(owner, key)
            if old is _MISSING:
                raise self._refusal(f"{label} is new")
            self._pair(old, build(self._call), (id(owner), key), label)

    # -- state ------------------------------------------------------------------------------------

    def _pair(self, old: Any, new: Any, at: Location, label: str) -> None:
        """Compare what a slot of the state holds with what a call leaves there."""
        name = self._state.names.get(at)
        if isinstance(new, OwnerNumber):
            if self._graph.owners[new] is not old:
                raise self._refusal(f"{label} becomes another object")
        elif isinstance(new, OutputNumber) or (type(new) in NUMBERS and name is not None):
            if name is not None:
                self.state[name] = new
            elif type(old) in (int, float, complex):
                self.numbers.add(at)
            else:
                raise self._refusal(f"{label} becomes an array")
        elif is_symbolic(new):
            raise refusal(
                f"a call of {self._name} leaves the size of a named dimension in {label}",
                "the size as an array: jnp.asarray(x.shape[0])",
                here(),
            )
        elif type(new) is not type(old):
            raise self._refusal(f"{label} becomes a {type(new).__name__}")
        elif type(old) in (int, float, complex):
            if exact_key(old) != exact_key(new):
                self.numbers.add(at)
        else:
            self._pair_parts(old, new, at, label)

    def _pair_parts(self, old: Any, new: Any, at: Location, label: str) -> None:
        before, after = _parts(old), _parts(new)
        if before is None or after is None:
            if old is not new and not _is_equal(old, new):
                raise self._refusal(f"{label} becomes {new!r}")
            return
        if list(before) != list(after):
            raise self._refusal(f"{label} gets another size, or other contents")
        # a tuple cannot be changed: whoever holds it holds what is in it
        held = at if isinstance(old, tuple) else (id(old),)
        for key in before:
            self._pair(before[key], after[key], (*held, key), f"{label}.{key}")

    def _refusal(self, what: str) -> Exception:
        return refusal(
            f"a call of {self._name} changes the structure of its state: {what}. A file holds one "
            "graph, and the next call would need another",
            "the attribute in __init__, with an array or a number; or call it once, then save",
            here(),
        )

    # -- arguments --------------------------------------------------------------------------------

    def _of_argument(self, write: Write, target: int) -> Json:
        entries = [
            [self._key(key), self._tree(build), None if flag is None else int(flag(self._call))]
            for key, build, flag in write.entries
        ]
        refill = None
        if isinstance(write.refill, tuple):
            kept, parts = write.refill
            refill = [kept, [self._tree(part) for part in parts]]
        elif write.refill is not None:
            raise refusal(
                f"{self._name} changes a set or a NumPy array that it is given",
                "a list or a dict, or the new value as a result",
                here(),
            )
        return [target, entries, [self._key(key) for key in write.gone], refill]

    def _key(self, key: Any) -> Json:
        try:
            return described(key)
        except NotDescribed:
            what = "the size of a named dimension" if is_symbolic(key) else a(type(key))
            raise refusal(
                f"{self._name} changes an entry of a dict that it is given, whose key is {what}",
                "texts, numbers, or tuples of those as keys",
                here(),
            ) from None

    def _tree(self, build: Callable[[Call], Any]) -> Json:
        return result_tree(build(self._call), self._graph, self._name)


_MISSING = object()


def _entry(owner: Any, key: Any) -> Any:
    form = container_form(type(owner))
    if form is not None:
        return form.get(owner, key) if form.has(owner, key) else _MISSING
    return getattr_raw(owner, key) if key in attribute_names(owner) else _MISSING


def _parts(value: Any) -> dict[Any, Any] | None:
    """The parts of a container or an object, by the names that `paths` gives them."""
    if isinstance(value, tuple):
        return dict(zip(getattr(value, "_fields", range(len(value))), value, strict=True))
    form = container_form(type(value))
    if form is not None and form.has_slots:
        return {key: form.get(value, key) for key in form.keys(value)}
    if isinstance(value, OutputNumber | OwnerNumber | jax.Array | np.ndarray) or value is None:
        return None
    if not jax.tree_util.all_leaves([value]):
        parts = jax.tree_util.tree_leaves(value, is_leaf=lambda v: v is not value)
        return dict(zip(pytree_names(value), parts, strict=True))
    return attributes(value)


def _is_equal(one: Any, other: Any) -> bool:
    try:
        return bool(exact_key(one) == exact_key(other))
    except Exception:
        return False


# -- results --------------------------------------------------------------------------------------


def attributes(value: Any) -> dict[str, Any] | None:
    """The attributes of an object that can be taken apart; None for any other value."""
    if not is_copied(type(value)):
        return None
    return {name: getattr_raw(value, name) for name in attribute_names(value)}


def result_types(graph: TracedGraph) -> list[Any]:
    """The types of the arrays in the result: other types of the state must not change them."""
    seen: list[Any] = []

    def special(part: Any) -> Json:
        if isinstance(part, OutputNumber):
            seen.append((graph.types[part].shape, graph.types[part].dtype))
        return "" if isinstance(part, OutputNumber | OwnerNumber) or is_symbolic(part) else None

    described(graph.build(outcome(graph)), special, attributes, lambda part: "")
    return seen


def result_tree(value: Any, graph: TracedGraph, name: str) -> Json:
    """A value that a call makes, as JSON."""

    def special(part: Any) -> Json:
        if isinstance(part, OutputNumber):
            return ["out", int(part)]
        if is_symbolic(part):
            return ["size", str(part)]
        if isinstance(part, OwnerNumber):
            if is_given(graph.walk.owners[part]):
                return ["given", int(part)]
            raise refusal(
                f"{name} returns {graph.walk.owners[part].label or 'its own object'}, which is "
                "state: that object is not there where the file is loaded",
                "what is in it, as a new tuple or dict",
                here(),
            )
        if isinstance(part, np.ndarray | np.generic | jax.Array):
            raise NotDescribed(part)
        return None

    try:
        return described(value, special, attributes)
    except NotDescribed as error:
        raise refusal(
            f"{name} returns {error}, which a file cannot hold",
            "arrays, numbers, texts, or tuples, lists, dicts and objects of those",
            here(),
        ) from None
