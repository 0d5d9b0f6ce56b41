"""A loaded function gives what the static one gives: bit for bit, every call, failures and all."""

from __future__ import annotations

import copy
import dataclasses
import functools
import json
import logging
import os
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.deploy import saving

from ..patience import HANG
from . import programs
from .programs import PROGRAMS, Counter, Limit, Odd, Stats, Trainer, X

ROOT = Path(__file__).resolve().parents[2]


def round_trip(folder, function, *specs, **options):
    path = folder / "function.d2s"
    d2s.save(function, path, *specs, **options)
    return d2s.load(path)


def outcome(function, *args):
    try:
        return "value", function(*args)
    except Exception as error:
        return type(error), tuple(map(str, error.args))


def same(one, other):
    """Bit for bit, and in the same containers; objects by their attributes."""
    if isinstance(one, jax.Array) and jnp.issubdtype(one.dtype, jax.dtypes.prng_key):
        one, other = jax.random.key_data(one), jax.random.key_data(other)
    if type(one) in (int, float) and isinstance(other, jax.Array):
        assert other.weak_type and one == other  # a number that calls change
    elif isinstance(one, jax.Array):
        assert (one.dtype, one.shape, one.weak_type) == (other.dtype, other.shape, other.weak_type)
        assert np.asarray(one).tobytes() == np.asarray(other).tobytes()
    elif isinstance(one, Stats):
        assert type(other).__name__ == "Stats" and isinstance(other, d2s.Record)
        same(vars(one), vars(other))
    elif isinstance(one, dict):
        assert type(one) is type(other) and list(one) == list(other)
        for key in one:
            same(one[key], other[key])
    elif isinstance(one, list | tuple):
        assert type(one).__name__ == type(other).__name__ and len(one) == len(other)
        assert getattr(one, "_fields", ()) == getattr(other, "_fields", ())
        for a, b in zip(one, other, strict=True):
            same(a, b)
    else:
        assert type(one) is type(other) and one == other


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loaded_function_gives_the_same(name, tmp_path):
    function, specs, calls = PROGRAMS[name]
    static, loaded = d2s.to_static(function), round_trip(tmp_path, function, *specs)
    for args in [*calls, *calls[:1]]:
        expected, found = outcome(static, *args), outcome(loaded, *copy.copy(args))
        assert expected[0] == found[0], (expected, found)
        same(expected[1], found[1])


def test_one_list_in_two_places_is_one_list(tmp_path):
    function, specs, calls = PROGRAMS["containers"]
    found = round_trip(tmp_path, function, *specs)(*calls[0])
    assert found["stats"].names is found[3]


def test_state_goes_on_from_call_to_call(tmp_path):
    plain, kept = Counter(), Counter()
    methods = {"step": ["f32[3]"], "scale": [float], "read": []}
    loaded = round_trip(tmp_path, kept, methods=methods)
    static = {name: d2s.to_static(getattr(Counter, name)) for name in methods}
    for x in (X[0], X[3], X[2], X[3] * 10, X[1]):
        expected, found = outcome(static["step"], plain, x), outcome(loaded.step, x)
        assert expected[0] == found[0]
        same(expected[1], found[1])
        same(static["scale"](plain, 1.5), loaded.scale(1.5))
        same(static["read"](plain), loaded.read())
        for name, value in loaded.state.items():
            owner = plain
            for part in name.split("."):
                index = int(part) if part.isdecimal() else part
                owner = getattr(owner, part) if isinstance(owner, Counter) else owner[index]
            same(jnp.asarray(owner), value)
    assert kept.count == 0 and kept.seen["last"].sum() == 0, "the object that was saved"


