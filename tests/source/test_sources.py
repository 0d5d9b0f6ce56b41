"""Sources nobody would write by hand: long, deep, oddly encoded, or full of unlucky names.

Each is run plain, converted and static. What comes out is the plain result or an error of d2s.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import linecache
import os
import re
import subprocess
import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import d2s
from d2s.backends.lax.control import loops, prediction

from ..differential.harness import check
from .test_parser import edit, load

ROOT = Path(__file__).resolve().parents[2]


def agree(function: Any, *values: float, static: bool = True) -> None:
    """Plain, converted and static give the same; static again on the first value at the end."""
    converted = d2s.convert(function)
    for value in values:
        want, got = function(value), converted(value)
        assert (type(got), got) == (type(want), want)
    if not static:
        return
    compiled = d2s.to_static(function)
    for value in (*values, values[0]):
        array = jnp.float32(value)
        assert float(compiled(array)) == pytest.approx(float(function(array)), rel=1e-4)


def agree_or_refuse(function: Any, code: str, *values: float) -> None:
    """As `agree`, or the one error of d2s that may come instead; never another."""
    try:
        agree(function, *values)
    except d2s.Error as error:
        assert error.code == code


def lines(first: str, repeated: Callable[[int], str], count: int, last: str) -> str:
    return first + "".join(map(repeated, range(count))) + last


def test_text_and_code_of_a_large_function_are_one_program(tmp_path: Path) -> None:
    text = lines(
        "def f(x):\n    y = 0.0\n",
        lambda k: f"    if x > {k}:\n        y = y + {k}.5\n",
        100,
        "    return y\n",
    )
    function = load(tmp_path, text).f
    space: dict[str, Any] = {"d2s": d2s}
    exec(d2s.to_code(function), space)
    assert [space["f"](x) for x in (-1, 7, 200)] == [function(x) for x in (-1, 7, 200)]


# -- long -----------------------------------------------------------------------------------------


def test_five_thousand_lines(tmp_path: Path) -> None:
    def block(k: int) -> str:
        head = "    if x > 0:\n        y = y + x\n" if k % 62 == 0 else "    n = n - 1\n    n = n\n"
        return head + f"    n = n + {k % 5}\n    m = n % 1000\n    n = n + m % 2\n"

    text = lines("def f(x):\n    y = 0.0\n    n = 1\n", block, 1000, "    return y + n\n")
    assert text.count("\n") > 5000
    agree(load(tmp_path, text).f, 3.0, -2.0)


def test_a_loop_over_three_hundred_lines(tmp_path: Path) -> None:
    text = lines(
        "def f(x):\n    n = 0\n    while x > 0:\n        x = x - 1\n",
        lambda k: f"        y = y * 0.5 + {k}\n",
        300,
        "    return y\n",
    )
    agree(load(tmp_path, text.replace("n = 0", "y = 0.0")).f, 3.0, -2.0)


@pytest.mark.full
def test_five_hundred_variables_in_a_branch_and_a_loop(tmp_path: Path) -> None:
    names = [f"v{k}" for k in range(500)]
    made = "".join(f"    {name} = x + {k}\n" for k, name in enumerate(names))
    changed = "".join(f"        {name} = {name} + 1\n" for name in names)
    result = f"    return sum([{', '.join(names)}])\n"
    branch = f"def f(x):\n{made}    if x > 0:\n{changed}{result}"
    loop = f"def f(x):\n{made}    while x > 0:\n        x = x - 1\n{changed}{result}"
    for text in (branch, loop):
        agree(load(tmp_path, text).f, 2.0, -2.0)


def test_two_hundred_and_fifty_arguments(tmp_path: Path) -> None:
    names = [f"a{k}" for k in range(250)]
    text = (
        f"def g({', '.join(names)}):\n    if a0 > 0:\n        a0 = a249 + 1\n    return a0\n"
        f"def f(x):\n    return g({', '.join(['x'] * 250)})\n"
    )
    agree(load(tmp_path, text).f, 2.0, -2.0)


def test_a_line_of_a_hundred_thousand_characters(tmp_path: Path) -> None:
    text = f"def f(x):\n    a = [{', '.join(['1.0'] * 20_000)}]\n    return a[0] if x > 0 else x\n"
    agree(load(tmp_path, text).f, 2.0, -2.0)


# -- many ways out --------------------------------------------------------------------------------

RETURN = "    if x < {k}:\n        return x * {k}\n    x = x + 0.25\n"


def indented(text: str) -> str:
    return re.sub("^", "    ", text, flags=re.MULTILINE).rstrip(" ")


@pytest.mark.full
@pytest.mark.parametrize(
    ("head", "inside"),
    [("", False), ("    for _ in range(2):\n", True), ("    while x < 40:\n", True)],
    ids=["straight", "for", "while"],
)
def test_ninety_nine_early_returns(tmp_path: Path, head: str, inside: bool) -> None:
    body = "".join(RETURN.format(k=k) for k in range(99))
    text = f"def f(x):\n{head}{indented(body) if inside else body}    return -x\n"
    function = load(tmp_path, text).f
    agree(function, 3.0, -2.0, 1000.0, static=False)
    few = "".join(RETURN.format(k=k) for k in range(0, 99, 4))
    text = f"def f(x):\n{head}{indented(few) if inside else few}    return -x\n"
    agree(load(tmp_path, text).f, 3.0, -2.0, 1000.0)


@pytest.mark.full
def test_ninety_nine_early_returns_in_a_graph(tmp_path: Path) -> None:
    text = lines("def f(x):\n", lambda k: RETURN.format(k=k), 99, "    return -x\n")
    agree(load(tmp_path, text).f, 30.0, -2.0, 1000.0)


@pytest.mark.full
def test_ninety_nine_breaks_and_continues(tmp_path: Path) -> None:
    text = lines(
        "def f(x):\n    n = 0\n    for i in range(6):\n",
        lambda k: (
            f"        if i == {k}:\n            n = n + {k} + x\n            continue\n"
            f"        if i > {k + 50}:\n            break\n"
        ),
        99,
        "    return n\n",
    )
    agree(load(tmp_path, text).f, 3.0, -2.0)


# -- deep -----------------------------------------------------------------------------------------

MANAGER = "import contextlib\n@contextlib.contextmanager\ndef manager():\n    yield 1.0\n\n\n"
OPENING = {
    "if": "if x > {k} - 200:",
    "else": "if x < {k} - 200:\n{pad}    y = 0.5\n{pad}else:",
    "for": "for i{k} in range(1):",
    "while": "while x < -{k} - 200:",
    "try": "try:",
    "with": "with manager() as m{k}:",
    "match": "match 1:\n{pad}  case 1:",
}


def nested(kinds: list[str]) -> str:
    """A function with these blocks, each in the one before."""
    text = "def f(x):\n    y = 0.0\n"
    for k, kind in enumerate(kinds):
        pad = "    " * (k + 1)
        text += pad + OPENING[kind].format(k=k, pad=pad) + "\n"
    text += "    " * (len(kinds) + 1) + "y = y + x\n"
    for k in reversed(range(len(kinds))):
        if kinds[k] == "try":
            pad = "    " * (k + 1)
            text += f"{pad}except ValueError:\n{pad}    y = -1.0\n"
    return MANAGER + text + "    return y\n"


def sprinkled(*rare: str, depth: int = 90) -> list[str]:
    """Mostly `if`: Python itself allows twenty loops, handlers and managers in each other."""
    kinds = ["if"] * depth
    for k, kind in enumerate(rare):
        kinds[k * depth // len(rare) + 2] = kind
    return kinds


@pytest.mark.parametrize(
    "kinds",
    [
        ["if"] * 97,
        ["else"] * 90,
        ["for"] * 20,
        ["while"] * 19,
        ["try"] * 19,
        ["with"] * 19,
        sprinkled(*["for", "else", "try", "with", "while"] * 3),
    ],
    ids=["if", "else", "for", "while", "try", "with", "mixed"],
)
def test_ninety_levels(tmp_path: Path, kinds: list[str]) -> None:
    agree(load(tmp_path, nested(kinds)).f, 3.0, -2.0, static=False)


@pytest.mark.full
@pytest.mark.parametrize(
    "kinds",
    [["if"] * 90, ["for"] * 20, ["try"] * 19, ["with"] * 19],
    ids=["if", "for", "try", "with"],
)
def test_ninety_levels_in_a_graph(tmp_path: Path, kinds: list[str]) -> None:
    agree(load(tmp_path, nested(kinds)).f, 3.0, -2.0)


def test_a_mixture_of_levels_in_a_graph(tmp_path: Path) -> None:
    kinds = ["if", "for", "try", "else", "with", "if", "while", "else", "match", "if"]
    agree(load(tmp_path, nested(kinds * 2)).f, 3.0, -2.0)


def test_nested_functions(tmp_path: Path) -> None:
    text = "def f(x):\n"
    for k in range(18):
        text += "    " * (k + 1) + f"def g{k}(z{k}):\n"
    text += "    " * 19 + "return z17 + x if z3 > 0 else z0\n"
    for k in reversed(range(18)):
        text += "    " * (k + 1) + f"return g{k}({f'z{k - 1}' if k else 'x'})\n"
    agree(load(tmp_path, text).f, 3.0, -2.0)


def traces_of(function: Any, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often the loops of a function are traced while its graph is built."""
    count = 0
    trace = loops.trace

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal count
        count += 1
        return trace(*args, **kwargs)

    for module in (loops, prediction):
        monkeypatch.setattr(module, "trace", counted)
    d2s.to_static(function)(jnp.float32(1))
    for module in (loops, prediction):
        monkeypatch.setattr(module, "trace", trace)
    assert count
    return count


