"""`print` in static functions, under the transformations of jax, in threads and to files."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import d2s


def printed(call, *args):
    """What a call writes to stdout, twice: the second time nothing is traced any more."""
    texts = []
    for _ in range(2):
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            call(*args)
            jax.effects_barrier()
        texts.append(out.getvalue())
    assert texts[0] == texts[1]
    return texts[0]


def one_by_one(function, rows):
    return printed(lambda: [function(row) for row in rows])


def sides(x):
    print("start")
    if x > 0:
        print("POS", x)
        if x > 1:
            print("large")
    else:
        print("NEG", x)
    steps = 0
    while steps < x:
        print("step", steps, f"{x - steps:.1f}")
        steps += 1
    for row in jnp.arange(2.0):
        print("row", row * x)
    return x * x


LANES = jnp.array([1.0, -1.0, 2.5])


def test_lanes_print_one_after_the_other():
    static = d2s.to_static(sides)
    want = one_by_one(sides, LANES)
    assert printed(jax.vmap(static), LANES) == want
    assert printed(jax.jit(jax.vmap(static)), LANES) == want
    assert printed(jax.vmap(jax.jit(static)), LANES) == want
    assert printed(jax.vmap(jax.vmap(static)), LANES.reshape(3, 1)) == want
    assert printed(jax.vmap(jax.value_and_grad(d2s.to_static(scanned))), LANES) == one_by_one(
        scanned, LANES
    )


def test_lanes_that_are_the_same_print_too():
    static = d2s.to_static(lambda x, y: print("hello", y) or x)
    assert printed(jax.vmap(static, (0, None)), LANES, jnp.float32(1)) == "hello 1.0\n" * 3


def failing(x):
    print("in", x)
    assert x > 0
    print("out", x)
    while x > 1:
        print("loop", x)
        assert x < 3
        x = x - 1
    return x


def test_a_lane_that_fails_prints_no_more():
    def plain(x):
        with contextlib.suppress(AssertionError):
            failing(x)

    def mapped(xs):
        with contextlib.suppress(Exception):
            jax.vmap(d2s.to_static(failing))(xs)

    xs = jnp.array([2.0, -1.0, 5.0, 3.5])
    assert printed(mapped, xs) == one_by_one(plain, xs)


def scanned(x):
    print("begin", x)
    for row in jnp.arange(2.0):
        print("known")
        print("row", row, x)
        x = jnp.sin(x) + row
    if x > 0:
        print("positive")
    return x


@pytest.mark.full
def test_gradients_print_once():
    static, x = d2s.to_static(scanned), jnp.float32(1.0)
    want = printed(scanned, x)
    assert printed(static, x) == want
    assert printed(jax.grad(static), x) == want
    assert printed(jax.grad(jax.grad(static)), x) == want
    assert printed(jax.jit(jax.grad(static)), x) == want
    assert printed(jax.grad(jax.checkpoint(static)), x) == want
    assert printed(jax.jit(jax.grad(jax.checkpoint(static))), x) == want
    assert printed(lambda v: jax.jvp(static, (v,), (v,)), x) == want
    assert printed(jax.hessian(static), x) == want


def test_a_scan_of_a_static_function_prints_on_each_trip():
    static = d2s.to_static(scanned)

    def run(x):
        return jax.lax.scan(lambda c, _: (static(c), None), x, length=2)[0]

    def plain(x):
        return scanned(scanned(x))

    x = jnp.float32(1.0)
    assert printed(jax.jit(run), x) == printed(plain, x)
    assert printed(jax.grad(run), x) == printed(plain, x)


def loss(w):
    print("loss", w)
    return w * w


@jax.jit
def jitted(w):
    return loss(w) + 1


def step(carry, row):
    print("known")
    print("carry", carry, row)
    return jnp.sin(carry) * row, None


@d2s.to_static
def transformations(w):
    print("start")
    value, slope = jax.value_and_grad(loss)(w)
    print("slope", slope)
    again = jax.grad(jax.checkpoint(loss))(w)
    last, _ = jax.lax.scan(step, w, jnp.arange(1.0, 3.0))
    deep = jax.grad(lambda v: jax.lax.scan(step, v, jnp.arange(1.0, 3.0))[0])(w)
    return value + again + last + deep + jitted(w) + jitted(w + 1)


def transformed(w):
    print("start")
    loss(w)
    print("slope", 2 * w)
    loss(w)
    for _ in range(2):
        carry = w
        for row in jnp.arange(1.0, 3.0):
            carry, _ = step(carry, row)
    return loss(w) + loss(w + 1)


def test_transformations_inside_print_once():
    for x in (jnp.float32(1.0), jnp.float32(2.0)):
        assert printed(transformations, x) == printed(transformed, x)


def test_functions_that_jax_has_seen_before_print_in_the_next_graph():
    other = d2s.to_static(lambda w: jitted(w) + jax.lax.scan(step, w, jnp.ones(1))[0])
    plain = "loss 3.0\nknown\ncarry 3.0 1.0\n"
    printed(transformations, jnp.float32(3.0))
    assert printed(other, jnp.float32(3.0)) == plain
    assert printed(jax.vmap(other), jnp.float32([3.0])) == plain


@d2s.to_static
def inner(x):
    print("inner", x)
    if x > 1:
        print("more")
    return x + 1


def outer(x):
    print("outer")
    x = inner(x)
    if x > 2:
        x = inner(x)
    for _ in range(2):
        x = inner(x)
    print("end")
    return x


def test_static_functions_inside_others_print_in_their_place():
    plain = "outer\ninner 1.0\ninner 2.0\nmore\ninner 3.0\nmore\nend\n"
    static = d2s.to_static(outer)
    assert printed(static, jnp.float32(1.0)) == plain
    assert printed(inner, jnp.float32(5.0)) == "inner 5.0\nmore\n"
    lanes = jnp.array([1.0, 2.0])
    assert printed(jax.vmap(static), lanes) == one_by_one(static, lanes)


@d2s.to_static
def maps(x):
    jax.vmap(inner)(x)
    print("between")
    jax.vmap(inner)(x)
    jax.vmap(lambda v: jax.vmap(inner)(v * jnp.ones(2)))(x)
    return x


def test_maps_inside_keep_their_lanes_together():
    lanes = jnp.array([1.0, 2.0])
    first = one_by_one(inner, lanes)
    twice = one_by_one(inner, jnp.array([1.0, 1.0, 2.0, 2.0]))
    assert printed(maps, lanes) == f"{first}between\n{first}{twice}"
    want = one_by_one(maps, lanes.reshape(2, 1))
    assert printed(jax.vmap(maps), lanes.reshape(2, 1)) == want


def test_the_hundredth_call_prints_like_the_first(capsys):
    static = d2s.to_static(lambda x: print("x", x, "known") or x)
    for n in range(100):
        static(jnp.int32(n))
    assert capsys.readouterr().out == "".join(f"x {n} known\n" for n in range(100))


def test_standard_files_are_those_of_the_call():
    static = d2s.to_static(lambda x: print(x) or print("err", file=sys.stderr) or x)
    for _ in range(2):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            static(jnp.int32(3))
        assert (out.getvalue(), err.getvalue()) == ("3\n", "err\n")


FILE = io.StringIO()


def test_files_from_outside():
    def to_files(x, file):
        print("argument", x, file=file)
        print("global", x, file=FILE, flush=True)
        return x

    file = io.StringIO()
    static = d2s.to_static(to_files)
    static(jnp.int32(1), file)
    static(jnp.int32(2), file)
    assert file.getvalue() == "argument 1\nargument 2\n"
    assert FILE.getvalue() == "global 1\nglobal 2\n"


def test_threads_do_not_mix_their_prints():
    """Each thread has a file of its own; calls of all of them run at the same time."""

    @d2s.to_static
    def counts(n, file):
        while n > 0:
            print(n, file=file)
            n -= 1
        return n

    files = [io.StringIO() for _ in range(4)]

    def work(file, n):
        for _ in range(5):
            counts(n, file)

    threads = [
        threading.Thread(target=work, args=(file, 10 * k + 5)) for k, file in enumerate(files)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for k, file in enumerate(files):
        assert file.getvalue() == "".join(f"{n}\n" for n in range(10 * k + 5, 0, -1)) * 5


def test_one_function_in_several_threads():
    @d2s.to_static
    def counts(n):
        for i in range(n):
            print(n, i)
        return n

    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        threads = [threading.Thread(target=counts, args=(k,)) for k in range(3, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    lines = out.getvalue().splitlines()
    for k in range(3, 9):
        own = [line for line in lines if line.split()[0] == str(k)]
        assert own == [f"{k} {i}" for i in range(k)]


def test_print_of_jax_itself_stays(capsys):
    static = d2s.to_static(lambda x: jax.debug.print("debug {}", x) or x)
    static(jnp.float32(1.0))
    static(jnp.float32(2.0))
    jax.effects_barrier()
    assert capsys.readouterr().out == "debug 1.0\ndebug 2.0\n"


def test_a_function_that_prints_nothing_has_no_callback():
    text = jax.jit(d2s.to_static(lambda x: x + 1)).lower(1.0).as_text()
    assert "callback" not in text and "token" not in text


def made_inside(x):
    file = io.StringIO()
    print(x, file=file)
    return x


def writes_itself(x):
    sys.stdout.write("text")
    return x


class Mine:
    def write(self, text):
        pass


@pytest.mark.parametrize(
    "run",
    [
        d2s.to_static(made_inside),
        d2s.to_static(writes_itself),
        d2s.to_static(lambda x: print(x, file=Mine()) or x),
        jax.jit(d2s.convert(sides)),
        jax.vmap(d2s.convert(lambda x: print("lane") or x)),
    ],
)
def test_prints_that_would_not_be_right_are_refused(run):
    for _ in range(2):
        with pytest.raises(d2s.Error) as caught:
            run(jnp.ones(1))
        assert caught.value.code == "D2S023"


@pytest.mark.parametrize(
    "needs",
    [
        lambda s: len(s),
        lambda s: s == "1.0",
        lambda s: {s: 1},
        lambda s: s.strip(),
        lambda s: s[0],
        lambda s: "1" in s,
        lambda s: [c for c in s],  # noqa: C416
        lambda s: s * 2,
        lambda s: s < "2",
        lambda s: bool(s),
        lambda s: int(s),
        lambda s: f"{s:>9}" == "",
    ],
)
def test_letters_of_a_text_that_is_not_known(needs):
    @d2s.to_static
    def function(x):
        needs(f"{x:.1f}")
        return x

    with pytest.raises(d2s.Error) as caught:
        function(jnp.float32(1.0))
    assert caught.value.code == "D2S020"
    assert "text" in str(caught.value)


def test_a_text_with_letters_is_true():
    @d2s.to_static
    def function(x):
        shown, more = f"{x:.1f}", f"{x} of them"
        print(shown or "none", more if more else "none")
        return x

    with contextlib.redirect_stdout(io.StringIO()) as output:
        function(jnp.float32(0.0))
    assert output.getvalue() == "0.0 0.0 of them\n"


def test_a_text_is_a_text():
    @d2s.to_static
    def function(x):
        s = f"{x:.1f}"
        return isinstance(s, str), type(s) is str, isinstance(s, int)

    assert function(jnp.float32(1.0)) == (True, True, False)


def test_several_devices_keep_no_order(tmp_path):
    program = """
        import jax
        jax.config.update("jax_num_cpu_devices", 2)
        import jax.numpy as jnp, d2s
        from jax.sharding import Mesh, NamedSharding, PartitionSpec

        @d2s.to_static
        def f(x):
            print(x.sum())
            return x

        mesh = Mesh(jax.devices(), ("a",))
        x = jax.device_put(jnp.arange(4.0), NamedSharding(mesh, PartitionSpec("a")))
        try:
            f(x)
        except d2s.Error as error:
            print(error.code, "several devices" in str(error))
    """
    path = tmp_path / "program.py"
    path.write_text(textwrap.dedent(program))
    root = Path(__file__).parents[4]
    command, around = [sys.executable, str(path)], {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(command, capture_output=True, text=True, env=around)
    assert done.stdout == "D2S023 True\n", done.stderr
