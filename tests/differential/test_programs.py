"""Every program of the corpus, in every mode and flavour."""

import pytest

from . import (
    programs_errors,
    programs_exits,
    programs_expr,
    programs_for,
    programs_functions,
    programs_if,
    programs_while,
)
from .harness import CASES, Case, cases

MODULES = (
    programs_if,
    programs_expr,
    programs_while,
    programs_for,
    programs_exits,
    programs_functions,
    programs_errors,
)


@pytest.mark.parametrize("program", CASES, ids=[item.id for item in CASES])
def test_program(program: Case) -> None:
    program.run()


def test_every_module_is_registered() -> None:
    assert [m.__name__ for m in MODULES if not list(cases(m))] == []
    assert len({item.id for item in CASES}) == len(CASES)
