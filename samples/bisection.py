"""Bisection: halve an interval until it holds a root of a polynomial to the wanted precision.

The `while` becomes one loop of the graph, the `break` a part of its condition, the early `return`
a conditional around it all. The helper's `for` runs over the rows of an array.
"""

import jax.numpy as jnp

import d2s


def polynomial(coefficients, x):
    """Evaluate a polynomial, highest power first, by Horner's rule."""
    value = 0.0
    for coefficient in coefficients:
        value = value * x + coefficient
    return value


@d2s.to_static
def bisect(coefficients, low, high, tolerance):
    """Return a root between `low` and `high` (nan without a change of sign) and the steps."""
    at_low = polynomial(coefficients, low)
    if at_low * polynomial(coefficients, high) > 0:
        return jnp.nan, 0

    steps = 0
    while high - low > tolerance:
        middle = (low + high) / 2
        at_middle = polynomial(coefficients, middle)
        steps += 1
        if at_middle == 0:
            low = high = middle
            break
        if at_low * at_middle > 0:
            low, at_low = middle, at_middle
        else:
            high = middle
    return (low + high) / 2, steps


ENTRY = bisect


def examples():
    """Arguments that take different paths through `bisect`."""
    return [
        (jnp.array([1.0, 0.0, -2.0]), 0.0, 2.0, 1e-3),  # the square root of 2
        (jnp.array([1.0, 0.0, -1.0]), 0.0, 2.0, 1e-3),  # the first middle is the root
        (jnp.array([1.0, 0.0, 1.0]), 0.0, 2.0, 1e-3),  # no root in the interval
        (jnp.array([1.0, 0.0, -2.0]), 1.25, 1.5, 0.5),  # precise enough already
        (jnp.array([-1.0, 3.0, 1.0]), 2.0, 4.0, 1e-2),
    ]


if __name__ == "__main__":
    for arguments in examples():
        root, steps = bisect(*arguments)
        print(f"coefficients {arguments[0]}: {root:.4f} after {steps} steps")
