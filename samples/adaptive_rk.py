"""A ball on a trampoline, integrated by Bogacki-Shampine steps that choose their own size.

`while t < t_end` becomes one loop of the graph; accepting or rejecting a step is an `if`/`else`
in it, giving up a `return`. The force has an `if` of its own, converted when it is called.
"""

import jax.numpy as jnp

import d2s

SMALLEST_STEP = 1e-3


def slope(y):
    """Derivative of (height, speed): gravity, and below zero the pull of the cloth."""
    height, speed = y
    force = -9.81
    if height < 0:
        force = force - 80.0 * height - 0.5 * speed
    return jnp.stack([speed, force])


@d2s.to_static
def integrate(y, t_end, tolerance):
    """Return `y` at the end, the accepted and rejected steps, and whether it got to `t_end`."""
    t, h = 0.0, 0.1
    accepted = rejected = 0
    k1 = slope(y)
    while t < t_end:
        if h < SMALLEST_STEP:
            return y, accepted, rejected, False
        last = t + h >= t_end
        if last:
            h = t_end - t

        k2 = slope(y + h * k1 / 2)
        k3 = slope(y + h * k2 * 3 / 4)
        y_new = y + h * (2 * k1 + 3 * k2 + 4 * k3) / 9
        k4 = slope(y_new)
        error = jnp.max(jnp.abs(h * (-5 * k1 + 6 * k2 + 8 * k3 - 9 * k4) / 72))

        if error <= tolerance:
            t = t_end if last else t + h
            y, k1 = y_new, k4
            accepted += 1
        else:
            rejected += 1
        h = h * jnp.clip(0.9 * (tolerance / jnp.maximum(error, 1e-9)) ** (1 / 3), 0.2, 3.0)
    return y, accepted, rejected, True


ENTRY = integrate


def examples():
    """Arguments that take different paths through `integrate`."""
    return [
        (jnp.array([1.0, 0.0]), 0.4, 1e-3),  # in the air all the time
        (jnp.array([1.0, 0.0]), 1.0, 1e-3),  # bounces: some steps are rejected
        (jnp.array([1.0, 0.0]), 0.0, 1e-3),  # no step at all
        (jnp.array([-0.5, 0.0]), 1.0, 1e-8),  # too strict: gives up
    ]


if __name__ == "__main__":
    for y, t_end, tolerance in examples():
        (height, speed), accepted, rejected, done = integrate(y, t_end, tolerance)
        outcome = "done" if done else "gave up"
        print(
            f"until {t_end}, tolerance {tolerance:g}: {outcome}, height {height:.3f}, "
            f"speed {speed:.3f}, {accepted} steps accepted, {rejected} rejected"
        )
