"""Ways out of loops behind work that the rest of the body needs: no branch, nothing changes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import d2s
from benchmarks.structure import of

from ....differential.harness import check

INPUTS = [(jnp.array([0.2, 1.5, 3.0]), 1.1), (jnp.array([9.0, 8.0, 7.0]), 1.3)]
MORE = [*INPUTS, (jnp.array([0.0, 0.0, 0.0]), 1.0)]


def mask_is_needed(x, rate):
    counts = jnp.zeros(3, jnp.int32)
    for _ in range(12):
        inside = x < 6
        if not jnp.any(inside):
            break
        x = jnp.where(inside, x * rate, x)
        counts = counts + inside
    return x, counts


def tells_how_it_ended(x, rate):
    trips = 0
    for n in range(12):
        inside = x < 6
        if not jnp.any(inside):
            last = -n
            break
        x = jnp.where(inside, x * rate, x)
        last = n
        trips += 1
    else:
        trips = 100
    return x, last, trips


def returns_from_the_middle(x, rate):
    for n in range(12):
        above = jnp.sum(x > 4)
        if above == 3:
            return x * n
        x = x * rate + above
    return x


def number_is_needed(x, rate):
    while True:
        above = jnp.sum(x > 4)
        if above >= 2:
            break
        x = x * rate + 0.1 * above + 0.05
    return x


def float_is_needed(x, rate):
    """What is handed on has a gradient: the branch stays."""
    for _ in range(12):
        size = jnp.sqrt(jnp.sum(x * x) + 0.01)
        if size > 12:
            break
        x = x * rate + 0.01 / size
    return x


def head_divides(x, rate):
    """After the last trip the head would divide by zero; only a flag comes of it."""
    left = jnp.float32(12)
    for _ in range(12):
        far = jnp.max(x) / left > 5
        if far:
            break
        x = jnp.where(far, 0.0, x * rate)
        left = left - 1
    return x


def head_reads_a_row(x, rate):
    """After the last trip there is no row."""
    rows = jnp.arange(36.0).reshape(12, 3)
    for n in range(12):
        above = rows[n] > 30
        if jnp.any(above & (x > 5)):
            break
        x = jnp.where(above, x, x * rate)
    return x


def two_ways_out(x, rate):
    for n in range(12):
        above = x > 5
        if jnp.all(above):
            break
        x = jnp.where(above, x, x * rate)
        if x[0] > 2:
            return -x
    return x


def nested(x, rate):
    for _ in range(4):
        above = x > 6
        if jnp.all(above):
            break
        for _ in range(3):
            big = jnp.sum(x > 5)
            if big > 1:
                break
            x = jnp.where(above, x, x * rate) + 0.01 * big
    return x


PROGRAMS = [
    *(mask_is_needed, tells_how_it_ended, returns_from_the_middle, number_is_needed),
    *(float_is_needed, head_divides, head_reads_a_row, two_ways_out, nested),
]


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_program(program):
    vmap = program is not tells_how_it_ended
    bounded = program is not number_is_needed
    check(program, *(MORE if bounded else INPUTS), grad=bounded, vmap=vmap)


@pytest.mark.parametrize("program", [mask_is_needed, number_is_needed, head_reads_a_row])
def test_there_is_no_branch(program):
    found = of(d2s.convert(program), *INPUTS[0]).equations
    assert not found["cond"] and found["while"] == 1


def endless_behind_the_end(x, limit):
    """The inner loop ends for every state but the one after the last trip."""
    for n in range(limit):
        k = jnp.float32(0)
        while k + 1 != n - limit + 2:
            k = k - 1
        below = k < -5
        if below & (x > 100):
            break
        x = jnp.where(below, x + 1, x + 2)
    return x


def test_a_head_with_a_loop_runs_as_often_as_in_python():
    check(endless_behind_the_end, (jnp.float32(1), 8), (jnp.float32(2), 7))


# -- flags that no trip changes -------------------------------------------------------------------


def leaves_at_its_head(x, rate):
    for n in range(12):
        if n >= x[0] * 3:
            break
        x = x * rate
    return x


def test_a_flag_that_no_trip_changes_is_not_carried():
    found = of(d2s.convert(leaves_at_its_head), *INPUTS[0])
    assert found.carries == [4 + 3 * 4]
    check(leaves_at_its_head, *MORE, grad=True, vmap=True)


def never_changes(x, rate):
    offset, keep = x * 2, x[0] > 1
    while x[1] < 20:
        if keep:
            x = x * (rate + 0.2) + 0.1
        else:
            x = x + 1
        offset = offset
        keep = keep
    return x + offset, keep


def test_values_that_no_trip_changes():
    check(never_changes, *MORE, vmap=True)


# -- branches on graphs that are there already ----------------------------------------------------


def one_side_gives_what_was_there(x, rate):
    y, n, label = x, 3, 1.5
    if x[0] > 1:
        y, n, label = x, n + 1, rate
    else:
        label = 2
    return x + y, n, label


def both_sides_give_the_same(x, rate):
    if x[0] > 1:
        a, b = x, rate * x
    else:
        a, b = x, rate * x + 1
    a = a + 1
    return a, b


def sides_of_other_types(x, rate):
    if x[0] > 1:
        a, b = 1, x
    else:
        a, b = 0.5, x * 2
    return a, b


@pytest.mark.parametrize(
    "program", [one_side_gives_what_was_there, both_sides_give_the_same, sides_of_other_types]
)
def test_branch(program):
    check(program, *MORE, grad=True, vmap=True)


def test_a_branch_does_not_carry_what_both_sides_leave():
    graph = jax.make_jaxpr(d2s.convert(both_sides_give_the_same))(*INPUTS[0])
    (branch,) = [e for e in graph.eqns if e.primitive.name == "cond"]
    assert len(branch.outvars) == 1


def test_strict_zip_of_arrays_is_one_scan():
    def total(x, rate):
        s = 0.0
        for a, b in zip(x, x * rate, strict=True):
            s = s + a * b
        return s

    assert of(d2s.convert(total), *INPUTS[0]).equations["scan"] == 1
    check(total, *MORE, grad=True)


def uneven(x, rate):
    s = 0.0
    for a, b in zip(x, x[1:], strict=True):
        s = s + a * b
    return s


def test_strict_zip_of_other_lengths():
    check(uneven, *MORE)
