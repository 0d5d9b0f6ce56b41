"""The page ``docs/forms.md``; ``python -m tests.forms.table`` writes it."""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

import d2s

from ..differential.harness import difference, freeze
from ..fuzz.interpret import without_xla
from .kinds import KINDS, Kind

PAGE = Path(__file__).resolve().parents[2] / "docs" / "forms.md"
HEAD = """\
# Python's values, and where each can be

<!-- written by `python -m tests.forms.table` from programs that the tests run -->

A row is a kind of value with a number in it that is known only when the program runs; a column is
what a program does with it. Where there is `yes`, plain Python and the static function agree,
twice in a row and with the objects in the same state. A code is the error with which d2s stops
instead, a dash says that plain JAX cannot do it either. The programs are in `tests/forms`.
"""


class Holder:
    """An object of the program that holds something."""

    value: Any = None


USES: dict[str, Callable[[Kind], Callable[..., Any]]] = {}


def use(name: str) -> Callable[[Any], Any]:
    def register(made: Any) -> Any:
        USES[name] = made
        return made

    return register


@use("argument")
def argument(kind: Kind) -> Any:
    read = kind.read

    def f(value, x):
        return read(value) + x

    return f, lambda x: (kind.make(x), x)


@use("changed argument")
def changed(kind: Kind) -> Any:
    read, change = kind.read, kind.change

    def f(value, x):
        value = change(value, x)
        return read(value)

    return f, lambda x: (kind.make(x), x)


@use("state")
def state(kind: Kind) -> Any:
    read, change = kind.read, kind.change

    def f(holder, x):
        holder.value = change(holder.value, x)
        return read(holder.value)

    def given(x):
        holder = Holder()
        holder.value = kind.make(x)
        return holder, x

    return f, given


@use("branch")
def branch(kind: Kind) -> Any:
    make, read = kind.make, kind.read

    def f(x):
        if x > 2:
            value = make(x)
        else:
            value = make(-x)
        return read(value)

    return f, lambda x: (x,)


@use("changed in a branch")
def changed_in_a_branch(kind: Kind) -> Any:
    make, read, change = kind.make, kind.read, kind.change

    def f(x):
        value = make(x)
        if x > 2:
            value = change(value, x)
        return read(value)

    return f, lambda x: (x,)


@use("loop")
def loop(kind: Kind) -> Any:
    make, read, change = kind.make, kind.read, kind.change

    def f(x):
        value = make(x)
        left = x
        while left > 0:
            value = change(value, left)
            left = left - 1
        return read(value)

    return f, lambda x: (x,)


@use("result")
def result(kind: Kind) -> Any:
    make = kind.make

    def f(x):
        return make(x * 2)

    return f, lambda x: (x,)


@use("file")
def file(kind: Kind) -> Any:
    return argument(kind)


@use("text")
def text(kind: Kind) -> Any:
    make = kind.make

    def f(x):
        print(make(x))
        return x

    return f, lambda x: (x,)


@use("vmap")
def vmap(kind: Kind) -> Any:
    make, read = kind.make, kind.read

    def f(x):
        return read(make(x)) * x

    return f, lambda x: (x,)


@use("grad")
def grad(kind: Kind) -> Any:
    return vmap(kind)


def _outcome(call: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    shown = io.StringIO()
    with contextlib.redirect_stdout(shown):
        value = call(*args)
        jax.effects_barrier()
    # an object without a text of its own shows where it is, which nobody can compare
    return freeze(value), freeze(args), re.sub(r"0x[0-9a-f]+", "0x", shown.getvalue())


def _loaded(static: Any, args: tuple[Any, ...]) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "f.d2s"
        d2s.save(static, path, *args)
        return d2s.load(path)


def verdict(kind: Kind, name: str) -> str:
    """`yes`, a code, a dash for what plain JAX cannot do, or what is different."""
    function, given = USES[name](kind)
    static: Any = d2s.to_static(function)
    plain: Callable[..., Any] = function
    if name == "vmap":
        plain, static = jax.vmap(function), jax.vmap(static)
        inputs = [jnp.array([1.0, 3.0]), jnp.array([4.0, 0.5])]
    elif name == "grad":
        plain, static = jax.grad(function), jax.grad(static)
        inputs = [jnp.float32(1.5), jnp.float32(3.5)]
    else:
        inputs = [jnp.float32(1.5), jnp.float32(3.5)]
    for x in inputs:
        try:
            want = _outcome(plain, given(x))
        except Exception:
            return "–"
        try:
            if name == "file":
                got = _outcome(_loaded(static, given(x)), given(x))
            else:
                with without_xla():
                    got = _outcome(static, given(x))
        except d2s.Error as error:
            return str(error.code)
        why = difference(want, got, "", 1e-5, 1e-6)
        if why:
            return f"DIFFERENT: {why}"
    return "yes"


def row(kind: Kind) -> str:
    """The line of a kind in the table."""
    return f"| {kind.name} | " + " | ".join(verdict(kind, name) for name in USES) + " |"


def page() -> str:
    head = ["| kind | " + " | ".join(USES) + " |", "|---|" + "---|" * len(USES)]
    return "\n".join([HEAD, *head, *map(row, KINDS)]) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
