"""Watched variables in a graph: a callback tells each value when the graph runs.

    total += x    ->    the same, and jax.debug.callback(tell, total) with the name and the line

Only a function that `d2s.watch` has converted has such callbacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.trees import leaves, map_leaves
from d2s.backends.lax.regions.regions import is_traced
from d2s.runtime.watching import Seen


def observe(name: str, line: int, value: Any, tell: Callable[[Seen], None]) -> None:
    """Tell a value on every run of the graph, even a value that is known while it is built."""
    given = [leaf for leaf in leaves(value) if is_traced(leaf)]

    def run(*arrived: Any) -> None:
        values = (np.asarray(value)[()] for value in arrived)
        shown = map_leaves(lambda leaf: next(values) if is_traced(leaf) else leaf, value)
        tell(Seen(name, line, shown))

    jax.debug.callback(run, *given, ordered=True)
