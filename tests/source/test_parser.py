"""From a function object to the tree of its own source, wherever it was written."""

import ast
import importlib.util
import itertools
import linecache
import os
import textwrap
import types
from pathlib import Path

import gast
import pytest

from d2s.errors import ConversionError
from d2s.source.parser import Unit, parse

_count = itertools.count()


def load(folder: Path, text: str | bytes, name: str = "") -> types.ModuleType:
    """Import `text` as a module of its own; bytes are written as they are."""
    name = name or f"loaded_{next(_count)}"
    path = folder / f"{name}.py"
    path.write_bytes(text.encode("utf-8") if isinstance(text, str) else text)
    return load_file(path, name)


def load_file(path: Path, name: str) -> types.ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def text_of(unit: Unit) -> str:
    return ast.unparse(ast.fix_missing_locations(gast.gast_to_ast(unit.tree)))


def same(function: types.FunctionType, expected: str) -> None:
    """The function's tree is that of the expected text."""
    found = ast.parse(text_of(parse(function)))
    assert ast.dump(found) == ast.dump(ast.parse(textwrap.dedent(expected).strip()))


def test_the_unit_of_a_function(tmp_path: Path) -> None:
    module = load(tmp_path, "y = 1\n\n\ndef f(x):\n    return x + y\n")
    unit = parse(module.f)
    assert (unit.name, unit.filename, unit.first_line) == ("f", module.__file__, 4)
    assert unit.free_names == ()
    assert unit.lines[3] == "def f(x):\n"
    same(module.f, "def f(x):\n    return x + y")


def test_positions_are_those_of_the_file(tmp_path: Path) -> None:
    text = "\n\nclass A:\n    def f(self, x):\n        return (x +\n            1)\n"
    module = load(tmp_path, text)
    unit = parse(module.A.f)
    (statement,) = unit.tree.body
    assert (statement.lineno, statement.col_offset, statement.end_lineno) == (5, 8, 6)
    site = unit.site(statement.value)
    assert (site.filename, site.line, site.function, site.column) == (module.__file__, 5, "f", 16)


def test_free_names(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def outer(a, b):
    def inner(x):
        return a + x + b
    return inner
""",
    )
    assert set(parse(module.outer(1, 2)).free_names) == {"a", "b"}
    assert parse(module.outer).free_names == ()


# -- lambdas --------------------------------------------------------------------------------------


def test_several_lambdas_on_a_line(tmp_path: Path) -> None:
    module = load(tmp_path, "a, b, c = lambda x: x, lambda x: x + 1, lambda y: y\n")
    same(module.a, "lambda x: x")
    same(module.b, "lambda x: x + 1")
    same(module.c, "lambda y: y")


def test_equal_lambdas_on_a_line(tmp_path: Path) -> None:
    module = load(tmp_path, "a, b = lambda x: x + 1, lambda x: x + 1\n")
    assert [parse(f).tree.col_offset for f in (module.a, module.b)] == [7, 24]


def test_lambda_in_lambda(tmp_path: Path) -> None:
    module = load(tmp_path, "f = lambda x: lambda y: x + y\n")
    same(module.f, "lambda x: lambda y: x + y")
    same(module.f(1), "lambda y: x + y")


def test_lambda_in_the_default_of_a_lambda(tmp_path: Path) -> None:
    module = load(tmp_path, "f = lambda x, g=lambda y: y * 2: g(x)\n")
    same(module.f, "lambda x, g=lambda y: y * 2: g(x)")
    same(module.f.__defaults__[0], "lambda y: y * 2")


def test_lambda_that_holds_nothing_but_a_constant(tmp_path: Path) -> None:
    module = load(tmp_path, "a, b = lambda: 1, lambda: 2\n")
    same(module.a, "lambda: 1")
    same(module.b, "lambda: 2")


def test_lambda_over_several_lines(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
f = (lambda x,
            y: (x
                + y))
g = [
    lambda x: x,
    lambda x: (
        x + 1
    ),
]
""",
    )
    same(module.f, "lambda x, y: x + y")
    same(module.g[0], "lambda x: x")
    same(module.g[1], "lambda x: x + 1")


