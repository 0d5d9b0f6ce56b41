"""A character model that writes: an LSTM with its cache in an object, temperature, early end.

`Writer` keeps the memory of the cell in attributes, as an interactive program would. To read a
prompt and to write a text change it; the loop of `write` ends when the model says so.
"""

import jax
import jax.numpy as jnp
import numpy as np

import d2s

LETTERS = ".abcdefghijklmnopqrstuvwxyz "
END = 0
LENGTH = 24


class Writer:
    """Weights and memory of one LSTM cell over letters."""

    def __init__(self, seed, size=16):
        letters = len(LETTERS)
        keys = jax.random.split(jax.random.key(seed), 3)
        self.embed = jax.random.normal(keys[0], (letters, size))
        self.gates = jax.random.normal(keys[1], (2 * size, 4 * size)) * 0.3
        self.out = jax.random.normal(keys[2], (size, letters)) * 0.5
        self.hidden = jnp.zeros(size)
        self.memory = jnp.zeros(size)
        self.written = 0

    def read(self, letter):
        """Take one letter in; the scores of the next one."""
        both = jnp.concatenate([self.embed[letter], self.hidden])
        keep, take, show, new = jnp.split(both @ self.gates, 4)
        self.memory = jax.nn.sigmoid(keep) * self.memory + jax.nn.sigmoid(take) * jnp.tanh(new)
        self.hidden = jax.nn.sigmoid(show) * jnp.tanh(self.memory)
        return self.hidden @ self.out


@d2s.to_static
def write(writer, prompt, temperature, key):
    """Go on from a prompt; returns the letters and how many there are."""
    scores = writer.out[0] * 0
    for letter in prompt:
        scores = writer.read(letter)
    text = np.zeros(LENGTH, dtype=int)
    count = 0
    while count < LENGTH:
        if temperature > 0:
            key, draw = jax.random.split(key)
            letter = jax.random.categorical(draw, scores / temperature)
        else:
            letter = jnp.argmax(scores)
        if letter == END:
            break
        text[count] = letter
        count += 1
        scores = writer.read(letter)
    writer.written += count
    return text, count


ENTRY = write


def examples():
    """Arguments that take different paths through `write`."""
    key = jax.random.key(3)
    prompt = jnp.array([LETTERS.index(c) for c in "once "])
    return [
        (Writer(0), prompt, jnp.float32(1.0), key),  # drawn letters
        (Writer(0), prompt, jnp.float32(0.0), key),  # the likeliest ones
        (Writer(5), prompt[:1], jnp.float32(2.0), key),
    ]


def as_text(letters, count):
    return "".join(LETTERS[n] for n in np.asarray(letters)[: int(count)])


if __name__ == "__main__":
    for temperature in (0.0, 0.5, 1.5):
        writer = Writer(0)
        prompt = jnp.array([LETTERS.index(c) for c in "once upon"])
        text, count = write(writer, prompt, jnp.float32(temperature), jax.random.key(0))
        print(f"temperature {temperature}: once upon{as_text(text, count)!r}, {count} letters")
