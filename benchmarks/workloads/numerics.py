"""Scalar loops, fractals, a minimizer and an integrator."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

# -- Collatz --------------------------------------------------------------------------------------


def collatz(n: Any) -> Any:
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps


def collatz_by_hand(n: Any) -> Any:
    def step(carry: Any) -> Any:
        n, steps = carry
        return lax.cond(n % 2 == 0, lambda: n // 2, lambda: 3 * n + 1), steps + 1

    return lax.while_loop(lambda carry: carry[0] != 1, step, (n, 0))[1]


# -- Newton ---------------------------------------------------------------------------------------


def newton(x: Any, target: Any) -> Any:
    step = jnp.float32(1)
    while abs(step) > 1e-6 * abs(x):
        step = (x**3 - target) / (3 * x**2)
        x = x - step
    return x


def newton_by_hand(x: Any, target: Any) -> Any:
    def body(carry: Any) -> Any:
        x, _ = carry
        step = (x**3 - target) / (3 * x**2)
        return x - step, step

    def goes_on(carry: Any) -> Any:
        x, step = carry
        return abs(step) > 1e-6 * abs(x)

    return lax.while_loop(goes_on, body, (x, jnp.float32(1)))[0]


# -- Mandelbrot -----------------------------------------------------------------------------------


def mandelbrot(grid: Any, limit: Any) -> Any:
    z = jnp.zeros_like(grid)
    counts = jnp.zeros(grid.shape, jnp.int32)
    for _ in range(limit):
        inside = abs(z) <= 2
        if not jnp.any(inside):
            break
        z = jnp.where(inside, z * z + grid, z)
        counts = counts + inside
    return counts


def mandelbrot_by_hand(grid: Any, limit: Any) -> Any:
    def goes_on(carry: Any) -> Any:
        n, z, _ = carry
        return (n < limit) & jnp.any(abs(z) <= 2)

    def step(carry: Any) -> Any:
        n, z, counts = carry
        inside = abs(z) <= 2
        return n + 1, jnp.where(inside, z * z + grid, z), counts + inside

    start = 0, jnp.zeros_like(grid), jnp.zeros(grid.shape, jnp.int32)
    return lax.while_loop(goes_on, step, start)[2]


def mandelbrot_arguments(size: int, limit: int) -> tuple[Any, ...]:
    x, y = jnp.linspace(-2.0, 0.6, size), jnp.linspace(-1.2, 1.2, size)
    return x[None, :] + 1j * y[:, None], jnp.int32(limit)


# -- BFGS -----------------------------------------------------------------------------------------


def rosenbrock(x: Any) -> Any:
    return jnp.sum(100.0 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)


def bfgs(x: Any, rounds: Any) -> Any:
    inverse = eye = jnp.eye(x.shape[0])
    value, gradient = jax.value_and_grad(rosenbrock)(x)
    for _ in range(rounds):
        if jnp.max(abs(gradient)) < 1e-4:
            break
        direction = -inverse @ gradient
        slope = gradient @ direction
        length = 1.0
        for _ in range(30):
            if rosenbrock(x + length * direction) <= value + 1e-4 * length * slope:
                break
            length = length / 2
        step = length * direction
        x = x + step
        before = gradient
        value, gradient = jax.value_and_grad(rosenbrock)(x)
        change = gradient - before
        if change @ step > 1e-10:
            rho = 1.0 / (change @ step)
            side = eye - rho * jnp.outer(step, change)
            inverse = side @ inverse @ side.T + rho * jnp.outer(step, step)
    return x, value


def bfgs_by_hand(x: Any, rounds: Any) -> Any:
    eye = jnp.eye(x.shape[0])

    def goes_on(carry: Any) -> Any:
        n, _, _, gradient, _ = carry
        return (n < rounds) & (jnp.max(abs(gradient)) >= 1e-4)

    def iterate(carry: Any) -> Any:
        n, x, value, before, inverse = carry
        direction = -inverse @ before
        slope = before @ direction

        def too_long(search: Any) -> Any:
            m, length = search
            bound = value + 1e-4 * length * slope
            return (m < 30) & ~(rosenbrock(x + length * direction) <= bound)

        _, length = lax.while_loop(too_long, lambda s: (s[0] + 1, s[1] / 2), (0, 1.0))
        step = length * direction
        x = x + step
        value, gradient = jax.value_and_grad(rosenbrock)(x)
        change = gradient - before

        def updated() -> Any:
            rho = 1.0 / (change @ step)
            side = eye - rho * jnp.outer(step, change)
            return side @ inverse @ side.T + rho * jnp.outer(step, step)

        inverse = lax.cond(change @ step > 1e-10, updated, lambda: inverse)
        return n + 1, x, value, gradient, inverse

    value, gradient = jax.value_and_grad(rosenbrock)(x)
    _, x, value, _, _ = lax.while_loop(goes_on, iterate, (0, x, value, gradient, eye))
    return x, value


def bfgs_arguments(size: int, rounds: int) -> tuple[Any, ...]:
    return jnp.full(size, -1.0), jnp.int32(rounds)


# -- an integrator that chooses its steps (Dormand and Prince) -------------------------------------


def field(y: Any) -> Any:
    return jnp.stack([y[1], 5.0 * (1.0 - y[0] ** 2) * y[1] - y[0]])


def stages(y: Any, h: Any) -> tuple[Any, Any]:
    """The new value and an estimate of its error."""
    k1 = field(y)
    k2 = field(y + h * k1 / 5)
    k3 = field(y + h * (3 * k1 + 9 * k2) / 40)
    k4 = field(y + h * (44 * k1 / 45 - 56 * k2 / 15 + 32 * k3 / 9))
    k5 = field(y + h * (19372 * k1 - 76080 * k2 + 64448 * k3 - 1908 * k4) / 6561)
    k6 = field(
        y
        + h * (9017 * k1 / 3168 - 355 * k2 / 33 + 46732 * k3 / 5247 + 49 * k4 / 176)
        - h * 5103 * k5 / 18656
    )
    new = y + h * (
        35 * k1 / 384 + 500 * k3 / 1113 + 125 * k4 / 192 - 2187 * k5 / 6784 + 11 * k6 / 84
    )
    k7 = field(new)
    low = 71 * k1 / 57600 - 71 * k3 / 16695 + 71 * k4 / 1920
    error = h * (low - 17253 * k5 / 339200 + 22 * k6 / 525 - k7 / 40)
    return new, jnp.max(abs(error))


def rk45(y: Any, end: Any, tolerance: Any) -> Any:
    t, h = jnp.float32(0), jnp.float32(0.01)
    accepted = rejected = 0
    while t < end:
        h = jnp.minimum(h, end - t)
        new, error = stages(y, h)
        if error <= tolerance:
            t = t + h
            y = new
            accepted += 1
        else:
            rejected += 1
        h = h * jnp.clip(0.9 * (tolerance / jnp.maximum(error, 1e-12)) ** 0.2, 0.2, 5.0)
    return y, accepted, rejected


def rk45_by_hand(y: Any, end: Any, tolerance: Any) -> Any:
    def step(carry: Any) -> Any:
        t, h, y, accepted, rejected = carry
        h = jnp.minimum(h, end - t)
        new, error = stages(y, h)
        t, y, accepted, rejected = lax.cond(
            error <= tolerance,
            lambda: (t + h, new, accepted + 1, rejected),
            lambda: (t, y, accepted, rejected + 1),
        )
        h = h * jnp.clip(0.9 * (tolerance / jnp.maximum(error, 1e-12)) ** 0.2, 0.2, 5.0)
        return t, h, y, accepted, rejected

    start = jnp.float32(0), jnp.float32(0.01), y, 0, 0
    return lax.while_loop(lambda carry: carry[0] < end, step, start)[2:]


def rk45_arguments(end: float) -> tuple[Any, ...]:
    return jnp.array([2.0, 0.0]), jnp.float32(end), jnp.float32(1e-4)
