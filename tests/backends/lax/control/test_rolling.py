"""Loops with a known number of trips: what is rolled, what is not; neither changes anything."""

from __future__ import annotations

import logging
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from ....differential.harness import check

X = jnp.float32(0.4)


def equations(function, *args):
    """Names of all equations, and how many values the loops carry."""
    names, carried = [], []

    def collect(jaxpr):
        for equation in jaxpr.eqns:
            names.append(equation.primitive.name.removeprefix("bounded_"))
            if names[-1] in ("while", "scan"):
                carried.append(len(equation.outvars))
            for inner in jax.extend.core.jaxprs_in_params(equation.params):
                collect(inner)

    collect(jax.make_jaxpr(function)(*args).jaxpr)
    return names, carried


def is_rolled(function, *args):
    return "scan" in equations(d2s.convert(function), *args)[0]


# -- rolled ---------------------------------------------------------------------------------------


def index_in_arithmetic(x):
    for i in range(20):
        x = x * 0.9 + i
    return x


def start_and_step(x):
    for i in range(30, 3, -2):
        x = x * 0.5 + i
    return x, i


def counters(x):
    k, down = 3, 100
    for i in range(12):
        x = x * 0.5 + k
        k += 2
        down = down - i * 0 - 7
    return x, k, down


def counted_while(x):
    i = 5
    while i < 40:
        x = x * 0.9 + i
        i += 3
    return x, i


def counted_while_down(x):
    i = 20
    while i != 0:
        x = x * 0.9 + i
        i -= 1
    return x, i


def last_values(x):
    for i in range(10):
        y = x * i
        j = 2 * i + 1
        x = x + 0.1 * y
    return x, y, i, j


def number_of_trips_as_a_shape(x):
    n = 0
    for _ in range(11):
        x = x + 1
        n = n + 1
    return jnp.zeros(n) + x


def number_becomes_array(x):
    total = 0
    for i in range(15):
        total = total + x * i
    return total


def rows_by_index(x):
    a = jnp.arange(20.0) * x
    for i in range(20):
        x = x + a[i] * a[i - 1]
    return x


def nest(x):
    for i in range(10):
        for j in range(12):
            x = x * 0.9 + i * j
    return x


def branch_inside(x):
    for i in range(16):
        if x > 1:
            x = x * 0.5
        else:
            x = x + 0.3 * i
    return x


def divides_by_index(x):
    for i in range(1, 20):
        x = x + 1 / i
    return x


def checked(x):
    for i in range(10):
        if x >= 100:
            raise ValueError(f"too large: {x}")
        x = x + i
    return x


def other_names(x):
    total = x

    def add(v):
        nonlocal total
        total = total + v

    for i in range(10):
        add(x * i)
    return total


def appends(x):
    items = []
    for i in range(12):
        x = x + i
        items.append(x)
    return items


def new_lists(x):
    pair = [x, 0.0]
    for i in range(12):
        pair = [pair[1], pair[0] + i]
    other = pair
    other[0] = 5.0
    return pair, other


def list_in_place(x):
    box = [x, 3]
    same = box
    for i in range(12):
        box[0] = box[0] * 0.5 + i
        box[1] += 1
    same[0] = same[0] + 1
    return box, same is box


def array_in_place(x):
    a = jnp.zeros(12)
    for i in range(12):
        a[i] = x * i
    return a


ROLLED = [
    index_in_arithmetic,
    start_and_step,
    counters,
    counted_while,
    counted_while_down,
    last_values,
    number_of_trips_as_a_shape,
    number_becomes_array,
    rows_by_index,
    nest,
    branch_inside,
    divides_by_index,
    checked,
    other_names,
    appends,
    new_lists,
    list_in_place,
]


@pytest.mark.parametrize("function", ROLLED, ids=lambda f: f.__name__)
def test_rolled(function):
    assert is_rolled(function, X)
    check(function, (X,), (jnp.float32(-2.5),), flavours=("static",))


def test_arrays_that_are_written():
    assert is_rolled(array_in_place, X)
    np.testing.assert_allclose(d2s.to_static(array_in_place)(X), X * np.arange(12), rtol=1e-6)


def test_a_failure_of_a_rolled_loop():
    check(checked, (jnp.float32(0),), (jnp.float32(80),), flavours=("static",))


# -- not rolled -----------------------------------------------------------------------------------


