"""The options of `to_static`: forms, what they do, what is refused."""

from __future__ import annotations

import functools
import pickle

import jax
import jax.numpy as jnp
import pytest

import d2s


def power(x, n, *, flag=False):
    for _ in range(n):
        x = x * 2 if x > 0 else x
    return -x if flag else x


def test_with_and_without_parentheses():
    @d2s.to_static
    def one(x):
        return x if x > 0 else -x

    @d2s.to_static()
    def two(x):
        return x if x > 0 else -x

    @d2s.to_static(checks="nan")
    def three(x):
        return x if x > 0 else -x

    for static in (one, two, three):
        assert isinstance(static, d2s.StaticFunction) and static(-2.0) == 2.0


def test_it_is_idempotent():
    static = d2s.to_static(power)
    assert d2s.to_static(static) is static and d2s.to_static()(static) is static
    other = d2s.to_static(static, checks="nan")
    assert other is not static and other.original is power and other.options.checks == ("nan",)


def test_on_everything_callable():
    class Net:
        scale = 3.0

        @d2s.to_static(checks="nan")
        def method(self, x):
            return x * self.scale if x > 0 else x

        @staticmethod
        @d2s.to_static(checks="nan")
        def plain(x):
            return x + 1 if x > 0 else x

        @d2s.to_static(checks="nan")
        @classmethod
        def of_class(cls, x):
            return x * cls.scale if x > 0 else x

        def __call__(self, x):
            return x * self.scale if x > 0 else x

        def bare(self, x):
            return x * self.scale if x > 0 else x

    net = Net()
    found = [
        net.method(2.0),
        Net.plain(5.0),
        Net.of_class(2.0),
        d2s.to_static(net, checks="nan")(2.0),
        d2s.to_static(net.bare, checks="nan")(2.0),
        d2s.to_static(net.method, checks="nan")(2.0),
        d2s.to_static(lambda x: x * 3.0 if x > 0 else x, checks="nan")(2.0),
    ]
    assert found == [6.0] * 7


def branching(w, x):
    if w.sum() > 0:
        return (w * x).sum()
    return (w * w * x).sum()


WRAPPERS = {
    "jit": jax.jit,
    "grad": jax.grad,
    "value_and_grad": jax.value_and_grad,
    "jacrev": jax.jacrev,
    "checkpoint": jax.checkpoint,
    "vmap": lambda f: jax.vmap(f, in_axes=(0, None)),
    "twice": lambda f: jax.jit(jax.vmap(jax.grad(f), in_axes=(0, None))),
    "of a static function": lambda f: jax.grad(d2s.to_static(f)),
}


@pytest.mark.parametrize("made", [d2s.to_static, d2s.convert])
@pytest.mark.parametrize("name", WRAPPERS)
def test_around_what_jax_has_wrapped(name, made):
    """`jax.jit(jax.grad(loss))` is how people write it."""
    wrap = WRAPPERS[name]
    function = made(wrap(branching))
    rows = name in ("vmap", "twice")
    wrapped = wrap(d2s.convert(branching))
    for sign in (1.0, -1.0):
        w, x = sign * jnp.ones((2, 3) if rows else 3), jnp.arange(3.0)
        got, expected = function(w, x), wrapped(w, x)
        assert all(map(jnp.array_equal, jax.tree.leaves(got), jax.tree.leaves(expected)))


def test_what_jax_has_wrapped_shows_the_function_inside():
    static = d2s.to_static(jax.grad(branching))
    assert "def branching(w, x):" in static.source and "d2s.cond" in static.code
    assert static.explain(jnp.ones(3), jnp.ones(3))[0].became == "lax.cond"
    with pytest.raises(d2s.Error, match="belongs to a library"):
        d2s.to_static(jax.nn.softplus)


@pytest.mark.parametrize("option", [{"static_argnums": 1}, {"static_argnames": "n"}])
def test_static_arguments(option):
    static = d2s.to_static(power, **option)
    assert static(1.0, 3) == 8.0 and static(1.0, 4) == 16.0 and static(1.0, n=2) == 4.0
    assert "while" not in str(static.jaxpr(1.0, 3))


def test_a_static_argument_of_one_value_is_not_another():
    def f(x, y):
        return x / y if y else x

    static = d2s.to_static(f, static_argnums=1)
    assert static(1.0, 1) == 1.0 and static(1.0, True) == 1.0
    assert str(static(1.0, 0.0)) == str(static(1.0, -0.0)) == "1.0"


