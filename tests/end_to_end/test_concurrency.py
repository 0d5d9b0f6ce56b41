"""Many threads, many short-lived functions, and interrupts: what d2s remembers stays sound."""

from __future__ import annotations

import ctypes
import gc
import logging
import os
import signal
import sys
import threading
import tracemalloc
import types
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import d2s
from d2s import conversion, pipeline
from d2s.backends.lax.function import build
from d2s.backends.lax.graph import scopes
from d2s.runtime.engines import RegionsInProgress

from ..patience import HANG
from ..source.test_parser import load
from ..test_conversion import entries, in_threads

THREADS = 16


@pytest.fixture(autouse=True)
def quick_turns() -> Iterator[None]:
    """Threads take turns as often as Python lets them."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Whatever a test does: no trace is open, no setting of Python's is changed."""
    limit, filters = sys.getrecursionlimit(), list(warnings.filters)
    yield
    assert RegionsInProgress.count == 0
    assert scopes.current() is None
    assert not list(scopes.snapshots())
    assert not build.tracing.running
    assert gc.isenabled()
    assert sys.getrecursionlimit() == limit
    assert warnings.filters == filters


# -- threads --------------------------------------------------------------------------------------

COUNTED = """
def f{k}(x):
    total = {k}.0
    while x > 0:
        if x == 3:
            total = total + 100
        else:
            total = total + helper(x)
        x = x - 1
    return total
"""
HELPER = "def helper(v):\n    return v if v > 1 else -v\n"


def test_first_calls_of_a_static_function_race(tmp_path: Path) -> None:
    function = load(tmp_path, HELPER + COUNTED.format(k=0)).f0
    static = d2s.to_static(function)
    want = [float(function(n)) for n in range(THREADS)]
    for _ in range(2):
        assert in_threads(THREADS, lambda n: float(static(jnp.float32(n)))) == want


def test_each_thread_makes_its_own_static_function(tmp_path: Path) -> None:
    """Of the same plain function, which is converted once."""
    function = load(tmp_path, HELPER + COUNTED.format(k=0)).f0
    made: list[Any] = [None] * THREADS

    def work(n: int) -> float:
        made[n] = d2s.to_static(function)
        return float(made[n](float(n % 4)))

    assert in_threads(THREADS, work) == [float(function(n % 4)) for n in range(THREADS)]
    assert len({id(static.function) for static in made}) <= THREADS
    assert len({static.function.__code__ for static in made}) == 1


def test_different_static_functions_at_once(tmp_path: Path) -> None:
    text = HELPER + "".join(COUNTED.format(k=k) for k in range(4))
    module = load(tmp_path, text)
    functions = [getattr(module, f"f{k}") for k in range(4)]
    statics = [d2s.to_static(f) for f in functions]

    def work(n: int) -> list[float]:
        turned = statics[n % 4 :] + statics[: n % 4]
        return [float(static(jnp.float32(n))) for static in turned]

    for n, got in enumerate(in_threads(THREADS, work)):
        turned = functions[n % 4 :] + functions[: n % 4]
        assert got == [float(f(n)) for f in turned]


def test_structures_of_arguments_race(tmp_path: Path) -> None:
    """Arrays, Python numbers, numbers whose value is needed, and other shapes: one function."""
    text = (
        "def f(x, n):\n    for _ in range(n):\n"
        "        x = x + 1 if x.sum() > 0 else x - 1\n    return x\n"
    )
    function = load(tmp_path, text).f
    static = d2s.to_static(function)

    def work(n: int) -> Any:
        x = jnp.ones(n % 2 + 1) * (1 if n % 3 else -1)
        return static(x, n % 4).tolist(), static(x, jnp.int32(n % 4)).tolist()

    for n, got in enumerate(in_threads(THREADS, work)):
        x = jnp.ones(n % 2 + 1) * (1 if n % 3 else -1)
        want = function(x, n % 4).tolist()
        assert got == (want, want)


WORLD = "k = 1.0\ndef f(x):\n    return x + k if x > 0 else x\n"


def test_settings_of_the_world_change_between_rounds(tmp_path: Path) -> None:
    """All threads see that what the graph was built from is no longer so."""
    module = load(tmp_path, WORLD)
    static = d2s.to_static(module.f)
    for k in (1.0, 5.0, 2.0):
        module.k = k
        assert in_threads(THREADS, lambda n: float(static(jnp.float32(n + 1)))) == [
            n + 1 + module.k for n in range(THREADS)
        ]


