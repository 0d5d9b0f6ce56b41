"""Whose code is converted: what is handed over by name, `d2s.include` and `d2s.exclude`."""

from __future__ import annotations

import heapq
import importlib
import statistics
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import d2s
from d2s import conversion, libraries

pytestmark = pytest.mark.full  # each forgets all converted code, which then is made again

FILES = {
    "pure/__init__.py": "from pure.core import clip, scaled, Holder\n",
    "pure/core.py": """
import functools
from pure.tools import sign

def clip(x, low):
    if x < low:
        return low
    return helper(x)

def helper(x):
    while x > 10:
        x = x - 3
    return x

def scaled(x):
    return sign(x) * x

@functools.lru_cache
def cached(x):
    return 1 if x > 0 else 2

def noted(function):
    @functools.wraps(function)
    def call(*args):
        return function(*args)
    return call

@noted
def wrapped(x):
    return 1 if x > 0 else 2

def make():
    def inner(x):
        return 1 if x > 0 else 2
    return inner

class Holder:
    def __init__(self, low):
        self.low = low

    def clip(self, x):
        return clip(x, self.low)
""",
    "pure/tools.py": """
FACTOR = 2.0

def sign(x):
    if x < 0:
        return -1.0
    return FACTOR
""",
    "single.py": "def first(x):\n    return x if x > 0 else -x\n",
}


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """The packages, in a folder of installed ones; all is forgotten afterwards."""
    folder = tmp_path / "site-packages"
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.setattr(
        libraries, "_LIBRARY_FOLDERS", (*libraries._LIBRARY_FOLDERS, f"{folder.resolve()}/")
    )
    monkeypatch.setattr(libraries, "_chosen", {})
    _forget()
    yield importlib.import_module("pure")
    for name in [n for n in sys.modules if n.partition(".")[0] in ("pure", "single")]:
        del sys.modules[name]
    monkeypatch.undo()
    _forget()


def _forget():
    for known in (libraries.is_library_file, libraries.is_excluded, libraries.is_library_class):
        known.cache_clear()
    libraries._is_installed.cache_clear()
    conversion.decide_anew()


def agree(static, plain, *values):
    for value in values:
        np.testing.assert_allclose(static(jnp.float32(value)), plain(value))


def test_what_is_handed_over_by_name_is_converted(installed):
    static = d2s.to_static(installed.clip)
    for x, low in ((1.0, 2.0), (30.0, 2.0), (5.0, 2.0)):
        assert static(jnp.float32(x), low) == installed.clip(x, low)
    assert "d2s.cond" in d2s.to_code(installed.clip)
    assert d2s.convert(installed.clip)(30.0, 2.0) == installed.clip(30.0, 2.0)


def test_decorated_functions_and_methods_are_handed_over(installed):
    core = sys.modules["pure.core"]
    agree(d2s.to_static(core.wrapped), core.wrapped, 1.0, -1.0)
    holder = installed.Holder(3.0)
    agree(d2s.to_static(holder.clip), holder.clip, 1.0, 30.0)


def test_other_modules_of_its_package_are_not(installed):
    with pytest.raises(d2s.Error) as caught:
        d2s.to_static(installed.scaled)(jnp.float32(1))
    assert caught.value.code == "D2S021"
    assert 'd2s.include("pure")' in str(caught.value)
    d2s.include("pure")
    agree(d2s.to_static(installed.scaled), installed.scaled, 2.0, -2.0)


def test_what_has_no_name_is_not_handed_over(installed):
    with pytest.raises(d2s.ConversionError) as caught:
        d2s.to_static(sys.modules["pure.core"].make())
    assert caught.value.code == "D2S001"


def test_a_package_is_included(installed):
    def mine(x):
        return installed.scaled(x) + installed.clip(x, 1.0)

    with pytest.raises(d2s.Error, match="D2S021"):
        d2s.to_static(mine)(jnp.float32(2))
    d2s.include("pure")
    agree(d2s.to_static(mine), mine, 2.0, -2.0, 20.0)
    tools = sys.modules["pure.tools"]
    static = d2s.to_static(mine)
    before = static(jnp.float32(2))
    tools.FACTOR = 5.0
    assert static(jnp.float32(2)) == mine(2.0) != before
    tools.FACTOR = 2.0


def test_a_module_of_a_package_is_included_or_excluded(installed):
    d2s.include("pure.tools")
    agree(d2s.to_static(lambda x: sys.modules["pure.tools"].sign(x)), lambda x: 2.0, 2.0)
    assert conversion.why_not(installed.clip) == "it belongs to a library"
    d2s.exclude("pure.tools")
    d2s.include("pure")
    assert conversion.why_not(sys.modules["pure.tools"].sign) == "d2s.exclude says so"
    assert conversion.why_not(installed.clip) == ""
    with pytest.raises(d2s.Error, match=r"D2S021.*d2s\.exclude says so"):
        d2s.to_static(lambda x: installed.scaled(x))(jnp.float32(1))
    with pytest.raises(d2s.ConversionError, match=r"d2s\.exclude says so"):
        d2s.to_static(sys.modules["pure.tools"].sign)
    d2s.include("pure.tools")
    agree(d2s.to_static(lambda x: installed.scaled(x)), installed.scaled, 2.0, -1.0)


def test_a_module_before_it_is_imported(installed):
    d2s.include("single")
    import single

    agree(d2s.to_static(lambda x: single.first(x)), single.first, 2.0, -2.0)


def test_code_of_your_own_is_excluded(tmp_path, monkeypatch, installed):
    """It runs as it is; what it reads is seen all the same."""
    (tmp_path / "own_module.py").write_text("K = 2.0\ndef f(x):\n    return x * K\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import own_module

    def mine(x):
        return own_module.f(x)

    assert d2s.to_static(mine)(jnp.float32(1)) == 2.0  # decided before it is excluded
    d2s.exclude(own_module)
    assert conversion.runs_as_it_is(own_module.f) == "d2s.exclude says so"
    static = d2s.to_static(mine)
    assert static(jnp.float32(1)) == 2.0
    own_module.K = 3.0
    assert static(jnp.float32(1)) == 3.0
    del sys.modules["own_module"]


@pytest.mark.parametrize("name", ["jax", "jax.numpy", "numpy", "d2s", "no_such_package", "", 3])
def test_what_cannot_be_included(installed, name):
    with pytest.raises(d2s.Error) as caught:
        d2s.include(name)
    assert caught.value.code == "D2S033"


@pytest.mark.parametrize("name", ["math", "_heapq", "no.such.package"])
def test_what_has_no_source(installed, name):
    with pytest.raises(d2s.Error, match="with Python source"):
        d2s.exclude(name)


def test_functions_of_the_standard_library(installed):
    text = "the quick brown fox jumps over the lazy dog"
    assert d2s.convert(textwrap.wrap)(text, 12) == textwrap.wrap(text, 12)
    assert d2s.to_static(textwrap.shorten)(text, 20) == textwrap.shorten(text, 20)
    data = [3.0, 1.0, 4.0, 1.5]
    assert d2s.convert(statistics.median)(data) == statistics.median(data)
    np.testing.assert_allclose(d2s.to_static(statistics.fmean)(data), statistics.fmean(data))
    assert d2s.convert(heapq.nsmallest)(2, data) == heapq.nsmallest(2, data)


@pytest.mark.parametrize("function", [jnp.linalg.norm, jax.nn.softplus, np.linalg.norm, d2s.spec])
def test_what_graphs_are_made_of_is_not_handed_over(installed, function):
    with pytest.raises(d2s.ConversionError, match="belongs to a library"):
        d2s.to_static(function)
