"""Lists, dicts and objects as state: sizes of graphs, texts of errors, what trials leave behind."""

from __future__ import annotations

import functools
import gc

import jax
import jax.numpy as jnp
import pytest

import d2s
from d2s.backends.lax.control.ownership import solely_owned
from d2s.backends.lax.forms import appended
from d2s.backends.lax.forms.trees import Box as Taken
from d2s.backends.lax.trace.boxes import boxed, build


class Box:
    def __init__(self, n):
        self.n = n
        self.log = []


def equations(jaxpr):
    """How many equations a graph has, with those of the graphs inside it."""
    inner = [e for eqn in jaxpr.eqns for e in jax.extend.core.jaxprs_in_params(eqn.params)]
    return len(jaxpr.eqns) + sum(map(equations, inner))


def size(function, *shape):
    return equations(jax.make_jaxpr(d2s.convert(function))(jnp.ones(shape)).jaxpr)


# --- The number of equations ---------------------------------------------------------------------


def stacked(xs):
    items, total = [], 0.0
    for v in xs:
        total = total + v
        items.append(total)
    return jnp.stack(items)


def as_array(xs):
    o = Box(0.0)
    for v in xs:
        o.log.append(v * 2)
        o.log.append(v * 3)
    return jnp.array(o.log[:2]), len(o.log)


def concatenated(xs):
    items = [jnp.zeros(2)]
    for v in xs:
        items.append(jnp.stack([v, v + 1]))
    return jnp.concatenate(items, axis=0), jnp.asarray(items), jnp.stack(items, axis=1)


def of_tuples(xs):
    items = []
    for v in xs:
        items.append((v, {"w": v + 1}))
    return jnp.stack([v for v, _ in items]), jnp.stack([d["w"] for _, d in items]), items[0]


def nested(xs):
    rows, flat = [], []
    for v in xs:
        inner = []
        for w in xs:
            inner.append(v * w)
            flat.append(v - w)
        rows.append(inner)
    return jnp.array(rows), jnp.stack(flat), rows[0][1]


def handed_on(xs):
    def fill(rows):
        items = []
        for v in rows:
            items.append(v)
        return items

    return jnp.stack(fill(xs)), jnp.stack(fill(xs)[1:])


@pytest.mark.parametrize(
    "function", [stacked, as_array, concatenated, of_tuples, nested, handed_on]
)
def test_graphs_do_not_grow_with_the_number_of_trips(function):
    assert size(function, 3) == size(function, 17)


def test_stacking_costs_nothing():
    assert size(stacked, 5) == 2  # the scan, and the sum in it


def test_gradients_go_through_what_was_appended():
    def loss(xs):
        return (stacked(xs) ** 2).sum() + nested(xs)[0].sum()

    xs = jnp.array([1.0, -2.0, 0.5])
    want = jax.grad(loss)(xs)
    for made in (d2s.convert(loss), d2s.to_static(loss), jax.jit(d2s.convert(loss))):
        assert jnp.allclose(jax.grad(made)(xs), want, rtol=1e-5)


def test_rows_are_forgotten_with_their_graph():
    d2s.to_static(stacked)(jnp.ones(4))
    gc.collect()
    assert not appended._rows


def test_a_list_is_a_list():
    def kinds(xs):
        items = []
        for v in xs:
            items.append(v)
        return type(items) is list, isinstance(items[0], jax.Array), items[:1] == [items[0]]

    assert d2s.to_static(kinds)(jnp.ones(3))[:2] == (True, True)


# --- Errors --------------------------------------------------------------------------------------


def grows_in_a_while(n):
    items = []
    while n > 0:
        items.append(n)
        n = n - 1
    return len(items)


def reads_what_it_appends(xs):
    o = Box(0.0)
    for v in xs:
        o.log.append(v)
        o.n = o.n + sum(o.log)
    return o.n


def one_side(x):
    o = Box(x)
    if x > 0:
        o.late = 1.0
    return o.n


def entry_of_two_kinds(x):
    d = {"k": (x, 1.0)}
    if x > 0:
        d["k"] = x
    return x


