"""From a seed to a program.

Programs end: loops have counters nothing else writes to. Their numbers are exact: integers are
kept small by `%`, floats are multiples of 1/4, so no answer hangs on how something is rounded.
They stay away from what `docs/differences.md` names: no index is out of range, no divisor is zero.
They do not stay away from what d2s refuses: people do not know what that is when they write.
"""

from __future__ import annotations

import random
from collections.abc import Iterable

# They register their productions.
from . import algorithms, boxes, effects, expressions, extras, failures, habits, loops, statements  # noqa: F401  # noqa: F401
from .program import Program
from .writer import POOLS, Writer, indented, result

FLAVOURS = ("static", "traced", "traced", "mixed")
PARAMETERS = (
    *("int", "int", "int", "float", "float", "float", "bool", "vec", "vec", "ivec"),
    *("mat", "pair", "list", "dict", "array int", "array float", "array bool"),
    *("buffer", "items", "list", "grid", "text"),
)


def cell(rng: random.Random, kind: str) -> str:
    """The text of one argument."""
    whole = str(rng.randint(-3, 6))
    part = str(rng.randint(-8, 20) / 4)
    match kind:
        case "int":
            return whole
        case "float":
            return part
        case "bool":
            return str(rng.random() < 0.5)
        case "array int":
            return f"jnp.int32({whole})"
        case "array float":
            return f"jnp.float32({part})"
        case "array bool":
            return f"jnp.bool_({rng.random() < 0.5})"
        case "vec":
            return f"jnp.array([{', '.join(cell(rng, 'float') for _ in range(3))}], jnp.float32)"
        case "ivec":
            return f"jnp.array([{', '.join(cell(rng, 'int') for _ in range(3))}], jnp.int32)"
        case "mat":
            rows = [f"[{', '.join(cell(rng, 'float') for _ in range(3))}]" for _ in range(2)]
            return f"jnp.array([{', '.join(rows)}], jnp.float32)"
        case "pair":
            return f"({whole}, {part})"
        case "list":
            return f"[{', '.join(cell(rng, 'int') for _ in range(3))}]"
        case "dict":
            return f"{{'a': {whole}, 'b': {part}}}"
        case "buffer":
            return f"np.array([{', '.join(cell(rng, 'float') for _ in range(3))}], np.float32)"
        case "items":
            return f"[{', '.join(cell(rng, 'int') for _ in range(rng.randint(0, 4)))}]"
        case "grid":
            return f"[[{cell(rng, 'int')}, {cell(rng, 'int')}], [{cell(rng, 'int')}, 1]]"
        case "text":
            return repr(rng.choice(["", "a", "low", "big", "ab"]))
    raise AssertionError(kind)


def generate(seed: int, features: Iterable[str] = ()) -> Program:
    """The program of a seed: the same one every time."""
    rng = random.Random(seed)
    w = Writer(rng, frozenset(features), budget=rng.randint(3, 14))
    parameters: dict[str, str] = {}
    for _ in range(rng.randint(2, 4)):
        kind = rng.choice(PARAMETERS)
        plain = kind.removeprefix("array ")
        free = [name for name in POOLS[plain] if name not in parameters]
        if free:
            parameters[free[0]] = kind
            w.bound[free[0]] = plain
    w.given = frozenset(parameters)
    if not any(kind in ("int", "float", "bool") for kind in parameters.values()):
        parameters["a"] = "int"
        w.bound["a"] = "int"
    some = ["int", "float", "bool", "vec", "ivec", "mat", "pair", "list", "dict", "nest"]
    some += ["text", "items", "grid", "option", "buffer"]
    likely = [*w.bound.values(), "int", "float", rng.choice(some)]
    w.returns = tuple(rng.choice(likely) for _ in range(rng.choice([1, 2, 3, 3])))
    lines: list[str] = []
    for _ in range(rng.randint(2, 6)):
        lines += w.statement()
        if w.leaves:
            break
    if not w.leaves:
        lines.append(f"return {result(w)}")
    rows = [tuple(cell(rng, kind) for kind in parameters.values()) for _ in range(2)]
    if rng.random() < 0.3:  # some arguments are the same in both calls
        stay = rng.randrange(len(parameters))
        rows[1] = tuple(rows[0][i] if i == stay else c for i, c in enumerate(rows[1]))
    body = "\n".join([f"def f({', '.join(parameters)}):", *indented(lines)])
    return Program(seed, body, tuple(rows), rng.choice(FLAVOURS), frozenset(w.used))
