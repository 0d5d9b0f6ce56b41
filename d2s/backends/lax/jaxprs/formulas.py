"""Flags and integers of a graph as formulas of its inputs, to reason about trips of a loop.

A body ``i = i + 2 if p else i + 1`` with the inputs `i` and `p` has the output ::

    choose(p, plus(i, 1), plus(i, 2))

Branches and selections are choices, small functions of JAX's are looked into; whatever else
computes a value leaves it unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.extend.core import Literal
from jax.extend.core.primitives import (
    add_p,
    and_p,
    broadcast_in_dim_p,
    closed_call_p,
    cond_p,
    convert_element_type_p,
    copy_p,
    custom_jvp_call_p,
    eq_p,
    ge_p,
    gt_p,
    jit_p,
    le_p,
    lt_p,
    ne_p,
    not_p,
    or_p,
    reshape_p,
    select_n_p,
    squeeze_p,
    stop_gradient_p,
    sub_p,
)

COMPARISONS = ("lt", "le", "gt", "ge", "eq", "ne")

#: what operations of JAX's are in formulas
_NAMES = {
    **{lt_p: "lt", le_p: "le", gt_p: "gt", ge_p: "ge", eq_p: "eq", ne_p: "ne"},
    **{not_p: "not", and_p: "and", or_p: "or"},
}
#: operations that run a graph of their own, and the parameter that has it
_CALLS = {jit_p: "jaxpr", closed_call_p: "call_jaxpr", custom_jvp_call_p: "call_jaxpr"}
#: operations that give a scalar as it is
_SAME = frozenset({copy_p, stop_gradient_p, reshape_p, squeeze_p, broadcast_in_dim_p})


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
        operation, params = equation.primitive, equation.params
        if operation in _CALLS:
            return self.read(params[_CALLS[operation]].jaxpr, inputs)
        if operation is cond_p:
            sides = [self.read(b.jaxpr, inputs[1:]) for b in params["branches"]]
            return [self._chosen(inputs[0], case) for case in zip(*sides, strict=True)]
        if not all(_is_whole(v.aval) for v in (*equation.invars, *equation.outvars)):
            return []
        made = self._made_by(equation, inputs)
        return [] if made is None else [made]

    def _made_by(self, equation: Any, inputs: list[Formula]) -> Formula | None:
        operation = equation.primitive
        if operation in _NAMES:
            # `and` of integers works on their bits
            is_flag = equation.outvars[0].aval.dtype == jnp.bool_
            return self.make(_NAMES[operation], *inputs) if is_flag else None
        if operation is select_n_p:
            return self._chosen(inputs[0], inputs[1:])
        if operation in (add_p, sub_p):
            return self._sum(inputs, 1 if operation is add_p else -1)
        if operation is convert_element_type_p:
            return self._converted(inputs[0], equation.invars[0].aval, equation.outvars[0].aval)
        return inputs[0] if operation in _SAME else None

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
