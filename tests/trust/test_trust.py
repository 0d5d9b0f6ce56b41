"""The same programs on every run; more of them by `python -m tests.trust --programs 5000`."""

from __future__ import annotations

import itertools
import random

import jax
import pytest

import d2s

from .families import FAMILIES
from .judge import DIFFERENT, EQUAL, REFUSED, Program, judge
from .ledger import COUNTS, PARTS, known, part
from .regressions import FOUND
from .report import judged


@pytest.mark.full
@pytest.mark.parametrize("number", range(PARTS))
@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_is_silently_different(family, number):
    report = judged(family, part(family, number))
    found = {program.about for program, _ in report.differences}
    new = [d for d in report.differences if d[0].about not in known(family, number)]
    report.differences[:] = new
    assert not new, report.text(every=True)
    gone = known(family, number) - found
    assert not gone, f"not different any more, to be struck out of open.txt: {gone}"
    assert report.ends[EQUAL] >= 0.25 * COUNTS[family] / PARTS, report.text()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_seed_is_one_stream(family):
    one, two = (FAMILIES[family](random.Random("7")) for _ in range(2))
    for program in itertools.islice(one, 40):
        assert program == next(two)


@pytest.mark.parametrize(("form", "steps", "code"), FOUND)
def test_what_once_was_different(form, steps, code):
    head = (
        "import functools, math, numbers, operator\n\nimport jax.numpy as jnp\nimport numpy as np\n"
    )
    body = f"{head}\n\ndef f(a, b=0):\n    return {form}\n"
    for step in steps:
        found = judge(Program(form, body, (step,), arrays="np." in step or "jnp." in step))
        assert found.end == EQUAL or (found.end == REFUSED and found.code == code), found


def test_a_weak_proxy_without_its_object():
    head = "import weakref\n\n\nclass C:\n    k = 5.5\n\n\nO = C()\nP = weakref.proxy(O)\n\n\n"
    body = f"{head}def f(x):\n    if x > 2:\n        return P.k + x\n    return x\n"
    assert verdict(body, "f(1.0)", "f(3.0)").end == EQUAL
    found = verdict(body, "f(1.0)", "del O", "f(1.0)")
    assert (found.end, found.code) == (REFUSED, "D2S079")


def test_an_immutable_object_beside_other_guards():
    head = "import dataclasses\n\n\n@dataclasses.dataclass(frozen=True)\nclass Z:\n    k: object\n"
    loop = "    for i in range(2):\n        x = x + I.k\n    return x\n"
    body = f"{head}\n\nI = Z(3)\n\n\ndef f(x):\n{loop}"
    assert verdict(body, "f(1.0)", "f(4.0)", "I = Z(4)", "f(4.0)", "f(5.0)").end == EQUAL


@pytest.mark.parametrize(
    "lines", ["VIEW[0] = 3\n    return A.max() + x", "A.fill(3)\n    return VIEW + x"]
)
def test_a_write_that_a_view_outside_would_see(lines):
    body = "import numpy as np\n\nA = np.array([1.0, 2.0])\nVIEW = A[:1]\n\n\n"
    found = verdict(f"{body}def f(x):\n    {lines}\n", "f(1.0)")
    assert (found.end, found.code) == (REFUSED, "D2S070")
    alone = body.replace("A[:1]", "A[:1].copy()")
    assert verdict(f"{alone}def f(x):\n    {lines}\n", "f(1.0)").end == EQUAL


@pytest.mark.parametrize("key", [":, i", "i", "i:i + 1", "..., i"])
@pytest.mark.parametrize("change", ["w += v", "w *= 2", "w[0] = v"])
@pytest.mark.parametrize("outside", [True, False])
def test_a_write_into_a_row_at_a_run_time_position(key, change, outside):
    made = "c = np.arange(9.0).reshape(3, 3)\n"
    head = f"import numpy as np\n\n{made if outside else ''}\n\ndef f(v, i):\n"
    lines = ["" if outside else made, f"w = c[{key}]\n", f"{change}\n", "return c, w\n"]
    body = head + "".join(f"    {line}" for line in lines if line)
    found = verdict(body, "f(1.0, 0)", "f(5.0, 1)")
    refused = found.end == REFUSED and found.code in ("D2S070", "D2S071")
    assert refused or found.end == EQUAL, found


