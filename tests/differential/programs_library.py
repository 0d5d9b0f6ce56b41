"""Programs around library calls on run-time values: builtins, math, operator, functools, NumPy."""

import functools
import itertools
import math
import operator
import random

import jax
import jax.numpy as jnp
import numpy as np

from . import codes
from .harness import case

NAN, INF = math.nan, math.inf


# --- numbers -------------------------------------------------------------------------------------


@case((2.5,), (-2.5,), (0.5,), (3.5,))
def rounded(x):
    return round(x), round(x * 3), round(x, 1), round(x, 0), round(x * 100, -1)


@case((25,), (-35,), (149,), (7,), flavours=("static",))
def rounded_integers(n):
    return round(n), round(n, 1), round(n, -1), round(n, -2), round(n, -12)


@case((25,), (-35,), (149,), (7,), error_ok=codes.KIND)
def rounded_array_integers(n):
    return round(n), round(n, 1), n


@case((NAN,), (INF,), (1.0,), (-INF,))
def integer_of_what_is_no_number(x):
    return int(x)


@case((NAN,), (INF,), (2.5,))
def rounding_of_what_is_no_number(x):
    try:
        return round(x)
    except ValueError:
        return -1
    except OverflowError:
        return -2


@case((7, 3), (-7, 3), (7, -3), (-7, -3))
def quotients(a, b):
    return divmod(a, b), divmod(a * 0.5, b), a // b, a % b, pow(a, 2), pow(a * 1.0, b)


@case((2, 5), (3, 4), error_ok=codes.KIND)
def power_with_a_modulus(a, b):
    return pow(a, b, 7), pow(3, 4, 5)


@case((3.0, -4.0), (-1.0, 0.5))
def complex_numbers(a, b):
    z = complex(a, b)
    return z, abs(z), z.real, z.imag, abs(a), complex(a), z * z


@case((1, True), (0, False))
def bools_in_arithmetic(n, flag):
    p = n > 0
    return int(p), float(p), sum([p, n == 1]), bool(n), bool(p), abs(bool(n)), round(bool(n))


@case((1,), (0,), error_ok=codes.KIND)
def size_of_a_bool(n):
    return abs(n > 0)


@case((3.7,), (-3.7,))
def chains_of_casts(x):
    return float(int(x)) + int(float(x)), bool(int(x)), int(bool(x)), int(x) // 2, float(round(x))


# --- what kind of number -------------------------------------------------------------------------


@case((2.0, 3), (2, 3.0), (1.5, 2), flavours=("static", "traced"))
def kinds_of_arguments(x, n):
    if isinstance(n, int) and type(x) is float:
        return x * n
    if isinstance(x, (int, float)):
        return x - 1.0
    return -1.0 * n


@case((2.5, 3), (-1.5, 4))
def kinds_of_results(x, n):
    a = isinstance(int(x), int), isinstance(float(n), float), type(float(x)) is float
    b = isinstance(math.floor(x), int), isinstance(math.sin(x), float), isinstance(n > 1, str)
    c = isinstance(math.isnan(x), bool), isinstance(len([x]), int), type(int(x)) is bool
    return a, b, c, x


@case((jnp.array([1.0, 2.0]),), (jnp.array([3.0, 4.0]),))
def kinds_of_arrays(x):
    y = x * 2
    return isinstance(y, jax.Array), isinstance(y, float), type(x) is type(y), hasattr(y, "shape")


@case((2, 1.0), (3, 2.0), error_ok=codes.KIND)
def kind_of_a_computed_number(n, x):
    m = n + 1
    return m * 2 if isinstance(m, int) else x


@case((2, 1.0), (3, 2.0), flavours=("static",))
def attributes_of_numbers(n, x):
    return hasattr(n, "shape"), getattr(n, "dtype", None), hasattr(x, "is_integer"), n + x


@case((2.0,), (3.0,))
def kinds_in_a_branch(x):
    if x > 2.5:
        return x * 2 if isinstance(x, (float, jax.Array)) else -x
    return x if not isinstance(x, str) else -x


# --- collections ---------------------------------------------------------------------------------


@case((3.0, 1.0), (1.0, 2.0), (2.0, 2.0))
def extremes_by_key(a, b):
    best = max([a, b, 1.5], key=lambda v: (v - 1.5) * (v - 1.5))
    return best, min([a, b], key=lambda v: -v), min([], default=7), max([a], default=b)


@case((3.0, 1.0), (1.0, 2.0), (2.0, 2.0))
def extremes_of_pairs(a, b):
    return max([(a, 1), (b, 2)], key=lambda p: p[0]), min((b, 5.0), (a, 6.0), key=lambda p: p[1])