@pytest.mark.full
def test_training_goes_on_from_a_file(tmp_path):
    trainer = Trainer()
    step = d2s.to_static(Trainer.step)
    x = jax.random.normal(jax.random.key(1), (8, 3))
    y = x[:, 0] - x[:, 1]
    loaded = round_trip(tmp_path, trainer, methods={"step": ["f32[8, 3]", "f32[8]"]})
    for _ in range(5):
        same(step(trainer, x, y), loaded.step(x, y))
    same(trainer.model.layers[0].weight, loaded.state["model.layers.0.weight"])
    same(trainer.state[0].mu.layers[1].bias, loaded.state["state.0.mu.layers.1.bias"])


def test_state_can_be_set(tmp_path):
    loaded = round_trip(tmp_path, Counter(), methods={"scale": [float], "read": []})
    loaded.state["w"] = jnp.arange(3.0)
    loaded.scale(2.0)
    assert loaded.state["w"].tolist() == [0, 2, 4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda state: state.update(w=jnp.ones(4)), r"state\['w'\] does not fit: expected f32"),
        (lambda state: state.update(w=jnp.arange(3)), r"got i32\[3\]"),
        (lambda state: state.pop("w"), "the state has no 'w'"),
        (lambda state: state.update(v=5), "there is no 'v' in the state"),
        (lambda state: state.update(w="text"), r"state\['w'\] does not fit: expected f32.*a str"),
        (lambda state: state.update(w=None), r"state\['w'\] does not fit"),
        (
            lambda state: state.update(count=2**40),
            r"state\['count'\] .* got 1099511627776",
        ),
        (lambda state: state.update(count=0.5), r"state\['count'\] .* got a float"),
    ],
)
def test_state_that_does_not_fit_is_refused(change, message, tmp_path):
    loaded = round_trip(tmp_path, Counter(), methods={"step": ["f32[3]"], "scale": [float]})
    change(loaded.state)
    with pytest.raises(d2s.Error, match=message) as caught:
        loaded.scale(2.0)
    assert caught.value.code == "D2S032" and "held" not in str(caught.value)
    with pytest.raises(d2s.Error, match=message):
        loaded.methods["scale"].functional(loaded.state, 2.0)


def test_arguments_are_changed_in_place(tmp_path):
    def change(table, items):
        table["new"] = table["old"] + 1
        del table["old"]
        items[0] = items[1] * 2
        items.append(items[0])
        return table

    loaded = round_trip(tmp_path, change, {"old": "f32"}, ["f32[3]", "f32[3]"])
    for function in (change, loaded):
        table, items = {"old": jnp.float32(1)}, [X[0], X[1]]
        assert function(table, items) is table
        assert {name: float(value) for name, value in table.items()} == {"new": 2}
        assert [item.tolist() for item in items] == [[-4, -2, 0], [-2, -1, 0], [-4, -2, 0]]


def test_methods_and_options_of_static_functions(tmp_path):
    class Model:
        def __init__(self):
            self.calls = 0

        @d2s.to_static(checks=False, input_spec=[d2s.spec("f32[b, 3]", constraints="b >= 2")])
        def step(self, x):
            self.calls += 1
            assert x.shape[0] > 1 and x.sum() > 0
            return x.sum()

    model = Model()
    for loaded in (round_trip(tmp_path, model.step), round_trip(tmp_path, model, methods="step")):
        step = loaded.methods.get("step", loaded)
        assert step(-jnp.ones((4, 3))) == -12 and loaded.state["calls"] == 1
        assert step.spec == {"x": "f32[b, 3]"}


# -- in other code --------------------------------------------------------------------------------


def test_gradients(tmp_path):
    def loss(x, w):
        total = 0.0
        for row in x:
            if row.sum() > 0:
                total = total + jnp.tanh(row @ w)
        return total

    loaded = round_trip(tmp_path, loss, "f32[n, 3]", "f32[3]", vjp_order=2)
    expected = jax.grad(d2s.to_static(loss), argnums=(0, 1))(X, X[3] / 10)
    found = jax.jit(jax.grad(loaded, argnums=(0, 1)))(X, X[3] / 10)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)
    twice = jax.grad(lambda w: jax.grad(loaded, argnums=1)(X, w).sum())(X[3] / 10)
    assert twice.shape == (3,)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_gradient_that_was_not_saved(order, tmp_path):
    loaded = round_trip(tmp_path, lambda x: x**4, "f32", vjp_order=order)
    gradient = loaded
    for n in range(order):
        gradient = jax.grad(gradient)
        assert gradient(1.0) == [4, 12][n]
    text = "without its gradient" if not order else f"with vjp_order={order}"
    for call in (jax.grad(gradient), jax.jit(jax.grad(gradient))):
        with pytest.raises(d2s.Error, match=f"__call__ was saved {text}") as caught:
            call(1.0)
        assert caught.value.code == "D2S062" and f"vjp_order={order + 1}" in caught.value.fix


