"""Run by `test_sharding` in a process with eight devices: `python -m tests.deploy.sharded`."""

import re

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

import d2s

AUTO = Mesh(np.array(jax.devices()), ("d",))
EXPLICIT = jax.make_mesh((8,), ("d",))
X = jnp.asarray(np.random.default_rng(0).normal(0, 1, (16, 4)), jnp.float32)
W = jnp.eye(4) * 0.5


def layouts(mesh):
    return NamedSharding(mesh, P("d")), NamedSharding(mesh, P())


# -- arrays that are spread -----------------------------------------------------------------------


def loop(x, w):
    while jnp.abs(x).sum() < 1e4:
        x = jnp.tanh(x @ w) + x
        if x.sum() > 50:
            x = x * 2
        else:
            x = x + 1
    for _ in range(12):
        x = x * 0.9 + 1
    return x


def check_loops_keep_the_layout(mesh):
    rows, everywhere = layouts(mesh)
    static = d2s.to_static(loop, in_shardings=(rows, everywhere), out_shardings=rows)
    found = static(X, W)
    assert found.sharding.is_equivalent_to(rows, 2)
    np.testing.assert_allclose(found, d2s.to_static(loop)(X, W), rtol=1e-5)
    if mesh is EXPLICIT:
        return  # XLA chooses the layout of carries there
    spread = static.lower(jax.device_put(X, rows), jax.device_put(W, everywhere)).compile()
    text = spread.as_text()
    loops = re.findall(r"= \((.*?)\) while\(", text)
    assert loops and all("f32[2,4]" in carry and "f32[16,4]" not in carry for carry in loops)
    for branch in re.findall(r"= \(?(\S*?)\)? conditional\(", text):
        assert "f32[16,4]" not in branch, "a branch gathers the array"
    assert "all-gather" not in text


def check_results_in_containers():
    rows, everywhere = layouts(AUTO)

    def both(x):
        return {"a": x * 2, "b": (x.sum(), x)}

    static = d2s.to_static(both, in_shardings=rows, out_shardings={"a": rows, "b": everywhere})
    found = static(X)
    assert found["a"].sharding.is_equivalent_to(rows, 2)
    assert found["b"][1].sharding.is_equivalent_to(everywhere, 2)
    assert static(X)["b"][0].shape == ()


def check_failures_on_several_devices():
    def fails(x):
        for row in x:
            if row.sum() > 100:
                raise ValueError(f"{row.sum():.1f}")
        return x

    static = d2s.to_static(fails, in_shardings=layouts(AUTO)[0])
    assert static(X).shape == X.shape
    try:
        static(X.at[3].set(50.0))
    except ValueError as error:
        assert str(error) == "200.0"
    else:
        raise AssertionError("it did not raise")


class Keeper:
    def __init__(self):
        self.total = jax.device_put(jnp.zeros((16, 4)), layouts(AUTO)[0])
        self.steps = 0


def check_state_keeps_its_layout():
    keeper = Keeper()

    @d2s.to_static
    def step(keeper, x):
        keeper.steps += 1
        if x.sum() > 0:
            keeper.total = keeper.total + x
        return keeper.total.sum()

    for _ in range(3):
        step(keeper, jax.device_put(X, layouts(AUTO)[0]))
    assert keeper.total.sharding.is_equivalent_to(layouts(AUTO)[0], 2)


# -- one program per device -----------------------------------------------------------------------


def each(x):
    """Loops and branches whose values differ between devices, started from values that do not."""
    total, trips = 0.0, 0
    for row in x:
        if row.sum() > 0:
            total = total + row.sum()
        else:
            total = total - 1
    while total > 1:
        total = total / 2
        trips += 1
    for i in range(20):
        if total < -i:
            break
        total = total - 0.25
    return jnp.stack([jnp.asarray(total), jnp.float32(trips)])[None]


def summed(x):
    """A loop that all devices leave together."""
    for _ in range(10):
        x = x * 1.5
        if jax.lax.pmax(jnp.abs(x).max(), "d") > 10:
            break
    return x


def check_shard_map():
    expected = np.concatenate([d2s.convert(each)(X[2 * n : 2 * n + 2]) for n in range(8)])

    def outer(x):
        return jax.shard_map(each, mesh=AUTO, in_specs=P("d"), out_specs=P("d"))(x)

    np.testing.assert_allclose(d2s.to_static(outer)(X), expected, rtol=1e-6)
    inside = jax.shard_map(d2s.convert(each), mesh=AUTO, in_specs=P("d"), out_specs=P("d"))
    np.testing.assert_allclose(jax.jit(inside)(X), expected, rtol=1e-6)
    static = jax.shard_map(d2s.to_static(each), mesh=AUTO, in_specs=P("d"), out_specs=P("d"))
    np.testing.assert_allclose(jax.jit(static)(X), expected, rtol=1e-6)

    def together(x):
        return jax.shard_map(summed, mesh=AUTO, in_specs=P("d"), out_specs=P("d"))(x)

    plain = np.asarray(X)
    for _ in range(10):
        plain = plain * 1.5
        if np.abs(plain).max() > 10:
            break
    np.testing.assert_allclose(d2s.to_static(together)(X), plain, rtol=1e-6)


def check_failures_in_shard_map():
    def inner(x):
        for row in x:
            if row[0] > 100:
                raise ValueError(f"{row[0]:.0f} is too much")
        total = x.sum()
        while total > 1:
            if total > 1e6:
                raise OverflowError("far away")
            total = total / 2
        return total[None]

    def outer(x):
        return jax.shard_map(inner, mesh=AUTO, in_specs=P("d"), out_specs=P("d"))(x)

    static = d2s.to_static(outer)
    assert static(X).shape == (8,)
    for value, kind, text in ((500.0, ValueError, "500 is too much"), (99.0, None, "")):
        try:
            static(X.at[5, 0].set(value))
        except ValueError as error:
            assert kind is ValueError and text in str(error)
        else:
            assert kind is None


def check_gradients_in_shard_map():
    def inner(x):
        total = 0.0
        for row in x:
            if row.sum() > 0:
                total = total + jnp.tanh(row).sum()
        return jax.lax.psum(total, "d")

    def outer(x):
        return jax.shard_map(inner, mesh=AUTO, in_specs=P("d"), out_specs=P())(x)

    found = jax.grad(d2s.to_static(outer))(X)
    plain = jax.grad(lambda x: jnp.where((x.sum(1) > 0)[:, None], jnp.tanh(x), 0).sum())(X)
    np.testing.assert_allclose(found, plain, rtol=1e-5, atol=1e-6)


if __name__ == "__main__":
    assert len(jax.devices()) == 8
    check_loops_keep_the_layout(AUTO)
    check_loops_keep_the_layout(EXPLICIT)
    check_results_in_containers()
    check_failures_on_several_devices()
    check_state_keeps_its_layout()
    check_shard_map()
    check_failures_in_shard_map()
    check_gradients_in_shard_map()
    print("all of it is so")
