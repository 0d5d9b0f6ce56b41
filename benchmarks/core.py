"""What d2s costs: conversion, plain Python values, tracing, compiled calls; one table.

Two sides of a comparison are measured in turns, and the median of the turns counts: a machine that
is busy with something else slows both.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import json
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

if not __package__:  # run by its path
    sys.path[0] = str(Path(__file__).resolve().parents[1])

import jax
import jax.numpy as jnp

import d2s
from benchmarks import specimens
from benchmarks.timing import in_turns, per_call, seconds

FUNCTIONS = 20  # of 15 lines, blank ones counted


@dataclass(frozen=True)
class Row:
    """One measurement; `detail` says what it was made from."""

    name: str
    measured: float
    limit: float
    unit: str
    detail: str

    @property
    def ok(self) -> bool:
        return self.measured <= self.limit


def ratio(name: str, limit: float, times: list[tuple[float, float]]) -> Row:
    ours, theirs = (median(side) * 1e3 for side in zip(*times, strict=True))
    value = median(one / other for one, other in times)
    return Row(name, value, limit, "x", f"{ours:.3g} ms against {theirs:.3g} ms")


# -- conversion -----------------------------------------------------------------------------------


def conversion(turns: int = 9) -> Row:
    """Functions of a module that d2s has not seen; the first module fills the templates.

    There is nothing to compare with, so it is the time of the processor that counts.
    """
    text = module_text()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / f"mixed_{n}.py" for n in range(turns + 1)]
        whole = median([convert_module(path, text) for path in files][1:]) * 1e3
    lines = text.count("\n")
    name = "conversion, per source line"
    return Row(name, whole / lines, 0.4, "ms", f"{whole:.3g} ms for {lines} lines")


def convert_module(path: Path, text: str) -> float:
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = [value for value in vars(module).values() if inspect.isfunction(value)]

    def convert_all() -> None:
        for function in functions:
            d2s.convert(function)

    return seconds(convert_all, time.process_time)


def module_text() -> str:
    parts: list[str] = []
    for n in range(FUNCTIONS):
        function = specimens.MIXED[n % len(specimens.MIXED)]
        name = function.__name__
        source = inspect.getsource(function).replace(f"def {name}(", f"def {name}_{n}(")
        parts.append(source + "\n")
    return "".join(parts)


# -- plain Python values --------------------------------------------------------------------------


def plain_values(turns: int = 21) -> list[Row]:
    cases: list[tuple[str, Callable[[int], int], float]] = [
        ("plain values: loop with if/else", specimens.branch_in_loop, 10),
        ("plain values: loop with break, continue", specimens.leave_loop, 20),
        ("plain values: loop of small calls", specimens.call_in_loop, 10),
    ]
    return [
        ratio(name, limit, in_turns(on_plain(d2s.convert(f)), on_plain(f), turns))
        for name, f, limit in cases
    ]


def on_plain(function: Callable[[int], int], count: int = 20_000) -> Callable[[], float]:
    return lambda: seconds(lambda: function(count))


# -- tracing --------------------------------------------------------------------------------------


def tracing(turns: int = 11) -> list[Row]:
    cases = [
        ("trace: 5 nested for", specimens.for_nest, specimens.lax_for_nest, jnp.int32(2)),
        ("trace: 5 nested while", specimens.while_nest, specimens.lax_while_nest, jnp.float32(2)),
    ]
    rows = []
    for name, make, by_hand, count in cases:
        args = (count, jnp.float32(0.5))
        ours, theirs = jax.jit(d2s.convert(make()))(*args), jax.jit(by_hand())(*args)
        assert abs(ours - theirs) < 1e-3, f"{name}: {ours} is not {theirs}"
        one, other = traced(make, args, d2s.convert), traced(by_hand, args, lambda f: f)
        rows.append(ratio(name, 2, in_turns(one, other, turns)))
    x = (jnp.ones(4),)
    one = traced(specimens.through_gates, x, d2s.convert)
    other = traced(specimens.lax_through_gates, x, lambda f: f)
    return [*rows, ratio("trace: 100 layers with an if", 1.3, in_turns(one, other, turns))]


def traced(
    make: Callable[[], Any], args: Sequence[Any], prepare: Callable[[Any], Any]
) -> Callable[[], float]:
    def once() -> float:
        function = prepare(make())
        return seconds(lambda: jax.make_jaxpr(function)(*args))

    return once


# -- compiled calls -------------------------------------------------------------------------------


def calls(turns: int = 31) -> list[Row]:
    x, y = jnp.ones(4), jnp.ones(4)
    cases: list[tuple[str, Callable[..., Any], tuple[Any, ...]]] = [
        ("call: one array", specimens.one_array, (x,)),
        ("call: two arrays and a float", specimens.arrays_and_number, (x, y, 0.5)),
    ]
    rows = []
    for name, f, args in cases:
        times = in_turns(per_call(d2s.to_static(f), args), per_call(jax.jit(f), args), turns)
        ours, theirs = (median(side) * 1e6 for side in zip(*times, strict=True))
        extra = median(one - other for one, other in times) * 1e6
        rows.append(Row(name, extra, 2, "us", f"{ours:.3g} us against {theirs:.3g} us"))
    return rows


# -- state and checks -----------------------------------------------------------------------------


def state(turns: int = 21) -> list[Row]:
    """A hundred arrays in objects, against the same arrays handed to `jax.jit`."""
    x = jnp.ones(4)
    network = specimens.Network()
    leaves = [(layer.weight, layer.bias) for layer in network.layers]
    read = in_turns(
        per_call(d2s.to_static(network), (x,), 200),
        per_call(jax.jit(specimens.of_leaves), (leaves, x), 200),
        turns,
    )
    changed = d2s.to_static(network.step)
    by_hand = jax.jit(specimens.step_of_leaves)

    def handed_on() -> Callable[[Any], Any]:
        held = [leaves]

        def step(x: Any) -> Any:
            result, held[0] = by_hand(held[0], x)
            return result

        return step

    written = in_turns(per_call(changed, (x,), 200), per_call(handed_on(), (x,), 200), turns)
    return [
        ratio("state: 100 arrays read", 2, read),
        ratio("state: 100 arrays read and written", 2, written),
    ]


def checks(turns: int = 21) -> Row:
    """A loop that may raise in every trip, against the same loop without the check."""
    args = jnp.float32(1), jnp.int32(100_000)
    one, other = d2s.to_static(specimens.checked), d2s.to_static(specimens.unchecked)
    times = in_turns(per_call(one, args, 20), per_call(other, args, 20), turns)
    return ratio("checks: raise in a loop", 2, times)


# -- gradients ------------------------------------------------------------------------------------


def gradients(turns: int = 31) -> list[Row]:
    """A loop that is left early, with room for four times its trips, against a scan of as many."""
    w, x = jax.random.normal(jax.random.key(0), (64, 64)) / 8, jnp.ones(64)
    rows = []
    for trips in (100, 1000):
        left = jax.jit(jax.value_and_grad(d2s.convert(specimens.left_early(4 * trips)), (0, 1)))
        scan = jax.jit(jax.value_and_grad(specimens.lax_scan(trips), (0, 1)))
        ours, theirs = left(w, x, trips), scan(w, x)
        same = jax.tree.map(lambda a, b: bool(jnp.allclose(a, b, atol=1e-4)), ours, theirs)
        assert all(jax.tree.leaves(same)), "the gradients differ"
        one, other = per_call(left, (w, x, trips), 4), per_call(scan, (w, x), 4)
        name = f"gradient: {trips} trips, left early"
        rows.append(ratio(name, 2, in_turns(one, other, turns)))
    return rows


# -- the table ------------------------------------------------------------------------------------


def table(rows: Sequence[Row]) -> str:
    lines = [f"{'':40} {'measured':>12} {'limit':>9}"]
    for row in rows:
        measured, limit = f"{row.measured:.2f} {row.unit}", f"{row.limit:g} {row.unit}"
        state = "ok" if row.ok else "over"
        lines.append(f"{row.name:40} {measured:>12} {limit:>9}  {state:4}  {row.detail}")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="fail when a limit is exceeded")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there as well")
    options = parser.parse_args()
    rows = [conversion(), *plain_values(), *tracing(), *calls(), *state(), checks(), *gradients()]
    print(table(rows))
    if options.json is not None:
        versions = {"python": platform.python_version(), "jax": jax.__version__}
        content = {**versions, "rows": [{**asdict(row), "ok": row.ok} for row in rows]}
        options.json.write_text(json.dumps(content, indent=2) + "\n")
    return int(options.check and not all(row.ok for row in rows))


if __name__ == "__main__":
    sys.exit(main())
