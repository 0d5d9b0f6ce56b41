"""Builtins, `math` and NumPy on run-time values: refusals, gradients, the graphs they take."""

from __future__ import annotations

import datetime
import math
import os
import random
import re
import secrets
import time
import uuid
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.backends.lax.library import math_calls, numpy_calls
from d2s.backends.lax.library.math_calls import MATH
from d2s.backends.lax.library.numpy_calls import NAMES, counterpart, refusal

from ....differential.harness import check

X = jnp.array([1.0, -2.0, 3.0])


def refused(function, *args, code):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(function)(*args)
    assert caught.value.code == code
    assert "Write instead: " in str(caught.value)
    assert caught.value.site.filename == __file__
    return str(caught.value)


# -- what a graph cannot repeat --------------------------------------------------------------------

RNG = np.random.default_rng(0)
OWN = random.Random(0)

DRAWS = {
    "random": lambda x: x * random.random(),
    "shuffle": lambda x: random.shuffle([x]),
    "own generator": lambda x: x * OWN.gauss(0, 1),
    "new generator": lambda x: x * random.Random(0).random(),
    "numpy": lambda x: x * np.random.rand(),
    "numpy seed": lambda x: np.random.seed(0),
    "numpy generator": lambda x: x * RNG.normal(),
    "new numpy generator": lambda x: x * np.random.default_rng(0).normal(),
    "urandom": lambda x: x * len(os.urandom(2)),
    "secrets": lambda x: x * secrets.randbelow(3),
}
EFFECTS = {
    "time": lambda x: x * time.time(),
    "sleep": lambda x: time.sleep(0),
    "now": lambda x: x * datetime.datetime.now().year,
    "today": lambda x: x * datetime.date.today().year,
    "uuid": lambda x: x * uuid.uuid4().int,
    "input": lambda x: input(),
    "open": lambda x: open("nothing"),
    "save": lambda x: np.save("nothing", x),
}


@pytest.mark.parametrize("name", DRAWS)
def test_random_numbers_are_refused_with_the_way_of_jax(name):
    assert "jax.random" in refused(DRAWS[name], X, code="D2S023")


@pytest.mark.parametrize("name", EFFECTS)
def test_what_the_world_gives_is_refused(name):
    text = refused(EFFECTS[name], X, code="D2S023")
    assert "would run only while the graph is built" in text


def dates(x):
    return x * datetime.datetime(2020, 1, 2).year + datetime.timedelta(days=2).days


def test_dates_that_are_written_down_are_plain_values():
    check(dates, (1.0,), (2.0,))


# -- refusals --------------------------------------------------------------------------------------