def test_lambda_as_an_argument_of_a_decorator(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def keep(g):
    def deco(f):
        f.g = g
        return f
    return deco

@keep(lambda x: x - 1)
def f(x): return x
""",
    )
    same(module.f.g, "lambda x: x - 1")
    same(module.f, "def f(x): return x")


# -- definitions ----------------------------------------------------------------------------------


def test_decorators_are_left_out(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def deco(*_):
    return lambda f: f

@deco(
    1,
)
@deco()
def f(x):
    @deco()
    def g(): return x
    return g
""",
    )
    unit = parse(module.f)
    assert unit.tree.decorator_list == []
    assert unit.first_line == 9
    same(module.f, "def f(x):\n    @deco()\n    def g(): return x\n    return g")
    same(module.f(1), "def g(): return x")


def test_parsing_twice_gives_two_trees(tmp_path: Path) -> None:
    """A conversion changes the tree it gets; the next one must not see that."""
    module = load(tmp_path, "def f(x):\n    return x\n")
    first = parse(module.f)
    first.tree.body.clear()
    same(module.f, "def f(x): return x")


def test_methods(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
class A:
    def f(self, x): return x
    @classmethod
    def g(cls): return cls
    @staticmethod
    def h(x): return x + 1
    @property
    def p(self): return 1
    class B:
        def f(self): return 2
""",
    )
    same(module.A.f, "def f(self, x): return x")
    same(module.A.g.__func__, "def g(cls): return cls")
    same(module.A.h, "def h(x): return x + 1")
    same(module.A.p.fget, "def p(self): return 1")
    same(module.A.B.f, "def f(self): return 2")


def test_functions_with_the_same_name(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def f(x): return 1
first = f
def f(x): return 2
if True:
    def g(): return f
else:
    def g(): return first
class A:
    def f(self): return 3
class B:
    def f(self): return 4
""",
    )
    same(module.first, "def f(x): return 1")
    same(module.f, "def f(x): return 2")
    same(module.g, "def g(): return f")
    same(module.A.f, "def f(self): return 3")
    same(module.B.f, "def f(self): return 4")


def test_two_functions_on_a_line(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(x): return lambda: x; return 0\n")
    same(module.f, "def f(x): return lambda: x; return 0")
    same(module.f(1), "lambda: x")


def test_function_with_defaults_and_annotations(tmp_path: Path) -> None:
    text = "def f(a: int, /, b: 'str' = 1, *c: list, d: dict[str, int] = {}, **e) -> None: return a"
    same(load(tmp_path, text + "\n").f, text)


# -- the text of files ----------------------------------------------------------------------------


def test_crlf_file(tmp_path: Path) -> None:
    module = load(tmp_path, b"def f(x):\r\n    y = x\r\n    return y\r\n")
    same(module.f, "def f(x):\n    y = x\n    return y")


def test_tabs(tmp_path: Path) -> None:
    module = load(tmp_path, "class A:\n\tdef f(self):\n\t\tx = 1\n\t\treturn x\n")
    same(module.A.f, "def f(self):\n    x = 1\n    return x")


def test_form_feed_and_no_newline_at_the_end(tmp_path: Path) -> None:
    module = load(tmp_path, "x = 1\n\x0c\ndef f(x):\n    return x")
    same(module.f, "def f(x): return x")


def test_unicode_names(tmp_path: Path) -> None:
    module = load(tmp_path, "def größe(α, *, ñ=1):\n    é = α\n    return é, 'ü', ñ\n")
    assert parse(module.größe).name == "größe"
    same(module.größe, "def größe(α, *, ñ=1):\n    é = α\n    return é, 'ü', ñ")


def test_lambdas_after_wide_characters(tmp_path: Path) -> None:
    module = load(tmp_path, "a, b = ('üüü', lambda x: x), lambda x: 'ö'\n")
    same(module.a[1], "lambda x: x")
    same(module.b, "lambda x: 'ö'")


def test_encoding_cookie(tmp_path: Path) -> None:
    module = load(tmp_path, "# -*- coding: latin-1 -*-\ndef f(): return 'ü'\n".encode("latin-1"))
    assert module.f() == "ü"
    same(module.f, "def f(): return 'ü'")


def test_byte_order_mark(tmp_path: Path) -> None:
    module = load(tmp_path, b"\xef\xbb\xbfdef f(): return 1\n")
    same(module.f, "def f(): return 1")


def test_notebook_cell() -> None:
    """A cell has a name that is no file; its text is in `linecache` alone."""
    name = "<cell-1>"
    text = "def f(x):\n    return x + 1\n\ng = lambda x: x\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, types.FunctionType] = {}
    try:
        exec(compile(text, name, "exec"), space)
        same(space["f"], "def f(x): return x + 1")
        same(space["g"], "lambda x: x")
    finally:
        del linecache.cache[name]


def test_a_cell_that_ran_again() -> None:
    """The old function is not taken for the new text under the same name."""
    name = "<cell-2>"
    made = []
    try:
        for value in (1, 2):
            text = f"def f(x):\n    return x + {value}\n"
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
            space: dict[str, types.FunctionType] = {}
            exec(compile(text, name, "exec"), space)
            made.append(space["f"])
            same(made[-1], text)
        refused(made[0], "D2S002")
    finally:
        del linecache.cache[name]


def test_future_imports_of_the_file(tmp_path: Path) -> None:
    text = "def f(x: A) -> B:\n    def g(y: C): return y\n    return g\n"
    module = load(tmp_path, "from __future__ import annotations\n" + text)
    same(module.f, text)


def test_functions_of_a_rewritten_test_module() -> None:
    """pytest compiles its modules from trees of its own; this function is in one."""

    def f(x):
        assert x > 0
        return x

    same(f, "def f(x):\n    assert x > 0\n    return x")


# -- refusals -------------------------------------------------------------------------------------


def refused(function: types.FunctionType, code: str) -> ConversionError:
    with pytest.raises(ConversionError) as caught:
        parse(function)
    assert caught.value.code == code
    return caught.value


def test_function_without_source() -> None:
    space: dict[str, types.FunctionType] = {}
    exec("def f(x): return x", space)
    error = refused(space["f"], "D2S001")
    assert "there is no source text for f (<string>)" in str(error)
    assert "in a file or in a cell of a notebook" in error.fix


def edit(module: types.ModuleType, text: str) -> None:
    path = Path(str(module.__file__))
    before = path.stat()
    path.write_text(text)
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 2_000_000_000))


