"""What can be seen of a static function: code, graphs, costs, values inside."""

from __future__ import annotations

import collections
import copy
import functools
import inspect
import pickle
import types
import typing

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s


@d2s.to_static
def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def loss(w, x):
    for row in x:
        w = jnp.tanh(w * row)
    if w.sum() > 0:
        w = w * 2
    return w.sum()


SEVEN = jnp.int32(7)


def test_texts():
    assert collatz.source.startswith("def collatz(n):\n    steps = 0\n    while n != 1:")
    assert "d2s.while_loop(test_" in collatz.code
    assert collatz.original.__name__ == "collatz"
    assert d2s.to_static(loss).original is loss


def test_jaxpr():
    jaxpr = collatz.jaxpr(SEVEN)
    names = [equation.primitive.name for equation in jaxpr.jaxpr.eqns]
    assert names == ["while"]
    assert [str(aval) for aval in jaxpr.in_avals] == ["int32[]"]


def test_hlo():
    assert "stablehlo.while" in collatz.hlo(SEVEN)
    assert collatz.hlo(SEVEN, optimized=True).startswith("HloModule")
    assert "stablehlo" in collatz.lower(SEVEN).as_text()


def test_cost():
    cost = d2s.to_static(lambda x: x @ x).cost(jnp.ones((64, 64)))
    assert cost.flops and cost.flops >= 64**3
    assert cost.arguments == cost.outputs == 64 * 64 * 4
    assert "flops" in str(cost) and "temporaries" in str(cost)


def test_compile_ahead_of_time():
    static = d2s.to_static(loss)
    w, x = jnp.ones(2), jnp.ones((3, 2))
    compiled = static.compile(w, x)
    assert compiled.as_text().startswith("HloModule")
    before = len(static.cache_info())
    assert before == 1
    assert np.isclose(static(w, x), loss(w, x))
    assert len(static.cache_info()) == before, "the graph is not built again"
    # other types, and transformations, go the ordinary way
    assert np.isclose(static(jnp.ones(3), jnp.ones((2, 3))), loss(jnp.ones(3), jnp.ones((2, 3))))
    assert np.allclose(jax.grad(static)(w, x), jax.grad(d2s.convert(loss))(w, x))
    batch = jax.vmap(static, in_axes=(0, None))(jnp.ones((4, 2)), x)
    assert np.allclose(batch, loss(w, x))


def test_weak_types_are_not_compiled_away():
    static = d2s.to_static(lambda x: x * 2 if x > 0 else x)
    static.compile(jnp.float32(1.0))
    assert static(jnp.asarray(1.0)).weak_type == d2s.to_static(static.original)(1.0).weak_type


def test_specifications_stand_for_arrays():
    static = d2s.to_static(loss)
    struct = jax.ShapeDtypeStruct((2,), jnp.float32)
    by_spec = static.jaxpr(struct, d2s.spec("f32[3, 2]"))
    assert str(by_spec) == str(static.jaxpr(jnp.ones(2), jnp.ones((3, 2))))
    assert static.compile(struct, d2s.spec("f32[3, 2]"))
    assert static.explain(d2s.spec("f32[n]"), d2s.spec("f32[3, n]"))[0].became == (
        "lax.scan(length=3)"
    )
    w, x = jnp.ones(2), jnp.ones((3, 2))
    assert np.isclose(static(w, x), loss(w, x))


def test_the_backward_graph():
    jaxpr = d2s.to_static(loss).grad_jaxpr(jnp.ones(2), jnp.ones((3, 2)))
    names = [equation.primitive.name for equation in jaxpr.jaxpr.eqns]
    assert "scan" in names and "cond" in names and "tanh" not in names
    assert [aval.shape for aval in jaxpr.out_avals] == [(2,), (3, 2)]
    with pytest.raises(d2s.Error, match="no argument of collatz is a float"):
        collatz.grad_jaxpr(SEVEN)


def test_looking_runs_nothing():
    def f(x):
        if x < 0:
            raise ValueError("negative")
        return x

    static = d2s.to_static(f)
    for look in (static.jaxpr, static.hlo, static.cost, static.explain, static.lower):
        look(-1.0)
    with pytest.raises(ValueError, match="negative"):
        static(-1.0)


def test_errors_while_looking_are_the_same():
    static = d2s.to_static(lambda x: "a" if x > 0 else "b")
    with pytest.raises(d2s.StagingError) as caught:
        static.jaxpr(jnp.float32(1.0))
    assert caught.value.code == "D2S013"