@pytest.mark.full
def test_a_call_while_another_makes_the_entry_new(tmp_path, monkeypatch) -> None:
    """The call may wait or build a graph of its own; it never gives the answer of yesterday."""
    module = load(tmp_path, WORLD)
    static = d2s.to_static(module.f)
    assert float(static(jnp.float32(1))) == 2.0
    module.k = 5.0
    jit, found, threads = jax.jit, [], []

    def slowly(*args: Any, **kwargs: Any) -> Any:
        """Another thread comes in between, unless it is made to wait."""
        if not threads:
            threads.append(
                threading.Thread(target=lambda: found.append(float(static(jnp.float32(1)))))
            )
            threads[0].start()
            threads[0].join(2)
        return jit(*args, **kwargs)

    monkeypatch.setattr(jax, "jit", slowly)
    assert float(static(jnp.float32(1))) == 6.0
    threads[0].join(HANG)
    assert found == [6.0]


def test_exceptions_go_to_the_thread_that_caused_them(tmp_path: Path) -> None:
    text = "def f(x):\n    if x % 2 == 1:\n        raise ValueError(f'odd {x}')\n    return x * 2\n"
    static = d2s.to_static(load(tmp_path, text).f)
    for _ in range(3):
        for n, got in enumerate(in_threads(THREADS, lambda n: int(static(jnp.int32(n))))):
            if n % 2:
                assert isinstance(got, ValueError) and str(got) == f"odd {n}"
            else:
                assert got == 2 * n


MAPPED = """
import jax

def one(v):
    if v > 100:
        raise ValueError(f"large {v}")
    return v * 2

def f(x):
    return jax.vmap(one)(x)
"""


