"""What a call of a loaded function leaves: its result, new state, changed arguments.

Descriptions of values (`files/trees.py`) have leaves of three kinds here, and each becomes a
function that gets the call that has ended:

    ["out", 0]         an output of the graph
    ["given", 1]       an object that the call was given, itself
    ["size", "2*b"]    a number computed from the named dimensions of the arguments
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax.export
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.boundary.write_back import outside
from d2s.backends.lax.forms.dtypes import Type, cast, is_symbolic
from d2s.backends.lax.private import names_in, size_for
from d2s.files.trees import Json, made

#: the greatest length of a text that describes a size: JAX takes its time to read long ones
_LONGEST = 10_000


class Ended(NamedTuple):
    """A call whose graph has run."""

    #: the outputs of the graph
    outs: list[Any]
    #: the mutable objects that the call was given, by number
    owners: Mapping[int, Any]
    #: the named dimensions of its arguments
    sizes: Mapping[str, Any]


def leaves(
    count: int, owners: set[int], names: set[str]
) -> dict[str, Callable[..., Callable[[Ended], Any]]]:
    """The makers of the three kinds of leaves, for a graph with so many outputs."""

    def out(position: int) -> Any:
        if not 0 <= position < count:
            raise ValueError("an output that is not there")
        return lambda call: call.outs[position]

    def given(number: int) -> Any:
        if number not in owners:
            raise ValueError("an argument that is not there")
        return lambda call: call.owners[number]

    def size(text: str) -> Any:
        expression: Any
        if len(text) > _LONGEST:
            raise ValueError("a named dimension that is none")
        (expression,) = jax.export.symbolic_shape(text)
        if not is_symbolic(expression) or not names_in(expression) <= names:
            raise ValueError("a named dimension that is not there")

        def value(call: Ended) -> Any:
            found = size_for(expression, call.sizes)
            return found if is_symbolic(found) else int(found)

        return value

    return {"out": out, "given": given, "size": size}


def positions(tree: Json, special: Mapping[str, Any]) -> list[int]:
    """The outputs that are in a result, in their order there."""
    found: list[int] = []

    def out(position: int) -> Any:
        found.append(position)
        return special["out"](position)

    made(tree, {**special, "out": out})
    return found


def new_value(tree: Json, special: Mapping[str, Any]) -> Any:
    """A new value of the state: an output, or a number."""
    kind, *rest = tree
    if kind == "out":
        return special["out"](*rest)
    if kind != "number":
        raise ValueError("a value of the state that is none")
    array = jnp.asarray(np.frombuffer(bytes.fromhex(rest[1]), np.dtype(rest[0])).reshape(()))
    value = cast(array, Type((), array.dtype, True))
    return lambda call: value


def change_of(tree: Json, special: Mapping[str, Any]) -> Any:
    """What a call does to a list, a dict or an object that it was given."""
    number, entries, gone, refill = tree
    special["given"](number)
    for _, _, flag in entries:
        if flag is not None:
            special["out"](flag)
    stores = [(made(key)(), made(value, special), flag) for key, value, flag in entries]
    keys = [made(key)() for key in gone]
    items = [made(item, special) for item in refill[1]] if refill is not None else []

    def change(call: Ended) -> None:
        owner = call.owners[number]
        new = [
            (key, outside(build(call)))
            for key, build, flag in stores
            if flag is None or bool(call.outs[flag])
        ]
        if refill is not None:
            owner[refill[0] :] = [outside(item(call)) for item in items]
        plain = isinstance(owner, dict | list)
        for key in keys:
            owner.pop(key, None) if plain else vars(owner).pop(key, None)
        for key, value in new:
            if plain:
                owner[key] = value
            else:
                setattr(owner, key, value)

    return change