def test_static_arguments_need_a_hash():
    static = d2s.to_static(power, static_argnums=1)
    with pytest.raises(d2s.Error) as caught:
        static(1.0, jnp.int32(3))
    assert caught.value.code == "D2S030" and "the argument n is static" in caught.value.what
    assert "static_argnames" in caught.value.fix


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"in_shardings": 3}, "in_shardings has 3 in it"),
        ({"in_shardings": (None, "x")}, "in_shardings has 'x' in it"),
        ({"in_shardings": {"q": None}}, "in_shardings: power has no argument 'q'"),
        ({"out_shardings": 3}, "out_shardings has 3 in it"),
        ({"out_shardings": (None, None)}, "out_shardings does not fit what power returns"),
        ({"compiler_options": {"nothing": 1}}, "compiler_options: No such compile option"),
        (
            {"compiler_options": {"xla_cpu_enable_fast_math": "q"}},
            "compiler_options: While setting option",
        ),
    ],
)
def test_layouts_and_compiler_options_that_are_none(given, text):
    """Refused where they are given, or by the first call, with the name of the option."""
    with pytest.raises(d2s.Error, match=text) as caught:
        d2s.to_static(power, **given)(jnp.float32(1.0), 2)
    assert caught.value.code == "D2S033"


def test_a_cache_that_is_no_folder():
    with pytest.raises(d2s.Error, match="set_cache: 3 is no folder") as caught:
        d2s.set_cache(3)
    assert caught.value.code == "D2S033"


def test_donation():
    static = d2s.to_static(lambda x, y: x + y if x.sum() > 0 else x - y, donate_argnums=0)
    x, y = jnp.ones(4), jnp.ones(4)
    assert (static(x, y) == 2).all()
    assert x.is_deleted() and not y.is_deleted()
    named = d2s.to_static(lambda a, b: a + b, donate_argnames="b")
    a, b = jnp.ones(4), jnp.ones(4)
    named(a, b)
    assert b.is_deleted() and not a.is_deleted()


def test_shardings():
    sharding = jax.sharding.SingleDeviceSharding(jax.devices()[0])
    static = d2s.to_static(
        lambda x, y: {"sum": x + y}, in_shardings=(sharding, None), out_shardings=sharding
    )
    assert static(jnp.ones(3), 1.0)["sum"].sharding.is_equivalent_to(sharding, 1)


def test_compiler_options():
    static = d2s.to_static(lambda x: x + 1, compiler_options={"xla_embed_ir_in_executable": True})
    assert static(1.0) == 2.0
    wrong = d2s.to_static(lambda x: x + 1, compiler_options={"no_such_option": True})
    with pytest.raises(Exception, match="no_such_option"):
        wrong(1.0)


def test_the_python_backend():
    static = d2s.to_static(power, backend="python")
    assert type(static(1.0, 3)) is float


@pytest.mark.parametrize(
    "option",
    [
        {"static_argnums": "n"},
        {"static_argnums": 1.5},
        {"checks": 3},
        {"static_argnames": 1},
        {"donate_argnums": [0.5]},
        {"checks": "speed"},
        {"max_iterations": 0},
        {"max_iterations": 2.5},
        {"backend": "torch"},
        {"compiler_options": 3},
        {"static_argnums": 7},
        {"donate_argnames": "nobody"},
    ],
    ids=str,
)
def test_wrong_options(option):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(power, **option)
    assert caught.value.code == "D2S033" and caught.value.fix


def test_an_unknown_option():
    with pytest.raises(TypeError, match="jit_compile"):
        d2s.to_static(power, jit_compile=True)


def test_classes_are_told_what_to_do():
    class Net:
        pass

    with pytest.raises(d2s.Error, match="its methods"):
        d2s.to_static(Net)


checked = d2s.to_static(power, checks="nan")


def test_pickles_keep_their_options():
    copy = pickle.loads(pickle.dumps(checked))
    assert copy.options.checks == ("nan",) and copy(1.0, 2) == 4.0


def test_loops_and_max_iterations_reach_the_graph():
    def repeated(x):
        for _ in range(20):
            x = x * 1.5
        return x

    def halved(x):
        while x > 1:
            x = x / 2
        return x

    x = jnp.float32(1)
    rolled = d2s.to_static(repeated, loops="roll").jaxpr(x)
    unrolled = d2s.to_static(repeated, loops="unroll").jaxpr(x)
    assert "scan" in str(rolled) and "scan" not in str(unrolled)
    assert jax.grad(d2s.to_static(halved, max_iterations=10))(jnp.float32(100)) == 1 / 128


def test_without_checks_a_loop_carries_no_code():
    def guarded(x, n):
        for k in range(n):
            x = x * 0.5 + k
            if x < 0:
                raise ValueError(f"{x} is below")
        try:
            if x > 100:
                raise OverflowError
        except OverflowError:
            x = -x
        return x

    checked, unchecked = d2s.to_static(guarded), d2s.to_static(guarded, checks=False)
    for x, n in ((1.0, 3), (1000.0, 1), (2.0, 0)):
        args = jnp.float32(x), jnp.int32(n)
        assert checked(*args) == unchecked(*args) == guarded(x, n)
    with pytest.raises(ValueError, match="below"):
        checked(jnp.float32(-9), jnp.int32(1))
    assert unchecked(jnp.float32(-9), jnp.int32(1)) == -4.5
    carried = [_carried(static.jaxpr(*args)) for static in (checked, unchecked)]
    assert carried[1] < carried[0]


def _carried(jaxpr):
    (loop,) = [e for e in jaxpr.eqns if "body_jaxpr" in e.params or "body" in e.params]
    return len(loop.outvars)


