"""Code that is not converted: an exception that only a tracer caused is none of the program's."""

from __future__ import annotations

import bisect
import collections
import copy
import datetime
import decimal
import enum
import fractions
import functools
import heapq
import itertools
import json
import math
import operator
import os
import pathlib
import re
import statistics
import string
import struct

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s.errors import Error


class Held:
    a3 = 5
    a5 = 6


class Colour(enum.Enum):
    RED = 3
    BLUE = 5


class Sliced:
    """Its constructor runs as it is."""

    def __init__(self, n):
        self.items = list(itertools.islice(ITEMS, n))


class Raising:
    def __init__(self, n):
        raise KeyError("of the program")


def added(a, b):
    return a + b


def raising(a, b):
    raise TypeError("of the program")


def inserted(n):
    made = list(ITEMS)
    made.insert(n, 9)
    return made


def extended(n):
    made = [1]
    made.extend(range(n))
    return made


def pushed(n):
    heap = [2, 8]
    heapq.heappush(heap, n)
    return heapq.heappop(heap)


def stored(n):
    held = Held()
    setattr(held, f"b{n}", 1)
    return sorted(vars(held))


ITEMS = [1, 2, 3, 4, 5, 6]
CALLS = {
    "islice": lambda n: sum(itertools.islice(ITEMS, n)),
    "islice by partial": lambda n: sum(functools.partial(itertools.islice, ITEMS)(n)),
    "reduce": lambda n: functools.reduce(operator.mul, range(1, n + 1)),
    "reduce, converted": lambda n: functools.reduce(added, range(n)),
    "reduce, raising": lambda n: functools.reduce(raising, [n, 2]),
    "cmp_to_key": lambda n: sorted([n, 4], key=functools.cmp_to_key(lambda a, b: a - b)),
    "lru_cache": lambda n: functools.lru_cache(lambda v: v)(str(n)),
    "join of paths": lambda n: os.path.join("a", str(n)),
    "splitext": lambda n: os.path.splitext(f"a.{n}"),
    "environ": lambda n: os.environ.get(f"zz{n}"),
    "Path": lambda n: str(pathlib.Path(str(n))),
    "/ of paths": lambda n: str(pathlib.Path("a") / f"x{n}" / "b"),
    "with_name": lambda n: str(pathlib.Path("a").with_name(f"{n}")),
    "getattr": lambda n: getattr(Held, f"a{n}"),
    "getattr, default": lambda n: getattr(Held, f"b{n}", 7),
    "getattr, missing": lambda n: getattr(Held(), "missing"),  # noqa: B009
    "hasattr": lambda n: hasattr(Held, f"a{n}"),
    "setattr": stored,
    "attrgetter": lambda n: operator.attrgetter(f"a{n}")(Held),
    "itemgetter": lambda n: operator.itemgetter(n)(ITEMS),
    "itemgetter by name": lambda n: operator.itemgetter(f"a{n}")({"a3": 1, "a5": 2}),
    "methodcaller": lambda n: operator.methodcaller("split", str(n))("a3b"),
    "concat": lambda n: operator.concat("a", str(n)),
    "indexOf": lambda n: operator.indexOf([1, 3, 5], n),
    "length_hint": lambda n: operator.length_hint(range(n)),
    "deque": lambda n: list(collections.deque(ITEMS, maxlen=n)),
    "Counter": lambda n: collections.Counter(range(n))[1],
    "Counter of letters": lambda n: collections.Counter(str(n))["3"],
    "sub": lambda n: re.sub("3", "x", str(n)),
    "sub by": lambda n: re.sub("x", str(n), "axb"),
    "sub, count": lambda n: re.sub("a", "b", "aaaaaaa", count=n),
    "match": lambda n: bool(re.match(r"\d", f"{n}")),
    "Fraction": lambda n: float(fractions.Fraction(n, 7)),
    "Fraction +": lambda n: float(fractions.Fraction(1, 2) + n),
    "Decimal": lambda n: str(decimal.Decimal(n)),
    "Decimal of text": lambda n: str(decimal.Decimal(str(n))),
    "Decimal +": lambda n: str(decimal.Decimal(1) + n),
    "bisect": lambda n: bisect.bisect([1, 4, 9], n),
    "nsmallest": lambda n: heapq.nsmallest(2, [n, 4, 1]),
    "heap": pushed,
    "mean": lambda n: statistics.mean([n, 2, 4]),
    "median": lambda n: statistics.median([n, 2, 4]),
    "pstdev": lambda n: statistics.pstdev([n, 2, 4]),
    "deepcopy": lambda n: copy.deepcopy([n])[0],
    "copy of range": lambda n: len(copy.copy(range(n))),
    "dumps": lambda n: json.dumps([n]),
    "loads": lambda n: json.loads(str(n)),
    "pack": lambda n: struct.pack("i", n),
    "to_bytes": lambda n: n.to_bytes(2, "big"),
    "letters *": lambda n: "x" * n,
    "list *": lambda n: [0] * n,
    "list": lambda n: list(range(n)),
    "tuple": lambda n: tuple(range(n)),
    "set": lambda n: len(set(range(n))),
    "dict": lambda n: dict(zip(range(n), "abcdefg", strict=False)),
    "fromkeys": lambda n: dict.fromkeys(range(n)),
    "unpacked": lambda n: [*range(n)],
    "arguments": lambda n: max(*range(n)),
    "sum": lambda n: sum(range(n)),
    "max": lambda n: max(range(n)),
    "any": lambda n: any(range(n)),
    "map": lambda n: list(map(abs, range(n))),
    "chr": lambda n: chr(n),
    "bin": lambda n: bin(n),
    "divmod": lambda n: divmod(n, 2),
    "int of text": lambda n: int(f"1{n}"),
    "base": lambda n: int("11", n),
    "float of text": lambda n: float(f"{n}.5"),
    "bytes": lambda n: len(bytes(n)),
    "slice": lambda n: slice(n).indices(10),
    "round": lambda n: round(2.34567, n),
    "ord": lambda n: ord(str(n)),
    "timedelta": lambda n: datetime.timedelta(n).days,
    "date": lambda n: str(datetime.date(2020, n, 1)),
    "factorial": lambda n: math.factorial(n),
    "comb": lambda n: math.comb(7, n),
    "permutations": lambda n: len(list(itertools.permutations(ITEMS, n - 2))),
    "combinations": lambda n: list(itertools.combinations(range(n), 2)),
    "repeat": lambda n: list(itertools.repeat(1, n)),
    "chain": lambda n: list(itertools.chain(range(n), [1])),
    "accumulate": lambda n: list(itertools.accumulate(range(n))),
    "product": lambda n: list(itertools.product([1, 2], repeat=n - 2)),
    "takewhile": lambda n: list(itertools.takewhile(lambda v: v < 3, range(n))),
    "groupby": lambda n: len(list(itertools.groupby(range(n)))),
    "pairwise": lambda n: list(itertools.pairwise(range(n))),
    "tee": lambda n: [list(one) for one in itertools.tee(range(n))],
    "count": lambda n: list(itertools.islice(itertools.count(n), 2)),
    "capwords": lambda n: string.capwords(f"a {n}"),
    "enum": lambda n: Colour(n).name,
    "constructor": lambda n: Sliced(n).items,
    "constructor, raising": lambda n: Raising(n),
    "len of int": lambda n: len(n + 0),
    "call of int": lambda n: n(),
    "text + int": lambda n: str(n) + 1,
    "int + text": lambda n: 1 + str(n),
    "pop": lambda n: [1, 2, n].pop(7),
    "pop of dict": lambda n: {"a": n}.pop("b"),
    "index": lambda n: [1, 3, 5].index(n),
    "insert": inserted,
    "extend": extended,
    "find": lambda n: "a3".find(str(n)),
    "replace": lambda n: "a3".replace("3", str(n)),
    "endswith": lambda n: "a3".endswith(str(n)),
    "center": lambda n: "a".center(n),
    "compared ranges": lambda n: range(n) == range(3),
    "hash of a range": lambda n: hash(range(n)) == hash(range(3)),
    "isinstance": lambda n: (isinstance(range(n), range), isinstance(str(n), str)),
    "type": lambda n: type(range(n)) is range and type(zip(range(n), ITEMS)) is zip,
}
CAUGHT = (TypeError, ValueError, ArithmeticError, LookupError, AttributeError, struct.error)