@case((NAN, 1.0), (1.0, NAN), (2.0, 1.0))
def extremes_with_a_nan(a, b):
    return max(a, b), min(a, b), max([b, a, 0.0]), min([0.0, b, a])


@case((jnp.array([3.0, 1.0, 2.0]),), (jnp.array([NAN, 1.0, 2.0]),), (jnp.array([1.0, NAN, 5.0]),))
def extremes_of_an_array(x):
    return max(x), min(x), max(x, default=0), max(x, key=lambda v: -v if v > 1 else v)


@case((jnp.array([3, 1, 2]),), (jnp.array([-3, 1, 5]),), (jnp.array([0, 0, 0]),))
def reductions_of_an_array(x):
    return sum(x), sum(x, 10), any(x > 1), all(x > 0), max(x), min(x), sum(x > 1), sum(x * 0.5, 1)


@case((jnp.zeros((0,)),), (jnp.zeros((0,)),))
def reductions_of_an_empty_array(x):
    return sum(x), sum(x, 2.0), any(x), all(x), max(x, default=3), sorted(x), list(map(abs, x))


@case((jnp.zeros((0,)),), (jnp.zeros((0,)),))
def largest_of_nothing(x):
    try:
        return max(x)
    except ValueError:
        return -1.0


@case((jnp.array([[1.0, 2.0], [3.0, 4.0]]),), (jnp.array([[0.0, 2.0], [0.0, 4.0]]),))
def sum_of_rows(x):
    return sum(x), sum(x, jnp.ones(2)), sum(row.sum() for row in x), sum([row[0] for row in x], 1)


@case((3, 1, 2), (1, 2, 3), (2, 2, 2), vmap=True)
def sorts(a, b, c):
    return sorted([a, b, c]), sorted([a, b, c], reverse=True), sorted((c, a, 2, b))


@case((3.0, 1.0, 2.0), (1.0, 2.0, 3.0), (2.0, 1.0, 2.0), grad=True)
def sorts_floats(a, b, c):
    low, middle, high = sorted([a, b, c])
    return low + 2 * middle + 3 * high


@case((3, 1, 2), (1, 2, 3), (2, 2, 2))
def sort_is_stable(a, b, c):
    pairs = [(a, 0), (b, 1), (c, 2)]
    return (
        sorted(pairs, key=lambda p: p[0]),
        sorted(pairs, key=lambda p: p[0], reverse=True),
        sorted(pairs, key=lambda p: (p[0] % 2, -p[1])),
        sorted(pairs),
    )


@case((3, 1, 2), (1, 2, 3))
def sorts_in_place(a, b, c):
    items = [a, b, c]
    same = items
    items.sort(key=lambda v: -v)
    return same, items is same


@case((3.0, 1.0), (1.0, 2.0))
def sorts_by_known_keys(a, b):
    return sorted([(2, a), (1, b)], key=lambda p: p[0]), sorted([a, b], key=lambda v: 0)


@case((3.0, "x"), (1.0, "y"), error_ok=codes.KEYED)
def sorts_texts_by_run_time_keys(a, s):
    return sorted([(a, s), (2.0, "two")], key=lambda p: p[0])


@case((3.0, NAN, 1.0), (1.0, 2.0, 0.0), error_ok=codes.KEYED)
def sorts_with_a_nan(a, b, c):
    return sorted([a, b, c])


@case(([3.0, -1.0, 2.0],), ([-1.0, -2.0, 3.0],), flavours=("static", "traced"))
def maps(items):
    a = list(map(abs, items)), list(map(int, items)), list(map(math.floor, items))
    return a, list(map(max, items, [0, 0, 0])), [*map(round, items)], sum(map(abs, items))


@case(([3.0, -1.0],), ([-1.0, -2.0],), flavours=("static", "traced"), error_ok=codes.TRUTH)
def filters(items):
    return list(filter(None, [0, 1, 2])), list(filter(lambda v: v > 0, items))


@case(([3, -1, 2],), ([-1, -2, 3],), flavours=("static", "traced"))
def reduces(items):
    return (
        functools.reduce(max, items),
        functools.reduce(operator.add, items, 1),
        functools.reduce(math.gcd, items),
        list(itertools.accumulate(items, max)),
        list(itertools.accumulate(items, operator.mul)),
    )


@case((3, [1, 2]), (4, [5, 6]), flavours=("static", "traced"))
def iteration_helpers(n, items):
    total = n
    for i, (a, b) in enumerate(zip(items, reversed(items)), start=n):
        total = total + i * a - b
    return total, list(zip(items, items)), len(items), list(range(len(items)))


