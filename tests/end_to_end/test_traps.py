"""Programs on which a naive transpiler is silently wrong: the plain result, or a d2s error."""

from __future__ import annotations

import heapq
import itertools
from collections import deque

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from ..differential.harness import check
from ..source.test_parser import load
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
    print(x)
    print("b")
    return x


def test_known_texts_come_on_every_call_and_in_their_place(capsys):
    static = d2s.to_static(talks)
    for n in range(3):
        static(jnp.float32(n))
        assert capsys.readouterr().out == f"a\n{n}.0\nb\n"


def remembers(x):
    seen.append("called")
    return x


def test_a_change_of_a_global_list_happens_on_every_call():
    seen.clear()
    static = d2s.to_static(remembers)
    for calls in (1, 2, 3):
        static(jnp.float32(1))
        assert seen == ["called"] * calls


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
    # whatever a number was before it became a run-time value, it answers as in plain Python
    check(typed, (2.0, 3), (2, 3.0), (1.5, 2))


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


def entries_in_order(x):
    d = {"y": x}
    if x > 0:
        d["z"] = x
        d["a"] = 1.0
    else:
        d["z"] = 1.0
        d["a"] = x
    d["y"] = 0.0
    return d


def entries_in_another_order(x):
    d = {"y": x}
    if x > 0:
        d["z"], d["a"] = x, 1.0
    else:
        d["a"], d["z"] = x, 1.0
    return "".join(d)


def test_dicts_keep_their_order():
    check(ordered, (0.0,), (5.0,))
    check(updated, (0.0,), (5.0,))
    check(entries_in_order, (1.0,), (-1.0,), vmap=True)
    check(entries_in_another_order, (1.0,), (-1.0,), error_ok="D2S074")
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
    item, part, one = static(x, [0.0, 1.0], jnp.int32(1))
    assert (float(item), part.tolist(), float(one)) == (1.0, [1.0, 2.0], 1.0)
    with pytest.raises(IndexError, match="list index out of range"):
        static(x, [0.0, 1.0], jnp.int32(2))


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

    static = d2s.to_static(keeps)
    for calls in (1, 2):
        static(jnp.float32(calls))
    assert [float(v) for v in held] == [1.0, 2.0]
    assert not any(isinstance(v, jax.core.Tracer) for v in held)


class Net:
    """A holder of weights."""


net = Net()
net.a = net.b = jnp.ones(2)
net.s = jnp.float32(2.0)
net.mean = jnp.float32(0.0)


def tied(x):
    return x * net.a + 10 * net.b


def captured_number(x):
    return x * float(net.s)


def captured_text(x):
    return x if f"{net.s:.1f}" == "2.0" else -x


def captured_length(x):
    for _ in range(int(net.s)):
        x = x + 1
    return x


def test_tied_arrays_are_two_paths(monkeypatch):
    static = d2s.to_static(tied)
    for _ in range(2):
        assert float(static(jnp.float32(1))[0]) == 11.0
    monkeypatch.setattr(net, "b", jnp.zeros(2))
    for _ in range(2):
        assert float(static(jnp.float32(1))[0]) == 1.0


@pytest.mark.parametrize("function", [captured_number, captured_text, captured_length])
def test_captured_arrays_as_python_values_are_not_stale(function, monkeypatch):
    static = d2s.to_static(function)
    for weight in (2.0, 3.0, 2.0):
        monkeypatch.setattr(net, "s", jnp.float32(weight))
        for x in (1.0, 4.0):
            try:
                got = float(static(jnp.float32(x)))
            except d2s.Error as error:
                assert error.code == "D2S020"
            else:
                assert got == float(function(jnp.float32(x)))


def changes_arguments(items, table, array, x):
    items.append(x)
    table["k"] = x
    array[0] = x
    return len(items)


def changes_an_alias(p, q, x):
    p[0] = x
    return q[0]


def test_changes_of_arguments_are_not_lost():
    static = d2s.to_static(changes_arguments)
    for _ in range(2):
        items, table, array = [1.0], {}, np.zeros(2)
        with pytest.raises((d2s.Error, TypeError)):
            static(items, table, array, 5.0)
        assert (items, table, list(array)) == ([1.0], {}, [0.0, 0.0])
    static = d2s.to_static(changes_an_alias)
    for value in (9.0, 8.0):
        both = [0.0]
        assert static(both, both, value) == value
        assert both == [value]
        one, other = [0.0], [1.0]
        assert static(one, other, value) == 1.0
        assert (one, other) == ([value], [1.0])
    both = [0.0]
    assert d2s.convert(changes_an_alias)(both, both, 9.0) == 9.0


def numpy_aliases(x):
    a = np.zeros(3)
    b = a
    a[0] = x

    def fill(v):
        v[1] = x

    fill(a)
    row = a[2:]
    row += x
    return b


@pytest.mark.full
def test_numpy_aliases_and_views():
    assert list(d2s.convert(numpy_aliases)(5.0)) == [5.0, 5.0, 5.0]
    static = d2s.to_static(numpy_aliases)
    for _ in range(2):
        assert static(5.0).tolist() == [5.0, 5.0, 5.0]
        with pytest.raises(d2s.Error) as caught:
            static(jnp.float32(5))
        assert caught.value.code == "D2S070"