@pytest.mark.parametrize("order", [0, 1])
def test_there_is_no_forward_mode(order, tmp_path):
    loaded = round_trip(tmp_path, lambda x: x * x, "f32[3]", vjp_order=order)
    for use in (jax.jacfwd(loaded), jax.jit(jax.jacfwd(loaded)), jax.hessian(loaded)):
        with pytest.raises(d2s.Error, match="in reverse mode only") as caught:
            use(X[0])
        assert caught.value.code == "D2S062"


def test_gradients_of_the_state(tmp_path):
    loaded = round_trip(tmp_path, Counter().step, "f32[3]", vjp_order=1)

    def loss(w):
        value, state = loaded.functional({**loaded.state, "w": w}, X[0])
        return value, state["count"]

    gradient, count = jax.grad(loss, has_aux=True)(loaded.state["w"])
    same(gradient, X[0])
    assert count == 1 and loaded.state["count"] == 0


def test_inside_a_static_function(tmp_path):
    loaded = round_trip(tmp_path, Counter(), methods={"step": ["f32[3]"]})

    @d2s.to_static
    def outer(x):
        total = loaded.step(x)
        if total > 0:
            total = total + loaded.step(x * 2)
        return total

    twin = d2s.load(tmp_path / "function.d2s")
    for x in (X[0], X[2], X[3]):
        expected = twin.step(x)
        expected = expected + twin.step(x * 2) if expected > 0 else expected
        same(outer(x), expected)
    for name in twin.state:
        same(loaded.state[name], twin.state[name])
    before = loaded.state["count"]
    with pytest.raises(ValueError, match=f"{before + 1}: too much"):
        outer(X[3] * 10)
    same(loaded.state["count"], before + 1)
    loaded.state["w"] = loaded.state["w"] * 0
    assert abs(outer(X[0])) < 10, "what is set outside is seen inside"


def test_inside_jit(tmp_path):
    pure = round_trip(tmp_path, PROGRAMS["two_branches"][0], "f32[4, 3]")
    same(jax.jit(lambda x: pure(x) + 0)(X), pure(X))
    keeps = round_trip(tmp_path, Counter(), methods={"step": ["f32[3]"]})
    with pytest.raises(d2s.Error) as caught:
        jax.jit(keeps.step)(X[0])
    assert caught.value.code == "D2S078"
    value, state = jax.jit(lambda s, x: keeps.methods["step"].functional(s, x))(keeps.state, X[0])
    assert state["count"] == 1 and keeps.state["count"] == 0


def test_vmap_is_refused_and_map_works(tmp_path):
    loaded = round_trip(tmp_path, lambda x: x * 2, "f32")
    with pytest.raises(d2s.Error, match="a named dimension") as caught:
        jax.vmap(loaded)(X[0])
    assert caught.value.code == "D2S062"
    same(jax.lax.map(loaded, X[0]), X[0] * 2)


# -- what can be seen -----------------------------------------------------------------------------


def test_what_can_be_seen(tmp_path):
    function, specs, _ = PROGRAMS["rows"]
    static = d2s.to_static(function)
    loaded = round_trip(tmp_path, static, *specs)
    assert loaded.spec == {"x": "f32[n, 3]", "w": "f32[3]"}
    assert loaded.source == static.source and loaded.code == static.code
    assert "stablehlo.while" in loaded.hlo()
    assert repr(loaded) == "<loaded rows(x: f32[n, 3], w: f32[3])>"
    assert round_trip(tmp_path, function, *specs, source=False).source is None


