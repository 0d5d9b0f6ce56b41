"""Arrays with several names: what NumPy's names would all see is seen, or refused.

Jax arrays cannot be written eagerly, so plain is the same program with NumPy in the place of
`jax.numpy`.
"""

from __future__ import annotations

import types
from collections import namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

X, GRID, V, N = jnp.arange(3.0), jnp.arange(4.0).reshape(2, 2), jnp.float32(1), jnp.int32(3)
AGREE, REFUSED = [], []


def agrees(*args):
    return lambda fn: AGREE.append(pytest.param(fn, args, id=fn.__name__)) or fn


def refused(*args, code="D2S070"):
    return lambda fn: REFUSED.append(pytest.param(fn, args, code, id=fn.__name__)) or fn


def plain(fn, args):
    """What the function gives with NumPy arrays."""
    space = {**fn.__globals__, "jnp": np}
    twin = types.FunctionType(fn.__code__, space, fn.__name__, None, fn.__closure__)
    return twin(*jax.tree.map(lambda a: np.array(a)[()], args))


def shown(value):
    return jax.tree.map(lambda a: np.asarray(a, np.float32).tolist(), value)


def code_of(fn, *args):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(fn)(*args)
    first = fn.__code__.co_firstlineno
    assert caught.value.site is not None
    if caught.value.site.function == fn.__qualname__:
        assert first < caught.value.site.line
    return caught.value.code


# -- loops ----------------------------------------------------------------------------------------


@refused(jnp.float32(2))
def carried_under_two_names(v):
    prev, cur = np.zeros(3), np.zeros(3)
    while v > 0:
        cur[1] = prev[0] + v
        cur[2] = prev[1] + v
        prev = cur
        v = v - 1
    return cur


@refused(jnp.float32(2))
def carried_under_two_names_of_jax(v):
    prev, cur = jnp.zeros(3), jnp.zeros(3)
    while v > 0:
        cur[1] = prev[0] + v
        cur[2] = prev[1] + v
        prev = cur
        v = v - 1
    return cur


@agrees(X, jnp.float32(2))
def rebound_alone(x, v):
    prev, cur = x * 0, x.copy()
    while v > 0:
        prev = cur
        cur = cur + 1
        cur[0] = v
        v = v - 1
    return prev, cur


@agrees(X, N)
def two_buffers(x, n):
    old, new = x.copy(), x.copy()
    for _ in range(n):
        for i in range(1, 2):
            new[i] = (old[i - 1] + old[i + 1]) / 2
        old, new = new, old
    old[0] = 9.0
    return old, new


@agrees(X, N)
def two_buffers_of_numpy(x, n):
    old, new = np.zeros(3), np.zeros(3)
    old[0] = x[1]
    for _ in range(n):
        new[1] = (old[0] + old[2]) / 2
        old, new = new, old
    return old


@refused(X, N)
def a_buffer_has_another_name(x, n):
    a, b = x.copy(), x.copy()
    kept = b
    for _ in range(n):
        a[0] = a[0] + 1
        a, b = b, a
    return kept


@agrees(X, N)
def copied_after_the_write(x, n):
    cur, prev = x.copy(), x.copy()
    for _ in range(n):
        cur[0] = prev[0] + 1
        prev = cur
        cur = cur.copy()
    return cur, prev


@refused(X, jnp.int32(0))
def no_trip_leaves_it(x, n):
    a = x.copy()
    b = a
    for _ in range(n):
        b = b + 1
    b[0] = 7.0
    return a


@refused(X, N)
def bound_in_a_loop(x, n):
    a, b = x.copy(), x * 2
    for _ in range(n):
        b = a
    b[0] = 7.0
    return a, b


@refused(X, N)
def bound_and_written_in_nests(x, n):
    a, b = x.copy(), x * 2
    for _ in range(n):
        for k in range(n):
            a[0] = b[1] + k
        if a[0] > 0:
            b = a
    return a, b


@agrees(X, N)
def entries_of_a_list(x, n):
    p = [x.copy(), x * 2]
    for _ in range(n):
        p[0][0] = p[1][0] + 1
        p[1] = p[0]
    return p


