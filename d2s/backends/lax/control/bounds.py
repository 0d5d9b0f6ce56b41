"""How many trips a staged loop makes at most, and which loop it therefore is, JAX's or ours.

    floats in the carry, and a bound        our loop: both modes (`jaxprs.bounded`)
    floats, checkpoints=...                 our loop: reverse mode by checkpoints
    floats, no bound                        our loop: forward mode; reverse mode is an error
    no floats, prints, nan checks           `lax.while_loop`

A bound is the length of a range, a counter (`carried_spans`), or the option max_iterations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from d2s.backends.lax.control.carried_spans import most_trips
from d2s.backends.lax.control.plan import Plan
from d2s.backends.lax.failures import failing
from d2s.backends.lax.forms.dtypes import varies
from d2s.backends.lax.graph import sites
from d2s.backends.lax.jaxprs.bounded import LoopForm, graphs_of, loop_p
from d2s.backends.lax.jaxprs.bounded.checkpointed import checkpointed_while
from d2s.backends.lax.jaxprs.bounded.one_way import one_way
from d2s.backends.lax.jaxprs.early_exit import exit_in_test, way_out
from d2s.backends.lax.jaxprs.invariants import without_invariants
from d2s.backends.lax.jaxprs.rotation import rotate
from d2s.backends.lax.regions.regions import Region, failures, running
from d2s.errors import LoopLimit, Site
from d2s.options import loop_options


@dataclass(frozen=True)
class LoopBound:
    """A loop's bound, if it has one."""

    limit: int | None
    #: whether the limit is the option max_iterations, which the test of the loop does not ask for
    is_asked_for: bool
    #: whether the loop is the primitive of d2s's own: it may have a gradient, and no effects
    is_ours: bool
    site: Site
    #: whether something happens on the host, a print say
    has_effects: bool = False

    def loop(self, test: Callable[[Any], Any], body: Callable[[Any], Any], start: Any) -> Any:
        if not self.is_ours:
            tree: Any
            leaves, tree = jax.tree.flatten(jax.lax.while_loop(test, body, start))
            return tree.unflatten(self._marked(leaves))
        test, tests, body, consts, values, tree = graphs_of(test, body, start)
        return tree.unflatten(self.bind(test, tests, body, consts, values))

    def bind(
        self, test: Any, tests: list[Any], body: Any, consts: list[Any], values: list[Any]
    ) -> list[Any]:
        """The loop on graphs that are there already: nothing is traced again."""
        pure = not (test.effects or body.effects or self.is_asked_for)
        # What differs along a mesh is not asked for in a graph that is put together anew: JAX wants
        # to be told of each operand that it differs.
        pure = pure and not any(map(varies, (*body.in_avals, *body.out_avals)))
        loop = test, len(tests), body, len(consts)
        left = way_out(*loop) if pure else None
        exited = left and (exit_in_test(*loop, *left) or rotate(*loop, *left))
        if not exited:
            return self._bind(test, tests, body, consts, values)
        asks, start = exited.tests(tests, consts), exited.start(consts, values)
        values = self._bind(exited.test, asks, exited.body, consts, start)
        return exited.finish(tests, consts, values)

    def _bind(
        self, test: Any, tests: list[Any], body: Any, consts: list[Any], values: list[Any]
    ) -> list[Any]:
        whole = values
        rest = without_invariants(test, tests, body, consts, values)
        test, tests, body, consts, values, _ = rest
        outs: list[Any]
        kept = loop_options.checkpoints()
        if self.is_ours and self.limit is None and kept is not None:
            return rest.all(checkpointed_while(test, tests, body, consts, values, kept), whole)
        if self.is_ours:
            form = LoopForm(
                len(tests),
                len(consts),
                len(values),
                self.limit,
                checked=self.is_asked_for,
                site=self.site,
            )
            outs = loop_p.bind(*tests, *consts, *values, test=test, body=body, form=form)
            return rest.all(outs, whole)
        outs = jax.lax.while_p.bind(
            *tests,
            *consts,
            *values,
            cond_nconsts=len(tests),
            cond_jaxpr=test,
            body_nconsts=len(consts),
            body_jaxpr=body,
        )
        return rest.all(self._marked(outs), whole)

    def _marked(self, outs: list[Any]) -> list[Any]:
        return one_way(outs, self.site) if self.has_effects else outs


def bound_of(plan: Plan, tested: Region, limit: int | None) -> LoopBound:
    has_gradient = any(jnp.issubdtype(j.type.dtype, jnp.inexact) for j in plan.carried)
    effects = bool(plan.region.effects or tested.effects)
    is_ours = has_gradient and not effects
    # JAX checks for nan inside of its own loops only
    is_ours = is_ours and loop_options.NAN not in loop_options.checks()
    # inside of `jax.shard_map`, JAX's own loop keeps track of what differs between devices
    is_ours = is_ours and not any(j.type.varies for j in plan.carried)
    if limit is None and is_ours:
        limit = most_trips(plan, tested)
    asked = limit is None and is_ours
    if asked:
        limit = loop_options.max_iterations()
    return LoopBound(limit, asked and limit is not None, is_ours, sites.where(), effects)


def tell_limit(bound: LoopBound, still_going: Any) -> None:
    """A loop that is not done after all the trips it may make is a failure."""
    error = LoopLimit(
        f"the loop needs more than max_iterations={bound.limit} trips",
        site=bound.site,
        fix="a larger max_iterations",
    )
    for earlier in running():
        still_going = jnp.logical_and(earlier == 0, still_going)
    number, _ = failing.number_of(error, failures())
    failing.report(jnp.where(still_going, number, 0), {}, {number}, failures())
