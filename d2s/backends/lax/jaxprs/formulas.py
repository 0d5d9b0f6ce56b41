"""Flags and integers of a graph as formulas of its inputs, to reason about trips of a loop.

Branches and selections are choices, small functions of jax's are looked into; whatever else
computes a value leaves it unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")

_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
}
_SAME = ("copy", "copy_p", "stop_gradient", "reshape", "squeeze", "broadcast_in_dim")


class Formula:
    """One value; those that are computed in the same way are the same object.

    known    a number, flags as 0 and 1
    input    what goes into the graph
    plus     a formula and a number
    choose   an index, and what it is for each value of that
    unknown  anything

    and `not`, `and`, `or` and comparisons of others.
    """

    __slots__ = ("name", "parts")

    def __init__(self, name: str, parts: tuple[Any, ...]) -> None:
        self.name, self.parts = name, parts


class Formulas:
    """Reads graphs as formulas."""

    def __init__(self) -> None:
        self._made: dict[Any, Formula] = {}

    def make(self, name: str, *parts: Any) -> Formula:
        key = name, *(id(part) if isinstance(part, Formula) else (part,) for part in parts)
        return self._made.setdefault(key, Formula(name, parts))

    def known(self, value: int) -> Formula:
        return self.make("known", int(value))

    def unknown(self) -> Formula:
        return self.make("unknown", len(self._made))

    def read(self, jaxpr: Any, inputs: Sequence[Formula]) -> list[Formula]:
        """The outputs of a graph, given its inputs."""
        found: dict[Any, Formula] = dict(zip(jaxpr.invars, inputs, strict=True))

        def of(atom: Any) -> Formula:
            if isinstance(atom, Literal):
                return self.known(int(atom.val)) if _is_whole(atom.aval) else self.unknown()
            if atom not in found:
                found[atom] = self.unknown()
            return found[atom]

        for equation in jaxpr.eqns:
            if any(_is_whole(v.aval) for v in equation.outvars):
                outs = self._read(equation, [of(v) for v in equation.invars])
                found.update(zip(equation.outvars, outs, strict=False))
        return [of(v) for v in jaxpr.outvars]

    def _read(self, equation: Any, inputs: list[Formula]) -> list[Formula]:
        """The results of an equation; none where they are unknown."""
        name, params = equation.primitive.name, equation.params
        if name in _CALLS:
            return self.read(params[_CALLS[name]].jaxpr, inputs)
        if name == "cond":
            sides = [self.read(b.jaxpr, inputs[1:]) for b in params["branches"]]
            return [self._chosen(inputs[0], case) for case in zip(*sides, strict=True)]
        if not all(_is_whole(v.aval) for v in (*equation.invars, *equation.outvars)):
            return []
        made = self._made_by(equation, inputs)
        return [] if made is None else [made]

    def _made_by(self, equation: Any, inputs: list[Formula]) -> Formula | None:
        name = equation.primitive.name
        if name in COMPARISONS:
            return self.make(name, *inputs)
        if name == "select_n":
            return self._chosen(inputs[0], inputs[1:])
        if name in ("add", "sub"):
            return self._sum(inputs, 1 if name == "add" else -1)
        if name in ("not", "and", "or"):
            is_flag = equation.outvars[0].aval.dtype == jnp.bool_
            return self.make(name, *inputs) if is_flag else None
        if name == "convert_element_type":
            return self._converted(inputs[0], equation.invars[0].aval, equation.outvars[0].aval)
        return inputs[0] if name in _SAME else None

    def _sum(self, inputs: list[Formula], sign: int) -> Formula | None:
        one, other = inputs
        if other.name == "known":
            return self.make("plus", one, sign * other.parts[0])
        return self.make("plus", other, one.parts[0]) if one.name == "known" and sign > 0 else None

    def _converted(self, one: Formula, old: Any, new: Any) -> Formula | None:
        if old.dtype == jnp.bool_:
            return one
        if new.dtype == jnp.bool_:
            return self.make("ne", one, self.known(0))
        least, most = np.iinfo(old.dtype), np.iinfo(new.dtype)
        return one if most.min <= least.min and least.max <= most.max else None

    def _chosen(self, index: Formula, cases: Sequence[Formula]) -> Formula:
        if all(case is cases[0] for case in cases):
            return cases[0]
        return self.make("choose", index, *cases)


def _is_whole(aval: Any) -> bool:
    """Whether something is a flag or an integer, not an array of them."""
    dtype = getattr(aval, "dtype", None)
    if getattr(aval, "shape", None) != () or dtype is None:
        return False
    return bool(dtype == jnp.bool_ or jnp.issubdtype(dtype, jnp.integer))