COUNTED = "{pad}c{k} = 0\n{pad}while c{k} < 1:\n{pad}    c{k} += 1\n"


def counted_loops(depth: int) -> str:
    text = "".join(COUNTED.format(pad="    " * (k + 1), k=k) for k in range(depth))
    pad = "    " * (depth + 1)
    return f"def f(x):\n    y = 0.0\n{text}{pad}y = y + x\n    return y\n"


def test_known_loops_in_each_other_do_not_double_the_work(tmp_path, monkeypatch) -> None:
    """Whether a test becomes a run-time value is tried; trials in trials must not multiply."""
    few, many = (traces_of(load(tmp_path, counted_loops(depth)).f, monkeypatch) for depth in (3, 6))
    assert many <= 6 * few  # eight times as many would be twice for each level


# -- large expressions ----------------------------------------------------------------------------

EXPRESSIONS = {
    "sum of 500": "x" + " + 1" * 500,
    "sum of 90 in brackets": "1 + (" * 90 + "x" + ")" * 90,
    "90 calls": "g(" * 90 + "x" + ")" * 90,
    "500 methods": "Thing(x)" + ".more()" * 500 + ".v",
    "500 attributes": "x + thing" + ".own" * 500 + ".v",
    "500 minus signs": "-" * 500 + "x",
    "500 nots": "1.0 if " + "not " * 500 + "x > 0 else 2.0",
    "and of 1000": "1.0 if " + " and ".join(f"x > {-k}" for k in range(1000)) + " else 2.0",
    "or of 1000": "1.0 if " + " or ".join(f"x == {k}" for k in range(1000)) + " else 2.0",
    "500 comparisons": "1.0 if " + " < ".join(f"x + {k}" for k in range(500)) + " else 2.0",
    "600 conditions": " ".join(f"{k}.0 if x == {k} else" for k in range(600)) + " x",
    "60 lambdas": "(" + "lambda: (" * 60 + "x" + ")" * 60 + ")" + "()" * 60,
    "a text of 300 parts": "x + len(f'" + "{n}" * 300 + "')",
    "a list in 90 lists": "x + len(" + "[" * 90 + "x" + "]" * 90 + ")",
}
HELPERS = """
class Thing:
    v = 1.0
    def __init__(self, v): self.v = v
    def more(self): return Thing(self.v + 1)
thing = Thing(2.0)
thing.own = thing
def g(v): return v + 1
"""


