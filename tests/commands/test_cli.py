"""The command, end to end."""

from __future__ import annotations

import os
import pty
import re
import shlex
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import d2s
from d2s.cli import COMMANDS, EXAMPLES, main
from d2s.modules.rewrite import rewrite

from ..patience import HANG
from .written import imported

ROOT = Path(__file__).resolve().parents[2]
MODEL = (
    "import d2s\n\n\n@d2s.to_static\ndef f(x):\n    return x or 1\n\n\ndef g(x):\n"
    "    return x or 2\n"
)
NEW = rewrite(MODEL).text


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    return tmp_path


def d2s_command(*arguments, cwd, **options):
    """The command in a process of its own."""
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    return subprocess.run(
        [sys.executable, "-m", "d2s", *arguments],
        cwd=cwd,
        env=environment,
        capture_output=True,
        timeout=HANG,
        **options,
    )


# -- what it writes -------------------------------------------------------------------------------


def test_a_file_is_printed(here):
    done = d2s_command("convert", "model.py", cwd=here)
    assert (done.returncode, done.stdout, done.stderr) == (0, NEW.encode(), b"")
    assert (here / "model.py").read_text() == MODEL


def test_the_entry_point_is_declared():
    text = (ROOT / "pyproject.toml").read_text()
    assert '[project.scripts]\nd2s = "d2s.cli:main"\n' in text


def test_a_file_to_a_file(here, capsysbinary):
    (here / "model.py").chmod(0o750)
    assert main(["convert", "model.py", "-o", "sub/out.py"]) == 0
    assert (here / "sub/out.py").read_text() == NEW
    assert stat.S_IMODE((here / "sub/out.py").stat().st_mode) == 0o750
    assert os.listdir(here / "sub") == ["out.py"]
    assert capsysbinary.readouterr() == (b"", b"")


def test_a_file_to_a_folder(here):
    (here / "out").mkdir()
    assert main(["convert", "model.py", "-o", "out"]) == 0
    assert main(["convert", "model.py", "-o", "new/"]) == 0
    assert (here / "out/model.py").read_text() == (here / "new/model.py").read_text() == NEW


def test_in_place(here):
    (here / "link.py").symlink_to("model.py")
    assert main(["convert", "model.py", "-o", "link.py"]) == 0
    assert (here / "link.py").is_symlink()
    assert (here / "model.py").read_text() == NEW
    assert main(["convert", "model.py", "-o", "model.py"]) == 0
    assert (here / "model.py").read_text() == NEW


def test_bytes_are_kept(here, capsysbinary):
    data = b"\xef\xbb\xbf# \xc3\xa9\r\n" + MODEL.replace("\n", "\r\n").encode()
    (here / "model.py").write_bytes(data)
    assert main(["convert", "model.py"]) == 0
    out = capsysbinary.readouterr().out
    assert out == b"\xef\xbb\xbf# \xc3\xa9\r\n" + NEW.replace("\n", "\r\n").encode()


def test_another_encoding(here, capsysbinary):
    head = b"# coding: latin-1\nimport d2s\nx = '\xe9'\n@d2s.to_static\n"
    body = b"def f(x):\n    return x or '\xe9 \\u20ac \\\\'  # \xe9\n"
    (here / "model.py").write_bytes(head + body)
    assert main(["convert", "model.py", "-o", "out.py"]) == 0
    assert (here / "out.py").read_bytes().startswith(head)
    assert imported(here / "out.py").f.original(0) == "é € \\"


