"""What may be passed, what is traced, what is static, and when a graph is built again."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict, namedtuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

Pair = namedtuple("Pair", "first second")


@dataclasses.dataclass
class State:
    position: jax.Array
    label: str
    history: list


@dataclasses.dataclass(frozen=True)
class Options:
    depth: int
    name: str = "plain"


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Traces:
    """How many graphs of a static function were built."""

    def __init__(self, static):
        self.static = static

    @property
    def value(self):
        return len(self.static.cache_info().graphs)


def traced_times(function):
    """A static function and the number of times it was traced."""
    static = d2s.to_static(function)
    return static, Traces(static)


def test_numbers_are_traced_until_their_value_is_needed():
    static, traces = traced_times(lambda x, n: x * n + 1)
    assert [float(static(2.0, n)) for n in (1, 2, 3)] == [3.0, 5.0, 7.0]
    assert traces.value == 1
    shaped, traces = traced_times(lambda x, n: jnp.zeros(n) + x)
    assert [shaped(1.0, n).shape for n in (2, 3, 2)] == [(2,), (3,), (2,)]
    assert traces.value == 2
    # only the number whose value was needed became static
    assert float(shaped(5.0, 2)[0]) == 5.0
    assert traces.value == 2


def test_other_values_are_static():
    doubles = ("double", True, Colour.RED)
    static, traces = traced_times(lambda x, how: x * 2 if how in doubles else x)
    for how, want in (("double", 2.0), ("same", 1.0), (True, 2.0), (Colour.RED, 2.0), (None, 1.0)):
        assert float(static(1.0, how)) == want
        assert float(static(1.0, how)) == want
    assert traces.value == 5


def deepened(x, options):
    for _ in range(options.depth):
        x = x * 2
    return x, options


def test_hashable_configurations_are_static():
    static = d2s.to_static(deepened)
    value, options = static(jnp.float32(1), Options(3))
    assert (float(value), options) == (8.0, Options(3))
    assert float(static(jnp.float32(1), Options(1))[0]) == 2.0


def moved(state, by):
    if by > 0:
        state = State(state.position + by, state.label, [*state.history[1:], by])
    return state


def test_dataclasses_and_containers_go_in_and_come_out():
    static = d2s.to_static(moved)
    start = State(jnp.float32(1), "a", [0.0, 0.0])
    for by in (2.0, -1.0):
        got, want = static(start, jnp.float32(by)), moved(start, jnp.float32(by))
        assert isinstance(got, State)
        assert (float(got.position), got.label) == (float(want.position), want.label)
        assert [float(v) for v in got.history] == [float(v) for v in want.history]
    swap = d2s.to_static(lambda p: Pair(p.second, p.first))
    assert swap(Pair(1.0, 2.0)) == Pair(2.0, 1.0)
    keep = d2s.to_static(lambda d: OrderedDict(b=d["b"], a=d["a"]))
    assert list(keep({"a": 1.0, "b": 2.0})) == ["b", "a"]
    nothing = d2s.to_static(lambda x: None)
    assert nothing(1.0) is None


def test_structure_type_and_shape_belong_to_the_graph():
    static, traces = traced_times(lambda x: x["a"].sum() if "a" in x else x["b"].sum())
    assert float(static({"a": jnp.ones(2)})) == 2.0
    assert float(static({"b": jnp.ones(3)})) == 3.0
    assert float(static({"a": jnp.ones(5)})) == 5.0
    assert float(static({"a": np.ones(5, np.float32)})) == 5.0
    assert traces.value == 4


def test_a_fresh_container_is_returned_on_every_call():
    static = d2s.to_static(lambda x: ["fixed", [1, 2], x])
    first = static(jnp.float32(1))
    first[1].append(3)
    assert static(jnp.float32(1))[1] == [1, 2]


def test_what_cannot_be_passed_is_refused():
    with pytest.raises(d2s.Error, match="D2S030"):
        d2s.to_static(lambda s: 1.0)(iter([1, 2]))


def test_keyword_and_default_arguments():
    def scaled(x, /, factor=2.0, *more, offset=0.0, **rest):
        if x > 0:
            return x * factor + offset + sum(more) + rest.get("extra", 0.0)
        return x

    static = d2s.to_static(scaled)
    for args, kwargs in (
        ((1.0,), {}),
        ((1.0, 3.0), {"offset": 1.0}),
        ((1.0, 3.0, 4.0, 5.0), {"extra": 2.0}),
        ((-1.0,), {"factor": 7.0}),
    ):
        assert float(static(*args, **kwargs)) == scaled(*args, **kwargs)


def test_it_is_idempotent_and_dressed_as_the_original():
    def documented(x: float, y: int = 2) -> float:
        """Says what it does."""
        return x * y

    static = d2s.to_static(documented)
    assert d2s.to_static(static) is static
    assert static.original is documented
    assert (static.__name__, static.__doc__) == ("documented", "Says what it does.")
    converted = d2s.convert(documented)
    assert converted.__defaults__ == (2,)
    assert converted.__annotations__ == documented.__annotations__
    assert d2s.convert(converted) is converted
    assert d2s.convert(documented) is converted
    assert "def documented(x: float, y: int=2) -> float:" in d2s.to_code(static)


def test_a_function_can_be_left_alone():
    @d2s.do_not_convert
    def stubborn(x):
        if x > 0:
            return x
        return -x

    def caller(x):
        return stubborn(x)

    assert d2s.convert(caller)(-2.0) == 2.0
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(caller)(jnp.float32(1))
    assert caught.value.code == "D2S021"
    assert "stubborn" in str(caught.value)
    assert "do_not_convert" in str(caught.value)
