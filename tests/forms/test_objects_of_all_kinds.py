"""Values of odd classes: what a program does with them is done, or refused, and never half done."""

from __future__ import annotations

import linecache
import types
from typing import Any

import pytest

import d2s

HEAD = """
import contextvars, enum, fractions, functools, types, weakref
from collections import OrderedDict, defaultdict, deque, namedtuple
import jax.numpy as jnp

class L(list): pass
class D(dict): pass
class T(tuple): pass
class S(str): pass
Two = namedtuple("Two", "a b")
class NT(Two): pass
class O:
    def __init__(self, v=1.0): self.v = v
class Gone:
    def __init__(self, v=1.0): self.v = v
    def __del__(self): pass

def up(x): return jnp.float32(x)
"""

#: name -> a program; `f` is static, `run` tells what can be seen
PROGRAMS = {
    "first attribute in a branch": """
def f(a, x):
    if x > 0:
        a.n = x
    return x
def run(f): a = L(); return f(a, up(-1)), vars(a)
""",
    "first attribute on both sides": """
def f(a, x):
    if x > 0:
        a.n = 1.0
    else:
        a.n = 2.0
    return a.n
def run(f): return f(L(), up(1)), f(D(), up(-1))
""",
    "first attribute in no trip": """
def f(x):
    a = D()
    while x > 0:
        a.n = x
        x = x - 1
    return hasattr(a, "n")
def run(f): return f(up(-1))
""",
    "attribute of a text in a branch": """
def f(x):
    s = S("a")
    if x > 0:
        s.n = x
    return hasattr(s, "n")
def run(f): return f(up(-1))
""",
    "emptied behind a failure": """
def f(s, b, x):
    if x > 0:
        raise ValueError(x)
    s.clear()
    del b[:]
def run(f):
    s, b = {1, 2}, bytearray(b"ab")
    try:
        f(s, b, up(1))
    except ValueError:
        return sorted(s), bytes(b)
""",
    "key of a dict": """
def f(d, x):
    if x > 0:
        list(d)[0].v = 8.0
def run(f): o = O(); f({o: 1}, up(-3)); return o.v
""",
    "object in a key": """
def f(d, x):
    for o, i in d:
        o.v = x
def run(f): o = O(); f({(o, 1): 2.0}, up(2)); return o.v
""",
    "fraction and a number": """
def f(a, x): return a == x, a != x, x in (a,), [x, a].count(a)
def run(f): return [int(v) for v in f(fractions.Fraction(1, 2), 0.5)]
""",
    "chosen tuple with attributes": """
def f(p, q, x):
    r = p if x > 0 else q
    r.k = x
def run(f):
    p, q = T((1.0,)), T((2.0,))
    p.k, q.k = 1.0, 2.0
    f(p, q, up(5))
    return p.k, q.k
""",
    "chosen view of a dict": """
def f(p, q, x):
    r = p if x > 0 else q
    r["a"][0] = x
def run(f):
    p, q = types.MappingProxyType({"a": [1.0]}), types.MappingProxyType({"a": [2.0]})
    f(p, q, up(5))
    return p["a"], q["a"]
""",
    "view of a dict, itself": """
def f(m, x): return m
def run(f): m = types.MappingProxyType({"a": 1.0}); return f(m, 2.0) is m
""",
    "attribute of the class": """
class A(L):
    w = 2.0
    def m(self, x): return x * 2
def f(a, x): return a.w * x, a.m(x)
def run(f):
    a = A()
    first = f(a, 2.0)
    A.w, A.m = 3.0, lambda self, x: x * 3
    return first, f(a, 2.0)
""",
    "what special methods read": """
W = 2.0
class A(T):
    @property
    def p(self): return W
    def __add__(self, other): return W
class M(D):
    def __missing__(self, key): return W
def f(a, d, x): return a.p * x, (a + a) * x, d["z"] * x
def run(f):
    global W
    a, d = A((1.0,)), M()
    first = f(a, d, 2.0)
    W = 5.0
    return first, f(a, d, 2.0)
""",
    "class of a named tuple": """
class K(Two):
    __slots__ = ()
    w = 2.0
    def m(self): return self.w * W
W = 1.0
def f(k, x): return k.w * x, k.m() * x
def run(f):
    global W
    k = K(1.0, 2.0)
    first = f(k, 2.0)
    K.w, W = 3.0, 5.0
    return first, f(k, 2.0)
""",
    "factory with effects": """
N = [0]
def factory():
    N[0] += 1
    return float(N[0])
def f(d, x): return d["a"] + x
def run(f): return [f(defaultdict(factory), 3.0) for _ in range(3)], N
""",
    "factory with an object": """
def f(d, x): d["a"].append(x)
def run(f):
    shared = [1.0]
    d = defaultdict(lambda: shared)
    f(d, up(3))
    return shared, d["a"] is shared
""",
    "factory assigned": """
def f(d, x):
    d.default_factory = None
    d["a"] = x
def run(f): d = defaultdict(float); f(d, 3.0); return d.default_factory
""",
    "object and its attributes": """
def f(o, d, x):
    d["v"] = d["v"] + x
    if x > 0:
        o.v = o.v * 2
    return o.v
def run(f): o = O(); return f(o, vars(o), up(2)), o.v
""",
    "two objects with one dict": """
def f(o, p, x):
    o.v = o.v + x
    p.v = p.v * 2
def run(f):
    o, p = O(), O()
    p.__dict__ = o.__dict__
    f(o, p, up(2))
    return o.v, p.v
""",
    "attributes of another": """
def f(o, p, x): p.__dict__ = o.__dict__
def run(f):
    o, p = O(), O()
    f(o, p, 2.0)
    o.v = 9.0
    return p.v
""",
    "a dict that is its attributes": """
class A(dict):
    def __init__(self, **entries):
        super().__init__(**entries)
        self.__dict__ = self
def f(d, x):
    d.a = d.a + x
    return d["a"]
def run(f): d = A(a=1.0); return f(d, 2.0), d["a"], d.a
""",
    "state behind hashable arguments": """
def f(o, w, c, m, e, x): return o.v * x, w().v * x, c.get().v * x, m.v * x, e.value.v * x
def run(f):
    o, h, c, m = Gone(), O(), contextvars.ContextVar("c"), types.ModuleType("m")
    c.set(h)
    m.v = 1.0
    E, w = enum.Enum("E", {"A": h}), weakref.ref(h)
    first = f(o, w, c, m, E.A, 2.0)
    o.v = h.v = m.v = 5.0
    return first, f(o, w, c, m, E.A, 2.0)
""",
    "written behind a hashable argument": """
def f(o, x): o.v = x
def run(f): o = Gone(); f(o, up(2)); return o.v
""",
    "attribute of a text as argument": """
def f(s, x): s.n = s.n + x
def run(f): s = S("a"); s.n = 1.0; f(s, up(2)); return s.n
""",
    "named tuple with attributes": """
def f(k, x):
    made = NT(x, 1.0)
    made.z = x
    k.z = k.z * x
    return made, k.z
def run(f):
    k = NT(1.0, 2.0)
    k.z = 3.0
    made, z = f(k, 2.0)
    return made.z, z, k.z
""",
    "twice in a result": """
def f(x):
    p = T((x,))
    p.k = 1.0
    if x > 0:
        p.k = x
    return p, p
def run(f):
    one, other = f(up(2))
    one.k = 7.0
    return one is other, other.k
""",
    "flags and a number": """
class F(enum.IntFlag): A = 1; B = 2
def f(a, x): return a | x
def run(f): return type(f(F.A, 2)).__name__
""",
}


def outcome(name: str, way: Any) -> Any:
    """What a program shows, or the error of d2s with which it ends."""
    source, file = HEAD + PROGRAMS[name], f"<{name} {way.__name__}>"
    module = types.ModuleType("program")
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    exec(compile(source, file, "exec"), vars(module))
    try:
        return _plain(module.run(way(module.f)))
    except d2s.Error as error:
        return error


def _plain(value: Any) -> Any:
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return float(value) if hasattr(value, "dtype") else value


def itself(function: Any) -> Any:
    return function


@pytest.mark.parametrize("name", PROGRAMS)
def test_equal_or_refused(name: str) -> None:
    want, got = outcome(name, itself), outcome(name, d2s.to_static)
    assert isinstance(got, d2s.Error) or got == want