REFUSED = {
    "unique": (lambda x: np.unique(x), "D2S020", "size=n"),
    "nonzero": (lambda x: np.nonzero(x), "D2S020", "size=n"),
    "where": (lambda x: np.where(x > 0), "D2S020", "jnp.where(condition, x, y)"),
    "bincount": (lambda x: np.bincount(x.astype(int)), "D2S020", "length=n"),
    "arange": (lambda x: np.arange(x[0]), "D2S020", "Python numbers"),
    "zeros": (lambda x: np.zeros(x[0].astype(int)), "D2S020", "Python numbers"),
    "copyto": (lambda x: np.copyto(x, x), "D2S072", "x.at[...].set"),
    "out": (lambda x: np.add(x, 1, out=np.zeros(3)), "D2S072", "x = np.add"),
    "at": (lambda x: np.add.at(x, [0], 1), "D2S072", "x.at[indices].add"),
    "sort": (lambda x: x.sort(), "D2S072", "x = jnp.sort(x)"),
    "where of ufunc": (lambda x: np.add(x, 1, where=x > 0), "D2S021", "jnp.add"),
    "eig": (lambda x: np.linalg.eig(np.outer(x, x)), "D2S021", "jnp.linalg.eig"),
    "text": (lambda x: np.array2string(x), "D2S021", "outside"),
    "other result": (lambda x: np.conjugate(x > 0), "D2S021", "jax.numpy"),
    "no counterpart": (lambda x: np.shares_memory(x, x), "D2S021", "jax.numpy"),
    "comb": (lambda x: math.comb(x[0].astype(int), 2), "D2S020", "product"),
    "ulp": (lambda x: math.ulp(x[0]), "D2S020", "jnp.spacing"),
    "filter": (lambda x: list(filter(lambda v: v > 0, x)), "D2S020", "jnp.where"),
    "items that stay": (lambda x: [v for v in x if v > 0], "D2S020", "a loop with an `if`"),
    "summed ones": (lambda x: sum(1 for v in x if 0 < 1 and not v > 0), "D2S020", "else 0 for v"),
    "mask": (lambda x: x[0].astype(int) & 0xFFFFFFFF, "D2S040", "jax_enable_x64"),
    "modulus": (lambda x: pow(x[0].astype(int), 2, 5), "D2S020", "loop"),
    "objects": (lambda x: sorted(["a", "b"], key=lambda s: x[s == "a"]), "D2S020", "jnp.argsort"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    function, code, fix = REFUSED[name]
    assert fix in refused(function, X, code=code)


def smallest_first(x):
    return sorted([x[0], x[1], x[2]])


def test_a_nan_among_sorted_values_is_an_error_of_the_call():
    static = d2s.to_static(smallest_first)
    assert [float(v) for v in static(X)] == [-2.0, 1.0, 3.0]
    with pytest.raises(d2s.Error, match="NaN"):
        static(X.at[1].set(jnp.nan))
    assert [float(v) for v in static(-X)] == [-3.0, -1.0, 2.0]


def nan_is_not_caught(x):
    try:
        return sorted([x, 1.0])
    except TypeError:
        return [x, x]


def test_no_handler_sees_the_errors_of_d2s():
    with pytest.raises(d2s.Error, match="NaN"):
        d2s.to_static(nan_is_not_caught)(jnp.float32(jnp.nan))


# -- errors as NumPy raises them -------------------------------------------------------------------


def mismatched(x):
    return np.add(x, np.ones(2))


def wrong_axis(x):
    return np.sum(x, axis=2)


@pytest.mark.parametrize("function", [mismatched, wrong_axis])
def test_shapes_that_do_not_fit_fail_as_in_numpy(function):
    check(function, (np.ones(3, np.float32),), (np.zeros(3, np.float32),))


# -- graphs ----------------------------------------------------------------------------------------


def typed(x, n):
    if isinstance(n, int) and type(x) is float:
        return x * n
    return -1.0


def test_the_kind_of_a_number_does_not_make_it_static():
    static = d2s.to_static(typed)
    assert [float(static(float(k), k)) for k in range(1, 5)] == [1.0, 4.0, 9.0, 16.0]
    (entry,) = static._entries.values()
    assert not entry.needed
    assert static(2, 2.0) == -1.0


def weak_array(n):
    return 1 if isinstance(n, int) else 0


def test_an_array_of_a_weak_type_is_no_python_number():
    assert jnp.asarray(3).weak_type
    static = d2s.to_static(weak_array)
    assert (static(3), static(jnp.asarray(3)), static(jnp.int32(3))) == (1, 0, 0)


# -- gradients, which plain Python does not have here ----------------------------------------------


def by_math(x):
    return math.sqrt(x) + math.log(x, 3) * math.sin(x) + math.hypot(x, 2.0) + math.pow(x, 1.5)


def by_jax(x):
    root = jnp.sqrt(x) + jnp.log(x) / jnp.log(3.0) * jnp.sin(x)
    return root + jnp.hypot(x, 2.0) + jnp.power(x, 1.5)


def by_numpy(x):
    return np.sum(np.where(x > 0, np.sin(x), np.exp(x))) + np.linalg.norm(x) + max(x) + sum(x)


def by_jax_numpy(x):
    return (
        jnp.sum(jnp.where(x > 0, jnp.sin(x), jnp.exp(x))) + jnp.linalg.norm(x) + x.max() + x.sum()
    )


@pytest.mark.parametrize("wrap", [d2s.convert, d2s.to_static])
def test_gradients(wrap):
    for function, own, at in ((by_math, by_jax, 2.5), (by_numpy, by_jax_numpy, X)):
        got, want = jax.grad(wrap(function))(at), jax.grad(own)(at)
        np.testing.assert_allclose(got, want, rtol=1e-5)


KNOWN = jnp.asarray(4), jnp.asarray(3)


def known_order(x):
    largest = max(*KNOWN)
    return x * largest + sorted(KNOWN)[0] + min(KNOWN, key=lambda v: -v)


def test_known_arrays_are_ordered_while_the_graph_is_built():
    assert jax.grad(lambda x: d2s.convert(known_order)(x))(1.5) == 4.0
    assert jax.jit(d2s.convert(known_order))(2.0) == known_order(2.0)


def test_mapped():
    values = jnp.array([1.0, 2.0, 4.0])
    got = jax.vmap(d2s.to_static(by_math))(values)
    np.testing.assert_allclose(got, [by_math(float(v)) for v in values], rtol=1e-5)


# -- tables ----------------------------------------------------------------------------------------


def test_every_function_of_math_is_decided():
    functions = {f for f in vars(math).values() if callable(f) and not isinstance(f, type)}
    assert functions == set(MATH)


def test_functions_of_numpy_are_known_by_themselves():
    assert {"sum", "sin", "linalg.norm", "fft.fft"} <= set(NAMES.values())
    for function, name in (
        (np.abs, "absolute"),
        (np.amax, "amax"),
        (np.linalg.norm, "linalg.norm"),
    ):
        assert NAMES[function] == name
        assert counterpart(name) is not None
        assert refusal(name) is None


def listed(mark):
    text = (Path(__file__).parents[4] / "docs" / "library.md").read_text()
    found = re.search(rf"<!-- {mark} -->(.*?)<!-- /{mark} -->", text, re.DOTALL)
    return set(re.findall(r"`([^`]+)`", found[1]))


def test_the_document_lists_what_is_refused():
    assert listed("math-given") == set(math_calls.GIVEN)
    assert listed("math-refused") == set(math_calls.REFUSED)
    assert listed("numpy-shapes") == set(numpy_calls.SHAPES)
    assert listed("numpy-in-place") == set(numpy_calls.IN_PLACE)
    assert listed("numpy-refused") == set(numpy_calls.REFUSED)


def test_a_negative_power_of_a_python_integer_is_a_float():
    static = d2s.to_static(lambda n: n**-1 + (n + 1) ** -2)
    assert [float(static(n)) for n in (1, 3)] == pytest.approx([1.25, 1 / 3 + 1 / 16])