@refused(GRID, V)
def a_view_of_the_last_trip(x, v):
    a, row = x.copy(), x[0]
    while v < 3:
        a[0] = v
        a[1] = row + v
        row = a[0]
        v = v + 1
    return a, row


@refused(X, V)
def a_numpy_array_bound_in_a_loop(x, v):
    t, u = np.arange(3.0), np.ones(3)
    while v < 4:
        u = t
        v = v + 1
    t[0] = 9.0
    return u


@agrees(X, jnp.float32(2))
def filled_until_a_break(x, v):
    text, count = np.zeros(5), 0
    while count < 5:
        letter = x[1] + count
        if letter > v:
            break
        text[count] = letter
        count += 1
    return text, count


# -- branches -------------------------------------------------------------------------------------


@refused(jnp.float32(2), 5)
def bound_under_a_condition(v, n):
    x, best, value = np.zeros(2), np.ones(2), 1e9
    for i in range(n):
        x[0] = v - i
        if x[0] ** 2 < value:
            value = x[0] ** 2
            best = x
    return best


@agrees(jnp.float32(2), 5)
def copied_under_a_condition(v, n):
    x, best, value = np.zeros(2), np.ones(2), 1e9
    for i in range(n):
        x[0] = v - i
        if x[0] ** 2 < value:
            value = x[0] ** 2
            best = x.copy()
    return best


@refused(jnp.float32(2), 5)
def stored_under_a_condition(v, n):
    s = types.SimpleNamespace(x=jnp.zeros(2), best=jnp.ones(2))
    value = 1e9
    for i in range(n):
        s.x[0] = v - i
        if s.x[0] ** 2 < value:
            value = s.x[0] ** 2
            s.best = s.x
    return s.best


@agrees(X, N)
def best_so_far(x, n):
    best, value = x, jnp.float32(1e9)
    for i in range(n):
        y = x - i
        if (y**2).sum() < value:
            value = (y**2).sum()
            best = y
    best[0] = 3.0
    return best, value


@agrees(X, V)
def not_handed_on(x, v):
    z = x * 2
    x = x * 1
    y = x if v > 0 else z
    total = y.sum()
    x[0] = 1.0
    return x, z, total


@agrees(X, V)
def swapped_under_a_condition(x, v):
    a, b = x.copy(), x * 2
    if v > 0:
        a, b = b, a
    a[0] = 5.0
    return a, b


@refused(X, V)
def swapped_with_another_name(x, v):
    a, b = x.copy(), x * 2
    c = a
    if v > 0:
        a, b = b, a
    a[0] = 5.0
    return c


@refused(X, V)
def chosen_by_a_helper(x, v):
    def pick(a, b):
        return a if v > 0 else b

    a, b = x.copy(), x * 2
    c = pick(a, b)
    c[0] = 5.0
    return a, b


@refused(X, V)
def numpy_arrays_joined(x, v):
    t, u = np.arange(3.0), np.ones(3)
    w = t if v > 0 else u
    t += 1
    return w


@refused(X, V)
def a_joined_one_is_written(x, v):
    t, u = np.arange(3.0), np.ones(3)
    w = t if v > 0 else u
    w[0] = v
    return t


@agrees(X, V)
def numpy_in_nested_branches(x, v):
    a = np.zeros(2)
    if v > 0:
        if v > 1:
            a[0] = v
        a[1] = 3.0
    return a


@refused(GRID, V)
def a_view_written_in_a_branch(x, v):
    if v > 0:
        row = x[1]
        row[0] = v
    return x


@refused(GRID, V)
def a_view_chosen(x, v):
    a = x.copy()
    row = a[0] if v > 0 else a[1]
    a[0, 1] = 8.0
    return row


# -- chosen, and in a place without a name of its own ----------------------------------------------


class Holder:
    buffer = None


@refused(V)
def chosen_from_an_attribute(v):
    o = Holder()
    o.buffer, y = np.zeros(3), np.ones(3)
    if v > 0:
        y = o.buffer
    y[0] = v
    return o.buffer.sum(), y.sum()


@refused(V)
def chosen_from_an_attribute_in_a_loop(v):
    o = Holder()
    o.buffer, y, i = np.zeros(3), np.ones(3), 0
    while i < 3 and v > 0:
        y[0] = y[0] + v
        y = o.buffer
        i += 1
    y[1] = v
    return o.buffer.sum(), y.sum()


