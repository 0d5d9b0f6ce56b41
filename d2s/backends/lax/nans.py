"""``checks="nan"``: the user's line that made the first NaN of a call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax._src import source_info_util
from jax.experimental import checkify

from d2s.errors import NanFound, Site
from d2s.libraries import is_library_file


def checked(graph: Callable[..., Any], **options: Any) -> tuple[Any, Callable[..., Any]]:
    """The jitted graph with a check behind every operation, and how to run it."""
    jitted = jax.jit(checkify.checkify(graph, errors=checkify.nan_checks), **options)

    def run(*leaves: Any) -> Any:
        error, result = jitted(*leaves)
        if any(isinstance(leaf, jax.core.Tracer) for leaf in jax.tree_util.tree_leaves(error)):
            return result  # inside a transformation nobody can be told
        found: Any = error.get_exception()
        if found is not None:
            raise NanFound(
                f"`{found.prim}` made a NaN",
                site=_site(found.traceback_info),
                fix="a guard of the operand, or a look at its values with .watch(...)",
            )
        return result

    return jitted, run


def _site(traceback: Any) -> Site | None:
    for frame in source_info_util.user_frames(traceback):
        if not is_library_file(frame.file_name):
            name = frame.function_name.rpartition(".<locals>.")[2]
            end = frame.end_column if frame.end_line == frame.start_line else 0
            return Site(frame.file_name, frame.start_line, name, frame.start_column, end)
    return None
