"""What a program reads and writes by other ways than names: fresh on every call, or refused.

Each scenario is a function of `S`, which is the identity for plain Python and `d2s.to_static` for
the graph. It calls what `S` gives several times, with changes in between, and returns what it saw.
"""

from __future__ import annotations

import abc
import array
import collections
import ctypes
import dataclasses
import functools
import gc
import importlib
import math
import os
import sys
import threading
import types
import typing
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s

from . import small_module

N = 1
TABLE = {"a": 1}
W = jnp.ones(2)
HERE = sys.modules[__name__]


def same(left, right):
    if isinstance(left, list | tuple):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            same(one, other)
    elif isinstance(left, str | type(None)):
        assert left == right
    else:
        np.testing.assert_allclose(np.asarray(left), np.asarray(right), rtol=1e-6)


def fresh():
    global N, W
    N, W = 1, jnp.ones(2)
    TABLE.clear()
    TABLE["a"] = 1


def plain(function):
    return function


def runs(scenario):
    fresh()
    expected = scenario(plain)
    fresh()
    try:
        return expected, scenario(d2s.to_static)
    finally:
        fresh()


SAME = []
REFUSED = []


def works(scenario):
    SAME.append(scenario)
    return scenario


def refused(code):
    def add(scenario):
        REFUSED.append((scenario, code))
        return scenario

    return add


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("scenario", SAME, ids=lambda s: s.__name__)
def test_same(scenario):
    same(*runs(scenario))


@pytest.mark.parametrize(("scenario", "code"), REFUSED, ids=lambda s: getattr(s, "__name__", s))
def test_refused(scenario, code):
    with pytest.raises(d2s.Error) as caught:
        runs(scenario)
    assert caught.value.code == code


# -- names of modules -----------------------------------------------------------------------------


def changing(f, *changes):
    """Call, change something, call again, and so on."""
    seen = [f(2.0), f(3.0)]
    for change in changes:
        change()
        seen += [f(2.0), f(3.0)]
    return seen


def set_n(value):
    global N
    N = value


def set_w(value):
    global W
    W = value


@works
def globals_item(S):
    return changing(S(lambda x: globals()["N"] * x), lambda: set_n(5), lambda: set_n(6))


@works
def globals_in_a_branch(S):
    def f(x):
        if x > 2.5:
            x = x * globals()["N"]
        else:
            x = x + globals().get("N", 0) + globals().get("missing", 7)
        return x

    return changing(S(f), lambda: set_n(5), lambda: set_n(6.5))


@works
def globals_in_a_loop(S):
    def f(x):
        while x < 100:
            x = x * (globals()["N"] + 1)
        return x

    return changing(S(f), lambda: set_n(3))


@works
def globals_array(S):
    return changing(S(lambda x: (globals()["W"] * x).sum()), lambda: set_w(jnp.array([3.0, 4.0])))


@works
def globals_contains(S):
    f = S(lambda x: x if "ADDED" in globals() else -x)
    seen = [f(1.0)]
    HERE.ADDED = 1
    seen.append(f(1.0))
    del HERE.ADDED
    return [*seen, f(1.0)]


@works
def globals_listed(S):
    f = S(lambda x: x * len([n for n in globals() if n.startswith("ADDED")]))
    seen = [f(1.0)]
    HERE.ADDED1 = HERE.ADDED2 = 1
    seen.append(f(1.0))
    del HERE.ADDED1, HERE.ADDED2
    return [*seen, f(1.0)]


@works
def globals_table(S):
    return changing(S(lambda x: globals()["TABLE"]["a"] * x), lambda: TABLE.update(a=4))


@works
def globals_written(S):
    def f(x):
        globals()["N"] += 1
        globals().update(W=W * x)
        return globals()["N"] * x + W.sum()

    g = S(f)
    return [g(2.0), N, W, g(2.0), N, W, g(3.0), N, W]


