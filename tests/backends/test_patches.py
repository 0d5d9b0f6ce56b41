"""What d2s changes in JAX, NumPy and Flax: all of it is in `patches`, and can be taken back."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

# every attribute of every module and class of these packages, before and after d2s has worked
SCRIPT = """
import json, sys, types
import jax, jax.export, jax.numpy as jnp, numpy as np
IMPORTS

PACKAGES = ("jax", "numpy", "flax")

def found():
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType) and module.__name__.split(".")[0] in PACKAGES:
            yield module
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__.split(".")[0] in PACKAGES:
                    yield value

def held():
    every = {id(one): one for one in found()}
    return {n: (one, dict(vars(one))) for n, one in every.items()}

# what JAX itself makes when it is first used is no change of d2s's
jax.jit(lambda x: jax.lax.cond(x > 0, jnp.sin, jnp.cos, x))(1.0)
jax.grad(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: x * 2, x))(1.0)
tables = dict(jax.interpreters.batching.fancy_primitive_batchers)
before = held()

import d2s
from d2s.backends.lax import backend, patches

@d2s.to_static
def function(x):
    while x < 100:
        x = x * 2
    return x

function(jnp.float32(1))

def differing():
    for owner, old in before.values():
        for name, value in vars(owner).items():
            if not name.startswith("__abstract") and name not in ("_abc_impl",):
                if name not in old:
                    is_part = isinstance(value, types.ModuleType)  # imported meanwhile
                    yield None if is_part else (owner, name)
                elif value is not old[name]:
                    yield owner, name

def named(pairs):
    return sorted({f"{owner.__module__}.{owner.__qualname__}.{name}"
                   if isinstance(owner, type) else f"{owner.__name__}.{name}"
                   for owner, name in filter(None, pairs)})

made = [(p.owner, p.name) for p in patches.installed()]
in_tables = sorted(str(name) for owner, name in made if isinstance(owner, dict))
listed = named((owner, name) for owner, name in made if not isinstance(owner, dict))
seen = named(differing())
count = len(made)
patches.install()
again = len(patches.installed())
patches.uninstall()
left = named(differing())
same_tables = all(jax.interpreters.batching.fancy_primitive_batchers[p] is r
                  for p, r in tables.items())
patches.install()
print(json.dumps({
    "tables": in_tables, "listed": listed, "seen": seen, "left": left,
    "same_tables": same_tables, "counts": [count, again, len(patches.installed())],
    "result": float(function(jnp.float32(3))),
}))
"""


def run(folder: Path, imports: str = "") -> dict[str, Any]:
    script = folder / "script.py"
    script.write_text(SCRIPT.replace("IMPORTS", imports))
    done = subprocess.run([sys.executable, script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


TRACER = "jax._src.core.Tracer"
DIMENSION = "jax._src.export.shape_poly._DimExpr"


@pytest.mark.parametrize("imports", ["", "from flax import nnx"], ids=["jax", "flax"])
def test_every_change_is_in_the_list_and_can_be_taken_back(imports, tmp_path):
    if imports:
        pytest.importorskip("flax")
    found = run(tmp_path, imports)
    assert found["seen"] == found["listed"]
    assert found["left"] == [] and found["same_tables"]
    first, again, after = found["counts"]
    assert first == again
    assert after == first - bool(imports)  # Flax is changed when a graph is built
    assert found["result"] == 192.0


def test_what_is_changed(tmp_path):
    found = run(tmp_path)
    listed = {*found["listed"]}
    assert found["tables"] == ["cond", "while"]
    owners = {name.rpartition(".")[0] for name in listed}
    assert {owner for owner in owners if not owner.endswith("Tracer")} == {
        DIMENSION,
        "jax._src.core.Ref",
        "jax._src.dtypes",
        "jax._src.interpreters.partial_eval.DynamicJaxprTrace",
        "numpy.lib._index_tricks_impl.MGridClass",
        "numpy.lib._index_tricks_impl.OGridClass",
    }
    own = ("__eq__", "__ne__", "__bool__", "__hash__")
    assert {f"{DIMENSION}.{name}" for name in own} <= listed
    own = ("__iadd__", "__add__", "__format__", "flat")
    assert {f"{TRACER}.{name}" for name in own} <= listed
