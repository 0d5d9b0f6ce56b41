"""Programs that people write: plain, and with `lax` by hand; both compute the same."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from benchmarks.workloads import layers, numerics, sequences, training


@dataclass(frozen=True)
class Workload:
    """One program, twice; `arguments(True)` are of full size, `arguments(False)` for tests."""

    name: str
    plain: Callable[..., Any]
    by_hand: Callable[..., Any]
    arguments: Callable[[bool], tuple[Any, ...]]
    tolerance: float = 1e-4

    @property
    def lines(self) -> tuple[int, int]:
        """Lines of the plain program, and of the one by hand."""
        return _lines(self.plain), _lines(self.by_hand)


def _lines(function: Any) -> int:
    plain = function.func if isinstance(function, functools.partial) else function
    return sum(1 for line in inspect.getsource(plain).splitlines() if line.strip())


def _rnn(batch: int, time: int) -> Workload:
    def arguments(full: bool) -> tuple[Any, ...]:
        return sequences.rnn_arguments(*((batch, time, 256) if full else (3, time // 8, 4)))

    name = f"dynamic RNN {batch}x{time}"
    return Workload(name, sequences.rnn, sequences.rnn_by_hand, arguments)


def _sgd(name: str, hidden: int) -> Workload:
    def arguments(full: bool) -> tuple[Any, ...]:
        return training.sgd_arguments(hidden, *((200, 1000) if full else (5, 20)))

    return Workload(name, training.sgd, training.sgd_by_hand, arguments, 1e-3)


def _steps(count: int) -> Workload:
    plain = functools.partial(layers.steps, count=count)
    by_hand = functools.partial(layers.steps_by_hand, count=count)

    def arguments(full: bool) -> tuple[Any, ...]:
        return layers.steps_arguments(64 if full else 4)

    return Workload(f"for over {count} steps", plain, by_hand, arguments)


def _same(*values: Any) -> Callable[[bool], tuple[Any, ...]]:
    return lambda full: values


WORKLOADS: tuple[Workload, ...] = (
    *(_rnn(batch, time) for batch in (32, 64) for time in (64, 128)),
    _sgd("SGD, linear", 0),
    _sgd("SGD, MLP", 128),
    Workload(
        "beam search",
        sequences.beam_search,
        sequences.beam_search_by_hand,
        lambda full: sequences.beam_search_arguments(*((1000, 8, 32) if full else (20, 3, 8))),
    ),
    Workload(
        "BFGS",
        numerics.bfgs,
        numerics.bfgs_by_hand,
        lambda full: (jnp.full(10 if full else 2, -1.0), jnp.int32(200)),
        1e-2,
    ),
    Workload(
        "MAML",
        training.maml,
        training.maml_by_hand,
        lambda full: training.maml_arguments(*((200, 10, 40) if full else (10, 2, 4))),
        1e-3,
    ),
    Workload(
        "seq2seq",
        sequences.seq2seq,
        sequences.seq2seq_by_hand,
        lambda full: sequences.seq2seq_arguments(*((32, 64, 256, 1000) if full else (3, 12, 4, 9))),
        1e-3,
    ),
    Workload(
        "Collatz", numerics.collatz, numerics.collatz_by_hand, _same(jnp.int32(97))
    ),
    Workload(
        "Newton",
        numerics.newton,
        numerics.newton_by_hand,
        _same(jnp.float32(100.0), jnp.float32(2.0)),
    ),
    Workload(
        "Mandelbrot",
        numerics.mandelbrot,
        numerics.mandelbrot_by_hand,
        lambda full: numerics.mandelbrot_arguments(*((400, 100) if full else (8, 20))),
    ),
    Workload(
        "RK45",
        numerics.rk45,
        numerics.rk45_by_hand,
        lambda full: (jnp.array([2.0, 0.0]), jnp.float32(10 if full else 1), jnp.float32(1e-4)),
        1e-2,
    ),
    Workload(
        "transformer block",
        layers.transformer,
        layers.transformer_by_hand,
        lambda full: layers.transformer_arguments(*((128, 256, 8) if full else (6, 8, 2))),
        1e-3,
    ),
    *map(_steps, (10, 100, 1000)),
)
