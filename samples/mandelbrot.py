"""The Mandelbrot set, written for one point and mapped over a grid with `jax.vmap`.

The `for` over a traced range with a `return` in its middle becomes one loop of the graph that
stops early, so the function can be vmapped although it branches on its argument.
"""

import jax
import jax.numpy as jnp

import d2s


@d2s.to_static
def escape_time(c, limit):
    """Return how many steps `z = z*z + c` stays within radius 2, at most `limit`."""
    z = 0j
    for step in range(limit):
        z = z * z + c
        if abs(z) > 2:
            return step
    return limit


ENTRY = escape_time


def examples():
    """Arguments that take different paths through `escape_time`."""
    return [
        (jnp.complex64(0.4 + 0.4j), 50),  # escapes after a few steps
        (jnp.complex64(2.0 + 1.0j), 50),  # outside from the start
        (jnp.complex64(-0.1 + 0.1j), 50),  # never escapes
        (jnp.complex64(0.4 + 0.4j), 0),  # no step at all
    ]


def grid(rows, columns):
    """Complex numbers covering the set, as an array of `rows` by `columns`."""
    real = jnp.linspace(-2.1, 0.7, columns)
    imaginary = jnp.linspace(1.2, -1.2, rows)
    return real[None, :] + 1j * imaginary[:, None]


def picture(times, limit):
    """Text with a darker character for every point that stays longer."""
    shades = " .:-=+*%"
    return "\n".join(
        "".join("@" if time == limit else shades[min(time, len(shades) - 1)] for time in row)
        for row in times.tolist()
    )


if __name__ == "__main__":
    limit = 50
    over_grid = jax.vmap(jax.vmap(escape_time, in_axes=(0, None)), in_axes=(0, None))
    print(picture(over_grid(grid(21, 60), limit), limit))