@pytest.mark.full
def test_exceptions_inside_a_transformation_go_to_their_thread(tmp_path, monkeypatch) -> None:
    """Two calls of one graph at once: one fails, and both have run before either looks."""
    static = d2s.to_static(load(tmp_path, MAPPED).f)
    assert static(jnp.arange(2)).tolist() == [0, 2]
    wait, failed, good = jax.effects_barrier, threading.Event(), threading.Event()

    def barrier() -> None:
        wait()
        if threading.current_thread().name == "fails":
            failed.set()
            good.wait(1)  # in vain, when calls wait for each other
        else:
            failed.wait(1)

    monkeypatch.setattr(jax, "effects_barrier", barrier)
    found: dict[str, object] = {}

    def call(start: int) -> None:
        name = threading.current_thread().name
        try:
            found[name] = static(jnp.arange(2) + start).tolist()
        except ValueError as error:
            found[name] = str(error)
        (good if name == "works" else failed).set()

    threads = [
        threading.Thread(target=call, args=(start,), name=name)
        for name, start in (("fails", 200), ("works", 0))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    assert found["works"] == [0, 2]
    assert str(found["fails"]).startswith("large 20")


def test_refusals_in_threads(tmp_path: Path) -> None:
    """Every thread gets the error; nobody gets a half-made conversion."""
    module = load(tmp_path, "def g(x):\n    return locals()\n\ndef f(x):\n    return g(x)\n")
    got = in_threads(THREADS, lambda n: d2s.convert(module.f)(n))
    assert {type(one) for one in got} == {d2s.ConversionError}
    assert {one.code for one in got} == {"D2S003"}


def test_marks_and_calls_race(tmp_path: Path) -> None:
    """Some closures of a code object are marked, others are converted, all at once."""
    module = load(
        tmp_path,
        "def make(k):\n    def f(x):\n        return x + k if x > 0 else -k\n    return f\n"
        "def call(g, x):\n    return g(x)\n",
    )
    call = d2s.convert(module.call)

    def work(n: int) -> list[float]:
        found = []
        for k in range(50):
            function = module.make(float(k))
            if (n + k) % 2:
                d2s.do_not_convert(function)
            assert bool(conversion.runs_as_it_is(function)) is bool((n + k) % 2)
            found.append(call(function, 1.0) + call(function, -1.0))
        return found

    assert in_threads(THREADS, work) == [[1.0] * 50] * THREADS


def test_a_marked_function_is_converted_for_no_thread(tmp_path: Path) -> None:
    module = load(tmp_path, "def g(x):\n    return x\n\ndef f(x):\n    return g(x) + 1\n")
    d2s.do_not_convert(module.g)
    made = d2s.convert(module.f)
    assert in_threads(THREADS, made) == [n + 1 for n in range(THREADS)]
    assert conversion._conversions.get(module.g.__code__) is None


@pytest.mark.skipif(
    sys.version_info[:2] == (3, 11),
    reason="ast.parse in two threads raises SystemError there, and nothing keeps them apart",
)
def test_texts_in_threads(tmp_path: Path) -> None:
    """The readable text is laid out outside the lock of the conversion."""
    long = "    y = [" + ", ".join(f"'a rather long item number {k}'" for k in range(9)) + "]\n"
    text = "".join(
        f"def f{k}(x):\n    # {k}\n{long}    return x if x > 0 else y\n" for k in range(8)
    )
    module, other = load(tmp_path, text), load(tmp_path, text)
    want = [d2s.to_code(getattr(other, f"f{k}")) for k in range(8)]

    def work(n: int) -> list[str]:
        order = [(n + k) % 8 for k in range(8)]
        found = {k: d2s.to_code(getattr(module, f"f{k}")) for k in order}
        return [found[k] for k in range(8)]

    assert in_threads(THREADS, work) == [want] * THREADS


class Elsewhere:
    """A helper for code under trace: what it notes, in a file, is out of the reach of the trace."""

    def __init__(self, folder: Path, work: Callable[[], object]) -> None:
        self.path = path = str(folder / "notes.txt")
        (folder / "notes.txt").touch()

        def run() -> None:
            result = repr(work())
            with open(path, "a", encoding="utf-8") as notes:
                notes.write(result + ";")

        def wait() -> None:
            thread = threading.Thread(target=run)
            thread.start()
            thread.join(HANG)

        self.wait = d2s.do_not_convert(wait)

    def notes(self) -> set[str]:
        return set(Path(self.path).read_text(encoding="utf-8").split(";")) - {""}


def test_another_thread_calls_while_one_traces(tmp_path) -> None:
    """A plain call of converted code in another thread is no part of the open graph."""
    module = load(
        tmp_path,
        "def g(x):\n    return x * 3 if x > 0 else x\n\ndef f(x):\n    wait()\n    return g(x)\n",
    )
    plain = d2s.convert(module.g)
    elsewhere = Elsewhere(tmp_path, lambda: plain(2))
    module.wait = elsewhere.wait
    assert float(d2s.to_static(module.f)(jnp.float32(2))) == 6.0
    assert elsewhere.notes() == {"6"}


def test_two_graphs_are_built_at_once(tmp_path) -> None:
    """One thread is in the middle of a trace while the other begins and ends one."""
    module = load(
        tmp_path,
        "def g(x):\n    while x > 2:\n        x = x - 2\n    return x\n\n"
        "def f(x):\n    while x > 10:\n        x = x - 10\n    wait()\n    return g(x)\n",
    )
    inner = d2s.to_static(module.g)
    elsewhere = Elsewhere(tmp_path, lambda: float(inner(jnp.float32(7))))
    module.wait = elsewhere.wait
    assert float(d2s.to_static(module.f)(jnp.float32(25))) == 1.0
    assert elsewhere.notes() == {"1.0"}
    assert float(inner(jnp.float32(8))) == 2.0


def test_another_thread_sees_no_tracer(tmp_path) -> None:
    """Reads of closures and globals of the function being traced, in the middle of the trace."""
    module = load(
        tmp_path,
        "w = 2.0\ndef make():\n    k = 1.0\n    def read():\n        return k\n"
        "    def f(x):\n        y = x * k * w\n        if y > 0:\n            wait()\n"
        "            y = y + k\n        return y\n    return f, read\n",
    )
    function, read = module.make()
    elsewhere = Elsewhere(tmp_path, lambda: (type(read()).__name__, type(module.w).__name__))
    module.wait = elsewhere.wait
    assert float(d2s.to_static(function)(jnp.float32(3))) == 7.0
    assert elsewhere.notes() == {"('float', 'float')"}


def test_another_thread_sees_no_tracer_in_an_object(tmp_path) -> None:
    """The write happens when the call ends; in the meantime nobody may see it."""
    module = load(
        tmp_path,
        "class A: pass\nthing = A()\nthing.v = 1.0\ndef f(x):\n    thing.v = x\n    wait()\n"
        "    return x\n",
    )
    # by no name that d2s could follow: what unconverted code can see has no twin
    address = id(module.thing)

    def look() -> str:
        return type(ctypes.cast(address, ctypes.py_object).value.v).__name__

    elsewhere = Elsewhere(tmp_path, look)
    module.wait = elsewhere.wait
    d2s.to_static(module.f)(jnp.float32(3))
    assert elsewhere.notes() == {"'float'"}
    assert float(module.thing.v) == 3.0


# -- memory ---------------------------------------------------------------------------------------

CLOSURES = """
def make(k):
    def f(x):
        if x > 0:
            x = x + k
        return x
    return f

def call(g, x):
    return g(x)

def own(k, x):
    def g(y):
        if y > 0:
            y = y + k
        return y
    return g(x)

def methods(k, x):
    class A:
        def g(self, y):
            return y + k if y > 0 else y
    return A().g(x)
"""


def grown(work: Callable[[int], object], count: int) -> int:
    """Bytes that `count` more rounds leave behind."""
    gc.collect()
    tracemalloc.start()
    try:
        for k in range(count // 10):
            work(k)
        gc.collect()
        before = tracemalloc.get_traced_memory()[0]
        for k in range(count):
            work(k)
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()


@pytest.mark.full
@pytest.mark.parametrize("way", ["convert", "call", "own", "mark"])
def test_ten_thousand_closures_leave_memory_flat(tmp_path: Path, way: str) -> None:
    module = load(tmp_path, CLOSURES)
    call, own = d2s.convert(module.call), d2s.convert(module.own)
    works: dict[str, Callable[[int], object]] = {
        "convert": lambda k: d2s.convert(module.make(k))(1),
        "call": lambda k: call(module.make(k), 1),
        "own": lambda k: own(k, 1),
        "mark": lambda k: call(d2s.do_not_convert(module.make(k)), 1),
    }
    assert [works[way](k) for k in (3, 4)] == [4, 5]
    known = entries()
    assert grown(works[way], 10_000) < 50_000
    assert entries() == known


@pytest.mark.full
def test_classes_made_in_converted_code_leave_nothing(tmp_path: Path) -> None:
    methods = d2s.convert(load(tmp_path, CLOSURES).methods)
    assert methods(2, 1) == 3
    assert grown(lambda k: methods(k, 1), 300) < 100_000


@pytest.mark.full
def test_code_objects_that_are_dropped_leave_nothing(tmp_path: Path) -> None:
    module = load(tmp_path, CLOSURES)
    code = module.make(0).__code__
    closure = module.make(7).__closure__

    def work(_: int) -> None:
        function = types.FunctionType(code.replace(), vars(module), "f", None, closure)
        assert d2s.convert(function)(1) == 8

    work(0)
    known = entries()
    assert grown(work, 30) < 50_000
    assert entries() == known


@pytest.mark.full
def test_static_functions_are_dropped(tmp_path: Path) -> None:
    """With their graphs: nothing of d2s keeps them, nor what they close over."""
    module = load(tmp_path, CLOSURES)
    known = entries()
    dropped: list[weakref.ref[Any]] = []
    for k in range(3):
        weight = jnp.float32(k)
        static = d2s.to_static(module.make(weight))
        assert float(static(jnp.float32(1))) == 1 + k
        assert float(static(1.0)) == 1 + k
        dropped += [weakref.ref(static), weakref.ref(static.original), weakref.ref(weight)]
    del static, weight
    assert entries() >= known
    gc.collect()
    assert [ref() for ref in dropped] == [None] * len(dropped)


def test_static_methods_do_not_keep_their_objects(tmp_path: Path) -> None:
    text = (
        "import d2s\nclass A:\n    w = 2.0\n    @d2s.to_static\n    def f(self, x):\n"
        "        return x * self.w if x > 0 else x\n"
    )
    module = load(tmp_path, text)
    thing = module.A()
    assert float(d2s.to_static(thing.f)(jnp.float32(3))) == 6.0
    gone = weakref.ref(thing)
    del thing
    gc.collect()
    assert gone() is None


# -- interrupts -----------------------------------------------------------------------------------

INTERRUPTED = """
def helper(v):
    return v if v > 1 else -v

def f(x):
    total = 0.0
    while x > 0:
        try:
            if x == 3:
                total = total + 100
            total = total + helper(x)
        finally:
            touch()
        x = x - 1
    for i in range(2):
        if x > i:
            break
        total = total + i
    return total
"""


FAIL = "fail.txt"


def fails_now(flag: str) -> bool:
    """Whether there is a file that says so; it is removed, which no graph sees."""
    there = os.path.exists(flag)
    if there:
        os.remove(flag)
    return there


def raiser(kind: type[BaseException]) -> Callable[[], None]:
    def go() -> None:
        raise kind("from a test")

    return go


def prepared(folder: Path, error: Callable[[], None] | None = None) -> Any:
    """A function that calls `error` once, as long as a file says so."""
    module = load(folder, INTERRUPTED)
    flag = str(folder / FAIL)

    def touch() -> None:
        if error is not None and fails_now(flag):
            error()

    module.touch = d2s.do_not_convert(touch)
    return module.f


@pytest.mark.parametrize(
    "cause",
    [
        pytest.param(lambda: signal.raise_signal(signal.SIGINT), id="signal"),
        pytest.param(lambda: signal.raise_signal(signal.SIGUSR1), id="alarm"),
        pytest.param(raiser(MemoryError), id="MemoryError"),
        pytest.param(raiser(OSError), id="OSError"),
    ],
)
def test_an_exception_while_the_graph_is_built(tmp_path, cause: Any) -> None:
    """It goes out once; the next call builds the graph as if nothing had been."""
    function = prepared(tmp_path, cause)
    static = d2s.to_static(function)
    (tmp_path / FAIL).touch()
    before = signal.signal(signal.SIGUSR1, lambda *_: raiser(TimeoutError)())
    try:
        with pytest.raises((KeyboardInterrupt, MemoryError, OSError)):
            static(jnp.float32(4))
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert not (tmp_path / FAIL).exists()
    assert RegionsInProgress.count == 0
    for x in (4.0, 0.0, 4.0):
        assert float(static(jnp.float32(x))) == float(function(x))
        assert float(static(x)) == float(function(x))


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit, MemoryError, OSError])
def test_an_exception_outside_of_blocks_while_the_graph_is_built(tmp_path, kind):
    module = load(tmp_path, "def f(x):\n    touch()\n    return x + 1 if x > 0 else x\n")
    flag = str(tmp_path / FAIL)

    def touch() -> None:
        if fails_now(flag):
            raise kind("from a test")

    module.touch = d2s.do_not_convert(touch)
    static = d2s.to_static(module.f)
    for _ in range(2):
        (tmp_path / FAIL).touch()
        with pytest.raises(kind):
            d2s.to_static(module.f)(jnp.float32(2))
    with pytest.raises(kind):
        (tmp_path / FAIL).touch()
        static(jnp.float32(2))
    assert [float(static(jnp.float32(x))) for x in (2, -2)] == [3.0, -2.0]