@case((3,), (0,))
def quantifiers_of_generators(n):
    items = [n, 2, 1]
    return any(v > 2 for v in items), all(v > 0 for v in items), sum(v * v for v in items)


# --- operator ------------------------------------------------------------------------------------


@case((7, 2), (-7, 3))
def operators(a, b):
    return (
        operator.add(a, b),
        operator.floordiv(a, b),
        operator.mod(a, b),
        operator.truediv(a, b),
        operator.neg(a),
        operator.abs(a),
        operator.lt(a, b),
        operator.pow(a * 1.0, b),
        operator.iadd(a, b),
        operator.imul(a, b),
    )


@case((0, 2), (5, 0))
def operators_for_truth(a, b):
    return operator.truth(a), operator.not_(b), operator.not_(a > b), operator.index(a) + 1


@case((7, 2), (-7, 3))
def getters(a, b):
    row = jnp.stack([jnp.asarray(a), jnp.asarray(b)])
    pair = operator.itemgetter(1, 0)((a, b))
    shape = operator.attrgetter("shape")(row)
    return pair, operator.itemgetter(0)(row), operator.methodcaller("sum")(row), shape


@case(([1, 2], 3), ([4, 5], 6), flavours=("static", "traced"))
def operators_change_lists(items, n):
    other = [n]
    same = other
    operator.iadd(other, items)
    operator.setitem(other, 0, n + 1)
    return same, other is same


# --- math ----------------------------------------------------------------------------------------


@case((0.5,), (-0.25,), (0.0,), vmap=True)
def math_of_floats(x):
    return (
        [math.sin(x), math.cos(x), math.tan(x), math.asin(x), math.acos(x), math.atan(x)],
        [math.sinh(x), math.cosh(x), math.tanh(x), math.asinh(x), math.atanh(x)],
        [math.exp(x), math.expm1(x), math.exp2(x), math.log1p(x), math.cbrt(x), math.fabs(x)],
        [math.erf(x), math.erfc(x), math.degrees(x), math.radians(x)],
    )


@case((0.5,), (4.0,), (1.5,))
def math_of_positive_floats(x):
    a = math.sqrt(x), math.log(x), math.log2(x), math.log10(x), math.log(x, 3), math.pow(x, 1.5)
    return a, math.gamma(x), math.lgamma(x), math.acosh(x + 1), math.hypot(x, 2.0)


@case((2.5, 2.0), (-2.5, 2.0), (7.0, -2.0), (5.0, 2.0), (-3.0, 0.75))
def math_of_two(x, y):
    return (
        math.atan2(x, y),
        math.fmod(x, y),
        math.remainder(x, y),
        math.copysign(x, y),
        math.hypot(x, y, 1.0),
        math.dist((x, 1.0), (0.0, y)),
        math.isclose(x, y),
        math.isclose(x, x + 1e-3, rel_tol=0.01),
        math.modf(x),
        math.frexp(x),
    )


@case((2.5,), (-2.5,), (3.0,), (-0.0,))
def math_to_integers(x):
    return math.floor(x), math.ceil(x), math.floor(x) // 2


@case((2.5,), (-2.5,), (3.0,))
def math_truncates(x):
    return math.trunc(x)


@case((12, 18), (7, 5), (0, 4), (9, 3))
def math_of_integers(a, b):
    return (
        math.gcd(a, b),
        math.lcm(a, b, 2),
        math.gcd(),
        math.factorial(b % 10),
        math.isqrt(a),
        math.floor(a),
        math.prod([a, b], start=2),
        math.sqrt(a),
    )


@case((2147483647,), (0,), (46340 * 46340,), (46340 * 46340 - 1,))
def integer_root(n):
    return math.isqrt(n)


@case((5,), (13,), (20,), error_ok=codes.OVERFLOW)
def large_factorial(n):
    return math.factorial(n)


@case((NAN,), (INF,), (1.0,), (-INF,))
def math_asks(x):
    return math.isnan(x), math.isinf(x), math.isfinite(x), x if math.isnan(x) else 0.0


@case(([0.5, 1.5],), ([2.5, -1.0],), flavours=("static", "traced"))
def math_of_lists(items):
    sums = math.fsum(items), math.fsum(v for v in items)
    return (
        sums,
        math.prod(items),
        math.prod(items, start=2),
        math.dist(items, [0.0, 0.0]),
        math.hypot(*items),
    )


@case((-1.0,), (4.0,), (0.0,))
def root(x):
    return math.sqrt(x)


@case((0.0,), (4.0,), (-1.0,))
def logarithm(x):
    return math.log(x)