def test_the_file_names_no_folder_and_holds_no_pickle(tmp_path):
    for source in (True, False):
        path = tmp_path / "f.d2s"
        d2s.save(PROGRAMS["fails"][0], path, "f32[3]", source=source)
        data = path.read_bytes()
        for folder in {str(ROOT), os.path.dirname(d2s.__file__), sys.prefix, str(tmp_path)}:
            assert folder.encode() not in data
        assert (b"programs.py" in data) is source or not source
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            assert not any(name.endswith((".pkl", ".pickle")) for name in names)
            assert any(name.startswith("source/") for name in names) is source
            assert (b"too much" in archive.read("manifest.json")) is True
            for name in names:
                if not source and name != "manifest.json":
                    assert b"programs.py" not in archive.read(name)


def test_state_is_beside_the_graph(tmp_path):
    class Model:
        def __init__(self):
            self.w = jnp.ones((300, 300))

        def __call__(self, x):
            return x @ self.w

    path = tmp_path / "f.d2s"
    d2s.save(Model(), path, "f32[300]")
    with zipfile.ZipFile(path) as archive:
        assert archive.getinfo("state.safetensors").file_size > 300 * 300 * 4
        assert archive.getinfo("methods/0.stablehlo").file_size < 10_000
    big = np.arange(400_000, dtype=np.float32)
    loaded = round_trip(tmp_path, lambda i: jnp.asarray(big)[i], "i32")
    with zipfile.ZipFile(tmp_path / "function.d2s") as archive:
        assert archive.getinfo("constants.safetensors").file_size > big.nbytes
        assert archive.getinfo("methods/0.stablehlo").file_size < 10_000
    assert loaded(jnp.int32(77)) == 77


def test_the_same_function_gives_the_same_file(tmp_path):
    for name in ("one", "two"):
        d2s.save(PROGRAMS["rows"][0], tmp_path / name, "f32[n, 3]", "f32[3]")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_prints_are_left_out_and_told(tmp_path, caplog, capsys):
    def shows(x):
        print("x is", x)
        for value in x:
            print(value)
        return x + 1

    with caplog.at_level(logging.WARNING, "d2s"):
        loaded = round_trip(tmp_path, shows, "f32[n]")
    first = shows.__code__.co_firstlineno
    told = [record.getMessage() for record in caplog.records]
    assert [f"line {first + 1}" in told[0], f"line {first + 3}" in told[1]] == [True, True]
    same(loaded(X[0]), X[0] + 1)
    assert capsys.readouterr().out == ""
    d2s.to_static(shows)(X[0])
    assert capsys.readouterr().out.startswith("x is"), "the function itself prints as before"


def test_layouts_are_left_out_and_told(tmp_path, caplog):
    device = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    static = d2s.to_static(lambda x: x + 1, in_shardings=device, donate_argnums=0)
    with caplog.at_level(logging.WARNING, "d2s"):
        round_trip(tmp_path, static, "f32[n]")
    told = [record.getMessage() for record in caplog.records]
    assert ["in_shardings is left out" in told[0], "donate_argnums" in told[1]] == [True, True]
    caplog.clear()
    round_trip(tmp_path, lambda x: x + 1, "f32[n]")
    assert not caplog.records


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "uint32", "float16", "bfloat16", "complex64", "float8_e4m3fn", "int4"]
)
def test_state_of_every_type(dtype, tmp_path):
    class Holder:
        def __init__(self):
            self.value = jnp.asarray([0, 1, 1]).astype(dtype)

        def get(self):
            return self.value, self.value == self.value

    holder = Holder()
    loaded = round_trip(tmp_path, holder, methods=["get"])
    same(loaded.get(), d2s.to_static(Holder.get)(holder))


# -- exceptions -----------------------------------------------------------------------------------


