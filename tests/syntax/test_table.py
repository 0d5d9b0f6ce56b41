"""Every row of the table is a program that runs, and the page is made of them."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

import d2s
from d2s.report.verification import as_numpy, difference, needs_numpy, outcome

from .programs import PROGRAMS
from .table import PAGE, page


@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_and_static_agree(name):
    function, args, _, _ = PROGRAMS[name]
    static = d2s.to_static(function)
    others = tuple(-arg if isinstance(arg, jnp.ndarray) and arg.ndim == 0 else arg for arg in args)
    for given in (args, others):
        plain, made = outcome(function, given, {}, 0), outcome(static, given, {}, 0)
        if needs_numpy(plain):
            plain = outcome(function, as_numpy(given), {}, 0)
        assert not difference(plain, made)


def test_the_page_is_made_of_them():
    assert PAGE.read_text() == page(), "run `python -m tests.syntax.table`"
