"""Functions of NumPy's on run-time arrays of every dtype: NumPy's dtypes and values, or refused."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import jax
import numpy as np
import pytest

import d2s

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "int64", "float16", "float32", "float64"]

CALLS: dict[str, Any] = {
    "sum": lambda a: np.sum(a),
    "sum_method": lambda a: a.sum(axis=0),
    "prod": lambda a: np.prod(a[:2]),
    "cumsum": lambda a: np.cumsum(a),
    "cumsum_method": lambda a: a.cumsum(),
    "cumprod": lambda a: np.cumprod(a[:3]),
    "nancumsum": lambda a: np.nancumsum(a),
    "add_accumulate": lambda a: np.add.accumulate(a),
    "add_reduce": lambda a: np.add.reduce(a),
    "mean": lambda a: np.mean(a),
    "mean_method": lambda a: a.mean(),
    "var": lambda a: np.var(a),
    "std": lambda a: a.std(),
    "median": lambda a: np.median(a),
    "percentile": lambda a: np.percentile(a, 30),
    "searchsorted": lambda a: np.searchsorted(np.sort(a), a),
    "digitize": lambda a: np.digitize(a, np.array([1, 50, 101])),
    "interp": lambda a: np.interp(a, np.array([0.0, 60.0, 130.0]), np.array([0.0, 1.0, 5.0])),
    "argmax": lambda a: np.argmax(a),
    "argsort": lambda a: a.argsort(),
    "count_nonzero": lambda a: np.count_nonzero(a),
    "trace": lambda a: np.trace(a[:4].reshape(2, 2)),
    "dot": lambda a: np.dot(a, a),
    "outer": lambda a: np.outer(a, 2),
    "append": lambda a: np.append(a, 2),
    "vander": lambda a: np.vander(a[:2]),
    "convolve": lambda a: np.convolve(a, a[:2]),
    "sqrt": lambda a: np.sqrt(a),
    "sin": lambda a: np.sin(a),
    "square": lambda a: np.square(a),
    "true_divide": lambda a: np.divide(a, 2),
    "floor_divide": lambda a: np.floor_divide(a, 3),
    "diff": lambda a: np.diff(a),
    "cov": lambda a: np.cov(a),
    "polyval": lambda a: np.polyval(a[:2], 2),
    "linspace": lambda a: np.linspace(a[0], a[1], 3),
    "bincount": lambda a: np.bincount(a, minlength=130),
    "clip": lambda a: a.clip(1, 50, None),
    "vector_norm": lambda a: np.linalg.vector_norm(a),
    "where": lambda a: np.where(a > 3, a, 1),
    "maximum": lambda a: np.maximum(a, 2),
}


def arrays(dtype: str) -> np.ndarray[Any, Any]:
    return np.array([3, 1, 100, 120, 7, 0]).astype(dtype)


def compared(name: str, dtype: str) -> None:
    call, a = CALLS[name], arrays(dtype)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            want = call(a)
        except TypeError:
            return
        try:
            got = d2s.to_static(lambda a: call(a))(a)
        except d2s.Error:
            return
    want, got = np.asarray(want), np.asarray(got)
    assert got.dtype == jax.dtypes.canonicalize_dtype(want.dtype)
    rough = "16" in want.dtype.name
    np.testing.assert_allclose(got, want.astype(got.dtype), rtol=1e-2 if rough else 1e-5)


@pytest.mark.full
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", CALLS)
def test_dtypes_are_numpys(name: str, dtype: str) -> None:
    compared(name, dtype)


@pytest.mark.full
def test_dtypes_are_numpys_in_64_bits() -> None:
    """In a process of its own, because the setting is one for all."""
    code = (
        "import jax; jax.config.update('jax_enable_x64', True)\n"
        "from tests.backends.lax.library.test_numpy_dtypes import CALLS, compared\n"
        "for name in CALLS:\n"
        "    for dtype in ('int8', 'int32', 'int64', 'float32', 'float64'):\n"
        "        compared(name, dtype)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_large_arrays_have_the_same_dtypes() -> None:
    a = np.full(300_000, 100, np.int8)
    got = d2s.to_static(lambda a: np.cumsum(a))(a)
    assert got.dtype == np.int32
    assert int(got[-1]) == 30_000_000


@pytest.mark.full
def test_a_nan_stays_where_it_is_in_a_convolution() -> None:
    random = np.random.default_rng(0)
    for n, m in ((100, 30), (30, 100), (64, 64), (7, 2), (2, 7), (1, 1), (9, 4), (4, 9)):
        a, b = (random.normal(size=size).astype(np.float32) for size in (n, m))
        b[m // 2] = np.nan
        for function in (np.convolve, np.correlate):
            for mode in ("full", "same", "valid"):
                for x, y in ((a, b), (b, a), (a, a)):
                    want = function(x, y, mode)
                    got = d2s.to_static(lambda x, y: function(x, y, mode))(x, y)  # noqa: B023
                    np.testing.assert_allclose(got, want, rtol=1e-3, atol=1e-4)


@pytest.mark.full
@pytest.mark.parametrize(
    ("call", "matrix"),
    [
        (np.linalg.inv, [[1.0, 2.0], [2.0, 4.0]]),
        (np.linalg.inv, [[1, 2], [2, 4]]),
        (np.linalg.inv, [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]]]),
        (lambda a: np.linalg.solve(a, a), [[0.0, 0.0], [0.0, 0.0]]),
        (lambda a: np.linalg.matrix_power(a, -2), [[1.0, 2.0], [2.0, 4.0]]),
        (np.linalg.cholesky, [[1.0, 2.0], [2.0, 1.0]]),
        (np.linalg.svd, [[np.nan, 1.0], [1.0, 2.0]]),
        (np.linalg.svdvals, [[np.nan, 1.0], [1.0, 2.0]]),
        (np.linalg.pinv, [[np.nan, 1.0], [1.0, 2.0]]),
        (np.linalg.matrix_rank, [[np.nan, 1.0], [1.0, 2.0]]),
        (np.linalg.cond, [[np.nan, 1.0], [1.0, 2.0]]),
        (lambda a: np.linalg.norm(a, 2), [[np.nan, 1.0], [1.0, 2.0]]),
        (lambda a: np.linalg.norm(a, "nuc"), [[np.nan, 1.0], [1.0, 2.0]]),
    ],
)
def test_errors_of_linear_algebra(call: Any, matrix: Any) -> None:
    def caught(a: Any) -> Any:
        try:
            call(a)
        except np.linalg.LinAlgError:
            return 1
        return 0

    bad, good = np.array(matrix), np.array([[2.0, 1.0], [1.0, 2.0]])
    if call is np.linalg.cond and caught(bad) == 0:  # from NumPy 2.5 on
        np.testing.assert_allclose(d2s.to_static(lambda a: call(a))(bad), call(bad))
        return
    with pytest.raises(np.linalg.LinAlgError) as expected:
        call(bad)
    with pytest.raises(np.linalg.LinAlgError, match=str(expected.value)):
        d2s.to_static(lambda a: call(a))(bad)
    assert d2s.to_static(caught)(bad) == 1
    assert d2s.to_static(caught)(good) == 0


@pytest.mark.parametrize(
    "call",
    [
        np.linalg.cholesky,
        np.linalg.eigvalsh,
        lambda a: np.linalg.eigh(a)[0],
        lambda a: np.linalg.eigvalsh(a, "U"),
        lambda a: np.linalg.norm(a, axis=0),
        lambda a: np.linalg.matrix_power(a, 3),
    ],
)
def test_only_a_triangle_is_read(call: Any) -> None:
    a = np.array([[5.0, 9.0], [2.0, 6.0]])
    np.testing.assert_allclose(d2s.to_static(lambda a: call(a))(a), call(a), rtol=1e-5)


BYTES = np.array([b"a", b"bb"])


def test_positions_that_are_python_numbers() -> None:
    assert d2s.to_static(lambda i: BYTES[i])(1) == b"bb"
    f = d2s.to_static(lambda n: np.mgrid[0:n, 0:2])
    for n in (3, 4):
        np.testing.assert_array_equal(f(n), np.mgrid[0:n, 0:2])
    np.testing.assert_array_equal(d2s.to_static(lambda n: np.ogrid[0:n])(3), np.ogrid[0:3])


def length_of(i: Any) -> Any:
    try:
        return len(BYTES[i])
    except (TypeError, IndexError):
        return -1


def grid_of(n: Any) -> Any:
    try:
        return np.mgrid[0:n, 0:2].sum()
    except (TypeError, AttributeError, IndexError):
        return -1


@pytest.mark.parametrize("function", [length_of, grid_of])
def test_positions_that_are_arrays(function: Any) -> None:
    assert d2s.to_static(function)(1) == function(1)
    with pytest.raises(d2s.StagingError, match="D2S020"):
        d2s.to_static(function)(jax.numpy.int32(1))