def tree(folder):
    for name in (
        "a.py",
        "sub/b.py",
        "sub/deep/c.py",
        ".hidden/x.py",
        "__pycache__/y.py",
        "env/z.py",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(MODEL)
    (folder / "env/pyvenv.cfg").write_text("")
    (folder / "sub/plain.py").write_text("x = 1\r\n")
    (folder / "sub/data.txt").write_text("data")


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def test_a_folder(here, capsys):
    tree(here / "package")
    assert main(["convert", "package", "-o", "out"]) == 0
    assert files(here / "out") == ["a.py", "sub/b.py", "sub/deep/c.py", "sub/plain.py"]
    assert (here / "out/sub/deep/c.py").read_text() == NEW
    assert (here / "out/sub/plain.py").read_bytes() == b"x = 1\n" or os.linesep == "\n"
    assert capsys.readouterr() == (
        "",
        "d2s: 3 functions converted in 3 of 4 Python files, written to out; "
        "not copied: 1 other files\n",
    )


def test_a_folder_again_and_into_itself(here):
    tree(here / "package")
    for _ in range(2):
        assert main(["convert", "package", "-o", "package/out"]) == 0
    assert "out/out/a.py" not in files(here / "package")
    assert main(["convert", "package", "-o", "package"]) == 0
    assert (here / "package/a.py").read_text() == NEW


def test_several(here):
    tree(here / "package")
    assert main(["convert", "package", "model.py", "-o", "out"]) == 0
    assert files(here / "out")[:2] == ["model.py", "package/a.py"]


def test_a_diff(here, capsysbinary):
    (here / "model.py").write_text(MODEL.rstrip())
    assert main(["convert", "model.py", "--diff", "--all"]) == 0
    out = capsysbinary.readouterr().out
    assert out.startswith(b"--- model.py\n+++ model.py\n@@ ")
    assert b"\n-    return x or 2\n\\ No newline at end of file\n" in out
    assert os.listdir(here) == ["model.py"]
    if shutil.which("patch"):
        subprocess.run(["patch", "-s", "model.py"], input=out, cwd=here, check=True)
        text = (here / "model.py").read_text()
        assert text == rewrite(MODEL.rstrip(), everything=True).text


def test_functions_by_name(here, capsys):
    assert main(["convert", "model.py", "--function", "g", "--function", "f"]) == 0
    assert capsys.readouterr().out.count("generated") == 2


def test_what_is_left_is_named(here, capsys):
    (here / "model.py").write_text(MODEL + "def h():\n    yield 1\n")
    assert main(["convert", "model.py", "--all"]) == 0
    out, error = capsys.readouterr()
    assert error == "d2s: model.py:11: h is left as it is: it is a generator\n"
    assert out.endswith("def h():\n    yield 1\n")


def test_converted_before(here, capsys):
    (here / "model.py").write_text(NEW)
    assert main(["convert", "model.py"]) == 0
    assert capsys.readouterr() == (NEW, "")


def test_no_user_module_is_imported(here):
    for name in ("os_of_mine", "model"):
        (here / f"{name}.py").write_text(
            "import os_of_mine\n" * (name == "model") + MODEL + "1 / 0\n"
        )
    assert d2s_command("convert", "model.py", cwd=here).returncode == 0


# -- mistakes -------------------------------------------------------------------------------------

MISTAKES = {
    "a missing file": (["none.py"], "none.py: no such file or folder"),
    "a syntax error": (["syntax.py"], "syntax.py:2: syntax error: .+"),
    "indentation": (["indent.py"], "indent.py:3: syntax error: .+"),
    "a null byte": (["null.py"], "null.py: syntax error: .*null.*"),
    "too deep": (["deep.py"], "deep.py(:1)?: syntax error: .+"),
    "not utf-8": (["binary.py"], "binary.py:3: not utf-8 text; .+"),
    "an unknown encoding": (["cookie.py"], "cookie.py: syntax error: .+"),
    "no text encoding": (["hex.py"], "hex.py:1: .+"),
    "an unknown function": (
        ["model.py", "--function", "ff"],
        r"model.py: no function ff; did you mean f\?",
    ),
    "unsupported syntax": (["eval.py"], "eval.py:5: D2S003: `eval\\(\\)` .+"),
    "a generator": (
        ["generator.py"],
        "generator.py:3: D2S003: f cannot be converted: it is a generator.+",
    ),
    "a folder in the way": (["model.py", "-o", "model.py/x"], "model.py: .+"),
    "a file in the way": (["folder", "-o", "model.py"], "model.py: not a folder, .+"),
    "no python file": (["empty", "-o", "out"], "empty: no Python file in this folder"),
    "a folder without -o": (["folder"], "folder: -o is missing: .+"),
    "files without -o": (["model.py", "plain.py"], "plain.py: -o is missing: .+"),
    "nothing decorated": (["plain.py"], "plain.py: nothing to convert: .+"),
    "nothing at all": (["nothing.py", "--all"], "nothing.py: nothing to convert: .+"),
    "nothing that can be": (
        ["generator.py", "--all"],
        "generator.py: nothing to convert: .+; f is left as it is: it is a generator",
    ),
    "over its input": (["model.py", "-o", "."], "model.py: would be overwritten; .+"),
    "twice": (["model.py", "folder/model.py", "-o", "out"], ".+ goes to the same place"),
    "a diff to a file": (["model.py", "--diff", "-o", "x"], "--diff writes nothing: leave -o out"),
    "both": (["model.py", "--all", "--function", "f"], ".+ not allowed with .+"),
    "no file": ([], "the following arguments are required: .+"),
    "an unknown option": (["model.py", "--what"], "unrecognized arguments: --what .+"),
    "an error in a folder": (["broken", "-o", "out"], "broken/b.py:1: syntax error: .+"),
}


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory):
    here = tmp_path_factory.mktemp("mistakes")
    (here / "model.py").write_text(MODEL)
    (here / "plain.py").write_text("def f(x): return x\n")
    (here / "nothing.py").write_text("x = 1\n")
    (here / "syntax.py").write_text("x = 1\ndef f(:\n")
    (here / "indent.py").write_text("if x:\n    y\n  z\n")
    (here / "null.py").write_bytes(b"x = 1\0\n")
    (here / "deep.py").write_text("(" * 9000 + ")" * 9000)
    (here / "binary.py").write_bytes(b"x\ny\nz = '\xff'\n")
    (here / "cookie.py").write_text("# coding: nonsense\n")
    (here / "hex.py").write_text("# coding: hex\n")
    (here / "eval.py").write_text(
        "import d2s\n@d2s.to_static\ndef f(x):\n    x += 1\n    return eval('x')\n"
    )
    (here / "generator.py").write_text("import d2s\n@d2s.to_static\ndef f(x):\n    yield x\n")
    (here / "empty").mkdir()
    (here / "folder").mkdir()
    (here / "folder/model.py").write_text(MODEL)
    (here / "broken").mkdir()
    (here / "broken/a.py").write_text(MODEL)
    (here / "broken/b.py").write_text("x = \n")
    return here