def interrupted_at(step: int, work: Callable[[], object]) -> bool:
    """Run `work`, with an exception at the n-th function of d2s that it enters."""
    count = 0
    folder = str(Path(d2s.__file__).parent)

    def profile(frame: types.FrameType, event: str, _: object) -> None:
        nonlocal count
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(folder) and _may_fail(frame):
            count += 1
            if count == step:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    sys.setprofile(profile)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        sys.setprofile(None)
    return False


@pytest.fixture(autouse=True)
def interrupts() -> Iterator[None]:
    """Interrupts as in a terminal: what runs in the background may be told to ignore them."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def stopped(work: Callable[[], object]) -> None:
    """Run `work` in any thread, with an exception inside the conversion."""

    def profile(frame: types.FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code is pipeline.run.__code__:
            sys.setprofile(None)
            raise KeyboardInterrupt

    sys.setprofile(profile)
    try:
        work()
    finally:
        sys.setprofile(None)


def _may_fail(frame: types.FrameType | None) -> bool:
    """Whether nothing on the stack is cleaning up: an interrupt there is Python's own gap."""
    while frame is not None and frame.f_code is not interrupted_at.__code__:
        # a generator may be on its way out, and what happens there Python drops
        if frame.f_code.co_name in ("__exit__", "undo", "change", "<genexpr>"):
            return False
        frame = frame.f_back
    return True


