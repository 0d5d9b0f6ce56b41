"""Calls that go straight to the graph notice everything that makes them another call."""

from __future__ import annotations

import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.backends.lax.boundary.reader import missed
from d2s.backends.lax.objects.guards import Guard

X = jnp.float32(2.0)
SCALE = 2.0


def settled(function, *args, **options):
    """A static function that has a runner for arguments like these."""
    static = d2s.to_static(function, **options)
    for _ in range(3):
        static(*args)
    assert static.runner is not missed
    return static


def helper(x):
    return x + 1


def scaled(x):
    if x > 0:
        return helper(x) * SCALE
    return x


def test_globals_and_functions_that_change_are_seen(monkeypatch):
    static = settled(scaled, X)
    assert static(X) == 6.0
    monkeypatch.setitem(globals(), "SCALE", 10.0)
    assert [static(X) for _ in range(4)] == [30.0] * 4
    monkeypatch.setitem(globals(), "helper", lambda x: x)
    assert [static(X) for _ in range(4)] == [20.0] * 4
    monkeypatch.undo()
    assert [static(X) for _ in range(4)] == [6.0] * 4
    monkeypatch.setattr(helper, "__code__", (lambda x: x + 2).__code__)
    assert [static(X) for _ in range(4)] == [8.0] * 4


def test_lists_from_outside_are_seen():
    table = [1.0, 2.0]
    static = d2s.to_static(lambda x: x * table[0])
    assert [static(X) for _ in range(4)] == [2.0] * 4
    table[0] = 5.0
    assert [static(X) for _ in range(4)] == [10.0] * 4


def test_variables_of_an_enclosing_function_are_seen():
    factor = 3.0
    static = settled(lambda x: x * factor, X)
    assert static(X) == 6.0
    factor = 4.0
    assert static(X) == static(X) == 8.0


def test_other_arguments_take_another_way():
    static = settled(lambda x: x * 2, X)
    for _ in range(3):
        assert static(3) == 6 and type(static(3)) is not float
        assert static(1.5) == 3.0
        assert (static(np.arange(3)) == np.arange(3) * 2).all()
        assert (static(jnp.arange(4)) == jnp.arange(4) * 2).all()
        assert static([1]) == [1, 1]
        assert static(x=X) == 4.0
        assert static(X) == 4.0
    for wrong in ((), (X, X)):
        with pytest.raises(TypeError, match="positional argument"):
            static(*wrong)
    assert static.cache_info().graphs


def test_failures_come_through_a_runner():
    def root(x):
        assert x >= 0, f"{x} has no root"
        return x**0.5

    static = settled(root, X)
    for _ in range(3):
        with pytest.raises(AssertionError, match=r"-4\.0 has no root"):
            static(jnp.float32(-4.0))
        assert static(jnp.float32(4.0)) == 2.0


def test_exact_integers_come_through_a_runner():
    static = settled(lambda n: n * n, 3)
    for _ in range(3):
        assert static(2**20) == 2**40
        assert static(4) == 16


def test_modes_are_seen(monkeypatch):
    static = settled(lambda x: x + 1, X)
    monkeypatch.setattr(static, "eagerly", lambda x: "eagerly")
    with d2s.mode("eager"):
        assert static(X) == "eagerly"
    static.compile(X)
    assert static(X) == static(X) == 3.0


def test_a_static_function_with_a_runner_inside_another():
    inner = settled(lambda x: x + 1 if x > 0 else x, X)
    outer = settled(lambda x: inner(x) * 2, X)
    assert outer(X) == 6.0
    assert jax.grad(outer)(2.0) == 2.0
    assert list(jax.vmap(outer)(jnp.array([1.0, -1.0]))) == [4.0, -2.0]
    assert jax.grad(inner)(2.0) == 1.0


def test_shapes_that_have_other_graphs():
    def first_or_all(x):
        if x.shape[0] > 2:
            return x * SCALE
        assert x.sum() > 0, "nothing"
        return x

    static = settled(first_or_all, jnp.ones(3))
    for _ in range(3):
        assert static(jnp.ones(2)).shape == (2,)
        with pytest.raises(AssertionError, match="nothing"):
            static(jnp.zeros(2))
        assert static(jnp.ones(3)).sum() == 3 * SCALE


def test_prints_are_printed_each_time(capsys):
    static = d2s.to_static(lambda x: print("x is", x))
    for _ in range(4):
        static(X)
    assert capsys.readouterr().out == "x is 2.0\n" * 4


def test_nothing_as_a_result():
    static = settled(lambda x: None, X)
    assert static(X) is None


class Level:
    k = 3

    @classmethod
    def scaled(cls, x):
        return cls.k * x


def test_attributes_of_classes_that_are_arguments_are_seen():
    static = d2s.to_static(lambda kind, x: kind.k * x)
    paired = d2s.to_static(lambda pair: pair[0].k * pair[1])
    method = d2s.to_static(Level.scaled)

    class Own(Level):
        pass

    for k in (3, 10, 4):
        Level.k = k
        for _ in range(3):
            assert static(Level, X) == static(Own, X) == 2 * k
            assert paired((Own, X)) == method(X) == 2 * k


def test_attributes_of_modules_are_seen_wherever_the_module_is(monkeypatch):
    made = types.ModuleType("a_module_of_its_own")
    made.itself, made.c = made, 4.0
    monkeypatch.setitem(sys.modules, made.__name__, made)
    holder = types.SimpleNamespace(module=made)

    def imports(x):
        import a_module_of_its_own

        return a_module_of_its_own.c * x

    statics = [
        d2s.to_static(imports),
        d2s.to_static(lambda x: made.itself.c * x),
        d2s.to_static(lambda x: holder.module.c * x),
    ]
    for c in (4.0, 6.0, 1.0):
        made.c = c
        assert [static(X) for static in statics for _ in range(3)] == [2 * c] * 9


def test_guards_of_other_names_are_others():
    space = {"one": X, "two": X}
    one, other = (Guard([(space, name, X)], [], []) for name in space)
    assert one != other and one == Guard([(space, "one", X)], [], [])
    space["two"] = None
    assert one.holds() and not other.holds()