def test_a_class_that_is_there_is_used_and_none_is_imported(tmp_path, monkeypatch):
    loaded = round_trip(tmp_path, PROGRAMS["handled"][0], "f32")
    with pytest.raises(Odd, match="far below") as caught:
        loaded(jnp.float32(-20))
    assert isinstance(caught.value.__cause__, KeyError)
    assert str(caught.traceback[-1].path).endswith("programs.py")
    monkeypatch.delitem(sys.modules, Odd.__module__)
    with pytest.raises(ArithmeticError, match="far below") as caught:
        d2s.load(tmp_path / "function.d2s")(jnp.float32(-20))
    assert isinstance(caught.value, d2s.SavedException) and type(caught.value).__name__ == "Odd"
    assert Odd.__module__ not in sys.modules


def test_fields_of_exceptions_are_kept(tmp_path, monkeypatch):
    loaded = round_trip(tmp_path, PROGRAMS["fails_with_fields"][0], "f32")
    with pytest.raises(FileNotFoundError) as caught:
        loaded(jnp.float32(4))
    assert (caught.value.errno, caught.value.filename) == (2, "4.0.txt")
    with pytest.raises(ImportError) as caught:
        loaded(jnp.float32(3))
    assert (caught.value.name, caught.value.path) == ("m3.0", "somewhere")
    with pytest.raises(Limit, match="5.0 is above 4") as caught:
        loaded(jnp.float32(5))
    assert (caught.value.value, caught.value.limit) == (5, 4)
    monkeypatch.delitem(sys.modules, Limit.__module__)
    with pytest.raises(d2s.SavedException, match="5.0 is above 4") as caught:
        d2s.load(tmp_path / "function.d2s")(jnp.float32(5))
    assert (caught.value.value, caught.value.limit) == (5, 4)


def test_errors_of_d2s_are_themselves(tmp_path):
    def counts(x):
        with d2s.options(max_iterations=3):
            while x > 1:
                x = x / 2
        return x

    loaded = round_trip(tmp_path, counts, "f32")
    assert loaded(jnp.float32(4)) == 1
    with pytest.raises(d2s.LoopLimit) as caught:
        loaded(jnp.float32(400))
    assert "max_iterations=3" in str(caught.value) and str(ROOT) not in str(caught.value)

    def power(n):
        x = 1
        for _ in range(n):
            x = x * 3
        return x

    loaded = round_trip(tmp_path, power, int)
    assert loaded(5) == 243
    with pytest.raises(d2s.Error, match="the argument n .* which int32 cannot hold"):
        loaded(2**40)
    with pytest.raises(d2s.IntegerOverflow):
        loaded(40)


# -- what is refused ------------------------------------------------------------------------------


class Grows:
    def __init__(self):
        self.items = []
        self.mode = "a"
        self.w = jnp.zeros(3)

    def append(self, x):
        self.items.append(x)
        return x

    def switch(self, x):
        self.mode = "b"
        return x

    def reshape(self, x):
        self.w = jnp.concatenate([self.w, x])
        return x

    def retype(self, x):
        self.w = self.w > 0
        return x

    def itself(self, x):
        return self

    def function(self, x):
        return lambda: x

    def calls_back(self, x):
        jax.debug.print("{}", x)
        return x

    def pure_callback(self, x):
        return jax.pure_callback(np.sin, x, x)

    def inside(self, x):
        def check(v):
            if v > 0:
                raise ValueError("inside a transformation")
            return v

        return jax.vmap(check)(x)


@pytest.mark.parametrize(
    "name",
    [name for name, value in vars(Grows).items() if callable(value) and name != "__init__"],
)
def test_what_cannot_be_saved_is_refused(name, tmp_path):
    path = tmp_path / "f.d2s"
    with pytest.raises(d2s.Error) as caught:
        d2s.save(Grows(), path, methods={name: ["f32[3]"]})
    assert caught.value.code in ("D2S060", "D2S031"), caught.value
    assert caught.value.fix and list(tmp_path.iterdir()) == []


