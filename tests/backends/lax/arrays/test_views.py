"""What is a view in NumPy is not read after a write, nor written: plain, or refused (D2S070).

NumPy itself says what is a view: each static program is compared with the same one on NumPy arrays.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import d2s
from d2s.backends.lax.library.numpy_calls import NAMES, counterpart, refusal
from d2s.backends.lax.library.numpy_models import VIEWING

stride_tricks = np.lib.stride_tricks

MAKERS: dict[str, Any] = {
    "flip": lambda y: np.flip(y),
    "flip_axis": lambda y: np.flip(y, 0),
    "fliplr": lambda y: np.fliplr(y),
    "flipud": lambda y: np.flipud(y),
    "rot90": lambda y: np.rot90(y),
    "rot90_whole": lambda y: np.rot90(y, 4),
    "split": lambda y: np.split(y, 3)[0],
    "array_split": lambda y: np.array_split(y, 2)[0],
    "hsplit": lambda y: np.hsplit(y, 3)[0],
    "vsplit": lambda y: np.vsplit(y, 3)[0],
    "diag": lambda y: np.diag(y),
    "diagonal": lambda y: np.diagonal(y),
    "diagonal_method": lambda y: y.diagonal(),
    "diagonal_unbound": lambda y: np.ndarray.diagonal(y),
    "diagonal_linalg": lambda y: np.linalg.diagonal(y),
    "broadcast_to": lambda y: np.broadcast_to(y, (2, 3, 3)),
    "broadcast_arrays": lambda y: np.broadcast_arrays(y, np.ones((2, 3, 3)))[0],
    "moveaxis": lambda y: np.moveaxis(y, 0, 1),
    "swapaxes": lambda y: np.swapaxes(y, 0, 1),
    "swapaxes_method": lambda y: y.swapaxes(0, 1),
    "rollaxis": lambda y: np.rollaxis(y, 1),
    "transpose": lambda y: np.transpose(y),
    "transpose_method": lambda y: y.transpose(),
    "T": lambda y: y.T,
    "mT": lambda y: y.mT,
    "matrix_transpose": lambda y: np.matrix_transpose(y),
    "permute_dims": lambda y: np.permute_dims(y, (1, 0)),
    "squeeze": lambda y: np.squeeze(y),
    "squeeze_method": lambda y: y.squeeze(),
    "expand_dims": lambda y: np.expand_dims(y, 0),
    "newaxis": lambda y: y[None],
    "newaxis_squeezed": lambda y: y[None].squeeze(0),
    "atleast_1d": lambda y: np.atleast_1d(y),
    "atleast_2d": lambda y: np.atleast_2d(y),
    "atleast_3d": lambda y: np.atleast_3d(y),
    "atleast_several": lambda y: np.atleast_1d(y, y)[1],
    "ravel": lambda y: np.ravel(y),
    "ravel_method": lambda y: y.ravel(),
    "reshape": lambda y: np.reshape(y, (9,)),
    "reshape_method": lambda y: y.reshape(9),
    "reshape_unbound": lambda y: np.ndarray.reshape(y, 9),
    "asarray": lambda y: np.asarray(y),
    "asanyarray": lambda y: np.asanyarray(y),
    "ascontiguousarray": lambda y: np.ascontiguousarray(y),
    "asfortranarray": lambda y: np.asfortranarray(y),
    "require": lambda y: np.require(y),
    "real": lambda y: np.real(y),
    "real_attribute": lambda y: y.real,
    "imag": lambda y: np.imag(y),
    "view": lambda y: y.view(),
    "view_as": lambda y: y.view(np.int32),
    "astype_without_copy": lambda y: y.astype(y.dtype, copy=False),
    "nan_to_num": lambda y: np.nan_to_num(y, copy=False),
    "sliding_window_view": lambda y: stride_tricks.sliding_window_view(y, (2, 2)),
    "as_strided": lambda y: stride_tricks.as_strided(y, (2, 2), (4, 4)),
    "unstack": lambda y: np.unstack(y)[0],
    "meshgrid": lambda y: np.meshgrid(y[0], y[1], copy=False)[0],
    "of_a_view": lambda y: np.flip(np.swapaxes(y, 0, 1))[1:],
    "flat": lambda y: y.flat,
    # copies, which may be used
    "array": lambda y: np.array(y),
    "copy": lambda y: y.copy(),
    "flatten": lambda y: y.flatten(),
    "positions": lambda y: y[[0, 1]],
    "take": lambda y: y.take([0, 1, 2]),
    "roll": lambda y: np.roll(y, 1),
    "concatenate": lambda y: np.concatenate([y]),
    "triu": lambda y: np.triu(y),
    "clip": lambda y: y.clip(0, 4),
}


def base_written(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y)
        y[0] = v
        return t

    return f


def view_written(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y)
        t[0] = v
        return y

    return f


def view_added(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y)
        t += v
        return y

    return f


def base_added(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y)
        y += v
        return t

    return f


def written_in_branch(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y)
        if v > 0:
            y[0] = v
        return t

    return f


def written_in_loop(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y)
        for i in range(3):
            if v > i:
                y[i] = v
        return t

    return f


def made_in_branch(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        y = x * 1
        t = make(y * 2)
        if v > 0:
            t = make(y)
        y[0] = v
        return t

    return f


def written_by_helper(make: Any) -> Any:
    def f(x: Any, v: Any) -> Any:
        def put(a: Any) -> None:
            a[0] = v

        y = x * 1
        t = make(y)
        put(y)
        return t

    return f


PROGRAMS = [
    *(base_written, view_written, view_added, base_added),
    *(written_in_branch, written_in_loop, made_in_branch, written_by_helper),
]


def outcome(function: Any, x: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.asarray(function(x, 5.0))
        except d2s.Error as error:
            return error
        except Exception as error:
            return type(error)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
@pytest.mark.parametrize("name", MAKERS)
def test_views_are_plain_or_refused(name: str, program: Any) -> None:
    for dtype in ("float32", "complex64") if "real" in name else ("float32",):
        x = np.arange(1, 10).astype(dtype).reshape(3, 3)
        function = program(MAKERS[name])
        want, got = outcome(function, x.copy()), outcome(d2s.to_static(function), x)
        if isinstance(got, d2s.Error):
            continue
        if isinstance(want, type):
            assert got is want
        else:
            np.testing.assert_allclose(got, want)


@pytest.mark.parametrize("name", ["array", "copy", "flatten", "positions", "roll", "triu", "clip"])
def test_copies_are_not_refused(name: str) -> None:
    x = np.arange(1, 10).astype("float32").reshape(3, 3)
    function = base_written(MAKERS[name])
    np.testing.assert_allclose(d2s.to_static(function)(x, 5.0), function(x.copy(), 5.0))


def test_large_arrays_have_views_too() -> None:
    x = np.ones((700, 700), np.float32)
    for make in (
        np.flip,
        np.diagonal,
        lambda y: np.split(y, 7)[1],
        lambda y: np.reshape(y, 490000),
    ):
        with pytest.raises(d2s.StagingError, match="D2S070"):
            d2s.to_static(base_written(make))(x, 5.0)


def calls_of(function: Any, array: Any) -> Any:
    """Results of a function of NumPy's, called in a few ways."""
    for args in ((), (1,), (0, 1), ((3, 3),), ((9,),), (array.copy(),)):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                yield function(array, *args)
            except Exception:  # noqa: S112 - it is not called like this
                continue