def test_an_interrupt_anywhere_in_a_trace(tmp_path: Path) -> None:
    for step in (1, 2, 5, 11, 23, 47, 80, 130, 210, 340, 550):
        function = prepared(tmp_path)
        static = d2s.to_static(function)
        limit = sys.getrecursionlimit()
        hit = interrupted_at(step, lambda: static(jnp.float32(4)))
        assert hit, step
        assert (RegionsInProgress.count, scopes.current()) == (0, None)
        assert sys.getrecursionlimit() == limit
        if step % 2:
            continue
        for x in (4.0, 0.0):
            assert float(static(jnp.float32(x))) == float(function(x)), step


@pytest.mark.full
def test_an_interrupt_anywhere_in_a_conversion(tmp_path: Path) -> None:
    steps, done = 0, False
    step = 1
    while not done:
        function = prepared(tmp_path)
        known = entries() if steps == 0 else None
        done = not interrupted_at(step, lambda: d2s.convert(function))
        assert gc.isenabled(), step
        assert known is None or entries() == known
        assert d2s.convert(function)(4.0) == function(4.0), step
        assert conversion.conversion_of(function) is conversion.conversion_of(function)
        steps += 1
        step = step * 3 // 2 + 1
    assert steps > 8


def test_an_interrupt_during_a_conversion_is_not_remembered(tmp_path, monkeypatch) -> None:
    function = prepared(tmp_path)
    run = pipeline.run
    errors = iter([KeyboardInterrupt(), MemoryError(), OSError("disk")])

    def fails(*args: Any) -> Any:
        error = next(errors, None)
        if error is not None:
            raise error
        return run(*args)

    monkeypatch.setattr(pipeline, "run", fails)
    for kind in (KeyboardInterrupt, MemoryError, OSError):
        with pytest.raises(kind):
            d2s.convert(function)
        assert gc.isenabled()
    assert d2s.convert(function)(4.0) == function(4.0)


