"""Newton's method for a root of x**3 - a*x - 2, with a tolerance and a limit on the steps.

A `for` over a traced range with two early `return`s becomes a loop that stops by itself; the
derivative comes from `jax.value_and_grad`, which works as usual inside the static function.
"""

import jax
import jax.numpy as jnp

import d2s


def cubic(x, a):
    """The function whose root is wanted."""
    return x**3 - a * x - 2.0


@d2s.to_static
def newton(x, a, tolerance, max_steps):
    """Return the last `x`, the number of steps taken, and whether `x` is a root."""
    for step in range(max_steps):
        value, slope = jax.value_and_grad(cubic)(x, a)
        if abs(value) < tolerance:
            return x, step, True
        if abs(slope) < 1e-6:  # a flat spot: no next point
            return x, step, False
        x = x - value / slope
    return x, max_steps, False


ENTRY = newton


def examples():
    """Arguments that take different paths through `newton`."""
    return [
        (jnp.float32(3.0), jnp.float32(1.0), 1e-3, 20),  # converges
        (jnp.float32(2.0), jnp.float32(3.0), 1e-3, 20),  # starts on a root
        (jnp.float32(1.0), jnp.float32(3.0), 1e-3, 20),  # starts where the slope is zero
        (jnp.float32(80.0), jnp.float32(1.0), 1e-3, 4),  # runs out of steps
        (jnp.float32(3.0), jnp.float32(1.0), 1e-3, 0),  # may not take a step
    ]


if __name__ == "__main__":
    for arguments in examples():
        x, steps, found = newton(*arguments)
        print(f"x = {x:9.5f} after {steps} steps:", "a root" if found else "no root")
