"""The whole way of a model: eager, static, inspected, saved, and run without its source.

Which of two weights is used is known only when the model runs; both ways are in one graph.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

import d2s

W1 = jnp.asarray(np.random.default_rng(1).normal(0, 1, (4, 4)), jnp.float32)
W2 = jnp.asarray(np.random.default_rng(2).normal(0, 1, (4, 4)), jnp.float32)
B = jnp.ones((4, 1)) * 0.5


def add_and_relu(y):
    y = y + B
    return jnp.maximum(y, 0)


@d2s.to_static
def model(flag, x):
    """Two branches, a check, and a result that both share."""
    if flag > 0:
        y = jnp.matmul(W1, x)
    else:
        y = jnp.matmul(W2, x)
    assert not jnp.isnan(y).any(), f"no number for flag {flag}"
    return add_and_relu(y)


ENTRY = model
X = jnp.asarray(np.arange(12.0).reshape(4, 3) / 10, jnp.float32)


def examples():
    """Arguments that take different ways through `model`."""
    return [(jnp.float32(1), X), (jnp.float32(-1), X), (jnp.float32(0), X * jnp.nan)]


#: what a server runs: it has d2s and the file, and none of the above
SERVER = """
import sys
import numpy as np
import d2s

model = d2s.load(sys.argv[1])
x = np.load(sys.argv[2])
np.savez(sys.argv[3], plus=model(1.0, x), minus=model(-1.0, x))
try:
    model(1.0, x * np.nan)
except AssertionError as error:
    print("it still checks:", error)
"""


def loss(x, flag):
    return ENTRY(flag, x).sum()


def serve(folder):
    """Save the model, and run it in a process that cannot import it."""
    file, inputs, outputs = (folder / name for name in ("model.d2s", "x.npy", "out.npz"))
    d2s.save(ENTRY, file, "f32", "f32[4, n]", vjp_order=1)
    np.save(inputs, np.asarray(X))
    paths = [str(Path(d2s.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    subprocess.run(
        [sys.executable, "-c", SERVER, *map(str, (file, inputs, outputs))],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
        check=True,
        timeout=300,
    )
    return d2s.load(file), np.load(outputs)


if __name__ == "__main__":
    eager = model.original(jnp.float32(1), X)
    static = ENTRY(jnp.float32(1), X)
    print("eager and static agree:", bool((jnp.abs(eager - static) < 1e-6).all()))
    print("the branch became:", ENTRY.explain(jnp.float32(1), X)[0].became)
    print("gradient:", jax.grad(loss)(X, jnp.float32(-1))[:, 0])
    with tempfile.TemporaryDirectory() as folder:
        loaded, found = serve(Path(folder))
        for name, flag in (("plus", 1.0), ("minus", -1.0)):
            same = found[name].tobytes() == np.asarray(ENTRY(jnp.float32(flag), X)).tobytes()
            print(f"{name}: the server's result is the same, bit for bit: {same}")
        gradient = jax.grad(lambda x: loaded(-1.0, x).sum())(X)
        print("gradient of the file:", gradient[:, 0])
        print("for any number of columns:", loaded(1.0, jnp.ones((4, 7))).shape)