@case((1000.0,), (1.0,), (-1000.0,), (INF,))
def exponential(x):
    return math.exp(x)


@case((2.0, 1.0), (2.0, 10.0), (2.0, -1.0), (0.0, 3.0))
def logarithm_to_a_base(x, base):
    return math.log(x, base)


@case((-8.0, 0.5), (0.0, -1.0), (10.0, 400.0), (2.0, 3.0), (0.0, 0.0), (-2.0, 3.0))
def float_power(x, y):
    return math.pow(x, y)


@case((1.0, 0.0), (INF, 1.0), (5.0, 3.0), (5.0, INF))
def rest_of_a_division(x, y):
    return math.fmod(x, y), math.remainder(x, y)


@case((NAN,), (INF,), (2.5,))
def floor_of_what_is_no_number(x):
    return math.floor(x)


@case((0.0,), (-2.0,), (3.0,), (200.0,))
def gamma_function(x):
    return math.gamma(x)


@case((-1,), (3,))
def factorial_of_a_negative(n):
    return math.factorial(n)


@case((2.5,), (3,), flavours=("static",))
def factorial_of_a_float(x):
    return math.factorial(x)


@case((-1.0,), (4.0,), (9.0,))
def catches_a_domain_error(x):
    try:
        y = math.sqrt(x)
    except ValueError as error:
        y = float(len(str(error)))
    return y


@case(([4.0, 9.0, -1.0, 16.0],), ([1.0, 4.0, 9.0, 16.0],), flavours=("static",))
def domain_error_in_a_loop(items):
    total = 0.0
    for v in jnp.array(items):
        total = total + math.sqrt(v)
    return total


@case((4.0, 3), (2.0, 0))
def math_in_a_loop(x, n):
    for _ in range(n):
        x = math.sqrt(x) + math.floor(x)
    return x


@case((0.5,), (0.25,), error_ok=codes.KIND)
def math_without_a_counterpart(x):
    return math.ulp(x), math.nextafter(x, 1.0), math.ldexp(x, 2)


# --- NumPy ---------------------------------------------------------------------------------------

VECTORS = (jnp.array([1.0, -2.0, 3.0]),), (jnp.array([0.5, 4.0, -1.0]),)


@case(*VECTORS)
def numpy_elementwise(x):
    y = np.sin(x) + np.cos(x) * np.exp(x) - np.tanh(x) + np.abs(x) + np.square(x)
    return y + np.maximum(x, 0.5) + np.minimum(x, [1, 2, 3]) + np.where(x > 0, x, 0.0)


@case(*VECTORS)
def numpy_reductions(x):
    m = np.stack([x, x * 2])
    a = np.sum(x), np.mean(x), np.std(x), np.var(x, ddof=1), np.max(x), np.min(x), np.prod(x)
    b = np.sum(m, axis=0), np.mean(m, axis=1, keepdims=True), np.argmax(x), np.argmin(m, axis=1)
    c = np.any(x > 2), np.all(x > -5), np.median(x), np.cumsum(x), np.ptp(x), np.linalg.norm(x)
    return a, b, c, np.sum([x[0], 2.0]), np.max([x, x + 1], axis=0), np.count_nonzero(x > 0)


@case(*VECTORS)
def numpy_shapes(x):
    a = np.concatenate([x, x]), np.vstack([x, x]), np.hstack((x, x)), np.stack([x, x], axis=1)
    b = np.reshape(x, (3, 1)), np.expand_dims(x, 0), np.transpose(np.outer(x, x)), np.flip(x)
    c = np.zeros_like(x), np.ones_like(x), np.full_like(x, 2), np.tile(x, 2), np.roll(x, 1)
    d = np.shape(x), np.ndim(x), np.size(x), np.pad(x, (1, 1)), np.repeat(x, 2), np.diff(x)
    return a, b, c, d, np.split(np.append(x, x), 2), np.broadcast_to(x, (2, 3)), np.ravel([x, x])


@case(*VECTORS)
def numpy_orders(x):
    return (
        np.sort(x),
        np.argsort(x),
        np.sort(x, kind="stable")[::-1],
        np.clip(x, 0, 1),
        np.clip(x, a_min=None, a_max=0.5),
        np.searchsorted([0.0, 1.0, 2.0], x),
        np.round(x * 1.234, 1),
        np.around(x),
        np.sign(x),
    )


