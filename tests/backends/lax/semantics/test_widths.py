"""NumPy's numbers of 64 bits are whole in a graph of 32, or refused; narrow ones are NumPy's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

WIDE = np.array([2**40, 1])
SCALAR = np.int64(2**40)


class Holder:
    def __init__(self) -> None:
        self.wide, self.scalar = np.array([2**40, 1]), np.int64(2**40)

    def times(self, x: Any) -> Any:
        return self.wide * x

    def scaled(self, x: Any) -> Any:
        return x * self.scalar


@pytest.mark.parametrize(
    "value",
    [
        WIDE,
        SCALAR,
        -WIDE,
        np.array([2**40], np.uint64),
        np.array([[1e300, 1.0]]),
        np.float64(-1e300),
        np.array([1e300j]),
    ],
)
@pytest.mark.parametrize(
    "wrap", [lambda v: v, lambda v: [v], lambda v: {"k": (v, 1)}, lambda v: (1, v)]
)
def test_arguments_that_do_not_fit(value: Any, wrap: Any) -> None:
    f = d2s.to_static(lambda given: jax.tree.map(lambda leaf: leaf * 2, given))
    for _ in range(2):
        with pytest.raises(d2s.Error, match="the argument given holds"):
            f(wrap(value))
    fitting = np.ones_like(value)
    got = jax.tree.leaves(f(wrap(fitting)))
    assert all(np.all(np.asarray(leaf) == 2) for leaf in got)


def test_the_second_call_is_looked_at_too() -> None:
    f = d2s.to_static(lambda a: a % 1000)
    for value in (np.array([5, 3]), np.array([7, 3]), np.array([1007, -2])):
        assert f(value).tolist() == (value % 1000).tolist()
    with pytest.raises(d2s.IntegerOverflow, match="the argument a holds 1099511627776"):
        f(WIDE)
    assert f(np.array([2**31 - 1, -(2**31)])).tolist() == [647, 352]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: WIDE * x,
        lambda x: x + SCALAR,
        lambda x: np.maximum(x, WIDE),
        lambda x: np.array([SCALAR, x[0]]),
        lambda x: np.where(x > 0, WIDE, x),
        Holder().times,
        Holder().scaled,
    ],
)
def test_constants_that_do_not_fit(function: Any) -> None:
    with pytest.raises(d2s.IntegerOverflow, match="1099511627776"):
        d2s.to_static(function)(np.array([1, 2]))


@pytest.mark.parametrize(
    "function",
    [lambda n: WIDE * n, lambda n: n * SCALAR, Holder().times, lambda n: (n, {"a": WIDE + n})],
)
def test_python_numbers_meet_them_exactly(function: Any) -> None:
    static = d2s.to_static(function)
    for n in (3, 4, 3):
        got, want = jax.tree.leaves(static(n)), jax.tree.leaves(function(n))
        for one, other in zip(got, want, strict=True):
            np.testing.assert_array_equal(one, other)


def test_floats_are_rounded_and_what_is_infinite_stays_so() -> None:
    f = d2s.to_static(lambda a: a + 1)
    got = f(np.array([np.inf, -np.inf, np.nan, 0.1]))
    np.testing.assert_array_equal(got[:2], [np.inf, -np.inf])
    assert np.isnan(got[2]) and got.dtype == jnp.float32


def test_loaded_functions(tmp_path: Path) -> None:
    d2s.save(d2s.to_static(lambda x: x % 1000), tmp_path / "f.d2s", d2s.spec("i32[2]"))
    loaded = d2s.load(tmp_path / "f.d2s")
    assert loaded(np.array([1005, 3])).tolist() == [5, 3]
    with pytest.raises(d2s.IntegerOverflow, match="1099511627776"):
        loaded(WIDE)


# -- narrow integers ------------------------------------------------------------------------------


def tried(a: Any, n: Any) -> Any:
    try:
        return a + n
    except OverflowError:
        return -1


def made(n: Any) -> Any:
    try:
        return np.uint8(n)
    except OverflowError as error:
        return str(error)


def test_a_number_becomes_a_narrow_one() -> None:
    static = d2s.to_static(made)
    for n in (3, 300, -1, 255):
        got = static(n)
        assert got == made(n) or int(got) == int(made(n))


def test_a_local_array_of_narrow_integers() -> None:
    static = d2s.to_static(lambda n: tried(np.ones(2, np.uint8), n))
    assert static(3).tolist() == [4, 4]
    assert static(300) == -1
    assert static(-1) == -1


OPERATORS = [
    lambda a, n: a + n,
    lambda a, n: n - a,
    lambda a, n: a * n,
    lambda a, n: a // n,
    lambda a, n: a & n,
    lambda a, n: a == n,
    lambda a, n: n > a,
]


@pytest.mark.parametrize("function", OPERATORS)
@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16", "uint32"])
def test_numbers_that_meet_narrow_arrays(function: Any, dtype: str) -> None:
    static = d2s.to_static(function)
    a = np.array([1, 2, 100], dtype)
    for n in (1, 100, 300, -1, 70000):
        try:
            want = function(a, n)
        except OverflowError:
            with pytest.raises((d2s.Error, OverflowError)):
                static(a, n)
            continue
        try:
            got = static(a, n)
        except d2s.Error as error:  # a comparison, which NumPy does exactly
            assert error.code == "D2S012"
            assert want.dtype == bool
            continue
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)


def test_a_handler_does_not_catch_the_refusal() -> None:
    with pytest.raises(d2s.StagingError, match="D2S012"):
        d2s.to_static(tried)(np.array([1], np.uint8), 300)


def test_jax_arrays_are_as_in_jax() -> None:
    a = jnp.array([1], jnp.uint8)
    assert d2s.to_static(lambda a: a + 300)(a).tolist() == (a + 300).tolist()
