"""Flax NNX inside static functions: what plain NNX does, call after call, and nothing left over."""

import subprocess
import sys

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx
from flax.errors import TraceContextError

import d2s

X = jnp.arange(6.0).reshape(2, 3)
INPUTS = (X, X * 2, -X, X + 1)


class Net(nnx.Module):
    """Parameters, running statistics, random numbers, a counter, a plain attribute."""

    def __init__(self):
        rngs = nnx.Rngs(0)
        self.first = nnx.Linear(3, 4, rngs=rngs)
        self.norm = nnx.BatchNorm(4, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.second = nnx.Linear(4, 1, rngs=rngs)
        self.calls = nnx.Variable(jnp.array(0))
        self.seen = 0

    def __call__(self, x):
        self.calls[...] = self.calls[...] + 1
        return self.second(self.drop(jax.nn.relu(self.norm(self.first(x)))))


class Branching(Net):
    def __call__(self, x):
        hidden = self.norm(self.first(x))
        if hidden.sum() > x.sum():
            self.calls[...] = self.calls[...] + 1
            hidden = self.drop(hidden)
        return self.second(hidden)


class Plain(nnx.Module):
    def __init__(self):
        self.n = 0
        self.c = nnx.Variable(jnp.array(0))
        self.total = nnx.Variable(jnp.float32(0))


def linear():
    return nnx.Linear(3, 1, rngs=nnx.Rngs(0))


def with_optimizer(model, transform=None):
    return model, nnx.Optimizer(model, transform or optax.sgd(0.05, momentum=0.9), wrt=nnx.Param)


def held(*objects):
    """All that objects hold, as NumPy arrays; a tracer among it would be an error here."""
    found = []
    for value in objects:
        for path, variable in nnx.to_flat_state(nnx.state(value)):
            leaf = variable[...]
            if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
                leaf = jax.random.key_data(leaf)
            assert not isinstance(leaf, jax.core.Tracer), path
            found.append((path, np.asarray(leaf)))
        for _, node in nnx.iter_graph(value):
            if isinstance(node, nnx.Pytree):
                node._check_valid_context(lambda: "the mark of another trace")
                attributes = vars(node).values()
                assert not any(isinstance(v, jax.core.Tracer) for v in attributes)
            elif isinstance(node, nnx.Variable):
                assert node._can_update
    return found


def same(ours, plain):
    assert [path for path, _ in ours] == [path for path, _ in plain]
    for (path, one), (_, other) in zip(ours, plain, strict=True):
        assert one.dtype == other.dtype, path
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5, err_msg=str(path))


def agree(make, inputs=INPUTS):
    """Make objects and a function of them twice; call plain and static, and compare all of it."""
    (plain, objects), (function, ours) = make(), make()
    static = d2s.to_static(function)
    nodes = [node for value in ours for _, node in nnx.iter_graph(value)]
    for x in inputs:
        np.testing.assert_allclose(static(x), plain(x), rtol=1e-4, atol=1e-5)
        same(held(*ours), held(*objects))
    after = [node for value in ours for _, node in nnx.iter_graph(value)]
    known = {id(node) for node in nodes if isinstance(node, nnx.Pytree | nnx.Variable)}
    assert known == {id(node) for node in after if isinstance(node, nnx.Pytree | nnx.Variable)}
    return objects, ours


# -- training -------------------------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize(
    ("make_model", "transform"),
    [(linear, optax.adam(0.05)), (Net, None), (Branching, None)],
    ids=["adam", "statistics", "branches"],
)
def test_training_step(make_model, transform):
    def make():
        model, optimizer = with_optimizer(make_model(), transform)

        def step(x):
            loss, gradient = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
            optimizer.update(model, gradient)
            return loss

        return step, (model, optimizer)

    agree(make)