@works
def globals_written_in_a_branch(S):
    def f(x):
        if x > 2.5:
            globals()["N"] = x * 2
        return x + globals()["N"]

    g = S(f)
    return [g(2.0), N, g(3.0), N, g(2.0), N, g(4.0), N]


@works
def vars_written_in_a_loop(S):
    def f(x):
        while x < 10.0:
            x = x * 2
            vars(HERE)["N"] = vars(HERE)["N"] + x
        return x

    g = S(f)
    return [g(2.0), N, g(30.0), N, g(3.0), N]


@works
def globals_table_written(S):
    def f(x):
        globals()["TABLE"]["a"] += x
        return TABLE["a"]

    g = S(f)
    return [g(2.0), TABLE["a"], g(3.0), TABLE["a"]]


@works
def globals_new_name_and_deleted(S):
    def f(x):
        globals()["ADDED"] = x
        y = ADDED * 2  # noqa: F821
        del globals()["ADDED"]
        return y + globals().pop("ADDED", 5)

    g = S(f)
    return [g(2.0), hasattr(HERE, "ADDED"), g(3.0)]


@works
def eval_with_globals(S):
    return changing(S(lambda x: eval("N * v", globals(), {"v": x})), lambda: set_n(4))


@works
def vars_of_module(S):
    return changing(S(lambda x: vars(HERE)["N"] * x + vars(HERE)["W"].sum()), lambda: set_n(4))


@works
def vars_written(S):
    def f(x):
        vars(HERE)["N"] += 1
        return x * N

    g = S(f)
    return [g(2.0), N, g(2.0), N]


@works
def module_attribute(S):
    return changing(
        S(lambda x: HERE.N * x + HERE.W.sum()), lambda: set_n(4), lambda: set_w(jnp.zeros(2))
    )


works(small_module.module_dict)
works(small_module.attrgetter_of_module)


@works
def modules_by_name(S):
    return changing(S(lambda x: sys.modules[__name__].N * x), lambda: set_n(4))


@works
def modules_get_and_helper(S):
    def read(module):
        return module.N

    f = S(lambda x: x * read(sys.modules.get(__name__)))
    return changing(f, lambda: set_n(4))


@works
def modules_in_a_loop(S):
    def f(x):
        for module in list(sys.modules.values()):
            if module is HERE:
                x = x * module.N
        return x

    return changing(S(f), lambda: set_n(4))


@works
def imported_module(S):
    return changing(S(lambda x: importlib.import_module(__name__).N * x), lambda: set_n(4))


@works
def imported_inside(S):
    def f(x):
        from tests.backends.lax.reach import test_reads

        return test_reads.N * x

    sys.modules.setdefault("tests.backends.lax.reach.test_reads", HERE)
    return changing(S(f), lambda: set_n(4))


@works
def getattr_of_module(S):
    name = "N"
    f = S(lambda x: getattr(HERE, name) * x + getattr(HERE, "M" + "ISSING", 3))
    seen = changing(f, lambda: set_n(4))
    HERE.MISSING = 5
    seen.append(f(1.0))
    del HERE.MISSING
    return seen


@refused("D2S080")
def write_by_module(S):
    def f(x):
        HERE.N += 1
        return x

    return [S(f)(1.0), N]


@refused("D2S080")
def write_by_modules(S):
    def f(x):
        sys.modules[__name__].N += 1
        return x

    return [S(f)(1.0), N]


@refused("D2S080")
def write_by_imported_module(S):
    def f(x):
        importlib.import_module(__name__).N = x
        return x

    return [S(f)(1.0), N]


@refused("D2S080")
def write_by_setattr(S):
    def f(x):
        setattr(HERE, "N", x)  # noqa: B010
        return x

    return [S(f)(1.0), N]


def count():
    global N
    N += 1


@refused("D2S080")
def written_by_name_and_read_by_module(S):
    def f(x):
        count()
        return HERE.N * x

    g = S(f)
    return [g(1.0), g(1.0)]


