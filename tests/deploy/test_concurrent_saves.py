"""Functions saved in several threads at once, and beside others who use `jax.export`."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import pytest

import d2s


def is_five(x):
    return x * 2 if x.shape[0] == 5 else x


def is_none(x):
    return x * 2 if x.shape[0] == 0 else x + 1


def answers() -> list[Any]:
    """What JAX says of symbolic dimensions by itself: it looks for them in tables."""
    one, other = jax.export.symbolic_shape("a, b")
    table = {one: "a", other: "b"}
    return [one == 5, one != 5, one == other, bool(one), bool(one - 5), table[one], {one, other}]


def while_saving(function: Callable[[], Any], path: Any) -> Any:
    """What a function gives in another thread while this one traces a program for a file."""
    traced, asked = threading.Lock(), threading.Lock()
    traced.acquire()
    asked.acquire()

    @d2s.do_not_convert
    def wait() -> None:  # the program is traced more than once
        if traced.locked():
            traced.release()
        assert asked.acquire(timeout=60)
        asked.release()

    def program(x):
        wait()
        return is_none(x)

    def ask() -> Any:
        try:
            assert traced.acquire(timeout=60)
            traced.release()
            return function()
        finally:
            asked.release()

    with ThreadPoolExecutor(1) as pool:
        found = pool.submit(ask)
        d2s.save(program, path, "f32[n, 3]")
        return found.result()


def test_other_threads_keep_the_answers_of_jax(tmp_path):
    found = while_saving(answers, tmp_path / "f.d2s")
    assert found[:6] == [False, True, False, True, True, "a"] and len(found[6]) == 2
    assert answers()[:6] == found[:6]
    assert d2s.load(tmp_path / "f.d2s")(jnp.ones((2, 3))).tolist() == [[2.0] * 3] * 2


def test_other_threads_export_meanwhile(tmp_path):
    def export():
        (n,) = jax.export.symbolic_shape("n")
        kind = jax.ShapeDtypeStruct((n, 3), jnp.float32)
        made = jax.export.export(jax.jit(lambda x: is_five(x).sum(0)))(kind)
        return made.call(jnp.ones((5, 3))).tolist(), made.mlir_module()

    alone = export()
    beside = while_saving(export, tmp_path / "f.d2s")
    assert beside[0] == alone[0] == [5.0] * 3  # JAX has taken 5 for another size
    assert __file__ in beside[1]  # and names the files as it did


def test_saves_at_the_same_time(tmp_path):
    regex = jax.config.jax_hlo_source_file_canonicalization_regex
    limit = jax.config.jax_traceback_in_locations_limit

    def save(n):
        path = tmp_path / f"{n}.d2s"
        if n % 2:
            with pytest.raises(d2s.Error) as caught:
                d2s.save(is_five, path, "f32[b, 3]")
            return caught.value.code
        d2s.save(is_none, path, "f32[b, 3]", source=n % 4 == 0)
        return d2s.load(path)(jnp.ones((n + 1, 3))).tolist()

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(save, range(12)))
    assert found == ["D2S063" if n % 2 else [[2.0] * 3] * (n + 1) for n in range(12)]
    assert jax.config.jax_hlo_source_file_canonicalization_regex == regex
    assert jax.config.jax_traceback_in_locations_limit == limit
