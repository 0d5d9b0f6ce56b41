"""What an expression reads before it has bound it itself, and what it surely binds."""

import gast
import pytest

from d2s.analysis import Scopes
from d2s.analysis.order import bound_by_thunks, evaluate, is_python_bool


def parsed(text: str) -> gast.AST:
    statement = gast.parse(text).body[0]
    return statement.value if isinstance(statement, gast.Expr) else statement


def told(text: str, bound: str = "") -> str:
    found = evaluate(parsed(text), Scopes(), frozenset(bound.split()))
    parts = {"early": [name.id for name in found.early], "sure": sorted(found.sure)}
    parts |= {"true": sorted(found.true), "false": sorted(found.false)}
    return ", ".join(f"{name} {' '.join(names)}" for name, names in parts.items() if names)


EXPRESSIONS = {
    "a": "early a",
    "a + a": "early a a",
    "(a := 1)": "sure a",
    "(a := a)": "early a, sure a",
    "(a := b) + a": "early b, sure a",
    "a + (a := b)": "early a b, sure a",
    "f(a := 1, a, k=a)": "early f, sure a",
    "x[(i := 1), i]": "early x, sure i",
    "[(a := 1), a]": "sure a",
    "f'{(a := 1)}{a}'": "sure a",
    "(a := (b := 1)) + b": "sure a b",
    # operands that may be left out
    "(a := x) and a": "early x, sure a, true a",
    "x and (a := y)": "early x y, true a",
    "x or (a := y)": "early x y, false a",
    "x and (a := y) and a": "early x y, true a",
    "x and (a := y) or a": "early x y a",
    "not (x and (a := y))": "early x y, false a",
    "not not (x and (a := y))": "early x y, true a",
    "(x or (a := y)) and a": "early x y a",
    "(x or (a := y)) or a": "early x y, false a",
    "x and ((a := y) or (b := z)) and a": "early x y z, true a",
    # a comparison asks for its third operand only if the first two agree
    "(a := x) < a": "early x, sure a",
    "x < (a := y) < a": "early x y, sure a",
    "x < y < (a := z)": "early x y z, true a",
    "x < y < (a := z) and a": "early x y z, true a",
    "x < y < (a := z) or a": "early x y z a",
    # a conditional expression
    "a if (a := x) else a": "early x, sure a",
    "(a := x) if y else (a := z)": "early y x z, sure a",
    "(a := x) if y else z": "early y x z",
    "a if x and (a := y) else a": "early x y a",
    "a if x or (a := y) else a": "early x y a",
    # functions inside read later, apart from their defaults
    "lambda: a": "",
    "lambda x=a: x": "early a",
    "[(a := 1), lambda x=a: a]": "sure a",
    # comprehensions bind for the function around, if they run at all
    "[x for x in a]": "early a",
    "[x + k for x in a if x > m]": "early a m k",
    "[(last := x) for x in a]": "early a",
    "[last for x in a if (last := x)]": "early a last",
    "[x for x in (a := b)] + a": "early b, sure a",
    "{k: v for k, v in a for w in v}": "early a",
}


@pytest.mark.parametrize("text, expected", EXPRESSIONS.items(), ids=list(EXPRESSIONS))
def test_expressions(text: str, expected: str) -> None:
    assert told(text) == expected


STATEMENTS = {
    "b = (a := 1)": "sure a",
    "x[a] = (a := 1)": "early x, sure a",
    "a += 1": "early a",
    "a += (a := 1)": "early a, sure a",
    "x[i] += (i := 1)": "early x i, sure i",
    "assert (a := x), a": "early x, sure a",
    "assert x and (a := y), a": "early x y a, sure a",
    "assert x or (a := y), a": "early x y",
    "del x[(i := 1)], y[i]": "early x y, sure i",
    "return (a := 1), a": "sure a",
}


@pytest.mark.parametrize("text, expected", STATEMENTS.items(), ids=list(STATEMENTS))
def test_statements(text: str, expected: str) -> None:
    if text.startswith("return"):
        found = evaluate(gast.parse(f"def f(): {text}").body[0].body[0], Scopes())
        assert ([name.id for name in found.early], found.sure) == ([], {"a"})
    else:
        assert told(text) == expected


def test_functions_read_what_stands_around_their_bodies_and_classes_all() -> None:
    assert told("@a\ndef f(x=b, *, y=c): return d") == "early a b c"
    assert told("@a\nclass C(b, k=c): d = e") == "early a b c e"


def test_what_is_bound_before_is_not_early() -> None:
    assert told("a + b + (c := d)", bound="a d") == "early b, sure c"
    assert told("a += b", bound="a b") == ""


def test_names_that_a_graph_may_leave_unbound() -> None:
    def thunks(text: str) -> set[str]:
        return bound_by_thunks(parsed(text))

    assert thunks("(a := x) > 1") == set()
    assert thunks("(a := x) > 1 and (b := y) > 1") == {"b"}
    assert thunks("(a := x) is not None and (b := y) > 1") == set()
    assert thunks("(a := x) is None or (b := y) or (c := z)") == {"b", "c"}
    assert thunks("(a := x) if y is None else (b := z)") == set()
    assert thunks("(a := x) if y else (b := z)") == {"a", "b"}
    assert thunks("x < y < (a := z)") == {"a"}
    assert thunks("x is y is (a := z)") == set()
    assert thunks("lambda: x and (a := y)") == set()


@pytest.mark.parametrize(
    "text, expected",
    {
        "x is None": True,
        "x is not y is z": True,
        "not x is None": True,
        "x is None and y is None": True,
        "[x, y]": True,
        "True": True,
        "x": False,
        "1": False,
        "x == 1": False,
        "x is None and y": False,
        "x in y": False,
        "not x": False,
        "f(x)": False,
    }.items(),
)
def test_truths_that_python_knows(text: str, expected: bool) -> None:
    assert is_python_bool(parsed(text)) is expected
