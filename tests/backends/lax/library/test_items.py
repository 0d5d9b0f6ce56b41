"""Writes into arrays: gradients, maps, dtypes, who else may see them, and where stores go."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s


def scattered(x, i, v):
    x[i] = v * 2
    x[1:3] *= v
    x[x > 3.0] -= 1
    return (x**2).sum()


def by_hand(x, i, v):
    x = x.at[i].set(v * 2)
    x = x.at[1:3].multiply(v)
    x = jnp.where(x > 3.0, x - 1, x)
    return (x**2).sum()


@pytest.mark.parametrize("i", [0, 2, -1])
def test_gradients_go_through_writes(i):
    x, v = jnp.arange(5.0), jnp.float32(1.5)
    want = jax.grad(by_hand, (0, 2))(x, i, v)
    for way in (d2s.to_static(scattered), d2s.convert(scattered)):
        got = jax.grad(way, (0, 2))(x, jnp.int32(i), v)
        assert [g.tolist() for g in got] == [w.tolist() for w in want]


def test_writes_are_mapped():
    xs, at, vs = jnp.arange(10.0).reshape(2, 5), jnp.array([1, -1]), jnp.array([2.0, 3.0])
    want = [float(by_hand(x, i, v)) for x, i, v in zip(xs, at, vs, strict=True)]
    for way in (d2s.to_static(scattered), d2s.convert(scattered)):
        assert jax.vmap(way)(xs, at, vs).tolist() == want
        gradients = jax.vmap(jax.grad(way))(xs, at, vs)
        assert gradients.tolist() == jax.vmap(jax.grad(by_hand))(xs, at, vs).tolist()


def filled(x, n):
    for i in range(n):
        if x[i] > 1:
            x[i] = x[i] * i
    return x


def test_gradients_in_loops():
    x = jnp.arange(1.0, 6.0)
    gradient = jax.jacfwd(d2s.to_static(filled))(x, jnp.int32(4))
    assert jnp.diag(gradient).tolist() == [1.0, 1.0, 2.0, 3.0, 1.0]


def in_a_window(x, i, v):
    x[i : i + 2] += v
    return x[i : i + 2].sum() * x[0]


def test_gradients_go_through_windows():
    x = jnp.arange(1.0, 6.0)
    gradient = jax.grad(d2s.to_static(in_a_window))(x, jnp.int32(1), jnp.float32(2))
    assert gradient.tolist() == [9.0, 1.0, 1.0, 0.0, 0.0]


@pytest.mark.parametrize("dtype", [jnp.int8, jnp.int32, jnp.float16, jnp.bfloat16, jnp.bool_])
def test_the_array_keeps_its_dtype(dtype):
    def put(x, v):
        x[0] = v
        x[1] = 1
        return x

    assert d2s.to_static(put)(jnp.zeros(3, dtype), jnp.float32(1)).dtype == dtype
    assert d2s.to_static(put)(jnp.zeros(3, dtype), 1).tolist() == [1, 1, 0]


def test_numbers_that_an_array_cannot_hold():
    def put(x):
        x[0] = 300
        return x

    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        d2s.to_static(put)(jnp.zeros(3, jnp.int8))

    def imaginary(x, v):
        x[0] = v
        return x

    with pytest.raises(TypeError, match="complex"):
        d2s.to_static(imaginary)(jnp.zeros(3), jnp.complex64(1j))


def test_positions_out_of_range_are_dropped_as_in_jax():
    def put(x, i):
        x[i] = 7.0
        return x

    assert d2s.to_static(put)(jnp.zeros(2), jnp.int32(5)).tolist() == [0.0, 0.0]


def test_an_argument_of_the_caller_is_a_value():
    def put(x):
        x[0] = 5.0
        return x

    x = jnp.zeros(2)
    assert d2s.to_static(put)(x).tolist() == [5.0, 0.0]
    assert x.tolist() == [0.0, 0.0]
    for _ in range(2):
        with pytest.raises(
            d2s.Error, match="`x`, an argument that is a NumPy array, is written"
        ) as caught:
            d2s.to_static(put)(np.zeros(2))
        assert caught.value.code == "D2S071"


class Layer:
    def __init__(self):
        self.stores = 0
        self.w = jnp.zeros(3)

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        if name != "stores":
            object.__setattr__(self, "stores", self.stores + 1)


def test_an_attribute_is_stored_once_for_each_new_array():
    def run(v):
        layer = Layer()
        layer.w[0] = v
        layer.w[1:] += v
        layer.items = [1, 2]
        layer.items[0] = 5
        return layer.w, layer.stores

    w, stores = d2s.to_static(run)(jnp.float32(2))
    assert (w.tolist(), stores) == ([2.0, 2.0, 2.0], 4)


def test_an_array_without_a_name_is_not_written():
    def run(x):
        x.copy()[0] = 1.0
        return x

    with pytest.raises(d2s.Error, match="no name of this function") as caught:
        d2s.to_static(run)(jnp.zeros(2))
    assert caught.value.code == "D2S073"


OUTSIDE = jnp.zeros(2)


def test_an_array_outside_is_not_written():
    def run(v):
        x = OUTSIDE
        x[0] = v
        return x

    def by_its_name(v):
        OUTSIDE[0] = v
        return v

    for function, code in ((run, "D2S070"), (by_its_name, "D2S073")):
        with pytest.raises(d2s.Error) as caught:
            d2s.to_static(function)(jnp.float32(1))
        assert caught.value.code == code
    assert OUTSIDE.tolist() == [0.0, 0.0]


def test_what_a_branch_writes_is_spent_after_it_only():
    def run(x, v):
        y = x
        if v > 0:
            x = x * 1
            x[0] = v
        else:
            x = x - 1
        return x + y

    for v in (1.0, -1.0):
        want = np.arange(3.0) + (np.array([v, 1, 2]) if v > 0 else np.arange(3.0) - 1)
        assert d2s.to_static(run)(jnp.arange(3.0), jnp.float32(v)).tolist() == want.tolist()


@pytest.mark.parametrize("make", [lambda x: x.T, lambda x: x.reshape(4), lambda x: x[1], jnp.ravel])
def test_a_write_through_a_view_is_refused(make):
    def run(x, v):
        view = make(x)
        view[0] = v
        return x

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(run)(jnp.ones((2, 2)), jnp.float32(1))
    assert caught.value.code == "D2S070"


def test_a_view_that_nobody_reads_afterwards_is_fine():
    def run(x, v):
        row = x[1:]
        x[0] = row.sum() + v
        return x

    assert d2s.to_static(run)(jnp.arange(3.0), jnp.float32(1)).tolist() == [4.0, 1.0, 2.0]


def test_objects_outside_get_new_arrays():
    class Net:
        def __init__(self):
            self.w, self.cache = jnp.zeros(3), {"k": [jnp.zeros(2)]}

    def step(net, i, v):
        net.w[i] += v
        net.cache["k"][0][:] = v
        return net.w.sum()

    net, static = Net(), d2s.to_static(step)
    for n in (1.0, 2.0):
        assert float(static(net, jnp.int32(1), jnp.float32(1))) == n
    assert net.w.tolist() == [0.0, 2.0, 0.0]
    assert net.cache["k"][0].tolist() == [1.0, 1.0]


def test_an_array_of_an_object_outside_is_not_written_under_another_name():
    def step(table, v):
        x = table["k"]
        x[0] = v
        return x

    table = {"k": jnp.zeros(2)}
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(step)(table, jnp.float32(1))
    assert caught.value.code == "D2S070"
    assert table["k"].tolist() == [0.0, 0.0]


def test_a_view_is_not_read_in_the_branch_that_writes_its_array():
    def view(x, i):
        row = x[1:]
        if i > 0:
            x[1] = 9.0
            y = row.sum()
        else:
            y = row.sum() * 0
        return y, x.sum()

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(view)(jnp.arange(3.0), jnp.int32(1))
    assert caught.value.code == "D2S070"


# -- ``x += v`` where the caller has a NumPy array -----------------------------------------------


def adds_to_an_argument(x):
    x += 1
    return x


def adds_to_a_view_of_an_argument(x):
    row = x[0]
    row += 1
    return x


def adds_in_a_function_to_a_view(x):
    def add(row):
        row += 1

    add(x.T[0])
    return x


def adds_to_rows(x):
    for row in x:
        row *= 2
    return x


def adds_in_a_branch(x):
    if x[0, 0] > -1:
        x += 1
    return x


def adds_to_another_name(x):
    y = x * 2
    z = y
    z -= 1
    return y


@pytest.mark.parametrize(
    "fn",
    [
        adds_to_an_argument,
        adds_to_a_view_of_an_argument,
        adds_in_a_function_to_a_view,
        adds_to_rows,
        adds_in_a_branch,
        adds_to_another_name,
    ],
)
def test_what_numpy_would_change_in_place_is_refused(fn):
    with pytest.raises(d2s.StagingError, match="D2S07[01]"):
        d2s.to_static(fn)(np.arange(6.0).reshape(2, 3))
    # jax arrays are values in plain Python, too
    x = jnp.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(d2s.to_static(fn)(x), fn(x))


def test_a_name_of_its_own_is_changed_as_numpy_does():
    def f(x):
        y = x * 2
        y += np.float64(0.5)
        y //= 2
        s = x.sum()
        t = s
        t += 1
        return y, s, t

    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for got, want in zip(d2s.to_static(f)(x), f(x), strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype


def test_what_numpy_cannot_add_in_place_is_not_added():
    def f(x):
        y = x.astype(np.int32)
        y += 0.5
        return y

    with pytest.raises(TypeError, match="same_kind"):
        d2s.to_static(f)(np.arange(3.0))


# -- NumPy arrays of the caller, wherever they are ------------------------------------------------


def writes_an_entry(p, v):
    p[0][1] = v
    return p[0].sum()


def writes_under_a_key(p, v):
    p["a"][1] = v
    return p["a"].sum()


def adds_to_entries(p, v):
    for k in range(len(p)):
        p[k] -= v
    return p[0].sum()


def adds_under_keys(p, v):
    for k in p:
        p[k] -= v
    return p["a"].sum()


@pytest.mark.parametrize(
    ("fn", "keys"),
    [
        (writes_an_entry, None),
        (adds_to_entries, None),
        (writes_under_a_key, "ab"),
        (adds_under_keys, "ab"),
    ],
)
def test_arrays_of_the_caller_in_containers(fn, keys):
    def around(a):
        return [a, a] if keys is None else dict.fromkeys(keys, a)

    for v in (2.0, jnp.float32(2)):
        a = np.zeros(2)
        with pytest.raises(d2s.StagingError, match="D2S071"):
            d2s.to_static(fn)(around(a), v)
        assert a.tolist() == [0.0, 0.0]
    # jax arrays are values: it is the entry that gets a new one
    held = around(jnp.zeros(2))
    got = d2s.to_static(fn)(held, jnp.float32(2))
    assert got == (2.0 if fn.__name__.startswith("writes") else -4.0)
    assert held[0 if keys is None else "a"].sum() == got


class Weights:
    def __init__(self):
        self.w = np.ones(2)


WEIGHTS, ARRAY, OBJECTS = Weights(), np.zeros(1), np.array([None, None], dtype=object)
ARRAYS, TWICE = [ARRAY], [ARRAY, ARRAY]


def adds_to_a_list_of_weights(v):
    held = [WEIGHTS.w]
    for i in range(len(held)):
        held[i] -= v
    return WEIGHTS.w.sum()


def adds_to_an_attribute(v):
    WEIGHTS.w[1] += v
    return WEIGHTS.w


def adds_to_a_global_list(v):
    ARRAYS[0][0] += v
    return ARRAY.sum()


def writes_one_of_two(v):
    TWICE[0][0] = v
    return TWICE[1].sum()


def writes_an_object(v):
    OBJECTS[0] = v
    return v


@pytest.mark.parametrize(
    ("fn", "code", "what"),
    [
        (adds_to_a_list_of_weights, "D2S071", "lives outside"),
        (adds_to_an_attribute, "D2S071", "lives outside"),
        (adds_to_a_global_list, "D2S071", "lives outside"),
        (writes_one_of_two, "D2S071", "lives outside"),
        (writes_an_object, "D2S072", "array of dtype object"),
    ],
)
def test_arrays_outside_get_no_run_time_values(fn, code, what):
    with pytest.raises(d2s.StagingError, match=what) as caught:
        d2s.to_static(fn)(jnp.float32(2))
    assert caught.value.code == code
    assert caught.value.site.function == fn.__name__
    assert (WEIGHTS.w.tolist(), ARRAY.tolist()) == ([1.0, 1.0], [0.0])


def test_arrays_outside_get_values_that_are_known():
    def run(v):
        ARRAYS[0][0] += 1
        TWICE[1] += 2
        return ARRAY * v

    try:
        assert d2s.to_static(run)(jnp.float32(2)).tolist() == [6.0]
        assert ARRAY.tolist() == [3.0]
    finally:
        ARRAY[0] = 0.0
