"""What a static function reaches beside its arguments: read, changed and written on every call."""

import collections
import dataclasses
import gc
import threading
import weakref

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from flax import nnx

import d2s
from d2s.backends.lax.function.compiled import Compiled


class Net:
    """Parameters, a switch, a counter, running statistics and a log, as people keep them."""

    def __init__(self):
        self.w = jnp.array([1.0, 2.0])
        self.mean = jnp.float32(0)
        self.count = 0
        self.training = True
        self.log = []
        self.named = {"last": jnp.float32(0)}

    def __call__(self, x):
        self.count += 1
        if self.training:
            self.mean = 0.9 * self.mean + 0.1 * x.mean()
        if x.sum() > 0:
            self.w = self.w + x
            self.named["last"] = x[0]
        self.log.append(self.count)
        return (self.w * x).sum() - self.mean

    def value(self, x):
        return (self.w * x).sum() if x.sum() > 0 else self.mean

    def helper(self, x):
        self.count += 1
        return self.value(x) * self.count

    def twice(self, x):
        return self.helper(x) + self.helper(x)


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    """Every static function counts the graphs that it builds."""
    plain = Compiled.trace

    def trace(self, *args):
        built[self] += 1
        return plain(self, *args)

    monkeypatch.setattr(Compiled, "trace", trace)
    built.clear()


built = collections.Counter()


def traces(static):
    return built[static]


def same(net, other):
    assert float(net.count) == other.count
    assert [float(n) for n in net.log] == other.log
    np.testing.assert_allclose(net.w, other.w, rtol=1e-6)
    np.testing.assert_allclose(net.mean, other.mean, rtol=1e-6)
    np.testing.assert_allclose(net.named["last"], other.named["last"], rtol=1e-6)
    for value in (net.w, net.mean, net.count, *net.log):
        assert not isinstance(value, jax.core.Tracer)


def test_a_callable_object_does_on_every_call_what_the_plain_one_does():
    net, plain = Net(), Net()
    static = d2s.to_static(net)
    for x in ([1.0, -3.0], [2.0, 2.0], [0.5, 0.5], [-1.0, -1.0], [3.0, 0.0]):
        np.testing.assert_allclose(static(jnp.array(x)), plain(jnp.array(x)), rtol=1e-6)
        same(net, plain)


def test_methods_that_call_methods():
    net, plain = Net(), Net()
    static = d2s.to_static(net.twice)
    for x in ([1.0, 1.0], [-1.0, -1.0], [2.0, 3.0]):
        np.testing.assert_allclose(static(jnp.array(x)), plain.twice(jnp.array(x)), rtol=1e-6)
        same(net, plain)


def test_changes_between_calls_are_seen():
    net = Net()
    static = d2s.to_static(net.value)
    x = jnp.array([1.0, 1.0])
    assert float(static(x)) == 3.0
    net.w = jnp.array([5.0, 5.0])
    assert float(static(x)) == 10.0
    assert traces(static) == 1, "an array is an input"
    net.w = jnp.array([1, 2])
    assert float(static(x)) == 3.0
    net.extra = "new"
    assert float(static(x)) == 3.0


def test_a_switch_is_a_graph_of_its_own():
    net, plain = Net(), Net()
    static = d2s.to_static(lambda n, x: x * 2 if n.training else x)
    for training in (True, False, True, False):
        net.training = plain.training = training
        assert float(static(net, jnp.float32(3))) == (6.0 if training else 3.0)
    assert traces(static) == 2


def test_a_number_is_a_constant_until_it_changes():
    class Loop:
        def __init__(self):
            self.size, self.rate = 3, 0.5

        def run(self, x):
            for _ in range(self.size):
                x = x * self.rate
            return x

    loop = Loop()
    static = d2s.to_static(loop.run)
    assert float(static(jnp.float32(8))) == 1.0
    for rate in (0.25, 2.0, 1.0):
        loop.rate = rate
        assert float(static(jnp.float32(8))) == 8 * rate**3
    assert traces(static) == 2, "a rate that changed is an input from then on"
    loop.size = 2
    assert float(static(jnp.float32(8))) == 8.0
    loop.rate = 3.0
    assert float(static(jnp.float32(1))) == 9.0


def test_a_counter_is_traced_at_most_twice():
    class Counter:
        def __init__(self):
            self.n = 0

        def up(self, x):
            self.n += 1
            return x * self.n

    counter = Counter()
    static = d2s.to_static(counter.up)
    for n in range(1, 8):
        assert float(static(jnp.float32(2))) == 2 * n
        assert int(counter.n) == n
    assert traces(static) == 2


