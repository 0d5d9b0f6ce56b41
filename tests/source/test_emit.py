"""The text people read and the code Python runs: two views of one tree."""

import ast
import dis
import inspect
import textwrap
import traceback
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

from d2s import api, conversion
from d2s.conversion import Conversion, conversion_of

from ..converters.test_cases import CASES, Case
from .test_parser import load, load_file

SAMPLES = sorted((Path(__file__).parents[2] / "samples").glob("*.py"))


def convert(folder: Path, source: str, name: str = "f") -> Conversion:
    module = load(folder, textwrap.dedent(source).lstrip("\n"))
    return conversion_of(getattr(module, name))


def reparsed(made: Conversion) -> ast.AST:
    """The text of a conversion as a tree."""
    (statement,) = ast.parse(made.source).body
    return statement.value if isinstance(statement, ast.Expr) else statement


def dump(tree: ast.AST) -> str:
    """Without positions, and without the prefix of `u"..."`, which says nothing to Python."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant):
            node.kind = None
    return ast.dump(tree, indent=1)


def code_objects(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from code_objects(constant)


def functions_of(module: types.ModuleType) -> Iterator[types.FunctionType]:
    for value in vars(module).values():
        function = value.original if isinstance(value, api.StaticFunction) else value
        if isinstance(function, types.FunctionType) and function.__name__ != "examples":
            yield function


# -- text and code are one ------------------------------------------------------------------------

SOURCES = {
    "strings": r"""
        def f(x):
            return 'it\'s', "say \"so\"", '\n\t\\', b'\x00', u'u', r'\d', '''a
            b''', 'ü\u2028\x0c', 'a' 'b'
        """,
    "f-strings": """
        def f(x, w):
            return f"{x!r:>{w}} {{}} {x['k']} {x:%Y-%m} {'a' + f'{x}'}" f"{x=}"
        """,
    "numbers": "def f(x): return 1e400, -1e400, 1j, 0x10, 10**30, -1, -(1), (-1) ** 2, 1_000",
    "operators": "def f(a, b): return (a + b) * a ** -b @ (not a), -(-a), (a, *b), a[b:, ::2, ...]",
    "tuples": """
        def f(a, b):
            x = a,
            y = ()
            if a > 0:
                return a, b
            return (a, (b,)), [*x, *y]
        """,
    "lambdas": "def f(a): return lambda *x, k=1, **y: lambda: (x, k, y, a)",
    "comprehensions": "def f(a): return [i for i in a if i is None for j in i], {i: 1 for i in a}",
    "signature": "def f(a: int, /, b: 'B' = 2, *c, d: dict = {}, **e) -> 'R': return a",
    "annotations": """
        def f(a):
            x: int = a
            y: 'list[int]'
            return x
        """,
    "inner functions": """
        def f(a):
            @deco
            def g(x=a):
                '''Text of g.'''
                if x > 0:
                    return 1
                return 2
            return g
        """,
    "a return in parentheses that is no tuple": """
        def f(a, b):
            return (a, b)[0], (a, b)
        """,
    "blank lines in strings": '''
        def f(a):
            x = """one


            def two(): pass

            return (1, 2)
            """
            if a > 0:
                x = a
            return x
        ''',
    "long lines": """
        def f(alpha, beta, gamma, delta):
            if alpha > 0 and beta > 0 and gamma > 0 and delta > 0 and alpha + beta + gamma > delta:
                alpha = some_function(alpha, beta, gamma, delta, keyword=alpha * beta + gamma)
            return {'alpha': alpha, 'text': 'a text that is rather long', 'more': f'{alpha} {beta}'}
        """,
    "very long strings": f"""
        def f(a):
            return a, {"x" * 200!r}, f'{"y" * 120} {{a}}'
        """,
}


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_text_and_code_are_one_tree(tmp_path: Path, source: str) -> None:
    head = "def deco(f): return f\n\n"
    made = convert(tmp_path, head + textwrap.dedent(source))
    assert dump(reparsed(made)) == dump(made.tree)


@pytest.mark.parametrize(
    "case", [case for case in CASES if not case.error], ids=lambda case: case.id
)
def test_text_and_code_of_the_cases(tmp_path: Path, case: Case) -> None:
    made = convert(tmp_path, case.source)
    assert dump(reparsed(made)) == dump(made.tree)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_text_and_code_of_the_samples(path: Path) -> None:
    for function in functions_of(load_file(path, path.stem)):
        made = conversion_of(function)
        assert dump(reparsed(made)) == dump(made.tree)


def test_text_of_a_lambda(tmp_path: Path) -> None:
    made = convert(tmp_path, "f = lambda x: x if x > 0 else -x\n")
    assert made.source == "lambda x: d2s.cond(x > 0, lambda: x, lambda: -x)"
    assert dump(reparsed(made)) == dump(made.tree)


def test_the_text_runs_like_the_code(tmp_path: Path) -> None:
    import d2s

    module = load(
        tmp_path,
        """
def f(n):
    # count
    total = 0
    for i in range(n):
        if i == 3:
            continue
        total += i
    return total
