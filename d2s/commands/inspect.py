"""``d2s inspect``: the generated code, the graph, and what it costs."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from d2s.commands import saved
from d2s.commands.mistakes import Mistake
from d2s.commands.parsers import declare
from d2s.commands.targets import HELP as TARGETS
from d2s.commands.targets import add_target, load
from d2s.commands.use import call
from d2s.errors import Error

HELP = "show what a function becomes: code, graph, cost"
EXAMPLES = f"""\
{TARGETS}
examples:
  d2s inspect model.py:f                            the generated code
  d2s inspect model.py:f --spec "f32[3]"            and the jaxpr and the cost for such arguments
  d2s inspect model.py:f --spec float --show hlo    only the StableHLO
  d2s inspect model.py:f --spec "f32[b]" --size b=8 --show optimized
  d2s inspect model.d2s                             what a saved function takes, gives and keeps
  d2s inspect model.d2s --show hlo                  its graph; also code and source

exit codes: 0 done; 1 d2s refuses the function; 2 a mistake, told in one line on stderr.
"""
PARTS = ("code", "source", "jaxpr", "hlo", "optimized", "cost", "backward")


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "inspect", HELP, EXAMPLES)
    add_target(parser)
    parser.add_argument(
        "--show",
        metavar="PART",
        nargs="+",
        choices=PARTS,
        help=f"what to show: {', '.join(PARTS)}",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if saved.is_saved(arguments.target):
        if arguments.specs or arguments.sizes:
            raise Mistake(
                "a saved function has its own specifications: leave --spec and --size out",
                arguments.target,
            )
        return _show_file(arguments.target, arguments.show or [])
    function = load(arguments.target)
    return call(
        arguments, function, lambda static, args, kwargs: _show(static, arguments, args, kwargs)
    )


def _show(
    static: Any, arguments: argparse.Namespace, args: list[Any], kwargs: dict[str, Any]
) -> int:
    has_specs = bool(arguments.specs) or static.examples is not None
    known = ["code", "jaxpr", "cost"] if has_specs else ["code"]
    parts: list[str] = arguments.show or known
    for part in parts:
        if len(parts) > 1:
            print(f"-- {part} " + "-" * (76 - len(part)))
        if part in ("code", "source"):
            print(getattr(static, part).rstrip("\n"))
        elif part == "jaxpr":
            print(static.jaxpr(*args, **kwargs))
        elif part == "backward":
            print(static.grad_jaxpr(*args, **kwargs))
        elif part == "cost":
            print(static.cost(*args, **kwargs))
        else:
            print(static.hlo(*args, optimized=part == "optimized", **kwargs).rstrip("\n"))
    return 0


def _show_file(path: str, parts: list[str]) -> int:
    """A saved function: what it is, or the parts of it that were asked for."""
    try:
        loaded = saved.load(path)
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    if not parts:
        print("\n".join(saved.summary(path, loaded)))
    for part in parts:
        if part not in saved.PARTS:
            raise Mistake(f"a saved function has no {part}; it has {', '.join(saved.PARTS)}", path)
        for name, method in loaded.methods.items():
            if len(parts) > 1 or len(loaded.methods) > 1:
                print(f"-- {name}: {part} " + "-" * max(72 - len(part) - len(name), 0))
            text = method.hlo() if part == "hlo" else getattr(method, part)
            print("(it was saved without its source)" if text is None else text.rstrip("\n"))
    return 0