def test_a_number_whose_value_is_needed(tmp_path):
    def repeat(x, n):
        for _ in range(n):
            x = jnp.concatenate([x, x])
        return x

    with pytest.raises(d2s.Error, match="needs the value of a Python int"):
        round_trip(tmp_path, repeat, "f32[3]", int)
    loaded = round_trip(tmp_path, repeat, "f32[3]", 2)
    assert loaded(X[0], 2).shape == (12,) and loaded.spec["n"] == 2
    with pytest.raises(d2s.Error, match="n was 2 when the function was saved"):
        loaded(X[0], 3)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((X,), {}, r"x does not fit: expected f32\[3\], got f32\[4, 3\]"),
        ((jnp.arange(3),), {}, r"got i32\[3\]"),
        ((1.0,), {}, r"expected f32\[3\], got a float"),
        (("text",), {}, "got a str"),
        ((None,), {}, "got a NoneType"),
        ((), {}, "missing a required argument"),
        ((X[0], 1), {}, "too many"),
        ((X[0],), {"mode": "max"}, "mode was left at its default"),
        ((X[0],), {"other": 1}, "unexpected keyword"),
    ],
)
def test_arguments_that_do_not_fit(args, kwargs, message, tmp_path):
    def reduce(x, *, mode="sum"):
        return x.sum() if mode == "sum" else x.max()

    loaded = round_trip(tmp_path, reduce, "f32[3]")
    assert loaded(np.ones(3)) == loaded(x=X[0] * 0 + 1) == 3
    with pytest.raises(d2s.Error, match=message) as caught:
        loaded(*args, **kwargs)
    assert caught.value.code == "D2S032" and caught.value.site.filename == __file__


def test_defaults_of_arguments_with_a_specification(tmp_path):
    def f(x, by=2.0, *more, how="up", plus=None, w=X[0]):
        return (x * by + (0 if plus is None else plus)) * (1 if how == "up" else -1) + w, *more

    text = repr("up")
    path = tmp_path / "f.d2s"
    save = functools.partial(saving.save_named, platforms=["cpu"], vjp_order=0, source=False)
    save(f, path, ["f32[3]", float], {"how": text, "plus": "f32[3]", "w": "f32[3]"})
    loaded = d2s.load(path)
    same(loaded(X[1], plus=X[2], w=X[0])[0], X[1] * 2 + X[2] + X[0])
    same(loaded(X[1], 3.0, plus=X[2], w=X[0])[0], X[1] * 3 + X[2] + X[0])
    for call, message in (
        (lambda: loaded(X[1], plus=X[2]), "missing a required argument: 'w'"),  # an array
        (lambda: loaded(X[1], w=X[0]), "plus does not fit: .* got a NoneType"),
        (lambda: loaded(X[1], how="down", plus=X[2], w=X[0]), "how was 'up'"),
        (lambda: loaded(X[1], 1.0, X[0], plus=X[2], w=X[0]), "takes 0 values in more"),
    ):
        with pytest.raises(d2s.Error, match=message) as caught:
            call()
        assert caught.value.code == "D2S032"


def test_arguments_of_which_there_are_several(tmp_path):
    def f(x, *rest, **named):
        return x + rest[0] * rest[1] + named["a"]

    path = tmp_path / "f.d2s"
    save = functools.partial(saving.save_named, platforms=["cpu"], vjp_order=0, source=False)
    save(f, path, ["f32[3]"] * 3, {"a": "f32[3]"})
    loaded = d2s.load(path)
    same(loaded(X[0], X[1], X[2], a=X[3]), X[0] + X[1] * X[2] + X[3])
    for args, kwargs in (((X[0],), {}), ((X[0], X[1]), {"a": X[3]}), ((X[0], X[1], X[2]), {})):
        with pytest.raises(d2s.Error, match="there is no") as caught:
            loaded(*args, **kwargs)
        assert caught.value.code == "D2S032"


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"platforms": ("abacus",)}, "D2S033"),
        ({"platforms": ()}, "D2S033"),
        ({"vjp_order": -1}, "D2S033"),
        ({"methods": {"nothing": []}}, "D2S033"),
        ({"methods": 3}, "D2S033"),
        ({"methods": {3: []}}, "D2S033"),
        ({"platforms": 3}, "D2S033"),
        ({"source": "no"}, "D2S033"),
    ],
)
def test_wrong_options(options, code, tmp_path):
    with pytest.raises(d2s.Error) as caught:
        d2s.save(lambda x: x, tmp_path / "f", **options)
    assert caught.value.code == code


