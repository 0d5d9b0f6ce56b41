"""Measuring two sides in turns: a machine that is busy with something else slows both."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

import jax


def seconds(run: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    run()
    return clock() - start


def in_turns(
    one: Callable[[], float], other: Callable[[], float], turns: int
) -> list[tuple[float, float]]:
    """Times of both sides, turn by turn; who is first changes."""
    one(), other()
    times = []
    for turn in range(turns):
        if turn % 2:
            second, first = other(), one()
        else:
            first, second = one(), other()
        times.append((first, second))
    return times


def per_call(function: Any, args: Sequence[Any], count: int = 1000) -> Callable[[], float]:
    def many() -> None:
        for _ in range(count):
            result = function(*args)
        jax.block_until_ready(result)

    return lambda: seconds(many) / count