@refused("D2S080")
def written_by_name_and_read_by_modules(S):
    def f(x):
        count()
        return sys.modules[__name__].N * x

    g = S(f)
    return [g(1.0), g(1.0)]


@refused("D2S079")
def globals_of_a_function(S):
    return S(lambda x: count.__globals__["N"] * x)(1.0)


@refused("D2S079")
def globals_of_a_function_by_text(S):
    return S(lambda x: getattr(count, "__globals__")["N"] * x)(1.0)  # noqa: B009


@refused("D2S079")
def contents_of_a_cell(S):
    k = 1

    def g():
        return k

    return S(lambda x: g.__closure__[0].cell_contents * x)(1.0)


@refused("D2S079")
def exec_with_globals(S):
    return S(lambda x: exec("N = 3", globals()))(1.0)


# -- objects of C's, weak references --------------------------------------------------------------


@works
def mapping_proxy(S):
    d = {"a": 1, "b": [1, 2]}
    p = types.MappingProxyType(d)

    def f(x):
        return x * p["a"] + sum(p["b"]) + len(p)

    return changing(S(f), lambda: d.update(a=5), lambda: d["b"].append(7), lambda: d.update(c=1))


@works
def mapping_proxy_as_attribute(S):
    d = {"a": jnp.ones(2)}
    o = types.SimpleNamespace(p=types.MappingProxyType(d))
    return changing(S(lambda x: o.p["a"].sum() * x), lambda: d.update(a=jnp.zeros(2)))


@refused("D2S080")
def mapping_proxy_of_what_is_written(S):
    d = {"a": 1}
    p = types.MappingProxyType(d)

    def f(x):
        d["a"] += 1
        return p["a"] * x

    g = S(f)
    return [g(1.0), g(1.0)]


@works
def view_of_a_dict(S):
    d = {"a": 1}
    keys = d.keys()
    return changing(S(lambda x: x * len(keys)), lambda: d.update(b=1))


@works
def memory_view(S):
    data = array.array("d", [1.0, 2.0])
    m = memoryview(data)

    def change():
        data[0] = 7.0

    return changing(S(lambda x: m[0] * x), change)


@works
def memory_of_ctypes(S):
    n = ctypes.c_int(3)

    class Pair(ctypes.Structure):
        _fields_ = [("a", ctypes.c_int), ("b", ctypes.c_double)]  # noqa: RUF012

    p = Pair(1, 2.0)

    def change():
        n.value = 5
        p.b = 9.0

    return changing(S(lambda x: n.value * x + p.b), change)


@refused("D2S080")
def ctypes_written(S):
    n = ctypes.c_int(3)

    def f(x):
        n.value += 1
        return x

    S(f)(1.0)
    return n.value


class Thing:
    def __init__(self, a):
        self.a = a


@works
def weak_reference(S):
    o = Thing(2)
    w = weakref.ref(o)
    f = S(lambda x: x * w().a if w() is not None else -x)
    seen = [f(1.0), f(2.0)]
    o.a = 5
    seen.append(f(1.0))
    del o
    gc.collect()
    return [*seen, f(1.0), w() is None]


@works
def weak_proxy(S):
    o = Thing(2)
    p = weakref.proxy(o)
    f = S(lambda x: x * p.a)
    seen = [f(1.0)]
    o.a = 5
    seen.append(f(1.0))
    dies = weakref.ref(o)
    del o
    gc.collect()
    return [*seen, dies() is None]


@refused("D2S079")
def weak_reference_in_a_ring(S):
    o = Thing(2)
    o.part = [Thing(3)]
    o.part[0].owner = o
    w = weakref.ref(o)
    f = S(lambda x: x if w() is None else x * w().part[0].a)
    seen = [f(1.0)]
    o.part[0].a = 4
    seen.append(f(1.0))
    del o
    gc.collect()
    return [*seen, f(1.0)]