@case(*VECTORS)
def numpy_algebra(x):
    m = np.outer(x, x) + np.eye(3) * 10
    a = np.dot(x, x), m @ x, np.matmul(m, x), np.einsum("ij,j->i", m, x), np.trace(m)
    b = np.linalg.inv(m), np.linalg.solve(m, x), np.linalg.det(m), np.linalg.cholesky(m)
    return (
        a,
        b,
        np.cross(x, m[0]),
        np.tensordot(m, x, axes=1),
        np.kron(x, x),
        np.diag(m),
        np.triu(m),
        np.interp(0.5, [0.0, 1.0], x[:2]),
    )


@case((2.0, 3), (-1.0, 5))
def numpy_of_numbers(x, n):
    a = np.sin(x), np.add(n, 1), np.sqrt(abs(x)), np.float32(x), np.int32(n), np.float64(n)
    return (
        a,
        np.array([x, n]),
        np.asarray(x, dtype=float),
        np.array([[x, 1], [n, 2.5]]),
        np.full(2, x),
        np.linspace(0, x, 3),
        np.isnan(x),
        np.maximum(x, n),
        np.asarray([n, 1], dtype=np.int64),
    )


@case((2.0,), (3.0,))
def numpy_with_known_arguments(x):
    table = np.arange(6).reshape(2, 3)
    return (
        x * table.sum() + np.sin(1.0),
        np.unique([1, 1, 2]),
        np.nonzero([0, 1]),
        table,
        np.cov(table).shape,
    )


@case(*VECTORS)
def numpy_methods_of_ufuncs(x):
    return np.add.reduce(x), np.multiply.outer(x, x), np.add.accumulate(x), np.maximum.reduce(x)


@case(*VECTORS, error_ok=codes.NUMPY)
def numpy_changes_in_place(x):
    y = np.array(x)
    np.copyto(y, x * 2)
    return y


@case(*VECTORS, error_ok=codes.NUMPY)
def numpy_with_out(x):
    y = np.zeros(3)
    np.add(x, 1, out=y)
    return y


@case(*VECTORS, error_ok=codes.NUMPY)
def numpy_unique(x):
    return np.unique(x)


@case(*VECTORS, error_ok=codes.NUMPY)
def numpy_nonzero(x):
    return np.where(x > 0)


@case(*VECTORS, error_ok=codes.NUMPY)
def numpy_with_where(x):
    return np.add(x, 1, where=x > 0, out=None)[x > 0]


@case((jnp.eye(2),), (jnp.ones((2, 2)),), (jnp.array([[4.0, 1.0], [1.0, 3.0]]),))
def numpy_singular(m):
    return np.linalg.inv(m)


@case((jnp.eye(2),), (-jnp.eye(2),))
def numpy_not_definite(m):
    try:
        return np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        return m * 0


@case((2.5,), (-1.5,), error_ok=codes.NUMPY)
def numpy_text(x):
    return np.array2string(np.asarray(x))


@case(*VECTORS)
def numpy_takes_functions(x):
    def f(v):
        return v * 2 if v > 0 else -v

    return np.vectorize(f)(x), np.apply_along_axis(lambda row: row.sum(), 0, np.stack([x, x]))


@case((jnp.array([3, 1, 2]),), (jnp.array([1, 1, 5]),))
def methods_of_arrays(x):
    a = x.copy(), x.tolist(), x.sum().item(), x.astype(float), x.item(0), (x > 1).tolist()
    return a, x.max(), x.reshape(3, 1), x.argsort(), [v + 1 for v in x.tolist()], x.mean()


@case((jnp.array([3, 1, 2]),), (jnp.array([1, 1, 5]),), error_ok=codes.NUMPY)
def sorts_an_array(x):
    y = x.sort()
    return y


@case((jnp.array([1.0, 2.0, 9.0, 10.0]), 3), (jnp.array([0.0, 4.0, 9.0, 1.0]), 2))
def clusters(x, n):
    low, high = np.min(x), np.max(x)
    for _ in range(n):
        near = np.abs(x - low) < np.abs(x - high)
        low = np.sum(np.where(near, x, 0)) / np.maximum(np.sum(near), 1)
        high = np.sum(np.where(near, 0, x)) / np.maximum(np.sum(~near), 1)
    return low, high


# --- what a graph cannot repeat ------------------------------------------------------------------


@case((1.0,), (2.0,), error_ok=codes.EFFECT, flavours=("static",))
def draws_a_number(x):
    return x * 0 + (random.random() >= 0) + (np.random.default_rng(0).normal() > -9)


@case((1.0, 2.0), (5.0, -2.0))
def sorts_by_what_is_known(x, y):
    named = {"b": x, "a": y, "c": x + y}
    rows = [(2, "p", x), (1, "q", y), (2, "o", y)]
    return sorted(named.items()), max(rows), min(rows, key=lambda row: row[:2] + (row[2],))