@pytest.mark.parametrize("path", [3, None, b"f.d2s"])
def test_what_is_no_path(path):
    for use in (lambda: d2s.save(lambda x: x, path, "f32"), lambda: d2s.load(path)):
        with pytest.raises(d2s.Error, match="is no path") as caught:
            use()
        assert caught.value.code == "D2S033" and caught.value.site.filename == __file__


# -- specifications -------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["d", "f32[2]", "it's", "", "'"])
def test_a_text_in_quotes_is_the_text(text, tmp_path):
    def choose(x, how, tree):
        return (x if how == tree["how"] else -x), how

    loaded = round_trip(tmp_path, choose, "f32[3]", repr(text), {"how": repr(text)})
    assert loaded.spec["how"] == text
    value, found = loaded(X[0], text, {"how": text})
    assert found == text and (value == X[0]).all()
    with pytest.raises(d2s.Error, match="is a constant"):
        loaded(X[0], text + "?", {"how": text})


def test_a_text_without_quotes_is_refused(tmp_path):
    with pytest.raises(d2s.Error, match="there is no dtype sum") as caught:
        round_trip(tmp_path, lambda x, how: x, "f32[3]", "sum")
    assert caught.value.code == "D2S033" and "\"'sum'\"" in caught.value.fix


@dataclasses.dataclass
class Both:
    a: object
    b: object


@dataclasses.dataclass(frozen=True)
class Fixed:
    a: object
    b: object


class Plain:
    def __init__(self, a, b):
        self.a, self.b = a, b


@pytest.mark.parametrize("kind", [Both, Fixed, Plain])
def test_specifications_in_objects(kind, tmp_path):
    def added(pair, more):
        return pair.a + pair.b["x"][0] * more["pair"].a

    def arguments(one, two, three):
        return kind(one, {"x": [two]}), {"pair": kind(three, "text")}

    specs = (d2s.spec(t, constraints="b >= 2") for t in ("f32[b]", "f32[b]", "f32"))
    loaded = round_trip(tmp_path, added, *arguments(*specs))
    assert loaded.spec["pair"] == {"a": "f32[b]", "b": {"x": ["f32[b]"]}}
    for n in (2, 5):
        values = jnp.arange(n) * 1.0, jnp.ones(n), jnp.float32(3)
        same(loaded(*arguments(*values)), d2s.to_static(added)(*arguments(*values)))
    with pytest.raises(d2s.Error, match="'f32\\[3\\]' in a .* is a text there") as caught:
        round_trip(tmp_path, added, kind("f32[3]", {"x": [X[0]]}), {"pair": kind(X[0], "text")})
    assert caught.value.code == "D2S033" and caught.value.fix == "d2s.spec('f32[3]')"


def test_an_object_that_contains_itself(tmp_path):
    def double(node):
        node.a = node.b.a * 2
        return node.a

    def ring(value):
        node = Plain(value, None)
        node.b = node
        return node

    loaded = round_trip(tmp_path, double, ring(d2s.spec("f32[n]")))
    node = ring(X[0])
    same(loaded(node), X[0] * 2)
    same(node.a, X[0] * 2)


# -- without the source ---------------------------------------------------------------------------