def prints_its_side(x):
    if x > 0:
        print("POS", x)
    else:
        print("NEG", x)
    return x


def test_both_sides_of_a_mapped_branch_do_not_print(capsys):
    static = d2s.to_static(prints_its_side)
    for run in (jax.vmap(static), jax.jit(jax.vmap(static))):
        for _ in range(2):
            run(jnp.array([1.0, -1.0]))
            jax.effects_barrier()
            assert capsys.readouterr().out == "POS 1.0\nNEG -1.0\n"
    with pytest.raises(d2s.Error) as caught:
        jax.vmap(d2s.convert(prints_its_side))(jnp.array([1.0, -1.0]))
    assert caught.value.code == "D2S023"
    assert capsys.readouterr().out == ""


def changed_by_c_code(x):
    s, h, q = set(), [], deque(maxlen=2)
    if x > 0:
        s.add("pos")
        heapq.heappush(h, 1)
    else:
        s.add("neg")
        q.append(1)
    return sorted(s), h, list(q)


def pushed_in_a_loop(xs):
    heap, names = [], set()
    for i, v in enumerate(xs):
        heapq.heappush(heap, i)
        names.add("seen")
        xs = xs + v
    return heap, names


def test_changes_behind_c_code_in_a_loop_are_seen():
    rows = jnp.array([1.0, 2.0])
    check(pushed_in_a_loop, (rows,), (-rows,), error_ok=("D2S074", "D2S076"))


def test_changes_behind_c_code_are_seen():
    check(changed_by_c_code, (1,), (-1,), error_ok="D2S074")
    static = d2s.to_static(changed_by_c_code)
    for _ in range(2):
        with pytest.raises(d2s.Error) as caught:
            static(jnp.float32(1))
        assert caught.value.code == "D2S074"


def running_mean(w, x):
    net.mean = 0.9 * net.mean + 0.1 * x
    return (w * (x - net.mean)) ** 2


def test_transformations_write_plain_values(monkeypatch):
    monkeypatch.setattr(net, "mean", jnp.float32(0.0))
    inner = d2s.to_static(running_mean)
    x = jnp.float32(2)
    ways = [
        (1, lambda: inner(1.0, x)),
        (1, lambda: jax.grad(inner)(1.0, x)),
        (1, lambda: d2s.to_static(lambda w, x: jax.grad(running_mean)(w, x))(1.0, x)),
        (2, lambda: d2s.to_static(lambda w, x: inner(w, x) + inner(w, x))(1.0, x)),
    ]
    expected = 0.0
    for times, way in ways * 2:
        way()
        for _ in range(times):
            expected = 0.9 * expected + 0.1 * 2.0
        assert not isinstance(net.mean, jax.core.Tracer)
        assert float(net.mean) == pytest.approx(expected)


def test_what_only_a_transformation_knows_is_not_written(monkeypatch):
    monkeypatch.setattr(net, "mean", jnp.float32(0.0))
    inner = d2s.to_static(running_mean)
    for way in (
        lambda: jax.vmap(inner, (None, 0))(1.0, jnp.ones(2)),
        lambda: jax.jit(inner)(1.0, jnp.float32(2)),
        lambda: d2s.to_static(lambda xs: jax.vmap(running_mean, (None, 0))(1.0, xs))(jnp.ones(2)),
    ):
        with pytest.raises(d2s.Error) as caught:
            way()
        assert caught.value.code == "D2S078"
        assert float(net.mean) == 0.0


def one_of(x, i):
    return x[i]


def part_of(x, i):
    return x[i : i + 2]


def test_positions_that_are_run_time_values():
    x = jnp.arange(5.0)
    static = d2s.to_static(part_of)
    for i in (4, 1, 10, -1, -3):
        assert static(x, i).tolist() == part_of(x, i).tolist()
        try:
            part = static(x, jnp.int32(i))
        except d2s.SliceLength as error:
            assert error.code == "D2S041"
            assert len(part_of(x, i)) < 2, "a window that moved"
        else:
            assert part.tolist() == part_of(x, i).tolist()
    static = d2s.to_static(one_of)
    assert [float(static(x, jnp.int32(i))) for i in (4, 0, -1)] == [4.0, 0.0, 4.0]


def test_equal_text_in_two_files_is_two_functions(tmp_path):
    """Their code objects may be equal; the worlds they read are not."""
    text = "def f(x):\n    return x * k if x > 0 else -k\n"
    one, two = load(tmp_path, text), load(tmp_path, text)
    one.k, two.k = 2.0, 3.0
    statics = [d2s.to_static(module.f) for module in (one, two)]
    for _ in range(2):
        assert [float(static(jnp.float32(5))) for static in statics] == [10.0, 15.0]


def checkpointed(x):
    def inner(v):
        print("once")
        return v * v

    return jax.checkpoint(inner)(x)


def test_effects_in_a_checkpoint_are_not_repeated(capsys):
    static = d2s.to_static(checkpointed)
    around = jax.grad(jax.checkpoint(d2s.to_static(talks)))
    for run, text in ((static, "once\n"), (jax.grad(static), "once\n"), (around, "a\n3.0\nb\n")):
        for _ in range(2):
            run(jnp.float32(3))
            jax.effects_barrier()
            assert capsys.readouterr().out == text
