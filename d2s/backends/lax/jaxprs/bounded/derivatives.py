"""Forward mode: a loop over values and tangents. Reverse mode: rows from the last to the first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Var, jaxpr_as_fun
from jax.interpreters import ad

from d2s.backends.lax.jaxprs.bounded.flags import chosen, either, laid_out, merged, others
from d2s.backends.lax.jaxprs.bounded.loop import Form, Operands, graph, loop_p, rows
from d2s.backends.lax.private import jvp_jaxpr
from d2s.errors import StagingError


def _jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, test: Any, body: Any, form: Form
) -> tuple[list[Any], list[Any]]:
    values = Operands.of(primals, test, form)
    moving = Operands.of(list(map(_moves, tangents)), test, form)
    carry = moving.carry
    while True:
        flags = [*moving.consts, *carry, *moving.xs]
        ys = [False] * len(rows(body, form))
        both, out = jvp_jaxpr(body, flags, instantiate=[*carry, *ys])
        if list(out[: form.carry]) == carry:
            break
        carry = either(carry, out[: form.carry])
    ys = list(out[form.carry :])
    dots = Operands.of(tangents, test, form)
    d_consts = chosen(moving.consts, dots.consts)
    d_carry = [ad.instantiate_zeros(t) for t in chosen(carry, dots.carry)]
    d_xs = chosen(moving.xs, dots.xs)

    ins = Operands.of(both.jaxpr.invars[: len(flags)], True, form._replace(tests=0))
    d_form = Form(0, len(d_consts), len(d_carry), 0)
    d_ins = Operands.of(both.jaxpr.invars[len(flags) :], True, d_form)
    outs, d_outs = both.jaxpr.outvars[: len(out)], both.jaxpr.outvars[len(out) :]
    count = len(d_carry)
    both = laid_out(
        both,
        [*ins.consts, *d_ins.consts, *ins.carry, *d_ins.carry, *ins.xs, *d_ins.xs],
        [*outs[: form.carry], *d_outs[:count], *outs[form.carry :], *d_outs[count:]],
    )
    if test is not None:
        more = [Var(v.aval) for v in d_ins.carry]
        test = laid_out(test, [*test.jaxpr.invars, *more], test.jaxpr.outvars)
    results = loop_p.bind(
        *values.number,
        *values.tests,
        *values.consts,
        *d_consts,
        *values.carry,
        *d_carry,
        *values.xs,
        *d_xs,
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


def _moves(tangent: Any) -> bool:
    return not isinstance(tangent, ad.Zero) and jax.typeof(tangent).dtype != jax.dtypes.float0


def _transpose(cts: Sequence[Any], *args: Any, test: Any, body: Any, form: Form) -> list[Any]:
    if test is not None:
        raise StagingError(
            "the gradient of a loop needs a bound on its trips, and this loop has none",
            code="D2S043",
            site=form.site,
            fix="max_iterations=... for to_static or in a d2s.options block, or a `for` over a "
            "range whose length is a constant (static_argnames) and that is left early; where no "
            "bound is known, with d2s.options(checkpoints=100): around the loop",
        )
    given = Operands.of(args, test, form)
    linear = Operands(*([ad.is_undefined_primal(v) for v in group] for group in given))
    consts, xs = others(linear.consts, given.consts), others(linear.xs, given.xs)
    carried = [ad.instantiate_zeros(ct) for ct in cts[: form.carry]]
    stacks = cts[form.carry :]
    has_stack = [not isinstance(ct, ad.Zero) for ct in stacks]
    ins = Operands.of(body.in_avals, True, form._replace(tests=0))
    sums = chosen(linear.consts, ins.consts)
    rows_out = chosen(linear.xs, ins.xs)
    function = jaxpr_as_fun(body)
    inner = Form(0, len(consts), len(sums) + form.carry, form.limit, False)

    def step(*inputs: Any) -> list[Any]:
        _, _, consts, carry, xs = Operands.of(inputs, True, inner)
        totals, cts = carry[: len(sums)], carry[len(sums) :]
        known, ct_rows = xs[: len(xs) - sum(has_stack)], xs[len(xs) - sum(has_stack) :]

        def applied(*tangents: Any) -> list[Any]:
            d_form = Form(0, len(sums), form.carry, 0)
            _, _, d_consts, d_carry, d_xs = Operands.of(tangents, True, d_form)
            outs = function(
                *merged(linear.consts, d_consts, consts),
                *d_carry,
                *merged(linear.xs, d_xs, known),
            )
            return [*outs[: form.carry], *chosen(has_stack, outs[form.carry :])]

        kinds = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (*sums, *ins.carry, *rows_out)]
        back = jax.linear_transpose(applied, *kinds)([*cts, *ct_rows])
        d_consts, d_rest = back[: len(sums)], back[len(sums) :]
        return [*(t + d for t, d in zip(totals, d_consts, strict=True)), *d_rest]

    ct_stacks = chosen(has_stack, stacks)
    avals = [
        *others(linear.consts, ins.consts),
        *sums,
        *ins.carry,
        *others(linear.xs, ins.xs),
        *chosen(has_stack, rows(body, form)),
    ]
    outs = loop_p.bind(
        *given.number,
        *consts,
        *(jnp.zeros(a.shape, a.dtype) for a in sums),
        *carried,
        *xs,
        *ct_stacks,
        test=None,
        body=graph(step, avals),
        form=inner._replace(reverse=not form.reverse),
    )
    d_consts, outs = outs[: len(sums)], outs[len(sums) :]
    d_carry, d_xs = outs[: form.carry], outs[form.carry :]
    return [
        None,
        *merged(linear.consts, d_consts, [None] * len(consts)),
        *(ct if is_linear else None for is_linear, ct in zip(linear.carry, d_carry, strict=True)),
        *merged(linear.xs, d_xs, [None] * len(xs)),
    ]


ad.primitive_jvps[loop_p] = _jvp
ad.primitive_transposes[loop_p] = _transpose
