"""The nesting matrix through the harness."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import jax.numpy as jnp
import pytest

from ..tiers import sampled
from . import codes
from .harness import check
from .matrix import Program, module, programs

PROGRAMS = programs()
PER_FILE = 25
XS = jnp.array([[0.5, 1.0], [-1.0, 0.5], [2.0, 0.25]])
INPUTS = ((0.75, 3, XS), (9.0, 2, -XS), (-1.5, 0, XS), (1.25, 3, -XS))


@pytest.fixture(scope="module")
def functions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Callable[..., Any]]]:
    """The programs, imported from real files so that their source can be found."""
    folder = tmp_path_factory.mktemp("matrix")
    found: dict[str, Callable[..., Any]] = {}
    loaded: list[str] = []
    for number, start in enumerate(range(0, len(PROGRAMS), PER_FILE)):
        members = PROGRAMS[start : start + PER_FILE]
        path = folder / f"d2s_matrix_{number}.py"
        path.write_text(module(members))
        loaded.append(path.stem)
        imported = load(path.stem, str(path))
        found.update({member.id: getattr(imported, member.name) for member in members})
    yield found
    for name in loaded:
        del sys.modules[name]


def load(name: str, path: str) -> ModuleType:
    """Import one file."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[name] = made
    spec.loader.exec_module(made)
    return made


@pytest.mark.parametrize("program", sampled(PROGRAMS))
def test_matrix(program: Program, functions: dict[str, Callable[..., Any]]) -> None:
    run(program, functions, grad=gradient(program), compiled=())


@pytest.mark.full
@pytest.mark.parametrize("program", PROGRAMS, ids=[program.id for program in PROGRAMS])
def test_matrix_compiled(program: Program, functions: dict[str, Callable[..., Any]]) -> None:
    run(program, functions, modes=("static",))


def run(program: Program, functions: dict[str, Callable[..., Any]], **options: Any) -> None:
    """Check one program."""
    check(
        functions[program.id],
        *INPUTS,
        error_ok=codes.UNBOUND if program.reads_created else None,
        flavours=("static", "traced"),
        static_flavours=("static", "traced") if program.alone else ("traced",),
        **options,
    )


def gradient(program: Program) -> bool:
    """Whether its gradient is compared."""
    return program.differentiable and not program.reads_created


def test_matrix_is_complete() -> None:
    ids = [program.id for program in PROGRAMS]
    assert len(set(ids)) == len(ids) == len({program.name for program in PROGRAMS})
    for wanted in ("if+return", "for_rows>if+break", "while>while+continue", "if;for_traced"):
        assert wanted in ids
