"""Programs on which a naive transpiler is silently wrong: the plain result, or a d2s error."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from .differential.harness import check
from .trap_programs import counts_down


def partial_writes(n):
    x = 0
    try:
        while n > 0:
            x += 1
            if x == 3:
                raise ValueError
            n -= 1
    except ValueError:
        pass
    return x, n


def test_writes_before_an_exception_stay():
    check(partial_writes, (5,), (2,), (0,))


def number_of(x):
    try:
        n = int(x)
    except TypeError:
        n = -1
    return n


def sum_of_positive(m):
    try:
        s = m[m > 0].sum()
    except IndexError:
        s = -1.0
    return s


def test_handlers_do_not_swallow_what_tracing_raises():
    check(number_of, (3,), (7.5,))
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(sum_of_positive)(jnp.array([1.0, -2.0]))
    assert caught.value.code == "D2S020"
    assert sum_of_positive(np.array([1.0, -2.0])) == 1.0


seen: list[str] = []


def talks(x):
    print("a")
    return x


def remembers(x):
    seen.append("called")
    return x


@pytest.mark.parametrize(("function", "code"), [(talks, "D2S023"), (remembers, "D2S024")])
def test_effects_that_a_second_call_would_not_repeat_are_refused(function, code, capsys):
    static = d2s.to_static(function)
    for _ in range(2):
        with pytest.raises(d2s.Error) as caught:
            static(jnp.float32(1))
        assert caught.value.code == code
    assert seen == []
    assert capsys.readouterr().out == ""


def congruential(x):
    s = 42
    for _ in range(20):
        s = s * 48271 % 2147483647
        x = x + s % 7
    return x


def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def grown(x):
    s = 1
    while x < 10:
        s = s * 1000
        x += 1
    return s


def test_python_integers_stay_exact():
    check(congruential, (0.0,), (1.0,))
    static = d2s.to_static(collatz)
    assert [int(static(n)) for n in (27, 113383, 27, 1)] == [111, 247, 111, 0]
    assert d2s.to_static(lambda n: n * n)(100_000) == 10**10
    with pytest.raises(d2s.IntegerOverflow, match="D2S040"):
        d2s.to_static(grown)(jnp.float32(0))
    assert d2s.to_static(grown)(0) == 10**30


def last_digit(p):
    a = 123456789
    if not p:
        a = 1.5
    return a % 10


def test_a_join_that_would_lose_integers_is_refused():
    static = d2s.to_static(last_digit)
    assert static(True) == 9
    for p in (True, False):
        with pytest.raises(d2s.Error) as caught:
            static(jnp.asarray(p))
        assert caught.value.code == "D2S012"
        assert "`a`" in str(caught.value)


def typed(x, n):
    if isinstance(n, int) and type(x) is float:
        return x * n
    return -1.0


def test_type_tests_on_python_numbers():
    check(typed, (2.0, 3), (2, 3.0), (1.5, 2), flavours=("static",))


def ordered(x):
    d = {"z": x, "a": x + 1}
    while d["z"] < 3:
        d = {"z": d["z"] + 1, "a": d["a"]}
    return "".join(d), d


def updated(x):
    d = {"z": x, "a": x + 1}
    while d["z"] < 3:
        d["z"] += 1
    return "".join(d), d["z"]


def test_dicts_keep_their_order():
    check(ordered, (0.0,), (5.0,))
    check(updated, (0.0,), (5.0,), error_ok="D2S024")
    out = d2s.to_static(lambda x: {"z": x, "a": x})(jnp.float32(1))
    assert list(out) == ["z", "a"]


def test_nothing_goes_on_after_a_failure():
    check(counts_down, (3,), (-1,), (0,))


def caught_here(x):
    try:
        if x < 0:
            raise ValueError("neg")
        y = x * 2
    except ValueError as e:
        y = len(str(e))
    return y


def test_a_run_time_exception_is_caught_in_the_same_function():
    check(caught_here, (-1,), (2,))


def two_rounds(x):
    a = b = False
    n = 0
    while not a:
        a = b
        b = x > 0
        n += 1
    return n


def drained(it, done):
    got = 0
    for v in it:
        got += v
        if done:
            break
    return got, next(it, None)


def test_trials_are_invisible():
    check(two_rounds, (1,), (2,))
    converted = d2s.convert(drained)
    assert converted(iter([1, 2, 3]), True) == (1, 2)
    assert converted(iter([1, 2, 3]), False) == (6, None)
    with pytest.raises(d2s.Error, match="D2S030"):
        d2s.to_static(drained)(iter([1, 2, 3]), True)


def over_objects(x, layers):
    for name, f in layers.items():
        x = f(x)
        if x > 10:
            break
    return x, name


def over_objects_unnamed(x, layers):
    for _, f in layers.items():
        x = f(x)
        if x > 10:
            break
    return x


def endless(x):
    for k in itertools.count():
        if x - k < 0:
            break
    return k


LAYERS = {"dbl": lambda v: v * 2, "sq": lambda v: v * v, "inc": lambda v: v + 1}


def test_exits_from_loops_over_objects():
    check(over_objects_unnamed, (4.0, LAYERS), (20.0, LAYERS), (1.0, LAYERS))
    check(over_objects, (4.0, LAYERS), (20.0, LAYERS), error_ok="D2S013")
    assert d2s.convert(endless)(64.0) == 65
    with pytest.raises(d2s.Error, match="D2S025"):
        d2s.to_static(endless)(jnp.float32(64))


def window(x, items, i):
    return items[i], x[i : i + 2], x[i]


def test_positions_as_python_numbers_are_exact():
    x = jnp.arange(5.0)
    static = d2s.to_static(window)
    item, part, one = static(x, [0.0, 1.0, 2.0, 3.0, 4.0], 4)
    assert (float(item), part.shape, float(one)) == (4.0, (1,), 4.0)
    with pytest.raises(IndexError):
        static(x, [0.0, 1.0], 10)
    with pytest.raises(d2s.Error, match="D2S020"):
        static(x, [0.0, 1.0], jnp.int32(1))


def operand(x):
    return x or 7


def test_or_gives_the_operand():
    check(operand, (0,), (3,))


def bound_by_the_loop(n):
    while n > 0:
        y = n
        n -= 1
    return y


def test_a_loop_without_a_trip_leaves_its_names_unbound():
    check(bound_by_the_loop, (2,), (0,), (5,))


@d2s.to_static
def keyed(flag, scale):
    return (1.0 if flag else 2.0), scale


def test_static_keys_tell_apart_what_python_tells_apart():
    assert d2s.to_static(lambda v, k: jnp.sign(1 / jnp.float32(k)) + v)(1.0, -0.0) == 0.0
    assert keyed(True, 1)[0] == 1.0
    assert keyed(1, True)[1] is True
    assert keyed(False, 1)[0] == 2.0
    copysign = d2s.to_static(lambda c: str(c.low))
    assert [copysign(Config(0.0)), copysign(Config(-0.0))] == ["0.0", "-0.0"]
    assert [copysign(Config(1)), copysign(Config(True))] == ["1", "True"]


class Config:
    """A hashable configuration whose equality is Python's."""

    def __init__(self, low):
        self.low = low

    def __eq__(self, other):
        return isinstance(other, Config) and self.low == other.low

    def __hash__(self):
        return hash(self.low)


class Model:
    training, scale = True, 2

    def __call__(self, x):
        if self.training:
            return x * self.scale
        return x


def test_what_a_function_reads_is_read_afresh():
    model = Model()
    static = d2s.to_static(model)
    assert static(1.0) == 2.0
    model.training = False
    assert static(1.0) == 1.0
    model.training, model.scale = True, 5
    assert static(1.0) == 5.0


WEIGHT = jnp.float32(2.0)


def weighted(x):
    return x * WEIGHT


def test_a_changed_global_is_seen(monkeypatch):
    static = d2s.to_static(weighted)
    assert static(3.0) == 6.0
    monkeypatch.setitem(globals(), "WEIGHT", jnp.float32(5.0))
    assert static(3.0) == 15.0


def test_no_tracer_is_left_behind():
    held = []

    def keeps(x):
        held.append(x)
        return x

    with pytest.raises(d2s.Error, match="D2S024"):
        d2s.to_static(keeps)(jnp.float32(1))
    assert not any(isinstance(v, jax.core.Tracer) for v in held)
