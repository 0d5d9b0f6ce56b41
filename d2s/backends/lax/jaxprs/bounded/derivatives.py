"""Derivatives of the loop: forward mode, and the transpose that reverse mode needs.

Forward mode is a loop over values and tangents at once. Reverse mode splits that loop (`split`) and
transposes the part that is linear in the tangents.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Var, jaxpr_as_fun
from jax.interpreters import ad

from d2s.backends.lax.jaxprs.bounded.flags import chosen, either, laid_out, merged, others
from d2s.backends.lax.jaxprs.bounded.loop import LoopForm, Operands, graph, loop_p, rows
from d2s.backends.lax.private import jvp_jaxpr
from d2s.errors import StagingError


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, test: Any, body: Any, form: LoopForm
) -> tuple[list[Any], list[Any]]:
    """Forward mode: one loop over the values and those tangents that are not zero.

        operands  = [count?] [tests] [consts, d_consts] [carry, d_carry] [xs, d_xs]
        results   = [carry, d_carry] [ys, d_ys] [trips?]

    Which parts of the carry have a tangent is a fixed point: a trip may give one to a part that
    began without.
    """
    values = Operands.of(primals, test, form)
    moving = Operands.of(list(map(_moves, tangents)), test, form)
    both, carry, ys = _with_tangents(body, moving, form)
    dots = Operands.of(tangents, test, form)
    d_consts = chosen(moving.consts, dots.consts)
    d_carry = [ad.instantiate_zeros(t) for t in chosen(carry, dots.carry)]
    count = len(d_carry)
    if test is not None:
        first = len(values.consts) + len(d_consts) + form.carry
        more = [Var(aval) for aval in both.in_avals[first : first + count]]
        test = laid_out(test, [*test.jaxpr.invars, *more], test.jaxpr.outvars)
    results = loop_p.bind(
        *values.number,
        *values.tests,
        *values.consts,
        *d_consts,
        *values.carry,
        *d_carry,
        *values.xs,
        *chosen(moving.xs, dots.xs),
        test=test,
        body=both,
        form=form._replace(consts=form.consts + len(d_consts), carry=form.carry + count),
    )
    carried, results = results[: form.carry], results[form.carry :]
    d_carried, results = results[:count], results[count:]
    stacks, results = results[: len(ys)], results[len(ys) :]
    d_stacks, trips = results[: sum(ys)], results[sum(ys) :]
    primals_out = [*carried, *stacks, *trips]
    zeros = [ad.Zero(jax.typeof(value).to_tangent_aval()) for value in primals_out]
    moved = [*carry, *ys, *(False for _ in trips)]
    return primals_out, merged(moved, [*d_carried, *d_stacks], others(moved, zeros))


def _with_tangents(
    body: Any, moving: Operands, form: LoopForm
) -> tuple[Any, list[bool], list[bool]]:
    """The body on values and tangents, and which parts of the carry and of ys have a tangent.

    inputs  = [consts, d_consts] [carry, d_carry] [row of xs, of d_xs]
    outputs = [carry, d_carry] [row of ys, of d_ys]
    """
    carry = moving.carry
    while True:
        flags = [*moving.consts, *carry, *moving.xs]
        ys = [False] * len(rows(body, form))
        both, out = jvp_jaxpr(body, flags, instantiate=[*carry, *ys])
        if list(out[: form.carry]) == carry:
            break
        carry = either(carry, out[: form.carry])
    count = sum(carry)
    ins = Operands.of(both.jaxpr.invars[: len(flags)], True, form._replace(tests=0))
    d_form = LoopForm(0, sum(moving.consts), count, 0)
    d_ins = Operands.of(both.jaxpr.invars[len(flags) :], True, d_form)
    outs, d_outs = both.jaxpr.outvars[: len(out)], both.jaxpr.outvars[len(out) :]
    both = laid_out(
        both,
        [*ins.consts, *d_ins.consts, *ins.carry, *d_ins.carry, *ins.xs, *d_ins.xs],
        [*outs[: form.carry], *d_outs[:count], *outs[form.carry :], *d_outs[count:]],
    )
    return both, carry, list(out[form.carry :])


def _moves(tangent: Any) -> bool:
    """Whether a tangent is there: it is no symbolic zero, and not that of an integer."""
    return not isinstance(tangent, ad.Zero) and jax.typeof(tangent).dtype != jax.dtypes.float0


def _transpose(cts: Sequence[Any], *args: Any, test: Any, body: Any, form: LoopForm) -> list[Any]:
    """The way back through a loop whose body is linear in some of its inputs.

        operands of the loop     = [count] [consts] [carry] [xs]          the carry is all linear
        operands of the way back = [count] [known consts] [sums] [cotangents of the carry]
                                   [known xs] [cotangents of ys]
        its results              = [sums] [cotangents of the carry] [cotangents of the linear xs]

    It makes as many trips, with rows from the last to the first. Invariant: before the way back
    through trip k, the carry has the cotangents of what trip k left, and the sums what the linear
    consts got from all trips after it.

    For ``carry = a * w + carry`` (`a` a row of xs, `w` linear) a trip back is ``sum += a * ct``.
    """
    if test is not None:
        raise _no_bound(form)
    given = Operands.of(args, test, form)
    linear = Operands(*([ad.is_undefined_primal(v) for v in group] for group in given))
    stacks = cts[form.carry :]
    back = _WayBack(linear, [not isinstance(ct, ad.Zero) for ct in stacks], body, form)
    outs = loop_p.bind(
        *given.number,
        *others(linear.consts, given.consts),
        *(jnp.zeros(a.shape, a.dtype) for a in back.sums),
        *(ad.instantiate_zeros(ct) for ct in cts[: form.carry]),
        *others(linear.xs, given.xs),
        *chosen(back.has_stack, stacks),
        test=None,
        body=graph(back.step, back.avals()),
        form=back.form._replace(reverse=not form.reverse),
    )
    count = len(back.sums)
    d_consts, d_carry, d_xs = outs[:count], outs[count:][: form.carry], outs[count + form.carry :]
    return [
        None,
        *merged(linear.consts, d_consts, [None] * linear.consts.count(False)),
        *(ct if is_linear else None for is_linear, ct in zip(linear.carry, d_carry, strict=True)),
        *merged(linear.xs, d_xs, [None] * linear.xs.count(False)),
    ]


class _WayBack:
    """One trip back: `linear` says which operands are, `has_stack` which ys have cotangents."""

    def __init__(self, linear: Operands, has_stack: list[bool], body: Any, form: LoopForm) -> None:
        self._linear, self.has_stack, self._loop = linear, has_stack, form
        self._function = jaxpr_as_fun(body)
        self._ins = Operands.of(body.in_avals, True, form._replace(tests=0))
        self._rows = rows(body, form)
        #: types of the linear consts, whose cotangents are summed up trip by trip
        self.sums = chosen(linear.consts, self._ins.consts)
        known = linear.consts.count(False)
        self.form = LoopForm(0, known, len(self.sums) + form.carry, form.limit, False)

    def avals(self) -> list[Any]:
        """Types of the inputs of `step`."""
        return [
            *others(self._linear.consts, self._ins.consts),
            *self.sums,
            *self._ins.carry,
            *others(self._linear.xs, self._ins.xs),
            *chosen(self.has_stack, self._rows),
        ]

    def step(self, *inputs: Any) -> list[Any]:
        linear, ins, count = self._linear, self._ins, len(self.sums)
        _, _, consts, carry, xs = Operands.of(inputs, True, self.form)
        totals, cts = carry[:count], carry[count:]
        known, ct_rows = xs[: linear.xs.count(False)], xs[linear.xs.count(False) :]

        def applied(*tangents: Any) -> list[Any]:
            d_form = LoopForm(0, count, self._loop.carry, 0)
            _, _, d_consts, d_carry, d_xs = Operands.of(tangents, True, d_form)
            outs = self._function(
                *merged(linear.consts, d_consts, consts),
                *d_carry,
                *merged(linear.xs, d_xs, known),
            )
            return [*outs[: self._loop.carry], *chosen(self.has_stack, outs[self._loop.carry :])]

        types = (*self.sums, *ins.carry, *chosen(linear.xs, ins.xs))
        kinds = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in types]
        back = jax.linear_transpose(applied, *kinds)([*cts, *ct_rows])
        d_consts, d_rest = back[:count], back[count:]
        return [*(t + d for t, d in zip(totals, d_consts, strict=True)), *d_rest]


def _no_bound(form: LoopForm) -> StagingError:
    return StagingError(
        "the gradient of a loop needs a bound on its trips, and this loop has none",
        code="D2S043",
        site=form.site,
        fix="max_iterations=... for to_static or in a d2s.options block, or a `for` over a "
        "range whose length is a constant (static_argnames) and that is left early; where no "
        "bound is known, with d2s.options(checkpoints=100): around the loop",
    )


ad.primitive_jvps[loop_p] = _jvp
ad.primitive_transposes[loop_p] = _transpose