def test_numbers_whose_value_is_needed():
    static = d2s.to_static(lambda n: jnp.zeros(n))
    assert static.jaxpr(3).out_avals[0].shape == (3,)
    assert static.explain(3) is not None and static.cost(3).outputs == 12


class Net:
    scale = 2.0

    def __init__(self, w=3.0):
        self.w = jnp.float32(w)

    @d2s.to_static
    def run(self, x):
        """Scaled."""
        y = x * self.w if x > 0 else x
        return y

    @d2s.to_static(input_spec=["f32[3]"])
    def total(self, x):
        return x.sum() * self.w

    @d2s.to_static
    @classmethod
    def scaled(cls, x):
        return x * cls.scale if x > 0 else x


def test_methods():
    x, net = jnp.float32(2.0), Net()
    assert "cond" in str(net.run.jaxpr(x)) and "cond" in str(Net.run.jaxpr(net, x))
    assert "stablehlo.case" in net.run.hlo(x) and "HloModule" in net.run.hlo(x, optimized=True)
    assert net.run.cost(x).flops and net.run.lower(x).as_text()
    assert "cond" in str(net.run.grad_jaxpr(x))
    assert net.run.explain(x)[0].became == "lax.cond" and len(d2s.explain(net.run, x)) == 1
    net.run.compile(x)
    assert net.run.watch("y")(x)["y"] == [6.0]
    assert net.run(x) == 6.0 and len(net.run.cache_info()) == 1
    assert "def run(self, x):" in net.run.source and "d2s.cond" in net.run.code
    assert net.run.original(x) == 6.0 and net.run.options is Net.run.options


def test_methods_of_modules():
    """Equinox makes bound methods of its own; `d2s` takes them for what they are."""

    class Module(eqx.Module):
        w: jax.Array

        @d2s.to_static(checks="nan")
        def __call__(self, x):
            y = x * self.w if x > 0 else x
            return y

        @d2s.to_static
        def step(self, x):
            y = x * self.w if x > 0 else x
            return y

    module, x = Module(jnp.float32(3.0)), jnp.float32(2.0)
    assert module.step(x) == module(x) == 6.0
    assert d2s.explain(module.step, x)[0].became == "lax.cond"
    assert d2s.to_static(module.step).watch("y")(x)["y"] == [6.0]
    static = d2s.to_static(module)
    assert static(x) == 6.0 and static.options.checks == ("nan",)
    assert d2s.convert(module)(2.0) == 6.0 and "d2s.cond" in d2s.to_code(module)


def test_methods_of_classes():
    x = jnp.float32(2.0)
    assert Net.scaled(x) == Net().scaled(x) == 4.0
    assert "cond" in str(Net.scaled.jaxpr(x)) and Net.scaled.explain(x)[0].became == "lax.cond"


def test_the_specification_of_a_method_stands_for_its_arguments():
    assert Net().total.jaxpr().in_avals[-1].shape == (3,)


def test_a_bound_static_function_is_a_method():
    net = Net()
    assert isinstance(net.run, types.MethodType) and inspect.ismethod(net.run)
    assert str(inspect.signature(net.run)) == "(x)" and net.run.__doc__ == "Scaled."
    assert net.run == net.run and net.run != Net().run and len({net.run, net.run}) == 1
    assert {"jaxpr", "explain", "watch", "code"} <= set(dir(net.run))
    assert net.run.__name__ == "run" and repr(net.run).startswith("<static Net.run of <")
    copied = copy.deepcopy(net.run)
    assert copied.__self__ is not net and copied(1.0) == 3.0
    assert pickle.loads(pickle.dumps(net.run))(1.0) == 3.0
    assert d2s.to_static(net.run) == net.run
    checked = d2s.to_static(net.run, checks="nan")
    assert checked(1.0) == 3.0 and checked.options.checks == ("nan",)


def test_bound_static_functions_inside_static_functions():
    @d2s.to_static
    def twice(step, x):
        held = [step, step]
        return held[1](held[0](x)), step

    one, other = Net(1.0), Net(5.0)
    for net in (one, other, one):
        value, step = twice(net.run, jnp.float32(2.0))
        assert value == net.run.original(net.run.original(2.0)) and step == net.run
    one.w = jnp.float32(7.0)
    assert twice(one.run, jnp.float32(1.0))[0] == 49.0
    assert len(twice.cache_info()) == 1


def test_there_is_no_graph_on_the_python_backend():
    static = d2s.to_static(lambda x: x, backend="python")
    assert "lambda x: x" in static.source
    with pytest.raises(AttributeError, match="there is no graph"):
        static.jaxpr(1.0)


