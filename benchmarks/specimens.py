"""The programs that are measured, and the hand-written graphs they are measured against."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import d2s

# -- on plain Python values -----------------------------------------------------------------------


def branch_in_loop(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            total += i
        else:
            total -= 1
    return total


def leave_loop(n: int) -> int:
    total = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if total > 1_000_000_000:
            break
        total += i
    return total


def call_in_loop(n: int) -> int:
    total = 0
    for i in range(n):
        total += small(i, total)
    return total


def small(a: int, b: int) -> int:
    return a * 2 - b


# -- loop nests; made anew each time, so that nothing of an earlier trace is known -----------------


def for_nest() -> Callable[..., Any]:
    def nest(n: Any, x: Any) -> Any:
        total = 0.0
        for a in range(n):
            for b in range(n):
                for c in range(n):
                    for d in range(n):
                        for e in range(n):
                            total = total + x * (a + b + c + d + e)
        return total

    return nest


def lax_for_nest() -> Callable[..., Any]:
    def nest(n: Any, x: Any) -> Any:
        def level(depth: int, positions: Any, total: Any) -> Any:
            if depth == 0:
                return total + x * positions
            return jax.lax.fori_loop(0, n, lambda i, t: level(depth - 1, positions + i, t), total)

        return level(5, 0, 0.0)

    return nest


def while_nest() -> Callable[..., Any]:
    def nest(n: Any, x: Any) -> Any:
        total = 0.0
        a = 0.0
        while a < n:
            b = 0.0
            while b < n:
                c = 0.0
                while c < n:
                    d = 0.0
                    while d < n:
                        e = 0.0
                        while e < n:
                            total = total + x * (a + b + c + d + e)
                            e = e + 1.0
                        d = d + 1.0
                    c = c + 1.0
                b = b + 1.0
            a = a + 1.0
        return total

    return nest


def lax_while_nest() -> Callable[..., Any]:
    def nest(n: Any, x: Any) -> Any:
        def level(depth: int, positions: Any, total: Any) -> Any:
            if depth == 0:
                return total + x * positions

            def step(state: Any) -> Any:
                at, inner = state
                return at + 1.0, level(depth - 1, positions + at, inner)

            return jax.lax.while_loop(lambda state: state[0] < n, step, (0.0, total))[1]

        return level(5, 0.0, 0.0)

    return nest


# -- compiled calls -------------------------------------------------------------------------------


def one_array(x: Any) -> Any:
    return x + 1.0


def arrays_and_number(x: Any, y: Any, rate: float) -> Any:
    return x + y * rate


# -- text for a module to convert: mixed control flow, 14 lines and a blank one each ---------------


def search(items: list[float], limit: float, start: int = 0) -> float:
    best, seen = -1.0, 0
    for item in items:
        seen += 1
        if seen <= start:
            continue
        if item > limit and best < 0:
            best = item
        elif item == limit or best > limit:
            break
        else:
            best = max(best, item / 2)
    assert seen >= 0, f"{seen} items"
    return best


def iterate(x: float, tolerance: float, rounds: int) -> tuple[float, int]:
    step, count = 1.0, 0
    while abs(step) > tolerance:
        count += 1
        if count > rounds:
            return x, -1
        step = (x * x - 2.0) / (2.0 * x)
        x = x - step
        if x < 0:
            x = -x
            if step < 0:
                return x, count
    done = count < rounds and x > 0
    return x, count if done else 0


def table(rows: list[list[float]], scale: float) -> dict[str, float]:
    sums = {"total": 0.0, "peak": 0.0}
    for row in rows:
        inside = 0.0
        for value in row:
            scaled = value * scale
            if 0.0 < scaled <= 1.0:
                inside += scaled
            elif not scaled:
                break
        sums["total"] += inside
        sums["peak"] = inside if inside > sums["peak"] else sums["peak"]
    squares = [value * value for row in rows for value in row if value > 0]
    return {**sums, "squares": sum(squares)}


def guarded(values: list[float], divisor: float) -> float:
    def share(value: float) -> float:
        if divisor == 0 or value < 0:
            raise ValueError(f"no share of {value}")
        return value / divisor

    total = 0.0
    for value in values:
        try:
            total = total + share(value)
        except ValueError:
            total = total - 1.0
    values = [*values, total]
    return sum(map(lambda x: x * total if x > 0 else 0.0, values))


class Layer:
    def __init__(self) -> None:
        self.weight, self.bias = jnp.eye(4), jnp.zeros(4)


class Network:
    """A hundred arrays in fifty objects."""

    def __init__(self) -> None:
        self.layers = [Layer() for _ in range(50)]
        self.training = True

    def __call__(self, x: jax.Array) -> jax.Array:
        for layer in self.layers:
            x = jnp.tanh(x @ layer.weight + layer.bias)
        return x * 2 if self.training else x

    def step(self, x: jax.Array) -> jax.Array:
        for layer in self.layers:
            layer.bias = layer.bias + 0.1
            layer.weight = layer.weight * 0.9
        return self(x)


def of_leaves(leaves: list[tuple[jax.Array, jax.Array]], x: jax.Array) -> jax.Array:
    for weight, bias in leaves:
        x = jnp.tanh(x @ weight + bias)
    return x * 2


def step_of_leaves(leaves: list[tuple[jax.Array, jax.Array]], x: jax.Array) -> Any:
    new = [(weight * 0.9, bias + 0.1) for weight, bias in leaves]
    return of_leaves(new, x), new


def checked(x: jax.Array, count: jax.Array) -> jax.Array:
    for n in range(count):
        x = x * 0.999 + n
        if x < 0:
            raise ValueError(f"{x} after {n}")
    return x


def unchecked(x: jax.Array, count: jax.Array) -> jax.Array:
    for n in range(count):
        x = x * 0.999 + n
    return x


MIXED = (search, iterate, table, guarded)


# -- gradients ------------------------------------------------------------------------------------


def left_early(limit: int) -> Any:
    def run(w: Any, x: Any, trips: Any) -> Any:
        for n in range(limit):
            if n >= trips:
                break
            x = jnp.tanh(w @ x)
        return x.sum()

    return run


def lax_scan(trips: int) -> Any:
    def step(x: Any, w: Any) -> Any:
        return jnp.tanh(w @ x), None

    def run(w: Any, x: Any) -> Any:
        return jax.lax.scan(lambda x, _: step(x, w), x, length=trips)[0].sum()

    return run


# -- a model of many layers, each a method with an `if` ------------------------------------------


class Gate:
    def __init__(self, n: int) -> None:
        self.weight, self.bias, self.limit = jnp.eye(4) * n, jnp.zeros(4), 0.5

    def __call__(self, x: jax.Array) -> jax.Array:
        x = jnp.tanh(x @ self.weight + self.bias)
        if x.sum() > self.limit:
            x = x * 0.5
        return x

    def by_hand(self, x: jax.Array) -> jax.Array:
        x = jnp.tanh(x @ self.weight + self.bias)
        return jax.lax.cond(x.sum() > self.limit, lambda x: x * 0.5, lambda x: x, x)


GATES = [Gate(n) for n in range(100)]


def through_gates() -> Callable[..., Any]:
    def run(x: Any) -> Any:
        for gate in d2s.unroll(GATES):
            x = gate(x)
        return x

    return run


def lax_through_gates() -> Callable[..., Any]:
    def run(x: Any) -> Any:
        for gate in GATES:
            x = gate.by_hand(x)
        return x

    return run


# -- the first call -------------------------------------------------------------------------------


def weights() -> tuple[list[Any], Any]:
    """Layers of different widths, so that each has operations of its own."""
    sizes = [32 + 4 * n for n in range(9)]
    layers = [jnp.full((one, other), 0.1) for one, other in itertools.pairwise(sizes)]
    return layers, jnp.ones((8, sizes[0]))


def deep_network(layers: list[Any], x: Any) -> Any:
    """The gradient of a network whose layers branch and repeat as their values say."""

    def loss(layers: list[Any]) -> Any:
        y = x
        for layer in layers:
            y = jnp.tanh(y @ layer)
            if y.mean() > 0.5:
                y = y - y.mean(axis=1, keepdims=True)
            else:
                y = jax.nn.softmax(y)
                y = y * y.std()
            for _ in range(3):
                if jnp.abs(y).max() < 0.1:
                    break
                y = y * 0.9 + jnp.sin(y)
        return (y**2).sum()

    return jax.value_and_grad(loss)(layers)
