"""Recurrent networks and decoders: loops over time that end early."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

END = 0

# -- a recurrent network over sequences of different lengths ---------------------------------------


def rnn(weights: Any, inputs: Any, lengths: Any) -> Any:
    time, batch, _ = inputs.shape
    longest = jnp.max(lengths)
    state = jnp.zeros((batch, weights["state"].shape[0]))
    outputs = jnp.zeros((time, *state.shape))
    for t in range(time):
        if t >= longest:
            break
        running = (t < lengths)[:, None]
        new = jnp.tanh(inputs[t] @ weights["input"] + state @ weights["state"] + weights["bias"])
        state = jnp.where(running, new, state)
        outputs = outputs.at[t].set(jnp.where(running, new, 0.0))
    return outputs, state


def rnn_by_hand(weights: Any, inputs: Any, lengths: Any) -> Any:
    time, batch, _ = inputs.shape
    longest = jnp.max(lengths)

    def goes_on(carry: Any) -> Any:
        t, _, _ = carry
        return (t < time) & (t < longest)

    def step(carry: Any) -> Any:
        t, state, outputs = carry
        running = (t < lengths)[:, None]
        new = jnp.tanh(inputs[t] @ weights["input"] + state @ weights["state"] + weights["bias"])
        state = jnp.where(running, new, state)
        return t + 1, state, outputs.at[t].set(jnp.where(running, new, 0.0))

    state = jnp.zeros((batch, weights["state"].shape[0]))
    outputs = jnp.zeros((time, *state.shape))
    _, state, outputs = lax.while_loop(goes_on, step, (0, state, outputs))
    return outputs, state


def rnn_arguments(batch: int, time: int, hidden: int) -> tuple[Any, ...]:
    keys = jax.random.split(jax.random.key(0), 4)
    weights = {
        "input": jax.random.normal(keys[0], (hidden, hidden)) / hidden**0.5,
        "state": jax.random.normal(keys[1], (hidden, hidden)) / hidden**0.5,
        "bias": jnp.zeros(hidden),
    }
    inputs = jax.random.normal(keys[2], (time, batch, hidden))
    return weights, inputs, jax.random.randint(keys[3], (batch,), 1, 3 * time // 4)


# -- beam search ----------------------------------------------------------------------------------


def beam_search(model: Any, start: Any, tokens: Any) -> Any:
    beams, length = tokens.shape
    vocabulary = model.shape[0]
    only_end = jnp.full(vocabulary, -jnp.inf).at[END].set(0.0)
    scores = jnp.full(beams, -jnp.inf).at[0].set(0.0)
    last = jnp.full(beams, start)
    finished = last == END
    for position in range(length):
        if jnp.all(finished):
            break
        options = jnp.where(finished[:, None], only_end, model[last])
        scores, picks = lax.top_k((scores[:, None] + options).ravel(), beams)
        parents, last = picks // vocabulary, picks % vocabulary
        tokens = tokens[parents].at[:, position].set(last)
        finished = finished[parents] | (last == END)
    return tokens, scores


def beam_search_by_hand(model: Any, start: Any, tokens: Any) -> Any:
    beams, length = tokens.shape
    vocabulary = model.shape[0]
    only_end = jnp.full(vocabulary, -jnp.inf).at[END].set(0.0)

    def goes_on(carry: Any) -> Any:
        position, _, _, _, finished = carry
        return (position < length) & ~jnp.all(finished)

    def step(carry: Any) -> Any:
        position, tokens, scores, last, finished = carry
        options = jnp.where(finished[:, None], only_end, model[last])
        scores, picks = lax.top_k((scores[:, None] + options).ravel(), beams)
        parents, last = picks // vocabulary, picks % vocabulary
        tokens = tokens[parents].at[:, position].set(last)
        return position + 1, tokens, scores, last, finished[parents] | (last == END)

    scores = jnp.full(beams, -jnp.inf).at[0].set(0.0)
    last = jnp.full(beams, start)
    carry = lax.while_loop(goes_on, step, (0, tokens, scores, last, last == END))
    return carry[1], carry[2]


def beam_search_arguments(vocabulary: int, beams: int, length: int) -> tuple[Any, ...]:
    noise = jax.random.normal(jax.random.key(0), (vocabulary, vocabulary))
    logits = (noise + 4.0 * jnp.roll(jnp.eye(vocabulary), 1, axis=1)).at[:, END].add(2.0)
    tokens = jnp.full((beams, length), END, jnp.int32)
    return jax.nn.log_softmax(logits), jnp.int32(vocabulary // 2), tokens


# -- sequence to sequence -------------------------------------------------------------------------


def cell(weights: Any, x: Any, state: Any) -> Any:
    return jnp.tanh(x @ weights["input"] + state @ weights["state"])


def seq2seq(weights: Any, source: Any, target: Any, forced: Any) -> Any:
    state = jnp.zeros((source.shape[1], weights["out"].shape[0]))
    for token in source:
        state = cell(weights["encoder"], weights["embed"][token], state)
    token = jnp.full(source.shape[1], 1)
    finished = jnp.zeros(source.shape[1], bool)
    loss, steps = 0.0, 0
    for t in range(target.shape[0]):
        if jnp.all(finished):
            break
        state = cell(weights["decoder"], weights["embed"][token], state)
        logits = jax.nn.log_softmax(state @ weights["out"])
        picked = jnp.take_along_axis(logits, target[t][:, None], 1)[:, 0]
        loss = loss - jnp.sum(jnp.where(finished, 0.0, picked))
        if forced[t]:
            token = target[t]
        else:
            token = jnp.argmax(logits, axis=1)
        finished = finished | (token == END)
        steps += 1
    return loss, steps


def seq2seq_by_hand(weights: Any, source: Any, target: Any, forced: Any) -> Any:
    def encode(state: Any, token: Any) -> Any:
        return cell(weights["encoder"], weights["embed"][token], state), None

    def goes_on(carry: Any) -> Any:
        t, _, _, finished, _ = carry
        return (t < target.shape[0]) & ~jnp.all(finished)

    def decode(carry: Any) -> Any:
        t, state, token, finished, loss = carry
        state = cell(weights["decoder"], weights["embed"][token], state)
        logits = jax.nn.log_softmax(state @ weights["out"])
        picked = jnp.take_along_axis(logits, target[t][:, None], 1)[:, 0]
        loss = loss - jnp.sum(jnp.where(finished, 0.0, picked))
        token = lax.cond(
            forced[t],
            lambda: target[t],
            lambda: jnp.argmax(logits, axis=1).astype(target.dtype),
        )
        return t + 1, state, token, finished | (token == END), loss

    batch = source.shape[1]
    state = jnp.zeros((batch, weights["out"].shape[0]))
    state, _ = lax.scan(encode, state, source)
    token = jnp.full(batch, 1)
    carry = 0, state, token, jnp.zeros(batch, bool), 0.0
    steps, _, _, _, loss = lax.while_loop(goes_on, decode, carry)
    return loss, steps


def seq2seq_arguments(batch: int, time: int, hidden: int, vocabulary: int) -> tuple[Any, ...]:
    keys = iter(jax.random.split(jax.random.key(0), 10))

    def matrix(*shape: int) -> Any:
        return jax.random.normal(next(keys), shape) / shape[-1] ** 0.5

    weights = {
        "embed": matrix(vocabulary, hidden),
        "encoder": {"input": matrix(hidden, hidden), "state": matrix(hidden, hidden)},
        "decoder": {"input": matrix(hidden, hidden), "state": matrix(hidden, hidden)},
        "out": matrix(hidden, vocabulary),
    }
    source = jax.random.randint(next(keys), (time, batch), 1, vocabulary)
    target = (
        jax.random.randint(next(keys), (time, batch), 1, vocabulary).at[3 * time // 4 :].set(END)
    )
    forced = jax.random.bernoulli(next(keys), 0.7, (time,)).at[3 * time // 4].set(True)
    return weights, source, target, forced