@refused(V)
def chosen_and_seen_by_a_view(v):
    o, whole = Holder(), np.zeros(3)
    o.buffer, y = whole[1:], np.ones(3)
    if v > 0:
        y = whole
    del whole
    y[1] = v
    return o.buffer.sum(), y.sum()


@refused(V)
def chosen_and_seen_by_a_function(v):
    def make():
        hidden = np.zeros(3)
        return hidden, lambda: hidden.sum()

    hidden, total = make()
    y = np.ones(3)
    if v > 0:
        y = hidden
    del hidden
    y[1] = v
    return total(), y.sum()


OUTSIDE = np.zeros(3)


@refused(V)
def chosen_from_a_global(v):
    y = np.ones(3)
    if v > 0:
        y = OUTSIDE
    y[0] = v
    return OUTSIDE.sum(), y.sum()


@agrees(V)
def chosen_and_gone_from_an_attribute(v):
    o = Holder()
    o.buffer, y = np.zeros(3), np.ones(3)
    if v > 0:
        y = o.buffer
    o.buffer = None
    y[0] = v
    return y


# -- lists that a loop appends to -----------------------------------------------------------------


@refused(jnp.array([1.0, 2.0]))
def appended_and_written(vs):
    x, h = np.zeros(2), []
    for v in vs:
        x[0] = v
        h.append(x)
    return h


@refused(V)
def appended_and_written_in_a_rolled_loop(v):
    x, h = jnp.zeros(2), []
    for i in range(60):
        x[0] = v * i
        h.append(x)
    return h


@agrees(X)
def copies_are_appended(x):
    h = []
    for i in range(20):
        x[0] = i
        h.append(x.copy())
    return h


@agrees(X)
def new_ones_are_appended(x):
    h, a = [], x
    for i in range(20):
        b = x * i
        b[0] = 3.0
        h.append(b)
        a = a + 1
        h.append(a)
    return h


@refused(X)
def appended_trips_ago(x):
    h, a, b = [], x.copy(), x.copy()
    for i in range(20):
        h.append(b)
        a[0] = i
        a, b = b, a
    return h


@refused(X)
def written_after_the_loop(x):
    h, a = [], x.copy()
    for _ in range(20):
        a = a + 1
        h.append(a)
    a[0] = 100.0
    return h


# -- two places with one array --------------------------------------------------------------------


@refused(V)
def a_list_twice(v):
    l = [np.zeros(1)] * 2
    l[0][0] = v
    return l


@refused(V)
def a_list_twice_of_jax(v):
    l = [jnp.zeros(1)] * 2
    l[0][0] = v
    return l


@refused(V)
def a_copied_dict(v):
    d = {"a": np.zeros(1)}
    e = dict(d)
    e["a"][0] = v
    return d, e


@refused(V)
def a_copied_dict_of_jax(v):
    d = {"a": jnp.zeros(1)}
    e = d.copy()
    e["a"][0] = v
    return d, e


@refused(V)
def a_sum_of_lists(v):
    m = [np.zeros(1)]
    e = m + m
    e[0][0] = v
    return e


@refused(V)
def a_dict_from_keys(v):
    d = dict.fromkeys("ab", np.zeros(1))
    d["a"][0] = v
    return d


@refused(V)
def two_attributes(v):
    s = types.SimpleNamespace(a=np.zeros(2))
    s.b = s.a
    s.a[0] = v
    return s.b


@agrees(V)
def one_attribute_and_one_entry(v):
    s = types.SimpleNamespace(a=np.zeros(2), b=[np.zeros(2)])
    s.a[0] = v
    s.a[1] += v
    s.b[0][1] = v
    s.b[0] += v
    return s.a, s.b


Pair = namedtuple("Pair", "a b")


@refused(V, code="D2S073")
def in_a_tuple(v):
    t = (np.zeros(2), 1)
    t[0][0] = v
    return t


@refused(V, code="D2S073")
def in_a_tuple_in_a_dict(v):
    d = {"a": (np.zeros(2), np.zeros(2))}
    d["a"][0][1] += v
    return d


