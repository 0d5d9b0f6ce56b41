"""Converted functions: made once per code object, dressed as the original, dropped with it."""

import functools
import gc
import inspect
import threading
import types
import weakref
from collections.abc import Callable
from pathlib import Path

import pytest

import d2s
from d2s import api, conversion, made_code
from d2s.conversion import bind, conversion_of, converted, is_made_by_d2s, runs_as_it_is, why_not
from d2s.errors import ConversionError

from .patience import HANG
from .source.test_parser import load

LOOP = """
def f(n):
    total = 0
    while n > 0:
        total = total + n
        n = n - 1
    return total
"""


# -- once per code object -------------------------------------------------------------------------


def test_converted_once(tmp_path: Path) -> None:
    f = load(tmp_path, LOOP).f
    assert conversion_of(f) is conversion_of(f)
    assert converted(f) is converted(f)


def test_functions_of_one_code_object_share_the_conversion(tmp_path: Path) -> None:
    module = load(tmp_path, "def make(k):\n    def f(x): return x + k\n    return f\n")
    one, two = module.make(1), module.make(2)
    assert one.__code__ is two.__code__
    assert conversion_of(one) is conversion_of(two)
    assert converted(one) is not converted(two)
    assert (converted(one)(10), converted(two)(10)) == (11, 12)


def test_equal_functions_of_two_files_are_two(tmp_path: Path) -> None:
    """Their code objects are equal in everything but the file, and may even compare equal."""
    one, two = load(tmp_path, LOOP).f, load(tmp_path, LOOP).f
    assert conversion_of(one) is not conversion_of(two)
    for f in (one, two):
        made = conversion_of(f)
        assert made.unit.filename == made.code.co_filename == f.__code__.co_filename
    assert converted(one).__globals__ is one.__globals__
    assert converted(two).__globals__ is two.__globals__


def test_equal_code_objects_with_other_globals(tmp_path: Path) -> None:
    """What a name means is looked up where the function lives."""
    text = "def f(x): return k + x\n"
    one, two = load(tmp_path, "k = 1\n" + text), load(tmp_path, "k = 2\n" + text)
    assert (converted(one.f)(0), converted(two.f)(0)) == (1, 2)


def test_a_code_object_that_compares_equal_is_another(tmp_path: Path) -> None:
    f = load(tmp_path, LOOP).f
    twin = types.FunctionType(f.__code__.replace(), f.__globals__)
    assert twin.__code__ == f.__code__ and twin.__code__ is not f.__code__
    assert conversion_of(twin) is not conversion_of(f)


def test_a_refusal_is_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    f = load(tmp_path, "def f(x):\n    return locals()\n").f
    with pytest.raises(ConversionError) as first:
        conversion_of(f)
    monkeypatch.setattr("d2s.conversion._convert", None)
    for _ in range(2):
        with pytest.raises(ConversionError) as again:
            conversion_of(f)
        assert again.value is not first.value and str(again.value) == str(first.value)
        assert len(inspect.getinnerframes(again.value.__traceback__)) == 2


def test_what_d2s_made_is_not_converted_again(tmp_path: Path) -> None:
    made = converted(load(tmp_path, LOOP).f)
    assert is_made_by_d2s(made)
    assert converted(made) is made and bind(made) is made and api.convert(made) is made


# -- dressed as the original ----------------------------------------------------------------------

DRESSED = '''
import functools

class A:
    def f(self, a, b=[1], /, *c, d: int = {"k": 2}, **e) -> "A":
        """Text of f."""
        if a is None:
            a = b
        return self, a, b, c, d, e
    f.tag = "tagged"
'''


def test_looks_like_the_original(tmp_path: Path) -> None:
    f = load(tmp_path, DRESSED).A.f
    made = converted(f)
    for name in ("__name__", "__qualname__", "__module__", "__doc__", "__defaults__"):
        assert getattr(made, name) == getattr(f, name), name
    assert made.__kwdefaults__ == f.__kwdefaults__
    assert made.__annotations__ == f.__annotations__ == {"d": int, "return": "A"}
    assert made.tag == "tagged"
    assert made.__wrapped__ is f
    assert inspect.signature(made) == inspect.signature(f)
    assert made.__defaults__[0] is f.__defaults__[0]
    assert made.__kwdefaults__["d"] is f.__kwdefaults__["d"]
    assert made.__code__.co_argcount == f.__code__.co_argcount
    assert made.__code__.co_posonlyargcount == f.__code__.co_posonlyargcount
    assert made.__code__.co_kwonlyargcount == f.__code__.co_kwonlyargcount


