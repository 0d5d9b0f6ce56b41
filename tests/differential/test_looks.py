"""Whatever can be called can be looked at: `explain`, `jaxpr`, `hlo` and the gradient's graph.

Every program of the corpus whose call works, or fails in its own way, is looked at with the same
arguments; a look must not find anything that the call does not.
"""

from __future__ import annotations

import contextlib
import io
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from ..fuzz.interpret import without_xla
from ..tiers import sampled
from .harness import Case, arguments
from .test_programs import CASES


def outcome(run: Any) -> type[BaseException] | None:
    """What a run ends with, if it is an exception."""
    with contextlib.redirect_stdout(io.StringIO()):
        try:
            run()
        except Exception as error:
            return type(error)
    return None


@pytest.mark.parametrize("program", sampled(CASES, every=10))
def test_looks(program: Case) -> None:
    given = program.inputs[0]
    with without_xla():  # how XLA ends is seen in `test_programs`
        failed = outcome(lambda: d2s.to_static(program.fn)(*arguments(given)))
    if failed is not None and issubclass(failed, d2s.Error):
        return
    static = d2s.to_static(program.fn)
    for look in (static.explain, static.jaxpr):
        assert outcome(lambda look=look: look(*arguments(given))) in (None, failed)


def writes(x: Any) -> Any:
    buf = jnp.zeros(3)
    table = {"a": [x, x]}
    for i in range(3):
        buf[i] = x * i
    buf[0] += 5.0
    table["a"][1] = x + 1
    if x > 1:
        buf[1:] = 7.0
    return buf.sum() + table["a"][1]


def test_watching_shows_writes_of_items() -> None:
    for x in (2.0, 0.5):
        seen = d2s.to_static(writes).watch("buf", "table")(x)
        steps = [np.zeros(3)]
        for i in range(3):
            steps.append(steps[-1].copy())
            steps[-1][i] = x * i
        steps.append(steps[-1] + [5.0, 0.0, 0.0])
        if x > 1:
            steps.append(np.array([steps[-1][0], 7.0, 7.0]))
        np.testing.assert_allclose(np.array(seen["buf"]), steps)
        assert [float(held["a"][1]) for held in seen["table"]] == [x, x + 1]


def test_the_graph_of_a_gradient_of_what_writes_prints_and_raises() -> None:
    @d2s.to_static
    def f(x: Any, held: dict[str, Any]) -> Any:
        held["x"] = x
        print("x", x)
        if x > 100:
            raise ValueError(f"{x}")
        return writes(x) * held["x"]

    assert f(2.0, {"x": 0.0}) == f(2.0, {"x": 1.0})
    assert "mul" in str(f.grad_jaxpr(2.0, {"x": 0.0}))
