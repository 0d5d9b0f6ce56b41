"""``d2s run``: a saved function on arrays from files."""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from typing import Any

import numpy as np

from d2s.commands.mistakes import Mistake
from d2s.commands.parsers import add_many, declare
from d2s.commands.saved import argument, arrays, load
from d2s.errors import Error

HELP = "run a saved function on arrays from files"
EXAMPLES = """\
An input is a file of NumPy's (x.npy; x.npz is a dict), a value as Python writes it (3, 0.5,
[1, 2]), or name=INPUT. Files with Python objects in them are refused.

examples:
  d2s run model.d2s --input x.npy                   show the result
  d2s run model.d2s --input x=x.npy -o out.npz      write its arrays to a file
  d2s run model.d2s --input x.npy --repeat 100      and the time of a call
  d2s run model.d2s --method step --input x.npy

exit codes: 0 done; 1 the function raised, or d2s refuses the file or an input; 2 a mistake, told
in one line on stderr.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "run", HELP, EXAMPLES)
    parser.add_argument("file", metavar="FILE.d2s", help="what d2s export or d2s.save has written")
    add_many(parser, "--input", "inputs", "INPUT", "the arguments, in order or by name")
    parser.add_argument("--method", metavar="NAME", help="of an object, which method to call")
    parser.add_argument("-o", "--output", metavar="FILE.npz", help="where the arrays go")
    parser.add_argument(
        "--repeat", metavar="N", type=int, default=1, help="call it so often, and tell the time"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.repeat < 1:
        raise Mistake("--repeat: a number from 1 on is expected")
    if arguments.output is not None and not arguments.output.endswith(".npz"):
        raise Mistake(
            "arrays are written to a file of NumPy's: write -o FILE.npz", arguments.output
        )
    given = [argument(text) for text in arguments.inputs]
    args = [value for name, value in given if name is None]
    kwargs = {name: value for name, value in given if name is not None}
    try:
        loaded = load(arguments.file)
        function = loaded if arguments.method is None else _method(loaded, arguments.method)
        start = time.perf_counter()
        result = _ended(function(*args, **kwargs))
        first = time.perf_counter() - start
        times = [_seconds(function, args, kwargs) for _ in range(arguments.repeat - 1)]
    except (Mistake, OSError):
        raise
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    if arguments.output is None:
        print(result)
    else:
        found: dict[str, Any] = {name: np.asarray(value) for name, value in arrays(result)}
        np.savez(arguments.output, **found)
    if times:
        middle = statistics.median(times) * 1e6
        said = f"first call {first * 1e3:.1f} ms, then {middle:.1f} us (median of {len(times)})"
        print(said, file=sys.stderr)
    return 0


def _method(loaded: Any, name: str) -> Any:
    if name not in loaded.methods:
        raise Mistake(f"there is no method {name}; there are {', '.join(loaded.methods)}")
    return loaded.methods[name]


def _ended(result: Any) -> Any:
    """A result whose arrays are there."""
    for _, value in arrays(result):
        if hasattr(value, "block_until_ready"):
            value.block_until_ready()
    return result


def _seconds(function: Any, args: list[Any], kwargs: dict[str, Any]) -> float:
    start = time.perf_counter()
    _ended(function(*args, **kwargs))
    return time.perf_counter() - start