def few_trips(x):
    for i in range(8):
        x = x + i
    return x


def exact_integers(x):
    s = 42
    for _ in range(20):
        s = s * 48271 % 2147483647
        x = x + s % 7
    return x


def sum_of_indices(x):
    total = 0
    for i in range(20):
        total = total + i
        x = x + total
    return x, total


def cube_of_an_index(x):
    for i in range(1300, 1310):
        x = x + i * i * i % 7
    return x


def python_floats(x):
    rate = 1.0
    for _ in range(10):
        rate = rate * 0.9
        x = x * rate
    return x, rate


def index_of_a_list(x):
    weights = [0.1, 0.2] * 6
    for i in range(12):
        x = x + weights[i]
    return x


def key_of_a_dict(x):
    weights = {n: 0.1 * n for n in range(12)}
    for i in range(12):
        x = x + weights[i]
    return x


def shape_by_index(x):
    for i in range(1, 12):
        x = x + jnp.ones(i).sum()
    return x


def flag_of_the_first(x):
    first = True
    for _ in range(12):
        if first:
            x = x * 3
            first = False
        x = x + 1
    return x, first


def appends_numbers(x):
    items = []
    for i in range(12):
        x = x + i
        items.append(i)
    return x, items


def zero_division(x):
    for i in range(12):
        x = x + (1 / i if i else 0.0)
    return x


def division_that_fails(x):
    for i in range(12):
        x = x + 1 / (5 - i)
    return x


def narrow_integers(x):
    small = jnp.int8(1)
    for i in range(120, 140):
        if i < 128:
            x = x + (small * i)
    return x


def shape_that_changes(x):
    for _ in range(10):
        x = x + jnp.ones(3)
    return x


def hidden_state(x):
    calls = iter(range(100))
    for _ in range(12):
        x = x + next(calls)
    return x


def static_break(x):
    for i in range(20):
        if i == 10:
            break
        x = x + i
    return x, i


UNROLLED = [
    few_trips,
    exact_integers,
    sum_of_indices,
    cube_of_an_index,
    python_floats,
    index_of_a_list,
    key_of_a_dict,
    shape_by_index,
    flag_of_the_first,
    appends_numbers,
    zero_division,
    division_that_fails,
    shape_that_changes,
    hidden_state,
    static_break,
]


@pytest.mark.parametrize("function", UNROLLED, ids=lambda f: f.__name__)
def test_not_rolled(function):
    try:
        assert not is_rolled(function, X)
    except ZeroDivisionError:
        assert function is division_that_fails
    check(function, (X,), (jnp.float32(-2.5),), flavours=("static",))


# -- lists ----------------------------------------------------------------------------------------


class Layer(NamedTuple):
    weight: jax.Array
    bias: jax.Array
    name: str = "layer"


def model(x, layers):
    for layer in layers:
        x = jnp.tanh(layer.weight @ x + layer.bias)
    return x


def layers_of(count, size=3):
    keys = jax.random.split(jax.random.key(0), count)
    return [Layer(jax.random.normal(key, (size, size)), jnp.ones(size)) for key in keys]


def applied(layers):
    return lambda x: model(x, layers)


def test_layers_of_one_structure():
    x, layers = jnp.ones(3), layers_of(12)
    assert is_rolled(applied(layers), x)
    check(model, (x, layers), (2 * x, layers), flavours=("static",))

    def loss(f):
        arrays = [layer[:2] for layer in layers]
        return jax.grad(lambda x, a: f(x, [Layer(*pair) for pair in a]).sum(), (0, 1))(x, arrays)

    plain, made = loss(model), loss(d2s.to_static(model))
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, atol=1e-5), plain, made)


def test_layers_that_differ_stay():
    x = jnp.ones(3)
    different = [*layers_of(11), Layer(jnp.ones((3, 3)), jnp.ones(3), "last")]
    assert not is_rolled(applied(different), x)
    assert not is_rolled(applied(layers_of(8)), x)
    mixed = [*layers_of(11), Layer(jnp.ones((3, 3)), jnp.float32(1))]
    assert not is_rolled(applied(mixed), x)
    check(model, (x, mixed), (2 * x, mixed), flavours=("static",))


def changes_its_items(x):
    items = [{"w": x * n} for n in range(12)]
    for item in items:
        item["w"] = item["w"] + 1
        x = x + item["w"]
    return x, items


