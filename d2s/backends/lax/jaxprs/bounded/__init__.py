"""A loop of our own: a `while` with a bound, differentiable in both modes and to any order.

    while test(state) and trips < limit:
        state = body(state)

`lax.while_loop` has no reverse mode because the number of trips is not known: there is no size for
the arrays that hold what the way back needs of each trip. With a bound there is. The primitive
`loop_p` is a `while` that also reads and writes rows of stacked arrays, as `lax.scan` does, and can
run a given number of trips:

    carry, row of ys = body(consts, carry, row of xs)

Its derivative is a loop of the same kind, its linear part is one that counts trips and reads what
the first one wrote, and the transpose of that reads the rows from the last to the first.
Where nobody differentiates, it is `lax.while_loop` and nothing else.

Read `loop` first (the layout of its operands), then `derivatives` and `split` (gradients), `lanes`
and `absent_lanes` (`vmap`). `checkpointed` is the loop without a bound, `one_way` the one without a
gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.extend.core import ClosedJaxpr

from d2s.backends.lax.jaxprs.bounded import (  # noqa: F401 - the rules
    derivatives,
    lanes,
    pruning,
    split,
)
from d2s.backends.lax.jaxprs.bounded.loop import LoopForm, loop_p
from d2s.errors import Site

__all__ = ["LoopForm", "bounded_while", "graphs_of", "loop_p", "opened"]


def bounded_while(
    test: Callable[[Any], Any],
    body: Callable[[Any], Any],
    init: Any,
    limit: int | None,
    *,
    checked: bool = True,
    site: Site | None = None,
) -> Any:
    """``while test(state) and trips < limit: state = body(state)``.

    Values that the functions close over get gradients too. ``checked=False`` says that the test
    itself is false after `limit` trips at the latest. Without a limit there is no reverse mode.
    """
    if limit is not None and limit <= 0:
        return init
    graphs = graphs_of(test, body, init)
    checked = checked and limit is not None
    form = LoopForm(
        len(graphs.tests), len(graphs.consts), len(graphs.values), limit, checked, site=site
    )
    operands = (*graphs.tests, *graphs.consts, *graphs.values)
    outs = loop_p.bind(*operands, test=graphs.test, body=graphs.body, form=form)
    return graphs.tree.unflatten(outs)


class Graphs(NamedTuple):
    """The test and the body of a loop as graphs; values that they close over became operands."""

    test: Any
    tests: list[Any]
    body: Any
    consts: list[Any]
    values: list[Any]
    tree: Any


def graphs_of(test: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Graphs:
    tree: Any
    leaves, tree = jax.tree.flatten(init)
    values = [_strong(leaf) for leaf in leaves]
    kinds = [jax.ShapeDtypeStruct(v.shape, v.dtype) for v in values]

    def step(*state: Any) -> list[Any]:
        after: Any
        outs, after = jax.tree.flatten(body(tree.unflatten(state)))
        if after != tree:
            raise TypeError(f"the body makes {after} of {tree}")
        return [_as(kind, out) for kind, out in zip(kinds, outs, strict=True)]

    bodies, consts = opened(jax.make_jaxpr(step)(*kinds))
    tested, tests = opened(jax.make_jaxpr(lambda *state: test(tree.unflatten(state)))(*kinds))
    if bodies.effects or tested.effects:
        raise TypeError("a bounded loop has no effects on the host")
    return Graphs(tested, tests, bodies, consts, values, tree)


def _strong(leaf: Any) -> Any:
    value = jnp.asarray(leaf)
    return jax.lax.convert_element_type(value, value.dtype)


def _as(kind: Any, out: Any) -> Any:
    value = _strong(out)
    if value.shape != kind.shape or value.dtype != kind.dtype:
        raise TypeError(f"the body makes {value.dtype}{value.shape} of {kind.dtype}{kind.shape}")
    return value


def opened(graph: Any) -> tuple[Any, list[Any]]:
    """A graph whose constants are its first inputs, and their values."""
    jaxpr = graph.jaxpr
    made = jaxpr.replace(
        constvars=[],
        invars=[*jaxpr.constvars, *jaxpr.invars],
        debug_info=jaxpr.debug_info.with_unknown_names(),
    )
    return ClosedJaxpr(made, []), list(graph.consts)
