"""The workloads of the benchmark: equal results, and graphs like those written by hand.

Nothing is timed here: what makes a graph fast is what it is made of.
"""

from __future__ import annotations

import jax
import numpy as np
import pytest

import d2s
from benchmarks.structure import structure
from benchmarks.workloads import WORKLOADS

#: what costs time, and what a graph may not have more of than the one by hand
HEAVY = ("while", "scan", "cond", "dot_general", "gather", "scatter", "sort", "top_k")


def sizes(workload, full):
    return jax.eval_shape(lambda: workload.arguments(full))


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_graph_is_like_the_one_by_hand(workload):
    args = sizes(workload, True)
    ours = structure(d2s.to_static(workload.plain).jaxpr(*args))
    by_hand = structure(jax.make_jaxpr(workload.by_hand)(*args))
    assert ours.count <= 1.2 * by_hand.count
    assert len(ours.carries) == len(by_hand.carries)
    for one, other in zip(ours.carries, by_hand.carries, strict=True):
        assert one <= 1.2 * other
    for name in HEAVY:
        assert ours.equations[name] <= by_hand.equations[name], name


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_graph_does_not_grow_with_the_size(workload):
    static = d2s.to_static(workload.plain)
    small, full = (structure(static.jaxpr(*sizes(workload, size))) for size in (False, True))
    assert small.equations == full.equations


def test_trips_do_not_grow_the_graph():
    few, _, many = [w for w in WORKLOADS if w.name.startswith("for over")]
    args = sizes(few, False)
    graphs = [structure(d2s.to_static(w.plain).jaxpr(*args)) for w in (few, many)]
    assert graphs[0] == graphs[1]


#: one size of each
KINDS = {workload.plain: workload for workload in WORKLOADS}


@pytest.mark.full
@pytest.mark.parametrize("workload", KINDS.values(), ids=lambda workload: workload.name)
def test_results_are_equal(workload):
    if workload.name == "for over 1000 steps":
        pytest.skip("that is what the one of 100 does")
    args = workload.arguments(False)
    plain = jax.tree.leaves(workload.plain(*args))
    others = workload.by_hand, d2s.convert(workload.plain), d2s.to_static(workload.plain)
    for other in others:
        found = jax.tree.leaves(other(*args))
        for one, two in zip(plain, found, strict=True):
            close = {"rtol": workload.tolerance, "atol": workload.tolerance}
            np.testing.assert_allclose(one, two, **close)
