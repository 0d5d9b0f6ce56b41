"""Exits in every nesting of loops, handlers, `finally` and `with`, on plain values.

Programs are drawn at random; bits from outside decide which way each run takes.
"""

from __future__ import annotations

import itertools
import linecache
import random
import warnings
from collections.abc import Iterator

import pytest

import d2s


class Manager:
    def __init__(self, log: list[object], swallows: bool) -> None:
        self.log, self.swallows = log, swallows

    def __enter__(self) -> None:
        self.log.append("in")

    def __exit__(self, kind: object, *_: object) -> bool:
        self.log.append(("out", kind))
        return self.swallows


def indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def leaf(draw: random.Random, in_loop: bool) -> str:
    ways = [f"log.append({draw.randint(0, 9)})"]
    ways += [f"if next(bits): return {draw.randint(0, 9)}", "if next(bits): raise KeyError"]
    if in_loop:
        ways += ["if next(bits): break", "if next(bits): continue", "break", "continue"]
    return draw.choice([*ways, f"return {draw.randint(0, 9)}"])


def block(draw: random.Random, depth: int, in_loop: bool) -> list[str]:
    lines: list[str] = []
    for _ in range(draw.randint(1, 2)):
        lines += statement(draw, depth, in_loop)
    return lines


def statement(draw: random.Random, depth: int, in_loop: bool) -> list[str]:
    kind = draw.random()
    if depth == 0 or kind < 0.3:
        return [leaf(draw, in_loop)]

    def inside(head: str, loop: bool = in_loop) -> list[str]:
        return [head, *indented(block(draw, depth - 1, loop))]

    if kind < 0.45:
        lines = inside(draw.choice(["for i in range(3):", "while next(bits):"]), loop=True)
        return lines + (inside("else:") if draw.random() < 0.4 else [])
    if kind < 0.75:
        lines, parts = inside("try:"), draw.random()
        if parts < 0.5:
            lines += inside("except KeyError as error:")
        if parts < 0.2:
            lines += inside("else:")
        return lines + (inside("finally:") if parts > 0.35 else [])
    if kind < 0.87:
        return inside(f"with Manager(log, {draw.choice(['True', 'False'])}):")
    return inside("if next(bits):") + (inside("else:") if draw.random() < 0.5 else [])


def ways(draw: random.Random) -> Iterator[bool]:
    first = [draw.random() < 0.35 for _ in range(60)]
    return itertools.chain(first, itertools.cycle([True, False]))


@pytest.mark.full
@pytest.mark.parametrize("start", range(0, 400, 50))
def test_exits_in_each_other(start: int) -> None:
    for seed in range(start, start + 50):
        draw = random.Random(seed)
        lines = ["def f(bits, log):", *indented(block(draw, 4, False)), "    return log[-1:]"]
        text = "\n".join(lines) + "\n"
        name = f"<nest {seed}>"
        linecache.cache[name] = len(text), None, text.splitlines(True), name
        names: dict[str, object] = {"Manager": Manager}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(compile(text, name, "exec"), names)
        plain = names["f"]
        converted = d2s.convert(plain)
        for run in range(4):
            ends = [end(f, ways(random.Random(seed * 10 + run))) for f in (plain, converted)]
            assert ends[0] == ends[1], f"seed {seed}\n{text}"
        del linecache.cache[name]


def end(function: object, bits: Iterator[bool]) -> tuple[object, list[object]]:
    log: list[object] = []
    try:
        return function(itertools.islice(bits, 400), log), log
    except Exception as error:
        return type(error), log