def outcome(function, *args):
    try:
        found = function(*args)
    except Error as error:
        return "refused", error.code
    except Exception as error:
        return "raised", type(error).__name__
    return "value", jax.tree.map(_plain, found, is_leaf=lambda v: isinstance(v, str | bytes))


def _plain(value):
    return value if isinstance(value, str | bytes) else np.asarray(value).tolist()


def guarded(function):
    def program(n):
        try:
            return function(n)
        except CAUGHT:
            return "caught"

    return program


@pytest.mark.parametrize("name", CALLS)
def test_python_numbers(name):
    function = CALLS[name]
    for program in (function, guarded(function)):
        static = d2s.to_static(program)
        for n in (3, 5):
            assert outcome(static, n) == outcome(program, n)


@pytest.mark.parametrize("name", CALLS)
def test_arrays(name):
    function = CALLS[name]
    for program in (function, guarded(function)):
        found = outcome(d2s.to_static(program), jnp.int32(3))
        assert found[0] == "refused" or found == outcome(program, jnp.int32(3))


NUMBER = 3


@pytest.mark.parametrize("name", ["islice", "reduce", "getattr", "join of paths", "Fraction"])
def test_a_constant_that_becomes_an_input(name):
    global NUMBER
    program = guarded(lambda _: CALLS[name](NUMBER))
    static = d2s.to_static(program)
    try:
        for NUMBER in (3, 5, 3, 5):  # noqa: B007
            assert outcome(static, 1.0) == outcome(program, 1.0)
    finally:
        NUMBER = 3