@pytest.mark.full
@pytest.mark.parametrize("make_model", [linear, Net, Branching])
def test_training_step_on_arguments(make_model):
    def loss_of(model, x):
        return (model(x) ** 2).mean()

    def step(model, optimizer, x):
        gradient = nnx.grad(loss_of)(model, x)
        optimizer.update(model, gradient)
        return gradient["second"]["kernel"][...] if "second" in gradient else gradient["bias"][...]

    static = d2s.to_static(step)
    ours, plain = with_optimizer(make_model()), with_optimizer(make_model())
    for x in INPUTS:
        np.testing.assert_allclose(static(*ours, x), step(*plain, x), rtol=1e-4, atol=1e-5)
        same(held(*ours), held(*plain))


@pytest.mark.full
def test_branches_around_a_step():
    class Run:
        def __init__(self):
            self.best = jnp.float32(jnp.inf)

    def make():
        model, optimizer = with_optimizer(Net(), optax.sgd(0.1))
        run = Run()

        def step(x):
            loss, gradient = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
            if jnp.isnan(loss):
                raise FloatingPointError("not a number")
            if loss < run.best:
                run.best = loss
                optimizer.update(model, gradient)
            return run.best

        step.run = run
        return step, (model, optimizer)

    agree(make)
    (step, objects), (other, ours) = make(), make()
    static = d2s.to_static(other)
    for x in (X, X * jnp.nan, -X):
        results = []
        for function in (step, static):
            try:
                results.append(float(function(x)))
            except FloatingPointError as error:
                results.append(str(error))
        assert results[0] == results[1] or np.isclose(*results, rtol=1e-4)
        same(held(*ours), held(*objects))


@pytest.mark.full
def test_a_step_inside_a_branch_and_inside_a_loop():
    def make():
        model, optimizer = with_optimizer(Branching())

        def step(x):
            loss = jnp.float32(0)
            for _ in range(3):
                if x.sum() > loss:
                    loss, gradient = nnx.value_and_grad(lambda m: (m(x) ** 2).mean())(model)
                    optimizer.update(model, gradient)
            while loss > 1:
                model.calls[...] = model.calls[...] + 2
                loss = loss / 2
            return loss

        return step, (model, optimizer)

    agree(make)


def test_auxiliary_values_and_filters():
    def make():
        model, optimizer = with_optimizer(Net())

        def loss_of(m, x):
            y = m(x)
            if y.mean() > 0:
                y = y * 2
            return (y**2).mean(), y

        def step(x):
            where = nnx.DiffState(0, nnx.Param)
            (loss, y), gradient = nnx.value_and_grad(loss_of, argnums=where, has_aux=True)(model, x)
            optimizer.update(model, gradient)
            return loss + y.sum()

        return step, (model, optimizer)

    agree(make)


def test_gradients_come_out():
    model = linear()

    def gradient(x):
        return nnx.grad(lambda m: (m(x) ** 2).mean())(model)

    static = d2s.to_static(gradient)
    for x in INPUTS:
        ours, plain = static(x), gradient(x)
        assert type(ours) is type(plain)
        same(held(ours), held(plain))


def test_a_module_comes_out():
    def made(x):
        model = nnx.Linear(3, 1, rngs=nnx.Rngs(1))
        model.bias[...] = model.bias[...] + x.sum()
        if x.sum() > 0:
            model.kernel[...] = model.kernel[...] * 2
        return model

    static = d2s.to_static(made)
    for x in INPUTS:
        ours, plain = static(x), made(x)
        same(held(ours), held(plain))
        ours.bias[...] = ours.bias[...] * 0  # it can be written outside
        np.testing.assert_allclose(ours(x), x @ plain.kernel[...], rtol=1e-4, atol=1e-5)


def test_what_plain_nnx_refuses_is_refused():
    """Inside of `nnx.grad` only its arguments may change: a graph is no excuse."""
    model, other = linear(), Plain()

    def step(x):
        def loss_of(m):
            other.total[...] = other.total[...] + 1
            return (m(x) ** 2).mean()

        return nnx.value_and_grad(loss_of)(model)[0]

    for function in (step, d2s.to_static(step)):
        with pytest.raises(TraceContextError, match="Cannot mutate Variable"):
            function(X)
        assert float(other.total[...]) == 0


