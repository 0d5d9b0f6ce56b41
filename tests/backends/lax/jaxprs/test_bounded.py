"""The bounded loop against a scan, in every mode of differentiation."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.core import check_jaxpr
from jax.extend.core import jaxprs_in_params
from jax.interpreters.partial_eval import dce_jaxpr

from d2s.backends.lax.jaxprs.bounded import bounded_while

LIMIT = 9
W = jax.random.normal(jax.random.key(0), (3, 3)) * 0.6
X = jnp.array([0.3, -0.5, 0.8])
LANES = jax.random.normal(jax.random.key(1), (5, 3))
TRIPS = jnp.array([0, 3, LIMIT, 20, 1])


def bounded(w, x, n, limit=LIMIT):
    """An integer, a flag and a bfloat16 in the state; w from outside; the test reads it all."""

    def test(state):
        trips, _, flag, _ = state
        return (trips < n) & flag

    def body(state):
        trips, x, flag, total = state
        x = jnp.tanh(w @ x) + 0.1 * x
        return trips + 1, x, flag | (trips > 3), total + x[0].astype(jnp.bfloat16)

    _, x, _, total = bounded_while(test, body, (0, x, True, jnp.bfloat16(0)), limit)
    return x.sum() + 0.0 * total.astype(jnp.float32)


def scanned(w, x, n):
    """The same by a scan; what comes too late is thrown away."""

    def body(x, at):
        return jnp.where(at < n, jnp.tanh(w @ x) + 0.1 * x, x), None

    return jax.lax.scan(body, x, jnp.arange(LIMIT))[0].sum()


def lanes_bounded(w, xs, n=TRIPS):
    return jax.vmap(bounded, (None, 0, 0))(w, xs, n).sum()


def lanes_scanned(w, xs, n=TRIPS):
    return jax.vmap(scanned, (None, 0, 0))(w, xs, n).sum()


def check(one, other):
    def close(a, b):
        np.testing.assert_allclose(a, b, rtol=3e-4, atol=3e-5)

    jax.tree.map(close, one, other)


both = (0, 1)


def _saved(f):
    return jax.checkpoint(f, policy=jax.checkpoint_policies.everything_saveable)


#: transformations of a function of weights, a state, and other things that follow
MODES = {
    "value": lambda f: f,
    "jvp": lambda f: lambda w, x, *a: jax.jvp(lambda w, x: f(w, x, *a), (w, x), (w * 2, x + 1)),
    "linearize": lambda f: lambda w, x, *a: jax.linearize(lambda w: f(w, x, *a), w)[1](w + 1),
    "grad": lambda f: jax.grad(f, both),
    "forward over reverse": lambda f: jax.hessian(f, both),
    "forward over forward": lambda f: jax.jacfwd(jax.jacfwd(f, 1), both),
    "reverse over forward": lambda f: jax.jacrev(jax.jacfwd(f, 1), both),
    "reverse over reverse": lambda f: jax.jacrev(jax.jacrev(f, 1), both),
    "third order": lambda f: jax.jacfwd(jax.jacrev(jax.jacrev(f, 1), 1), 1),
    "checkpoint": lambda f: jax.grad(jax.checkpoint(f), both),
    "checkpoint, all saved": lambda f: jax.grad(_saved(f), both),
}


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_as_a_scan(mode):
    made, expected = jax.jit(MODES[mode](bounded)), jax.jit(MODES[mode](scanned))
    for n in (0, 1, 5, LIMIT, LIMIT + 7):
        check(made(W, X, n), expected(W, X, n))


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_lanes_that_stop_on_their_own(mode):
    made, expected = jax.jit(MODES[mode](lanes_bounded)), jax.jit(MODES[mode](lanes_scanned))
    check(made(W, LANES, TRIPS), expected(W, LANES, TRIPS))
    check(made(W, LANES, 0 * TRIPS), expected(W, LANES, 0 * TRIPS))


@pytest.mark.full
@pytest.mark.parametrize("mode", MODES)
def test_lanes_of_a_derivative(mode):
    made, expected = (jax.vmap(MODES[mode](f), (None, 0, 0)) for f in (bounded, scanned))
    check(jax.jit(made)(W, LANES, TRIPS), jax.jit(expected)(W, LANES, TRIPS))


def test_without_jit():
    check(bounded(W, X, 4), scanned(W, X, 4))
    check(jax.grad(bounded, both)(W, X, 4), jax.grad(scanned, both)(W, X, 4))


@pytest.mark.full
def test_lanes_of_lanes():
    def made(lanes):
        def twice(w, xs):
            return jax.vmap(lanes, (None, 0, None))(w, jnp.stack([xs, 2 * xs]), TRIPS).sum()

        return [jax.jit(f(twice))(W, LANES) for f in (lambda f: f, MODES["grad"], jax.hessian)]

    check(made(lanes_bounded), made(lanes_scanned))


def test_lanes_of_a_gradient_of_lanes():
    pair = jnp.stack([LANES, 2 * LANES])
    made, expected = (
        jax.jit(jax.vmap(jax.grad(f), (None, 0))) for f in (lanes_bounded, lanes_scanned)
    )
    check(made(W, pair), expected(W, pair))


def test_each_lane_has_its_own_weights():
    ws = jnp.stack([W, -W, 2 * W, W.T, 0 * W])
    made, expected = (jax.jit(jax.vmap(jax.grad(f, both))) for f in (bounded, scanned))
    check(made(ws, LANES, TRIPS), expected(ws, LANES, TRIPS))


def test_one_test_for_all_lanes():
    def made(f):
        return jax.vmap(jax.grad(f, both), (None, 0, None))(W, LANES, 4), jax.grad(
            lambda w: jax.vmap(f, (None, 0, None))(w, LANES, 4).sum()
        )(W)

    check(jax.jit(lambda: made(bounded))(), jax.jit(lambda: made(scanned))())


def test_no_trip_at_all():
    check(bounded(W, X, 20, limit=0), X.sum())


def test_a_test_on_the_differentiated_state():
    def newton(a):
        def going(x):
            return jnp.abs(x * x - a) > 1e-4

        return bounded_while(going, lambda x: 0.5 * (x + a / x), jnp.float32(3), 50)

    check(newton(2.0), 2**0.5)
    check(jax.grad(newton)(2.0), 0.5 / 2**0.5)
    numbers = jnp.array([2.0, 5.0, 8.0])
    check(jax.vmap(jax.grad(newton))(numbers), 0.5 / jnp.sqrt(numbers))
    check(jax.grad(lambda a: jax.vmap(newton)(a).sum())(numbers), 0.5 / jnp.sqrt(numbers))


def nested(loop):
    def made(w, x):
        def body(state):
            n, total = state
            return n + 1, total + loop(w, x * total, n)

        return bounded_while(lambda s: s[0] < 4, body, (0, jnp.float32(1)), 6)[1]

    return made


def in_scan(loop):
    def made(w, x):
        def body(total, n):
            return total + loop(w, x * total, n), None

        return jax.lax.scan(body, jnp.float32(1), jnp.arange(4))[0]

    return made


def in_branches(loop):
    def made(w, x):
        one = jax.lax.cond(x[0] > 0, lambda: loop(w, x, 3), lambda: loop(w, x, 5))
        return one + jax.lax.cond(x[1] > 0, lambda: loop(w, x, 2), lambda: x.sum() ** 2)

    return made


@pytest.mark.full
@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "third order"])
@pytest.mark.parametrize("around", [nested, in_scan, in_branches])
def test_inside_of_others(mode, around):
    made = jax.jit(MODES[mode](around(bounded)))(W, X)
    plain = in_scan if around is nested else around
    check(made, jax.jit(MODES[mode](plain(scanned)))(W, X))


def test_lanes_that_are_off_cannot_spoil_a_gradient():
    """The body has no derivative where a lane stops, or starts if it makes no trip."""

    def loop(x, w):
        return bounded_while(lambda x: x > 0, lambda x: jnp.sqrt(x) * w - 0.5, x, 10)

    xs = jnp.array([4.0, -1.0, 0.3])
    one_by_one = [jax.grad(loop, both)(x, 1.1) for x in xs]
    made = jax.grad(lambda x, w: jax.vmap(loop, (0, None))(x, w).sum(), both)(xs, 1.1)
    check(made[0], jnp.stack([x for x, _ in one_by_one]))
    check(made[1], sum(w for _, w in one_by_one))
    check(jax.vmap(jax.grad(loop, 1), (0, None))(xs, 1.1), jnp.stack([w for _, w in one_by_one]))


def test_integers_and_keys_only():
    key = jax.random.key(3)

    def draws(scale):
        def body(state):
            key, total = state
            key, sub = jax.random.split(key)
            return key, total + scale * jax.random.uniform(sub)

        return bounded_while(lambda s: s[1] < 2, body, (key, jnp.float32(0)), 30)[1]

    check(jax.grad(draws)(1.0), draws(1.0))
    check(jax.vmap(draws)(jnp.array([0.5, 1.0])), jnp.stack([draws(0.5), draws(1.0)]))
    collatz = bounded_while(
        lambda s: s[0] != 1,
        lambda s: (jnp.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1),
        (7, 0),
        100,
    )
    assert collatz == (1, 16)


def test_a_state_that_changes_its_type_is_refused():
    with pytest.raises(TypeError, match="the body makes float32"):
        bounded_while(lambda x: x < 3, lambda x: x + 0.5, 0, 5)
    with pytest.raises(TypeError, match="the body makes"):
        bounded_while(lambda x: x[0] < 3, lambda x: (x[0], x[0]), (0,), 5)


# -- what it costs --------------------------------------------------------------------------------


def loops_of(function, *args):
    found, stack = [], [jax.make_jaxpr(function)(*args).jaxpr]
    while stack:
        jaxpr = stack.pop()
        for equation in jaxpr.eqns:
            if equation.primitive.name == "bounded_while":
                found.append(equation)
            stack += jaxprs_in_params(equation.params)
    return found


def simple(w, x, n, checked=True):
    def body(state):
        return state[0] + 1, jnp.tanh(w @ state[1])

    return bounded_while(lambda s: s[0] < n, body, (0, x), 50, checked=checked)[1].sum()


def test_without_a_gradient_nothing_is_kept():
    (forward,) = loops_of(simple, W, X, 5)
    assert [v.aval.shape for v in forward.outvars] == [(), (3,)]
    (pushed,) = loops_of(lambda w, x: jax.jvp(lambda w: simple(w, x, 5), (w,), (w,)), W, X)
    assert [v.aval.shape for v in pushed.outvars] == [(), (3,), (3,)]


def test_what_no_trip_changes_is_not_kept():
    there, back = sorted(
        loops_of(jax.grad(simple), W, X, 5), key=lambda e: e.params["test"] is None
    )
    kept = [v.aval.shape for v in there.outvars if v.aval.ndim and v.aval.shape[0] == 50]
    assert set(kept) == {(50, 3)} and len(kept) <= 3
    assert [v.aval.shape for v in back.outvars] == [(3, 3), (3,)]


def test_without_a_gradient_it_is_the_loop_of_lax():
    def by_hand(w, x, n):
        def body(state):
            return state[0] + 1, jnp.tanh(w @ state[1])

        return jax.lax.while_loop(lambda s: s[0] < n, body, (jnp.int32(0), x))[1].sum()

    def operations(function):
        text = jax.jit(function).lower(W, X, 5).as_text()
        return sorted(re.findall(r"stablehlo\.\w+", text))

    assert operations(lambda w, x, n: simple(w, x, n, checked=False)) == operations(by_hand)


def test_a_test_keeps_nothing_that_reads_what_nobody_needs():
    def test(state):
        trips, _, idle = state
        jnp.sin(idle)  # what it gives is not needed, nor is what it reads
        return trips < 3

    def body(state):
        trips, x, idle = state
        return trips + 1, x * 2, idle + 1

    def f(x):
        return bounded_while(test, body, (0, x, x), LIMIT)[1]

    graph = jax.make_jaxpr(f)(1.0)
    smaller, _ = dce_jaxpr(graph.jaxpr, [True])
    assert jax.core.eval_jaxpr(smaller, graph.consts, 1.5) == [12.0]
    check_jaxpr(smaller)
