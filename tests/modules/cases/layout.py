"""A module with everything around its functions."""
from __future__ import annotations

import jax.numpy as jnp
from d2s import to_static as static

LIMIT = 10  # steps


class Walker:
    """Walks."""

    @static
    def walk(self, x, step=1.0):  # the head
        """Walk on.

        As long as it takes.
        """
        # how often
        count = 0
        while jnp.sum(x) < LIMIT:  # still below
            x = x + (
                step  # one step
                * 2.0
            )
            count += 1  # and again
            if count > 99 and f"{count:03d}" != "":
                break  # enough
        return x, count  # both


def left_alone(x):
    return x if x else 1   # untouched
# output
"""A module with everything around its functions."""
from __future__ import annotations

import jax.numpy as jnp
import d2s
from d2s import to_static as static

LIMIT = 10  # steps


class Walker:
    """Walks."""

    @static
    @d2s.generated
    def walk(self, x, step=1.0):  # the head
        """Walk on.

        As long as it takes.
        """
        # how often
        count = 0
        broke_8 = False  # still below
        def test_8(x, count, broke_8):
            return d2s.all_(d2s.not_(broke_8), lambda: jnp.sum(x) < LIMIT)
        def body_8(x, count, broke_8):
            x = x + step * 2.0  # one step
            count += 1  # and again
            def then_14(broke_8):
                return True  # enough
            def else_14(broke_8):
                return broke_8
            broke_8 = d2s.cond(d2s.all_(count > 99, lambda:
                d2s.text(f'{d2s.quoted(count):03d}') != ''), then_14, else_14, broke_8)
            return x, count, broke_8
        x, count, broke_8 = d2s.while_loop(test_8, body_8, x, count, broke_8)
        return x, count  # both


def left_alone(x):
    return x if x else 1   # untouched