@pytest.mark.parametrize("arguments, expected", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line(arguments, expected, mistakes):
    before = files(mistakes)
    done = d2s_command("convert", *arguments, cwd=mistakes)
    text = done.stderr.decode()
    assert done.returncode == 2, text
    assert done.stdout == b""
    assert re.fullmatch(f"d2s: {expected}\n", text), text
    assert files(mistakes) == before


def test_no_command(here):
    done = d2s_command(cwd=here)
    assert done.returncode == 2
    assert done.stderr == b"d2s: the following arguments are required: COMMAND (see d2s --help)\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is refused to root")
def test_an_output_that_cannot_be_written(here, capsys):
    (here / "out").mkdir(mode=0o500)
    assert main(["convert", "model.py", "-o", "out/x.py"]) == 2
    assert capsys.readouterr().err == "d2s: out/x.py: Permission denied\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no full device here")
def test_a_full_disk(here):
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "d2s", "convert", "model.py"],
            cwd=here,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=full,
            stderr=subprocess.PIPE,
            check=False,
        )
    assert (done.returncode, done.stderr) == (2, b"d2s: standard output: No space left on device\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_closed_pipe(here, unbuffered):
    (here / "model.py").write_text(MODEL + "# much\n" * 100_000)
    command = subprocess.Popen(
        [sys.executable, "-m", "d2s", "convert", "model.py"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    command.stdout.readline()
    command.stdout.close()
    assert command.stderr.read() == b""
    assert command.wait() == 141
    command.stderr.close()


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_long_file_is_printed_whole(here, unbuffered):
    (here / "model.py").write_text(MODEL + "# much\n" * 100_000)
    shown = subprocess.run(
        f"{sys.executable} -m d2s convert model.py | (sleep 0.2; wc -c)",
        shell=True,
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered},
        capture_output=True,
        check=True,
    )
    assert int(shown.stdout) == len(NEW) + 700_000


class Saved:
    """An object for the examples that run a file."""

    def __call__(self, x):
        return x + 1

    def step(self, x):
        return x + 2


# -- what people see ------------------------------------------------------------------------------


@pytest.mark.parametrize("command", [None, *COMMANDS], ids=lambda c: c and c.__name__)
def test_help_shows_examples_that_work(here, capsys, monkeypatch, command):
    name = [command.__name__.rpartition(".")[2]] if command else []
    with pytest.raises(SystemExit) as caught:
        main([*name, "--help"])
    assert caught.value.code == 0
    examples = command.EXAMPLES if command else EXAMPLES
    assert examples.splitlines()[-1] in capsys.readouterr().out
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "model", raising=False)
    text = MODEL.replace("x or 1", "x if jnp.sum(x) > 1 else -x")
    text = f"import jax.numpy as jnp\n{text}class Net:\n    def step(self): return 1\n"
    (here / "model.py").write_text(text)
    (here / "package").mkdir()
    (here / "package/a.py").write_text(MODEL)
    np.save("x.npy", np.ones(3, np.float32))
    d2s.save(Saved(), "model.d2s", methods={"__call__": ["f32[b]"], "step": ["f32[b]"]})
    lines = re.findall(r"^  d2s (.*?)(?:  .*)?$", examples, re.MULTILINE)
    assert len(lines) > 1
    for line in lines:
        assert main(shlex.split(line)) == 0, line


def test_the_version(capsys):
    with pytest.raises(SystemExit):
        main(["--version"])
    assert re.fullmatch(r"d2s \d+\.\d+\.\d+\n", capsys.readouterr().out)


def test_a_bar_on_a_terminal_only(here):
    tree(here / "package")
    parent, child = pty.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "d2s", "convert", "package", "-o", "out"],
        cwd=here,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "70"},
        stdout=subprocess.PIPE,
        stderr=child,
        check=False,
    )
    os.close(child)
    shown = os.read(parent, 100_000).decode()
    os.close(parent)
    assert done.returncode == 0
    assert "[############            ] 2/4 package/sub/deep/c.py" in shown
    assert shown.rstrip().endswith("not copied: 1 other files")
