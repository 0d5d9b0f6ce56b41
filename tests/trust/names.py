"""Reads and writes: every way to a value that lives outside of a function, changed between calls.

A *place* holds a value. It has texts that make it, that read it, that change it from outside, and
that write it from inside. A read is seen fresh on every call; a write is done on every call; or
d2s says that it cannot.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .judge import Program, parses


@dataclass(frozen=True)
class Place:
    """`{v}` is the value in `make` and `change`; `{r}` in a write is what was read, changed."""

    name: str
    make: str
    reads: tuple[str, ...]
    changes: tuple[str, ...]
    writes: tuple[str, ...] = ()


HEAD = """\
import abc, array, builtins, collections, contextvars, copy, ctypes, dataclasses, enum, functools
import importlib, inspect, operator, sys, threading, types, typing, weakref
import numpy as np
import jax.numpy as jnp
"""
CLASS = "class C:\n    k = {v}\n"
OBJECT = "class C:\n    pass\nO = C()\nO.k = {v}\n"

PLACES = (
    Place(
        "global",
        "K = {v}\n",
        (
            "K",
            "globals()['K']",
            "globals().get('K')",
            "vars(sys.modules[__name__])['K']",
            "sys.modules[__name__].K",
            "sys.modules[__name__].__dict__['K']",
            "getattr(sys.modules[__name__], 'K')",
            "importlib.import_module(__name__).K",
            "__import__(__name__).K",
            "eval('K')",
            "eval('K', globals())",
            "g.__globals__['K']",
            "(lambda: K)()",
            "g()",
            "operator.attrgetter('K')(sys.modules[__name__])",
            "operator.itemgetter('K')(globals())",
            "inspect.getmodule(g).K if inspect.getmodule(g) else K",
            "[v for n, v in globals().items() if n == 'K'][0]",
            "dict(globals())['K']",
            "globals() | {{}} and globals()['K']",
            "collections.ChainMap({{}}, globals())['K']",
            "functools.partial(g)()",
            "list(map(lambda _: K, [0]))[0]",
            "types.MappingProxyType(globals())['K']",
            "inspect.currentframe().f_globals['K']",
            "sys._getframe().f_globals['K']",
            "getattr(inspect.getmodule(f) or sys.modules[__name__], 'K')",
        ),
        ("K = {v}", "globals()['K'] = {v}", "sys.modules[__name__].K = {v}", "globals().update(K={v})"),
        (
            "global K\n    K = {r}",
            "globals()['K'] = {r}",
            "sys.modules[__name__].K = {r}",
            "setattr(sys.modules[__name__], 'K', {r})",
            "vars(sys.modules[__name__])['K'] = {r}",
            "globals().update(K={r})",
            "globals().__setitem__('K', {r})",
            "exec('K = K', globals())\n    globals()['K'] = {r}",
            "g.__globals__['K'] = {r}",
            "importlib.import_module(__name__).K = {r}",
            "operator.setitem(globals(), 'K', {r})",
            "globals().setdefault('K', 0)\n    sys.modules[__name__].__dict__['K'] = {r}",
        ),
    ),
    Place(
        "attribute",
        OBJECT,
        (
            "O.k",
            "getattr(O, 'k')",
            "getattr(O, 'k', 0)",
            "O.__dict__['k']",
            "vars(O)['k']",
            "operator.attrgetter('k')(O)",
            "O.__getattribute__('k')",
            "object.__getattribute__(O, 'k')",
            "weakref.ref(O)().k",
            "weakref.proxy(O).k",
            "W().k",
            "P.k",
            "types.MappingProxyType(vars(O))['k']",
            "copy.copy(O).k",
            "copy.deepcopy(O).k",
            "[O][0].k",
            "{{'o': O}}['o'].k",
            "inspect.getattr_static(O, 'k')",
            "dict(vars(O))['k']",
            "list(vars(O).values())[0]",
            "(lambda o=O: o.k)()",
            "next(iter(SET)).k",
            "LISTED[0].k",
            "TUPLED[0].k",
            "DICTED['o'].k",
            "DEQUE[0].k",
            "NS.o.k",
            "REF[0]().k",
        ),
        ("O.k = {v}", "setattr(O, 'k', {v})", "vars(O)['k'] = {v}", "O.__dict__.update(k={v})", "del O.k; O.k = {v}"),
        (
            "O.k = {r}",
            "setattr(O, 'k', {r})",
            "O.__dict__['k'] = {r}",
            "vars(O).update(k={r})",
            "object.__setattr__(O, 'k', {r})",
            "O.__setattr__('k', {r})",
            "weakref.proxy(O).k = {r}",
            "weakref.ref(O)().k = {r}",
            "W().k = {r}",
            "P.k = {r}",
            "LISTED[0].k = {r}",
            "TUPLED[0].k = {r}",
            "DICTED['o'].k = {r}",
            "DEQUE[0].k = {r}",
            "NS.o.k = {r}",
            "next(iter(SET)).k = {r}",
            "for o in SET:\n        o.k = {r}",
        ),
    ),
    Place(
        "class attribute",
        CLASS + "O = C()\nclass D(C):\n    pass\n",
        ("C.k", "O.k", "D.k", "D().k", "type(O).k", "C.__dict__['k']", "vars(C)['k']", "getattr(C, 'k')",
         "O.__class__.k", "D.__bases__[0].k", "D.__mro__[1].k", "super(D, D()).k", "C().k", "inspect.getattr_static(O, 'k')",
         "C.mro()[0].k", "operator.attrgetter('k')(C)", "C.__subclasses__()[0].k"),
        ("C.k = {v}", "setattr(C, 'k', {v})", "type.__setattr__(C, 'k', {v})"),
        ("C.k = {r}", "setattr(C, 'k', {r})", "type(O).k = {r}", "O.__class__.k = {r}", "type.__setattr__(C, 'k', {r})", "D.__bases__[0].k = {r}"),
    ),
    Place(
        "item",
        "D = {{'k': {v}}}\n",
        ("D['k']", "D.get('k')", "operator.itemgetter('k')(D)", "D.__getitem__('k')", "list(D.values())[0]", "M['k']",
         "dict(D)['k']", "(lambda k: k)(**D)", "D.copy()['k']", "next(iter(D.values()))", "max(D.values())", "{{**D}}['k']",
         "collections.ChainMap(D)['k']", "CHAIN['k']", "[v for v in D.values()][0]", "HOLD[0]['k']", "D.setdefault('k', 0)", "VIEW_OF(D)",
         "functools.reduce(lambda a, b: b, D.values())", "sorted(D.items())[0][1]"),
        ("D['k'] = {v}", "D.update(k={v})", "D.clear(); D['k'] = {v}", "D |= {{'k': {v}}}", "D = {{'k': {v}}}", "D.pop('k'); D.setdefault('k', {v})"),
        ("D['k'] = {r}", "D.update(k={r})", "D.__setitem__('k', {r})", "operator.setitem(D, 'k', {r})", "dict.__setitem__(D, 'k', {r})",
         "HOLD[0]['k'] = {r}", "CHAIN['k'] = {r}", "D.update({{'k': {r}}})", "r = {r}\n    D.clear()\n    D['k'] = r", "r = {r}\n    D.pop('k')\n    D['k'] = r",
         "for k in D:\n        D[k] = {r}", "dict.update(D, k={r})"),
    ),
    Place(
        "list item",
        "L = [{v}, {v}]\n",
        ("L[0]", "L[-2]", "operator.itemgetter(0)(L)", "L[:1][0]", "list(L)[0]", "tuple(L)[0]", "next(iter(L))", "L.__getitem__(0)",
         "[*L][0]", "HOLD[0][0]", "(lambda a, b: a)(*L)", "L.copy()[0]", "list(reversed(L))[-1]", "list(zip(L))[0][0]",
         "list(enumerate(L))[0][1]", "max(L)", "sum(L)", "len(L)", "CHAINED[0]", "sorted(L)[0]"),
        ("L[0] = {v}", "L[:] = [{v}, {v}]", "L.insert(0, {v})", "L.reverse(); L[0] = {v}", "L.clear(); L.extend([{v}, {v}])", "L = [{v}, {v}]", "L.append({v})"),
        ("L[0] = {r}", "L.__setitem__(0, {r})", "operator.setitem(L, 0, {r})", "L[:1] = [{r}]", "L.insert(0, {r})", "L.append({r})", "L += [{r}]",
         "HOLD[0][0] = {r}", "r = {r}\n    L.pop()\n    L.append(r)", "L.extend([{r}])", "list.append(L, {r})", "r = {r}\n    L.reverse()\n    L[0] = r",
         "r = {r}\n    del L[0]\n    L.insert(0, r)", "L.sort(key=lambda v: -v)\n    L[0] = {r}"),
    ),
    Place(
        "closure",
        "def made():\n    k = {v}\n    def get():\n        return k\n    def put(v):\n        nonlocal k\n        k = v\n    return get, put\nget, put = made()\n",
        ("get()", "get.__closure__[0].cell_contents", "put.__closure__[0].cell_contents", "inspect.getclosurevars(get).nonlocals['k']", "(lambda: get())()",
         "functools.partial(get)()"),
        ("put({v})", "get.__closure__[0].cell_contents = {v}"),
        ("put({r})", "get.__closure__[0].cell_contents = {r}", "functools.partial(put)({r})", "list(map(put, [{r}]))"),
    ),
    Place(
        "default",
        "def d(k={v}, *, j=1):\n    return k\n",
        ("d()", "d.__defaults__[0]", "inspect.signature(d).parameters['k'].default", "functools.partial(d, j=2)()"),
        ("d.__defaults__ = ({v},)",),
        ("d.__defaults__ = ({r},)",),
    ),
    Place(
        "keyword default",
        "def d(*, k={v}):\n    return k\n",
        ("d()", "d.__kwdefaults__['k']"),
        ("d.__kwdefaults__ = {{'k': {v}}}", "d.__kwdefaults__['k'] = {v}"),
        ("d.__kwdefaults__['k'] = {r}",),
    ),
    Place(
        "function attribute",
        "def d():\n    return d.k\nd.k = {v}\n",
        ("d.k", "d()", "d.__dict__['k']", "getattr(d, 'k')", "vars(d)['k']"),
        ("d.k = {v}", "vars(d)['k'] = {v}"),
        ("d.k = {r}", "setattr(d, 'k', {r})", "d.__dict__['k'] = {r}"),
    ),
    Place(
        "own attribute",
        "",
        ("getattr(f, 'k', {v})", "(f.k if hasattr(f, 'k') else {v})"),
        ("f.k = {v}",),
        ("f.k = {r}",),
    ),
    Place(
        "partial",
        "P = functools.partial(lambda a, k: k, 1, k={v})\n",
        ("P()", "P.keywords['k']", "P.func(2, **P.keywords)", "functools.partial(P)()"),
        ("P.keywords['k'] = {v}", "P = functools.partial(P.func, 1, k={v})", "P.keywords.update(k={v})"),
        ("P.keywords['k'] = {r}", "P.keywords.update(k={r})"),
    ),
    Place(
        "slots",
        "class S:\n    __slots__ = ('k', '__weakref__')\nO = S()\nO.k = {v}\n",
        ("O.k", "getattr(O, 'k')", "S.k.__get__(O)", "S.__dict__['k'].__get__(O, S)", "weakref.proxy(O).k"),
        ("O.k = {v}", "S.k.__set__(O, {v})"),
        ("O.k = {r}", "S.k.__set__(O, {r})", "object.__setattr__(O, 'k', {r})"),
    ),
    Place(
        "property",
        "class Q:\n    def __init__(self, v):\n        self._k = v\n    @property\n    def k(self):\n        return self._k\n"
        "    @k.setter\n    def k(self, v):\n        self._k = v\nO = Q({v})\n",
        ("O.k", "Q.k.fget(O)", "Q.k.__get__(O)", "getattr(O, 'k')", "operator.attrgetter('k')(O)", "O._k"),
        ("O.k = {v}", "O._k = {v}", "Q.k = property(lambda s: {v})", "O = Q({v})"),
        ("O.k = {r}", "Q.k.fset(O, {r})", "O._k = {r}", "Q.k.__set__(O, {r})"),
    ),
    Place(
        "descriptor",
        "class T:\n    def __get__(self, o, c=None):\n        return o.__dict__['_k'] if o is not None else self\n"
        "    def __set__(self, o, v):\n        o.__dict__['_k'] = v\nclass Q:\n    k = T()\nO = Q()\nO.k = {v}\n",
        ("O.k", "getattr(O, 'k')", "type(O).__dict__['k'].__get__(O)", "vars(O)['_k']"),
        ("O.k = {v}", "vars(O)['_k'] = {v}"),
        ("O.k = {r}", "vars(O)['_k'] = {r}"),
    ),
    Place(
        "cached property",
        "class Q:\n    base = {v}\n    @functools.cached_property\n    def k(self):\n        return self.base\nO = Q()\n",
        ("O.k", "getattr(O, 'k')", "O.base", "Q().k"),
        ("del O.k; O.base = {v}", "O.k = {v}", "O = Q(); O.base = {v}", "Q.base = {v}"),
        ("O.k = {r}", "O.base = {r}"),
    ),
    Place(
        "dynamic attribute",
        "class Q:\n    def __init__(self, v):\n        self.d = {{'k': v}}\n    def __getattr__(self, n):\n        if n != 'k':\n"
        "            raise AttributeError(n)\n        return self.d[n]\n    def __getitem__(self, n):\n        return self.d[n]\n"
        "    def __setitem__(self, n, v):\n        self.d[n] = v\n    def __call__(self):\n        return self.d['k']\n"
        "    def __len__(self):\n        return 3 + bool(self.d['k'])\n    def __contains__(self, v):\n        return v == self.d['k']\n"
        "    def __iter__(self):\n        return iter([self.d['k']])\nO = Q({v})\n",
        ("O.k", "O['k']", "O()", "getattr(O, 'k')", "O.d['k']", "len(O)", "(1 if 1 in O else 2)", "list(O)[0]", "next(iter(O))", "operator.itemgetter('k')(O)"),
        ("O.d['k'] = {v}", "O['k'] = {v}", "O.d = {{'k': {v}}}"),
        ("O['k'] = {r}", "O.d['k'] = {r}", "O.d.update(k={r})"),
    ),
    Place(
        "careless attribute",
        "class Q:\n    def __init__(self, v):\n        self.d = {{'k': v}}\n    def __getattr__(self, n):\n        return self.d[n]\nO = Q({v})\n",
        ("O.k", "O.d['k']"),
        ("O.d['k'] = {v}",),
        ("O.d['k'] = {r}",),
    ),
    Place(
        "context variable",
        "V = contextvars.ContextVar('V', default={v})\n",
        ("V.get()", "V.get(0)", "contextvars.copy_context().get(V, {v})", "contextvars.copy_context().run(V.get)"),
        ("V.set({v})",),
        ("V.set({r})",),
    ),
    Place(
        "thread local",
        "T = threading.local()\nT.k = {v}\n",
        ("T.k", "getattr(T, 'k')", "vars(T)['k']", "T.__dict__['k']"),
        ("T.k = {v}",),
        ("T.k = {r}", "setattr(T, 'k', {r})"),
    ),
    Place(
        "cache",
        "BASE = [{v}]\n@functools.cache\ndef c():\n    return BASE[0]\n@functools.lru_cache(maxsize=2)\ndef e(n):\n    return BASE[0] + n\n",
        ("c()", "e(1)", "c.__wrapped__()", "c.cache_info().currsize", "e.cache_info().misses"),
        ("BASE[0] = {v}", "BASE[0] = {v}; c.cache_clear(); e.cache_clear()", "c.cache_clear(); c()"),
        ("BASE[0] = {r}", "c.cache_clear()", "c()\n    e(1)"),
    ),
    Place(
        "namespace",
        "N = types.SimpleNamespace(k={v})\n",
        ("N.k", "vars(N)['k']", "getattr(N, 'k')", "copy.copy(N).k", "N.__dict__['k']"),
        ("N.k = {v}", "N = types.SimpleNamespace(k={v})", "N.__dict__['k'] = {v}"),
        ("N.k = {r}", "vars(N)['k'] = {r}"),
    ),
    Place(
        "mapping proxy",
        "D = {{'k': {v}}}\nM = types.MappingProxyType(D)\n",
        ("M['k']", "M.get('k')", "dict(M)['k']", "list(M.values())[0]", "operator.itemgetter('k')(M)", "(M | {{}})['k']", "M.copy()['k']"),
        ("D['k'] = {v}", "M = types.MappingProxyType({{'k': {v}}})"),
        ("D['k'] = {r}",),
    ),
    Place(
        "containers",
        "Q = collections.deque([{v}, 7])\nE = collections.defaultdict(int, k={v})\nR = collections.OrderedDict(k={v})\n"
        "U = collections.UserDict(k={v})\nX = collections.UserList([{v}])\nY = collections.Counter(k={v})\n",
        ("Q[0]", "Q[-2]", "list(Q)[0]", "E['k']", "R['k']", "U['k']", "X[0]", "Y['k']", "U.data['k']", "next(iter(R.values()))", "E['none']", "Y['none']", "len(Q)", "Y.total()"),
        ("Q[0] = {v}; E['k'] = {v}; R['k'] = {v}; U['k'] = {v}; X[0] = {v}; Y['k'] = {v}", "Q.appendleft({v}); E.clear(); R.move_to_end('k'); Y.update(k={v})", "Q.rotate(1)"),
        ("Q[0] = {r}", "Q.append({r})", "Q.appendleft({r})", "E['k'] = {r}", "R['k'] = {r}", "U['k'] = {r}", "X[0] = {r}", "Y['k'] = {r}", "r = {r}\n    Q.popleft()\n    Q.append(r)", "Q.rotate(1)", "X.append({r})", "E['new'] += 1", "Y.update(k={r})", "R.move_to_end('k')"),
    ),
    Place(
        "buffers",
        "A = np.array([{v}, 2.0], np.float32)\nB = bytearray([3, 4])\nM = memoryview(B)\nR = array.array('d', [{v}])\nCT = (ctypes.c_int * 2)(3, 4)\nVIEW = A[:1]\n",
        ("A[0]", "VIEW[0]", "B[0]", "M[0]", "R[0]", "CT[0]", "A.sum()", "A.tolist()[0]", "bytes(M)[0]", "A.item(0)", "float(A[0])", "A.flat[0]", "A.T[0]", "len(B)", "A.shape[0]", "np.asarray(A)[0]", "memoryview(A)[0]", "A.max()"),
        ("A[0] = {v}; B[0] = 9; R[0] = {v}; CT[0] = 8", "VIEW[0] = {v}; M[0] = 7", "A = np.array([{v}, 1.0, 5.0], np.float32)", "A += 1", "A.shape = (1, 2)", "A.fill({v})"),
        ("A[0] = {r}", "VIEW[0] = {r}", "B[0] = 5", "M[0] = 6", "R[0] = {r}", "CT[0] = 7", "A += {r}", "A[:] = {r}", "np.copyto(A, {r})", "A.fill({r})", "np.put(A, [0], {r})", "A.shape = (2, 1)", "A.sort()", "B.append(1)", "R.append({r})", "np.add(A, 1, out=A)", "A.flat[0] = {r}", "A.T[0] = {r}"),
    ),
    Place(
        "jax array",
        "A = jnp.array([{v}, 2.0])\nL = [A]\n",
        ("A[0]", "L[0][0]", "A.sum()", "A.shape[0]"),
        ("A = jnp.array([{v}, 1.0])", "A = A.at[0].set({v}); L[0] = A", "A = jnp.array([{v}, 1.0, 2.0])", "L.append(A)"),
        ("global A\n    A = A.at[0].set({r})", "L[0] = L[0] * {r}", "global A\n    A = A + {r}"),
    ),
    Place(
        "class tree",
        "class X:\n    k = {v}\nclass Y:\n    k = 9\nclass Z(X):\n    pass\nO = Z()\nclass AB(abc.ABC):\n    pass\n",
        ("Z.k", "O.k", "len(X.__subclasses__())", "Z.__bases__[0].k", "Z.__mro__[1].k", "(1 if isinstance(O, AB) else 2)", "(1 if issubclass(Z, AB) else 2)", "Z.__name__", "O.__class__.__name__", "type(O).k", "(1 if isinstance(O, X) else 2)", "(1 if hasattr(O, 'm') else 2)"),
        ("Z.__bases__ = (Y,)", "AB.register(Z)", "type('W', (X,), {{}})", "X.k = {v}", "O.__class__ = Y", "Z.__name__ = 'ZZ'", "X.m = lambda self: 1", "Z.k = {v}"),
        ("O.__class__ = Y", "X.k = {r}", "AB.register(Z)", "Z.k = {r}"),
    ),
    Place(
        "method",
        "class Q:\n    def __init__(self, v):\n        self.v = v\n    def m(self):\n        return self.v\n    @classmethod\n    def c(cls):\n        return cls.d\n    @staticmethod\n    def s():\n        return 1\n    d = {v}\nO = Q({v})\nB = O.m\n",
        ("O.m()", "B()", "Q.m(O)", "O.c()", "Q.c()", "O.s()", "B.__self__.v", "B.__func__(O)", "getattr(O, 'm')()", "operator.methodcaller('m')(O)", "types.MethodType(Q.m, O)()", "functools.partialmethod(Q.m).__get__(O)()"),
        ("O.v = {v}", "Q.m = lambda self: {v}", "Q.d = {v}", "O.m = lambda: {v}", "Q.s = staticmethod(lambda: {v})", "B = Q({v}).m", "O.d = {v}"),
        ("O.v = {r}", "Q.d = {r}", "B.__self__.v = {r}"),
    ),
    Place(
        "library",
        "import math, string, os, json\nHELD = math.floor\nPATH = os.path\n",
        ("math.floor(2.7)", "math.pi", "string.digits", "getattr(math, 'floor')(2.7)", "len(sys.argv)", "json.dumps({{'a': 1}})", "builtins.len([1])", "len([1])", "HELD(2.7)", "sys.flags.optimize", "os.sep", "math.__name__"),
        ("OLD = math.floor; math.floor = lambda v: 7", "string.digits = '01'", "sys.argv.append('x')", "json.dumps = lambda v: 'other'", "math.pi = 3"),
    ),
    Place(
        "lock",
        "LOCK = threading.Lock()\nEVENT = threading.Event()\nSEM = threading.Semaphore(1)\nIT = iter([1, 2, 3, 4, 5, 6])\nG = (i for i in range(9))\nCOUNT = iter(range(9))\n",
        ("(1 if LOCK.locked() else 2)", "(1 if LOCK.acquire(blocking=False) else 2)", "(1 if EVENT.is_set() else 2)", "(1 if SEM.acquire(blocking=False) else 2)", "next(IT)", "next(G)", "next(COUNT)", "sum(IT)", "len(list(G))"),
        ("EVENT.set()", "LOCK.acquire(blocking=False)", "next(IT, 0)", "SEM.release()"),
        ("EVENT.set()", "LOCK.acquire(blocking=False)", "next(IT)", "next(G)"),
    ),
    Place(
        "weak containers",
        "class C:\n    pass\nO = C()\nO.k = {v}\nWS = weakref.WeakSet([O])\nWD = weakref.WeakValueDictionary(o=O)\nWK = weakref.WeakKeyDictionary({{O: {v}}})\nW = weakref.ref(O)\nP = weakref.proxy(O)\n",
        ("len(WS)", "len(WD)", "WD['o'].k", "WK[O]", "W().k", "P.k", "(1 if W() is None else 2)", "next(iter(WS)).k", "list(WD.values())[0].k", "(1 if 'o' in WD else 2)", "weakref.getweakrefcount(O)", "len(WK)"),
        ("O.k = {v}", "del O", "O = C(); O.k = {v}", "WK[O] = {v}", "WS.clear()"),
        ("O.k = {r}", "W().k = {r}", "P.k = {r}", "WK[O] = {r}", "WD['o'].k = {r}", "next(iter(WS)).k = {r}", "WS.add(O)"),
    ),
    Place(
        "registry",
        "class C:\n    known = []\n    table = {{}}\n    last = None\n    weak = weakref.WeakSet()\n    def __init__(self, v):\n        self.k = v\n        C.known.append(self)\n        C.table['o'] = self\n        C.last = self\n        C.weak.add(self)\nclass Many(tuple):\n    pass\nclass Lot(list):\n    pass\nO = C({v})\nT = Many([O])\nL = Lot([O])\nF = frozenset([O])\nNT = collections.namedtuple('NT', 'o')(O)\n",
        ("O.k", "C.known[0].k", "C.table['o'].k", "C.last.k", "T[0].k", "L[0].k", "NT.o.k", "list(C.weak)[0].k", "list(F)[0].k", "len(C.known)", "next(iter(T)).k"),
        ("O.k = {v}", "C.last.k = {v}", "O = C({v})", "C.last = None", "C.known.clear()"),
        ("O.k = {r}", "C.known[0].k = {r}", "C.table['o'].k = {r}", "C.last.k = {r}", "T[0].k = {r}", "L[0].k = {r}", "NT.o.k = {r}", "for o in T:\n        o.k = {r}", "for o in list(C.weak):\n        o.k = {r}", "for o in F:\n        o.k = {r}", "C({r})", "C.last = C({r})"),
    ),
    Place(
        "dataclass",
        "@dataclasses.dataclass\nclass R:\n    k: object\n    h: list = dataclasses.field(default_factory=list)\n@dataclasses.dataclass(frozen=True)\nclass Z:\n    k: object\nclass E(enum.Enum):\n    A = 1\nE.A.note = {v}\nO = R({v})\nI = Z({v})\n",
        ("O.k", "I.k", "dataclasses.astuple(O)[0]", "dataclasses.asdict(O)['k']", "dataclasses.replace(O).k", "len(O.h)", "E.A.note", "(1 if O == R(3) else 2)", "E['A'].value", "getattr(E.A, 'note')"),
        ("O.k = {v}", "O = R({v})", "I = Z({v})", "object.__setattr__(I, 'k', {v})", "O.h.append(1)", "E.A.note = {v}"),
        ("O.k = {r}", "O.h.append({r})", "object.__setattr__(I, 'k', {r})", "E.A.note = {r}", "vars(O)['k'] = {r}"),
    ),
)
EXTRA = {
    "W": "W = weakref.ref(O)",
    "P": "P = weakref.proxy(O)",
    "SET": "SET = {O}",
    "LISTED": "LISTED = [O]",
    "TUPLED": "TUPLED = (O,)",
    "DICTED": "DICTED = {'o': O}",
    "DEQUE": "DEQUE = collections.deque([O])",
    "NS": "NS = types.SimpleNamespace(o=O)",
    "REF": "REF = [weakref.ref(O)]",
    "M": "M = types.MappingProxyType(D)",
    "CHAIN": "CHAIN = collections.ChainMap(D)",
    "CHAINED": "CHAINED = L",
    "VIEW_OF": "def VIEW_OF(d):\n    return list(d.values())[0]",
}
VALUES = ("1", "3", "5.5", "2.5", "-4", "0", "True", "100")
KINDS = ("int", "float", "mixed", "array")
FORMS = (
    "    return {read} * x\n",
    "    return {read}, x\n",
    "    k = {read}\n    if x > 2:\n        k = k + 1\n    return k * x\n",
    "    r = x\n    for i in range(2):\n        r = r + {read}\n    return r\n",
    "    if x > 2:\n        return {read} + x\n    return x * 1.0\n",
    "    def h():\n        return {read}\n    return h() + x\n",
    "    try:\n        return {read} + x\n    except (TypeError, KeyError, AttributeError, ReferenceError):\n        return x\n",
    "    print({read})\n    return x\n",
    "    return [v + {read} for v in (x, 1.0)]\n",
    "    return str({read}), x\n",
    "    return x if {read} == 1 else -x\n",
)
WRITES = (
    "    {write}\n    return x\n",
    "    {write}\n    return {read} + x\n",
    "    before = {read}\n    {write}\n    return before, x\n",
    "    if x > 2:\n        {deeper}\n    return x\n",
    "    for i in range(2):\n        {deeper}\n    return x\n",
    "    try:\n        {deeper}\n    except (TypeError, KeyError, AttributeError, ValueError):\n        return 'failed'\n    return x\n",
    "    def h():\n        {deeper}\n    h()\n    return x\n",
)


def programs(rng: random.Random) -> Iterator[Program]:
    """Each place in turn, read and written in ways of chance, again and again."""
    while True:
        for place in rng.sample(PLACES, len(PLACES)):
            ways: list[tuple[str, str | None]] = [
                (read, None) for read in rng.sample(place.reads, min(3, len(place.reads)))
            ]
            for write in rng.sample(place.writes, min(2, len(place.writes))):
                ways.append((rng.choice(place.reads), write))
            for read, write in ways:
                program = _program(rng, place, read, write)
                if parses(program.body):  # `global` after a use, for one
                    yield program


def _value(rng: random.Random, kind: str) -> str:
    if kind == "array":
        return f"jnp.float32({rng.choice(['1.5', '2.0', '-3.0'])})"
    if kind == "mixed":
        return rng.choice(VALUES)
    return rng.choice([v for v in VALUES if ("." in v) == (kind == "float")])


def _program(rng: random.Random, place: Place, read: str, write: str | None) -> Program:
    kind = rng.choice(KINDS)
    value = _value(rng, kind)
    read = read.format(v=value)
    made = HEAD + place.make.format(v=value)
    text = read + (write or "")
    words = set(re.findall(r"\w+", text))
    made += "".join(f"{EXTRA[n]}\n" for n in EXTRA if n in words and f"\n{n} =" not in made)
    if "HOLD" in text:
        made += f"HOLD = [{'L' if place.name == 'list item' else 'D'}]\n"
    made += "def g():\n    return K\n" if place.name == "global" else ""
    if write is None:
        inside = rng.choice(FORMS).format(read=read)
    else:
        new = rng.choice([read + " + 1", "x", "x * 2", "3", read + " * x"])
        done = write.format(r=new, v=value)
        inside = rng.choice(WRITES).format(
            write=done, deeper=done.replace("\n", "\n    "), read=read
        )
    steps = []
    for number in range(3):
        x = rng.choice(["1.0", "2.5", "4.0", "jnp.float32(3.0)"])
        steps.append(f"f({x})")
        if number < 2 and (write is None or rng.random() < 0.5):
            steps.append(rng.choice(place.changes).format(v=_value(rng, kind)))
    about = f"{place.name}: {write.format(r='...', v=0) if write else read}"
    return Program(about, f"{made}\n\ndef f(x):\n{inside}", tuple(steps))
