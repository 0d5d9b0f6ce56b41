"""A training step: forward, gradient, optimizer and bookkeeping in one compiled graph.

The model, the optimizer's state, a counter and the best loss live in an object, as people write it.
`step` changes that object; nothing is handed in and out by hand.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import d2s


class Trainer:
    """A model and everything that training it changes."""

    def __init__(self, seed, rate=0.02):
        self.model = eqx.nn.MLP(2, 1, width_size=16, depth=2, key=jax.random.key(seed))
        self.rule = optax.chain(optax.clip_by_global_norm(1.0), optax.adam(rate))
        self.state = self.rule.init(eqx.filter(self.model, eqx.is_array))
        self.steps = 0
        self.best = jnp.float32(jnp.inf)
        self.waited = jnp.int32(0)


def error(model, x, y):
    """Mean squared error, with a bounded part for outliers."""
    total = 0.0
    for point, wanted in zip(x, y, strict=False):
        miss = model(point)[0] - wanted
        if abs(miss) < 1:
            total += miss**2
        else:
            total += 2 * abs(miss) - 1
    return total / len(x)


@d2s.to_static
def step(trainer, x, y):
    """One step on one batch; returns the loss before it."""
    loss, gradient = eqx.filter_value_and_grad(error)(trainer.model, x, y)
    updates, trainer.state = trainer.rule.update(gradient, trainer.state)
    trainer.model = eqx.apply_updates(trainer.model, updates)
    trainer.steps += 1
    if loss < trainer.best:
        trainer.best = loss
        trainer.waited = jnp.int32(0)
    else:
        trainer.waited += 1
    return loss


ENTRY = step


def data(count=64):
    x = jax.random.uniform(jax.random.key(7), (count, 2), minval=-1, maxval=1)
    return x, jnp.sin(3 * x[:, 0]) * x[:, 1]


def examples():
    """Arguments that take different paths through `step`."""
    x, y = data(8)
    behind = Trainer(1)
    behind.best = jnp.float32(0)  # no step is better than that
    return [(Trainer(0), x, y), (behind, x, y), (Trainer(2), x, y * 10)]


if __name__ == "__main__":
    trainer = Trainer(0)
    x, y = data()
    for epoch in range(5):
        for _ in range(40):
            loss = step(trainer, x, y)
        print(f"after {trainer.steps} steps: loss {loss:.4f}, best {trainer.best:.4f}")