# -- why graphs are built -------------------------------------------------------------------------

SETTING = {"scale": "large"}


def test_reasons():
    def f(x, kind, n):
        y = x * 2 if SETTING["scale"] == "large" else x
        return y if kind == "a" else y + jnp.zeros(n).sum()

    static = d2s.to_static(f)
    assert len(static.cache_info()) == 0
    static(jnp.ones(2), "a", 3)
    static(jnp.ones(2), "a", 4)
    static(jnp.ones(3), "a", 3)
    static(jnp.ones(3), "b", 3)
    SETTING["scale"] = "small"
    try:
        static(jnp.ones(3), "a", 3)
    finally:
        SETTING["scale"] = "large"
    info = static.cache_info()
    reasons = [graph.reason for graph in info.graphs]
    assert reasons[0] == "the first call"
    assert reasons[1] == "another type: x: float32[2] became float32[3]"
    assert reasons[2].startswith("another static value: kind: 'a' became 'b'")
    assert any("the value of a Python number is needed" in reason for reason in reasons)
    assert any("changed" in reason or "'large' became 'small'" in reason for reason in reasons)
    name = static.function.__qualname__
    assert str(info).startswith(f"{name}: {len(reasons)} graphs built\n1. (")


def test_graphs_can_be_forgotten():
    @d2s.to_static
    def f(x):
        return x + 1

    assert f(1.0) == f(1.0) == 2.0 and len(f.cache_info()) == 1
    f.clear_cache()
    assert len(f.cache_info()) == 0
    assert f(1.0) == 2.0
    assert [graph.reason for graph in f.cache_info().graphs] == ["the first call"]


def test_reasons_name_the_argument():
    @d2s.to_static
    def f(first, *rest, scale=1.0, **named):
        return first["x"] * scale + sum(rest) + sum(named.values())

    x = jnp.ones(2)
    calls = [
        (({"x": x},), {}),
        (({"x": x, "y": 1.0},), {}),
        (({"x": x}, x), {}),
        (({"x": x}, jnp.ones(1)), {}),
        (({"x": x}, 2.0), {}),
        (({"x": x},), {"scale": x, "other": x}),
        (({"x": x},), {"scale": x, "other": 2.0}),
    ]
    for args, kwargs in calls:
        f(*args, **kwargs)
    reasons = [graph.reason for graph in f.cache_info().graphs]
    assert reasons[1] == "first: a dict with other entries"
    assert reasons[3] == "another type: rest[0]: float32[2] became float32[1]"
    assert reasons[4] == "another kind: rest[0]: an array became a Python float"
    assert reasons[6] == "another kind: other: an array became a Python float"


TEXT, NUMBERS = "a", {"k": 2}


class Kind:
    name = "a"


def helper(x):
    return x + 1


def other_helper(x):
    return x + 2


def reads_names(x):
    y = x if TEXT == "a" else -x
    return helper(y) * NUMBERS["k"] if Kind.name == "a" else y


def test_reasons_name_what_is_read(monkeypatch):
    static = d2s.to_static(reads_names)
    x = jnp.ones(2)

    def reason():
        static(x)
        return static.cache_info().graphs[-1].reason

    assert reason() == "the first call"
    monkeypatch.setitem(globals(), "TEXT", "b")
    assert reason() == "another static value: TEXT: 'a' became 'b'"
    monkeypatch.setitem(NUMBERS, "k", 3)
    assert reason() == "another kind: NUMBERS['k']: 2 became a number that changes"
    monkeypatch.setattr(Kind, "name", "b")
    assert reason() == "another static value: Kind.name: 'a' became 'b'"
    monkeypatch.setattr(Kind, "name", "a")
    reason()
    monkeypatch.setitem(globals(), "helper", other_helper)
    assert reason() == "helper has changed"


def test_reasons_name_variables_and_attributes():
    mode = "a"

    class Net:
        def __init__(self):
            self.kind, self.parts, self.w = "a", [1, {"q": 2}], jnp.ones(2)

        @d2s.to_static
        def run(self, x):
            y = x * self.w if self.kind == "a" else x * self.parts[1]["q"]
            return y if mode == "a" else -y

    net, x = Net(), jnp.ones(2)

    def reason():
        net.run(x)
        return net.run.cache_info().graphs[-1].reason

    assert reason() == "the first call"
    net.kind = "b"
    assert reason() == "another static value: self.kind: 'a' became 'b'"
    net.parts[1]["q"] = 5
    assert reason() == "another kind: self.parts[1]['q']: 2 became a number that changes"
    net.w = jnp.ones((3, 2))
    assert reason() == "another type: self.w: float32[2] became float32[3,2]"
    mode = "b"
    assert reason() == "another static value: mode: 'a' became 'b'"


