"""Views: every function and method of NumPy's that gives a view, or writes, found by asking NumPy.

A call is drawn and made once in plain NumPy. Where the result shares memory with the array, the
program writes to one of the two and reads the other; where the array itself has changed, the
program reads it, its other names, and its views.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from .judge import Program

ARRAYS = {
    "a": "np.arange(6, dtype=np.float32)",
    "b": "np.arange(6, dtype=np.float32).reshape(2, 3)",
    "c": "np.arange(9, dtype=np.float32).reshape(3, 3)",
    "d": "np.array([3, 1, 2, 0], np.int32)",
    "e": "np.array([[1.5, np.nan], [np.inf, 2.0]], np.float32)",
}
ARGUMENTS = (
    "0 1 2 -1 None (0,1) (1,0) (3,2) (2,3) (6,) -1 [0,1] [1,0] {v}>1 {v} {v}*2 True 0.5 5.0 "
    "'C' 'F' "
    "np.int32 np.float32 slice(1,3) (2,) (1,2,3) np.array([0,1]) [0,2] (slice(None),0) ... (1,-1)"
).split()
KEYWORDS = (
    "axis=0 axis=-1 axis=1 copy=False k=1 k=0 out={v} order='F' order='C' subok=True offset=1 "
    "indices_or_sections=2 nan=0.0 dtype=np.float32 inplace=True axes=(1,0) where={v}>1"
).split()
INDICES = (
    "0 1:3 :: ::-1 ::2 ... None 1: :-1 :,0 0,: :,::-1 ...,0 None,: 1 -1 {v}>1 [0,1] :,None 0,0 "
    "i i: "
    ":i i,: :,i 0:i"
).split()
LEFT_OUT = frozenset(
    "tofile dump dumps save savez savetxt fromfile memmap load loadtxt genfromtxt info show_config "
    "show_runtime test lookfor source who deprecate setflags seterr seterrcall set_printoptions "
    "setbufsize nditer getbufsize printoptions errstate frompyfunc vectorize from_dlpack "
    "__dlpack__ "
    "resize byteswap setfield getfield tobytes data ctypes savez_compressed fromregex".split()
)
WRITES = (
    "{t}[0] = v",
    "{t}[...] = v",
    "{t} += v",
    "{t} *= 2",
    "{t}[-1] += v",
    "{t}.fill(v)",
    "{t}[i] = v",
    "{t}.sort()",
    "np.add({t}, v, out={t})",
    "np.copyto({t}, v)",
    "{t}.flat[0] = v",
    "{t}[{t} > 1] = v",
    "{t}[::2] = v",
)
#: where the array comes from: the head of the function and the arguments of a call
ORIGINS = {
    "local": ("def f(v, i):\n    {name} = {array}\n", ""),
    "computed": ("def f(v, i):\n    {name} = ({array} * (v * 0 + 1)).astype({dtype})\n", ""),
    "argument": ("def f(v, i, {name}):\n", ", {array}"),
    "copied": ("def f(v, i, {name}):\n    {name} = {name} * 1\n", ", {array}"),
    "global": ("{name} = {array}\n\n\ndef f(v, i):\n", ""),
    "listed": ("def f(v, i, l):\n    {name} = l[0]\n", ", [{array}]"),
}


def programs(rng: random.Random) -> Iterator[Program]:
    """Each function, method and attribute in turn, on arrays of chance, again and again."""
    every = targets()
    while True:
        rng.shuffle(every)
        for target in every:
            for _ in range(25):
                call, name = _call(rng, target)
                effect = _effect(call, name)
                if effect:
                    yield _program(rng, target, call, name, effect)
                    break


def targets() -> list[str]:
    """The functions of NumPy, the methods and attributes of its arrays, and plain indexing."""
    found = [f"[{index}]" for index in INDICES]
    for name in sorted(dir(np)):
        value = getattr(np, name)
        if callable(value) and not isinstance(value, type) and not name.startswith("_"):
            found += [] if name in LEFT_OUT else [f"np.{name}"]
    found += [f"np.{u}.at" for u in ("add", "multiply", "maximum")]
    for name in sorted(dir(np.ndarray)):
        if not name.startswith("_") and name not in LEFT_OUT:
            found.append(f".{name}()" if callable(getattr(np.ndarray, name)) else f".{name}")
    return [*found, "np.lib.stride_tricks.sliding_window_view", "np.lib.stride_tricks.as_strided"]


def _call(rng: random.Random, target: str) -> tuple[str, str]:
    """The text of a call on an array, and the array's name."""
    name = rng.choice(list(ARRAYS))
    if target.startswith("["):
        return f"{name}{target.format(v=name)}", name
    if target.startswith(".") and not target.endswith("()"):
        return name + target, name
    drawn = [rng.choice(ARGUMENTS) for _ in range(rng.choice([0, 0, 1, 1, 2]))]
    if rng.random() < 0.3:
        drawn.append(rng.choice(KEYWORDS))
    arguments = [text.format(v=name) for text in drawn]
    if target.startswith("."):
        return f"{name}{target[:-2]}({', '.join(arguments)})", name
    return f"{target}({', '.join([name, *arguments])})", name


