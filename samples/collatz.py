"""The Collatz sequence: how many steps a number takes to reach 1, and how high it climbs.

The `while` on a traced number becomes one loop of the graph; the `if`/`else` and the lone `if`
inside it become conditionals of the loop body.
"""

import jax.numpy as jnp

import d2s


@d2s.to_static
def collatz(n):
    """Return the number of steps from `n` to 1 and the highest value on the way."""
    steps = 0
    peak = n
    while n > 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        if n > peak:
            peak = n
        steps += 1
    return steps, peak


ENTRY = collatz


def examples():
    """Arguments that take different paths through `collatz`."""
    return [
        (jnp.int32(27),),  # long: 111 steps, up to 9232
        (jnp.int32(1),),  # no step at all
        (jnp.int32(64),),  # always even: never climbs
        (jnp.int32(7),),
    ]


if __name__ == "__main__":
    for (start,) in examples():
        steps, peak = collatz(start)
        print(f"{start}: {steps} steps, peak {peak}")