def test_in_branches_and_loops():
    def f(n, x):
        total = 0.0
        for k in range(3):
            try:
                if x > k:
                    total += sum(itertools.islice(ITEMS, n))
                else:
                    total += len(os.path.join("a", f"{n}"))
            except (TypeError, ValueError):
                total -= 100.0
        return total

    static = d2s.to_static(f)
    for n in (2, 4):
        assert static(n, jnp.float32(1.5)) == f(n, 1.5)


def test_the_message_names_the_call():
    def f(n):
        return fractions.Fraction(n, 7)

    with pytest.raises(d2s.StagingError, match=r"Fraction.* does not take a run-time value") as e:
        d2s.to_static(f)(jnp.int32(1))
    assert e.value.code == "D2S021"
    assert "fractions.Fraction(n, 7)" in str(e.value)


def test_exceptions_of_functions_that_a_library_calls_are_the_programs():
    def picky(a, b):
        if a.shape != b.shape:
            raise ValueError("shapes")
        return a + b

    def f(x):
        try:
            return functools.reduce(picky, [x, jnp.ones(2)])
        except ValueError:
            return x.sum()

    assert d2s.to_static(f)(jnp.ones(3)) == 3.0


def test_exceptions_of_jax_are_the_programs():
    def f(x):
        try:
            return jnp.dot(x, jnp.ones(5))
        except TypeError:
            return x.sum()

    assert d2s.to_static(f)(jnp.ones(3)) == 3.0


class Swallows:
    """Code that runs as it is, and goes on without the value."""

    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        try:
            return int(self.x) + other
        except TypeError:
            return other


def test_a_library_that_goes_on_without_the_value_is_found():
    f = d2s.to_static(lambda x: Swallows(x) + 1)
    assert f(3) == 4
    with pytest.raises(d2s.StagingError):
        f(jnp.int32(3))


def test_symbolic_dimensions(tmp_path):
    def f(x):
        try:
            count = len(os.path.join("a", str(x.shape[0]))) + sum(
                itertools.islice(ITEMS, x.shape[0])
            )
        except (TypeError, ValueError):
            count = -1
        return x * count

    with pytest.raises(Error):
        d2s.save(d2s.to_static(f), tmp_path / "f.d2s", "f32[n]")
