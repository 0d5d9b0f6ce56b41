"""State and failures of an unkind sort: a file does what the static methods do, call by call."""

from __future__ import annotations

import collections
import copy

import jax.numpy as jnp
import pytest

import d2s

from ..deploy.test_saving import outcome, same

X = jnp.arange(3.0) - 1


class Held:
    def __init__(self):
        self.w, self.n = jnp.ones(3), 0


class Shared:
    """One object by two names, names that collide, keys of all kinds."""

    def __init__(self):
        self.one = self.two = Held()
        self.table = {"a.b": jnp.ones(3), "a": {"b": jnp.zeros(3)}, 3: 0, (1, "x"): jnp.ones(())}

    def step(self, x):
        self.one.w = self.one.w + x
        self.two.n += 1
        self.table["a.b"], self.table["a"]["b"] = self.table["a"]["b"] - x, self.table["a.b"]
        self.table[3] += 1
        return self.two.w, self.table["a.b"], self.table[3]

    def read(self):
        return self.one.n, self.one is self.two, self.table["a"]["b"], list(self.table)


class HalfWay:
    """What was written before a failure stays, what comes after it does not happen."""

    def __init__(self):
        self.open, self.n, self.w, self.pair = 0, 0, jnp.zeros(3), [0, 0]

    def step(self, x):
        self.open += 1
        self.pair[0] = self.pair[0] + 1
        try:
            if x.sum() > 0:
                raise KeyError("inside")
            self.w = self.w + x
        except KeyError as error:
            self.n += 1
            raise RuntimeError(f"failure {self.n}") from error
        finally:
            self.open -= 1
        self.pair[1] = self.pair[1] + 1
        return self.w

    def read(self):
        return self.open, self.n, self.w, tuple(self.pair)


class Rows:
    """A loop over a named dimension that writes, leaves early and fails."""

    def __init__(self):
        self.seen, self.last = 0, collections.deque([jnp.zeros(()), jnp.zeros(())], maxlen=2)

    def step(self, x):
        for i, value in enumerate(x):
            self.seen += 1
            if value > 4:
                break
            if value > 2:
                raise IndexError(f"{value} at {i} of {len(x)}")
        self.last.append(x.sum())
        return self.seen, self.last[0]

    def read(self):
        return self.seen, self.last[1]


@pytest.mark.parametrize("kind", [Shared, HalfWay, Rows])
def test_call_by_call(kind, tmp_path):
    path = tmp_path / "f.d2s"
    spec = "f32[n]" if kind is Rows else "f32[3]"
    d2s.save(kind(), path, methods={"step": [spec], "read": []})
    plain, loaded = kind(), d2s.load(path)
    step, read = d2s.to_static(kind.step), d2s.to_static(kind.read)
    for x in (X, X + 1, X + 2, X * 5, X):
        expected, found = outcome(step, plain, x), outcome(loaded.step, x)
        assert expected[0] == found[0]
        same(expected[1], found[1])
        same(read(plain), loaded.read())
    twin = copy.deepcopy(loaded)
    outcome(twin.step, X)
    same(read(plain), loaded.read())


class Text(str):
    pass


@pytest.mark.parametrize("key", [Text("a"), frozenset([Text("b")])])
def test_keys_that_no_file_can_hold(key, tmp_path):
    def put(table, x):
        table[key] = x

    with pytest.raises(d2s.Error, match="whose key is") as caught:
        d2s.save(put, tmp_path / "f.d2s", {"x": "f32[3]"}, "f32[n]")
    assert caught.value.code == "D2S060" and list(tmp_path.iterdir()) == []