def test_a_write_by_way_of_strides():
    head = "import numpy as np\n\n\ndef f(v):\n    c = np.zeros(3)\n"
    lines = "    w = np.lib.stride_tricks.as_strided(c)\n    w[:] = v\n    return c\n"
    found = verdict(head + lines, "f(1.0)", "f(2.0)")
    assert found.end == EQUAL or (found.end, found.code) == (REFUSED, "D2S070"), found


def test_an_exception_with_a_text_in_an_object():
    head = "import types\n\n\ndef f(n):\n"
    found = verdict(f"{head}    assert n < 3, {{'v': types.SimpleNamespace(v=str(n))}}\n", "f(4)")
    assert found.end == EQUAL or (found.end, found.code) == (REFUSED, "D2S031"), found


def test_a_text_is_no_dataclass():
    head = "import dataclasses\n\n\n@dataclasses.dataclass\nclass R:\n    v: object\n"
    lines = "    print(dataclasses.astuple(R(f'{x:.2f}')), dataclasses.is_dataclass(str(x)))\n"
    assert verdict(f"{head}\n\ndef f(x):\n{lines}    return x\n", "f(1.5)", "f(2.5)").end == EQUAL


def test_the_base_of_an_array_outside():
    body = "import numpy as np\n\nC = np.arange(4.0).reshape(2, 2)\n\n\ndef f(v):\n"
    assert verdict(f"{body}    return C.base + v\n", "f(1.0)").code == "D2S079"


def test_numbers_that_wrap_are_allowed_only_where_a_program_has_wide_ones():
    body = "import numpy as np\n\n\ndef f(a):\n    return [-a, np.uint32(2)]\n"
    assert verdict(body, "f(np.uint64(3))").end == DIFFERENT
    assert verdict(body, "f(np.uint64(3))", wide=True).end == EQUAL


# --- The judge: one that cannot say no is worth nothing -------------------------------------------


def verdict(body, *steps, **options):
    return judge(Program("here", body, steps, **options))


def test_what_agrees_is_equal():
    assert verdict("def f(x):\n    return x * 2\n", "f(1.5)", "f(2)").end == EQUAL


def test_a_refusal_is_told_by_its_code():
    body = "def f(x):\n    return 'a' if x > 1 else None\n"
    found = verdict(body, "f(x=__import__('jax').numpy.float32(2))")
    assert (found.end, found.code[:4]) == (REFUSED, "D2S0")


@pytest.mark.parametrize(
    "body",
    [
        "def f(x):\n    return [x]\n",
        "def f(x):\n    raise ValueError(x)\n",
        "def f(x):\n    if x > 1:\n        raise ValueError\n",
        "def f(x):\n    print(x)\n",
        "L = []\n\n\ndef f(x):\n    L.append(x)\n",
        "class C:\n    k = 0\n\n\ndef f(x):\n    C.k = x\n",
        "def f(x):\n    return {'a': str(x)}\n",
    ],
)
def test_each_kind_of_difference_is_seen(body, monkeypatch):
    monkeypatch.setattr(d2s, "to_static", lambda f: lambda x: f(x + 1))
    assert verdict(body, "f(1.0)").end == DIFFERENT


def test_a_tracer_that_is_left_is_seen(monkeypatch):
    body = "L = []\n\n\ndef f(x):\n    L.append(x)\n    return x\n"
    monkeypatch.setattr(d2s, "to_static", jax.jit)
    assert "LEAKED TRACER" in verdict(body, "f(1.0)").why


def test_documented_differences_are_allowed_where_a_program_says_so():
    body = "def f(x, y):\n    print(x / y)\n    return y if x > 1 else 1\n"
    assert verdict(body, "f(2.0, 3.0)", "f(0.5, 3.0)").end == DIFFERENT  # 32 bits are shown
    assert verdict(body, "f(2.0, 3.0)", "f(0.5, 3.0)", rounds=True).end == EQUAL
    assert verdict(body, "f(2.0, 3.0)", "f(0.5, 3.0)", rounds=True, joins=False).end == DIFFERENT
