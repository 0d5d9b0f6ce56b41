"""`d2s.trace`: every decision that tracing alone would freeze is refused."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest

import d2s

ONE = jnp.float32(1.0)
SCALE = {"value": 2.0, "on": True}


def in_if(x):
    if x > 0:
        return x
    return -x


def in_ternary(x):
    return x if x > 0 else -x


def in_while(x):
    while x < 10:
        x = x * 2
    return x


def in_break(x):
    for _ in range(5):
        x = x * 2
        if x > 10:
            break
    return x


def in_trips(x):
    total = 0
    for _ in range(x.astype(int)):
        total = total + 1
    return total


def in_and(x):
    return x > 0 and x < 3


def in_not(x):
    return not x


def in_match(x):
    match x:
        case 1:
            return x
    return -x


def in_assert(x):
    assert x > 0
    return x


def in_chain(x):
    return 0 < x < 3


def swallowed(x):
    try:
        if x > 0:
            return x
    except TypeError:
        pass
    return -x


def in_callee(x):
    return in_if(x) + 1


REFUSED = [
    in_if, in_ternary, in_while, in_break, in_trips, in_and, in_not, in_match, in_assert,
    in_chain, swallowed, in_callee,
]  # fmt: skip


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_refused(function):
    with pytest.raises(d2s.StagingError) as caught:
        d2s.trace(function, ONE)
    assert caught.value.code == "D2S028"
    assert caught.value.site is not None and caught.value.site.filename == __file__


def test_a_branch_on_a_python_number_is_refused_too():
    with pytest.raises(d2s.StagingError) as caught:
        d2s.trace(in_if, 1.0)
    assert caught.value.code == "D2S028"


def static_control(x, rows, flag):
    for row in rows:
        x = x + row.sum()
    if flag:
        for n in range(3):
            x = x * (n + 1)
    y = flag and x
    return jnp.where(y > 0, y, -y)


def test_what_is_decided_while_tracing():
    rows = jnp.ones((2, 2))
    traced = d2s.trace(static_control, ONE, rows, True)
    for x in (1.0, -20.0):
        plain = static_control(jnp.float32(x), rows, True)
        assert traced(jnp.float32(x), rows, True) == plain
    assert "while" not in str(jax.make_jaxpr(lambda x: traced(x, rows, True))(ONE))


def scaled(x):
    return x * SCALE["value"] if SCALE["on"] else x


def test_what_it_reads_is_not_frozen():
    traced = d2s.trace(scaled, ONE)
    assert traced(ONE) == 2.0
    SCALE["on"] = False
    try:
        assert traced(ONE) == 1.0
    finally:
        SCALE["on"] = True


def test_keywords_methods_and_static_functions():
    class Box:
        factor = 4.0

        def run(self, x, *, shift):
            return x * self.factor + shift

    assert d2s.trace(Box().run, ONE, shift=1.0)(ONE, shift=2.0) == 6.0
    assert d2s.trace(d2s.to_static(lambda x: x + 1), ONE)(ONE) == 2.0


def test_an_error_in_a_later_call():
    """Another type of argument is another trace, with the same rule."""

    def f(x):
        return x if x.ndim == 1 else in_if(x)

    traced = d2s.trace(f, jnp.ones(1))
    with pytest.raises(d2s.StagingError, match="D2S028"):
        traced(ONE)