@pytest.mark.full
@pytest.mark.parametrize("name", EXPRESSIONS)
def test_large_expressions(tmp_path: Path, name: str) -> None:
    text = f"{HELPERS}\ndef f(x, n=1):\n    return {EXPRESSIONS[name]}\n"
    agree_or_refuse(load(tmp_path, text).f, "D2S004", 3.0, -2.0)


def elifs(test: str, value: str, count: int) -> str:
    return lines(
        "def f(x):\n    if x == -1:\n        y = 0.5\n",
        lambda k: f"    elif {test.format(k=k)}:\n        {value.format(k=k)}\n",
        count,
        "    else:\n        y = -1.0\n    return y\n",
    )


CHAINS = {
    "300 elifs": elifs("x < {k}.5", "y = {k}.0 * x", 300),
    "300 elifs on one number": elifs("x == {k}", "y = {k}.0", 300),
    "300 elifs that return": elifs("x < {k}.5", "return {k}.0 * x", 300),
    "300 cases": lines(
        "def f(x):\n    match x:\n",
        lambda k: f"        case {k}:\n            y = {k}.0\n",
        300,
        "        case _:\n            y = -1.0\n    return y\n",
    ),
    "300 cases that return": lines(
        "def f(x):\n    match x:\n",
        lambda k: f"        case {k}:\n            return {k}.0\n",
        300,
        "    return -1.0\n",
    ),
}


@pytest.mark.full
@pytest.mark.parametrize("name", CHAINS)
def test_long_chains(tmp_path: Path, name: str) -> None:
    agree_or_refuse(load(tmp_path, CHAINS[name]).f, "D2S004", 3.0, 299.0, -2.0)


# -- unlucky names --------------------------------------------------------------------------------

MANY_BLOCKS = """
def f(x):
    name = 1.0
    other = 0.0
    while x > 0:
        x = x - 1
        if x == 5:
            break
        if x == 4:
            continue
        other = other + name
    else:
        name = name + 1
    for step in range(4):
        if x > step:
            name = name + step
        elif x < -step - 9:
            return name
    try:
        if x < -7:
            raise ValueError("low")
        name = name * 2
    except ValueError as error:
        other = other + len(str(error))
    finally:
        name = name + 1
    match (x, name):
        case (first, second) if first > 2:
            other = first
        case [first, *rest]:
            other = other + first
    while (last := x) < 0:
        x = x + 1
        try:
            if x > -3:
                return last + name
        finally:
            other = other + 1
    return name + other if 0 < x < 3 and name > 0 else name - other
"""