def test_items_that_are_changed():
    check(changes_its_items, (X,), (2 * X,), flavours=("static",))


# -- the choice -----------------------------------------------------------------------------------


def must_roll(x):
    for i in d2s.roll(range(4)):
        x = x + i
    return x


def must_not_roll(x):
    for i in d2s.unroll(range(20)):
        x = x + i
    return x


def cannot_roll(x):
    s = 42
    for _ in d2s.roll(range(4)):
        s = s * 48271 % 2147483647
        x = x + s
    return x


def rolled_in_a_block(x):
    with d2s.options(loops="roll"):
        for i in range(3):
            x = x + i
    for i in range(3):
        x = x * i
    return x


def rows_one_by_one(x):
    rows = jnp.arange(12.0) * x
    for row in d2s.unroll(rows):
        x = x + row
    return x


def test_choices():
    assert is_rolled(must_roll, X) and not is_rolled(must_not_roll, X)
    assert equations(d2s.convert(rolled_in_a_block), X)[0].count("scan") == 1
    assert not is_rolled(rows_one_by_one, X)
    for function in (must_roll, must_not_roll, rolled_in_a_block, rows_one_by_one):
        check(function, (X,), (2 * X,), flavours=("static",))


def test_what_cannot_be_rolled_says_why():
    with pytest.raises(d2s.StagingError, match="D2S044.*no longer be exact") as caught:
        d2s.to_static(cannot_roll)(X)
    assert "for _ in d2s.roll(range(4)):" in str(caught.value)


def test_settings_are_checked():
    with pytest.raises(d2s.Error, match="max_iterations is 0"):
        d2s.options(max_iterations=0)
    with pytest.raises(d2s.Error, match="loops is 'always'"):
        d2s.options(loops="always")
    assert list(d2s.roll([1, 2])) == [1, 2] and len(d2s.unroll(range(3))) == 3


def long_and_exact(x):
    s = 1
    for _ in range(1001):
        s = s * 3 % 1000003
    for _ in d2s.unroll(range(1001)):
        x = x + s
    return x


def test_the_log_says_what_is_unrolled(caplog):
    with caplog.at_level(logging.INFO, logger="d2s"):
        jax.make_jaxpr(d2s.convert(python_floats))(jnp.ones(4))
    assert "unrolled: a Python number changes in it" in caplog.text
    caplog.clear()
    jax.make_jaxpr(d2s.convert(long_and_exact))(X)
    assert "more than 1000 trips are unrolled" in caplog.text


def nest(x):
    for i in range(30):
        for j in range(40):
            x = x + 1
            print(i, j)
    return x


def while_loop_of_many_trips(x):
    n = 1
    while n < 600:
        n = n + 1 + n // 500 - n // 500
        x = x + n
    n = 1
    while n < 600:
        n = n + 1 + n // 500 - n // 500
        x = x * n
    return x


def python_alone(x):
    n = 0
    while n < 2000:
        n = n + (n % 7) + 1
    return x + n


@pytest.mark.parametrize(
    ("function", "said"), [(nest, 1), (while_loop_of_many_trips, 1), (python_alone, 0)]
)
def test_many_trips_of_all_loops_of_a_graph_are_told_once(function, said, caplog):
    for _ in range(2):
        caplog.clear()
        with caplog.at_level(logging.WARNING, logger="d2s"):
            d2s.to_static(function).jaxpr(jnp.float32(1.0))
        assert caplog.text.count("more than 1000 trips are unrolled") == said


# -- graphs ---------------------------------------------------------------------------------------


def steps(n):
    def function(w, x):
        for i in range(n):
            x = jnp.tanh(w @ x) + i
        return x

    return function


def by_hand(n):
    def body(carry, _):
        i, x, w = carry
        return (i + 1, jnp.tanh(w @ x) + i, w), None

    return lambda w, x: jax.lax.scan(body, (0, x, w), length=n)[0][1]


def test_the_graph_does_not_grow():
    args = jnp.eye(3), jnp.ones(3)
    (ten, carried), (thousand, _) = (equations(d2s.convert(steps(n)), *args) for n in (10, 1000))
    assert ten == thousand
    theirs, carried_by_hand = equations(by_hand(10), *args)
    assert len(ten) <= 1.2 * len(theirs) and sorted(set(ten)) == sorted(set(theirs))
    assert carried[0] <= carried_by_hand[0]
