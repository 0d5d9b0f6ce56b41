"""Quasi-quotation: what a part can be, and where."""

import ast

import gast
import pytest

from d2s.source.emit import to_ast
from d2s.source.templates import Part, quote, quote_expression


def text(template: str, **parts: Part) -> str:
    return "\n".join(
        ast.unparse(ast.fix_missing_locations(to_ast(node))) for node in quote(template, **parts)
    )


def expression(source: str) -> gast.expr:
    return gast.parse(source, mode="eval").body


@pytest.mark.parametrize(
    "template, parts, expected",
    [
        ("a = b", {}, "a = b"),
        ("a = b", {"a": "x", "b": "y"}, "x = y"),
        ("a = b", {"b": expression("f(1)")}, "a = f(1)"),
        ("a = b", {"a": ["x"]}, "x = b"),
        ("a = b", {"a": ["x", "y"]}, "x, y = b"),
        ("return a", {"a": ["x", "y"]}, "return (x, y)"),
        ("f(a, *b)", {"b": ["x", "y"]}, "f(a, x, y)"),
        ("f(a, *b)", {"b": []}, "f(a)"),
        ("f(a, *b, k=c)", {"b": [expression("x[0]")], "c": "z"}, "f(a, x[0], k=z)"),
        ("f(*b)", {}, "f(*b)"),
        ("f = lambda: a", {"a": expression("x + 1")}, "f = lambda: x + 1"),
        ("def n(*p): b", {"n": "g", "p": ["x", "y"], "b": quote("pass")}, "def g(x, y):\n    pass"),
        ("def n(a, *p): return a", {"p": ["x"]}, "def n(a, x):\n    return a"),
        ("if t: b", {"t": "x", "b": quote("y = 1\nz = 2")}, "if x:\n    y = 1\n    z = 2"),
        ("def f():\n nonlocal n\n b", {"n": ["x", "y"]}, "def f():\n    nonlocal x, y\n    b"),
        ("def f():\n nonlocal n\n b", {"n": []}, "def f():\n    b"),
        ("a\nb", {"a": quote("x = 1"), "b": quote("y = 2")}, "x = 1\ny = 2"),
        ("a.b = a.c[a]", {"a": "x"}, "x.b = x.c[x]"),
        ("f(name=name)", {"name": "x"}, "f(name=x)"),
    ],
)
def test_parts(template: str, parts: dict[str, Part], expected: str) -> None:
    assert text(template, **parts) == expected


def test_an_expression() -> None:
    made = quote_expression("d2s.cond(test, lambda: body)", test="x", body=expression("y + 1"))
    assert ast.unparse(ast.fix_missing_locations(to_ast(made))) == "d2s.cond(x, lambda: y + 1)"


def test_a_template_can_be_used_again() -> None:
    first, second = quote("a = b", a="x"), quote("a = b", a="y")
    assert [ast.unparse(ast.fix_missing_locations(to_ast(s))) for s in (*first, *second)] == [
        "x = b",
        "y = b",
    ]
    assert first[0].value is not second[0].value


def test_a_node_stays_the_same_node() -> None:
    """Facts about nodes are kept by identity, so a part is not copied."""
    node = expression("x + 1")
    assert quote_expression("f(value)", value=node).args[0] is node
    statements = gast.parse("y = 1").body
    assert quote("if t: body", body=statements)[0].body[0] is statements[0]


def test_only_the_name_of_the_package_is_marked() -> None:
    call = quote_expression("d2s.f(d2s, x, y)", x="d2s")
    marked = [getattr(node, "generated", False) for node in (call.func.value, *call.args)]
    assert marked == [True, True, False, False]


def test_everything_new_gets_the_position_of_the_node() -> None:
    at = gast.parse("x = 1\nwhile x < 3: x = f(x)").body[1]
    part = gast.parse("\n\n\n\nhere").body[0].value
    for statement in quote("def f(a):\n    return g(a, part)", at, part=part):
        for node in gast.walk(statement):
            if node is part:
                assert node.lineno == 5
            elif "lineno" in node._attributes:
                assert (node.lineno, node.end_lineno, node.col_offset) == (2, 2, 0)


def test_the_position_covers_the_header_alone() -> None:
    at = gast.parse("while x < 3:\n    x = 1").body[0]
    (statement,) = quote("f()", at)
    assert (statement.end_lineno, statement.end_col_offset) == (1, len("while x < 3"))
