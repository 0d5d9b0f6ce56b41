"""Programs around `else` of loops, and around loops that the other files leave out."""

import itertools

import jax.numpy as jnp

from . import codes
from .harness import case


@case((5, 3), (5, 9), (0, 0), vmap=False)
def for_with_break(n, stop):
    total = 0
    for i in range(n):
        if i == stop:
            break
        total = total + i
    else:
        total = total + 100
    return total


@case((5, 3), (5, 9), (0, 0))
def while_with_break(n, stop):
    i = 0
    while i < n:
        i = i + 1
        if i == stop:
            break
    else:
        i = -i
    return i


@case((4,), (0,))
def without_break(n):
    total = 0
    for i in range(n):
        if i == 1:
            continue
        total = total + i
    else:
        total = total + 100
    while n > 0:
        n = n - 1
    else:
        n = 50
    return total, n


@case((5, 2), (5, 9), (0, 0))
def return_in_else(n, stop):
    for i in range(n):
        if i == stop:
            break
    else:
        return -1
    return i


@case((5, 2), (5, 9), (0, 0))
def return_in_the_loop(n, stop):
    for i in range(n):
        if i == stop:
            return i
    else:
        n = n + 100
    return n


@case((4, 2), (4, 9), (0, 0))
def break_in_the_else_of_an_inner_loop(n, limit):
    total = 0
    for i in range(n):
        for j in range(3):
            if j + i == limit:
                break
            total = total + 1
        else:
            total = total + 100
            break
        total = total + 1000
    else:
        total = -total
    return total


@case((4, 2), (4, 9), (0, 0))
def continue_in_the_else_of_an_inner_loop(n, limit):
    total = 0
    for i in range(n):
        j = 0
        while j < i:
            j = j + 1
            if j == limit:
                break
        else:
            total = total + 1
            continue
        total = total + 10
    return total


@case((4, 2), (4, 9), (0, 0))
def loop_in_the_else_of_a_loop(n, stop):
    total = 0
    for i in range(n):
        if i == stop:
            break
    else:
        for i in range(n):
            if i == 1:
                break
            total = total + 5
        else:
            total = total + 7
    return total


@case((6,), (1,), (0,))
def primes(n):
    count = 0
    for k in range(2, n):
        for j in range(2, k):
            if k % j == 0:
                break
        else:
            count = count + 1
    return count


@case((3, 1), (3, 5), flavours=("static",))
def over_an_iterator(n, stop):
    it = iter(range(n))
    for i in it:
        if i == stop:
            break
    else:
        return "all", list(it)
    return i, list(it)


@case((3,), (-1,), (0,))
def unbound_target_in_else(n):
    for i in range(n):
        pass
    else:
        try:
            n = i
        except UnboundLocalError:
            n = -100
    return n


@case((5, 2), (5, 9))
def break_in_try_and_else_of_both(n, stop):
    total = 0
    for i in range(n):
        try:
            if i == stop:
                break
        except ValueError:
            total = -1
        else:
            total = total + 1
    else:
        total = total + 100
    return total


@case((3,), (0,), flavours=("static",))
def loops_for_their_effects(n):
    log = []
    i = 0
    while i < n:
        log.append(i)
        i += 1
    while log and log[-1] > 1:
        log.pop()
    for _ in range(n):
        log.append("x")
    return log


@case((3,), (5,), flavours=("static",))
def loop_over_a_set(n):
    total = 0
    for k in {n, 1, 2}:
        total = total + k
    return total


@case((3,), (0,), error_ok=codes.ITERATOR)
def loop_over_a_set_of_run_time_values(n):
    total = 0
    for k in {1, 2}:
        total = total + k * n
    return total


@case((3,), (0,))
def generators_as_sources(n):
    def none():
        return
        yield

    def some():
        yield from (1, 2)
        yield n

    total = 0
    for k in none():
        total = total + 1000
    for k in some():
        total = total + k
    for a, b in itertools.product((1, 2), repeat=2):
        total = total + a * b
    return total


@case((1,), (-1,), (0,))
def write_hidden_by_an_exception(n):
    y = 1

    def hidden():
        raise ValueError("hidden")

    if n > 0:
        try:
            y = 0
            hidden()
            y = 5
        except ValueError:
            n = n + 10
    if y == 0:
        n = n + 100
    return n, y


@case((1,), (-1,))
def made_in_a_try_before(n):
    try:
        y = n + 1
        if n < 0:
            raise ValueError("negative")
    except ValueError:
        y = 0
    if n > 0:
        y = y * 10
    return y


@case((1,), (-1,))
def handler_in_a_branch(n):
    if n > 0:
        try:
            raise ValueError("always")
        except ValueError as e:
            n = n + len(e.args)
    else:
        try:
            n = n - 1
        finally:
            n = n * 10
    return n


@case((1.0,), (-1.0,))
def array_tests_of_one_element(x):
    v = jnp.asarray([[x]])
    while v < 4.0:
        v = v + 1.5
    if v > 5:
        x = x + 1
    return x, v