def test_reasons_name_the_arguments_of_other_calls():
    @d2s.to_static
    def f(x, n=2, flag=True, *, scale=1.0):
        return x * n if flag else x * scale

    x = jnp.ones(2)
    for args, kwargs in [((x,), {}), ((x, 3), {}), ((np.ones(2),), {}), ((x,), {"scale": 4})]:
        f(*args, **kwargs)
    assert [graph.reason for graph in f.cache_info().graphs[1:]] == [
        "other arguments are given: (x) became (x, n)",
        "another kind: x: a JAX array became a NumPy array",
        "other arguments are given: (x) became (x, scale=)",
    ]


class Pair(typing.NamedTuple):
    one: object
    two: object


class Slotted:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


def scale(self, x):
    return x * self.value


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda v: [1.0, v], "o[1]"),
        (lambda v: {"k": (v,)}, "o['k'][0]"),
        (lambda v: collections.defaultdict(list, {3: v}), "o[3]"),
        (lambda v: collections.deque([0.0, v]), "o[1]"),
        (lambda v: Pair(1.0, v), "o.two"),
        (lambda v: [{1, 2}, Slotted(v)], "o[1].value"),
        (lambda v: [types.MethodType(scale, Slotted(1.0)), v], "o[1]"),
        (lambda v: functools.partial(scale, v), "o.args[0]"),
        (lambda v: {Slotted(1.0): v}, "o[value 0]"),
    ],
)
def test_reasons_find_their_way(made, name):
    f = d2s.to_static(lambda o, x: x)
    f(made("a"), 1.0)
    f(made("b"), 1.0)
    assert f.cache_info().graphs[1].reason == f"another static value: {name}: 'a' became 'b'"


# -- values inside --------------------------------------------------------------------------------


def test_watching():
    history = collatz.watch("n", "steps")(SEVEN)
    assert history.value == 16
    assert history["n"][:4] == [7, 22, 11, 34] and history["n"][-1] == 1
    assert history["steps"] == list(range(17))
    lines = {seen.line for seen in history.seen if seen.name == "n"}
    first = collatz.original.__code__.co_firstlineno
    assert lines == {first + 1, first + 5, first + 7}
    assert str(history).endswith("returned 16")


def test_each_call_has_its_own_history():
    watched = collatz.watch("n")
    first, second = watched(jnp.int32(2)), watched(jnp.int32(4))
    assert (first["n"], second["n"]) == ([2, 1], [4, 2, 1])


def test_the_order_is_that_of_the_program():
    def f(x):
        a = x
        for i in range(3):
            b = a * i
            if b > 1:
                a = a + b
        return a

    assert [(s.name, float(s.value)) for s in d2s.to_static(f).watch("a", "b", "i")(2.0).seen] == [
        ("a", 2), ("i", 0), ("b", 0), ("i", 1), ("b", 2), ("a", 4), ("i", 2), ("b", 8), ("a", 12),
    ]  # fmt: skip


def test_containers_and_python_values():
    def f(x):
        pair = (x, "text", 3)
        return pair[0]

    assert d2s.to_static(f).watch("pair")(jnp.ones(2))["pair"][0][1:] == ("text", 3)


def test_all_ways_to_assign():
    def f(x):
        a, (b, *c) = x, (x + 1, x + 2)
        a += 1
        d: float = 2.0
        e = (g := x * 3)
        with open_nothing() as h:
            pass
        return a

    history = d2s.to_static(f).watch("a", "b", "c", "d", "g", "h")(1.0)
    assert history["a"] == [1, 2] and history["b"] == [2] and history["d"] == [2.0]
    assert history["g"] == [3] and history["h"] == [5] and history["c"] == [[3]]


class open_nothing:
    def __enter__(self):
        return 5

    def __exit__(self, *_):
        return None


def test_what_a_failed_call_saw():
    def f(x):
        y = x * 2
        if y > 3:
            raise ValueError("too much")
        return y

    watched = d2s.to_static(f).watch("y")
    with pytest.raises(ValueError, match="too much"):
        watched(2.0)
    assert watched.last["y"] == [4.0]


def test_watching_eagerly():
    with d2s.mode("eager"):
        assert collatz.watch("n")(4)["n"] == [4, 2, 1]


