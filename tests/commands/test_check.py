"""`d2s check`, `d2s convert --check` and `d2s explain CODE`."""

from __future__ import annotations

import json

import pytest

from d2s.cli import main
from d2s.errors import CODES

GOOD = "import d2s\n\n\n@d2s.to_static\ndef f(x):\n    return x or 1\n"
BAD = (
    "import d2s\n\n\n@d2s.to_static\ndef f(x):\n    return x or 1\n\n\ndef g(x):\n"
    "    return locals()\n\n\ndef h(x):\n    yield x\n"
)


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "bad.py").write_text(BAD)
    return tmp_path


def test_everything_converts(here, capsys):
    assert main(["check", "good.py"]) == 0
    out, err = capsys.readouterr()
    assert out == "1 function would be converted, 0 refused, 0 run as they are, in 1 file\n"
    assert err == ""


def test_a_refused_function(here, capsys):
    assert main(["check", "."]) == 1
    first, last = capsys.readouterr().out.splitlines()
    assert first == (
        "bad.py:10:12: D2S003: g: `locals()` shows names of a frame that conversion splits; "
        "write instead: the names themselves"
    )
    assert last == "2 functions would be converted, 1 refused, 1 run as they are, in 2 files"


def test_only_decorated_functions(here, capsys):
    assert main(["check", "bad.py", "--decorated"]) == 0
    assert "1 function would" in capsys.readouterr().out
    (here / "bad.py").write_text(BAD.replace("x or 1", "locals()"))
    assert main(["check", "bad.py", "--decorated"]) == 1


def test_what_runs_as_it_is(here, capsys):
    assert main(["check", "bad.py", "--verbose"]) == 1
    assert "bad.py:13: h runs as it is: it is a generator\n" in capsys.readouterr().out


def test_as_data(here, capsys):
    assert main(["check", "bad.py", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["converts"] == 1
    (refused,) = found["refused"]
    assert (refused["path"], refused["line"], refused["column"]) == ("bad.py", 10, 12)
    assert (refused["function"], refused["code"]) == ("g", "D2S003")
    assert main(["check", "good.py", "--json"]) == 0
    capsys.readouterr()
    (here / "broken.py").write_text("def f(:\n")
    assert main(["check", "broken.py", "good.py", "--json"]) == 2
    found = json.loads(capsys.readouterr().out)
    what = "syntax error: invalid syntax"
    assert found["unread"] == [{"path": "broken.py", "line": 1, "what": what}]


def test_a_file_that_is_not_python(here, capsys):
    (here / "broken.py").write_text("def f(:\n")
    assert main(["check", "broken.py", "good.py"]) == 2
    out, err = capsys.readouterr()
    assert err == "d2s: broken.py:1: syntax error: invalid syntax\n"
    assert out.startswith("1 function would")


@pytest.mark.parametrize("arguments", [["check"], ["check", "none.py"], ["check", "good.py", "-x"]])
def test_mistakes(here, capsys, arguments):
    try:
        code = main(arguments)
    except SystemExit as end:
        code = end.code
    assert code == 2
    assert capsys.readouterr().err.count("\n") == 1


# -- convert --check ------------------------------------------------------------------------------


def test_an_output_that_is_there(here, capsys):
    assert main(["convert", "good.py", "-o", "out.py"]) == 0
    assert main(["convert", "good.py", "-o", "out.py", "--check"]) == 0
    assert capsys.readouterr() == ("", "")


def test_a_stale_output(here, capsys):
    main(["convert", "good.py", "-o", "out.py"])
    before = (here / "out.py").read_bytes()
    (here / "good.py").write_text(GOOD.replace("or 1", "or 2"))
    assert main(["convert", "good.py", "-o", "out.py", "--check"]) == 1
    assert "out.py is stale: good.py has another conversion now" in capsys.readouterr().err
    assert (here / "out.py").read_bytes() == before


def test_a_missing_output(here, capsys):
    assert main(["convert", "good.py", "-o", "out.py", "--check"]) == 1
    assert "out.py is missing" in capsys.readouterr().err
    assert not (here / "out.py").exists()


def test_a_tree(here, capsys):
    (here / "package").mkdir()
    (here / "package/one.py").write_text(GOOD)
    (here / "package/two.py").write_text(GOOD)
    main(["convert", "package", "-o", "build"])
    assert main(["convert", "package", "-o", "build", "--check"]) == 0
    (here / "build/one.py").write_text("")
    (here / "build/two.py").unlink()
    capsys.readouterr()
    assert main(["convert", "package", "-o", "build", "--check"]) == 1
    error = capsys.readouterr().err
    assert "build/one.py is stale" in error and "build/two.py is missing" in error


def test_in_place(here):
    """A file that is its own output is stale until it is converted."""
    arguments = ["convert", "good.py", "-o", "good.py"]
    assert main([*arguments, "--check"]) == 1
    assert main(arguments) == 0
    assert main([*arguments, "--check"]) == 0


def test_check_needs_an_output(here, capsys):
    assert main(["convert", "good.py", "--check"]) == 2
    assert "--check needs -o" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["convert", "good.py", "--check", "--diff"])


# -- explain --------------------------------------------------------------------------------------


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_explained(code, capsys):
    assert main(["explain", code]) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"{code}: {CODES[code]}\n\n")
    assert "Stops with this error:\n\n    " in text and "Write instead:\n\n    " in text
    assert "```" not in text


@pytest.mark.parametrize("name", ["12", "d2s012", "D2S12"])
def test_a_code_may_be_written_short(name, capsys):
    assert main(["explain", name]) == 0
    assert capsys.readouterr().out.startswith("D2S012: ")


def test_all_codes(capsys):
    assert main(["explain"]) == 0
    assert capsys.readouterr().out.splitlines() == [f"{c}  {m}" for c, m in CODES.items()]


def test_no_such_code(capsys):
    assert main(["explain", "D2S999"]) == 2
    told = "d2s: there is no error code D2S999; d2s explain shows them all\n"
    assert capsys.readouterr().err == told