""",
    )
    space = {"d2s": d2s}
    exec(conversion_of(module.f).source, space)
    for n in (0, 3, 9):
        assert space["f"](n) == api.convert(module.f)(n) == module.f(n)


def test_the_code_is_compiled_from_the_tree(tmp_path: Path) -> None:
    """Not only its text: the instructions are those of the text, positions aside."""
    made = convert(
        tmp_path,
        """
        def f(n):
            while n > 1:
                n = n // 2
            return n
        """,
    )
    outer = ast.parse(f"def outer():\n    d2s = None\n{textwrap.indent(made.source, '    ')}")
    space = compile(outer, "text", "exec")
    (inner,) = [c for c in space.co_consts[0].co_consts if isinstance(c, types.CodeType)]
    for one, other in zip(code_objects(made.code), code_objects(inner), strict=True):
        assert instructions(one) == instructions(other)


def instructions(code: types.CodeType) -> list[tuple[str, str]]:
    inner = types.CodeType
    found = [i for i in dis.get_instructions(code) if not isinstance(i.argval, inner)]
    return [(i.opname, i.argrepr) for i in found]


# -- comments and docstrings ----------------------------------------------------------------------


def test_comments_stand_at_their_statements(tmp_path: Path) -> None:
    made = convert(
        tmp_path,
        """
        def f(n):  # the head
            # before the first
            a = 1
            b = 2  # at its end
            # before the loop
            while n > 1:
                # in the loop
                n = n // 2
                if n:
                    # in the branch
                    a = n
            # before the return
            return a, b
        """,
    )
    rows = [line.strip() for line in made.source.splitlines()]

    def next_code(comment: str) -> str:
        (at,) = [n for n, row in enumerate(rows) if comment in row]
        if not rows[at].startswith("#"):
            return rows[at].partition("#")[0].strip()
        return next((row for row in rows[at:] if not row.startswith("#")), "")

    assert next_code("# the head") == "def f(n):"
    assert next_code("# before the first") == "a = 1"
    assert next_code("# at its end") == "b = 2"
    assert next_code("# before the loop").startswith("def test_")
    assert next_code("# in the loop") == "n = n // 2"
    assert next_code("# in the branch") in ("a = n", "return n")
    assert next_code("# before the return") == "return a, b"
    assert sum("#" in row for row in rows) == 7


COMMENTED = {
    "what looks like a comment in a string": (
        """
        def f(x):
            y = "# no comment"  # a comment
            return y
        """,
        ["# a comment"],
    ),
    "backslashes": (
        r"""
        def f(x):
            # \1 \g<0> \n
            return x
        """,
        [r"# \1 \g<0> \n"],
    ),
    "under the docstring": (
        '''
        def f(x):
            """Text."""
            # a comment
            return x
        ''',
        ["# a comment"],
    ),
    "in a signature of several lines": (
        """
        def f(
            x,  # the first
            y,  # the second
        ):
            return x
        """,
        ["# the first", "# the second"],
    ),
    "in an expression of several lines": (
        """
        def f(x):
            return [
                x,  # one
                # two
                x + 1,
            ]
        """,
        ["# one", "# two"],
    ),
    "in a method": (
        """
        class A:
            # not this one
            def f(self):
                # a comment
                return 1
            # nor this one
        f = A.f
        """,
        ["# a comment"],
    ),
    "behind a long line": (
        """
        def f(alpha, beta, gamma):
            # one
            x = some_function_with_a_name(alpha, beta, gamma, keyword=alpha * beta + gamma, other=1)
            # two
            return x
        """,
        ["# one", "# two"],
    ),
    "an unusual indentation": (
        """
        def f(x):
          # two
          if x > 0:
                 # many
                 x = 1
        # none
          return x
        """,
        ["# two", "# many", "# none"],
    ),
}


@pytest.mark.parametrize("source, comments", COMMENTED.values(), ids=COMMENTED)
def test_every_comment_is_kept_once(tmp_path: Path, source: str, comments: list[str]) -> None:
    made = convert(tmp_path, source)
    for comment in comments:
        assert made.source.count(comment) == 1, made.source
    assert "not this one" not in made.source
    assert dump(reparsed(made)) == dump(made.tree)


def test_a_docstring_stays_the_first_statement(tmp_path: Path) -> None:
    made = convert(
        tmp_path,
        '''
        def f(x):
            # in front
            """What it does.

            More of it.
            """
            if x > 0:
                x = 1
            return x
        ''',
    )
    tree = reparsed(made)
    assert isinstance(tree, ast.FunctionDef)
    assert ast.get_docstring(tree) == "What it does.\n\nMore of it."


# -- layout ---------------------------------------------------------------------------------------


def test_lines_that_are_too_long_are_broken(tmp_path: Path) -> None:
    made = convert(
        tmp_path,
        """
        def f(alpha, beta, gamma, delta):
            return some_function(alpha + beta, beta + gamma, gamma + delta, [alpha, beta, gamma])
        """,
    )
    assert max(map(len, made.source.splitlines())) <= 100


def test_no_blank_lines(tmp_path: Path) -> None:
    made = convert(tmp_path, "def f(x):\n    a = 1\n\n    if x > 0:\n        a = 2\n    return a\n")
    assert all(made.source.splitlines())


def test_the_samples_stay_short() -> None:
    before = after = 0
    for path in SAMPLES:
        for function in functions_of(load_file(path, path.stem)):
            made = conversion_of(function)
            first, last = made.unit.tree.lineno, made.unit.tree.end_lineno
            before += sum(bool(line.strip()) for line in made.unit.lines[first - 1 : last])
            after += sum(bool(line.strip()) for line in made.source.splitlines())
    assert before > 100
    assert after <= 2.2 * before


# -- positions ------------------------------------------------------------------------------------

PLACED = '''
def other(): pass


def deco(f): return f


class A:
    @deco
    @staticmethod
    def f(xs):
        """Text."""
        total = 0
        for x in xs:
            if x < 0:
                return total
            while x > 1:
                x = (x -
                     1)
            try:
                total += [v for v in [x]][0]
            except (KeyError,
                    ValueError) as e:
                total = lambda: e
        return total if total else None


def after(): pass
'''


def check_places(function: types.FunctionType, made: Conversion) -> None:
    first, last = function.__code__.co_firstlineno, made.unit.tree.end_lineno
    assert last is not None
    for code in code_objects(made.code):
        assert code.co_filename == function.__code__.co_filename
        assert first <= code.co_firstlineno <= last, code.co_qualname
        for line, end_line, column, end_column in code.co_positions():
            if line is not None:
                assert first <= line <= (end_line or line) <= last, code.co_qualname
                if column is not None and end_column is not None and line == end_line:
                    assert column <= end_column <= len(made.unit.lines[line - 1].encode())


def test_positions_are_inside_the_function(tmp_path: Path) -> None:
    module = load(tmp_path, PLACED)
    made = conversion_of(module.A.f)
    assert len(list(code_objects(made.code))) > 8
    check_places(module.A.f, made)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_positions_in_the_samples(path: Path) -> None:
    for function in functions_of(load_file(path, path.stem)):
        check_places(function, conversion_of(function))


def test_inspect_shows_the_text_of_the_user(tmp_path: Path) -> None:
    module = load(tmp_path, PLACED)
    assert inspect.getsource(api.convert(module.A.f)) == inspect.getsource(module.A.f)
    plain, made = module.after.__code__, conversion_of(module.after).code
    assert inspect.getsource(made) == inspect.getsource(plain) == "def after(): pass\n"


def test_every_line_of_the_source_can_hold_a_breakpoint(tmp_path: Path) -> None:
    module = load(tmp_path, PLACED)

    def lines(code: types.CodeType) -> set[int]:
        return {line for c in code_objects(code) for _, _, line in c.co_lines() if line}

    plain = lines(module.A.f.__code__)
    assert plain - lines(conversion_of(module.A.f).code) <= {module.A.f.__code__.co_firstlineno}


def test_tracebacks_show_the_line_of_the_user(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
def f(xs):
    total = 0
    for x in xs:
        if x > 0:
            total += 1 / (
                x - 2)
    return total
""",
    )
    places = []
    for function in (module.f, api.convert(module.f)):
        with pytest.raises(ZeroDivisionError) as caught:
            function([1, 2])
        frames = traceback.extract_tb(caught.value.__traceback__)
        last = [frame for frame in frames if frame.filename == module.__file__][-1]
        places.append((last.lineno, last.line, last.colno, last.end_lineno, last.end_colno))
    assert places[0] == places[1]