@refused(V, code="D2S073")
def in_a_field(v):
    p = Pair(np.zeros(2), 1)
    p.a[0] = v
    return p


@refused(V, code="D2S072")
def through_flat(v):
    a = np.zeros((2, 2))
    a.flat[1] = v
    return a


# -- NumPy arrays that a graph has seen -----------------------------------------------------------


@agrees(V)
def changed_after_use(v):
    a = np.ones(2)
    row = a[1:]
    b = a + v, row + v
    a[1] = 5.0
    c = a + v, row + v
    a += 1
    l = [a]
    d = l[0] * v
    l[0] += 1
    return a, b, c, d


@agrees(X, V)
def changed_between_branches_and_loops(x, v):
    a = np.ones(3)
    y = a * x if v > 0 else a + x
    a[0] = 7.0
    z = a * x if v > 0 else a + x
    while v < 4:
        z = z + a
        v = v + 1
    a[1] = 3.0
    return y, z, a + x


@agrees(V)
def changed_where_nobody_sees_it(v):
    def add(q):
        q += 1

    a = np.array([3.0, 1.0])
    b = a + v
    add(a)
    c = a + v
    a.sort()
    return a + v, b, c


@refused(V)
def changed_by_a_method(v):
    a, c = np.ones(3), np.zeros(3)
    if v > 0:
        c = a
    a.fill(4.0)
    return c


# -- run-time positions, copies -------------------------------------------------------------------


@refused(X, jnp.int32(1))
def an_item_at_a_run_time_position(x, i):
    l = [x.copy(), x * 2]
    c = l[i]
    c[0] = 9.0
    return l


@refused(X, jnp.int32(1))
def put_at_a_run_time_position(x, i):
    l, y = [x.copy(), x * 2], x * 3
    l[i] = y
    l[1][0] = 9.0
    return y


@agrees(GRID, V)
def flatten_is_a_copy(x, v):
    y = x.flatten()
    y[0] = v
    return x, y


def test_under_transformations():
    def run(x, v):
        a, b = x.copy(), x * 2
        while v < 4:
            a[0] = b[1] * v
            a, b = b, a
            v = v + 1
        return (a + b).sum()

    xs, vs = jnp.arange(6.0).reshape(2, 3), jnp.array([1.0, 3.0])
    want = [float(plain(run, pair)) for pair in zip(xs, vs, strict=True)]
    for way in (d2s.to_static(run), d2s.convert(run)):
        assert jax.vmap(way)(xs, vs).tolist() == want
        forward = jax.jacfwd(way)(xs[1], vs[1])
        assert forward.tolist() == [2.0, 9.0, 3.0]

    def alias(x, v):
        a, b = x.copy(), x * 2
        while v < 4:
            a[0] = v
            a[1] = b[0] * v
            b = a
            v = v + 1
        return b.sum()

    for way in (d2s.to_static(alias), d2s.convert(alias)):
        with pytest.raises(d2s.Error) as caught:
            jax.vmap(way)(xs, vs)
        assert caught.value.code == "D2S070"


def test_a_buffer_that_branches_fill_under_a_map():
    def run(x):
        buffer = np.zeros(3, np.float32)
        for i in range(3):
            if x > i:
                buffer[i] += x
        return jnp.asarray(buffer).sum()

    xs = jnp.array([0.5, 2.5])
    for way in (d2s.to_static(run), d2s.convert(run)):
        assert jax.vmap(way)(xs).tolist() == [0.5, 7.5]


@pytest.mark.parametrize(("fn", "args"), AGREE)
def test_it_is_what_numpy_gives(fn, args):
    assert shown(d2s.to_static(fn)(*args)) == shown(plain(fn, args))


@pytest.mark.parametrize(("fn", "args", "code"), REFUSED)
def test_it_is_refused(fn, args, code):
    assert code_of(fn, *args) == code


def writes_under_another_name(x):
    other = x
    other[0] = 7.0
    return x


def test_a_mapped_function_does_not_give_back_what_was_written_under_another_name():
    for outer in (lambda f: f, jax.jit):
        with pytest.raises(d2s.Error, match="D2S070"):
            outer(jax.vmap(d2s.convert(writes_under_another_name)))(jnp.ones((2, 3)))