def test_objects_of_one_structure_share_a_graph():
    class Env:
        def __init__(self, start):
            self.position, self.steps = jnp.float32(start), jnp.int32(0)

        def step(self, action):
            if action > 0:
                self.position = self.position + action
            self.steps = self.steps + 1
            return self.position

    step = d2s.to_static(Env.step)
    environments = [Env(n) for n in range(5)]
    for n, env in enumerate(environments):
        assert float(step(env, jnp.float32(1))) == n + 1
        assert (float(env.position), int(env.steps)) == (n + 1, 1)
    assert traces(step) == 1


total, table, history = 0, {"a": jnp.float32(1)}, []


def counts(x):
    global total
    total += 1
    table["a"] = table["a"] * 2
    if x > 0:
        table["b"] = x
    else:
        table["b"] = -x
    history.append(x)
    return x * table["a"]


def test_globals(monkeypatch):
    for name, value in (("total", 0), ("table", {"a": jnp.float32(1)}), ("history", [])):
        monkeypatch.setitem(globals(), name, value)
    kept = table
    static = d2s.to_static(counts)
    for n, x in enumerate((3.0, -4.0, 5.0, -6.0), 1):
        assert float(static(jnp.float32(x))) == x * 2**n
        assert int(total) == n
        assert table is kept and list(table) == ["a", "b"]
        assert (float(table["a"]), float(table["b"])) == (2**n, abs(x))
    assert [float(x) for x in history] == [3.0, -4.0, 5.0, -6.0]


def test_variables_of_enclosing_functions():
    def make():
        n, seen, w = 0, [], jnp.float32(2)

        def call(x):
            nonlocal n
            n += 1
            seen.append(n)
            if x > 0:
                x = x * w
            return x + n

        def change(value):
            nonlocal w
            w = value

        def look():
            return n, seen

        return call, change, look

    call, change, look = make()
    static = d2s.to_static(call)
    assert [float(static(jnp.float32(1))) for _ in range(3)] == [3.0, 4.0, 5.0]
    change(jnp.float32(10))
    assert float(static(jnp.float32(1))) == 14.0
    n, seen = look()
    assert int(n) == 4 and [int(v) for v in seen] == [1, 2, 3, 4]


def test_arguments_that_are_changed():
    def fill(items, table, queue, names, x):
        items.append(x)
        items[0] = x + 1
        table["k"] = x
        del table["gone"]
        queue.append(x)
        names.add("new")
        return len(items)

    static = d2s.to_static(fill)
    for x in (5.0, 6.0):
        items, table = [1.0], {"gone": 1, "kept": 2}
        queue, names = collections.deque([0.0], maxlen=1), {"old"}
        assert static(items, table, queue, names, jnp.float32(x)) == 2
        assert items == [x + 1, x] and table == {"kept": 2, "k": x}
        assert list(table) == ["kept", "k"] and queue == collections.deque([x], 1)
        assert queue.maxlen == 1 and names == {"old", "new"}


def test_aliases_are_told_apart():
    def write(p, q, x):
        p[0] = x
        return q[0] + 1

    static = d2s.to_static(write)
    one, other = [1.0], [2.0]
    for _ in range(2):
        assert float(static(one, other, jnp.float32(9))) == 3.0
        assert float(static(one, one, jnp.float32(9))) == 10.0
        assert one == [9.0] and other == [2.0]


def test_tied_arrays_may_part():
    net = Net()
    net.a = net.b = jnp.ones(2)
    static = d2s.to_static(lambda x: x * net.a + 10 * net.b)
    assert float(static(1.0)[0]) == 11.0
    net.b = jnp.zeros(2)
    assert float(static(1.0)[0]) == 1.0


@dataclasses.dataclass
class Point:
    x: float
    y: float
    trail: list = dataclasses.field(default_factory=list)


def test_dataclasses_are_changed_in_place():
    def move(point, by):
        point.trail.append((point.x, point.y))
        point.x = point.x + by
        if by > 1:
            point.y = point.y * 2
        return point

    static = d2s.to_static(move)
    point = Point(1.0, 2.0)
    for by in (1.0, 2.0):
        assert static(point, jnp.float32(by)) is point
    assert (float(point.x), float(point.y)) == (4.0, 4.0)
    assert [(float(x), float(y)) for x, y in point.trail] == [(1.0, 2.0), (2.0, 2.0)]


class Linked:
    """An object that knows itself, with slots."""

    __slots__ = ("me", "other", "value")

    def __init__(self, value):
        self.me, self.value = self, value