def test_qualified_names(tmp_path: Path) -> None:
    module = load(
        tmp_path,
        """
class A:
    def f(self, x):
        if x > 0:
            g = lambda: x
        else:
            g = None
        return g

def outer(y):
    def f(x):
        while x > y:
            x = x - 1
        return x
    return f
""",
    )

    def names(function: types.FunctionType) -> list[str]:
        return [code.co_qualname for code in code_objects(conversion_of(function).code)]

    # a block belongs to its function, by name too
    assert names(module.A.f) == ["A.f", "A.f", "A.f.<locals>.<lambda>", "A.f"]
    assert names(module.outer(1)) == ["outer.<locals>.f"] * 3


def test_a_method_with_a_private_name(tmp_path: Path) -> None:
    """Names with two underscores belong to their class, in converted code too."""
    module = load(
        tmp_path,
        """
class A:
    __secret = 3
    def f(self, x):
        if x > 0:
            x = self.__secret
        return x
""",
    )
    assert module.A().f(1) == 3
    assert api.convert(module.A.f)(module.A(), 1) == 3


def test_conversions_share_no_state(tmp_path: Path) -> None:
    """The text of one does not change when another is made or run."""
    module = load(tmp_path, "def f(x):\n    # note\n    return g(x)\n\ndef g(x):\n    return x\n")
    text = "def f(x):\n    # note\n    return d2s.fn(g)(x)"
    assert conversion_of(module.f).source == text
    conversion.converted(module.f)(1)
    assert conversion_of(module.f).source == text