@pytest.mark.parametrize(
    "text",
    {
        "moved": "\n\ndef f(x):\n    return x + 1\n",
        "other body": "def f(x):\n    return x + 2\n",
        "other operator": "def f(x):\n    return x - 1\n",
        "other name": "def g(x):\n    return x + 1\n",
        "other parameter": "def f(y):\n    return y + 1\n",
        "other layout": "def f(x):\n    return (x + 1)\n",
        "a line more": "def f(x):\n    x = 2\n    return x + 1\n",
        "gone": "x = 1\n",
        "broken": "def f(x:\n",
    }.items(),
    ids=lambda item: item[0],
)
def test_edited_file(tmp_path: Path, text: tuple[str, str]) -> None:
    module = load(tmp_path, "def f(x):\n    return x + 1\n")
    edit(module, text[1])
    refused(module.f, "D2S002")


def test_edited_default(tmp_path: Path) -> None:
    """Defaults are values of the function object: their text is not needed."""
    module = load(tmp_path, "def f(x=1):\n    return x\n")
    edit(module, "def f(x=2):\n    return x\n")
    assert module.f() == 1
    assert parse(module.f).name == "f"


def test_edited_inner_function(tmp_path: Path) -> None:
    """The outer function's own code is the same; what it makes is not."""
    module = load(tmp_path, "def f(x):\n    def g(): return 1\n    return g\n")
    edit(module, "def f(x):\n    def g(): return 2\n    return g\n")
    refused(module.f, "D2S002")


def test_file_edited_elsewhere(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(x):\n    return x + 1\n")
    edit(module, "def f(x):\n    return x + 1\n\n\ndef g(): pass\n")
    same(module.f, "def f(x): return x + 1")


def test_removed_file(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(x):\n    return x + 1\n")
    os.remove(str(module.__file__))
    refused(module.f, "D2S001")


def test_the_message_of_an_edited_file(tmp_path: Path) -> None:
    module = load(tmp_path, "def f(x):\n    return x + 1\n")
    edit(module, "def f(x):\n    return x + 2\n")
    assert str(refused(module.f, "D2S002")) == (
        "D2S002: the file of f has changed since the function was made\n"
        f'  File "{module.__file__}", line 1, in f\n'
        "    def f(x):\n"
        "    ^^^^^^^^^\n"
        "Write instead: reload the module (or run the cell again), then convert"
    )
