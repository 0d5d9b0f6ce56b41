"""Compiled graphs that outlive the process: JAX's persistent cache, behind one option."""

from __future__ import annotations

import os

import jax

from d2s.errors import Error, wrong_option

#: the environment's way to ask for it
VARIABLE = "D2S_CACHE"


def keep_in(folder: str | os.PathLike[str] | None) -> None:
    """Keep compiled graphs in a folder from now on; None ends that."""
    if folder is None:
        jax.config.update("jax_compilation_cache_dir", None)
        return
    if not isinstance(folder, str | os.PathLike):
        raise wrong_option(f"set_cache: {folder!r} is no folder", "the path of a folder, or None")
    path = os.path.abspath(os.path.expanduser(os.fspath(folder)))
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Error(
            f"compiled graphs cannot be kept in {path} ({error.strerror})",
            code="D2S033",
            fix="a folder that can be written",
        ) from None
    jax.config.update("jax_compilation_cache_dir", path)
    # JAX leaves out what compiles in less than a second; a program has many of those
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


def from_environment() -> None:
    if os.environ.get(VARIABLE):
        keep_in(os.environ[VARIABLE])
