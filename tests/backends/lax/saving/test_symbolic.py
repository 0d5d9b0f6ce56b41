"""Named dimensions: one file for all sizes, and loops over them."""

from __future__ import annotations

import functools
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s


def rows(x):
    state = jnp.zeros(3)
    for row in x:
        state = state * 0.5 + jnp.tanh(row)
    return state.sum()


def positions(x):
    total = 0.0
    for i in range(x.shape[0]):
        total = total + x[i].sum() * i
    return total


def every_second(x):
    total = 0.0
    for i in range(1, x.shape[0], 2):
        total = total + x[i, 0]
    return total


def downwards(x):
    total = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        total = total * 0.5 + x[i, 0]
    return total


def numbered(x):
    total = 0.0
    for i, row in enumerate(x):
        if i % 2 == 0:
            total = total + row.sum()
        else:
            total = total - row[0]
    return total


def paired(x):
    total = 0.0
    for a, b in zip(x, x * 2, strict=False):
        total = total + (a * b).sum()
    return total


def backwards(x):
    state = jnp.zeros(3)
    for row in reversed(x):
        state = state * 0.5 + row
    return state.sum()


def left_early(x):
    found = 0.0
    for row in x:
        found = found + row.sum()
        if found > 3:
            break
    return found


def skipping(x):
    total = 0.0
    for row in x:
        if row[0] < 0:
            continue
        for value in row:
            if value > 1:
                total = total + value
    return total


def length(x):
    return x.sum() / len(x)


def last_row(x):
    for row in x:
        pass
    return row.sum()


def written(x):
    out = jnp.zeros(x.shape[0])
    for i in range(x.shape[0]):
        out[i] = x[i].sum()
    return out.max()


def called(x):
    return rows(x) + rows(jnp.concatenate([x, x]))


LOOPS = [
    *(rows, positions, every_second, downwards, numbered, paired, backwards, left_early, skipping),
    *(length, last_row, written, called),
]


def some(n):
    return jnp.asarray(np.random.default_rng(n).normal(0, 2, (n, 3)), jnp.float32)


