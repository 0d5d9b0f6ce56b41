"""Specifications of arguments: what they say, and what they refuse."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s import spec


@pytest.mark.parametrize(
    ("text", "dtype", "shape", "shown"),
    [
        ("f32[b, 784]", "float32", ("b", 784), "f32[b, 784]"),
        ("f32", "float32", (), "f32[]"),
        ("f32[]", "float32", (), "f32[]"),
        (" int8 [ 3 ] ", "int8", (3,), "i8[3]"),
        ("bf16[?, time]", "bfloat16", ("?", "time"), "bf16[?, time]"),
        ("bool[2]", "bool", (2,), "bool[2]"),
        ("c64", "complex64", (), "c64[]"),
        ("uint16[0]", "uint16", (0,), "u16[0]"),
    ],
)
def test_texts(text, dtype, shape, shown):
    found = spec(text)
    assert (found.dtype, found.shape, str(found)) == (dtype, shape, shown)
    assert spec(str(found)) == found


def test_open_shapes_and_names():
    found = spec("f32[b, ...]", name="image")
    assert found.open and found.shape == ("b",) and found.name == "image"
    assert spec("f32[b, b, ?, 3]").names == ("b", "b")
    assert spec("f32[b, ?]").with_sizes({"b": 8}, 2).shape == (8, 2)


@pytest.mark.parametrize(
    "text", ["", "f33", "f32[", "f32[-1]", "f32[a b]", "f32[..., 3]", "[3]", 3]
)
def test_no_specification(text):
    with pytest.raises(d2s.Error) as caught:
        spec(text)
    assert caught.value.code == "D2S033" and caught.value.fix


def total(x, y, scale=1.0):
    return (x.sum() + y.sum()) * scale


def refused(static, *args, **kwargs):
    with pytest.raises(d2s.Error) as caught:
        static(*args, **kwargs)
    error = caught.value
    assert error.code == "D2S032"
    expected, got = error.sides
    assert (expected.when, got.when) == ("expected", "got")
    name = error.what.removesuffix(" does not fit its specification")
    return f"{name}: expected {expected.what}, got {got.what}"


def test_fitting_arguments():
    static = d2s.to_static(total, input_spec=["f32[b, 3]", "f32[b]", None])
    assert static(jnp.ones((2, 3)), jnp.ones(2)) == 8.0
    assert static(jnp.ones((4, 3)), y=jnp.ones(4), scale=2.0) == 32.0
    assert static(np.ones((2, 3), np.float32), jnp.ones(2)) == 8.0


def test_what_does_not_fit_is_named():
    static = d2s.to_static(total, input_spec=["f32[b, 3]", "f32[b]"])
    assert refused(static, jnp.ones((2, 4)), jnp.ones(2)) == (
        "the argument x: expected f32[b, 3], got f32[2, 4]"
    )
    assert refused(static, jnp.ones((2, 3)), y=jnp.ones(5)) == (
        "the argument y: expected f32[b] with b = 2, as in x, got f32[5]"
    )
    assert "got i32[2, 3]" in refused(static, jnp.ones((2, 3), int), jnp.ones(2))
    assert "got f32[3]" in refused(static, jnp.ones(3), jnp.ones(2))
    assert "got a str" in refused(static, "text", jnp.ones(2))
    assert "got an object" in refused(static, object(), jnp.ones(2))
    assert "got None" in refused(static, None, jnp.ones(2))


def test_expected_and_got_stand_below_each_other():
    static = d2s.to_static(total, input_spec=["f32[b, 3]", "f32[b]"])
    with pytest.raises(d2s.Error) as caught:
        static(jnp.ones((2, 4)), jnp.ones(2))
    lines = str(caught.value).splitlines()
    assert lines[1:3] == ["  expected: f32[b, 3]", "  got:      f32[2, 4]"]
    assert "static(jnp.ones((2, 4)), jnp.ones(2))" in lines[4]


def test_forms():
    struct = jax.ShapeDtypeStruct((2, 3), jnp.float32)
    by_name = {"y": spec("f32[b]", name="weights"), "x": struct}
    static = d2s.to_static(total, input_spec=by_name)
    assert static(jnp.ones((2, 3)), jnp.ones(9)) == 15.0
    assert "expected f32[2, 3]" in refused(static, jnp.ones((3, 3)), jnp.ones(9))
    assert "the argument y (weights)" in refused(static, jnp.ones((2, 3)), jnp.ones((9, 1)))


def test_nested():
    def f(batch, pair):
        return batch["x"].sum() + pair[0] + pair[1].sum()

    static = d2s.to_static(f, input_spec=[{"x": "f32[n]"}, ("f32", "f32[n]")])
    assert static({"x": jnp.ones(2), "other": 1}, (1.0, jnp.ones(2))) == 5.0
    assert "batch['x']" in refused(static, {"x": jnp.ones((1, 1))}, (1.0, jnp.ones(1)))
    assert "got nothing" in refused(static, {}, (1.0, jnp.ones(1)))
    assert "pair[1]" in refused(static, {"x": jnp.ones(2)}, (1.0, jnp.ones(3)))
    assert "expected 2 entries, got a tuple of 1" in refused(static, {"x": jnp.ones(2)}, (1.0,))


def test_python_numbers():
    static = d2s.to_static(lambda x: x + 1, input_spec=["f32"])
    assert static(1.0) == 2.0
    assert "got i32[]" in refused(static, 1)
    assert "got bool[]" in refused(static, True)


def test_methods_do_not_count_self():
    class Net:
        @d2s.to_static(input_spec=["f32[3]"])
        def run(self, x):
            return x * 2

    assert Net().run(jnp.ones(3)).shape == (3,)
    assert "the argument x" in refused(Net().run, jnp.ones(2))

    class Other:
        def run(self, x):
            return x * 2

    bound = d2s.to_static(Other().run, input_spec=["f32[3]"])
    assert "the argument x" in refused(bound, jnp.ones(2))


@pytest.mark.parametrize(
    "given", [["f32"] * 4, {"z": "f32"}, 3, [object()], ["f33"]], ids=lambda g: str(g)[:12]
)
def test_a_wrong_option_is_told_at_once(given):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(total, input_spec=given)
    assert caught.value.code == "D2S033"


def test_eager_mode_checks_too():
    static = d2s.to_static(lambda x: x + 1, input_spec=["f32[3]"])
    with d2s.mode("eager"):
        refused(static, jnp.ones(2))


def test_python_says_what_is_missing():
    static = d2s.to_static(total, input_spec=["f32[b, 3]", "f32[b]"])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'y'"):
        static(jnp.ones((2, 3)))


def test_constraints_hold_for_calls():
    tall = spec("f32[b, t]", constraints=("b >= 2", "mod(t, 4) == 0"))
    static = d2s.to_static(total, input_spec=[tall, spec("f32[b]", constraints="b <= 2*t")])
    assert static(jnp.ones((2, 4)), jnp.ones(2)) == 10.0
    assert refused(static, jnp.ones((1, 4)), jnp.ones(1)) == (
        "the argument x: expected b >= 2, got b = 1"
    )
    assert "expected mod(t, 4) == 0, got t = 5" in refused(static, jnp.ones((2, 5)), jnp.ones(2))
    assert "expected b <= 2*t, got b = 9, t = 4" in refused(static, jnp.ones((9, 4)), jnp.ones(9))


def test_examples_keep_to_constraints():
    wide = spec("f32[b]", constraints=("b >= 9", "mod(b, 4) == 0"))
    assert "f32[12]" in str(d2s.to_static(lambda x: x + 1, input_spec=[wide]).jaxpr())


@pytest.mark.parametrize(
    "constraints", [3, ["b >= 2", 3], "b >", "b > 2", "b", "f(b) == 1", "1.5 <= b"]
)
def test_no_constraints(constraints):
    with pytest.raises(d2s.Error, match="constraint") as caught:
        spec("f32[b]", constraints=constraints)
    assert caught.value.code == "D2S033" and caught.value.fix


def test_constraints_on_a_dimension_that_nobody_has(tmp_path):
    strange = spec("f32[b]", constraints="q >= 2")
    for use in (
        lambda: d2s.to_static(lambda x: x, input_spec=[strange]),
        lambda: d2s.save(d2s.to_static(lambda x: x + 1), tmp_path / "f.d2s", strange),
    ):
        with pytest.raises(d2s.Error, match="no specification has a dimension q"):
            use()


def test_none_is_no_dimension():
    with pytest.raises(d2s.Error, match="None is no dimension") as caught:
        spec("f32[None, 3]")
    assert caught.value.fix.startswith("? for a dimension of any size")
