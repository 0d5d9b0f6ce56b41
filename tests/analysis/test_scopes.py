"""Names of a function, held against Python's own `symtable`."""

import symtable
import textwrap

import gast
import pytest

from d2s.analysis import Scopes
from d2s.analysis.scopes import own_nodes

SOURCES = {
    "parameters": "def f(a, /, b, *c, d=1, **e): return a",
    "assignments": """
        def f(x):
            a = b = 1
            c, (d, *e) = x
            g: int = 2
            h: int
            [i, j] = x
            a += 1
        """,
    "objects are no names": """
        def f(x):
            x.a = 1
            x[b] = 2
            x.c[d].e += 3
        """,
    "loops": """
        def f(xs):
            for i, (j, *k) in xs:
                while k:
                    m = i
            for xs[n] in xs:
                pass
        """,
    "handlers": """
        def f(x):
            try:
                a = 1
            except (b, c) as e:
                d = e
            except ValueError:
                pass
            else:
                g = 1
        """,
    "comprehensions": """
        def f(xs, k):
            a = [x + k for x in xs if x]
            b = {x: y for x, y in a for z in y}
            return {w for w in b}, (v for v in xs)
        """,
    "nested comprehensions": "def f(m, n): return [[n * x for x in row] for row in m]",
    "inner functions": """
        def f(x):
            y = 1
            def g(z=x, *, k=y):
                w = y
                return z + w + free
            return g
        """,
    "lambdas": "def f(x, y=0): return lambda a, b=x: a + b + y + free",
    "nonlocal": """
        def f(x):
            n = 0
            def g():
                nonlocal n
                n += x
                m = n
                return m
            return g
        """,
    "nonlocal of the function around the function around": """
        def f(x):
            def g():
                def h():
                    nonlocal x
                    x = 1
                return h
            return g
        """,
    "global": """
        def f(x):
            global G
            G = x
            def g():
                return G
            return g
        """,
    "a parameter hides a local": """
        def f(x):
            def g(x):
                x = 1
                return x
            return g(x)
        """,
    "recursion": """
        def f(x):
            def g(n):
                return g(n - 1) if n else f(n)
            return g
        """,
    "decorators and annotations": """
        def f(x, deco):
            @deco(x)
            def g(a: x, b: "y" = 1) -> x:
                return a
            return g
        """,
    "functions inside branches": """
        def f(c):
            if c:
                def g(): return h()
            else:
                g = lambda: c
            h = 1
            return g
        """,
    "a comprehension inside a lambda": "def f(x): return lambda y: [x + y + z for z in y]",
    "the default of a lambda in a comprehension": "def f(xs): return [lambda x=x: x for x in xs]",
    "unicode": "def f(α): ß = α; return ß",
}
every_source = pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)


def functions(source: str) -> list[tuple[gast.AST, symtable.Function]]:
    """Every function and lambda of a source with its table."""
    text = textwrap.dedent(source).strip()
    nodes = [
        node
        for node in gast.walk(gast.parse(text))
        if isinstance(node, gast.FunctionDef | gast.Lambda)
    ]
    tables = [t for t in every_table(symtable.symtable(text, "text", "exec")) if is_function(t)]
    assert len(nodes) == len(tables) > 0

    def key(name: str, line: int) -> tuple[int, str]:
        return line, name

    nodes.sort(key=lambda node: key(getattr(node, "name", "lambda"), node.lineno))
    tables.sort(key=lambda table: key(table.get_name(), table.get_lineno()))
    return list(zip(nodes, tables, strict=True))


def every_table(table: symtable.SymbolTable) -> list[symtable.SymbolTable]:
    return [table, *(t for child in table.get_children() for t in every_table(child))]


def is_function(table: symtable.SymbolTable) -> bool:
    scope = ("genexpr", "listcomp", "setcomp", "dictcomp", "__annotate__", "<")
    return table.get_type() == "function" and not table.get_name().startswith(scope)


def own_locals(node: gast.AST, table: symtable.Function) -> set[str]:
    """Locals without those of comprehensions, which newer versions of Python put in here."""
    targets = {
        name.id
        for part in gast.walk(node)
        if isinstance(part, gast.comprehension)
        for name in gast.walk(part.target)
        if isinstance(name, gast.Name)
    }
    names = {s.get_name() for s in table.get_symbols() if s.is_local()}
    return names - targets | set(table.get_parameters())


@every_source
def test_locals_are_pythons(source: str) -> None:
    for node, table in functions(source):
        assert Scopes().local_names(node) == own_locals(node, table)


@every_source
def test_parameters_are_pythons(source: str) -> None:
    for node, table in functions(source):
        assert set(Scopes().parameters(node)) == set(table.get_parameters())


@every_source
def test_free_names_are_pythons(source: str) -> None:
    """Free in Python's sense, or global: what the function takes from around it."""
    for node, table in functions(source):
        inner = every_table(table)
        free = set(table.get_frees())
        for one in inner:
            free |= {s.get_name() for s in one.get_symbols() if s.is_global() and s.is_referenced()}
        declared = {s.get_name() for s in table.get_symbols() if s.is_declared_global()}
        assert Scopes().free_names(node) == free - declared


@every_source
def test_captured_names_are_pythons_cells(source: str) -> None:
    """Cells of the outermost function: names that inner functions read or rebind."""
    node, table = next(pair for pair in functions(source) if pair[1].get_name() == "f")
    scopes = Scopes()
    captured = scopes.uses(node.body).captured & scopes.local_names(node)
    assert captured == late_names(table) & own_locals(node, table)


def late_names(table: symtable.SymbolTable) -> set[str]:
    """Free names of inner functions; a list, set or dict comprehension is none, it runs at once."""
    names: set[str] = set()
    for child in table.get_children():
        if child.get_name() in ("listcomp", "setcomp", "dictcomp"):
            names |= late_names(child)
        else:
            inner = [s for t in every_table(child) for s in t.get_symbols()]
            names |= {s.get_name() for s in inner if s.is_free()}
    return names


def test_uses_of_statements() -> None:
    def uses(text: str) -> str:
        found = Scopes().uses(gast.parse(text).body)
        parts = (found.reads, found.writes, found.captured)
        return " | ".join(" ".join(sorted(part)) for part in parts)

    assert uses("a = b") == "b | a | "
    assert uses("a += b") == "a b | a | "
    assert uses("a[i] += b") == "a b i |  | "
    assert uses("for a in b: c = a") == "a b | a c | "
    assert uses("if a: b = 1") == "a | b | "
    assert uses("try:\n a = 1\nexcept b as c: d = c") == "b c | a c d | "
    assert uses("[x + y for x in z]") == "y z |  | "
    assert uses("(x + y for x in z)") == "z |  | y"
    assert uses("f = lambda a=b: a + c") == "b | f | c"
    assert uses("def f(a=b):\n nonlocal d\n d = e") == "b | f | d e"


def test_own_nodes_leave_out_inner_functions() -> None:
    body = gast.parse("a = 1\ndef g():\n    b = 2\nc = [lambda: d for e in f]").body
    names = {node.id for node in own_nodes(body) if isinstance(node, gast.Name)}
    assert names == {"a", "c", "e", "f"}