@pytest.mark.parametrize("function", LOOPS, ids=lambda f: f.__name__)
def test_loops_over_named_dimensions(function, tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(function, path, "f32[b, 3]")
    loaded, static = d2s.load(path), d2s.to_static(function)
    for n in (1, 2, 3, 6, 1):
        np.testing.assert_allclose(loaded(some(n)), static(some(n)), rtol=1e-6)


@pytest.mark.full
@pytest.mark.parametrize(
    "function", [f for f in LOOPS if f is not every_second], ids=lambda f: f.__name__
)
def test_gradients_of_such_loops(function, tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(function, path, "f32[b, 3]", vjp_order=1)
    loaded, static = d2s.load(path), d2s.to_static(function)
    for n in (1, 4):
        found, expected = jax.grad(loaded)(some(n)), jax.grad(static)(some(n))
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_loop_that_may_have_no_trip(tmp_path):
    path = tmp_path / "f.d2s"

    def rest(x):
        for i in range(1, x.shape[0]):
            last = x[i].sum()
        return last

    d2s.save(rest, path, "f32[b, 3]")
    loaded = d2s.load(path)
    np.testing.assert_allclose(loaded(some(4)), some(4)[3].sum(), rtol=1e-6)
    with pytest.raises(UnboundLocalError, match="last"):
        loaded(some(1))


def test_several_names_and_constraints(tmp_path):
    path = tmp_path / "f.d2s"

    def attend(x, y):
        if x.shape[1] >= 2:
            return (x[:, :2, :, None] * y[None, None]).sum((2,))
        return x

    x = d2s.spec("f32[b, t, 4]", constraints=("t >= 2", "b <= 8"))
    d2s.save(attend, path, x, "f32[4, k]")
    loaded = d2s.load(path)
    assert loaded.spec == {"x": "f32[b, t, 4]", "y": "f32[4, k]"}
    assert loaded(jnp.ones((3, 5, 4)), jnp.ones((4, 6))).shape == (3, 2, 6)
    for b, t in ((3, 1), (9, 2)):
        with pytest.raises(d2s.Error) as caught:
            loaded(jnp.ones((b, t, 4)), jnp.ones((4, 6)))
        assert caught.value.code == "D2S032" and "t >= 2, b <= 8" in caught.value.fix
    assert loaded.constraints == ("t >= 2", "b <= 8")
    assert "t >= 2, b <= 8" in repr(loaded)


def test_one_name_is_one_size(tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(lambda x, y: x @ y, path, "f32[b, n]", "f32[n]")
    loaded = d2s.load(path)
    assert loaded(jnp.ones((2, 3)), jnp.ones(3)).shape == (2,)
    with pytest.raises(d2s.Error, match="n is 4 there, and 3 in x") as caught:
        loaded(jnp.ones((2, 3)), jnp.ones(4))
    assert caught.value.code == "D2S032"
    with pytest.raises(d2s.Error) as caught:
        loaded(jnp.ones((0, 3)), jnp.ones(3))
    assert caught.value.code == "D2S032"


def test_any_size(tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(lambda x, y: x.sum() + y.sum(), path, "f32[?]", "f32[?, ?]")
    assert d2s.load(path)(jnp.ones(5), jnp.ones((2, 3))) == 11


def appended(x):
    out = []
    for row in x:
        out.append(row * 2)
    return jnp.stack(out)


def compared(x):
    i = 0
    while i < x.shape[0]:
        i += 1
    return x[i - 1]


def branch(x):
    if x.shape[0] > 3:
        return x.sum()
    return x.max()


def as_number(x):
    return float(x.shape[0]) * x


def equal(x):
    if x.shape[0] == 5:
        return x.sum()
    return x.max()


def unequal(x):
    return x * (x.shape[0] != 5)


def whole_shape(x):
    return x * 2 if x.shape == (5, 3) else x


def one_of(x):
    return x * 2 if x.shape[0] in (4, 5) else x


def in_a_table(x):
    return {4: "four", 5: "five"}.get(x.shape[0], "many")


def in_a_set(x):
    return x.shape[0] in {4, 5}


def chained(x):
    return x * 2 if 0 < x.shape[0] == 5 else x


def found(x):
    return [5, 4].index(x.shape[0])


def matched(x):
    match x.shape:
        case (5, 3):
            return x
    return x * 2


def chosen(x):
    if len(x) == 4:
        return x
    elif len(x) == 5:
        return x * 2
    elif len(x) == 6:
        return x * 3
    return x * 4


def as_truth(x):
    return x * 2 if x.shape[0] - 5 else x


NEEDED = [
    *(appended, compared, branch, as_number, equal, unequal, whole_shape, one_of, in_a_table),
    *(in_a_set, chained, found, matched, chosen, as_truth),
]


@pytest.mark.parametrize("function", NEEDED, ids=lambda f: f.__name__)
def test_sizes_that_are_needed(function, tmp_path):
    with pytest.raises(d2s.Error) as caught:
        d2s.save(function, tmp_path / "f.d2s", "f32[b, 3]")
    error = caught.value
    assert error.code == "D2S063" and error.fix
    assert error.site.filename == __file__ and error.site.function == function.__name__
    assert list(tmp_path.iterdir()) == []
    d2s.save(function, tmp_path / "f.d2s", "f32[5, 3]")


def test_reshaped_rows(tmp_path):
    eights = d2s.spec("f32[b]", constraints="mod(b, 8) == 0")
    with pytest.raises(d2s.Error, match="divide evenly") as caught:
        d2s.save(lambda x: x.reshape(-1, 8).sum(1), tmp_path / "f", eights)
    assert caught.value.code == "D2S063" and "x.reshape(x.shape[0] // 8, 8)" in caught.value.fix
    d2s.save(lambda x: x.reshape(x.shape[0] // 8, 8).sum(1), tmp_path / "f", eights)
    assert d2s.load(tmp_path / "f")(jnp.ones(24)).tolist() == [8, 8, 8]


@pytest.mark.parametrize(
    "constraints",
    [
        *("b >>= 2", "nonsense", "b", "b >= c +", "b >=", ">= 2", "b >= ", "b > 2", "", "3 >= 2"),
        *("c >= 2", "b >= 2 and b <= 3", "b >= 2, b <= 3", ["b >= 2", "mod(c, 2) == 0"], 3, [3]),
    ],
    ids=str,
)
def test_constraints_that_are_none(constraints, tmp_path):
    with pytest.raises(d2s.Error) as caught:
        d2s.save(rows, tmp_path / "f", d2s.spec("f32[b, 3]", constraints=constraints))
    assert caught.value.code == "D2S033"


def test_open_shapes_are_refused(tmp_path):
    with pytest.raises(d2s.Error, match="any number of dimensions") as caught:
        d2s.save(rows, tmp_path / "f", "f32[b, ...]")
    assert caught.value.code == "D2S033"


# -- sizes as values ------------------------------------------------------------------------------


@functools.cache
def table(n):
    return n, [n * 2]


def certain(x):
    n = x.shape[0]
    return n == 0, n != 0, n == n, n + 1 == n, n == "text", bool(n), not n, n in (0, n)


def changes_given(x, given):
    given["n"] = x.shape[0]
    given["all"] = [x.shape]
    return given


RETURNED = {
    "beside an array": lambda x: (x.sum(), x.shape[0]),
    "length": lambda x: len(x),
    "shape": lambda x: {"shape": x.shape, "twice": [x.shape[0] * 2 - 7, x.size // 2, -len(x) % 4]},
    "certain": certain,
    "from a cache": lambda x: table(x.shape[0]),
}


@pytest.mark.parametrize("constraints", [(), ("b >= 2", "b <= 100")])
@pytest.mark.parametrize("name", RETURNED)
def test_a_size_that_is_returned_is_a_number(name, constraints, tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(RETURNED[name], path, d2s.spec("f32[b, 3]", constraints=constraints), source=False)
    loaded, static = d2s.load(path), d2s.to_static(RETURNED[name])
    for n in (3, 5):
        assert repr(loaded(some(n))) == repr(static(some(n)))
    folder = os.path.dirname(__file__).encode()
    assert folder not in path.read_bytes()


def test_a_size_that_is_left_in_an_argument(tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(changes_given, path, "f32[b, 3]", {"n": int})
    given = {"n": 7}
    assert d2s.load(path)(some(4), given) is given
    assert given == {"n": 4, "all": [(4, 3)]}


def test_a_size_inside_other_graphs(tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(lambda x: (x * 2, len(x)), path, "f32[b, 3]", vjp_order=1)
    loaded = d2s.load(path)
    assert jax.jit(lambda x: jnp.zeros(loaded(x)[1]))(some(4)).shape == (4,)
    assert jax.grad(lambda x: loaded(x)[0].sum() * loaded(x)[1])(some(4))[0, 0] == 8
    again = tmp_path / "g.d2s"
    d2s.save(lambda y: loaded(y)[1] + 1, again, "f32[k, 3]")
    assert d2s.load(again)(some(6)) == 7


def test_a_size_in_a_message(tmp_path):
    def check(x):
        if x.sum() > 0:
            raise ValueError(f"{x.shape[0]} rows", len(x), "%d" % len(x), str(len(x)))
        assert x.sum() > -100, "{:03d}".format(x.shape[0])
        return x

    path = tmp_path / "f.d2s"
    d2s.save(check, path, "f32[b, 3]")
    loaded = d2s.load(path)
    with pytest.raises(ValueError) as caught:
        loaded(jnp.ones((4, 3)))
    assert caught.value.args == ("4 rows", 4, "4", "4")
    with pytest.raises(AssertionError, match="^006$"):
        loaded(jnp.ones((6, 3)) * -50)
    with pytest.raises(d2s.Error) as refused:
        d2s.save(lambda x: f"{len(x)}", path, "f32[b, 3]")
    assert refused.value.code == "D2S020"


def test_a_size_in_the_state(tmp_path):
    class Last:
        def __init__(self):
            self.size = 0

        def keep(self, x):
            self.size = x.shape[0]

        def keep_array(self, x):
            self.size = jnp.asarray(x.shape[0])

    with pytest.raises(d2s.Error, match="the size of a named dimension in size") as caught:
        d2s.save(Last(), tmp_path / "f.d2s", methods={"keep": ["f32[b]"]})
    assert caught.value.code == "D2S060"
    d2s.save(Last(), tmp_path / "f.d2s", methods={"keep_array": ["f32[b]"]})
    loaded = d2s.load(tmp_path / "f.d2s")
    loaded.keep_array(jnp.ones(5))
    assert loaded.state["size"] == 5
