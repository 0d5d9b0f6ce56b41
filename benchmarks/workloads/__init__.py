"""Programs that people write: plain, and with `lax` by hand; both compute the same."""

from __future__ import annotations

import importlib.util
import inspect
import types
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
    return sum(1 for line in inspect.getsource(function).splitlines() if line.strip())


def fresh() -> tuple[Workload, ...]:
    """The same programs as functions that nobody has seen yet."""
    return _table(*map(_copy, (layers, numerics, sequences, training)))


def _copy(module: types.ModuleType) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(module.__name__, str(module.__file__))
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


def _table(layers: Any, numerics: Any, sequences: Any, training: Any) -> tuple[Workload, ...]:
    def by_size(make: Any, full: Any, small: Any) -> Callable[[bool], tuple[Any, ...]]:
        return lambda is_full: make(*(full if is_full else small))

    def always(*values: Any) -> Callable[[bool], tuple[Any, ...]]:
        return lambda is_full: values

    rnns = [
        Workload(
            f"dynamic RNN {batch}x{time}",
            sequences.rnn,
            sequences.rnn_by_hand,
            by_size(sequences.rnn_arguments, (batch, time, 256), (3, time // 8, 4)),
        )
        for batch in (32, 64)
        for time in (64, 128)
    ]
    sgds = [
        Workload(
            f"SGD, {name}",
            training.sgd,
            training.sgd_by_hand,
            by_size(training.sgd_arguments, (hidden, 200, 1000), (hidden, 5, 20)),
            1e-3,
        )
        for name, hidden in (("linear", 0), ("MLP", 128))
    ]
    steps = [
        Workload(
            f"for over {count} steps",
            layers.steps(count),
            layers.steps_by_hand(count),
            by_size(layers.steps_arguments, (64,), (4,)),
        )
        for count in (10, 100, 1000)
    ]
    return (
        *rnns,
        *sgds,
        Workload(
            "beam search",
            sequences.beam_search,
            sequences.beam_search_by_hand,
            by_size(sequences.beam_search_arguments, (1000, 8, 32), (20, 3, 8)),
        ),
        Workload(
            "BFGS",
            numerics.bfgs,
            numerics.bfgs_by_hand,
            by_size(numerics.bfgs_arguments, (10, 200), (2, 200)),
            1e-2,
        ),
        Workload(
            "MAML",
            training.maml,
            training.maml_by_hand,
            by_size(training.maml_arguments, (200, 10, 40), (10, 2, 4)),
            1e-3,
        ),
        Workload(
            "seq2seq",
            sequences.seq2seq,
            sequences.seq2seq_by_hand,
            by_size(sequences.seq2seq_arguments, (32, 64, 256, 1000), (3, 12, 4, 9)),
            1e-3,
        ),
        Workload("Collatz", numerics.collatz, numerics.collatz_by_hand, always(jnp.int32(97))),
        Workload(
            "Newton",
            numerics.newton,
            numerics.newton_by_hand,
            always(jnp.float32(100.0), jnp.float32(2.0)),
        ),
        Workload(
            "Mandelbrot",
            numerics.mandelbrot,
            numerics.mandelbrot_by_hand,
            by_size(numerics.mandelbrot_arguments, (400, 100), (8, 20)),
        ),
        Workload(
            "RK45",
            numerics.rk45,
            numerics.rk45_by_hand,
            by_size(numerics.rk45_arguments, (10,), (1,)),
            1e-2,
        ),
        Workload(
            "transformer block",
            layers.transformer,
            layers.transformer_by_hand,
            by_size(layers.transformer_arguments, (128, 256, 8), (6, 8, 2)),
            1e-3,
        ),
        *steps,
    )


WORKLOADS = _table(layers, numerics, sequences, training)
