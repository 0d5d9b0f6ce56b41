"""The border: every callable of the standard library's modules, given run-time arguments.

Which arguments a callable takes is found by trying: texts of arguments are drawn and plain Python
is asked. A handler stands around each call, because the danger is not the refusal but a handler
of the user's that takes it for one of his own exceptions.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import random
import types
import warnings
from collections.abc import Iterator
from typing import Any

from d2s.report.verification import TooLong, limit

from .judge import Program, parses

MODULES = (
    "itertools functools operator os.path re string collections heapq bisect fractions decimal "
    "statistics copy json math cmath struct datetime textwrap numbers types enum calendar array "
    "base64 binascii colorsys difflib fnmatch hashlib keyword shlex unicodedata zlib builtins"
).split()
#: clocks, chance, files, the interpreter itself, and what has no end
LEFT_OUT = frozenset(
    "now today utcnow setcontext getcontext localcontext samples input open breakpoint exit quit "
    "help compile exec eval __import__ print license credits copyright exitonclick realpath "
    "getatime getctime getmtime abspath expanduser expandvars globals locals vars id hash "
    "memoryview "
    "setfirstweekday test coroutine file_digest purge dir __build_class__ calendar prcal".split()
)
#: instances whose methods are asked too
OBJECTS = {
    "collections.deque": "collections.deque([n, 1, 2])",
    "collections.Counter": "collections.Counter({'a': n})",
    "collections.OrderedDict": "collections.OrderedDict(a=n, b=1)",
    "collections.defaultdict": "collections.defaultdict(int, a=n)",
    "collections.ChainMap": "collections.ChainMap({'a': n}, {'b': 1})",
    "decimal.Decimal": "decimal.Decimal(n)",
    "fractions.Fraction": "fractions.Fraction(n, 7)",
    "datetime.date": "datetime.date(2024, n, 1)",
    "datetime.datetime": "datetime.datetime(2024, n, 1, n)",
    "datetime.timedelta": "datetime.timedelta(days=n)",
    "re.Pattern": "re.compile('[0-9]+')",
    "string.Template": "string.Template('$n')",
    "list": "[n, 3, 1]",
    "tuple": "(n, 3, 1)",
    "dict": "{'a': n, 'b': 1}",
    "set": "{1, 2, 3}",
    "range": "range(n, 9)",
    "str": "'1 a,b'",
    "runtime str": "str(n)",
    "bytes": "b'1 a,b'",
    "int": "n",
    "float": "x",
}
#: texts of arguments: run-time values, what is made of them, and constants beside them
ARGUMENTS = (
    "n n n n x x x str(n) f'a{n}' [n,2,3] [1,2,3] [x,0.5,2.5] range(n) range(3) (n,1) {'a':n} "
    "'abc' '1,2' '%d' '{}' 0 1 2 -1 0.5 None True (n>2) str(x) [str(n),'b'] [[n,1],[2,3]] "
    "[(n,1),(2,3)] {n,1} b'ab' iter([n,2]) enumerate([n,2]) 'i' '>i' operator.add (lambda*v:v[0]) "
    "(lambda*v:v[0]+n) int str [] () slice(n) n*2 -n a a[0] a[n%3] a>1 len str.upper n/2 "
    "datetime.timedelta(days=1) decimal.Decimal(n) fractions.Fraction(1,n) '[a-z]' 'n'"
).split()
CATCH = "(TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RuntimeError)"
VALUES = (("3", "1.5"), ("4", "2.25"), ("1", "-0.5"), ("2", "0.0"), ("0", "3.0"), ("5", "0.75"))
#: how the value of a call is used
USES = ("{}", "{}", "{}", "str({})", "[{}, x]", "({}) + 0", "bool({})", "f'{{{}}}'")


def targets() -> list[tuple[str, str]]:
    """Names of callables, and the texts that call them."""
    found = []
    for name in MODULES:
        module = importlib.import_module(name)
        for part in sorted(getattr(module, "__all__", None) or dir(module)):
            kept = part not in LEFT_OUT and (name == "operator" or not part.startswith("_"))
            if kept and _is_function(getattr(module, part, None)):
                found.append((f"{name}.{part}", part if name == "builtins" else f"{name}.{part}"))
    for name, text in OBJECTS.items():
        kind = type(_evaluated(text, 3, 1.5))
        for part in sorted(set(dir(kind)) - LEFT_OUT):
            if _is_method(kind, part):
                found.append((f"{name}().{part}", f"{text}.{part}"))
    return found


def _is_function(value: Any) -> bool:
    raises = inspect.isclass(value) and issubclass(value, BaseException)
    return callable(value) and not raises and not isinstance(value, types.ModuleType)


def _is_method(kind: type, part: str) -> bool:
    if part in ("__str__", "__repr__", "__format__"):
        return True
    if part.startswith("_") and (not part.startswith("__") or part in dir(object)):
        return False
    # The operators of numbers have a family of their own.
    operator = part.startswith("__") and kind in (int, float)
    return callable(getattr(kind, part)) and not operator


def programs(rng: random.Random) -> Iterator[Program]:
    """One after the other for each callable, in an order of chance, again and again."""
    every = targets()
    while True:
        rng.shuffle(every)
        for name, text in every:
            if program := _program(rng, name, text):
                yield program


def _program(rng: random.Random, name: str, call: str) -> Program | None:
    """A call that plain Python can make, or one of those that it refuses."""
    refused = None
    for _ in range(40):
        count = rng.choice([0, 1, 1, 2, 2, 3])
        args = ", ".join(rng.choice(ARGUMENTS) for _ in range(count))
        text = f"{call}({args})"
        if call[0].isdigit() or not any(v in f"({text})" for v in ("n", "x", "a")):
            continue
        fates = {_fate(text, int(n), float(x)) for n, x in VALUES[:3]}
        if "endless" in fates:
            continue
        if fates <= {"raises"}:
            refused = text
            continue
        return _written(rng, name, text, "iterator" in fates, FORMS)
    # A call that no interpreter takes has a text of its own in each; the type is compared.
    return _written(rng, name, refused, False, CAUGHT) if refused else None


def _fate(text: str, n: int, x: float) -> str:
    try:
        with limit(0.5, work=True), contextlib.redirect_stdout(io.StringIO()):
            value = _evaluated(text, n, x)
            if isinstance(value, Iterator):
                return "iterator"
    except TooLong:
        return "endless"
    except Exception:
        return "raises"
    return "value"


def _evaluated(text: str, n: int, x: float) -> Any:
    import numpy as np

    space: dict[str, Any] = {"n": n, "x": x, "a": np.array([1.5, 2.5, 0.5], np.float32)}
    for name in MODULES:
        importlib.import_module(name)
        space[name.split(".")[0]] = importlib.import_module(name.split(".")[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return eval(text, space)


def _written(
    rng: random.Random, name: str, text: str, lazy: bool, forms: tuple[str, ...]
) -> Program:
    value = f"list(itertools.islice({text}, 4))" if lazy else text
    used = rng.choice(USES[:3] if lazy else USES).format(value)
    if not parses(used):
        used = value
    form = rng.choice(forms)
    imports = [f"import {m}" for m in MODULES if m.split(".")[0] in f"{used} itertools"]
    body = "\n".join([*imports, "import numpy as np", form.format(used=used, catch=CATCH)])
    array = rng.choice(["np.array([1.5, 2.5, 0.5], np.float32)", "np.array([3, 1, 2], np.int32)"])
    steps = tuple(f"f({n}, {x}, {array})" for n, x in rng.sample(VALUES, 3))
    return Program(name, body, steps)


CAUGHT = (
    "def f(n, x, a):\n    try:\n        return {used}\n    except {catch}:\n"
    "        return 'fallback', x\n",
    "def f(n, x, a):\n    y = x * 2\n    try:\n        if n > 2:\n            r = {used}\n"
    "            return r, y\n    except {catch}:\n        y = y - 1\n    return y, None\n",
    "def g(n, x, a):\n    return {used}\n\n\ndef f(n, x, a):\n    try:\n        return g(n, x, a)\n"
    "    except {catch} as error:\n        return type(error).__name__\n",
)
FORMS = (*CAUGHT, "def f(n, x, a):\n    return {used}\n")
