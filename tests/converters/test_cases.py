"""What every kind of syntax becomes; the format of the files is told in `cases/README.md`.

Trees are compared, not text: the text differs between versions of Python.
"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import gast
import pytest

from d2s.analysis.nodes import Switch
from d2s.analysis.scopes import FUNCTIONS, functions_in_class, runs_later
from d2s.converters.base import Converter
from d2s.errors import ConversionError
from d2s.pipeline import PASSES, example, run
from d2s.source.parser import Unit

FOLDER = Path(__file__).parent / "cases"
CONVERTERS = [converter for group in PASSES for converter in group]
MODULES = {converter.__module__.rpartition(".")[2]: converter for converter in CONVERTERS}


@dataclass(frozen=True)
class Case:
    id: str
    until: str
    source: str
    output: str
    error: str


def read(path: Path) -> Iterator[Case]:
    head, *cases = re.split(r"(?m)^# case: ", path.read_text(encoding="utf-8"))
    assert not head.strip(), f"{path.name} does not start with a case"
    for text in cases:
        title, _, rest = text.partition("\n")
        option = re.match(r"# until: (\w+)\n", rest)
        rest = rest[option.end() :] if option else rest
        source, marker, expected = re.split(r"(?m)^# (output|error)$", f"{rest}\n# output\n")[:3]
        is_error = marker == "error"
        yield Case(
            id=f"{path.stem}: {title.strip()}",
            until=option[1] if option else "",
            source=source.strip() + "\n",
            output="" if is_error else expected.strip() or source.strip(),
            error=re.sub(r"(?m)^# ?", "", expected.strip()) if is_error else "",
        )


CASES = [case for path in sorted(FOLDER.glob("*.py")) for case in read(path)]
by_id = pytest.mark.parametrize("case", CASES, ids=[case.id for case in CASES])


def tree(text: str) -> str:
    return ast.dump(ast.parse(text), indent=1)


def converted(source: str, until: str = "") -> gast.AST:
    """The tree of a snippet after the group of a converter ran."""
    lines = tuple(source.splitlines(keepends=True))
    node = gast.ast_to_gast(ast.parse(source)).body[0]
    return run(Unit(node, node.name, "example.py", lines, ()), {}, until)[0]


def node_classes(root: gast.AST) -> set[type[gast.AST]]:
    """The classes of nodes in code that is converted, as far as the user wrote it."""
    found: set[type[gast.AST]] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if not is_epilogue(node):
            found.add(type(node))
        if isinstance(node, gast.ClassDef):
            stack += functions_in_class(node)
        elif not (isinstance(node, FUNCTIONS) and runs_later(node)):
            stack += gast.iter_child_nodes(node)
    return found


def is_epilogue(node: gast.AST) -> bool:
    """The native `try` that ends a handler: it unbinds the handler's name however that ends."""
    if not isinstance(node, gast.Try) or node.handlers or len(node.finalbody) != 1:
        return False
    callee = getattr(getattr(node.finalbody[0], "value", None), "func", None)
    generated = getattr(getattr(callee, "value", None), "generated", False)
    return generated and callee.attr == "unbound"


@by_id
def test_case(case: Case) -> None:
    if case.error:
        with pytest.raises(ConversionError) as caught:
            example(case.source, case.until)
        assert str(caught.value) == case.error
    else:
        assert tree(example(case.source, case.until)) == tree(case.output)


@by_id
def test_the_whole_output_compiles(case: Case) -> None:
    if not case.error:
        compile(example(case.source), "output", "exec")


@by_id
def test_what_a_converter_removes_is_gone(case: Case) -> None:
    if case.error:
        return
    for converter in CONVERTERS:
        left = node_classes(converted(case.source, until=converter.__name__))
        assert left.isdisjoint(converter.removes), converter.__name__


@pytest.mark.parametrize("converter", CONVERTERS, ids=lambda converter: converter.__name__)
def test_some_case_has_what_a_converter_removes(converter: type[Converter]) -> None:
    inputs = [{type(n) for n in gast.walk(gast.parse(case.source))} for case in CASES]
    inputs += [{Switch} for case in CASES if "d2s.switch(" in case.output]
    if converter.removes:
        assert any(not classes.isdisjoint(converter.removes) for classes in inputs)


def test_every_converter_has_its_cases() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == set(MODULES)
    assert len({case.id for case in CASES}) == len(CASES)


@pytest.mark.parametrize("module", MODULES)
def test_every_converter_has_both_kinds_of_cases(module: str) -> None:
    own = [case for case in CASES if case.id.startswith(f"{module}: ")]
    changed = [case for case in own if case.error or tree(case.source) != tree(case.output)]
    assert 4 <= len(own)
    assert 0 < len(changed) < len(own)


# -- the reader itself ----------------------------------------------------------------------------


def test_reader(tmp_path: Path) -> None:
    file = tmp_path / "kind.py"
    file.write_text(
        "# case: one\n\na = 1\n\n# output\n\na = 2\n\n"
        "# case: two\n# until: Exits\n\nb = 1\n# output of b\n\n"
        "# case: three\nc = 1\n# error\n# Stop\n#   here\n"
    )
    assert list(read(file)) == [
        Case("kind: one", "", "a = 1\n", "a = 2", ""),
        Case("kind: two", "Exits", "b = 1\n# output of b\n", "b = 1\n# output of b", ""),
        Case("kind: three", "", "c = 1\n", "", "Stop\n  here"),
    ]


# -- what no single case shows --------------------------------------------------------------------


def depth(node: gast.AST) -> int:
    return isinstance(node, gast.If | gast.FunctionDef) + max(
        map(depth, gast.iter_child_nodes(node)), default=0
    )


@pytest.mark.parametrize("in_loop", [False, True])
def test_many_early_exits_stay_flat(in_loop: bool) -> None:
    def source(count: int) -> str:
        pad = "        " if in_loop else "    "
        tests = "".join(f"{pad}if x > {n}:\n{pad}    return {n}\n" for n in range(count))
        loop = "    for x in xs:\n" if in_loop else "    x = xs\n"
        return f"def f(xs):\n{loop}{tests}    return -1\n"

    assert depth(converted(source(99))) == depth(converted(source(30))) < 25
    assert depth(converted(source(3))) < depth(converted(source(6)))


@pytest.mark.parametrize("count", [1, 7, 8, 9, 10, 20])
@pytest.mark.parametrize("in_loop", [False, True])
def test_flat_or_nested_early_exits_take_the_same_way(count: int, in_loop: bool) -> None:
    """The text of the function before and after `Exits` is run as plain Python."""
    head = "    for x in [x]:\n" if in_loop else "    if True is not None:\n"
    tests = "".join(
        f"        x += 1\n        if x == {n * 10}:\n            return {n}\n" for n in range(count)
    )
    source = f"def f(x):\n{head}{tests}        x += 100\n    return x\n"
    after = example(source, until="Exits")
    for x in (-5, -1, *range(count * 10 + 3)):
        plain, rewritten = run_text(source, x), run_text(after, x)
        assert plain == rewritten


def run_text(source: str, *args: object) -> object:
    import d2s

    space: dict[str, object] = {"d2s": d2s}
    exec(compile(source, "text", "exec"), space)
    return space["f"](*args)