@refused("D2S080")
def written_through_a_proxy(S):
    o = Thing(2)
    p = weakref.proxy(o)

    def f(x):
        p.a = p.a + 1
        return x * o.a

    g = S(f)
    return [g(1.0), g(1.0), o.a]


# -- caches, classes, functions, libraries --------------------------------------------------------


@works
def cached_function(S):
    k = [1]

    @functools.cache
    def g(n):
        return k[0] + n

    f = S(lambda x: g(1) * x)
    seen = [f(1.0), f(2.0)]
    k[0] = 5
    seen.append(f(1.0))
    g.cache_clear()
    seen += [f(1.0), f(2.0)]
    g(7)
    return [*seen, f(1.0)]


@works
def cached_function_in_a_small_cache(S):
    k = [1]

    @functools.lru_cache(maxsize=1)
    def g(n):
        return k[0] + n

    f = S(lambda x: g(1) * x)
    seen = [f(1.0), f(2.0)]
    k[0] = 5
    seen.append(f(1.0))
    g(2)
    return [*seen, f(1.0), f(2.0)]


@works
def bases_of_a_class(S):
    class A:
        k = 1

        def go(self, x):
            return x + 1

    class B:
        k = 2

        def go(self, x):
            return x * 10

    class C(A):
        pass

    c = C()

    def change():
        C.__bases__ = (B,)

    return changing(S(lambda x: C.k * x + c.go(x)), change)


@works
def registered_classes(S):
    class Shape(abc.ABC):  # noqa: B024
        pass

    class Square:
        pass

    s = Square()
    f = S(lambda x: x if isinstance(s, Shape) else -x)
    g = S(lambda x: x if issubclass(Square, Shape) else -x)
    seen = [f(1.0), g(1.0), f(2.0)]
    Shape.register(Square)
    return [*seen, f(1.0), g(1.0)]


@refused("D2S023")
def subclasses(S):
    class A:
        pass

    f = S(lambda x: x * len(A.__subclasses__()))
    return f(1.0)


@works
def attributes_of_functions(S):
    def helper(x):
        return x

    helper.k = 2

    def f(x):
        return x * helper.k * getattr(helper, "n", 1)

    g = S(f)
    seen = [g(1.0), g(2.0)]
    helper.k = 3
    seen.append(g(1.0))
    helper.n = 7
    return [*seen, g(1.0)]


@works
def attributes_of_the_function_itself(S):
    def f(x):
        return x * f.k

    f = S(f)
    f.k = 2
    seen = [f(1.0), f(2.0)]
    f.k = 3
    seen.append(f(1.0))
    f.k = 4.5
    return [*seen, f(1.0), f(2.0)]


@refused("D2S080")
def attributes_of_the_function_itself_written(S):
    def f(x):
        f.k += 1
        return x * f.k

    f = S(f)
    f.k = 2
    return [f(1.0), f(1.0), f.k]


@works
def replaced_library_functions(S):
    old, deep = math.floor, os.path.basename

    def f(x):
        return math.floor(2.7) * x + len(os.path.basename("a/bcd"))

    g = S(f)
    try:
        seen = [g(1.0), g(2.0)]
        math.floor = lambda v: 7
        seen.append(g(1.0))
        os.path.basename = lambda v: v
        return [*seen, g(1.0)]
    finally:
        math.floor, os.path.basename = old, deep


@works
def arguments_of_the_program(S):
    f = S(lambda x: x * len(sys.argv) + len(os.environ.get("D2S_READS", "")))
    seen = [f(1.0)]
    sys.argv.append("more")
    seen.append(f(1.0))
    sys.argv.pop()
    os.environ["D2S_READS"] = "four"
    seen.append(f(1.0))
    del os.environ["D2S_READS"]
    return [*seen, f(1.0)]


@refused("D2S023")
def lock_asked(S):
    lock = threading.Lock()

    def f(x):
        return x if lock.acquire(blocking=False) else x * 100

    g = S(f)
    return [g(1.0), g(1.0)]


