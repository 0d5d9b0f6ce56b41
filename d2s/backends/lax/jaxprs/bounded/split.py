"""Linearisation: a loop in two, what is known runs now, and what is not waits.

For a gradient JAX runs a function on its values and stages what its tangents do, which are not
known yet. The body of a loop is split in the same way: a loop over the values runs, and keeps what
the tangents need of each trip (the residuals); a loop over the tangents reads that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
from jax.extend.core import ClosedJaxpr, Literal, Var, new_jaxpr_eqn
from jax.interpreters import partial_eval as pe

from d2s.backends.lax.jaxprs.bounded.branches import through_branches
from d2s.backends.lax.jaxprs.bounded.flags import Flags, chosen, either, laid_out, merged, others
from d2s.backends.lax.jaxprs.bounded.loop import LoopForm, Operands, loop_p, rows, unmasked
from d2s.backends.lax.private import partial_eval_jaxpr_nounits


class _Split:
    """The body in two: what can run now, and what waits for values that are not known yet."""

    def __init__(self, unknown: Operands, test: Any, body: Any, form: LoopForm) -> None:
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

    def operands(self, args: Sequence[Any], test: Any, form: LoopForm) -> tuple[Operands, Operands]:
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

    def form(self, known: Operands, form: LoopForm, trips: bool) -> LoopForm:
        return form._replace(consts=len(known.consts), carry=len(known.carry), trips=trips)


def _partial_eval(trace: Any, *tracers: Any, test: Any, body: Any, form: LoopForm) -> list[Any]:
    """Run what is known now; stage a loop for the rest, which reads what the first one kept.

        operands        = [count?] [tests] [consts] [carry] [xs]       some known, some not
        the known loop  = [count?] [tests] [consts] [carry] [xs]       of the known ones; runs now
        its tape        = what the rest needs of each trip             fixed values, and stacks
        the other loop  = [count] [fixed] [consts] [carry] [stacks] [xs]   of the unknown ones

    Invariant: the number of trips is known now, so the other loop counts and has no test. Where it
    is not known, the whole loop waits.

    For ``while i < n: y = y * f(i); i += 1`` with an unknown tangent of `y`, the known loop
    computes `i`, `y` and the factors ``f(i)``, one for each trip; the other multiplies by them.
    """
    if form.masked and not all(t.is_known() for t in tracers):
        tracers, body, form = _with_flags_in_body(trace, tracers, test, body, form)
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
    results, tape = _run_known(split, now, first)
    count = [results.pop()] if first.trips else now.number
    waits = _stage_unknown(trace, split, later, count, tape, form)
    carried, stacks = results[: first.carry], results[first.carry :]
    return [
        *merged(split.carry, waits[: len(later.carry)], carried),
        *merged(split.ys, waits[len(later.carry) :], stacks),
        *(count if form.trips else []),
    ]


def _with_flags_in_body(
    trace: Any, tracers: Sequence[Any], test: Any, body: Any, form: LoopForm
) -> tuple[tuple[Any, ...], Any, LoopForm]:
    """The loop of many lanes with their flags in its body, before it is split."""
    safe = [t.is_known() for t in Operands.of(tracers, test, form).carry]
    known = [t.pval.get_known() if t.is_known() else t for t in tracers]
    args, body, form = unmasked(known, test, body, form, safe)
    return tuple(trace.to_jaxpr_tracer(arg) for arg in args), body, form


class _Tape(NamedTuple):
    """What the loop that runs now leaves for the one that waits: the residuals of its trips."""

    #: for each residual its value, if no trip changes it, or None
    fixed: list[Any]
    #: for each of the others its values, a row for each trip
    stacks: list[Any]


def _stage_unknown(
    trace: Any, split: _Split, later: Operands, count: list[Any], tape: _Tape, form: LoopForm
) -> list[Any]:
    """The loop over what is not known; its body has the inputs [residuals] [unknown ones]."""
    waiting = split.later.jaxpr.invars
    inner = form._replace(
        tests=0, consts=len(later.consts), carry=len(later.carry), trips=False, checked=False
    )
    ins = Operands.of(waiting[split.residuals :], True, inner)
    is_fixed = [value is not None for value in tape.fixed]
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
        *(value for value in tape.fixed if value is not None),
        *later.consts,
        *(trace.instantiate_const(t) for t in later.carry),
        *tape.stacks,
        *later.xs,
    ]
    params = {
        "test": None,
        "body": last,
        "form": inner._replace(consts=inner.consts + sum(is_fixed)),
    }
    tracers = [trace.to_jaxpr_tracer(operand) for operand in operands]
    waits: list[Any] = trace.default_process_primitive(loop_p, tracers, params)
    return waits


def _run_known(split: _Split, now: Operands, form: LoopForm) -> tuple[list[Any], _Tape]:
    """Run what is known; its results, and the tape.

        outputs of the known body  = [carry] [rows of ys] [residuals]
        outputs of the body run    = [carry] [rows of ys] [extra]
        results of the loop        = [carry] [ys] [stacks of extra] [trips?]

    Only some residuals need a stack: one that no trip changes is computed once, one that is a row
    of xs is there already, one that is a row of ys is a result in any case. `extra` are the rest.
    """
    jaxpr = split.known.jaxpr
    own = len(jaxpr.outvars) - split.residuals
    residuals = _residuals(split)
    is_fixed = _unchanged(jaxpr, form, residuals)
    consts = jaxpr.invars[: form.consts]
    outside = _part(jaxpr, consts, chosen(is_fixed, residuals))
    fixed = iter(jax.core.eval_jaxpr(outside, (), *split.known.consts, *now.consts))

    places: dict[Any, int] = {}
    for n, var in enumerate(jaxpr.outvars[form.carry : own]):
        places.setdefault(var, n) if isinstance(var, Var) else None
    rows_in = dict(zip(jaxpr.invars[form.consts + form.carry :], now.xs, strict=True))
    changing = others(is_fixed, residuals)
    extra: list[Any] = []
    for var in changing:
        if var not in rows_in and var not in places:
            places[var] = own - form.carry + len(extra)
            extra.append(var)

    constants = list(split.known.consts)
    operands = now._replace(consts=[*constants, *now.consts])
    inside = ClosedJaxpr(_part(jaxpr, jaxpr.invars, [*jaxpr.outvars[:own], *extra]), [])
    form = form._replace(consts=form.consts + len(constants))
    results = list(loop_p.bind(*operands.all(), test=split.test, body=inside, form=form))
    stacks = results[form.carry : own + len(extra)]
    taped = [rows_in[v] if v in rows_in else stacks[places[v]] for v in changing]
    del results[own : own + len(extra)]
    return results, _Tape([next(fixed) if flag else None for flag in is_fixed], taped)


def _residuals(split: _Split) -> list[Any]:
    """The variables of the known body that the other one reads, weights not through branches."""
    jaxpr, later = split.known.jaxpr, split.later.jaxpr
    own = len(jaxpr.outvars) - split.residuals
    return [
        through_branches(jaxpr, kept, later, read)
        for kept, read in zip(jaxpr.outvars[own:], later.invars, strict=False)
    ]


def _unchanged(jaxpr: Any, form: LoopForm, variables: Sequence[Any]) -> list[bool]:
    """Which variables of a body have the same value in every trip: they come from consts alone."""
    changing: set[Any] = set(jaxpr.invars[form.consts :])
    for equation in jaxpr.eqns:
        if any(isinstance(v, Var) and v in changing for v in equation.invars):
            changing.update(equation.outvars)
    return [isinstance(v, Literal) or v not in changing for v in variables]


def _part(jaxpr: Any, invars: Sequence[Any], outvars: Sequence[Any]) -> Any:
    """What some outputs of a graph need, with its constants as the first inputs."""
    whole = jaxpr.replace(
        invars=[*jaxpr.constvars, *invars],
        constvars=[],
        outvars=list(outvars),
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    smaller, _ = pe.dce_jaxpr(whole, True, True)
    return smaller


def _run_twice(
    trace: Any, split: _Split, tracers: Any, now: Operands, test: Any, body: Any, form: LoopForm
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