def test_the_table_of_views_is_numpys() -> None:
    missing = set()
    for function, name in NAMES.items():
        if refusal(name) is not None or counterpart(name) is None:
            continue
        array = np.arange(9.0).reshape(3, 3)
        for result in calls_of(function, array):
            parts = result if isinstance(result, tuple | list) else [result]
            arrays = [part for part in parts if isinstance(part, np.ndarray) and part.shape]
            if any(np.shares_memory(part, array) for part in arrays) and name not in VIEWING:
                missing.add(name)
    assert not missing


def refused_writes() -> list[Any]:
    return [
        lambda y: np.add(y, 1, out=y),
        lambda y: np.add(y, 1, y),
        lambda y: np.cumsum(y, None, None, y),
        lambda y: y.cumsum(out=y),
        lambda y: y.round(1, y),
        lambda y: np.copyto(y, 1),
        lambda y: np.put(y, [0], 1),
        lambda y: np.place(y, y > 1, 1),
        lambda y: np.putmask(y, y > 1, 1),
        lambda y: np.fill_diagonal(y, 1),
        lambda y: np.add.at(y, [0], 1),
        lambda y: np.add(y, 1, where=y > 1),
        lambda y: np.nan_to_num(y, copy=False),
        lambda y: np.median(y, overwrite_input=True),
        lambda y: y.fill(1),
        lambda y: y.put([0], 1),
        lambda y: y.sort(),
        lambda y: y.partition(1),
        lambda y: y.itemset(1) if hasattr(y, "itemset") else y.put([0], 1),
        lambda y: y.resize(9),
        lambda y: y.byteswap(True),
    ]


@pytest.mark.parametrize("write", refused_writes())
def test_functions_that_write_are_refused(write: Any) -> None:
    def f(x: Any) -> Any:
        y = x * 1
        try:
            write(y)
        except (TypeError, ValueError, AttributeError, NotImplementedError):
            return None
        return y

    with pytest.raises(d2s.Error):
        d2s.to_static(f)(np.arange(9, dtype=np.float32).reshape(3, 3))