class Private:
    """A private slot, and one that a property of a subclass hides."""

    __slots__ = ("__value", "hidden")

    def __init__(self, value):
        self.__value = value

    def step(self, x):
        self.__value = self.__value + x
        return self.__value


class Hiding(Private):
    hidden = property(lambda self: 3)


@pytest.mark.parametrize("kind", [Private, Hiding])
def test_private_and_hidden_slots(kind):
    thing, static = kind(jnp.float32(1)), d2s.to_static(lambda thing, x: thing.step(x))
    assert [static(thing, jnp.float32(2)) for _ in range(2)] == [3, 5]
    assert thing._Private__value == 5


def test_slots_and_cycles():
    def link(node, x):
        node.me.value = node.value + x
        node.other = [node, x]
        return node.other

    static = d2s.to_static(link)
    node = Linked(jnp.float32(1))
    for n in (1, 2, 3):
        made = static(node, jnp.float32(1))
        assert made[0] is node and node.other is made
        assert node.me is node and float(node.value) == 1 + n


def test_what_was_changed_before_a_failure_stays_changed():
    class Account:
        def __init__(self):
            self.tries, self.money = jnp.int32(0), jnp.float32(10)

        def pay(self, x):
            self.tries = self.tries + 1
            if x > self.money:
                raise ValueError(f"only {self.money}")
            self.money = self.money - x
            self.paid = x
            if x == 3:
                raise AssertionError("not three")
            self.tries = self.tries + 10
            return self.money

    account, plain = Account(), Account()
    static = d2s.to_static(account.pay)
    for x in (20.0, 4.0, 3.0, 20.0, 1.0):
        ends = []
        for call in (static, plain.pay):
            try:
                ends.append(float(call(jnp.float32(x))))
            except (ValueError, AssertionError) as error:
                ends.append(repr(error))
        assert ends[0] == ends[1]
        assert int(account.tries) == int(plain.tries)
        assert float(account.money) == float(plain.money)
        assert hasattr(account, "paid") == hasattr(plain, "paid")


def test_a_certain_failure_leaves_its_changes():
    seen = []

    def fails(x):
        seen.append(x)
        raise KeyError("always")

    static = d2s.to_static(fails)
    for n in (1, 2):
        with pytest.raises(KeyError, match="always"):
            static(jnp.float32(n))
        assert [float(v) for v in seen] == list(range(1, n + 1))


def test_a_size_that_depends_on_a_failure_is_refused():
    seen = []

    def doubtful(x):
        if x < 0:
            raise ValueError
        seen.append(x)
        return x

    static = d2s.to_static(doubtful)
    with pytest.raises(d2s.Error) as caught:
        static(jnp.float32(1))
    assert caught.value.code == "D2S075" and seen == []


def test_defaults_are_state():
    def remember(x, known=[]):  # noqa: B006 - that is what is tested
        known.append(x)
        return len(known)

    static = d2s.to_static(remember)
    assert [static(jnp.float32(1)) for _ in range(3)] == [1, 2, 3]
    assert len(remember.__defaults__[0]) == 3


def test_numpy_state_is_a_constant_by_what_is_in_it():
    class Table:
        def __init__(self):
            self.steps = np.array([1, 2, 3])

        def run(self, x):
            for n in self.steps:
                x = x + int(n)
            return x

    thing = Table()
    static = d2s.to_static(thing.run)
    assert float(static(jnp.float32(0))) == 6.0
    thing.steps[0] = 10
    assert float(static(jnp.float32(0))) == 15.0


def test_a_property_sees_what_plain_code_sees():
    config = {"scale": jnp.float32(2)}

    class Scaled:
        @property
        def scale(self):
            return config["scale"]

        def __call__(self, x):
            return x * self.scale if x > 0 else x

    static = d2s.to_static(Scaled())
    assert float(static(jnp.float32(3))) == 6.0
    config["scale"] = jnp.float32(5)
    assert float(static(jnp.float32(3))) == 15.0


def test_what_unconverted_code_can_see_is_not_changed_behind_it():
    box = Net()

    @d2s.do_not_convert
    def look():
        return box.mean

    def change(x):
        box.mean = x
        return look()

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(change)(jnp.float32(3))
    assert caught.value.code == "D2S080"
    assert float(box.mean) == 0.0


class Sentinel:
    """Compared by identity, and held by its class."""


Sentinel.NONE = Sentinel()


