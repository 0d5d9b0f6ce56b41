"""Texts: every way of the standard library to make a text of a run-time value.

What a graph has for a number or an array is never to be seen in a text; the text is Python's, or
there is an error.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from ..fuzz.program import with_needed
from . import prelude
from .cases import lines
from .judge import Program, parses

#: the value that becomes text
VALUES = (
    "n n n n x x x p a a[0] a[n%3] n+1 x*2 -n n>2 n/2 n//2 n*x abs(x) round(x) int(x) float(n) "
    "str(n) f'{n}' f'{x:.2f}' [n,x] (n,) {'a':n} {'a':[n,x]} range(n) slice(n,x) [[n],[x]] "
    "(n,(x,p)) a*2 a>1 {n} frozenset([n]) complex(n,x) sum([n,2]) max(n,2) len(range(n)) "
    "np.float32(x) jnp.sum(a) bytes([n]) None if(n>2)else(n)"
).split()
VALUES[-3:] = ["(None if n > 2 else n)"]
#: what holds the value when it becomes text
HOLDERS = (
    "{} {} {} {} [{}] ({},) {{'v':{}}} Shown({}) Record({}) Frozen({}) "
    "Named({},1) Words(v={}) Row([{}]) collections.deque([{}]) collections.deque([{}],maxlen=2) "
    "collections.Counter(v={}) collections.OrderedDict(v={}) collections.ChainMap({{'v':{}}}) "
    "collections.defaultdict(int,v={}) collections.UserList([{}]) collections.UserDict(v={}) "
    "collections.UserString({}) types.SimpleNamespace(v={}) types.MappingProxyType({{'v':{}}}) "
    "functools.partial(int,{}) ValueError({}) KeyError({}) {{'v':{}}}.items() {{'v':{}}}.values() "
    "dict.fromkeys('ab',{}) slice({}) range({}) "
    "decimal.Decimal({}) fractions.Fraction({}) datetime.timedelta(days={}) "
    "Level({}) dataclasses.replace(Record(0),v={}) "
    "dataclasses.astuple(Record({})) "
    "dataclasses.asdict(Record({})) Ellipsis bytearray({})"
).split()
#: ways to a text of something that is held
FORMS = lines("texts")
SPECS = "d .2f 5 >6 06d e g +d x b , % s .3 ^8 <4 n _".split()
PERCENTS = "d i f .2f e g s r a 5d -5s x o c %s".split()
METHODS = (
    "upper() title() zfill(5) rjust(6,'*') center(7) ljust(n) split('.') rsplit('.',1) "
    "splitlines() "
    "partition('.') replace('1','one') replace('.',str(n)) find('1') index('1') rfind('5') "
    "count('1') count(str(n)) startswith('1') startswith(str(n)) endswith('5') isdigit() "
    "isnumeric() "
    "isalpha() isdecimal() isidentifier() strip('0') lstrip('1') rstrip('0') removeprefix('1') "
    "removesuffix(str(n)) swapcase() casefold() capitalize() expandtabs() translate({49:'x'}) "
    "encode() join(['a','b']) format(1) isspace() islower() isprintable() __len__() __add__('a') "
    "__contains__('1') __eq__('3') __getitem__(0) __mod__(()) __hash__()!=0 __lt__('4') __mul__(2)"
).split()
#: how the text is used
USES = (
    "return {text}",
    "return {text}, x + 1",
    "s = {text}\n    return s",
    "s = {text}\n    if n > 2:\n        s = {text}\n    return s",
    "r = []\n    for i in range(2):\n        r.append({text})\n    return r",
    "try:\n        s = {text}\n    except (TypeError, ValueError, AttributeError, LookupError):\n"
    "        s = 'none'\n    return s",
    "if n > 2:\n        print({text})\n    return x",
    "if n > 2:\n        raise ValueError({text})\n    return x",
    "assert n < 3, {text}\n    return x",
    "return len({text})",
    "print({text})\n    return x * 2",
    "LOG.append({text})\n    return x",
    "global LAST\n    LAST = {text}\n    return x",
    "BOX.v = BOX.v + 1\n    v = BOX.v\n    return {text}",
    "def g(n, x, p, a):\n        return {text}\n    return g(n, x, p, a), g(n + 1, x, p, a)",
)
ROWS = ("3, 1.5, True", "1, 2.25, False", "12, -0.5, True", "0, 3.0, False")
ARRAYS = ("jnp.array([1.5, 2.5, 0.5])", "jnp.array([3, 1, 2])", "np.array([1, 2, 3], np.int32)")


def programs(rng: random.Random) -> Iterator[Program]:
    """Each form with values and holders of chance, in an order of chance, again and again."""
    while True:
        for form in rng.sample(FORMS, len(FORMS)):
            if program := _program(rng, form):
                yield program


def _held(rng: random.Random) -> str:
    return rng.choice(HOLDERS).format(rng.choice(VALUES))


def _program(rng: random.Random, form: str) -> Program | None:
    method = rng.choice(METHODS)
    name, _, rest = method.partition("(")
    percent = rng.choice(PERCENTS)
    text = form.format(
        v=_held(rng) if rng.random() < 0.6 else rng.choice(VALUES),
        w=rng.choice(VALUES),
        spec=rng.choice(SPECS),
        percent=percent,
        percent_key=f"k){percent}",
        method=method,
        method_unbound=f"{name}(str({rng.choice(VALUES)}), {rest}",
    )
    use = rng.choice(USES).format(text=text)
    body = f"def f(n, x, p, a):\n    {use}\n"
    if not parses(body):
        return None
    array = rng.choice(ARRAYS)
    steps = [f"f({row}, {array})" for row in rng.sample(ROWS, 3)]
    if rng.random() < 0.3:  # run-time from the first call on
        steps = [s.replace("f(", "f(jnp.int32(", 1).replace(",", "),", 1) for s in steps]
    return Program(form, with_needed(body, prelude, {"np", "jnp"}), tuple(steps))
