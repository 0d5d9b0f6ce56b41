"""Linearisation: what no tangent changes runs first, and leaves what they need."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
from jax.extend.core import ClosedJaxpr, Literal, Var, new_jaxpr_eqn
from jax.interpreters import partial_eval as pe

from d2s.backends.lax.jaxprs.bounded.branches import through_branches
from d2s.backends.lax.jaxprs.bounded.flags import Flags, chosen, either, laid_out, merged, others
from d2s.backends.lax.jaxprs.bounded.loop import Form, Operands, loop_p, rows, unmasked
from d2s.backends.lax.private import partial_eval_jaxpr_nounits


class _Split:
    """The body in two: what can run now, and what waits for values that are not known yet."""

    def __init__(self, unknown: Operands, test: Any, body: Any, form: Form) -> None:
        carry = unknown.carry
        while True:
            flags = [*unknown.consts, *carry, *unknown.xs]
            instantiate = [*carry, *(False for _ in rows(body, form))]
            known, later, out, kept = partial_eval_jaxpr_nounits(body, flags, instantiate)
            if list(out[: form.carry]) == carry:
                break
            carry = either(carry, out[: form.carry])
        self.known, self.later, self.residuals = known, later, len(kept)
        self.unknown = unknown._replace(carry=carry)
        self.carry, self.ys = carry, list(out[form.carry :])
        self.test = test
        #: whether the number of trips is known now
        self.counts = not any([*unknown.number, *unknown.tests])
        if test is not None and self.counts:
            _, used = pe.dce_jaxpr(test.jaxpr, [True])
            self.counts = not any(u and uk for u, uk in zip(used[form.tests :], carry, strict=True))
            carried = test.jaxpr.invars[form.tests :]
            invars = [*test.jaxpr.invars[: form.tests], *others(carry, carried)]
            self.test = laid_out(test, invars, test.jaxpr.outvars) if self.counts else None

    def operands(self, args: Sequence[Any], test: Any, form: Form) -> tuple[Operands, Operands]:
        """What is known and what is not."""
        given = Operands.of(args, test, form)
        pairs = list(zip(self.unknown, given, strict=True))
        return (
            Operands(*(others(flags, values) for flags, values in pairs)),
            Operands(*(chosen(flags, values) for flags, values in pairs)),
        )

    def alone(self) -> Any:
        """The body of what can run now, without what the other part needs of it."""
        jaxpr = self.known.jaxpr
        outvars = jaxpr.outvars[: len(jaxpr.outvars) - self.residuals]
        return laid_out(self.known, jaxpr.invars, outvars)

    def form(self, known: Operands, form: Form, trips: bool) -> Form:
        return form._replace(consts=len(known.consts), carry=len(known.carry), trips=trips)


def _partial_eval(trace: Any, *tracers: Any, test: Any, body: Any, form: Form) -> list[Any]:
    unknown = [not t.is_known() for t in tracers]
    if form.masked and any(unknown):
        carry = Operands.of(tracers, test, form).carry
        safe = [t.is_known() for t in carry]
        known = [t.pval.get_known() if t.is_known() else t for t in tracers]
        args, body, form = unmasked(known, test, body, form, safe)
        tracers = tuple(trace.to_jaxpr_tracer(arg) for arg in args)
        unknown = [not t.is_known() for t in tracers]
    split = _Split(Operands.of(unknown, test, form), test, body, form)
    if not any(unknown) or not split.counts:
        params = {"test": test, "body": body, "form": form}
        outs: list[Any] = trace.default_process_primitive(loop_p, tracers, params)
        return outs
    now, later = split.operands(tracers, test, form)
    if form.limit is None:
        return _run_twice(trace, split, tracers, now, test, body, form)
    now = Operands(*([t.pval.get_known() for t in group] for group in now))
    first = split.form(now, form, trips=test is not None)
    results, fixed, taped = _run_known(split, now, first)
    count = [results.pop()] if first.trips else now.number
    trips = count if form.trips else []

    # residuals come first in the graph of what waits
    waiting = split.later.jaxpr.invars
    inner = form._replace(
        tests=0, consts=len(later.consts), carry=len(later.carry), trips=False, checked=False
    )
    ins = Operands.of(waiting[split.residuals :], True, inner)
    is_fixed = [value is not None for value in fixed]
    residuals = waiting[: split.residuals]
    last = laid_out(
        split.later,
        [
            *chosen(is_fixed, residuals),
            *ins.consts,
            *ins.carry,
            *others(is_fixed, residuals),
            *ins.xs,
        ],
        split.later.jaxpr.outvars,
    )
    operands = [
        *count,
        *(value for value in fixed if value is not None),
        *later.consts,
        *(trace.instantiate_const(t) for t in later.carry),
        *taped,
        *later.xs,
    ]
    params = {
        "test": None,
        "body": last,
        "form": inner._replace(consts=inner.consts + sum(is_fixed)),
    }
    waits = trace.default_process_primitive(
        loop_p, [trace.to_jaxpr_tracer(o) for o in operands], params
    )
    carried, stacks = results[: first.carry], results[first.carry :]
    return [
        *merged(split.carry, waits[: inner.carry], carried),
        *merged(split.ys, waits[inner.carry :], stacks),
        *trips,
    ]


def _run_known(split: _Split, now: Operands, form: Form) -> tuple[list[Any], list[Any], list[Any]]:
    """Run what is known. Its results; for each residual its value, if no trip changes it, or None;
    the stacks of the others.
    """
    jaxpr = split.known.jaxpr
    consts = jaxpr.invars[: form.consts]
    own = len(jaxpr.outvars) - split.residuals
    later = split.later.jaxpr
    residuals = [
        through_branches(jaxpr, kept, later, read)
        for kept, read in zip(jaxpr.outvars[own:], later.invars, strict=False)
    ]
    changing: set[Any] = set(jaxpr.invars[form.consts :])
    for equation in jaxpr.eqns:
        if any(isinstance(v, Var) and v in changing for v in equation.invars):
            changing.update(equation.outvars)
    is_fixed = [isinstance(v, Literal) or v not in changing for v in residuals]
    outside, _ = pe.dce_jaxpr(
        jaxpr.replace(
            invars=[*jaxpr.constvars, *consts],
            constvars=[],
            outvars=chosen(is_fixed, residuals),
            debug_info=jaxpr.debug_info.with_unknown_names(),
        ),
        True,
        True,
    )
    fixed = jax.core.eval_jaxpr(outside, (), *split.known.consts, *now.consts)

    # a row of xs needs no copy, and what is a result already needs no second one
    places: dict[Any, int] = {}
    for n, var in enumerate(jaxpr.outvars[form.carry : own]):
        places.setdefault(var, n) if isinstance(var, Var) else None
    rows_in = dict(zip(jaxpr.invars[form.consts + form.carry :], now.xs, strict=True))
    extra: list[Any] = []
    for var in others(is_fixed, residuals):
        if var not in rows_in and var not in places:
            places[var] = own - form.carry + len(extra)
            extra.append(var)
    inside, _ = pe.dce_jaxpr(
        jaxpr.replace(
            invars=[*jaxpr.constvars, *jaxpr.invars],
            constvars=[],
            outvars=[*jaxpr.outvars[:own], *extra],
            debug_info=jaxpr.debug_info.with_unknown_names(),
        ),
        True,
        True,
    )
    constants = list(split.known.consts)
    operands = now._replace(consts=[*constants, *now.consts])
    form = form._replace(consts=form.consts + len(constants))
    results = list(
        loop_p.bind(*operands.all(), test=split.test, body=ClosedJaxpr(inside, []), form=form)
    )
    stacks = results[form.carry : form.carry + own - form.carry + len(extra)]
    taped = [
        rows_in[var] if var in rows_in else stacks[places[var]]
        for var in others(is_fixed, residuals)
    ]
    del results[own : own + len(extra)]
    values = iter(fixed)
    return results, [next(values) if flag else None for flag in is_fixed], taped


def _run_twice(
    trace: Any, split: _Split, tracers: Any, now: Operands, test: Any, body: Any, form: Form
) -> list[Any]:
    """Without a bound nothing can be kept: tangents come from another run of it all."""
    known = Operands(*([t.pval.get_known() for t in group] for group in now))
    params = {"test": split.test, "body": split.alone(), "form": split.form(known, form, False)}
    results = loop_p.bind(*known.all(), **params)
    waits = trace.default_process_primitive(
        loop_p, tracers, {"test": test, "body": body, "form": form}
    )
    return merged(split.carry, chosen(split.carry, waits), results)


def _partial_eval_custom(
    saveable: Any, unknown: Sequence[bool], instantiated: Sequence[bool], equation: Any
) -> tuple[Any, Any, Flags, Flags, list[Any]]:
    """For `jax.checkpoint`: the known part alone now, and all of it again later."""
    test, body, form = (equation.params[name] for name in ("test", "body", "form"))
    split = _Split(Operands.of(unknown, test, form), test, body, form)
    needed = [
        v
        for v, here in zip(equation.invars, instantiated, strict=True)
        if isinstance(v, Var) and not here
    ]
    everything = [True] * len(equation.outvars)
    if not split.counts:
        return None, equation, everything, everything, needed
    now, _ = split.operands(equation.invars, test, form)
    flags = [*split.carry, *split.ys, *(False for _ in range(form.trips))]
    first = new_jaxpr_eqn(
        now.all(),
        others(flags, equation.outvars),
        loop_p,
        {"test": split.test, "body": split.alone(), "form": split.form(now, form, form.trips)},
        equation.effects,
        equation.source_info,
        equation.ctx,
    )
    return first, equation, flags, everything, needed


pe.custom_partial_eval_rules[loop_p] = _partial_eval
pe.partial_eval_jaxpr_custom_rules[loop_p] = _partial_eval_custom
