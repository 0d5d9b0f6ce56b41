"""The frame of the project: links, packages, who imports what, and the checks themselves."""

import ast
import fnmatch
import os
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "d2s"
LINKS = ("converters", "backends")
CI = Path(".ci", "run")


def modules() -> list[Path]:
    """All modules of d2s; asks for some, so that no test below passes on an empty list."""
    found = sorted(PACKAGE.rglob("*.py"))
    assert found, "d2s/ holds no module"
    return found


def imported(source: str) -> Iterator[tuple[int, str]]:
    """Line and absolute name of everything a module imports, by statement or by call.

    `from a import b` gives `a.b`: whether `b` is a module makes no difference here.
    Relative imports stay inside d2s and are left out.
    """
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Import(names=names):
                yield from ((node.lineno, alias.name) for alias in names)
            case ast.ImportFrom(module=str(module), names=names, level=0):
                yield from ((node.lineno, f"{module}.{alias.name}") for alias in names)
            case ast.Call(
                func=ast.Name(id="__import__" | "import_module")
                | ast.Attribute(attr="__import__" | "import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                yield node.lineno, name


def imports_of(*tops: str) -> list[tuple[Path, str]]:
    """Module (relative to d2s/) and `line: name` of each import from the given top-level names."""
    return [
        (path.relative_to(PACKAGE), f"{path.relative_to(ROOT)}:{line}: {name}")
        for path in modules()
        for line, name in imported(path.read_text(encoding="utf-8"))
        if name.split(".")[0] in tops
    ]


def pyproject() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("source", "names"),
    [
        pytest.param("import jax", ["jax"], id="import"),
        pytest.param("import jax.numpy as jnp, os", ["jax.numpy", "os"], id="several"),
        pytest.param("from jax import lax", ["jax.lax"], id="from"),
        pytest.param("def f():\n    import jax", ["jax"], id="inside a function"),
        pytest.param("import_module('jax')", ["jax"], id="import_module"),
        pytest.param("importlib.import_module('jax.lax')", ["jax.lax"], id="importlib"),
        pytest.param("__import__('jax')", ["jax"], id="__import__"),
        pytest.param("from . import jax", [], id="relative is not jax"),
        pytest.param("from .jax import lax", [], id="relative module is not jax"),
        pytest.param("'import jax'", [], id="text is not an import"),
    ],
)
def test_imported_sees_every_form(source, names):
    assert [name for _, name in imported(source)] == names


@pytest.mark.parametrize("name", LINKS)
def test_link_leads_to_the_real_folder(name):
    link = ROOT / name
    assert link.is_symlink()
    assert Path(os.readlink(link)) == Path("d2s", name)
    assert link.is_dir()
    assert not (PACKAGE / name).is_symlink()
    assert link.resolve() == PACKAGE / name


@pytest.mark.parametrize("name", LINKS)
def test_link_is_not_a_package(name):
    tool = pyproject()["tool"]["setuptools"]
    include = tool["packages"]["find"]["include"]

    def included(package):
        return any(fnmatch.fnmatchcase(package, pattern) for pattern in include)

    assert tool.keys() == {"packages", "package-data"}
    assert included("d2s")
    assert included(f"d2s.{name}")
    assert not included(name)
    assert not included(f"{name}.anything")


def test_every_folder_of_modules_is_a_package():
    folders = {path.parent for path in modules()}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_package_is_typed():
    assert (PACKAGE / "py.typed").is_file()


def test_nothing_imports_through_the_links():
    assert [where for _, where in imports_of(*LINKS)] == []


@pytest.mark.parametrize("name", LINKS)
def test_lint_rule_bans_the_links(name):
    lint = pyproject()["tool"]["ruff"]["lint"]
    assert "TID251" in lint["select"]
    assert name in lint["flake8-tidy-imports"]["banned-api"]


def test_only_the_lax_backend_imports_jax():
    def is_lax(module):
        return module.parts[0] == "backends" and module.parts[1].startswith("lax")

    found = imports_of("jax", "jaxlib")
    assert any(is_lax(module) for module, _ in found), "d2s/backends/lax does not import jax"
    assert [where for module, where in found if not is_lax(module)] == []


def test_contributing_is_short():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) < 45


def print_test_command(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([root / CI, "--print-test-command"], capture_output=True, text=True)


def test_ci_runs_the_command_of_the_readme():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^<!-- test-command -->\n```\w*\n(.*)\n```$", readme, re.MULTILINE)
    assert len(blocks) == 1
    assert "pytest" in blocks[0]

    result = print_test_command(ROOT)
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{blocks[0]}\n", "")


@pytest.mark.parametrize(
    ("readme", "command"),
    [
        pytest.param("<!-- test-command -->\n```sh\nmake x\n```\n", "make x", id="marked"),
        pytest.param(
            "```sh\na\n```\n<!-- test-command -->\n```\nb 'c d'\n```\n```sh\ne\n```\n",
            "b 'c d'",
            id="only the marked block",
        ),
        pytest.param("```sh\nmake x\n```\n", None, id="no marker"),
        pytest.param("<!-- test-command -->\n\n```sh\na\n```\n", None, id="marker not adjacent"),
        pytest.param("<!-- test-command -->\n```sh\na\nb\n```\n", None, id="two lines"),
        pytest.param("<!-- test-command -->\n```sh\n```\n", None, id="empty"),
        pytest.param("<!-- test-command -->\n```sh\na\n", None, id="not closed"),
    ],
)
def test_ci_extracts_the_marked_line(tmp_path, readme, command):
    script = tmp_path / CI
    script.parent.mkdir()
    shutil.copy(ROOT / CI, script)
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")

    result = print_test_command(tmp_path)
    if command is None:
        assert result.returncode != 0
        assert result.stdout == ""
        assert "test-command" in result.stderr
    else:
        assert (result.returncode, result.stdout) == (0, f"{command}\n")


def test_no_test_is_between_the_tiers():
    """pytest leaves out what `.ci/run` asks for by name, and nobody asks for less than that."""
    options = pyproject()["tool"]["pytest"]["ini_options"]
    assert re.findall(r"-m '(.*?)'|(-k|--ignore|--deselect)", options["addopts"]) == [
        ("not full", "")
    ]
    script = (ROOT / CI).read_text(encoding="utf-8")
    assert re.findall(r"pytest (.*?)'", script) == ["-n 2 -m full"]
    assert script.count("bash -euo pipefail -c ") == 2  # the command of the README, and this one
    assert print_test_command(ROOT).stdout.endswith("pytest -n 2\n")


@pytest.mark.parametrize(
    ("endings", "line"),
    [
        pytest.param(["7 passed in 1.2s", "3 passed in 0.1s"], "10 passed, 0 failed, 0 skipped"),
        pytest.param(
            [
                "1 failed, 2 passed, 3 skipped in 9s",
                "4 passed, 1 skipped, 2 errors in 61.00s (0:01:01)",
            ],
            "6 passed, 3 failed, 4 skipped",
        ),
        pytest.param(["7 passed in 1.2s", "no module named pytest"], None),
        pytest.param(["7 passed in 1.2s", "no tests ran in 0.01s"], None),
    ],
)
def test_ci_sums_up_the_tiers(tmp_path, endings, line):
    for number, ending in enumerate(endings):
        (tmp_path / f"{number}").write_text(f"[100%]\n{ending}\n", encoding="utf-8")
    logs = sorted(tmp_path.iterdir())
    done = subprocess.run([ROOT / CI, "--sum-up", *logs], capture_output=True, text=True)
    assert done.stdout == ("" if line is None else f"{line}\n")
    assert (done.returncode == 0) == (line is not None)