def test_identity_is_kept():
    def which(value, x):
        if value is Sentinel.NONE:
            return -x
        return x

    static = d2s.to_static(which)
    assert float(static(Sentinel.NONE, jnp.float32(1))) == -1.0
    assert float(static(Sentinel(), jnp.float32(1))) == 1.0


def test_objects_as_keys():
    key, other = Sentinel(), Sentinel()
    table, chosen = {key: jnp.float32(1), other: jnp.float32(2)}, {key}

    def change(x):
        table[key] = table[key] + x
        if key not in chosen:
            return x
        chosen.add(other)
        return table[other]

    static = d2s.to_static(change)
    for n in (1, 2):
        assert float(static(jnp.float32(1))) == 2.0
        assert chosen == {key, other}
        assert list(table) == [key, other] and float(table[key]) == 1 + n


def test_static_functions_inside_static_functions():
    net, plain = Net(), Net()
    inner = d2s.to_static(net.helper)
    outer = d2s.to_static(lambda x: inner(x) + inner(x))
    for x in ([1.0, 1.0], [-1.0, 2.0]):
        np.testing.assert_allclose(outer(jnp.array(x)), plain.twice(jnp.array(x)), rtol=1e-6)
        same(net, plain)


def test_gradients_with_respect_to_state():
    net = Net()

    def loss(w, x):
        net.w = w
        return d2s.to_static(net.value)(x)

    x = jnp.array([1.0, 2.0])
    np.testing.assert_allclose(jax.grad(loss)(jnp.array([3.0, 4.0]), x), x)


def test_threads_that_call_one_object():
    net = Net()
    static = d2s.to_static(net.value)
    found = []

    def work():
        found.extend(float(static(jnp.array([1.0, 1.0]))) for _ in range(20))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [3.0] * 160


def test_a_big_object_that_is_not_read_costs_nothing():
    class Holder:
        def __init__(self):
            self.w = jnp.float32(2)

    used, unused = Holder(), Holder()
    unused.big = [jnp.zeros(()) for _ in range(1000)]
    assert unused.big
    static = d2s.to_static(lambda x: x * used.w)
    assert float(static(jnp.float32(3))) == 6.0
    (entry,) = static._entries.values()
    assert len(entry.key) < 20


# -- modules --------------------------------------------------------------------------------------


class Perceptron(nnx.Module):
    def __init__(self, rngs):
        self.first = nnx.Linear(3, 8, rngs=rngs)
        self.second = nnx.Linear(8, 1, rngs=rngs)
        self.norm = nnx.BatchNorm(8, rngs=rngs)
        self.drop = nnx.Dropout(0.5, rngs=rngs)
        self.calls = nnx.Variable(jnp.zeros((), jnp.int32))

    def __call__(self, x):
        self.calls[...] = self.calls[...] + 1
        hidden = self.norm(jax.nn.relu(self.first(x)))
        if hidden.sum() > 1:
            hidden = hidden * 0.5
        return self.second(self.drop(hidden))


@pytest.mark.full
def test_nnx_modules():
    module, plain = Perceptron(nnx.Rngs(0)), Perceptron(nnx.Rngs(0))
    static = d2s.to_static(module)
    for n in range(3):
        x = jnp.arange(6.0).reshape(2, 3) - n
        np.testing.assert_allclose(static(x), plain(x), rtol=2e-4, atol=1e-6)
        assert int(module.calls[...]) == n + 1
        np.testing.assert_allclose(module.norm.mean[...], plain.norm.mean[...], rtol=1e-4)
    module.eval(), plain.eval()
    x = jnp.ones((2, 3))
    np.testing.assert_allclose(static(x), plain(x), rtol=2e-4, atol=1e-6)


class Layered(eqx.Module):
    layers: list
    depth: int
    active: callable = eqx.field(static=True)

    def __init__(self, key):
        self.layers = [eqx.nn.Linear(2, 2, key=k) for k in jax.random.split(key, 2)]
        self.depth, self.active = 2, jnp.tanh

    def __call__(self, x):
        for layer in self.layers:
            x = self.active(layer(x))
        for _ in range(self.depth):
            x = x * 2 if x.sum() > 0 else x - 1
        return x


def test_equinox_modules():
    model = Layered(jax.random.key(0))
    static = d2s.to_static(model)
    x = jnp.array([1.0, -2.0])
    np.testing.assert_allclose(static(x), model(x), rtol=1e-5)
    call = d2s.to_static(lambda m, x: m(x).sum())
    got = eqx.filter_grad(call)(model, x)
    expected = eqx.filter_grad(lambda m, x: m(x).sum())(model, x)
    for one, other in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


