"""`explain`: a row for each control-flow statement, as data, text and HTML."""

from __future__ import annotations

import contextlib
import importlib
import json
from html.parser import HTMLParser

import jax
import jax.numpy as jnp
import pytest

import d2s
from d2s.cli import main
from d2s.runtime import record


def helper(v):
    return v if v > 0 else -v


def everything(n, x, flag):
    steps = 0
    if flag:
        x = x * 2
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    for row in x:
        if row.sum() > 0:
            steps = steps + 1
    for k in range(4):
        x = x + k
        if k == 2:
            x = x * 2
    for w in [1.0, 2.0, 3.0]:
        if x.sum() > 100:
            break
        x = x + w
    assert steps > 0
    if not flag:
        while True:
            pass
    return helper(steps), x


ARGUMENTS = jnp.int32(3), jnp.ones((3, 2)), True


@pytest.fixture(scope="module")
def report():
    return d2s.explain(everything, *ARGUMENTS)


def rows_of(report, text):
    return [row for row in report if row.source.startswith(text)]


@pytest.mark.parametrize(
    ("text", "became"),
    [
        ("return v if", "lax.cond"),
        ("if flag", "Python"),
        ("while n", "lax.while_loop"),
        ("if n % 2", "lax.cond"),
        ("for row", "lax.scan(length=3)"),
        ("if row.sum()", "lax.cond"),
        ("for k", "unrolled x4"),
        ("if k == 2", "Python"),
        ("for w", "unrolled x3, guarded"),
        ("assert", "error code"),
        ("if not flag", "Python"),
        ("while True", "not reached"),
    ],
)
def test_what_each_became(report, text, became):
    (found,) = rows_of(report, text)
    assert found.became == became and found.why
    assert found.filename == __file__


def test_rows_are_in_the_order_of_the_source(report):
    assert [row.line for row in report] == sorted(row.line for row in report)
    assert len(report) == len({row.line for row in report}) and report[0] is report.rows[0]


def test_carried_variables(report):
    (loop,) = rows_of(report, "while n")
    assert {one.name: one.after for one in loop.carried} == {
        "n": "int32[]",
        "steps": "int32[] (Python number)",
    }


def test_types_before_and_after_the_join():
    def f(x):
        y = 0
        if x > 0:
            y = 0.5
        return y

    (row,) = d2s.explain(f, jnp.float32(1.0))
    (y,) = row.carried
    assert (y.name, y.before, y.after) == ("y", ("0.5", "0"), "float32[] (Python number)")


class Net:
    def __init__(self):
        self.w = jnp.ones(3)
        self.sums = {"n": jnp.float32(0)}

    @d2s.to_static
    def step(self, x):
        total = 0
        if x.sum() > 0:
            self.w = self.w + x
            self.sums["n"] = self.sums["n"] + 1

        def add():
            nonlocal total
            total = total + 0.5

        while self.w.sum() < 10:
            self.w = self.w * 2
            add()
        return total


def test_attributes_entries_and_shared_names_are_carried_too():
    branch, loop = Net().step.explain(jnp.ones(3))
    assert {c.name: c.after for c in branch.carried} == {
        "self.w": "float32[3]",
        "self.sums['n']": "float32[]",
    }
    carried = {c.name: (c.before, c.after) for c in loop.carried}
    assert carried["self.w"] == (("float32[3]",), "float32[3]")
    assert carried["total"] == (("int32[] (Python number)",), "float32[] (Python number)")


def test_a_type_that_widens_in_a_loop():
    def f(x, n):
        while n > 0:
            x = x + 0.5
            n = n - 1
        return x

    (row,) = d2s.explain(f, 1, jnp.int32(3))
    x = next(one for one in row.carried if one.name == "x")
    assert x.after.startswith("float32[]") and x.before != (x.after,)


def test_a_chain_is_one_row():
    def f(n):
        if n == 0:
            return 1.0
        elif n == 1:
            return 2.0
        elif n == 2:
            return 3.0
        else:
            return 4.0

    (row,) = d2s.explain(f, jnp.int32(1))
    assert row.became == "lax.switch of 4"


def test_a_statement_that_became_several_things():
    def f(x):
        for known in (True, False):
            if known or x > 0:
                x = x + 1
        return x

    report = d2s.explain(f, jnp.float32(1.0))
    (row,) = rows_of(report, "if known")
    assert row.became == "Python (1x), lax.cond (1x)"


def test_a_match_is_one_row():
    def f(x, kind, n):
        match kind:
            case "up":
                x = x + 1
            case "down":
                x = x - 1
        match n:
            case 0:
                x = x * 2
            case 1:
                x = x * 3
        match x:
            case float():
                x = x + 1
        if kind == "up":
            return x
        match n:
            case 2:
                x = 0
        return x

    rows = d2s.explain(f, jnp.float32(1.0), "up", jnp.int32(1)).rows
    assert [(row.source, row.became) for row in rows[:2]] == [
        ("match kind:", "Python"),
        ("match n:", "lax.switch of 3"),
    ]
    assert (rows[-1].source, rows[-1].became) == ("match n:", "not reached")
    assert len(rows) == 5