def identifiers(text: str) -> set[str]:
    return {n for n in re.findall(r"[A-Za-z_]\w*", text) if not keyword.iskeyword(n)}


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Every name that d2s adds to a function with all kinds of blocks."""
    text = d2s.to_code(load(tmp_path_factory.mktemp("names"), MANY_BLOCKS).f)
    tree = ast.parse(text)
    names = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
    names |= {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)}
    names |= {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    return sorted(names - identifiers(MANY_BLOCKS))


@pytest.mark.full
def test_variables_with_each_generated_name(tmp_path: Path, generated: list[str]) -> None:
    assert {"d2s", "returned", "result"} < set(generated)
    stems = {name.partition("_")[0] for name in generated}
    assert {"then", "else", "body", "test", "try", "except", "broke", "subject"} <= stems
    plain = load(tmp_path, MANY_BLOCKS).f
    inputs = (7.0, 2.0, 0.0, -4.0, -8.0, -20.0)
    want = [plain(x) for x in inputs]
    for name in generated:
        function = load(tmp_path, re.sub(r"\bname\b", name, MANY_BLOCKS)).f
        assert [d2s.convert(function)(x) for x in inputs] == want, name


def test_all_variables_with_generated_names(tmp_path: Path, generated: list[str]) -> None:
    """Nine at once, each in every role."""
    roles = ["name", "other", "step", "error", "first", "second", "rest", "last", "x"]
    names = [name for name in generated if name != "d2s"]
    for shift in range(0, len(names), 5):
        chosen = (names[shift:] + names)[: len(roles)]
        text = MANY_BLOCKS
        for role, name in zip(roles, chosen, strict=True):
            text = re.sub(rf"\b{role}\b", name, text)
        function, plain = load(tmp_path, text).f, load(tmp_path, MANY_BLOCKS).f
        for x in (7.0, 2.0, -4.0, -8.0):
            assert d2s.convert(function)(x) == plain(x), chosen


@pytest.mark.parametrize(
    "role",
    ["name", "other", "step", "error", "first", "second", "rest", "last", "x"],
)
def test_a_variable_named_like_the_package(tmp_path: Path, role: str) -> None:
    function = load(tmp_path, re.sub(rf"\b{role}\b", "d2s", MANY_BLOCKS)).f
    plain = load(tmp_path, MANY_BLOCKS).f
    for x in (7.0, 2.0, -4.0, -8.0, -20.0):
        assert d2s.convert(function)(x) == plain(x)


UNLUCKY = {
    "global": "then_4 = 1.0\ndef f(x):\n    y = then_4\n    if x > 0:\n        y = y + then_4\n"
    "    return y + x\n",
    "parameters": "def f(x, then_3=1.0, *else_3, returned=2.0, **result):\n    y = 0.0\n"
    "    if x > 0:\n        return x + then_3 + returned + len(else_3) + len(result)\n"
    "    return y\n",
    "keywords": "def g(then_4=1.0, else_4=2.0, returned=3.0): return then_4 + else_4 + returned\n"
    "def f(x):\n    y = x\n    if x > 0:\n        return g(then_4=x, else_4=y, returned=x)\n"
    "    return x\n",
    "function": "def f(x):\n    def then_4(v):\n        return v * 2\n    if x > 0:\n"
    "        x = then_4(x)\n    return x\n",
    "class": "def f(x):\n    class then_4:\n        v = 1.0\n    if x > 0:\n"
    "        x = x + then_4.v\n    return x\n",
    "import": "def f(x):\n    import math as then_3\n    if x > 0:\n        x = x + then_3.pi\n"
    "    return x\n",
    "walrus": "def f(x):\n    while (going_2 := x) > 0:\n        x = x - 1\n    return going_2\n",
    "nonlocal": "def f(x):\n    body_6 = 0.0\n    def g():\n        nonlocal body_6\n"
    "        body_6 = body_6 + 1\n    while x > 0:\n        g()\n        x = x - 1\n"
    "    return body_6\n",
    "the package": "d2s_a = 4.0\ndef f(x, d2s=3.0, d2s_=2.0):\n    d2s_b = 1.0\n    if x > 0:\n"
    "        x = x + d2s + d2s_ + d2s_a + d2s_b\n    return x\n",
    "the package imported": "def f(x):\n    import d2s\n    if x > 0:\n"
    "        x = x + len(d2s.__name__)\n    return x\n",
    "the function itself": "def then_2(x):\n    if x > 0:\n        x = x + 1\n    return x\n"
    "f = then_2\n",
    "the package as a function": "def d2s(x):\n    if x > 0:\n        x = x + 1\n    return x\n"
    "f = d2s\n",
    "a name of the emitter": "outer = 5.0\ndef f(x):\n    if x > 0:\n        x = x + outer\n"
    "    return x\n",
    "a comment of the emitter": "d2s_comment_0 = 7.0\ndef f(x):\n    # one\n"
    "    y = d2s_comment_0\n    # two\n    if x > 0:\n        x = x + y\n    return x\n",
    "written wide": "def f(x):\n    ｔｈｅｎ_3 = 1.0\n    if x > 0:\n"
    "        ｔｈｅｎ_3 = then_3 + x\n    return then_3\n",
}


@pytest.mark.parametrize("name", UNLUCKY)
def test_unlucky_names(tmp_path: Path, name: str) -> None:
    function = load(tmp_path, UNLUCKY[name]).f
    agree(function, 2.0, -2.0)
    d2s.to_code(function)


# -- builtins that are something else -------------------------------------------------------------

SHADOWED = {
    "range": ("lambda n: [7.0, 8.0]", "for i in range(3):\n        x = x + i"),
    "len": ("lambda v: 5", "if x > 0:\n        x = x + len([1])"),
    "print": ("lambda v: v * 2", "if x > 0:\n        x = print(x)"),
    "isinstance": ("lambda a, b: True", "if isinstance(x, str):\n        x = x + 1"),
    "abs": ("lambda v: 1.0", "if x > 0:\n        x = x + abs(x)"),
    "int": ("lambda v: 3.0", "if x > 0:\n        x = x + int(x)"),
    "bool": ("lambda v: 2.0", "if x > 0:\n        x = x + bool(x)"),
    "sum": ("lambda v: 4.0", "if x > 0:\n        x = x + sum([x])"),
    "zip": ("lambda *a: [(1.0, 2.0)]", "for a, b in zip([1], [2, 3]):\n        x = x + a * b"),
    "enumerate": ("lambda a: [(3.0, 2.0)]", "for a, b in enumerate([x, x]):\n        x = x + a"),
    "type": ("lambda v: 1.0", "if x > 0:\n        x = x + type(x)"),
    "getattr": ("lambda *a: 1.0", "if x > 0:\n        x = x + getattr(x, 'no', 2)"),
    "super": ("lambda *a: len(a) + 1.0", "if x > 0:\n        x = x + super()"),
    "locals": ("lambda: 6.0", "if x > 0:\n        x = x + locals()"),
    "eval": ("lambda v: 6.0", "if x > 0:\n        x = x + eval('x')"),
}


def shadows(name: str) -> Iterator[str]:
    value, body = SHADOWED[name]
    yield f"{name} = {value}\ndef f(x):\n    {body}\n    return x\n"
    yield f"def f(x):\n    {name} = {value}\n    {body}\n    return x\n"
    yield f"def f(x, {name}={value}):\n    {body}\n    return x\n"
    yield (
        f"def make({name}):\n    def f(x):\n        {body.replace('    ', '        ')}\n"
        f"        return x\n    return f\nf = make({value})\n"
    )
    yield (
        f"class A:\n    def f(self, x, {name}={value}):\n"
        f"        {body.replace('    ', '        ')}\n        return x\nf = A().f\n"
    )


@pytest.mark.parametrize("name", SHADOWED)
def test_shadowed_builtins(tmp_path: Path, name: str) -> None:
    for place, text in enumerate(shadows(name)):
        agree(load(tmp_path, text).f, 2.0, -2.0, static=place < 2)


def test_errors_of_python_that_are_something_else(tmp_path: Path) -> None:
    """Generated code needs none of Python's exceptions by name."""
    text = """
UnboundLocalError = NameError = AssertionError = Exception = BaseException = 5
class ValueError(KeyError): pass

def f(x):
    try:
        if x > 0:
            raise ValueError("v")
        while x < -5:
            y = x
            x = x + 1
        z = y
    except KeyError:
        x = x + 1
    finally:
        x = x * 2
    return x
"""
    function = load(tmp_path, text).f
    check(function, (2.0,), (-9.0,), flavours=("static", "traced"))
    for run in (function, d2s.convert(function), d2s.to_static(function)):
        with pytest.raises(builtins.UnboundLocalError):
            run(jnp.float32(-1))