def test_takes_arguments_like_the_original(tmp_path: Path) -> None:
    f = load(tmp_path, DRESSED).A.f
    made = converted(f)
    for args, kwargs in [((0, 1), {}), ((0, 1, 2, 3, 4), {"d": 5, "x": 6}), ((0, None), {"a": 7})]:
        assert made(*args, **kwargs) == f(*args, **kwargs)
    for args, kwargs in [((), {}), ((0,), {"a": 1})]:
        texts = []
        for function in (f, made):
            with pytest.raises(TypeError) as caught:
                function(*args, **kwargs)
            texts.append(str(caught.value))
        assert texts[0] == texts[1]


def test_the_original_is_not_changed(tmp_path: Path) -> None:
    f = load(tmp_path, DRESSED).A.f
    before = (f.__code__, f.__closure__, f.__doc__, dict(f.__dict__))
    converted(f)
    after = {k: v for k, v in f.__dict__.items() if not k.startswith("__d2s_")}
    assert (f.__code__, f.__closure__, f.__doc__, after) == before


def test_a_wrapper_copies_the_dictionary_but_not_the_conversion(tmp_path: Path) -> None:
    """`functools.wraps` copies attributes; the wrapper must not be taken for what it wraps."""
    module = load(
        tmp_path,
        """
import functools

def f(x):
    return x

def wrap(g):
    @functools.wraps(g)
    def wrapper(x):
        return g(x) + 1
    return wrapper
""",
    )
    assert converted(module.f)(1) == 1
    assert converted(module.wrap(module.f))(1) == 2


def test_defaults_that_change_later(tmp_path: Path) -> None:
    f = load(tmp_path, "def f(x=1):\n    return x\n").f
    assert converted(f)() == 1
    f.__defaults__ = (2,)
    assert f() == 2
    assert api.convert(f)() == 2


def test_code_that_changes_later(tmp_path: Path) -> None:
    """What reloading tools do: the function stays, its code object is another."""
    module = load(tmp_path, "def f(x):\n    return x\n\ndef g(x):\n    return x + 1\n")
    assert converted(module.f)(1) == 1
    module.f.__code__ = module.g.__code__
    assert module.f(1) == 2
    assert converted(module.f)(1) == 2


# -- closures, globals, recursion -----------------------------------------------------------------


def test_closures_share_their_cells(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def make():
    count = 0
    def bump(n):
        nonlocal count
        while n > 0:
            count += 1
            n = n - 1
        return count
    def read():
        return count
    return bump, read
""",
    )
    bump, read = module.make()
    assert converted(bump)(3) == 3
    assert read() == converted(read)() == 3
    assert bump(1) == converted(bump)(0) == 4
    made = converted(bump)
    names = dict(zip(made.__code__.co_freevars, made.__closure__, strict=True))
    assert names["count"] is bump.__closure__[0]


def test_a_cell_that_is_filled_later(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def make(convert):
    def even(n):
        if n == 0:
            return True
        return odd(n - 1)
    even = convert(even)
    def odd(n):
        if n == 0:
            return False
        return even(n - 1)
    return even
""",
    )
    even = module.make(converted)
    assert [even(n) for n in range(5)] == [True, False, True, False, True]


def test_closure_variable_named_like_the_package(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def make(d2s):
    def f(x):
        if x > 0:
            x = d2s
        return x
    return f
""",
    )
    assert converted(module.make(7))(1) == 7


def test_globals_are_read_when_the_function_runs(tmp_path: Path) -> None:
    module = load(tmp_path, "k = 1\n\ndef f(x):\n    return k + x\n")
    made = converted(module.f)
    assert made(0) == 1
    module.k = 5
    assert made(0) == 5


def test_a_module_that_does_not_know_d2s(tmp_path: Path) -> None:
    module = load(tmp_path, LOOP)
    converted(module.f)(3)
    assert "d2s" not in vars(module)


def test_a_global_called_d2s_is_the_users(tmp_path: Path) -> None:
    module = load(
        tmp_path, "d2s = 5\n\ndef f(x):\n    if x > 0:\n        return d2s\n    return -d2s\n"
    )
    assert (converted(module.f)(1), converted(module.f)(-1)) == (5, -5)


def test_recursion(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)

def make():
    def inner(n):
        return 0 if n == 0 else 1 + inner(n - 1)
    return inner

lam = lambda n: 0 if n == 0 else 2 + lam(n - 1)
""",
    )
    assert converted(module.factorial)(10) == 3628800
    assert converted(module.make())(10) == 10
    assert converted(module.lam)(10) == 20
    assert converted(module.factorial)(300) == module.factorial(300)