@works
def lock_held(S):
    lock = threading.Lock()

    def f(x):
        with lock:
            return x * 2

    return [S(f)(1.0), lock.locked()]


@works
def keywords_of_a_partial(S):
    p = functools.partial(pow, 2)
    q = functools.partial(dict, k=1, w=jnp.ones(2))

    def f(x):
        q.keywords["k"] += 1
        q.keywords["w"] = q.keywords["w"] * x
        return q()["k"] * x + p(3)

    g = S(f)
    return [g(2.0), q.keywords["k"], q.keywords["w"], g(2.0), q.keywords["k"], q()["w"]]


# -- isinstance, with ------------------------------------------------------------------------------


class Positive(type):
    def __instancecheck__(cls, value):
        if isinstance(value, jax.Array) and value.ndim == 1:
            if value.sum() > 0:
                return True
        return False


class AllPositive(metaclass=Positive):
    pass


@typing.runtime_checkable
class HasShape(typing.Protocol):
    shape: tuple

    def sum(self): ...


@typing.runtime_checkable
class HasMore(typing.Protocol):
    shape: tuple
    more: int


class Indexed(abc.ABC):  # noqa: B024
    @classmethod
    def __subclasshook__(cls, kind):
        return hasattr(kind, "at")


@works
def asked_what_it_is(S):
    def f(x):
        asked = [isinstance(x, HasShape), isinstance(x, HasMore), isinstance(x, Indexed)]
        return (1 if isinstance(x, AllPositive) else 2), *asked, isinstance(x, (int, AllPositive))

    g = S(f)
    return [g(jnp.ones(2)), g(-jnp.ones(2)), g(3), g(2.5), g(-jnp.ones((1, 1)))]


class Leaves:
    def __init__(self, value):
        self.value = value

    def __enter__(self):
        return self

    def __exit__(self, kind, error, traceback):
        return self.value


@works
def left_with_an_array(S):
    m, truth = Leaves(jnp.ones(2)), Leaves(jnp.bool_(True))

    def f(x):
        with m, truth:
            x = x + 1
        return x

    return [S(f)(jnp.float32(1)), S(f)(jnp.float32(2))]


# -- objects that something else reaches, too -----------------------------------------------------


class Net:
    def __init__(self):
        self.w, self.t = jnp.ones(2), 0


class OwnTuple(tuple):
    __slots__ = ()


class MarkedTuple(tuple):
    pass


class OwnList(list):
    def first(self):
        return self[0]


class OwnDict(dict):
    def first(self):
        return self["a"]


class Strict(dict):
    def __getitem__(self, key):
        return dict.__getitem__(self, key)


class OwnSet(set):
    pass


@dataclasses.dataclass(frozen=True)
class Frozen:
    net: object


def marked(net):
    made = MarkedTuple([net])
    made.net = net
    return made


def marked_list(net):
    made = OwnList([net])
    made.note = 1
    return made


HOLDERS = {
    "own tuple": (lambda net: OwnTuple([net]), lambda c: c[0], None),
    "tuple with an attribute": (marked, lambda c: c.net, None),
    "own list": (lambda net: OwnList([net]), lambda c: c.first(), None),
    "own dict": (lambda net: OwnDict(a=net), lambda c: c.first(), None),
    "frozen set": (lambda net: frozenset([net]), lambda c: next(iter(list(c))), None),
    "one of a frozen set": (lambda net: frozenset([net]), lambda c: list(c)[0], None),  # noqa: RUF015
    "namespace": (lambda net: types.SimpleNamespace(a=net), lambda c: c.a, None),
    "user dict": (lambda net: collections.UserDict(a=net), lambda c: c["a"], None),
    "user list": (lambda net: collections.UserList([net]), lambda c: c[0], None),
    "chain map": (lambda net: collections.ChainMap({"a": net}), lambda c: c["a"], None),
    "list with an attribute": (marked_list, lambda c: c[0], None),
    "dict with methods of its own": (lambda net: Strict(a=net), lambda c: c["a"], "D2S080"),
    "own set": (lambda net: OwnSet([net]), lambda c: list(c)[0], "D2S080"),  # noqa: RUF015
    "counter": (lambda net: collections.Counter(a=net), lambda c: c["a"], None),
    "frozen dataclass": (Frozen, lambda c: c.net, None),
    "array of objects": (lambda net: np.array([net, None]), lambda c: c[0], "D2S080"),
}


