"""Data-parallel training: the batch is spread over devices, the step is ordinary Python.

    python samples/data_parallel.py                    on 8 virtual devices of this machine
    python samples/data_parallel.py --processes 2      the same on two processes, 4 devices each

`in_shardings` says where the batch lies; loops, branches and the gradient follow it, and XLA puts
in the sums over devices. Nothing in `step` knows how many devices there are.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

import d2s

DEVICES = 8


def predict(weights, x):
    """A small network; how often the middle layer runs depends on the data."""
    hidden = jnp.tanh(x @ weights["in"])
    for _ in range(4):
        if jnp.abs(hidden).mean() > 0.5:
            break
        hidden = jnp.tanh(hidden @ weights["middle"]) + hidden
    return hidden @ weights["out"]


def loss(weights, x, y):
    miss = predict(weights, x)[:, 0] - y
    return jnp.where(jnp.abs(miss) < 1, miss**2, 2 * jnp.abs(miss) - 1).mean()


@d2s.to_static
def step(weights, x, y, rate):
    """One step on one batch; returns the new weights and the loss before it."""
    value, gradient = jax.value_and_grad(loss)(weights, x, y)
    norm = jnp.sqrt(sum((part**2).sum() for part in gradient.values()))
    if norm > 1.0:
        rate = rate / norm
    return {name: weights[name] - rate * gradient[name] for name in weights}, value


ENTRY = step


def start():
    """Weights and batches, the same in every process."""
    random = np.random.default_rng(0)
    sizes = {"in": (3, 16), "middle": (16, 16), "out": (16, 1)}
    weights = {n: jnp.asarray(random.normal(0, 0.3, s), jnp.float32) for n, s in sizes.items()}
    x = random.uniform(-1, 1, (8, 64, 3)).astype(np.float32)
    return weights, x, (np.sin(2 * x[..., 0]) * x[..., 1]).astype(np.float32)


def examples():
    """Arguments that take different ways through `step`."""
    weights, x, y = start()
    return [(weights, x[0], y[0], 0.1), (weights, x[1] * 0.01, y[1] * 100, 0.1)]


def train(static, steps=20):
    """The losses of some steps; each is waited for, so that no process runs ahead of the others."""
    weights, x, y = start()
    losses = []
    for n in range(steps):
        weights, value = static(weights, x[n % len(x)], y[n % len(x)], 0.1)
        losses.append(float(jax.block_until_ready(value)))
    return losses


def spread():
    """`step` with the batch spread over all devices of all processes."""
    mesh = Mesh(np.array(jax.devices()), ("batch",))
    rows = NamedSharding(mesh, PartitionSpec("batch"))
    everywhere = NamedSharding(mesh, PartitionSpec())
    layouts = (everywhere, rows, rows, everywhere)
    return d2s.to_static(step.original, in_shardings=layouts, out_shardings=everywhere)


def work(count, number=0, address=None):
    """What one process does."""
    try:
        jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_num_cpu_devices", DEVICES // count)
    except RuntimeError:
        pass  # jax has run before in this process; its devices are what they are
    if address is not None:
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, num_processes=count, process_id=number)
    found = train(spread())
    if number == 0:
        print(f"{count} process(es), {len(jax.devices())} devices")
        print("losses", *(f"{value:.6f}" for value in found))


def first_failure(workers, end):
    """The code of the first worker that fails, 0 if none does, None if they do not end in time.

    All are asked in turn: when one is gone, the others wait for it.
    """
    while time.monotonic() < end:
        codes = [worker.poll() for worker in workers]
        failed = next((code for code in codes if code), 0)
        if failed or None not in codes:
            return failed
        time.sleep(0.1)
    return None


def lead(count, seconds):
    """Start the processes, wait for them, and end them all if one fails or takes too long."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    command = [sys.executable, __file__, f"--processes={count}", f"--address={address}", "--number"]
    # each in a group of its own: what it started goes with it
    workers = [subprocess.Popen([*command, str(n)], start_new_session=True) for n in range(count)]
    try:
        code = first_failure(workers, time.monotonic() + seconds)
        if code is None:
            print(f"no end after {seconds} s", file=sys.stderr)
            code = 124
    finally:
        for worker in workers:
            if worker.poll() is None:
                # jax listens to SIGTERM itself
                os.killpg(worker.pid, signal.SIGKILL)
                worker.wait()
    return code


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], allow_abbrev=False)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=180, help="after which all are ended")
    parser.add_argument("--number", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--address", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.processes < 1 or DEVICES % options.processes:
        parser.error(f"--processes must be a divisor of the {DEVICES} devices")
    if options.number is None and options.processes > 1:
        sys.exit(lead(options.processes, options.seconds))
    work(options.processes, options.number or 0, options.address)
