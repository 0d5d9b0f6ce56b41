"""What an error says about a variable: both types, and both places where it gets them."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import d2s

ONE = jnp.float32(1.0)


def in_both_branches(x):
    if x > 0:
        y = jnp.zeros(3)  # one
    else:
        other = 3
        y = jnp.zeros((3, 1))  # other
    return y


def before_and_in_a_branch(x):
    y = jnp.zeros(2)  # other
    if x > 0:
        y = "text"  # one
        last = 1
    return y


def two_variables(x):
    a = (1, 2)  # other
    if x > 0:
        a = (1, 2, 3)  # one
        b = 3
    else:
        b = 4
    return a, b


def in_a_while(x):
    rows = jnp.zeros(2)  # one
    while x > 0:
        rows = jnp.concatenate([rows, rows])  # other
        x = x - 1
    return rows


def in_a_for(x):
    rows = jnp.zeros(2)  # one
    for i in range(x.astype(int)):
        rows += 1
        rows = rows[None]  # other
    return rows


def returned(x):
    if x > 0:
        return jnp.zeros(3)  # one
    return None  # other


def ternary(x):
    size = 3
    y = (
        jnp.zeros(size)  # one
        if x > 0
        else jnp.zeros(size + 1)  # other
    )
    return y


def cases(x):
    match x.astype(int):
        case 1:
            y = jnp.ones(2)  # one
        case 2:
            y = jnp.ones(3)  # other
        case _:
            y = jnp.ones(2)
    return y


def behind_a_nonlocal(x):
    y = jnp.zeros(2)  # other

    def read():
        return y

    if x > 0:
        y = jnp.zeros(3)  # one
    return read()


FUNCTIONS = [
    in_both_branches, before_and_in_a_branch, two_variables, in_a_while, in_a_for, returned,
    ternary, cases, behind_a_nonlocal,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_both_places_are_shown(function):
    with pytest.raises(d2s.StagingError) as caught:
        d2s.to_static(function)(ONE)
    one, other = caught.value.sides
    assert one.site.text.endswith("# one"), str(caught.value)
    assert other.site.text.endswith("# other"), str(caught.value)
    for side in (one, other):
        assert "^" in side.excerpt() and side.excerpt() in str(caught.value)


def test_the_whole_text():
    with pytest.raises(d2s.StagingError) as caught:
        d2s.to_static(in_both_branches)(ONE)
    first = in_both_branches.__code__.co_firstlineno
    assert str(caught.value) == (
        "D2S010: `y`: the shapes differ\n"
        "  when the condition holds: float32[3]\n"
        "  otherwise:                float32[3,1]\n"
        f'  File "{__file__}", line {first + 1}, in in_both_branches\n'
        "    if x > 0:\n"
        "    ^^^^^^^^\n"
        f"  when the condition holds, line {first + 2}\n"
        "    y = jnp.zeros(3)  # one\n"
        "        ^^^^^^^^^^^^\n"
        f"  otherwise, line {first + 5}\n"
        "    y = jnp.zeros((3, 1))  # other\n"
        "        ^^^^^^^^^^^^^^^^^\n"
        "Write instead: the same shape on both sides, for example with jnp.broadcast_to or "
        "jnp.zeros"
    )


def test_an_argument_has_no_assignment():
    def f(x):
        while x.sum() < 10:
            x = jnp.concatenate([x, x])
        return x

    with pytest.raises(d2s.StagingError) as caught:
        d2s.to_static(f)(jnp.ones(2))
    one, other = caught.value.sides
    assert (one.when, one.what, one.site) == ("before the loop", "float32[2]", None)
    assert other.site is not None