def other_order(x):
    d = {}
    if x > 0:
        d["a"], d["b"] = x, 1.0
    else:
        d["b"], d["a"] = x, 1.0
    return list(d)


def set_in_a_branch(x):
    o = Box({"seen": set()})
    if x > 0:
        o.n["seen"].add("pos")
    return len(o.n["seen"])


def holds_a_value(x):
    if x > 0:
        f = functools.partial(jnp.add, x * 2)
    else:
        raise ValueError("negative")
    return f(x)


@pytest.mark.parametrize(
    ("function", "argument", "code", "parts"),
    [
        (grows_in_a_while, jnp.int32(2), "D2S074", ["`items`", "items.append(n)", "counter"]),
        (reads_what_it_appends, jnp.ones(2), "D2S076", ["`o.log`", "sum(o.log)", "in a variable"]),
        (one_side, jnp.float32(1), "D2S074", ["the object `o`", "late=1.0", "o.late = 1.0"]),
        (entry_of_two_kinds, jnp.float32(1), "D2S010", ["`d['k']`", "the structures differ"]),
        (other_order, jnp.float32(1), "D2S074", ["the dict `d`", "another order"]),
        (set_in_a_branch, jnp.float32(1), "D2S074", ["`o.n['seen']`", '.add("pos")']),
        (holds_a_value, jnp.float32(1), "D2S013", ["partial", "holds a run-time value"]),
    ],
)
def test_errors_name_the_place_and_the_line(function, argument, code, parts):
    for made in (d2s.to_static(function), jax.jit(d2s.convert(function))):
        with pytest.raises(d2s.Error) as caught:
            made(argument)
        assert caught.value.code == code
        for part in parts:
            assert part in str(caught.value)


# --- What is left behind -------------------------------------------------------------------------


def test_a_loop_that_is_refused_leaves_no_trace():
    o = Box(0.0)
    items = o.log

    def fails(xs):
        for v in xs:
            o.log.append(v)
            if v > 1:
                o.log.append(v)
        return o

    with pytest.raises(d2s.Error):
        jax.jit(lambda xs: d2s.convert(fails)(xs).n)(jnp.ones(3))
    assert o.log is items and items == [] and o.n == 0.0


# --- Who else has it -----------------------------------------------------------------------------


def replaced(x):
    items = [x, 1.0]
    if x > 0:
        items = [1.0, x]
    items.append(2.0)
    return items


def replaced_and_seen(x):
    items = [x, 1.0]
    same = items
    if x > 0:
        items = [1.0, x]
    items.append(2.0)
    return same


def test_what_nobody_else_has_may_be_changed_after_a_branch():
    for made in (d2s.to_static(replaced), jax.jit(d2s.convert(replaced))):
        assert list(map(float, made(jnp.float32(3)))) == [1.0, 3.0, 2.0]
        assert list(map(float, made(jnp.float32(-3)))) == [-3.0, 1.0, 2.0]


def test_what_others_see_may_not():
    for made in (d2s.to_static(replaced_and_seen), jax.jit(d2s.convert(replaced_and_seen))):
        with pytest.raises(d2s.Error) as caught:
            made(jnp.float32(3))
        assert caught.value.code == "D2S077"


def test_ownership_counts_references():
    def asked(block, *state):
        return solely_owned(block, state)

    def block(items):
        return items

    def one():
        items = [[1.0], 2.0]
        items = asked(block, items) == {id(items), id(items[0])}
        return items

    def two():
        items = [[1.0], 2.0]
        same = items
        items = asked(block, items)
        return items == set() and same

    def inside():
        part = [1.0]
        items = [part]
        items = asked(block, items) == {id(items)}
        return items

    assert one() and two() and inside()


# --- Taking apart --------------------------------------------------------------------------------


def test_values_come_back_as_they_were():
    part = Box(1.0)
    value = ({"z": [part, 2.0], "a": part}, part)
    tree = boxed(value)
    assert isinstance(tree[1], Taken) and tree[1].keys == ["n", "log"]
    made = build(tree, lambda leaf: leaf, {})
    assert made[1] is made[0]["a"] is made[0]["z"][0] is not part
    assert list(made[0]) == ["z", "a"] and vars(made[1]) == vars(part)