@pytest.mark.parametrize("given", [False, True], ids=["closure", "argument"])
@pytest.mark.parametrize("name", HOLDERS)
def test_objects_in_containers(name, given):
    make, get, code = HOLDERS[name]
    nets = []

    def scenario(S):
        net = Net()
        nets.append(net)
        holder = make(net)

        def step(c, x):
            inner = get(c)
            inner.t += 1
            if x > 2.5:
                inner.w = inner.w * x
            return net.w.sum() * net.t

        f = S(step) if given else S(lambda x: step(holder, x))
        args = (holder,) if given else ()
        seen = [f(*args, 2.0), net.w, net.t, f(*args, 3.0), net.w, net.t]
        net.w, net.t = jnp.zeros(2), 5
        return [*seen, f(*args, 2.0), f(*args, 3.0), net.w, net.t]

    if code is None:
        same(*runs(scenario))
        return
    with pytest.raises(d2s.Error) as caught:
        runs(scenario)
    assert caught.value.code in (code, "D2S030")
    assert not isinstance(nets[-1].w, jax.core.Tracer)


def listed(kind):
    """A class that lists its objects, and one of them that counts its steps."""

    class Opt:
        every = kind()
        last = None

        def __init__(self):
            self.t, self.w = 0, jnp.ones(2)
            Opt.last = self
            if isinstance(Opt.every, dict):
                Opt.every["a"] = self
            else:
                getattr(Opt.every, "append" if kind is list else "add")(self)

        def step(self, x):
            self.t += 1
            self.w = self.w * x
            return self.w.sum() * self.t

        def of_all(self, x):
            self.t += 1
            every = Opt.every.values() if isinstance(Opt.every, dict) else Opt.every
            return x * sum(o.t for o in every)

        @property
        def of_last(self):
            return Opt.last.t

    return Opt


@pytest.mark.parametrize("kind", [list, dict, set, weakref.WeakSet], ids=lambda kind: kind.__name__)
def test_objects_that_their_class_lists(kind):
    def scenario(S):
        o = listed(kind)()
        f = S(o.step)
        seen = [f(2.0), f(3.0), o.t, o.w, f(2.0), o.t]
        o.t = 10
        return [*seen, f(2.0), o.t, o.w]

    same(*runs(scenario))

    def as_argument(S):
        o = listed(kind)()
        f = S(lambda o, x: o.step(x))
        return [f(o, 2.0), f(o, 3.0), o.t, o.w]

    same(*runs(as_argument))


