"""A recurrent network over a padded batch: every sequence has its own, traced length.

The `for` over `enumerate(inputs)` becomes one loop over the time steps, the `break` ends it after
the longest sequence; shorter ones keep their last state.
"""

import jax
import jax.numpy as jnp

import d2s


def cell(weights, x, state):
    """One step of a simple recurrent network."""
    return jnp.tanh(x @ weights["input"] + state @ weights["state"] + weights["bias"])


@d2s.to_static
def dynamic_rnn(weights, inputs, lengths):
    """Run over `inputs` (time, batch, features); return all outputs and each last state."""
    time, batch, _ = inputs.shape
    hidden = weights["bias"].shape[0]
    longest = jnp.max(lengths)

    state = jnp.zeros((batch, hidden))
    outputs = jnp.zeros((time, batch, hidden))
    for t, x in enumerate(inputs):
        if t >= longest:
            break
        running = (t < lengths)[:, None]
        new_state = cell(weights, x, state)
        state = jnp.where(running, new_state, state)
        outputs = outputs.at[t].set(jnp.where(running, new_state, 0.0))
    return outputs, state


ENTRY = dynamic_rnn


def examples():
    """Arguments that take different paths through `dynamic_rnn`."""
    time, batch, features, hidden = 6, 3, 2, 4
    keys = jax.random.split(jax.random.key(0), 4)
    weights = {
        "input": jax.random.normal(keys[0], (features, hidden)),
        "state": 0.5 * jax.random.normal(keys[1], (hidden, hidden)),
        "bias": jnp.linspace(-0.1, 0.1, hidden),
    }
    first = jax.random.normal(keys[2], (time, batch, features))
    second = jax.random.normal(keys[3], (time, batch, features))
    return [
        (weights, first, jnp.array([2, 4, 1])),  # stops after four steps
        (weights, second, jnp.array([6, 3, 6])),  # runs to the end
        (weights, first, jnp.array([0, 0, 0])),  # nothing to read
        (weights, second, jnp.array([0, 1, 0])),
    ]


if __name__ == "__main__":
    for weights, inputs, lengths in examples():
        outputs, state = dynamic_rnn(weights, inputs, lengths)
        used = jnp.any(outputs != 0, axis=2).sum(axis=0)
        size = jnp.linalg.norm(state)
        print(f"lengths {lengths}: outputs written {used}, norm of the states {size:.4f}")