@pytest.mark.parametrize(
    "text",
    [
        "S = super\nclass A(B):\n    def f(self, x):\n        __class__\n        if x > 0:\n"
        "            x = S().g(x)\n        return x\n",
        "class A(B):\n    def f(self, x):\n        s = super\n        if x > 0:\n"
        "            x = s().g(x)\n        return x\n",
        "class A(B):\n    def f(self, x):\n        return super().g(x) if x > 0 else x\n",
    ],
    ids=["global", "local", "by its name"],
)
def test_super_by_another_name(tmp_path: Path, text: str) -> None:
    parent = "class B:\n    def g(self, x): return x + 1\n"
    agree_or_refuse(load(tmp_path, parent + text).A().f, "D2S003", 2.0, -2.0)


# -- the text of files ----------------------------------------------------------------------------

COOKIE = """# -*- coding: {code} -*-
{wide} = "{wide}", lambda x: x + 1.0 if x > 0 else x * len("{wide}"), lambda x: x - 1
def f(x):
    {wide}_ = {wide}[1]
    if x > 0:
        x = {wide}_(x) + len("{wide}")
    return x
"""
BRANCH = "def f(x):\n    if x > 0:\n        x = x + 1\n    return x\n"

FILES: dict[str, str | bytes] = {
    "latin-1": COOKIE.format(code="latin-1", wide="ß\xe9").encode("latin-1"),
    "cp1251": COOKIE.format(code="cp1251", wide="шиЯ").encode("cp1251"),
    "shift_jis": COOKIE.format(code="shift_jis", wide="日本").encode("shift_jis"),
    "utf-8": COOKIE.format(code="utf-8", wide="日本"),
    "byte order mark": b"\xef\xbb\xbf" + BRANCH.encode(),
    "byte order mark and cookie": b"\xef\xbb\xbf# coding: utf-8\n" + BRANCH.encode(),
    "crlf": BRANCH.replace("\n", "\r\n").encode(),
    "cr": BRANCH.replace("\n", "\r").encode(),
    "all ends of lines": b"def f(x):\r\n    if x > 0:\n        s = '''a\r\nb'''\r"
    b"        x = x + len(s)\r\n    return x",
    "tabs": BRANCH.replace("    ", "\t"),
    "tabs after spaces": "def f(x):\n  if x > 0:\n  \tx = x + 1\n  return x\n",
    "form feeds": BRANCH.replace("\n", "\n\x0c\n"),
    "line separators in a text": "def f(x):\n    s = 'a\u2028b\x85c\x1cd'\n    if x > 0:\n"
    "        x = x + len(s)\n    return x\n",
    "lines that go on": "def f(x):\n    if x > 0 and \\\n       x < 100:\n        x = x + \\\n"
    "            1\n    return x\n",
    "one line": "def f(x): y = x; x = y + 1; return x if x > 0 else y",
    "names that are one": "def f(ﬁ):\n    ｘ = fi + 1\n    if x > 0:\n        ﬁ = x * 2\n"
    "    return fi\n",
    "attributes that are one": "class A: ﬁ = 2.0\ndef f(x):\n    if x > 0:\n"
    "        x = x + A.fi + A.ﬁ\n    return x\n",
    "letters of the world": "def größe(α, ñ=1.0):\n    while α > 0:\n        日 = α\n"
    "        α = α - 1\n    else:\n        日 = 0.5 + ñ\n    return α + 日\nf = größe\n",
    "lambdas of a line": "h, f, g = lambda x: -x, lambda x: x + 1 if x > 0 else x * 3, "
    "lambda x: x + 1 if x > 0 else x * 4\n",
    "equal lambdas of a line": "def make(k): return [lambda x: x if x > 0 else -x, "
    "lambda x: x if x > 0 else -x * k][1]\nf = make(5.0)\n",
    "lambda of a lambda": "f = (lambda k: lambda x: x + k if x > 0 else x)(2.0)\n",
    "lambda in a default": "f = lambda x, g=lambda y: y + 1 if y > 0 else y: g(x)\n",
    "lambdas of a comprehension": "f = [lambda x, k=k: x + k if x > 0 else x * k "
    "for k in range(3)][2]\n",
    "lambda of many lines": "f = (\n    lambda x,\n           y=1.0:\n    (x + y\n"
    "     if x > 0  # a word\n     else x)\n)\n",
    "decorators of many lines": "import functools\ndef deco(a, b=None):\n    def d(g):\n"
    "        @functools.wraps(g)\n        def w(x): return g(x) + a\n        return w\n"
    "    return d\n@deco(\n    1.0,\n    b=lambda x: (\n        x\n    ),\n)\n"
    "@deco(  # two\n    2.0)\ndef f(x):\n    if x > 0:\n        x = x * 10\n    return x\n",
    "future annotations": "from __future__ import annotations\n"
    "def f(x: Nope, y: list[No] = None) -> Missing:\n    z: Whatever = 1\n    if x > 0:\n"
    "        def g(q: Nada): return q + z\n        x = g(x)\n    return x\n",
    "a function in itself": "def f(x):\n    def f(x):\n        if x > 0:\n            x = x + 1\n"
    "        return x\n    return f(x)\n",
}


