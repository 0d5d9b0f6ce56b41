"""Keys: values that are equal and are not the same, one after the other at the same place.

What a graph was built for is not to be used for a value that merely equals it: whatever a program
can tell apart, the key of a graph tells apart.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from ..fuzz.program import with_needed
from . import values
from .judge import Program

#: groups of values; those of one group are equal, or look alike
GROUPS = (
    ("1", "1.0", "True", "1+0j", "Whole(1)", "Real(1.0)", "np.int32(1)", "np.float32(1)", "np.bool_(True)",
     "np.int8(1)", "np.uint8(1)", "np.int64(1)", "np.float16(1)", "np.float64(1)", "np.complex64(1)",
     "decimal.Decimal(1)", "fractions.Fraction(1)", "Level.LOW", "Bits.A", "jnp.int32(1)", "jnp.float32(1)",
     "jnp.array(1)", "np.array(1)", "np.array(1.0)"),
    ("0", "0.0", "-0.0", "False", "0j", "-0j", "np.float32(-0.0)", "np.float32(0.0)", "decimal.Decimal('0')",
     "decimal.Decimal('-0')", "decimal.Decimal('0.00')", "fractions.Fraction(0)", "complex(-0.0, 0.0)", "np.int16(0)"),
    ("range(0, 3, 2)", "range(0, 4, 2)", "range(0)", "range(5, 5)", "range(0, 0, 2)", "range(0, 3)", "range(3)"),
    ("decimal.Decimal('1')", "decimal.Decimal('1.00')", "decimal.Decimal('1E+0')", "decimal.Decimal('10e-1')"),
    ("decimal.Decimal('nan')", "decimal.Decimal('-nan')", "decimal.Decimal('nan5')", "float('nan')", "-float('nan')"),
    ("datetime.datetime(2024, 5, 1, 12, tzinfo=UTC)", "datetime.datetime(2024, 5, 1, 13, tzinfo=EAST)",
     "datetime.datetime(2024, 5, 1, 12, tzinfo=zoneinfo.ZoneInfo('UTC'))",
     "datetime.datetime(2024, 5, 1, 12, tzinfo=UTC, fold=1)"),
    ("datetime.datetime(2024, 5, 1, 12)", "datetime.datetime(2024, 5, 1, 12, fold=1)"),
    ("datetime.time(12, tzinfo=UTC)", "datetime.time(13, tzinfo=EAST)", "datetime.time(12, fold=1, tzinfo=UTC)"),
    ("UTC", "datetime.timezone(datetime.timedelta(0), 'GMT')", "datetime.timezone(datetime.timedelta(0))"),
    ("datetime.timedelta(days=1)", "datetime.timedelta(hours=24)", "datetime.timedelta(hours=25)"),
    ("{1, 2}", "{1.0, 2.0}", "{True, 2}", "frozenset([1, 2])", "Bag([1, 2])", "frozenset([1.0, 2])", "{2, 1}"),
    ("{8, 0}", "{0, 8}", "frozenset([8, 0])", "frozenset([0, 8])"),
    ("'a'", "Text('a')", "Tagged('a', 1)", "Tagged('a', 2)", "Name.A", "np.str_('a')"),
    ("b'a'", "Raw(b'a')", "bytearray(b'a')", "np.bytes_(b'a')"),
    ("(1, 2)", "Point(1, 2)", "Other(1, 2)", "Items((1, 2))", "(1.0, 2.0)", "(True, 2)", "[1, 2]", "Row([1, 2])"),
    ("{'a': 1, 'b': 2}", "{'b': 2, 'a': 1}", "Book(a=1, b=2)", "collections.OrderedDict(a=1, b=2)",
     "collections.OrderedDict(b=2, a=1)", "collections.Counter(a=1, b=2)", "{'a': 1.0, 'b': True, }", "{'a': 1, 'b': 2.0}",
     "collections.defaultdict(int, a=1, b=2)", "collections.defaultdict(float, a=1, b=2)", "types.MappingProxyType({'a': 1, 'b': 2})"),
    ("{1: 'x'}", "{1.0: 'x'}", "{True: 'x'}", "{Whole(1): 'x'}"),
    ("Frozen(1)", "Frozen(1, 5)", "Frozen(1.0)", "Frozen(True)", "Frozen(1, 'b')"),
    ("Record(1)", "Record(1, 5)", "Record(1.0)", "Record(1, [2])"),
    ("Same(1)", "Same(2)", "Same('a')", "Same(2.5)"),
    ("Sloted(1)", "Sloted(2)", "Sloted('b')"),
    ("Colour.RED", "Colour.BLUE", "Colour(1)", "Level.HIGH", "Bits.B", "Bits.A | Bits.B", "Bits(3)"),
    ("one", "two", "made(1)", "made(2)", "made(1.0)", "functools.partial(one)", "functools.partial(two)",
     "functools.partial(pow, exp=2)", "functools.partial(pow, exp=2.0)", "lambda x: x", "lambda x: x + 1"),
    ("int", "float", "bool", "Whole", "str", "list", "dict", "Frozen", "Record"),
    ("np.float32", "np.dtype('float32')", "'float32'", "jnp.float32", "np.int32"),
    ("collections.deque([1, 2])", "collections.deque([1, 2], maxlen=2)", "collections.deque([1.0, 2])"),
    ("slice(1, 2)", "slice(1, 2, None)", "slice(1, 2, 1)", "slice(True, 2)", "slice(1.0, 2)"),
    ("re.compile('a')", "re.compile('a', re.I)", "re.compile('b')"),
    ("pathlib.PurePosixPath('a/b')", "pathlib.PurePosixPath('a//b')", "pathlib.PureWindowsPath('a/b')", "pathlib.PureWindowsPath('A/B')"),
    ("fractions.Fraction(1, 2)", "0.5", "decimal.Decimal('0.5')", "np.float32(0.5)", "fractions.Fraction(2, 4)"),
    ("uuid.UUID(int=1)", "uuid.UUID(int=2)"),
    ("None", "()", "[]", "{}", "''", "frozenset()", "range(0)", "Ellipsis", "NotImplemented"),
    ("np.array([1, 2])", "np.array([1.0, 2.0])", "np.array([True, False])", "np.array([1, 2], np.int8)", "np.array([[1, 2]])",
     "np.array(['a', 'b'])", "np.array([1, 2], object)", "np.array([1, 2], np.uint16)"),
    ("types.SimpleNamespace(a=1)", "types.SimpleNamespace(a=1.0)", "types.SimpleNamespace(a=True)", "types.SimpleNamespace(a=2)"),
    ("ValueError('a')", "ValueError('b')", "KeyError('a')", "ValueError('a', 1)"),
    ("2**40", "2.0**40", "np.int64(2**40)", "float(2**40)", "2**40 + 1", "-2**40", "2**31", "2**31 - 1"),
    ("1e308", "float('inf')", "1e39", "3.4028235e38", "1e-46", "5e-324", "0.1", "np.float64(0.1)", "np.float32(0.1)"),
)
#: what a program tells apart by
LOOKS = (
    "repr(v)", "str(v)", "type(v).__name__", "f'{v}'", "'%s' % (v,)", "isinstance(v, int)", "isinstance(v, (float, str, tuple))",
    "bool(v)", "v == 1", "v is None", "type(v) is int", "getattr(v, 'note', 'none')", "getattr(v, 'v', 'none')", "getattr(v, 'tag', 'none')",
    "getattr(v, 'stop', 'none')", "getattr(v, 'hour', 'none')", "getattr(v, 'fold', 'none')", "getattr(v, 'k', 'none')", "getattr(v, 'flags', 'none')",
    "getattr(v, 'maxlen', 'none')", "list(v) if hasattr(v, '__iter__') else 'none'", "len(v) if hasattr(v, '__len__') else 'none'",
    "[type(i).__name__ for i in v] if isinstance(v, (list, tuple, dict, set, frozenset)) else 'none'",
    "list(v.items()) if isinstance(v, dict) else 'none'", "v(2.0) if callable(v) and not isinstance(v, type) else 'none'",
    "math.copysign(1.0, v) if isinstance(v, float) else 'none'", "v.name if isinstance(v, enum.Enum) else 'none'",
    "v.keywords if isinstance(v, functools.partial) else 'none'",
    "v.step if isinstance(v, (range, slice)) else 'none'", "v.as_tuple() if isinstance(v, decimal.Decimal) else 'none'",
    "v.tzinfo if isinstance(v, datetime.datetime) else 'none'", "v.default_factory if isinstance(v, collections.defaultdict) else 'none'",
    "v * 2 if not callable(v) and not isinstance(v, (dict, set)) else 'none'", "v + v if isinstance(v, (int, float, complex, str, tuple, list)) else 'none'",
    "v / 2 if isinstance(v, (int, float, complex)) else 'none'", "hash(v) == hash(1) if isinstance(v, (int, float)) else 'none'",
    "{1: 'int'}.get(v, 'none') if isinstance(v, (int, float, str, tuple)) else 'none'",
)
WORTHS = (
    "v * 2", "v + 1", "v == 1", "[v == 1]", "v", "bool(v)", "v / 2", "abs(v)", "isinstance(v, int)", "(v, v)",
)
#: where the value is: the text of the function, and how a step puts it there
PLACES = {
    "argument": ("def f(x, v):\n    return {look}, x\n", "f(2.0, {v})"),
    "keyword": ("def f(x, v=None):\n    return {look}, x\n", "f(2.0, v={v})"),
    "in tuple": ("def f(x, t):\n    v = t[0]\n    return {look}, x\n", "f(2.0, ({v}, 1))"),
    "in list": ("def f(x, t):\n    v = t[1]\n    return {look}, x\n", "f(2.0, [1.5, {v}])"),
    "in dict": ("def f(x, t):\n    v = t['k']\n    return {look}, x\n", "f(2.0, {{'k': {v}}})"),
    "key of dict": ("def f(x, t):\n    v = list(t)[0]\n    return {look}, x\n", "f(2.0, {{{v}: 1.5}})"),
    "in named tuple": ("def f(x, t):\n    v = t.y\n    return {look}, x\n", "f(2.0, Point(1.5, {v}))"),
    "in dataclass": ("def f(x, t):\n    v = t.k\n    return {look}, x\n", "f(2.0, Frozen({v}))"),
    "deep": ("def f(x, t):\n    v = t[0]['k'].y[0]\n    return {look}, x\n", "f(2.0, [{{'k': Point(0, ({v},))}}])"),
    "starred": ("def f(x, *v):\n    v = v[0]\n    return {look}, x\n", "f(2.0, {v})"),
    "global": ("V = None\n\n\ndef f(x):\n    v = V\n    return {look}, x\n", "V = {v}; R = f(2.0)"),
    "attribute": ("O = types.SimpleNamespace(v=0)\n\n\ndef f(x):\n    v = O.v\n    return {look}, x\n", "O.v = {v}; R = f(2.0)"),
    "own attribute": ("class C:\n    pass\n\n\nO = C()\n\n\ndef f(x):\n    v = O.v\n    return {look}, x\n", "O.v = {v}; R = f(2.0)"),
    "class attribute": ("class C:\n    v = 0\n\n\ndef f(x):\n    v = C.v\n    return {look}, x\n", "C.v = {v}; R = f(2.0)"),
    "item": ("D = {{}}\n\n\ndef f(x):\n    v = D['v']\n    return {look}, x\n", "D['v'] = {v}; R = f(2.0)"),
    "list item": ("L = [0, 1]\n\n\ndef f(x):\n    v = L[0]\n    return {look}, x\n", "L[0] = {v}; R = f(2.0)"),
    "default": ("def g(v=None):\n    return {look}\n\n\ndef f(x):\n    return g(), x\n", "g.__defaults__ = ({v},); R = f(2.0)"),
    "closure": ("def outer():\n    v = None\n\n    def put(w):\n        nonlocal v\n        v = w\n\n    def f(x):\n        return {look}, x\n    return put, f\n\n\nput, f = outer()\n", "put({v}); R = f(2.0)"),
    "argument of helper": ("def g(v):\n    return {look}\n\n\ndef f(x, v):\n    if x > 1:\n        return g(v), x\n    return g(v), -x\n", "f(2.0, {v})"),
    "partial": ("def h(v, x):\n    return {look}, x\n\n\nP = [None]\n\n\ndef f(x):\n    return P[0](x)\n", "P[0] = functools.partial(h, {v}); R = f(2.0)"),
}


def programs(rng: random.Random) -> Iterator[Program]:
    """Each group of values in turn, at places of chance, again and again."""
    while True:
        for group in rng.sample(GROUPS, len(GROUPS)):
            place = rng.choice(list(PLACES))
            # Two ways to look at it: one of a pair may be refused, where the other is not.
            count = min(len(group), rng.choice([2, 3, 4]))
            chosen = rng.sample(group, count)
            # An array is one of JAX's inside, and says so; what it is worth is the same.
            arrays = any("np." in value for value in chosen)
            looks = WORTHS if arrays else LOOKS[:4] * 2 + LOOKS
            look = ", ".join(rng.sample(looks, rng.choice([1, 1, 2])))
            body, step = PLACES[place]
            steps = [step.format(v=value) for value in chosen]
            text = body.format(look=f"({look},)")
            source = with_needed(text, values, _words(f"{steps} np jnp"))
            yield Program(f"{place}: {group[0]}", source, (*steps, steps[0]), joins=False)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text)