def test_a_switched_off_collector_stays_off(tmp_path: Path) -> None:
    function = prepared(tmp_path)
    gc.disable()
    try:
        d2s.convert(function)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_an_exception_in_one_thread_while_others_convert(tmp_path: Path) -> None:
    """The thread that stops holds the lock of the conversion; the others must get it."""
    module = load(tmp_path, HELPER + "".join(COUNTED.format(k=k) for k in range(THREADS)))

    def work(n: int) -> Any:
        function = getattr(module, f"f{n}")
        if n % 4 == 0:
            with pytest.raises(KeyboardInterrupt):
                stopped(lambda: d2s.convert(function))
        return d2s.convert(function)(4)

    want = [getattr(module, f"f{n}")(4) for n in range(THREADS)]
    assert in_threads(THREADS, work) == want


def test_what_an_interrupted_trace_changed_is_undone(tmp_path: Path) -> None:
    """A list and an attribute written before the interrupt hold no tracer afterwards."""
    module = load(
        tmp_path,
        "seen = []\nclass A: v = 1.0\nthing = A()\ndef f(x):\n    seen.append(x)\n"
        "    thing.v = x\n    stop()\n    return x\n",
    )
    module.stop = d2s.do_not_convert(raiser(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        d2s.to_static(module.f)(jnp.float32(1))
    assert module.seen == []
    assert module.thing.v == 1.0
    assert "v" not in vars(module.thing)


def test_an_exception_in_a_callback_of_the_run(tmp_path: Path) -> None:
    """A failure while the graph runs, not while it is built: the next call is a new one."""
    module = load(
        tmp_path,
        "import jax\ndef f(x):\n    if x > 0:\n        x = jax.pure_callback(told, x, x)\n"
        "    return x\n",
    )
    fail = [True]

    def told(x: Any) -> Any:
        if fail[0]:
            raise OSError("disk")
        return x + 1

    module.told = d2s.do_not_convert(told)
    static = d2s.to_static(module.f)
    logging.getLogger("jax._src.callback").setLevel(logging.CRITICAL)
    with pytest.raises(Exception, match="disk"):
        jax.block_until_ready(static(jnp.float32(1)))
    fail[0] = False
    assert [float(static(jnp.float32(x))) for x in (1, -1)] == [2.0, -1.0]
