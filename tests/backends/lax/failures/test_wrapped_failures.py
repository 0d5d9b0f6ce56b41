"""Functions that jax wraps or is handed: what fails in them is told to every call that runs them.

jax keeps the graphs that it has traced, and gives a second caller the graph of the first. A
failure, or the check of an integer, inside such a graph belongs to the call it was traced for.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import d2s

F = jnp.float32
WEIGHT = jnp.float32(2.0)


@jax.jit
def positive(v):
    if v < 0:
        raise ValueError(f"neg {v}")
    return v * 2


def checked(v):
    if v < 0:
        raise ValueError(f"neg {v}")
    return v * 2


def step(carry, _):
    if carry < 0:
        raise ValueError("neg")
    return carry - 1, carry


class Model:
    def step(self, carry, _):
        return step(carry, None)


MODEL = Model()
STATIC = d2s.to_static(step)


def fails(function, *args):
    with pytest.raises(ValueError) as caught:
        function(*args)
    return str(caught.value)


def test_a_second_trace_of_a_jitted_helper_fails_too():
    static = d2s.to_static(lambda x, y: positive(x) + y)
    assert fails(static, F(-1), F(1)) == "neg -1.0"
    assert fails(static, F(-1), jnp.ones(2)) == "neg -1.0"
    assert static(F(1), jnp.ones(2)).tolist() == [3, 3]


def test_two_static_functions_share_a_jitted_helper():
    one = d2s.to_static(lambda x: positive(x))
    other = d2s.to_static(lambda x: positive(x) + 1)
    assert [fails(f, F(v)) for f, v in ((one, -1), (other, -1), (other, -2), (one, -3))] == [
        "neg -1.0",
        "neg -1.0",
        "neg -2.0",
        "neg -3.0",
    ]
    assert (one(F(3)), other(F(3))) == (6, 7)


@pytest.mark.parametrize("body", [step, MODEL.step, STATIC], ids=["function", "method", "static"])
def test_a_scan_fails_in_every_graph(body):
    graphs = [d2s.to_static(lambda x: jax.lax.scan(body, x, None, length=3)) for _ in range(2)]
    for graph in graphs:
        assert fails(graph, F(1)) == "neg"
    for graph in graphs:
        assert graph(F(9))[0] == 6


def test_the_first_failure_of_several_is_raised():
    def three(x):
        return jax.jit(checked)(x) + jax.jit(checked)(x * 2) + jax.jit(checked)(x - 5)

    static = d2s.to_static(three)
    assert [fails(static, F(v)) for v in (-1, -3, 1)] == ["neg -1.0", "neg -3.0", "neg -4.0"]
    assert static(F(9)) == 62


def test_a_jitted_helper_sees_globals_in_every_graph():
    helper = jax.jit(lambda x: x * WEIGHT)
    static = d2s.to_static(lambda x, y: helper(x) + y)
    assert static(F(1), jnp.ones(2)).tolist() == [3, 3]
    assert static(F(1), jnp.ones(3)).tolist() == [3, 3, 3]


def test_integers_are_checked_in_every_graph():
    @jax.jit
    def grown(v, n):
        c = 0
        while c < n:
            c = c * 3 + 1
        return v + c

    one = d2s.to_static(lambda x, n: grown(x, n))
    other = d2s.to_static(lambda x, n: grown(x, n) + 1)
    for static, value in ((one, 13), (other, 14)):
        assert static(F(0), 5) == value
        with pytest.raises(d2s.IntegerOverflow):
            static(F(0), 2**31 - 1)


def printed(v):
    print("at", v)
    return v


@pytest.mark.parametrize(
    "function",
    [
        lambda x: jax.jit(lambda v: printed(checked(v)))(x),
        lambda x: printed(jax.jit(checked)(x)),
        lambda x: jax.lax.scan(lambda c, _: (checked(printed(c)) - 5, c), x, None, length=3),
        lambda x: jax.vmap(lambda v: checked(printed(v)))(x[None]),
    ],
    ids=["inside", "after", "next trip", "next lane"],
)
def test_prints_that_a_failure_in_a_transformation_would_not_stop_are_refused(function):
    with pytest.raises(d2s.StagingError, match="D2S023"):
        d2s.to_static(function)(F(1))


def test_prints_before_such_a_failure_are_printed(capsys):
    static = d2s.to_static(lambda x: jax.jit(checked)(printed(x)))
    assert fails(static, F(-1)) == "neg -1.0"
    assert static(F(2)) == 4
    assert capsys.readouterr().out == "at -1.0\nat 2.0\n"
