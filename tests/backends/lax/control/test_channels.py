"""The four hidden channels, each through branches, loops and handlers; free when not used."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import d2s

from ....differential.harness import check


def graph(function, *args):
    return jax.make_jaxpr(d2s.convert(function))(*args)


def primitives(jaxpr):
    names = []
    for equation in jaxpr.eqns:
        # where a gradient may be asked for, the loop is ours; without one it is the same loop
        names.append(equation.primitive.name.removeprefix("bounded_"))
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            names += primitives(inner)
    return names


# -- none ------------------------------------------------------------------------------------------


def plain_loop(x, n):
    while x < n:
        if x > 3:
            x = x * 2
        else:
            x = x + 1
    return x


def by_hand(x, n):
    return jax.lax.while_loop(
        lambda x: x < n,
        lambda x: jax.lax.cond(x > 3, lambda: x * 2, lambda: x + 1),
        x,
    )


def test_channels_that_are_not_used_leave_no_trace():
    args = jnp.float32(0), jnp.float32(100)
    ours, theirs = graph(plain_loop, *args), jax.make_jaxpr(by_hand)(*args)
    assert primitives(ours) == primitives(theirs)
    (loop,) = ours.eqns
    assert len(loop.outvars) == 1


# -- the error code --------------------------------------------------------------------------------


def first_in_order(xs, limit):
    for x in xs:
        if x > limit:
            raise ValueError(f"too large: {x}")
        if x < 0:
            raise KeyError("negative")
    return xs.sum()


def after_the_loop(x):
    while x < 10:
        x = x + 3
        if x == 9:
            raise ValueError("nine")
    if x > 11:
        raise OverflowError(f"{x:.1f}")
    return x


def nested(x):
    total = 0.0
    for k in range(3):
        y = x + k
        while y > 0:
            y = y - 1
            if y == 2.5:
                raise ValueError(f"met {y} at {k}")
            total = total + y
    return total


def test_the_first_failure_in_program_order_wins():
    limit = 5.0
    check(
        first_in_order,
        (jnp.array([1.0, 7.0, -1.0]), limit),
        (jnp.array([1.0, -1.0, 7.0]), limit),
        (jnp.array([1.0, 2.0, 3.0]), limit),
    )
    check(after_the_loop, (0.0,), (2.0,), (1.0,), (5.0,))
    check(nested, (1.0,), (1.5,), (0.5,), (3.5,))


def handled(x):
    try:
        y = x
        for k in range(4):
            y = y * 2
            if y > 10:
                raise ValueError
            if y < -10:
                raise KeyError
        y = y + 0.25
    except ValueError:
        y = y + 100
    except KeyError:
        y = y - 100
    else:
        y = y + 0.5
    return y, k


def test_handlers_see_what_was_written_before_the_failure():
    check(handled, (1.0,), (0.1,), (-1.0,), (3.0,))


# -- definedness -----------------------------------------------------------------------------------


def maybe(x, n):
    if x > 0:
        y = x
    for k in range(n):
        z = y + k
    return y, z


def test_definedness_goes_through_branches_and_loops():
    check(maybe, (1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 0))


def test_a_name_that_is_surely_bound_is_not_asked_for():
    def rows(xs):
        for x in xs:
            last = x
        return last

    assert "cond" not in primitives(graph(rows, jnp.arange(3.0)))


# -- writes ----------------------------------------------------------------------------------------


class Box:
    def __init__(self, value):
        self.value = value
        self.parts = {"a": [value, 0.0]}


def written(x):
    box = Box(x)
    seen = 0

    def note(v):
        nonlocal seen
        seen += 1
        box.parts["a"][1] = v

    while box.value < 10:
        box.value = box.value * 2 + 1
        if box.value > 5:
            note(box.value)
    return box.value, box.parts["a"][1], seen


def grown(x):
    items = []
    if x > 0:
        items.append(x)
    return len(items)


def test_writes_to_objects_are_taken_out_and_put_back():
    check(written, (1.0,), (20.0,), (0.0,))


def test_what_is_more_than_a_new_value_is_refused():
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(grown)(jnp.float32(1))
    assert caught.value.code == "D2S074"
    assert "list" in str(caught.value)


# -- the order of effects --------------------------------------------------------------------------


@d2s.do_not_convert
def tell(tag, x):
    jax.debug.callback(lambda v: print(tag, int(v)), x, ordered=True)


def effects(x, n):
    tell("start", x)
    while x < n:
        if x % 2 == 0:
            tell("even", x)
        else:
            tell("odd", x)
        x = x + 1
    for row in jnp.arange(2):
        tell("row", row)
    tell("end", x)
    return x


def test_ordered_effects_keep_their_order_and_number(capsys):
    static = d2s.to_static(effects)
    for _ in range(2):
        static(jnp.int32(0), jnp.int32(3))
        jax.effects_barrier()
        told = capsys.readouterr().out.split("\n")
        assert told[:-1] == ["start 0", "even 0", "odd 1", "even 2", "row 0", "row 1", "end 3"]


def nest(n, x):
    total = 0.0
    a = 0.0
    while a < n:
        b = 0.0
        while b < n:
            total = total + x * (a + b)
            b += 1
        a += 1
    return total


def nest_by_hand(n, x):
    def inner(a, total):
        return jax.lax.while_loop(
            lambda s: s[1] < n, lambda s: (s[0] + x * (a + s[1]), s[1] + 1), (total, 0.0)
        )[0]

    return jax.lax.while_loop(
        lambda s: s[1] < n, lambda s: (inner(s[1], s[0]), s[1] + 1), (jnp.float32(0), 0.0)
    )[0]


def test_a_number_that_becomes_an_array_element_leaves_no_trace():
    args = jnp.float32(3), jnp.float32(1)
    ours, theirs = graph(nest, *args), jax.make_jaxpr(nest_by_hand)(*args)
    assert sorted(primitives(ours)) == sorted(primitives(theirs))
    check(nest, (3.0, 1.0), (0.0, 1.0))
