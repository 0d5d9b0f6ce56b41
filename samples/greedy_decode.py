"""Greedy decoding with a toy language model: append the best next word until the sentence ends.

The `for` over a traced range becomes one loop of the graph; the end-of-sentence `break` ends it.
The model's own `if` (a way out of a circle) is converted when it is called.
"""

from itertools import pairwise

import jax.numpy as jnp

import d2s

WORDS = ["<end>", "the", "cat", "dog", "saw", "a", "bird", "sing"]
END = 0
MAX_LENGTH = 10


def next_scores(model, used, word):
    """Score every word as the successor of `word`; words used before become less likely."""
    scores = model[word] - 0.5 * used
    if used[word] > 1:  # in a circle: rather end the sentence
        scores = scores.at[END].add(2.0)
    return scores


@d2s.to_static
def greedy_decode(model, word, limit):
    """Return up to `limit` words after `word`, padded with the end mark, and their number."""
    sentence = jnp.full(MAX_LENGTH, END)
    used = jnp.zeros(model.shape[0])
    length = 0
    for position in range(limit):
        used = used.at[word].add(1.0)
        word = jnp.argmax(next_scores(model, used, word))
        if word == END:
            break
        sentence = sentence.at[position].set(word)
        length += 1
    return sentence, length


ENTRY = greedy_decode


def toy_model():
    """Scores of word pairs, counted from a few sentences."""
    text = (
        "the cat saw the dog . the cat saw the bird sing . "
        "the dog saw the cat . a bird saw the cat . the cat saw a bird sing ."
    )
    model = jnp.zeros((len(WORDS), len(WORDS)))
    words = ["<end>" if word == "." else word for word in text.split()]
    for before, after in pairwise(words):
        model = model.at[WORDS.index(before), WORDS.index(after)].add(1.0)
    return model


def examples():
    """Arguments that take different paths through `greedy_decode`."""
    model = toy_model()
    return [
        (model, jnp.int32(WORDS.index("the")), MAX_LENGTH),  # leaves the circle
        (model, jnp.int32(WORDS.index("a")), MAX_LENGTH),
        (model, jnp.int32(WORDS.index("sing")), MAX_LENGTH),  # ends at once
        (model, jnp.int32(WORDS.index("the")), 3),  # cut off by the limit
        (model, jnp.int32(WORDS.index("dog")), 0),  # no word wanted
    ]


if __name__ == "__main__":
    for model, word, limit in examples():
        sentence, length = greedy_decode(model, word, limit)
        words = [WORDS[i] for i in [word, *sentence[:length]]]
        print(f"limit {limit:2}: {' '.join(words)}")
