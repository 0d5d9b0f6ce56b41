"""Loops end for the lanes of a `vmap` that do not take the branch they are in, or are done.

Each program would run for ever on the values of a lane that is not there.
"""

from __future__ import annotations

import contextlib
import io
import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s


def halves(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def in_branch(n):
    if n > 0:
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
    return n


def in_else(n):
    if n <= 0:
        out = n * 2
    else:
        out = 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            out += 1
    return out


def in_called(n):
    return halves(n) if n > 0 else -1


def in_nested_branches(n):
    out = 0
    if n > 0:
        if n % 2 == 0:
            out = halves(n)
        elif n > 4:
            while n != 5:
                n -= 1
            out = n
    return out


def loops_in_loops(n):
    total = 0
    if n > 0:
        while n > 0:
            k = n
            while k != 1:
                k = k // 2
                total += 1
            n -= 1
    return total


def loop_in_loop_alone(n):
    """The lanes that are done stand at zero, which is never halved to one."""
    total = 0
    while n > 0:
        k = n
        while k != 1:
            k = k // 2
            total += 1
        n -= 1
    return total


def with_break(n):
    out = 0
    if n > 0:
        for i in range(1000):
            k = n
            while k != 1:
                k = k // 2
            if i * i >= n:
                break
            out += i
    return out


def endless_with_break(n):
    if n > 0:
        while True:
            n -= 3
            if n == 0 or n == -1 or n == -2:
                break
    return n


def in_switch(n):
    match n:
        case 1:
            out = halves(27)
        case 2:
            out = halves(n)
        case 3:
            out = 0
            while n != 0:
                n -= 1
                out += 2
        case _:
            out = -1
    return out


def in_and(n):
    return n > 0 and halves(n) > 2


def in_ternary_in_scan(n):
    total = 0
    for i in range(4):
        total += halves(n + i) if n + i > 0 else 0
    return total


def loop_in_test(n):
    out = 0
    if n > 0:
        while halves(n) > 2:
            n = n - 1
            out += 1
    return out


def with_float(n):
    x = n * 1.0
    if n > 0:
        while x != 1.0:
            x = jnp.floor(x / 2.0)
    return x


def early_return(n):
    if n <= 0:
        return -n
    while True:
        if n == 1:
            return 100
        n = n // 2


PROGRAMS = [
    in_branch,
    in_else,
    in_called,
    in_nested_branches,
    loops_in_loops,
    loop_in_loop_alone,
    with_break,
    endless_with_break,
    in_switch,
    in_and,
    in_ternary_in_scan,
    loop_in_test,
    with_float,
    early_return,
]
LANES = [6, 0, -3, 1, 3, 7, 2]


def in_time(function, *args):
    """The result; a program that does not end is a failure and not a test that hangs."""
    found = []

    def run():
        try:
            found.append(jax.block_until_ready(function(*args)))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(60)
    assert found, "it does not end"
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_lanes_that_are_not_there(program):
    static = d2s.to_static(program)
    expected = [program(n) for n in LANES]
    np.testing.assert_array_equal(in_time(jax.vmap(static), jnp.array(LANES)), expected)
    none = [0, -1, -2]
    plain = [program(n) for n in none]
    np.testing.assert_array_equal(in_time(jax.vmap(static), jnp.array(none)), plain)
    np.testing.assert_array_equal(in_time(jax.jit(jax.vmap(static)), jnp.array(LANES)), expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_lanes_of_lanes(program):
    static = d2s.to_static(program)
    lanes = jnp.array([[6, 0, 5], [-3, -2, 0], [1, 7, -1]])
    expected = [[program(int(n)) for n in row] for row in lanes]
    np.testing.assert_array_equal(in_time(jax.vmap(jax.vmap(static)), lanes), expected)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_vmap_inside_of_a_static_function(program):
    @d2s.to_static
    def whole(lanes):
        return jax.vmap(program)(lanes)

    np.testing.assert_array_equal(in_time(whole, jnp.array(LANES)), [program(n) for n in LANES])


def test_condition_that_the_lanes_share():
    """The loop is the same for all lanes, and none of them may be there."""

    @d2s.to_static
    def f(flag, n):
        out = 0
        if flag:
            while n != 1:
                n = n // 2
                out += 1
        return out

    for flags, n in (([True, False], 8), ([False, False], 0)):
        got = in_time(jax.vmap(f, in_axes=(0, None)), jnp.array(flags), n)
        np.testing.assert_array_equal(got, [3 if flag else 0 for flag in flags])
    both = jax.vmap(jax.vmap(f, in_axes=(0, None)), in_axes=(None, 0))
    got = in_time(both, jnp.array([True, False]), jnp.array([8, 2]))
    np.testing.assert_array_equal(got, [[3, 0], [1, 0]])
    none = jax.vmap(jax.vmap(f, in_axes=(None, 0)), in_axes=(0, None))
    got = in_time(none, jnp.array([False, True]), jnp.array([8, 2]))
    np.testing.assert_array_equal(got, [[0, 0], [3, 1]])


def doubled_until(x):
    """Gradient: two to the number of trips; endless for what is not positive."""
    if x > 0:
        for _ in range(40):
            if x > 10.0:
                break
            k = x
            while k < 1.0:
                k = k * 2.0
            x = x * 2.0
    return x


def test_gradients():
    static = d2s.to_static(doubled_until)
    xs = jnp.array([3.0, -1.0, 0.0, 0.3])
    slopes = [jax.grad(static)(x) for x in xs]
    np.testing.assert_allclose(in_time(jax.vmap(jax.grad(static)), xs), slopes)
    total = jax.grad(lambda xs: jnp.sum(jax.vmap(static)(xs)))
    np.testing.assert_allclose(in_time(total, xs), slopes)
    np.testing.assert_allclose(in_time(jax.vmap(jax.jacfwd(static)), xs), slopes)

    @d2s.to_static
    def inside(xs):
        return jax.grad(lambda xs: jnp.sum(jax.vmap(doubled_until)(xs)))(xs)

    np.testing.assert_allclose(in_time(inside, xs), slopes)


def test_forward_mode_of_a_loop_without_a_bound():
    @d2s.to_static
    def f(x):
        if x > 0:
            while x != 0.5:
                x = jnp.floor(x) / 2.0
                if x < 1.0:
                    x = x * 0.0 + 0.5
        return x * 3.0

    xs = jnp.array([6.0, 0.0, -2.0])
    expected = [jax.jvp(f, (x,), (1.0,)) for x in xs]
    got = in_time(jax.vmap(lambda x: jax.jvp(f, (x,), (1.0,))), xs)
    np.testing.assert_allclose(np.transpose(got), expected)


def test_checkpoints_and_jit_inside():
    @d2s.to_static
    def f(n):
        if n > 0:
            return jax.checkpoint(jax.jit(halves))(n)
        return 0

    np.testing.assert_array_equal(in_time(jax.vmap(f), jnp.array([6, 0, -3])), [8, 0, 0])


def test_prints_come_from_lanes_that_are_there():
    @d2s.to_static
    def f(n):
        if n > 0:
            while n != 1:
                n = n // 2
                print("at", n)
                k = n
                while k != 1:
                    k = k // 2
                    print("inner", k)
        return n

    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        got = in_time(jax.vmap(f), jnp.array([4, 0, -3, 3]))
        jax.effects_barrier()
    np.testing.assert_array_equal(got, [1, 0, -3, 1])
    assert text.getvalue() == "at 2\ninner 1\nat 1\nat 1\n"


def test_exceptions_come_from_lanes_that_are_there():
    def f(n):
        if n > 0:
            while n != 1:
                if n < 0 or n > 50:
                    raise ValueError(f"left at {n}")
                n = n - 2
        return n

    @d2s.to_static
    def caught(n):
        try:
            return f(n)
        except ValueError:
            return -100

    got = in_time(jax.vmap(caught), jnp.array([5, 0, -3, 4, 60]))
    np.testing.assert_array_equal(got, [1, 0, -3, -100, -100])
    static = d2s.to_static(f)
    np.testing.assert_array_equal(in_time(jax.vmap(static), jnp.array([5, 0, -3])), [1, 0, -3])


def test_a_branch_of_the_users_own():
    def f(n):
        def loop(n):
            return jax.lax.while_loop(lambda n: n != 1, lambda n: n // 2, n)

        return jax.lax.cond(n > 0, loop, lambda n: n, n)

    np.testing.assert_array_equal(in_time(jax.vmap(f), jnp.array([6, 0, -3])), [1, 0, -3])
    np.testing.assert_array_equal(
        in_time(jax.vmap(d2s.to_static(f)), jnp.array([6, 0, -3])), [1, 0, -3]
    )


def test_what_is_not_mapped_stays_as_it_is():
    """No question in the graph of a function that nobody maps, or maps without differences."""
    static = d2s.to_static(in_branch)
    assert "asks" not in str(jax.make_jaxpr(static)(3))

    @d2s.to_static
    def same(x, n):
        if n > 0:
            while n != 1:
                n = n // 2
                x = x + 1
        return x

    graph = jax.make_jaxpr(jax.vmap(same, in_axes=(0, None)))(jnp.arange(3), 4)
    assert "asks" not in str(graph)