# -- options of a function inside another, and of decorators around each other ---------------------


@d2s.to_static(max_iterations=3)
def limited(x):
    while x < 1000:
        x = x * 1.5
    return x


@d2s.to_static(checks=False)
def unchecked(x):
    if x < 0:
        raise ValueError("negative")
    return x


@d2s.to_static(loops="unroll")
def unrolled(x):
    for _ in range(20):
        x = x * 1.5 if x > 0 else x
    return x


@d2s.to_static(checks="nan")
def logarithm(x):
    return jnp.log(x)


class Doubling:
    @d2s.to_static(max_iterations=3, static_argnums=2, input_spec=["f32", None])
    def step(self, x, n):
        while x < 1000:
            x = x * n
        return x


INSIDE = {
    "a call": lambda x: limited(x) + 1,
    "a method": lambda x: Doubling().step(x, 2) + 1,
    "an argument": lambda x: list(map(limited, [x]))[0] + 1,
    "vmap": lambda x: jax.vmap(limited)(jnp.stack([x, x])).sum(),
    "a partial": lambda x: functools.partial(limited, x)() + 1,
}


@pytest.mark.parametrize("name", INSIDE)
def test_a_bound_holds_inside_another_graph(name):
    with pytest.raises(d2s.LoopLimit):
        d2s.to_static(INSIDE[name])(jnp.float32(1.0))


def test_a_bound_inside_gives_gradients():
    inner = d2s.to_static(limited, max_iterations=50)
    expected = jax.grad(inner)(1.0)
    assert d2s.to_static(jax.grad(inner))(1.0) == expected
    assert jax.grad(d2s.to_static(lambda x: inner(x) + 1))(1.0) == expected


def test_what_is_around_an_inner_function_stays():
    """Its options are for its part alone, and what it does not say is as around it."""

    def outer(x):
        y = limited(x)
        while x < 1000:
            x = x * 1.5
        return x + y

    with pytest.raises(d2s.LoopLimit, match="max_iterations=3"):
        d2s.to_static(outer)(1.0)
    assert d2s.to_static(outer)(900.0) == 2700.0
    plain = d2s.to_static(limited.original)
    with pytest.raises(d2s.LoopLimit, match="max_iterations=5"):
        d2s.to_static(lambda x: plain(x), max_iterations=5)(1.0)


def test_checks_and_loops_hold_inside_another_graph():
    assert d2s.to_static(lambda x: unchecked(x) + 1)(-1.0) == 0.0

    def other(x):
        if x < 0:
            raise ValueError("negative")
        return unchecked(x)

    with pytest.raises(ValueError, match="negative"):
        d2s.to_static(other)(-1.0)
    asked = d2s.to_static(other, checks=True)
    with pytest.raises(ValueError, match="negative"):
        d2s.to_static(lambda x: asked(x), checks=False)(-1.0)
    assert "scan" not in str(d2s.to_static(lambda x: unrolled(x)).jaxpr(1.0))


def test_a_check_for_nan_is_for_whole_graphs():
    with pytest.raises(d2s.Error, match="does not hold inside the graph of another") as caught:
        d2s.to_static(lambda x: logarithm(x) + 1)(-1.0)
    assert caught.value.code == "D2S033"
    with pytest.raises(d2s.NanFound):
        d2s.to_static(lambda x: logarithm(x) + 1, checks="nan")(-1.0)
    # one that has an option of its own is still a part of it
    with pytest.raises(d2s.NanFound):
        d2s.to_static(lambda x: jnp.log(unchecked(x)), checks="nan")(-1.0)


def test_decorators_around_each_other_add_up():
    twice = d2s.to_static(d2s.to_static(power, checks="nan", static_argnums=1), loops="roll")
    assert twice.original is power and twice.options.checks == ("nan",)
    assert twice.options.loops == "roll" and twice.options.static_argnums == (1,)
    again = d2s.to_static(twice, loops="unroll", checks=True)
    assert again.options.loops == "unroll" and again.options.checks == ()
    assert again.options.static_argnums == (1,)


@pytest.mark.parametrize(
    "made",
    [
        lambda: d2s.to_static(Doubling().step, loops="roll"),
        lambda: d2s.to_static(functools.partial(Doubling().step), loops="roll"),
        lambda: d2s.to_static(functools.partial(Doubling.step, Doubling())),
    ],
)
def test_options_of_what_is_bound_stay(made):
    static = made()
    assert static.options.max_iterations == 3 and static.options.static_argnames == ("n",)
    assert static(600.0, 2) == 1200.0
    with pytest.raises(d2s.LoopLimit):
        static(1.0, 2)
    with pytest.raises(d2s.Error, match="argument x does not fit"):
        static(jnp.ones(2), 2)


def test_options_of_bound_arguments_are_done_with():
    static = d2s.to_static(power, static_argnums=1, input_spec=["f32", None])
    bound = d2s.to_static(functools.partial(static, n=3), max_iterations=7)
    assert bound.options.static_argnames == () and bound.options.input_spec == {"x": "f32"}
    assert bound(1.0) == 8.0
