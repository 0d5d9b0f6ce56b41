"""The harness itself: it must see every kind of difference, and nothing else."""

from __future__ import annotations

import contextlib
import types
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from . import harness


class FakeError(Exception):
    code = "D2S123"


SEEN: list[float] = []


def double(x):
    return x * 2


def note(x):
    SEEN.append(x)
    return x


def install(monkeypatch: pytest.MonkeyPatch, static: Callable[..., Any] | None = None) -> None:
    """Put a package in place of d2s that converts nothing, with a static mode of our choice."""

    def to_static(fn: Callable[..., Any]) -> Callable[..., Any]:
        def made(*args: Any) -> Any:
            return (static or fn)(*args)

        made.original = fn
        return made

    fake = types.SimpleNamespace(
        Error=FakeError,
        convert=lambda fn: fn,
        to_static=to_static,
        to_code=lambda fn: "the generated code",
        use_backend=lambda name: contextlib.nullcontext(),
    )
    monkeypatch.setattr(harness, "d2s", fake)


def refuse(x):
    raise FakeError("no")


def reword(x):
    raise ValueError("other words")


def says(x):
    print("said")
    return x * 2


class OnlyFirstCalls:
    """Right at first, stale later."""

    def __init__(self) -> None:
        self.kept: Any = None

    def __call__(self, x: Any) -> Any:
        if self.kept is None:
            self.kept = x * 2
        return self.kept


@pytest.mark.parametrize(
    "static",
    [
        pytest.param(lambda x: x * 2 + 1, id="value"),
        pytest.param(lambda x: (x * 2,), id="container"),
        pytest.param(lambda x: jnp.asarray(x * 2).reshape(1), id="shape"),
        pytest.param(lambda x: x * 2 > 0, id="bool for number"),
        pytest.param(says, id="printed text"),
        pytest.param(reword, id="exception"),
        pytest.param(refuse, id="undeclared refusal"),
        pytest.param(OnlyFirstCalls(), id="stale result"),
    ],
)
def test_difference_is_seen(static: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, static)
    with pytest.raises(AssertionError) as caught:
        harness.check(double, (1.0,), (2.0,))
    text = str(caught.value)
    assert "static, static arguments" in text
    assert "plain:" in text and "the generated code" in text


def test_agreement_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, jax.jit(double))
    harness.check(double, (1.0,), (2.0,), grad=True, vmap=True)
    harness.check(double, (jnp.arange(3.0),), (jnp.ones(3),), grad=True)


def test_wrong_gradient_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, lambda x: jax.lax.stop_gradient(jnp.asarray(x)) * 2)
    harness.check(double, (1.0,), (2.0,))
    with pytest.raises(AssertionError, match="gradient of static, input 0"):
        harness.check(double, (1.0,), (2.0,), grad=True)


def test_declared_refusal_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, refuse)
    harness.check(double, (1.0,), (2.0,), error_ok="D2S123")
    harness.check(double, (1.0,), (2.0,), error_ok={"D2S001", "D2S12"})
    with pytest.raises(AssertionError, match="D2S123"):
        harness.check(double, (1.0,), (2.0,), error_ok="D2S9")
    with pytest.raises(AssertionError, match="D2S123"):
        harness.check(double, (1.0,), (2.0,), error_ok="D2S123", error_modes=("converted",))


def test_lost_write_to_a_global_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    harness.check(note, (1.0,), (2.0,))
    assert SEEN == []
    install(monkeypatch, lambda x: x)
    with pytest.raises(AssertionError, match=r"state\['SEEN'\]: 1 items became 0"):
        harness.check(note, (1.0,), (2.0,))


def test_lost_write_to_an_argument_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def append(items, x):
        items.append(x)

    install(monkeypatch, lambda items, x: None)
    with pytest.raises(AssertionError, match=r"args\[0\]: 3 items became 2"):
        harness.check(append, ([1, 2], 3), ([4, 5], 6))


def test_lost_write_to_a_closure_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 0

    def step(x):
        nonlocal count
        count += 1
        return x

    install(monkeypatch, lambda x: x)
    with pytest.raises(AssertionError, match="step.count"):
        harness.check(step, (1.0,), (2.0,))
    assert count == 0


def test_leaked_tracer_is_seen() -> None:
    leaked: list[Any] = []
    jax.jit(lambda x: leaked.append(x))(1.0)
    assert harness.freeze(leaked)[0].kind == "LEAKED TRACER"


def test_program_that_plain_python_cannot_run(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch)
    with pytest.raises(AssertionError, match="plain Python cannot run this"):
        harness.check(jax.jit(lambda x: 1 if x > 0 else 2), (1.0,), (2.0,))


@pytest.mark.parametrize(
    ("want", "got", "same"),
    [
        (1, jnp.array(1), True),
        (1, jnp.array(1.0), True),
        (1.5, jnp.array(1), False),
        (True, jnp.array(1), False),
        (True, jnp.array(True), True),
        (float("nan"), jnp.array(jnp.nan), True),
        (0.1, jnp.float32(0.1), True),
        (1.0, 1j, False),
        (np.ones(2), jnp.ones(2), True),
        (np.ones(2), jnp.ones((1, 2)), False),
        ((1, 2), [1, 2], False),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, False),
        ({"a": 1}, OrderedDict(a=1), False),
        (None, 0, False),
        ("a", "b", False),
        ([None, "a"], [None, "a"], True),
        (iter([1, 2]), iter([1, 2]), True),
        (iter([1, 2]), iter([2]), False),
        (ValueError("a"), ValueError("b"), False),
    ],
)
def test_comparison(want: Any, got: Any, same: bool) -> None:
    found = harness.difference(harness.freeze(want), harness.freeze(got), "value", 1e-4, 1e-5)
    assert (found is None) == same


def test_flavours() -> None:
    args = (None, [1, 2.0], 3, {"k": True})
    assert harness.flavoured(args, "static") is args
    traced = harness.flavoured(args, "traced")
    assert [leaf.dtype.kind for leaf in jax.tree.leaves(traced)] == ["i", "f", "i", "b"]
    mixed = harness.flavoured(args, "mixed", keep=(1,))
    assert mixed[1] == [1, 2.0] and isinstance(mixed[2], jax.Array) and mixed[3] == {"k": True}
    assert harness.distinct_flavours((1.0, None), harness.FLAVOURS, ()) == ["static", "traced"]
    assert harness.distinct_flavours((None,), harness.FLAVOURS, ()) == ["static"]