# -- attributes and variables ---------------------------------------------------------------------


def test_plain_attributes():
    def make():
        model = Plain()

        def step(x):
            model.n += 1
            if x.sum() > 0:
                model.total[...] = model.total[...] + model.n
            return x * model.n

        return step, (model,)

    (plain,), (ours,) = agree(make)
    assert type(ours.n) is int and ours.n == plain.n == len(INPUTS)
    ours.n += 1  # an array would be refused here


def test_arrays_in_constant_attributes():
    def store(model, x):
        model.n = x.sum()
        return x

    with pytest.raises(ValueError, match="Cannot assign data value"):
        store(Plain(), X)
    with pytest.raises(d2s.Error, match="`model.n` of a Plain, where Flax wants") as caught:
        d2s.to_static(store)(Plain(), X)
    assert caught.value.code == "D2S080" and "nnx.data(...)" in caught.value.fix

    class Holder(nnx.Module):
        def __init__(self, value):
            self.value = value

    with pytest.raises(d2s.Error, match="`value` of a Holder, where Flax wants a constant"):
        d2s.to_static(lambda x: Holder(x * 2))(X)
    held_by_ours = d2s.to_static(lambda x: Holder(nnx.data(x * 2)))(X)
    np.testing.assert_allclose(jax.tree.leaves(held_by_ours), [X * 2])

    def add(model, x):
        model.last = nnx.data(x.sum())
        return x

    static, ours, plain = d2s.to_static(add), Plain(), Plain()
    for x in INPUTS:
        np.testing.assert_allclose(static(ours, x), add(plain, x))
        assert len(jax.tree.leaves(ours)) == len(jax.tree.leaves(plain)) == 3
        assert float(ours.last) == float(plain.last)


def test_weakly_typed_integers():
    def make():
        model = Plain()

        def step(x):
            model.c[...] = model.c[...] + 1
            while model.c[...] < x.sum():
                model.c[...] = model.c[...] * 2
            return x + model.c[...]

        return step, (model,)

    agree(make)


def test_changes_of_a_module():
    def step(model, x):
        model.eval()
        y = model(x)
        model.train()
        model.seen = model.seen + 1
        return y

    static = d2s.to_static(step)
    ours, plain = Net(), Net()
    for x in INPUTS:
        np.testing.assert_allclose(static(ours, x), step(plain, x), rtol=1e-4, atol=1e-5)
        same(held(ours), held(plain))
        assert ours.seen == plain.seen and not ours.drop.deterministic


# -- other transformations ------------------------------------------------------------------------


def test_nnx_jit_inside():
    def make():
        model = Net()

        @nnx.jit
        def forward(m, x):
            return m(x)

        def step(x):
            y = forward(model, x)
            if y.sum() > 0:
                y = -y
            return y

        return step, (model,)

    agree(make)


def test_split_and_merge():
    def make():
        model = Net()

        def step(x):
            definition, state = nnx.split(model)
            copied = nnx.merge(definition, state)
            y = copied(x)
            if y.sum() > 0:
                nnx.update(model, nnx.state(copied))
            return y

        return step, (model,)

    agree(make)


def test_under_transformations_of_jax():
    model, plain = linear(), linear()

    def value(x):
        y = model(x).sum()
        return y if y > 0 else -y

    static = d2s.to_static(value)
    for x in INPUTS:
        expected = x @ plain.kernel[...] + plain.bias[...]
        np.testing.assert_allclose(jax.vmap(static)(x), abs(expected[:, 0]), rtol=1e-4)
        assert jax.grad(static)(x).shape == x.shape
    held(model)


def test_flax_is_not_imported_by_d2s(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, jax.numpy as jnp, d2s\n"
        "f = d2s.to_static(lambda x: x if x > 0 else -x)\n"
        "assert f(jnp.float32(-2)) == 2\n"
        "assert not any(name.partition('.')[0] == 'flax' for name in sys.modules)\n"
    )
    subprocess.run([sys.executable, program], check=True)