def run(script, folder, *arguments):
    """A program in a process of its own, which sees nothing but d2s."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "D2S_LOG")}
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        cwd=folder,
        env={**environment, "PYTHONPATH": str(ROOT), "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=HANG,
    )


@pytest.mark.full
def test_a_process_without_the_source(tmp_path):
    d2s.save(Counter(), tmp_path / "counter.d2s", methods={"step": ["f32[3]"], "read": []})
    function, specs, calls = PROGRAMS["containers"]
    d2s.save(function, tmp_path / "tree.d2s", *specs)
    script = """
        import json, sys
        import jax.numpy as jnp
        import d2s

        counter = d2s.load("counter.d2s")
        values = [float(counter.step(jnp.arange(3.0) * n)) for n in range(3)]
        try:
            counter.step(jnp.ones(3) * 100)
        except ValueError as error:
            values.append(str(error))
        tree = d2s.load("tree.d2s")
        arguments = {"a": jnp.ones(3), "b": [jnp.int32(3), (jnp.float32(2), jnp.ones(2))]}
        found = tree(arguments)
        values += [type(found["pair"]).__name__, float(found["stats"].mean)]
        assert "equinox" not in sys.modules and "tests" not in sys.modules
        print(json.dumps(values))
    """
    done = run(script, tmp_path)
    assert done.returncode == 0, done.stderr
    counter = Counter()
    step = d2s.to_static(Counter.step)
    expected = [float(step(counter, jnp.arange(3.0) * n)) for n in range(3)]
    assert json.loads(done.stdout) == [*expected, "4: too much", "Pair", 1.0]


@pytest.mark.full
@pytest.mark.parametrize("moment", ["zipfile.ZipFile.writestr", "os.fsync", "os.replace"])
def test_a_writer_that_is_killed_leaves_the_old_file(moment, tmp_path):
    path = tmp_path / "f.d2s"
    d2s.save(lambda x: x + 1, path, "f32")
    before = path.read_bytes()
    script = f"""
        import os, signal, zipfile
        import d2s

        count = 0
        real = {moment}

        def dies(*args, **kwargs):
            global count
            count += 1
            if count == {2 if "writestr" in moment else 1}:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **kwargs)

        {moment} = dies
        d2s.save(__import__("model").f, "f.d2s", "f32")
    """
    (tmp_path / "model.py").write_text("def f(x):\n    return x + 2\n")
    done = run("import sys; sys.path.insert(0, '')\n" + textwrap.dedent(script), tmp_path)
    assert done.returncode == -9, done.stderr
    assert path.read_bytes() == before
    assert d2s.load(path)(jnp.float32(1)) == 2


def test_a_writer_that_fails_leaves_nothing(tmp_path, monkeypatch):
    path = tmp_path / "f.d2s"
    d2s.save(lambda x: x + 1, path, "f32")

    def fails(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fails)
    with pytest.raises(OSError):
        d2s.save(lambda x: x + 2, path, "f32")
    assert list(tmp_path.iterdir()) == [path]
    assert d2s.load(path)(jnp.float32(1)) == 2


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    for name, kind in (
        ("nothing/f.d2s", FileNotFoundError),
        ("file/f.d2s", NotADirectoryError),
        ("folder", IsADirectoryError),
    ):
        with pytest.raises(kind) as caught:
            d2s.save(lambda x: x, tmp_path / name, "f32")
        assert caught.value.filename == str(tmp_path / name)
        assert str(caught.value).count("'") == 2
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["file", "folder"]


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "versions").mkdir()
    (tmp_path / "link.d2s").symlink_to("versions/one.d2s")
    for n in (1, 2):  # the link points to nothing at first
        d2s.save(lambda x, by=n: x + by, tmp_path / "link.d2s", "f32")
        assert (tmp_path / "link.d2s").is_symlink()
        assert d2s.load(tmp_path / "versions" / "one.d2s")(jnp.float32(1)) == 1 + n
    assert [p.name for p in (tmp_path / "versions").iterdir()] == ["one.d2s"]


def test_programs_are_all_here():
    assert len(PROGRAMS) >= 11 and programs.X.shape == (4, 3)
