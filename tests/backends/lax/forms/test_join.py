"""The join of types: the least one that holds both sides exactly, or an error."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import Mismatch, Type, join, type_of

F32, F16, BF16 = (Type((), jnp.dtype(d), False) for d in ("float32", "float16", "bfloat16"))
I32, I8, U8 = (Type((), np.dtype(d), False) for d in ("int32", "int8", "uint8"))
BOOL = Type((), np.dtype("bool"), False)
WEAK_INT, WEAK_FLOAT = type_of(1), type_of(1.0)


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        (F32, F32, F32),
        (WEAK_FLOAT, F16, F16),
        (WEAK_FLOAT, BF16, BF16),
        (WEAK_INT, WEAK_INT, WEAK_INT),
    ],
)
def test_joins(one, other, joined):
    assert join(one, other) == join(other, one)
    assert join(one, other).bare == joined.bare


def test_numbers_that_are_known():
    assert join(WEAK_INT, WEAK_FLOAT, (0, 0.5)) == WEAK_FLOAT
    assert join(WEAK_INT, F32, (3, None)).bare == F32
    assert join(WEAK_INT, I8, (100, None), passes=True).bare == I8


def test_what_is_a_number_here_and_an_array_there_is_in_doubt():
    assert join(WEAK_INT, WEAK_FLOAT, (0, 0.5)).kind is float
    assert join(F32, F32).kind is origins.ARRAY
    assert join(WEAK_FLOAT, F32).kind is None


@pytest.mark.parametrize(
    ("one", "other", "exact", "code"),
    [
        (I32, F32, (None, None), "D2S012"),
        (F16, BF16, (None, None), "D2S012"),
        (I8, I32, (None, None), "D2S012"),
        (I8, F32, (None, None), "D2S012"),
        (WEAK_INT, I8, (100, None), "D2S012"),
        (WEAK_INT, U8, (1, None), "D2S012"),
        (WEAK_INT, F32, (2**24 + 1, None), "D2S012"),
        (WEAK_INT, WEAK_FLOAT, (None, None), "D2S012"),
        (WEAK_INT, I8, (300, None), "D2S012"),
        (WEAK_INT, U8, (-1, None), "D2S012"),
        (BOOL, I32, (None, None), "D2S010"),
        (F32, Type((2,), F32.dtype, False), (None, None), "D2S010"),
    ],
)
def test_refusals(one, other, exact, code):
    with pytest.raises(Mismatch) as caught:
        join(one, other, exact)
    assert caught.value.code == code


def narrow_in_branch(a):
    s = np.zeros(1, np.int32)
    if a[0] > 0:
        s = a.astype(np.int8)
    return s + s


def narrow_in_loop(a):
    s = a.astype(np.float16)
    while s[0] < 4:
        s = s + a
    return s


def narrow_behind_an_exception(a):
    s = a
    try:
        s = a.astype(np.int8)
        if a[0] > 100:
            raise ValueError
        s = a
    except ValueError:
        pass
    return s + s


def narrow_in_and(a):
    return a.astype(np.int16)[0] and a[0]


@pytest.mark.parametrize(
    "function", [narrow_in_branch, narrow_in_loop, narrow_behind_an_exception, narrow_in_and]
)
@pytest.mark.parametrize("make", [np.array, jnp.array])
def test_arrays_of_two_dtypes_do_not_meet(function, make):
    array = make([120], np.float32 if function is narrow_in_loop else np.int32)
    with pytest.raises(d2s.StagingError, match="D2S012") as caught:
        d2s.to_static(function)(array)
    assert "astype" in str(caught.value)


def chain(a, b, c, n):
    while n > 0:
        a, b, c = b, c, c + 0.5
        n -= 1
    return a, b, c


def test_promotion_reaches_its_fixed_point():
    static = d2s.to_static(chain)
    for n in (0, 1, 2, 5):
        want = chain(0, 0, 0, n)
        got = static(0, 0, 0, jnp.int32(n))
        np.testing.assert_allclose(got, want)
        assert all(jnp.issubdtype(v.dtype, jnp.floating) for v in got)


def low_precision(x, n):
    total = 0.0
    for _ in range(n):
        total = total + x
    return total


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
def test_a_python_number_yields_to_the_array(dtype):
    got = d2s.to_static(low_precision)(jnp.ones((), dtype), jnp.int32(3))
    assert got.dtype == dtype


def keyed(key, n):
    total = jnp.float32(0)
    while n > 0:
        key, sub = jax.random.split(key)
        total = total + jax.random.uniform(sub)
        n -= 1
    return total, jax.random.key_data(key)


def test_random_keys_are_carried():
    key = jax.random.key(0)
    for n in (0, 3):
        got, want = d2s.to_static(keyed)(key, jnp.int32(n)), keyed(key, n)
        np.testing.assert_allclose(got[0], want[0], rtol=1e-6)
        np.testing.assert_array_equal(got[1], want[1])


def shaped(x, n):
    while n > 0:
        x = jnp.concatenate([x, x])
        n -= 1
    return x


def texts(x):
    name = "a"
    if x > 0:
        name = "b"
    return name


def nested_names(x, n):
    a, b = x, x
    while n > 0:
        n -= 1
        if n > 3:
            a = a + 1
        else:
            b = jnp.stack([b, b])
    return a, b


@pytest.mark.parametrize(
    ("function", "args", "code", "words"),
    [
        (nested_names, (jnp.ones(2), jnp.int32(1)), "D2S010", ("`b`", "float32[2,2]")),
        (shaped, (jnp.ones(2), jnp.int32(1)), "D2S011", ("`x`", "float32[2]", "float32[4]")),
        (texts, (jnp.float32(1),), "D2S013", ("`name`", "'b'", "'a'")),
    ],
)
def test_errors_name_the_variable_and_both_sides(function, args, code, words):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(function)(*args)
    assert caught.value.code == code
    for word in words:
        assert word in str(caught.value)
    assert "Write instead" in str(caught.value)
    assert f"in {function.__name__}" in str(caught.value)
