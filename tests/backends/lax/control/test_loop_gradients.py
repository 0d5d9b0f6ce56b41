"""Gradients of loops that are left early: those of plain Python, or an error."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s


def leaves_a_range(x, w):
    for i in range(40):
        x = jnp.sin(x) * w + 0.01 * i
        if x < 0.3:
            break
    return x * i


def returns_from_a_range(x, w):
    for i in range(30):
        x = x * w
        if x > 5:
            return x + i
    return -x


def leaves_rows(x, w):
    for row in jnp.linspace(0.1, 0.9, 12):
        if x * row > 1.5:
            break
        x = x + w * row
    return x


def counter_beside_a_condition(x, w):
    step = 0
    while abs(x * x - w) > 1e-3 and step < 30:
        x = (x + w / x) / 2
        step = step + 1
    return x


def counter_first(x, w):
    left = 20
    while 0 < left and x > 0.2:
        x = x * 0.8 * w
        left -= 2
    return x


def asked_for(x, w):
    with d2s.options(max_iterations=60):
        while x < 10:
            x = x * 1.3 + w
    return x


def asked_for_and_nested(x, w):
    with d2s.options(max_iterations=40):
        while x < 10:
            y = x
            while y > 1:
                y = y * 0.5
            x = x + w * y
    return x


def with_a_failure(x, w):
    for _ in range(30):
        if w > 100:
            raise ValueError(f"{w}")
        x = x * 0.9 * w
        if x < 0.5:
            break
    return x


def leaves_at_the_head(x, w):
    for i in range(40):
        if x < 0.3:
            break
        x = jnp.sin(x) * w - 0.01 * i
    return x * i


def returns_at_the_head(x, w):
    for i in range(40):
        if x > 5:
            return jnp.cos(x) * w + i
        x = x * w + 0.1
    return -x * w


def two_ways_out(x, w):
    y = x
    for i in range(30):
        if x > 5:
            y = x * w
            break
        x = x * 1.2 + i
        if x * w < 0.1:
            y = x + w
            break
    return x + y


def question_that_the_trip_needs(x, w):
    for _ in range(30):
        step = jnp.sin(x * jnp.ones(3)).sum() * w
        if step < 0.5:
            break
        x = x - 0.1 * step
    return x


PROGRAMS = [
    leaves_at_the_head,
    returns_at_the_head,
    two_ways_out,
    question_that_the_trip_needs,
    leaves_a_range,
    returns_from_a_range,
    leaves_rows,
    counter_beside_a_condition,
    counter_first,
    asked_for,
    asked_for_and_nested,
    with_a_failure,
]
POINTS = [(1.5, 1.01), (2.0, 1.2), (0.7, 0.9)]


def close(one, other):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4), one, other)


@pytest.mark.full
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_as_plain_python(function):
    made = d2s.to_static(function)
    points = [tuple(map(jnp.float32, point)) for point in POINTS]
    plain = [jax.grad(function, (0, 1))(*point) for point in points]
    gradient = jax.jit(jax.grad(made, (0, 1)))
    for point, expected in zip(points, plain, strict=True):
        close(made(*point), function(*point))
        close(gradient(*point), expected)
    xs, ws = map(jnp.stack, zip(*points, strict=True))
    together = [jnp.stack(side) for side in zip(*plain, strict=True)]
    close(list(jax.vmap(jax.grad(made, (0, 1)))(xs, ws)), together)
    summed = jax.grad(lambda x, w: jax.vmap(made)(x, w).sum(), (0, 1))
    close(list(jax.jit(summed)(xs, ws)), together)


@pytest.mark.parametrize("function", [leaves_a_range, asked_for], ids=lambda f: f.__name__)
def test_second_order(function):
    point = jnp.float32(1.5), jnp.float32(1.01)
    plain = jax.jacfwd(jax.grad(function, (0, 1)), (0, 1))(*point)
    close(jax.jit(jax.hessian(d2s.to_static(function), (0, 1)))(*point), plain)
    close(jax.jit(jax.jacrev(jax.grad(d2s.to_static(function), (0, 1)), (0, 1)))(*point), plain)


def unbounded(x, w):
    while x < 10:
        x = x * 1.3 + w
    return x


def test_without_a_bound():
    made = d2s.to_static(unbounded)
    point = jnp.float32(1.5), jnp.float32(1.01)
    close(jax.jvp(made, point, point), jax.jvp(unbounded, point, point))
    close(jax.jacfwd(made)(*point), jax.jacfwd(unbounded)(*point))
    with pytest.raises(d2s.StagingError, match=r"D2S043(.|\n)*max_iterations") as caught:
        jax.grad(made)(*point)
    assert "while x < 10:" in str(caught.value)


def test_a_bound_that_is_too_small():
    made = d2s.to_static(asked_for)
    close(made(1.0, 0.5), asked_for(1.0, 0.5))
    with pytest.raises(d2s.LoopLimit, match="D2S042.*max_iterations=60") as caught:
        made(1.0, -0.4)
    assert "while x < 10:" in str(caught.value)

    def swallowed(x):
        try:
            return asked_for(x, -0.4)
        except Exception:
            return x

    with pytest.raises(d2s.LoopLimit):
        d2s.to_static(swallowed)(1.0)


def test_options_around_a_static_function_are_not_its_own():
    with d2s.options(max_iterations=2, loops="unroll"):
        made = d2s.to_static(unbounded)
        close(made(1.0, 0.5), unbounded(1.0, 0.5))
    close(made(1.0, 0.5), unbounded(1.0, 0.5))


def test_flags_are_selected():
    text = str(jax.make_jaxpr(d2s.convert(leaves_a_range))(1.5, 1.01))
    assert "cond" not in re.findall(r"= (\w+)", text) and "select_n" in text


def names_of(jaxpr):
    found = []
    for equation in jaxpr.eqns:
        found.append(equation.primitive.name)
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            found += names_of(inner)
    return found


def test_a_way_out_at_the_head_is_no_branch_of_the_trip():
    graph = jax.make_jaxpr(d2s.convert(leaves_at_the_head))(1.5, 1.01)
    (loop,) = (e for e in graph.eqns if e.primitive.name == "bounded_while")
    assert "cond" not in names_of(loop.params["body"].jaxpr)
    graph = jax.make_jaxpr(d2s.convert(question_that_the_trip_needs))(1.5, 1.01)
    assert names_of(graph.jaxpr).count("sin") == 1


def test_weights_are_not_kept_trip_by_trip():
    def function(w, x):
        for i in range(50):
            if i % 2 == 0:
                x = jnp.tanh(w @ x)
            else:
                x = x * 0.9
            if x[0] < 0.1:
                break
        return x.sum()

    graph = jax.make_jaxpr(jax.grad(d2s.convert(function)))(jnp.eye(7), jnp.ones(7))
    kept = [v.aval.shape for e in graph.eqns for v in e.outvars]
    assert (50, 7) in kept and (50, 7, 7) not in kept


def test_without_a_gradient_the_loop_is_that_of_lax():
    def by_hand(x, w):
        def body(state):
            i, x, _ = state
            x = jnp.sin(x) * w + 0.01 * i
            return i + 1, x, x < 0.3

        i, x, _ = jax.lax.while_loop(lambda s: (s[0] < 40) & ~s[2], body, (0, x, False))
        return x * (i - 1)

    def operations(function):
        text = jax.jit(function).lower(jnp.float32(1.5), jnp.float32(1.01)).as_text()
        return [name for name in re.findall(r"stablehlo\.(\w+)", text) if name != "constant"]

    ours, theirs = operations(d2s.convert(leaves_a_range)), operations(by_hand)
    assert "dynamic_update_slice" not in ours and "custom_call" not in ours
    assert ours.count("while") == 1 and len(ours) <= 1.2 * len(theirs)


def prints_while(x):
    while x < 10.0:
        x = x * 2.0
        print("x", x)
    return x


def prints_and_leaves(x):
    for n in range(5):
        x = x * 2.0
        if x > 10.0:
            print("left at", n)
            break
    return x


def prints_in_a_loop_in_a_loop(x):
    for _ in range(2):
        while x < 10.0:
            x = x * 2.0
            jax.debug.callback(lambda _: None, x)
        x = x / 3.0
    return x


@pytest.mark.parametrize("program", [prints_while, prints_and_leaves, prints_in_a_loop_in_a_loop])
def test_a_loop_that_prints_has_forward_mode_alone(program, capsys):
    static = d2s.to_static(program)
    for reverse in (jax.grad(static), jax.jit(jax.grad(static))):
        with pytest.raises(d2s.StagingError) as caught:
            reverse(1.0)
        assert caught.value.code == "D2S043"
        assert caught.value.site.function == program.__name__
    slope = (static(1.0 + 1e-2) - static(1.0 - 1e-2)) / 2e-2
    assert jnp.allclose(jax.jacfwd(static)(1.0), slope, rtol=1e-3)
    assert jnp.allclose(jax.grad(lambda x: static(2.0) * x)(3.0), static(2.0))
