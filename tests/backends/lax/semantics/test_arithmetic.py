"""Python numbers keep Python's results and errors; arrays keep JAX's."""

import copy
import operator

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv),
    *(operator.mod, divmod, operator.lshift, operator.rshift, operator.and_, operator.or_),
    *(operator.xor, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
#: one graph for each pair of kinds; the whole grid is in tests/trust
PAIRS = [(7, 2), (7, 0), (7, -2), (-1.5, 0.0), (2.5, -1.5), (3, 2.5), (True, False), (1j, 0)]


def outcome(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return error


def check(plain, *calls):
    static = d2s.to_static(plain)
    for args in calls:
        want, got = outcome(plain, *args), outcome(static, *args)
        if isinstance(want, Exception):
            assert type(got) is type(want), (args, want, got)
            assert got.args == want.args
        else:
            assert not isinstance(got, Exception), (args, want, got)
            assert jax.tree.structure(got) == jax.tree.structure(want)
            for a, b in zip(jax.tree.leaves(want), jax.tree.leaves(got), strict=True):
                assert np.asarray(a).dtype.kind == np.asarray(b).dtype.kind, (args, a, b)
                np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=str(args))


def use(op):
    """A function with a source of its own that applies an operator."""

    def apply(a, b):
        return op(a, b)

    return apply


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_operators_are_pythons_on_python_numbers(op):
    check(use(op), *PAIRS)


def test_operators_are_jaxs_where_an_array_is():
    def divide(a, b):
        return a / b, b / a, a // b, (a > 1) + (b > 0)

    check(divide, (jnp.float32(1), 0), (jnp.asarray(1.0), 0), (jnp.asarray(2.0), jnp.asarray(0.0)))


def test_a_weak_array_is_no_python_number():
    def divide(n):
        return jnp.asarray(n) / 0.0, jnp.sin(n) / 0, n / 2

    check(divide, (1.0,), (2.0,))


@pytest.mark.parametrize(
    ("base", "exponent"),
    [(2.0, 3), (0.0, -1.0), (0.0, -1), (0, -1), (2, -2), (-4.0, 2.0), (10.0, 400.0), (2.0, 0.5)]
    + [(0.5, -2000.0), (0j, -1), (1j, 2), (True, 2), (2.5, True), (float("inf"), 2.0)],
)
def test_powers(base, exponent):
    def power(a, b):
        return a**b

    check(power, (base, exponent))
    check(lambda a: a**exponent, (base,))


def test_a_power_that_is_complex_in_python():
    def root(x):
        return x**0.5

    assert d2s.to_static(root)(-4.0) == root(-4.0)  # computed again with the number as it is

    def of_sum(xs):
        total = 0.0
        for x in xs:
            total = total - float(x)
        return total**0.5

    with pytest.raises(d2s.NumberInDoubt, match="D2S045"):
        d2s.to_static(of_sum)(jnp.ones(3))


def test_arithmetic_with_bools_is_arithmetic_with_integers():
    def count(a, b, c):
        return (a < b) + (b < c), -(a < b), ~(b < c), (a < b) * 3, +(a < b), abs(a < b)

    check(count, (1, 2, 3), (3, 2, 1), (1.0, 2.0, 0.5))

    def truths(x, y):
        return (not x) + (not y), any([x > 0, y > 0]) + 1, (x in (1, 2)) + (y in (1, 2))

    check(truths, (1, 0), (jnp.int32(1), jnp.int32(2)), (jnp.int32(0), jnp.int32(0)))


def test_errors_in_branches_loops_and_handlers():
    def mean(xs, least):
        count, total = 0, 0.0
        for x in xs:
            if x > least:
                count, total = count + 1, total + 2.0
        return total / count

    check(mean, ([1.0, 2.0], 0.0), ([1.0, 2.0], 5.0))

    def caught(a, b):
        try:
            return a // b
        except ZeroDivisionError as error:
            return a - 1 if a > 0 else len(str(error))

    check(caught, (7, 2), (7, 0), (-7, 0), (7.0, 0.0))

    def guarded(a, b):
        if b != 0:
            return a % b
        return -1

    check(guarded, (7, 3), (7, 0))

    def halving(n, d):
        steps = 0
        while n > 1:
            n = n // d
            d = d - 1
            steps += 1
        return steps

    check(halving, (9, 3), (1000, 2))

    class Error(Exception):
        pass

    def order(a, b):
        first = a / b
        if a > 0:
            raise Error("later")
        return first

    check(order, (1.0, 0.0), (1.0, 2.0), (-1.0, 2.0))


def test_a_divisor_that_is_never_zero_costs_nothing():
    def harmonic(n, x):
        total = 0.0
        for i in range(n):
            total += x / (i + 1)
        for i in range(2, 20):
            total += x / i + x / 3
        return total

    text = str(d2s.to_static(harmonic).jaxpr(10, 2.0))
    assert "eq" not in text.split()
    check(harmonic, (10, 2.0), (0, 1.0))


def test_a_number_in_doubt():
    def ratio(xs, n):
        total = 0.0
        while n > 3:
            total, n = total + xs[0], n - 1
        return total / n

    static = d2s.to_static(ratio)
    assert static(jnp.ones(2), jnp.int32(5)) == ratio(jnp.ones(2), jnp.int32(5))

    def either(xs, n, k):
        total, count = 0.0, 0
        while n > 3:
            total, n = total + xs[0], n - 1
        while k > 0:
            count, k = count + 1, k - 1
        return total / count

    static = d2s.to_static(either)
    assert float(static(jnp.ones(2), jnp.int32(5), jnp.int32(4))) == 0.5
    with pytest.raises(d2s.NumberInDoubt, match=r"D2S045[^\n]*ZeroDivisionError"):
        static(jnp.ones(2), jnp.int32(5), jnp.int32(0))

    def flags(x, n):
        flag = False
        while n > 0:
            flag, n = x[0] > n, n - 1
        return flag + flag

    with pytest.raises(d2s.StagingError, match="D2S020"):
        d2s.to_static(flags)(jnp.ones(2), jnp.int32(3))


def test_what_a_value_is_in_python_is_known_through_everything():
    def kinds(n, x, xs):
        if n > 2:
            n, y = n + 1, n * 0.5
        else:
            n, y = n - 1, 2.0
        for i in range(n):
            y = y + i
        items = [n, n + 1]
        assert type(n) is int and type(y) is float and type(items[n % 2]) is int
        assert isinstance(n > 2, bool) and isinstance(not x[0], bool)
        assert isinstance(x[0] > 2, jax.Array) and isinstance(jnp.sin(n), jax.Array)
        assert isinstance(abs(n), int) and isinstance(max(n, 2), int) and isinstance(-y, float)
        assert isinstance(divmod(n, 2)[1], int) and isinstance(y * x[0], jax.Array)
        assert type(sum([n, 1])) is int and type(n / 2) is float and type(n + 1j) is complex
        assert type(copy.deepcopy([n])[0]) is int and isinstance(copy.copy(x), jax.Array)
        total = 0.0
        for v in xs:
            total = total + v
        assert isinstance(total, jax.Array)
        grown = []
        for i in range(12):
            grown.append(n * i)
        assert isinstance(grown[3], int)
        return n, y

    check(kinds, (3, jnp.ones(2), jnp.ones(3)), (1, jnp.zeros(2), jnp.ones(3)))


def test_gradients_know_no_division_by_zero():
    def slope(x, n):
        return jax.grad(lambda v: v * n / (v - v))(x) + n

    static = d2s.to_static(slope)
    assert np.isnan(static(1.0, 2)) and np.isnan(slope(1.0, 2))
    assert jax.grad(d2s.to_static(lambda x: 1 / x))(2.0) == -0.25


def test_only_the_number_that_is_needed_becomes_static():
    def zeros(rate, n, k):
        return np.zeros(n) * rate + k, list(range(n)), 2 ** (n + 1)

    static = d2s.to_static(zeros)
    for rate, k in ((0.1, 1), (0.2, 2), (0.3, 3)):
        want, got = zeros(rate, 3, k), static(rate, 3, k)
        np.testing.assert_allclose(want[0], got[0], rtol=1e-6)
        assert want[1:] == got[1:]
    assert len(static.cache_info().graphs) == 1


class Meter:
    def __init__(self, weak):
        self.count, self.total, self.weak = 0, 0.0, weak

    def add(self, x):
        if x > 0:
            self.count, self.total = self.count + 1, self.total + 2.0
        assert isinstance(self.count, int) and isinstance(self.weak, jax.Array)
        self.weak = self.weak / 0
        return self.total / self.count


def test_numbers_that_calls_leave_in_objects_stay_numbers():
    plain, static = Meter(jnp.asarray(1.0)), Meter(jnp.asarray(1.0))
    add = d2s.to_static(static.add)
    for x in (-1.0, -2.0, 3.0, -1.0, 4.0):
        want, got = outcome(plain.add, x), outcome(add, x)
        assert type(want) is type(got) if isinstance(want, Exception) else want == got
        assert (plain.count, plain.total) == (static.count, static.total)
