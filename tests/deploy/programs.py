"""Functions and objects to save: each with its specifications and arguments that go other ways."""

import collections
import dataclasses
import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

PROGRAMS = {}
X = jnp.arange(12.0).reshape(4, 3) - 5


def program(*specs, args):
    """A function to save, the specifications, and a list of arguments."""

    def add(function):
        PROGRAMS[function.__name__] = function, specs, args
        return function

    return add


@program("f32[4, 3]", args=[(X,), (-X,), (X * 0,)])
def two_branches(x):
    if x.mean() > 0:
        return jnp.tanh(x)
    return x - 1


@program("f32[n, 3]", "f32[3]", args=[(X, X[0]), (X[:1], X[3]), (-X, X[1])])
def rows(x, w):
    total = 0.0
    for row in x:
        score = jnp.tanh(row * w).sum()
        if score < 0:
            continue
        total = total + score
    return total


@program("f32[n, 3]", args=[(X,), (-X,), (X - 100,)])
def left_early(x):
    for i in range(x.shape[0]):
        if x[i].sum() > 0:
            return x[i] * i
    return jnp.zeros(3)


@program(int, float, args=[(5, 2.0), (0, 2.0), (7, -1.5)])
def numbers(n, x):
    while n > 0:
        x = x * 1.5
        n -= 1
    return x, n


Pair = collections.namedtuple("Pair", "first second")


@dataclasses.dataclass
class Stats:
    mean: object
    names: list


@program({"a": "f32[3]", "b": ["i32", ("f32", "f32[2]")]}, args=[
    ({"a": X[0], "b": [jnp.int32(3), (jnp.float32(2), jnp.ones(2))]},),
    ({"b": [jnp.int32(-3), (jnp.float32(1), jnp.zeros(2))], "a": X[1]},),
])  # fmt: skip
def containers(tree):
    n, (x, y) = tree["b"]
    if n > 0:
        x = x + 1
    shared = [y, "text", None, True, 1.5, 2j]
    return {"pair": Pair(x, tree["a"]), "stats": Stats(y.mean(), shared), 3: shared, "s": {1, 2}}


@program("f32[3]", args=[(X[0],), (X[3],), (X[2],)])
def fails(x):
    assert x.sum() < 20, f"too much: {x.sum():.2f}"
    for value in x:
        if value < -4:
            raise ValueError(f"{value} is below the limit", x)
    return x * 2


class Odd(ArithmeticError):
    pass


@program("f32", args=[(jnp.float32(1),), (jnp.float32(-1),), (jnp.float32(-20),)])
def handled(x):
    try:
        if x < 0:
            raise Odd(x)
        x = x + 1
    except Odd:
        x = x - 1
    finally:
        x = x * 2
    if x < -30:
        raise Odd("far below") from KeyError("cause")
    return x


class Limit(ArithmeticError):
    __slots__ = ("limit",)

    def __init__(self, value, limit):
        super().__init__(f"{value:.1f} is above {limit}")
        self.value, self.limit = value, limit

    def __repr__(self):
        return f"Limit({self.value})"


@program("f32", args=[(jnp.float32(n),) for n in (1, 2, 3, 4, 5)])
def fails_with_fields(x):
    if x > 4:
        raise Limit(x, 4)
    if x > 3:
        raise FileNotFoundError(2, "no such file", f"{x:.1f}.txt")
    if x > 2:
        raise ImportError("no module", name=f"m{x}", path="somewhere")
    if x > 1:
        raise ValueError(f"because of {Limit(x, 1)!r}")
    return x


@program("i32[3]", "bool[3]", args=[(jnp.arange(3), jnp.arange(3) > 1)])
def integers(x, flags):
    return x // 2, flags & (x > 0), x.astype(jnp.bfloat16) + 1


@program("f32[3]", "f32[3]", args=[(X[0], X[1]), (X[1], X[2])])
def changes_arguments(x, y):
    box = [x, y]
    box[0] = box[1] + 1
    box.append(x)
    return box


@program("f32[3]", "f32[3]", "f32[3]", args=[(X[0], X[1], X[2])])
def several(x, *rest):
    return x + rest[0] * rest[1]


def scaled(factor, x, how):
    return factor * x if how == "times" else factor + x


PROGRAMS["partial"] = (
    functools.partial(scaled, jnp.arange(3.0), how="times"),
    ("f32[3]",),
    [(X[0],), (X[1],)],
)


# -- objects --------------------------------------------------------------------------------------


class Counter:
    """Arrays, numbers and containers that a call changes."""

    def __init__(self):
        self.w = jnp.ones(3)
        self.count = 0
        self.mean = 0.0
        self.seen = {"last": jnp.zeros(3), "all": [jnp.zeros(()), jnp.ones(())]}
        self.pair = (jnp.zeros(3), "static")
        self.key = jax.random.key(3)

    def step(self, x):
        self.count += 1
        self.mean = self.mean + (x.mean() - self.mean) / self.count
        if x.sum() > 0:
            self.seen["last"] = x
        self.seen["all"] = [value + 1 for value in self.seen["all"]]
        self.pair = (self.pair[0] + x, "static")
        self.key, key = jax.random.split(self.key)
        if x.sum() > 50:
            raise ValueError(f"{self.count}: too much")
        return x @ self.w + jax.random.normal(key)

    def scale(self, by):
        self.w = self.w * by
        return self.count

    def read(self):
        return self.count, self.mean, self.seen["last"]


class Trainer:
    """A model of Equinox and an optimizer."""

    def __init__(self):
        self.model = eqx.nn.MLP(3, 1, width_size=4, depth=1, key=jax.random.key(0))
        self.rule = optax.adam(0.01)
        self.state = self.rule.init(eqx.filter(self.model, eqx.is_array))
        self.best = jnp.float32(jnp.inf)
        self.waited = 0

    def step(self, x, y):
        def loss(model):
            return jnp.mean((jax.vmap(model)(x)[:, 0] - y) ** 2)

        value, gradient = eqx.filter_value_and_grad(loss)(self.model)
        updates, self.state = self.rule.update(gradient, self.state)
        self.model = eqx.apply_updates(self.model, updates)
        if value < self.best:
            self.best, self.waited = value, 0
        else:
            self.waited += 1
        return value
