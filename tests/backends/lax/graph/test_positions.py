"""Everything that shows a place shows the user's own file and line."""

from __future__ import annotations

import bdb
import inspect
import io
import linecache
import pdb
import re
import traceback
from pathlib import Path

import coverage
import jax
import jax.numpy as jnp
import pytest

import d2s

from . import positions_program as program

FILE = program.__file__


def line_of(text: str) -> int:
    return 1 + next(n for n, line in enumerate(linecache.getlines(FILE)) if text in line)


def shown(error: BaseException) -> str:
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("made", [d2s.convert, d2s.to_static])
def test_a_traceback_shows_the_line_in_the_loop_body_with_a_caret(made):
    with pytest.raises(TypeError) as caught:
        made(program.looping)(jnp.ones(3), jnp.ones((4, 3)))
    text = shown(caught.value)
    assert f'positions_program.py", line {line_of("s = s + x @ w")}, in' in text
    assert "s = s + x @ w" in text
    assert re.search(r"~~\^~~", text)


def test_frames_of_d2s_are_hidden(monkeypatch):
    static = d2s.to_static(program.looping)
    with pytest.raises(TypeError) as caught:
        static(jnp.ones(3), jnp.ones((4, 3)))
    frames = traceback.extract_tb(caught.value.__traceback__)
    own = str(Path(d2s.__file__).parent)
    assert not [f.name for f in frames if f.filename.startswith(own)]
    monkeypatch.setenv("D2S_FULL_TRACEBACK", "1")
    with pytest.raises(TypeError) as caught:
        static(jnp.ones(3), jnp.ones((4, 3)))
    assert len(traceback.extract_tb(caught.value.__traceback__)) > len(frames)


def test_a_breakpoint_stops_in_the_loop_body():
    class Stops(pdb.Pdb):
        lines: list[int] = []

        def interaction(self, frame, *_):
            assert frame is not None
            self.lines.append(frame.f_lineno)
            self.set_continue()

        do_continue = bdb.Bdb.set_continue

    debugger = Stops(stdin=io.StringIO(), stdout=io.StringIO(), nosigint=True, readrc=False)
    line = line_of("s = s * 2")
    assert debugger.set_break(FILE, line) is None
    converted = d2s.convert(program.counting)
    debugger.runcall(converted, 4.0)
    debugger.clear_all_breaks()
    assert line in Stops.lines


def equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            yield from equations(inner)


def test_the_jaxpr_names_the_lines():
    graph = jax.make_jaxpr(d2s.convert(program.counting))(1.0)
    text = graph.pretty_print(source_info=True)
    for primitive, source in (
        ("bounded_while[", "while s < 10.0"),
        ("mul", "s = s * 2"),
        ("cond[", "if s > 7.0"),
        ("sin", "s = s + jnp.sin(s)"),
    ):
        (found,) = [row for row in text.splitlines() if f"= {primitive}" in row]
        assert f"positions_program.py:{line_of(source)}:" in found


def test_the_stablehlo_names_the_lines():
    lowered = jax.jit(d2s.convert(program.counting)).lower(1.0)
    text = lowered.as_text(debug_info=True)
    for source in ("while s < 10.0", "s = s * 2", "if s > 7.0", "s = s + jnp.sin(s)"):
        assert f'positions_program.py":{line_of(source)}:' in text


def test_coverage_sees_the_lines_of_the_user():
    converted = d2s.convert(program.counting)
    measured = coverage.Coverage(data_file=None, config_file=False, include=[FILE])
    measured.start()
    converted(4.0)
    measured.stop()
    lines = set(measured.get_data().lines(FILE) or ())
    assert {line_of("s = s * 2"), line_of("s = s + jnp.sin(s)")} <= lines


def test_the_source_of_a_converted_function_is_the_original():
    assert inspect.getsource(d2s.convert(program.counting)) == inspect.getsource(program.counting)


def test_a_run_time_exception_comes_from_the_user_s_line():
    def refused(x):
        if x < 0:
            raise ValueError("no")
        return x

    with pytest.raises(ValueError, match="^no$") as caught:
        d2s.to_static(refused)(jnp.float32(-1))
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert (last.filename, last.name) == (__file__, "refused")
    assert last.line == 'raise ValueError("no")'
