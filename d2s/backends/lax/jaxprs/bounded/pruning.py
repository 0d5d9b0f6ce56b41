"""Dead code: the loop without the parts of its carry and the rows that nobody reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from jax.extend.core import ClosedJaxpr
from jax.interpreters import partial_eval as pe

from d2s.backends.lax.jaxprs.bounded.flags import Flags, chosen, either, laid_out
from d2s.backends.lax.jaxprs.bounded.loop import Operands, loop_p, rows


def _prune(used: Sequence[bool], *rest: Any) -> tuple[Flags, Any]:
    """Without the parts of the carry and the rows that no result needs."""
    equation = rest[-1]  # some versions of JAX pass more arguments before the equation
    test, body, form = (equation.params[name] for name in ("test", "body", "form"))
    if not any(used):
        return [False] * len(equation.invars), None
    carry, count = list(used[: form.carry]), len(rows(body, form))
    ys = list(used[form.carry : form.carry + count])
    if test is not None:
        _, tested = pe.dce_jaxpr(test.jaxpr, [True])
        carry = either(carry, tested[form.tests :])
    carry = [flag or (form.masked and n == 0) for n, flag in enumerate(carry)]
    while True:
        smaller, needed = pe.dce_jaxpr(body.jaxpr, [*carry, *ys])
        ins = Operands.of(needed, True, form._replace(tests=0))
        if not any(n and not c for n, c in zip(ins.carry, carry, strict=True)):
            break
        carry = either(carry, ins.carry)
    smaller, needed = pe.dce_jaxpr(body.jaxpr, [*carry, *ys], [*ins.consts, *carry, *ins.xs])
    tests = [True] * form.tests
    flags = Operands([True] * (test is None), tests, ins.consts, carry, ins.xs)
    if test is not None:
        own = test.jaxpr.invars
        test = laid_out(
            test, [*own[: form.tests], *chosen(carry, own[form.tests :])], test.jaxpr.outvars
        )
    trips = form.trips and used[-1]
    made = equation.replace(
        invars=chosen(flags.all(), equation.invars),
        outvars=chosen([*carry, *ys, *([trips] * form.trips)], equation.outvars),
        params={
            "test": test,
            "body": ClosedJaxpr(smaller, body.consts),
            "form": form._replace(consts=sum(ins.consts), carry=sum(carry), trips=trips),
        },
    )
    return flags.all(), made


pe.dce_rules[loop_p] = _prune