def test_recursion_goes_by_the_name_in_the_module(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(n):\n    return n if n == 0 else f(n - 1)\n")
    made = converted(module.f)
    module.f = lambda n: "replaced"
    assert made(0) == 0
    assert made(3) == "replaced"


def test_super_and_class_cells(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
class A:
    def f(self, x): return x + 1

class B(A):
    def f(self, x):
        if x > 0:
            x = super().f(x)
        return x, __class__
""",
    )
    assert api.convert(module.B().f)(1) == (2, module.B)


# -- what is left alone ---------------------------------------------------------------------------


def test_why_a_function_runs_as_it_is(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def plain(x): return x
def generator(x): yield x
async def coroutine(x): return x
def marked(x): return x
""",
    )
    d2s.do_not_convert(module.marked)
    space: dict[str, types.FunctionType] = {}
    exec("def f(x): return x", space)
    assert runs_as_it_is(module.plain) == ""
    assert runs_as_it_is(module.generator) == "it is a generator or a coroutine"
    assert runs_as_it_is(module.coroutine) == "it is a generator or a coroutine"
    assert runs_as_it_is(module.marked) == "it is marked with d2s.do_not_convert"
    assert runs_as_it_is(functools.wraps) == "it belongs to a library"
    assert runs_as_it_is(api.convert) == "it belongs to a library"
    assert runs_as_it_is(space["f"]) == "its source is not available"
    assert why_not(space["f"]) == "its source is not available"


def test_a_mark_belongs_to_the_function_not_to_its_code(tmp_path: Path) -> None:
    module = load(tmp_path, "def make():\n    def f(x): return x\n    return f\n")
    marked, free = d2s.do_not_convert(module.make()), module.make()
    assert runs_as_it_is(marked) and not runs_as_it_is(free)
    assert runs_as_it_is(marked)


def test_a_refused_function_is_not_run_silently(tmp_path: Path) -> None:
    module = load(tmp_path, "def g(x): return locals()\n\ndef f(x):\n    return g(x)\n")
    with pytest.raises(ConversionError, match=r"`locals\(\)`"):
        converted(module.f)(1)


# -- threads --------------------------------------------------------------------------------------


def in_threads(count: int, work: Callable[[int], object]) -> list[object]:
    barrier = threading.Barrier(count)
    results: list[object] = [None] * count

    def run(n: int) -> None:
        barrier.wait()
        try:
            results[n] = work(n)
        except BaseException as error:
            results[n] = error

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(HANG)
    return results


def test_one_function_in_16_threads(tmp_path: Path) -> None:
    f = load(tmp_path, LOOP).f
    results = in_threads(16, lambda n: (conversion_of(f), converted(f)(n)))
    assert [result[1] for result in results] == [n * (n + 1) // 2 for n in range(16)]
    assert len({id(result[0]) for result in results}) == 1


def test_many_functions_in_16_threads(tmp_path: Path) -> None:
    """Of one file and of several, each thread in another order."""
    named = [LOOP.replace("def f", f"def f{k}") for k in range(8)]
    text = "".join(one.replace("= 0\n", f"= {k}\n") for k, one in enumerate(named))
    modules = [load(tmp_path, text) for _ in range(2)]
    functions = [(k, getattr(module, f"f{k}")) for module in modules for k in range(8)]

    def work(n: int) -> list[object]:
        turned = functions[n:] + functions[:n]
        return [converted(f)(4) - 10 == k for k, f in turned]

    assert in_threads(16, work) == [[True] * 16] * 16


def test_callees_are_converted_in_threads(tmp_path: Path) -> None:
    text = "def f0(x): return x\n" + "".join(
        f"def f{k}(x):\n    if x > 0:\n        x = f{k - 1}(x)\n    return x + 1\n"
        for k in range(1, 20)
    )
    module = load(tmp_path, text)
    assert in_threads(16, lambda n: converted(module.f19)(n + 1)) == [n + 20 for n in range(16)]


# -- memory ---------------------------------------------------------------------------------------


def entries() -> int:
    gc.collect()
    registries = (conversion._conversions, made_code._made, conversion._as_is)
    return sum(len(registry._entries) for registry in registries)


@pytest.mark.full
def test_closures_that_come_and_go_leave_nothing(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def make(k):
    def f(x):
        if x > 0:
            x = x + k
        return x
    return f
""",
    )
    assert converted(module.make(0))(1) == 1
    before = entries()
    dropped = []
    for k in range(2000):
        f = module.make(k)
        assert converted(f)(1) == k + 1
        dropped.append(weakref.ref(f))
    del f
    assert entries() == before
    assert sum(ref() is not None for ref in dropped) == 0


@pytest.mark.full
def test_functions_that_are_dropped_leave_nothing(tmp_path: Path) -> None:
    """A code object of its own each time: its conversion goes when it goes."""
    module = load(tmp_path, LOOP)
    converted(module.f)(1)
    before = entries()
    for _ in range(50):
        f = types.FunctionType(module.f.__code__.replace(), module.f.__globals__)
        assert converted(f)(2) == 3
    del f
    assert entries() == before


@pytest.mark.full
def test_inner_functions_of_converted_code_leave_nothing(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        "def g(h, x): return h(x)\n\ndef f(x):\n    return g(lambda y: y + x, 1)\n",
    )
    made = converted(module.f)
    assert made(1) == 2
    before = entries()
    assert [made(n) for n in range(200)] == [n + 1 for n in range(200)]
    assert entries() == before