def test_how_a_loop_was_left_is_no_row_of_its_own():
    def f(x):
        for n in range(50):
            if x > 9:
                return n
            x = x * 2
        raise ValueError("too small")

    loop, branch = d2s.explain(f, jnp.float32(1.0))
    assert loop.became == "lax.while_loop" and branch.became == "lax.cond"


def test_only_the_last_round_of_a_loop_counts():
    """The body of a loop is traced until its types settle; each statement is told once."""

    def f(n):
        a, b, c = 0, 0, 0
        while n > 0:
            if b > 0:
                a = a + 1
            b, c = c, c + 0.5
            n = n - 1
        return a, b, c

    report = d2s.explain(f, jnp.int32(3))
    (row,) = rows_of(report, "if b > 0")
    assert row.became == "lax.cond"


def test_numbers_that_become_static():
    def f(n):
        x = jnp.zeros(n)
        for _ in range(n):
            x = x + 1
        return x

    (row,) = d2s.explain(f, 3)
    assert row.became.startswith(("unrolled x3", "lax.scan"))


def test_no_record_is_kept():
    static = d2s.to_static(everything)
    static.explain(*ARGUMENTS)
    assert record.Recording.on == 0 and not record.is_on()
    with pytest.raises(d2s.StagingError):
        d2s.explain(lambda x: "a" if x > 0 else "b", jnp.float32(1.0))
    assert record.Recording.on == 0


def test_the_same_for_methods_and_static_functions():
    class Net:
        @d2s.to_static
        def run(self, x):
            return x if x > 0 else -x

    for report in (d2s.explain(Net().run, 1.0), Net.run.explain(Net(), 1.0)):
        assert [row.became for row in report] == ["lax.cond"]


# -- how it looks ---------------------------------------------------------------------------------


def test_text(report):
    text = report.text()
    assert "\033" not in text
    lines = text.splitlines()
    assert lines[0].startswith("everything(int32[], float32[3,2])")
    (line,) = [line for line in lines if "while n != 1:" in line]
    number = everything.__code__.co_firstlineno + 4
    assert line.split() == [
        *f"{number} while n != 1: lax.while_loop".split(),
        *"the condition depends on a run-time value".split(),
    ]


def test_colours_only_on_a_terminal(report, monkeypatch):
    assert "\033[36mlax.cond" in report.text(colours=True)
    assert "\033" not in str(report)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert "\033" in str(report)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\033" not in str(report)


def test_data(report):
    found = json.loads(report.json())
    assert found["title"].startswith("everything(")
    assert {"filename", "line", "source", "became", "why", "carried"} <= set(found["rows"][0])


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.cells = [], 0

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.cells += tag == "td"

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_html():
    def f(x):
        return x if x > 0 and x < 3 else -x

    report = d2s.explain(f, jnp.float32(1.0))
    page = report._repr_html_()
    tags = Tags()
    tags.feed(page)
    assert tags.open == [] and tags.cells == 4 * len(report)
    assert "x &gt; 0 and x &lt; 3" in page


def test_a_function_without_control_flow():
    report = d2s.explain(lambda x: x + 1, 1.0)
    assert len(report) == 0 and "no control flow" in report.text()
    assert "no control flow" in report._repr_html_()


def test_explaining_runs_nothing():
    def f(x):
        jax.debug.callback(lambda: called.append(1))
        return x

    called = []
    d2s.explain(f, 1.0)
    jax.effects_barrier()
    assert called == []


def test_try_and_with_have_rows_and_flags_of_d2s_have_none():
    def f(x, n):
        try:
            if x > 5:
                raise ValueError("big")
        except ValueError:
            x = -x
        finally:
            n = n + 1
        try:
            x = x + 1
        except KeyError:
            x = x - 1
        try:
            raise KeyError
        except KeyError:
            x = x + 2
        with contextlib.nullcontext():
            x = x + 1
        for i in range(n):
            if x > 100:
                return x
            x = x * 2
            if i > 7:
                break
        return x
        with contextlib.nullcontext():
            pass

    rows = d2s.explain(f, jnp.float32(1.0), jnp.int32(20)).rows
    shown = [(row.source, row.became) for row in rows]
    assert shown == [
        ("try:", "error code"),
        ("if x > 5:", "lax.select"),
        ("try:", "Python"),
        ("try:", "Python"),
        ("with contextlib.nullcontext():", "Python"),
        ("for i in range(n):", "lax.while_loop"),
        ("if x > 100:", "lax.cond"),
        ("if i > 7:", "lax.select"),
        ("with contextlib.nullcontext():", "not reached"),
    ]
    assert "surely raises KeyError" in rows[3].why
    assert [one.name for one in rows[5].carried] == ["x", "return value"]
    assert rows[7].carried == ()


def test_written_code_has_rows_for_its_assertions(tmp_path, monkeypatch):
    text = "import d2s\n\n\n@d2s.to_static\ndef f(x):\n    assert x > 0, 'low'\n    return x\n"
    (tmp_path / "plain_model.py").write_text(text)
    assert main(["convert", str(tmp_path / "plain_model.py"), "-o", str(tmp_path / "made.py")]) == 0
    monkeypatch.syspath_prepend(tmp_path)
    made = importlib.import_module("made")
    (row,) = made.f.explain(jnp.float32(1.0))
    assert row.became == "error code" and row.source.startswith("d2s.assert_(x > 0")
