"""Loops in each other: what is found out about one is not found out again, nor of another one."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.backends.lax.regions import trace

from ....differential.harness import check

X = jnp.float32(1.5)


def traced(function: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many regions are traced while a graph is built."""
    count = 0
    graph_of = trace.graph_of

    def counted(*args: Any) -> Any:
        nonlocal count
        count += 1
        return graph_of(*args)

    monkeypatch.setattr(trace, "graph_of", counted)
    jax.make_jaxpr(d2s.to_static(function))(X)
    monkeypatch.setattr(trace, "graph_of", graph_of)
    return count


def nest(tmp_path: Path, head: str, depth: int) -> Any:
    """A function of loops in each other; the line that opens a block comes first in `head`."""
    text, pad = "def f(x):\n    c = 0\n", "    "
    for k in range(depth):
        first, *lines = head.replace("@", str(k)).splitlines()
        text += "".join(f"{pad}{line}\n" for line in first.split("; "))
        pad += "    "
        text += "".join(f"{pad}{line}\n" for line in lines)
    text += f"{pad}c = c + 1\n{pad}x = x * 1.01 + 1\n    return x, c\n"
    file = tmp_path / f"nest{depth}.py"
    file.write_text(text)
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


LEFT_AND_PRINTED = "for i@ in range(3):\nif x > 1e3 + i@: continue\nprint(i@, c)\nif c > 40: break"
HANDLED = (
    "i@ = 0; while i@ < 3:\ni@ += 1\ntry:\n    if x > 1e3: raise ValueError(i@)\n"
    "except ValueError:\n    x = x - 1\n    continue"
)
NESTS = {
    "left": ("for i@ in range(20):\nif x > 1e3: break", 2),
    "left and printed": (LEFT_AND_PRINTED, 2),
    "printed, and may fail": ("while x < 1e3:\nprint(x)\nassert x < 2e3", 2),
    # three times the trips, three times the graph
    "a few trips": ("i@ = 0; while i@ < 3:\ni@ += 1\nif x > 1e3 + i@: continue", 3.2),
    "a few trips, handled": (HANDLED, 3.2),
}


@pytest.mark.parametrize("name", NESTS)
def test_work_does_not_multiply(name, tmp_path, monkeypatch):
    head, growth = NESTS[name]
    few, more = (traced(nest(tmp_path, head, depth), monkeypatch) for depth in (3, 4))
    assert more <= growth * few


def test_as_plain_python(tmp_path):
    for head, _ in NESTS.values():
        silent = "\n".join(line for line in head.splitlines() if not line.startswith("print"))
        check(nest(tmp_path, silent, 2), X, jnp.float32(1200))


# -- the same loop, on other values ---------------------------------------------------------------


def steps(x, by):
    i = 0
    while i < 3:
        i += 1 if by is None else by(x)
        x = x * 1.1
    return x, i


def known_and_not(x):
    one = steps(x, None)
    two = steps(x, lambda v: jnp.where(v > 0, 1, 2))
    three = steps(x, None)
    return one, two, three


class Limit:
    def __init__(self, most):
        self.most = most


def below(x, limit):
    n = 0
    while n < limit.most:
        n += 1
        x = x + n
    return x, n


def limits_of_objects(x):
    limit = Limit(2)
    one = below(x, limit)
    limit.most = jnp.where(x > 0, 3, 4)
    two = below(x, limit)
    limit.most = 12
    return one, two, below(x, limit)


def halved(x, n):
    while n > 0:  # the first trip looks like the last but one
        x, n = x + n, n // 2
    return x, n


def short_by_guess_alone(x):
    return halved(x, 5), halved(x, 1000), halved(x, 100_000)


def in_containers(x):
    found = []
    for limits in ([1, 2], [1, 20], [1, 2]):
        k = 0
        while k < limits[1]:
            k += limits[0]
            x = x + k
        found.append(k)
    return x, found


def signed_zeros_and_numbers_of_other_types(x):
    found = []
    for start in (0, 0.0, -0.0, False):
        n = start
        while n < 2:
            x = x + n
            n = n + 1
        found.append(n)
    return x, found


def numbers_that_stay(x):
    total = x
    for _ in range(3):
        width = 1
        while total < 50:
            total = total + jnp.ones(width).sum()
            if width > 1e6:
                break
        total = total - 20
    return total


@pytest.mark.parametrize(
    "function",
    [
        known_and_not,
        limits_of_objects,
        short_by_guess_alone,
        in_containers,
        signed_zeros_and_numbers_of_other_types,
        numbers_that_stay,
    ],
)
def test_other_values_are_other_loops(function):
    check(function, X, jnp.float32(-2))


def test_a_long_loop_is_found_behind_a_wrong_guess():
    """A step that gets smaller: the line through the first two points ends it too soon."""

    def slower(x):
        n, step = 100, 30
        while n > 0:
            x = x * 0.99
            n, step = n - step, 1
        return x, n

    graph = jax.make_jaxpr(d2s.to_static(slower))(X)
    assert len(graph.jaxpr.eqns) < 40
    np.testing.assert_allclose(d2s.to_static(slower)(X)[0], slower(X)[0], rtol=1e-5)


class Minds:
    """A manager that would have to see a failure."""

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return kind is ValueError


TABLE = [0, 9, 0]


def test_a_guess_that_fails_is_no_failure():
    """The first step points beyond the table, the next one comes back."""

    def looked_up(x):
        i, step = 0, 2
        with Minds():
            while TABLE[i] < 3:
                x = x * 1.5
                i, step = i + step, -1
        return x, i

    check(looked_up, X, jnp.float32(-2))


class Keyed:
    key = jax.random.key(3)


def test_keys_of_random_numbers():
    def drawn(x):
        i = 0
        while i < 3:
            x = x + jax.random.uniform(Keyed.key)
            i += 1
        return x

    np.testing.assert_allclose(d2s.to_static(drawn)(X), drawn(X), rtol=1e-5)


def test_what_changes_between_two_loops_is_seen():
    """Defaults, attributes of functions and classes, entries of dicts, elements of arrays."""

    def most(limits=[2]):  # noqa: B006
        return limits[0]

    class Kind:
        most = 2

    def changed(x):
        table, row, found = {"most": 2}, np.array([2]), []
        asked = [most, lambda: Kind.most, lambda: table["most"], lambda: int(row[0])]
        for ask in asked:
            for _ in range(2):
                n = 0
                while n < ask():
                    x = x + n
                    n += 1
                found.append(n)
                table["most"], row[0] = 3, 12
        return x, found

    close = d2s.to_static(changed)(X)
    assert close[1] == changed(X)[1]
    np.testing.assert_allclose(close[0], changed(X)[0], rtol=1e-5)