def test_watching_methods():
    class Net:
        def run(self, x):
            y = x * 2
            return y

    net = Net()
    assert d2s.to_static(net.run).watch("y")(1.0)["y"] == [2.0]
    assert d2s.to_static(Net.run).watch("y")(net, 1.0)["y"] == [2.0]


def test_what_cannot_be_watched():
    with pytest.raises(d2s.Error, match="takes names"):
        collatz.watch(3)
    with pytest.raises(d2s.Error, match="a lambda has no statements"):
        d2s.to_static(lambda x: x + 1).watch("x")
    with pytest.raises(d2s.Error, match="is inside a wrapper"):
        d2s.to_static(jax.grad(loss)).watch("w")


@pytest.mark.parametrize("given", [d2s.spec("i32"), jax.ShapeDtypeStruct((), jnp.int32)])
def test_a_specification_is_no_array(given):
    assert collatz.jaxpr(given) is not None
    with pytest.raises(d2s.Error) as caught:
        collatz(given)
    assert caught.value.code == "D2S030" and "collatz(given)" in str(caught.value)


def test_names_that_are_not_there():
    with pytest.raises(d2s.Error, match=r"assigns no variable 'step'(.|\n)*'steps'"):
        collatz.watch("step")
    with pytest.raises(d2s.Error, match="takes names"):
        collatz.watch()


# -- NaN ------------------------------------------------------------------------------------------


def nan_in_a_loop(x):
    for _ in range(3):
        if x > -5:
            x = jnp.sqrt(x - 1.0)  # here
    return x


def nan_in_a_while(x):
    while x < 3:
        x = x + 1
        x = x + jnp.log(x - 3.5) * 0  # here
    return x


def nan_in_a_call(x):
    return nan_in_a_loop(x) + 1


@pytest.mark.parametrize("function", [nan_in_a_loop, nan_in_a_while, nan_in_a_call])
def test_the_line_that_made_a_nan(function):
    static = d2s.to_static(function, checks="nan")
    for _ in range(2):
        with pytest.raises(d2s.NanFound) as caught:
            static(jnp.float32(2.5))
        assert caught.value.code == "D2S050" and isinstance(caught.value, FloatingPointError)
        assert caught.value.site.text.endswith("# here")


def test_no_nan_no_error():
    static = d2s.to_static(nan_in_a_loop, checks="nan")
    assert static(jnp.float32(100.0)) == d2s.to_static(nan_in_a_loop)(jnp.float32(100.0))
    assert np.isfinite(jax.grad(static)(jnp.float32(100.0)))


@pytest.mark.parametrize("around", [jax.vmap, jax.jit, lambda f: jax.jit(jax.vmap(f)), jax.grad])
def test_a_nan_inside_a_transformation(around):
    """Under `jax.jit` the error is JAX's, with the message in it."""
    static = d2s.to_static(lambda x: jnp.log(x), checks="nan")
    good, bad = jnp.array([1.0, 2.0]), jnp.array([1.0, -1.0])
    if around is jax.grad:
        good, bad = good[0], bad[1]
    assert jnp.isfinite(around(static)(good)).all()
    with pytest.raises(Exception, match="`log` made a NaN"):
        jax.block_until_ready(around(static)(bad))
        jax.effects_barrier()


@pytest.mark.parametrize("x", [jnp.array([1.0, jnp.nan]), float("nan")])
def test_a_nan_that_was_there_before(x):
    with pytest.raises(d2s.NanFound, match="`mul` gave a NaN; there is one in the input already"):
        d2s.to_static(lambda x: x * 2, checks="nan")(x)


def test_a_nan_that_a_branch_does_not_make():
    def f(x):
        return jnp.sqrt(x) if x > 0 else 0.0

    assert d2s.to_static(f, checks="nan")(jnp.float32(-1.0)) == 0.0


# -- functions that print -------------------------------------------------------------------------


def test_a_function_that_prints(capsys):
    def f(x):
        if x > 0:
            print("positive", x)
            x = x + 1
        return x

    static = d2s.to_static(f)
    assert "print" in str(static.jaxpr(1.0))
    assert [row.became for row in static.explain(1.0)] == ["lax.cond"]
    assert static.explain(1.0).title.endswith("f(float32[] (Python number))")
    assert static.compile(1.0) is not None and static.cost(1.0).outputs
    assert capsys.readouterr().out == "", "looking prints nothing"
    assert static(1.0) == 2.0 and static(2.0) == 3.0
    assert static.watch("x")(1.0)["x"] == [1.0, 2.0]
    assert capsys.readouterr().out == "positive 1.0\npositive 2.0\npositive 1.0\n"
