"""Every program of the corpus, in every mode and flavour.

NumPy runs the graphs in the fast tier; XLA does in the full one, with gradients and lanes.
"""

from pathlib import Path

import pytest

from ..tiers import without
from . import (
    programs_boxes,
    programs_calls,
    programs_comprehensions,
    programs_del,
    programs_errors,
    programs_exits,
    programs_expr,
    programs_finally,
    programs_for,
    programs_functions,
    programs_if,
    programs_items,
    programs_library,
    programs_loop_else,
    programs_match,
    programs_print,
    programs_scopes,
    programs_state,
    programs_walrus,
    programs_while,
    programs_with,
)
from .harness import CASES, MODES, Case, cases
from .scenarios import HABITS, NUMBERS, SCENARIOS, WITHOUT

MODULES = (
    programs_if,
    programs_expr,
    programs_while,
    programs_for,
    programs_loop_else,
    programs_exits,
    programs_match,
    programs_with,
    programs_finally,
    programs_walrus,
    programs_del,
    programs_scopes,
    programs_state,
    programs_items,
    programs_boxes,
    programs_comprehensions,
    programs_functions,
    programs_calls,
    programs_library,
    programs_errors,
    programs_print,
)
ROOT = Path(__file__).parents[2]
PROGRAMS = {item.id: item for item in CASES}
#: each call of these looks for all that may share an array of NumPy's
SLOW = (
    "items-numpy_array_with_two_names_in_a_loop",
    "items-numpy_array_with_two_names",
    "items-numpy_array_filled_by_another_function",
    "items-numpy_array_in_a_list",
    "items-numpy_array_with_a_view",
    "items-view_of_a_numpy_array",
)


@pytest.mark.parametrize("program", without(list(PROGRAMS), SLOW))
def test_program(program: str) -> None:
    """XLA runs one flavour, NumPy the graphs of the others."""
    PROGRAMS[program].run(compiled=PROGRAMS[program].flavours()[-1:], grad=False, vmap=False)


@pytest.mark.full
@pytest.mark.parametrize("program", CASES, ids=[item.id for item in CASES])
def test_program_compiled(program: Case) -> None:
    modes = [mode for mode in program.options.get("modes", MODES) if mode == "static"]
    program.run(modes=modes)


def test_every_module_is_registered() -> None:
    here = {path.stem for path in Path(__file__).parent.glob("programs_*.py")}
    assert {module.__name__.rpartition(".")[2] for module in MODULES} == here
    assert [m.__name__ for m in MODULES if not list(cases(m))] == []
    assert len({item.id for item in CASES}) == len(CASES)


@pytest.mark.parametrize("number", NUMBERS)
def test_every_scenario_has_a_program(number: int) -> None:
    assert [number in table for table in (SCENARIOS, WITHOUT)].count(True) == 1
    _assert_known(SCENARIOS.get(number, ""))


@pytest.mark.parametrize("number", HABITS)
def test_every_habit_has_a_program(number: int) -> None:
    _assert_known(HABITS[number])


def _assert_known(names: str) -> None:
    programs = {item.id for item in CASES}
    for name in names.split():
        assert name in programs or (ROOT / name).is_file(), name
