"""Beam search: keep the best few sentences at every step, stop when all of them have ended.

The `for` over a plain range has a `break` that depends on the data, so it becomes one loop of the
graph; the beams are rows of arrays, reordered by indexing with the traced parents.
"""

import jax
import jax.numpy as jnp

import d2s

END = 0
BEAMS = 3
MAX_LENGTH = 8


def extend(model, last, finished):
    """Log-probabilities of the next token per beam; a finished beam can only stay finished."""
    only_end = jnp.full(model.shape[0], -jnp.inf).at[END].set(0.0)
    return jnp.where(finished[:, None], only_end, model[last])


@d2s.to_static
def beam_search(model, start):
    """Return the best token sequences, their log-probabilities, and the steps it took."""
    vocabulary = model.shape[0]
    tokens = jnp.full((BEAMS, MAX_LENGTH), END)
    scores = jnp.full(BEAMS, -jnp.inf).at[0].set(0.0)
    last = jnp.full(BEAMS, start)
    finished = last == END

    steps = 0
    for position in range(MAX_LENGTH):
        if jnp.all(finished):
            break
        candidates = scores[:, None] + extend(model, last, finished)
        scores, picks = jax.lax.top_k(candidates.ravel(), BEAMS)
        parents, last = picks // vocabulary, picks % vocabulary
        tokens = tokens[parents].at[:, position].set(last)
        finished = finished[parents] | (last == END)
        steps += 1
    return tokens, scores, steps


ENTRY = beam_search


def examples():
    """Arguments that take different paths through `beam_search`."""
    vocabulary = 12
    noise = jnp.sin(1.0 + jnp.arange(vocabulary**2) ** 2).reshape(vocabulary, vocabulary)
    logits = noise + 4.0 * jnp.roll(jnp.eye(vocabulary), 1, axis=1)  # count up, then end
    model = jax.nn.log_softmax(logits)
    return [
        (model, jnp.int32(8)),  # all beams end early
        (model, jnp.int32(1)),  # runs to the last position
        (model, jnp.int32(END)),  # ended before it began
        (model, jnp.int32(10)),  # the best beam waits for the others
    ]


if __name__ == "__main__":
    for model, start in examples():
        tokens, scores, steps = beam_search(model, start)
        print(f"from {start}, {steps} steps: best {tokens[0]}, log-probability {scores[0]:.3f}")
