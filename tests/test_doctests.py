"""The examples in the docstrings of d2s."""

import doctest
import importlib
import pkgutil
import types

import pytest

import d2s

FOUND = [module.name for module in pkgutil.walk_packages(d2s.__path__, "d2s.")]
MODULES = sorted(name for name in FOUND if not name.endswith("__main__"))


@pytest.mark.parametrize("name", ["d2s", *MODULES])
def test_examples(name: str) -> None:
    result = doctest.testmod(importlib.import_module(name), report=True)
    assert result.failed == 0


@pytest.mark.parametrize("name", [name for name in MODULES if name.startswith("d2s.converters.")])
def test_every_converter_shows_what_it_does(name: str) -> None:
    if name.rpartition(".")[2] not in ("base", "blocks"):
        module = importlib.import_module(name)
        assert doctest.testmod(module).attempted > 1


def test_the_modules_are_found() -> None:
    assert {"d2s.pipeline", "d2s.converters.if_stmt", "d2s.analysis.flow"} <= set(MODULES)


def test_a_wrong_example_fails() -> None:
    module = types.ModuleType("wrong", ">>> 1 + 1\n3\n")
    assert doctest.testmod(module, report=False).failed == 1