class Trainer:
    """Parameters and optimizer state in an object, and an `if` on the loss."""

    def __init__(self):
        first, second = jax.random.split(jax.random.key(0))
        self.params = {
            "w1": jax.random.normal(first, (3, 8)),
            "w2": jax.random.normal(second, (8, 1)),
        }
        self.rule = optax.adam(1e-2)
        self.state = self.rule.init(self.params)
        self.steps, self.best = 0, jnp.float32(jnp.inf)

    def loss(self, params, x, y):
        return jnp.mean((jnp.tanh(x @ params["w1"]) @ params["w2"] - y) ** 2)

    def step(self, x, y):
        loss, gradient = jax.value_and_grad(self.loss)(self.params, x, y)
        updates, self.state = self.rule.update(gradient, self.state, self.params)
        self.params = optax.apply_updates(self.params, updates)
        self.steps += 1
        if loss < self.best:
            self.best = loss
        return loss


@pytest.mark.full
def test_a_training_step_is_one_graph():
    trainer, plain = Trainer(), Trainer()
    static = d2s.to_static(trainer.step)
    x, y = jnp.ones((4, 3)), jnp.ones((4, 1))
    for n in range(1, 6):
        np.testing.assert_allclose(static(x, y), plain.step(x, y), rtol=1e-4)
        assert int(trainer.steps) == n
        np.testing.assert_allclose(trainer.best, plain.best, rtol=1e-4)
    np.testing.assert_allclose(trainer.params["w1"], plain.params["w1"], rtol=1e-4)
    assert traces(static) <= 2


def test_graphs_do_not_keep_what_they_were_called_with():
    static = d2s.to_static(lambda net, x: net.value(x))
    net = Net()
    static(net, jnp.ones(2))
    gone = []
    weakref.finalize(net, gone.append, True)
    del net
    gc.collect()
    assert gone


def test_a_list_that_grows_with_every_call_is_said_to_be_slow(caplog):
    seen = []

    def note(x):
        seen.append(x)
        return x

    static = d2s.to_static(note)
    for _ in range(18):
        static(jnp.float32(1))
    assert len(seen) == 18
    assert "16 graphs" in caplog.text and "a list of 15 parts became a list of 16" in caplog.text


class Counting(nnx.Module):
    def __init__(self):
        self.w = nnx.Param(jnp.ones(3))
        self.count = nnx.Variable(jnp.zeros(()))

    def step(self, x):
        if x.sum() > 0:
            self.count[...] += 1
        for row in x:
            self.w[...] = self.w[...] * 0.9 + row
        return self.w[...].sum()


def test_variables_of_nnx_are_written_in_branches_and_loops():
    module, plain = Counting(), Counting()
    static = d2s.to_static(module.step)
    for sign in (-1.0, 1.0, 1.0):
        x = jnp.full((12, 3), sign)
        np.testing.assert_allclose(static(x), plain.step(x), rtol=1e-5)
        assert module.count[...] == plain.count[...]
        np.testing.assert_allclose(module.w[...], plain.w[...], rtol=1e-5)


class Checked:
    """An ordinary training step: a dict in the order of its author, which jax puts in its own."""

    def __init__(self):
        self.params = {"w": jnp.ones(2), "b": jnp.float32(0)}
        self.optimizer = optax.sgd(0.125)
        self.state = self.optimizer.init(self.params)
        self.best = None
        self.steps = 0

    def loss(self, params, x):
        return jnp.sum((params["w"] * x + params["b"]) ** 2)

    def step(self, x):
        loss, gradient = jax.value_and_grad(self.loss)(self.params, x)
        if jnp.isnan(loss):
            raise FloatingPointError(f"not a number at {self.steps}")
        updates, self.state = self.optimizer.update(gradient, self.state)
        self.params = optax.apply_updates(self.params, updates)
        self.steps += 1
        if loss > 1e6:
            raise OverflowError("too large")
        self.best = (loss, "best")
        return loss


def test_what_an_object_holds_after_a_failure_may_have_another_structure():
    plain, other = Checked(), Checked()
    static = d2s.to_static(other.step)
    for x in (1.0, float("nan"), 2.0, 1e6, float("nan")):
        row = jnp.array([1.0, x])
        ends = []
        for trainer, step in ((plain, plain.step), (other, static)):
            try:
                end = float(step(row))
            except ArithmeticError as error:
                end = type(error), str(error)
            held = [(name, value.tolist()) for name, value in trainer.params.items()]
            ends.append((end, held, int(trainer.steps), trainer.best))
        assert ends[0] == ends[1]
