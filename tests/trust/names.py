"""Reads and writes: every way to a value that lives outside of a function, changed between calls.

A *place* holds a value. It has texts that make it, that read it, that change it from outside, and
that write it from inside. A read is seen fresh on every call; a write is done on every call; or
d2s says that it cannot.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .cases import sections
from .judge import Program, parses


@dataclass(frozen=True)
class Place:
    """`{v}` is the value in `make` and `change`; `{r}` in a write is what is put there."""

    name: str
    make: str
    reads: list[str]
    changes: list[str]
    writes: list[str]


def _places() -> list[Place]:
    """The table of places."""
    found = []
    for name, rows in sections("names").items():
        held: dict[str, list[str]] = {"make": [], "read": [], "change": [], "write": []}
        for row in filter(None, rows):
            held[row[:8].strip()].append(row[8:].replace("\\n", "\n"))
        make = "".join(f"{line}\n" for line in held["make"])
        found.append(Place(name, make, held["read"], held["change"], held["write"]))
    return found


PLACES = _places()
HEAD = """\
import abc, array, builtins, collections, contextvars, copy, ctypes, dataclasses, enum, functools
import importlib, inspect, operator, sys, threading, types, typing, weakref
import numpy as np
import jax.numpy as jnp
"""
#: what some ways need besides
EXTRA = {
    "W": "W = weakref.ref(O)",
    "P": "P = weakref.proxy(O)",
    "SET": "SET = {O}",
    "LISTED": "LISTED = [O]",
    "TUPLED": "TUPLED = (O,)",
    "DICTED": "DICTED = {'o': O}",
    "DEQUE": "DEQUE = collections.deque([O])",
    "NS": "NS = types.SimpleNamespace(o=O)",
    "REF": "REF = [weakref.ref(O)]",
    "M": "M = types.MappingProxyType(D)",
    "CHAIN": "CHAIN = collections.ChainMap(D)",
    "CHAINED": "CHAINED = L",
    "VIEW_OF": "def VIEW_OF(d):\n    return list(d.values())[0]",
}
VALUES = ("1", "3", "5.5", "2.5", "-4", "0", "True", "100")
KINDS = ("int", "float", "mixed", "array")
FORMS = (
    "    return {read} * x\n",
    "    return {read}, x\n",
    "    k = {read}\n    if x > 2:\n        k = k + 1\n    return k * x\n",
    "    r = x\n    for i in range(2):\n        r = r + {read}\n    return r\n",
    "    if x > 2:\n        return {read} + x\n    return x * 1.0\n",
    "    def h():\n        return {read}\n    return h() + x\n",
    "    try:\n        return {read} + x\n"
    "    except (TypeError, KeyError, AttributeError, ReferenceError):\n        return x\n",
    "    print({read})\n    return x\n",
    "    return [v + {read} for v in (x, 1.0)]\n",
    "    return str({read}), x\n",
    "    return x if {read} == 1 else -x\n",
)
WRITES = (
    "    {write}\n    return x\n",
    "    {write}\n    return {read} + x\n",
    "    before = {read}\n    {write}\n    return before, x\n",
    "    if x > 2:\n        {deeper}\n    return x\n",
    "    for i in range(2):\n        {deeper}\n    return x\n",
    "    try:\n        {deeper}\n    except (TypeError, KeyError, AttributeError, ValueError):\n"
    "        return 'failed'\n    return x\n",
    "    def h():\n        {deeper}\n    h()\n    return x\n",
)


def programs(rng: random.Random) -> Iterator[Program]:
    """Each place in turn, read and written in ways of chance, again and again."""
    while True:
        for place in rng.sample(PLACES, len(PLACES)):
            ways: list[tuple[str, str | None]] = [
                (read, None) for read in rng.sample(place.reads, min(3, len(place.reads)))
            ]
            for write in rng.sample(place.writes, min(2, len(place.writes))):
                ways.append((rng.choice(place.reads), write))
            for read, write in ways:
                program = _program(rng, place, read, write)
                if parses(program.body):  # `global` after a use, for one
                    yield program


def _value(rng: random.Random, kind: str) -> str:
    if kind == "array":
        return f"jnp.float32({rng.choice(['1.5', '2.0', '-3.0'])})"
    if kind == "mixed":
        return rng.choice(VALUES)
    return rng.choice([v for v in VALUES if ("." in v) == (kind == "float")])


def _program(rng: random.Random, place: Place, read: str, write: str | None) -> Program:
    kind = rng.choice(KINDS)
    value = _value(rng, kind)
    read = read.format(v=value)
    made = HEAD + place.make.format(v=value)
    text = read + (write or "")
    words = set(re.findall(r"\w+", text))
    made += "".join(f"{EXTRA[n]}\n" for n in EXTRA if n in words and f"\n{n} =" not in made)
    if "HOLD" in text:
        made += f"HOLD = [{'L' if place.name == 'list item' else 'D'}]\n"
    made += "def g():\n    return K\n" if place.name == "global" else ""
    if write is None:
        inside = rng.choice(FORMS).format(read=read)
    else:
        new = rng.choice([read + " + 1", "x", "x * 2", "3", read + " * x"])
        done = write.format(r=new, v=value)
        inside = rng.choice(WRITES).format(
            write=done, deeper=done.replace("\n", "\n    "), read=read
        )
    steps = []
    for number in range(3):
        x = rng.choice(["1.0", "2.5", "4.0", "jnp.float32(3.0)"])
        steps.append(f"f({x})")
        if number < 2 and (write is None or rng.random() < 0.5):
            steps.append(rng.choice(place.changes).format(v=_value(rng, kind)))
    way = write.format(r="...", v=0) if write else read
    about = f"{place.name}: {' '.join(way.split())}"
    return Program(about, f"{made}\n\ndef f(x):\n{inside}", tuple(steps))
