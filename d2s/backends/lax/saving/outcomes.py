"""What a call of a loaded function leaves: makers of leaves, new state, changed arguments.

They get the outputs of the graph, and the mutable objects of the call by number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.dtypes import Type, cast
from d2s.backends.lax.results import outside
from d2s.deploy.trees import Json, made


def leaves(count: int, owners: set[int]) -> dict[str, Callable[..., Any]]:
    """The makers of outputs, of which there are so many, and of objects that the call was given."""

    def out(position: int) -> Any:
        if not 0 <= position < count:
            raise ValueError("an output that is not there")
        return lambda outs, given: outs[position]

    def given(number: int) -> Any:
        if number not in owners:
            raise ValueError("an argument that is not there")
        return lambda outs, given: given[number]

    return {"out": out, "given": given}


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
    return lambda outs, given: value


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

    def change(outs: list[Any], owners: Mapping[int, Any]) -> None:
        owner = owners[number]
        new = [
            (key, outside(build(outs, owners)))
            for key, build, flag in stores
            if flag is None or bool(outs[flag])
        ]
        if refill is not None:
            owner[refill[0] :] = [outside(item(outs, owners)) for item in items]
        plain = isinstance(owner, dict | list)
        for key in keys:
            owner.pop(key, None) if plain else vars(owner).pop(key, None)
        for key, value in new:
            if plain:
                owner[key] = value
            else:
                setattr(owner, key, value)

    return change