def _effect(call: str, name: str) -> str:
    """What a call does in plain NumPy: 'view', 'views', 'write', or nothing of interest."""
    space: dict[str, Any] = {"np": np, "i": 1}
    exec(f"{name} = {ARRAYS[name]}", space)
    array = space[name]
    before, layout = array.copy(), (array.shape, array.strides, array.dtype)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            result = eval(call, space)
    except Exception:
        return ""
    changed = (array.shape, array.strides, array.dtype) != layout
    if changed or not np.array_equal(array, before, equal_nan=array.dtype.kind == "f"):
        return "write"
    if isinstance(result, np.ndarray) and np.shares_memory(result, array):
        return "view" if result.flags.writeable else "read-only view"
    if isinstance(result, list | tuple) and result:
        first = result[0]
        if isinstance(first, np.ndarray) and np.shares_memory(first, array):
            return "views"
    return ""


def _program(rng: random.Random, target: str, call: str, name: str, effect: str) -> Program:
    head, given = ORIGINS[origin := rng.choice(list(ORIGINS))]
    array = ARRAYS[name]
    dtype = "np.int32" if name == "d" else "np.float32"
    lines = []
    if effect == "write":
        way = rng.choice(["alias", "view", "nothing", "helper"])
        lines += {"alias": [f"w = {name}"], "view": [f"w = {name}[:1]"]}.get(
            way, [f"w = {name}.sum()"]
        )
        lines += [f"(lambda {name}: {call})({name})" if way == "helper" else call]
    else:
        lines += [f"w = {call}" + ("[0]" if effect == "views" else "")]
        written = name if effect == "read-only view" or rng.random() < 0.5 else "w"
        write = rng.choice(WRITES).format(t=written)
        condition = rng.random()
        if condition < 0.15:
            lines += ["if v > 1:", f"    {write}"]
        elif condition < 0.3:
            lines += ["for j in range(2):", f"    {write}"]
        else:
            lines += [write]
    results = rng.choice([f"{name}, w", f"w, {name}", f"{name}.sum(), w + 0", "w", name])
    lines.append(f"return {results}")
    body = head.format(name=name, array=array, dtype=dtype) + "".join(f"    {s}\n" for s in lines)
    arguments = given.format(array=array)
    kinds = ["{}", "{}", "np.float32({})", "jnp.float32({})"]
    # A number of JAX's would make the array one of JAX's, which plain Python does not write.
    kind = rng.choice(kinds[:3] if origin == "computed" else kinds)
    steps = []
    for v, i in rng.sample([("5.0", 1), ("1.0", 0), ("7.5", 1)], 2):
        v = kind.format(v)
        if given and rng.random() < 0.5:
            steps += [f"X = {arguments[2:]}", f"f({v}, {i}, X)"]
        else:
            steps.append(f"f({v}, {i}{arguments})")
    if name == "d":
        steps = [
            s.replace(".0", "").replace(".5", "").replace("float32(", "int32(", 1) for s in steps
        ]
    body = f"import numpy as np\nimport jax.numpy as jnp\n\n\n{body}"
    return Program(f"{origin}: {target}", body, tuple(steps), rounds=True, arrays=True)