@pytest.mark.parametrize("name", FILES)
def test_files(tmp_path: Path, name: str) -> None:
    function = load(tmp_path, FILES[name]).f
    agree(function, 2.0, -2.0)
    ast.parse(d2s.to_code(function).strip())


def test_future_annotations_stay_texts(tmp_path: Path) -> None:
    text = "def f(x):\n    def g(y: Nope): return y\n    return g\n"
    text = "from __future__ import annotations\n" + text
    made = d2s.convert(load(tmp_path, text).f)(1)
    assert made.__annotations__ == {"y": "Nope"}


def test_without_the_future_annotations_are_evaluated(tmp_path: Path) -> None:
    text = "def f(x):\n    def g(y: x + 1): return y\n    return g\n"
    assert d2s.convert(load(tmp_path, text).f)(1).__annotations__ == {"y": 2}


# -- text that is in no file ----------------------------------------------------------------------


def cell(text: str, name: str) -> dict[str, Any]:
    """Run a cell as a notebook does: its lines are known by a name that is no file."""
    entry = [line + "\n" for line in text.splitlines()]
    linecache.cache[name] = (len(text), None, entry, name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    return space


@pytest.fixture
def cells() -> Iterator[None]:
    before = set(linecache.cache)
    yield
    for name in set(linecache.cache) - before:
        del linecache.cache[name]


def test_a_notebook_cell(cells: None) -> None:
    name = "<ipython-input-7-0a1b2c3d4e5f>"
    space = cell("k = 3.0\n\n" + BRANCH.replace("1", "k") + "g = lambda x: f(x) * 2\n", name)
    agree(space["f"], 2.0, -2.0)
    agree(space["g"], 2.0, -2.0)
    space["k"] = 5.0
    agree(space["f"], 2.0, -2.0)


def test_errors_name_the_cell_as_the_notebook_does(cells: None, monkeypatch) -> None:
    name = "/tmp/ipykernel_7/123.py"
    compiler = types.SimpleNamespace(_filename_map={name: 4})
    ipython = types.SimpleNamespace(get_ipython=lambda: types.SimpleNamespace(compile=compiler))
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    static = d2s.to_static(cell("def f(x):\n    return {x: 1 if x > 0 else 2}\n", name)["f"])
    with pytest.raises(d2s.Error) as caught:
        static(jnp.ones(1)[0])
    assert "\n  Cell In[4], line 2, in f\n    return {x: 1 if x > 0 else 2}\n" in str(caught.value)
    report = d2s.explain(cell(BRANCH, name)["f"], jnp.ones(1)[0])
    assert str(report).splitlines()[1] == "Cell In[4]"


def test_the_prompt() -> None:
    """Python keeps what is typed since 3.13; before, it is said what to do."""
    typed = (
        "import d2s, jax.numpy as jnp\n"
        "def f(x): return x if x > 0 else -x\n\n"
        "d2s.to_static(f)(jnp.float32(-2))\n"
    )
    done = subprocess.run(
        [sys.executable, "-i", "-q"], input=typed, capture_output=True, text=True, cwd=ROOT
    )
    if sys.version_info >= (3, 13):
        assert "Array(2." in done.stdout
    else:
        assert "D2S001: there is no source text for f (<stdin>)" in done.stderr
        assert "IPython does" in done.stderr and "d2s/" not in done.stderr


def test_a_cell_run_again_under_its_name(cells: None) -> None:
    """The first function keeps its conversion; one that had none yet is refused, not mistaken."""
    name = "<ipython-input-8-0a1b2c3d4e5f>"
    texts = [BRANCH.replace("1", str(k)) for k in (1, 2, 3)]
    first = cell(texts[0], name)["f"]
    agree(first, 2.0, -2.0)
    second = cell(texts[1], name)["f"]
    third = cell(texts[2], name)["f"]
    assert [d2s.convert(f)(1) for f in (first, third)] == [2, 4]
    with pytest.raises(d2s.ConversionError) as caught:
        d2s.convert(second)
    assert caught.value.code == "D2S002"


def test_a_cell_with_odd_line_ends(cells: None) -> None:
    """Whoever splits the text at other places than Python does changes it."""
    space = cell("def f(x):\n    s = 'a\x0cb'\n    return len(s) + x\n", "<cell-9>")
    agree_or_refuse(space["f"], "D2S002", 2.0)


def test_exec_made_functions(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(BRANCH, space)
    for run in (d2s.convert, d2s.to_static, d2s.to_code):
        with pytest.raises(d2s.ConversionError) as caught:
            run(space["f"])
        assert caught.value.code == "D2S001"


def test_exec_made_functions_that_are_called(tmp_path: Path) -> None:
    """Run as they are on plain values; on a run-time value they say what they need."""
    module = load(tmp_path, "def f(x):\n    return g(x) if x > 0 else x\n")
    exec(BRANCH.replace("def f", "def g"), vars(module))
    assert [d2s.convert(module.f)(x) for x in (2.0, -2.0)] == [3.0, -2.0]
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(module.f)(jnp.float32(2))
    assert caught.value.code == "D2S021"


def test_exec_under_the_name_of_a_file(tmp_path: Path) -> None:
    """The file has a function of that name at that line; it is another one."""
    module = load(tmp_path, BRANCH)
    space: dict[str, Any] = {}
    exec(compile(BRANCH.replace("+ 1", "- 1"), str(module.__file__), "exec"), space)
    with pytest.raises(d2s.ConversionError) as caught:
        d2s.convert(space["f"])
    assert caught.value.code == "D2S002"
    exec(compile(BRANCH, str(module.__file__), "exec"), space)
    agree(space["f"], 2.0, -2.0)


# -- files that changed ---------------------------------------------------------------------------

CHANGED = {
    "another free name": (
        "def make(a, b):\n    def f(x):\n        return a + x\n    return f\nf = make(1, 2)\n",
        ("a + x", "b + x"),
    ),
    "another free name inside": (
        "def make(a, b):\n    def f(x):\n        def g(y):\n            return a + y\n"
        "        return g(x)\n    return f\nf = make(1, 2)\n",
        ("a + y", "b + y"),
    ),
    "a global for a free name": (
        "b = 9\ndef make(a, b):\n    def f(x):\n        return a + x\n    return f\n"
        "f = make(1, 2)\n",
        ("def make(a, b)", "def make(c, b)"),
    ),
    "a star before a parameter": ("def f(x, a=1):\n    return a\n", ("x, a=1", "x, *a")),
    "two stars before a parameter": ("def f(x, a=1):\n    return a\n", ("x, a=1", "x, **a")),
    "a keyword only": ("def f(x, a=1):\n    return x + a\n", ("x, a", "x, *, a")),
    "a position only": ("def f(x, a=1):\n    return x + a\n", ("x, a=1", "x, a=1, /")),
    "a star inside": (
        "def f(x):\n    def g(a):\n        return a\n    return g(x)\n",
        ("g(a)", "g(*a)"),
    ),
    "a star in a lambda": ("f = lambda x, a=1: (\n    a)\n", ("x, a=1", "x, *a")),
    "another default inside": (
        "def f(x):\n    def g(a=1): return a\n    return g()\n",
        ("a=1", "a=2"),
    ),
    "another constant": ("def f(x):\n    return x + 1\n", ("1", "2")),
    "another kind of constant": ("def f(x):\n    return x * 10\n", ("10", "1.")),
    "another sign of zero": ("def f(x):\n    return 0.0, x\n", ("0.0", "-0.")),
    "another keyword of a call": (
        "def g(a=0, b=0): return a - b\ndef f(x):\n    return g(a=x)\n",
        ("g(a=x)", "g(b=x)"),
    ),
    "another attribute": ("def f(x):\n    return x.real\n", ("real", "imag")),
    "another handler": (
        "def f(x):\n    try:\n        return [1][x]\n    except IndexError:\n        return 0\n",
        ("IndexError", "ValueError"),
    ),
    "another comparison": ("def f(x):\n    return x < 1\n", ("<", ">")),
    "another text": ("def f(x):\n    return 'a', x\n", ("'a'", "'b'")),
    "other line ends in a text": (
        "def f(x):\n    return '''a\nb''', x\n",
        ("'''a\nb'''", "'''a \nb'''"),
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_a_file_that_changed(tmp_path: Path, name: str) -> None:
    """The new text is never taken for that of the old function."""
    before, (old, new) = CHANGED[name]
    module = load(tmp_path, before)
    assert old in before
    want = module.f(3)
    edit(module, before.replace(old, new))
    try:
        got = d2s.convert(module.f)(3)
    except d2s.ConversionError as error:
        assert error.code == "D2S002"
    else:
        assert got == want


def test_a_file_that_changed_after_the_conversion(tmp_path: Path) -> None:
    module = load(tmp_path, BRANCH)
    agree(module.f, 2.0, -2.0)
    edit(module, BRANCH.replace("+ 1", "- 1"))
    agree(module.f, 2.0, -2.0)
    os.remove(str(module.__file__))
    agree(module.f, 2.0, -2.0)
    assert "x + 1" in d2s.to_code(module.f)


def test_a_file_that_is_gone(tmp_path: Path) -> None:
    module = load(tmp_path, BRANCH)
    os.remove(str(module.__file__))
    for run in (d2s.convert, d2s.to_static, d2s.to_code):
        with pytest.raises(d2s.ConversionError) as caught:
            run(module.f)
        assert caught.value.code == "D2S001"


def test_a_file_that_came_back(tmp_path: Path) -> None:
    """After a refusal the function is the same; one made from the restored text is another."""
    module = load(tmp_path, BRANCH)
    edit(module, BRANCH.replace("+ 1", "- 1"))
    with pytest.raises(d2s.ConversionError):
        d2s.convert(module.f)
    edit(module, BRANCH)
    again: dict[str, Any] = {}
    exec(compile(BRANCH, str(module.__file__), "exec"), again)
    agree(again["f"], 2.0, -2.0)


def test_a_function_given_the_code_of_another_file(tmp_path: Path) -> None:
    one, two = load(tmp_path, BRANCH), load(tmp_path, BRANCH.replace("+ 1", "* 5"))
    mixed = types.FunctionType(two.f.__code__, vars(one), "f")
    agree(mixed, 2.0, -2.0)
    assert d2s.convert(mixed)(2.0) == 10.0
