"""Bounds that a counter proves: gradients of plain Python; where there is no proof, an error."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

# -- bounded --------------------------------------------------------------------------------------


def counter_last(x, w):
    i = 0
    while i < 12:
        if x > 50:
            break
        x = x * w + 0.1
        i += 1
    return x + i


def left_when_it_is_met(x, w):
    i = 0
    while x < 50:
        x = x * w
        i += 1
        if i == 12:
            break
    return x


def left_when_it_is_reached(x, w):
    i = 3
    while x < 50:
        x = x * w
        i += 2
        if i >= 12:
            break
    return x


def returns_when_either(x, w):
    i = 0
    while True:
        x = x * w + 0.2
        i += 1
        if i >= 12 or x > 50:
            return x


def goes_on_while_neither(x, w):
    i = 0
    while True:
        if not (i < 12 and x < 50):
            return x
        x = x * w + 0.2
        i += 1


def down_to_nothing(x, w):
    i = 12
    while i:
        if x > 50:
            break
        x = x * w
        i -= 1
    return x


def down_to_zero(x, w):
    i = 12
    while i > 0:
        if x > 50:
            return x * w
        x = x * w
        i -= 1
    return x


def steps_of_two_sizes(x, w):
    i = 0
    while i < 12:
        if x > 50:
            break
        if x > 3:
            i += 2
        else:
            i += 1
        x = x * w
    return x + i


def a_limit_in_a_variable(x, w):
    i, most = 0, 11
    while i <= most:
        if x > 50:
            break
        x = x * w
        i += 1
    return x


def two_counters(x, w):
    i, j = 0, 100
    while x < 50:
        x = x * w
        i += 1
        j -= 3
        if i > 40:
            break
        if j < 70:
            break
    return x


def counted_on_both_sides_of_continue(x, w):
    i = 0
    while i < 15:
        if x > 4:
            i += 3
            x = x - w
            continue
        x = x * 1.5 + w
        i += 1
    return x


def handled(x, w):
    i = 0
    while i < 10:
        i += 1
        try:
            if x > 4:
                raise ValueError("large")
            x = x * 1.5
        except ValueError:
            x = x - w
            continue
    return x


def behind_a_failure(x, w):
    i = 0
    while i < 10:
        if w > 100:
            raise ValueError("never here")
        x = x * w
        if x > 20:
            break
        i += 1
    return x


def in_each_other(x, w):
    i = 0
    while i < 4:
        if x > 50:
            break
        j = 3
        while j:
            if x > 20:
                break
            x = x * w
            j -= 1
        x = x + 0.1
        i += 1
    return x


def by_match(x, w):
    i = 0
    kind = jnp.int32(x)
    while i < 9:
        if x > 50:
            break
        match kind:
            case 0:
                i += 1
            case 1:
                i += 2
            case _:
                i += 3
        x = x * w
    return x


PROGRAMS = [
    counter_last,
    left_when_it_is_met,
    left_when_it_is_reached,
    returns_when_either,
    goes_on_while_neither,
    down_to_nothing,
    down_to_zero,
    steps_of_two_sizes,
    a_limit_in_a_variable,
    two_counters,
    counted_on_both_sides_of_continue,
    handled,
    behind_a_failure,
    in_each_other,
    by_match,
]
#: many trips, some, one, and none where the test allows it
POINTS = [(1.1, 1.05), (2.0, 1.4), (30.0, 1.9), (60.0, 1.2)]


def close(one, other):
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-4), one, other)


@pytest.mark.full
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_gradients_of_plain_python(function):
    made = d2s.to_static(function)
    points = [tuple(map(jnp.float32, point)) for point in POINTS]
    plain = [jax.grad(function, (0, 1))(*point) for point in points]
    gradient = jax.jit(jax.grad(made, (0, 1)))
    ones = tuple(map(jnp.float32, (1.0, 0.5)))
    for point, expected in zip(points, plain, strict=True):
        close(made(*point), function(*point))
        close(gradient(*point), expected)
        close(jax.jvp(made, point, ones), jax.jvp(function, point, ones))
    xs, ws = map(jnp.stack, zip(*points, strict=True))
    together = [jnp.stack(side) for side in zip(*plain, strict=True)]
    close(list(jax.vmap(jax.grad(made, (0, 1)))(xs, ws)), together)


@pytest.mark.parametrize(
    "function", [counter_last, returns_when_either, steps_of_two_sizes], ids=lambda f: f.__name__
)
def test_second_order(function):
    point = jnp.float32(1.1), jnp.float32(1.05)
    plain = jax.jacfwd(jax.grad(function, (0, 1)), (0, 1))(*point)
    close(jax.jit(jax.hessian(d2s.to_static(function), (0, 1)))(*point), plain)
    close(jax.jit(jax.jacrev(jax.grad(d2s.to_static(function), (0, 1)), (0, 1)))(*point), plain)


def limit_of(function):
    """The bound of the only loop in a function."""
    found = []

    def collect(jaxpr):
        for equation in jaxpr.eqns:
            if equation.primitive.name == "bounded_while":
                found.append(equation.params["form"].limit)
            for inner in jax.extend.core.jaxprs_in_params(equation.params):
                collect(inner)

    collect(jax.make_jaxpr(d2s.to_static(function))(jnp.float32(1.1), jnp.float32(1.05)).jaxpr)
    (limit,) = found
    return limit


@pytest.mark.parametrize(
    ("function", "limit"),
    [
        (counter_last, 12),
        (left_when_it_is_met, 12),
        (left_when_it_is_reached, 5),
        (returns_when_either, 12),
        (down_to_nothing, 12),
        (steps_of_two_sizes, 12),
        (two_counters, 11),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_bounds_are_tight(function, limit):
    assert limit_of(function) == limit


# -- without a proof ------------------------------------------------------------------------------


def is_reset(x, w):
    i = 0
    while i < 12:
        x = x * w
        i += 1
        if x < 9:
            i = 0
    return x


def goes_back(x, w):
    i = 0
    while i < 12:
        x = x * w
        if x > 9:
            i += 1
        else:
            i -= 1
    return x


def stands_still_on_one_way(x, w):
    i = 0
    while i < 12:
        x = x * w
        if x < 9:
            continue
        i += 1
    return x


def limit_is_a_run_time_value(x, w):
    i, most = 0, jnp.int32(x) + 5
    while i < most:
        x = x * w
        i += 1
    return x


def limit_moves_along(x, w):
    i, most = 0, 12
    while i < most:
        x = x * w
        i += 1
        if x < 9:
            most += 1
    return x


def steps_over_what_it_must_meet(x, w):
    i = 0
    while x < 50:
        x = x * w
        i += 1 if x < 3 else 2
        if i == 12:
            break
    return x


def is_never_met(x, w):
    i = 1
    while x < 50:
        x = x * w
        i += 2
        if i == 12:
            break
    return x


def moves_away(x, w):
    i = 0
    while x < 50:
        x = x * w
        i -= 1
        if i == 12:
            break
    return x


def leaves_by_chance(x, w):
    i = 0
    while x < 50:
        x = x * w
        i += 1
        if i >= 12 and x > 9:
            break
    return x


def only_an_inner_loop_is_left(x, w):
    i = 0
    while x < 50:
        x = x * w
        while i < 12:
            i += 1
            if x > 20:
                break
    return x


def only_sometimes_asked(x, w):
    i = 0
    while x < 50:
        x = x * w
        i += 1
        if x > 9:
            if i >= 12:
                break
    return x


def starts_at_a_run_time_value(x, w):
    i = jnp.int32(x)
    while i < 12:
        x = x * w
        i += 1
    return x


def by_a_run_time_step(x, w):
    i = 0
    while i < 12:
        x = x * w
        i += jnp.int32(x)
    return x


def of_a_float(x, w):
    i = 0.0
    while i < 12:
        if x > 50:
            break
        x = x * w
        i += 1.0
    return x


UNPROVEN = [
    is_reset,
    goes_back,
    stands_still_on_one_way,
    limit_is_a_run_time_value,
    limit_moves_along,
    steps_over_what_it_must_meet,
    is_never_met,
    moves_away,
    leaves_by_chance,
    only_an_inner_loop_is_left,
    only_sometimes_asked,
    starts_at_a_run_time_value,
    by_a_run_time_step,
    of_a_float,
]


@pytest.mark.parametrize("function", UNPROVEN, ids=lambda f: f.__name__)
def test_without_a_proof_there_is_no_bound(function):
    made, point = d2s.to_static(function), (jnp.float32(2.0), jnp.float32(1.4))
    close(made(*point), function(*point))
    ones = jnp.float32(1.0), jnp.float32(0.5)
    close(jax.jvp(made, point, ones), jax.jvp(function, point, ones))
    with pytest.raises(d2s.Error, match="D2S043"):
        jax.grad(made)(*point)


def wraps_around(x, w):
    i = 100
    while i < 2_147_483_647:
        x = x * w
        i += 1_000_000_000
        if x > 50:
            break
    return x


def test_a_counter_that_could_wrap_around_proves_nothing():
    assert limit_of(wraps_around) is None