@pytest.mark.parametrize("kind", [list, dict, set, weakref.WeakSet], ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("way", ["of_all", "text", "property", "made"])
def test_objects_that_are_read_from_the_list(kind, way):
    kinds = listed(kind)
    o = kinds()
    name = "last"

    def step(o, x):
        if way == "of_all":
            return o.of_all(x)
        o.t += 1
        if way == "text":
            return getattr(type(o), name).t * x
        if way == "property":
            return o.of_last * x
        return kinds().t + x

    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(step)(o, jnp.float32(2))
    assert caught.value.code == "D2S080"
    assert o.t == 0
    assert kinds.last is o


def test_what_a_class_lists_is_read():
    def scenario(S):
        kinds = listed(list)
        o, other = kinds(), kinds()
        f = S(lambda x: x * sum(o.t for o in kinds.every) + kinds.last.w.sum())
        seen = [f(1.0)]
        o.t = 3
        seen.append(f(1.0))
        other.w = jnp.zeros(2)
        seen.append(f(1.0))
        kinds()
        return [*seen, f(1.0)]

    same(*runs(scenario))


def test_a_value_of_the_graph_that_got_out_is_taken_back():
    net = Net()

    @d2s.do_not_convert
    def stray(x):
        for found in gc.get_objects():
            if type(found) is Net:
                found.w = x
        return x

    def f(x):
        return stray(x) + net.w.sum()

    before = net.w
    with pytest.raises(d2s.Error, match="D2S080"):
        d2s.to_static(f)(jnp.float32(2))
    assert net.w is before


def shape(a):
    a.shape = (2, 2)


def dtype(a):
    a.dtype = np.float32


def flag(a):
    a.flags.writeable = False


def resized(a):
    a.resize((2, 2))


@pytest.mark.filterwarnings("ignore:Setting the:DeprecationWarning")  # from NumPy 2.5 on
@pytest.mark.parametrize("change", [shape, dtype, flag, resized], ids=lambda c: c.__name__)
@pytest.mark.parametrize("held", ["closure", "attribute", "pinned"])
def test_attributes_of_arrays(change, held):
    a = np.arange(4, dtype=np.int32)
    o = types.SimpleNamespace(a=a)
    proxy = types.MappingProxyType({"a": a})

    def f(x):
        change({"closure": a, "attribute": o.a, "pinned": proxy["a"]}[held])
        return x

    before = a.shape, a.dtype, a.flags.writeable
    with pytest.raises(d2s.Error, match="D2S071"):
        d2s.to_static(f)(1.0)
    assert before == (a.shape, a.dtype, a.flags.writeable)


@works
def layout_of_arrays(S):
    a = np.arange(4.0)
    f = S(lambda x: x * a.ndim if a.flags.writeable else -x)
    seen = [f(1.0)]
    a.shape = (2, 2)
    seen.append(f(1.0))
    a.flags.writeable = False
    return [*seen, f(1.0)]


def bounded(o, w, x):
    o.w = w
    with d2s.options(max_iterations=20):
        while x < 10.0:
            x = x * o.w
    return x


def with_a_call(o, w, x):
    o.w = w
    y = jax.vmap(lambda v: v + 1)(jnp.ones(2))
    return (y * o.w * x).sum()


def counted(o, w, x):
    o.w, o.n = w, 0.0
    with d2s.options(max_iterations=20):
        while x < 10.0:
            x = x * o.w
            o.n = o.n + o.w
    return x + o.n


@pytest.mark.parametrize("loss", [bounded, with_a_call, counted], ids=lambda f: f.__name__)
@pytest.mark.parametrize("number", [float, jnp.float32], ids=["float", "array"])
@pytest.mark.parametrize("has_w", [True, False])
def test_gradients_by_attributes(loss, number, has_w):
    def scenario(S):
        o = types.SimpleNamespace(w=jnp.float32(1)) if has_w else types.SimpleNamespace()
        f = S(lambda w, x: jax.value_and_grad(lambda w: loss(o, w, x))(w))
        return [f(number(2), number(1)), f(number(3), number(1)), f(number(1.5), number(2))]

    same(*runs(scenario))


def test_modules_that_hold_each_other(tmp_path, monkeypatch):
    """The walk over what a function mentions ends, whatever modules import."""
    (tmp_path / "first_of_two.py").write_text("import second_of_two\nrate = 2.0\n")
    (tmp_path / "second_of_two.py").write_text("import first_of_two\nscale = 3.0\n")
    (tmp_path / "uses_both.py").write_text(
        "import first_of_two, second_of_two\n"
        "def f(x):\n"
        "    if x > 0:\n"
        "        x = x * first_of_two.second_of_two.first_of_two.rate\n"
        "    return x + second_of_two.scale\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    uses = importlib.import_module("uses_both")
    static = d2s.to_static(uses.f)
    assert static(jnp.float32(2.0)) == 7.0
    uses.first_of_two.rate = 10.0
    assert static(jnp.float32(2.0)) == 23.0
