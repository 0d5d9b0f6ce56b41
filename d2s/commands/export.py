"""``d2s export``: a function as a file that runs without its source."""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from d2s.commands.mistakes import Mistake
from d2s.commands.parsers import declare
from d2s.commands.targets import HELP as TARGETS
from d2s.commands.targets import add_specs, load
from d2s.commands.targets import arguments as parsed
from d2s.commands.use import told
from d2s.deploy import saving
from d2s.errors import Error
from d2s.options.constraints import known
from d2s.options.specs import Spec

HELP = "save a function as one file that runs without its source"
EXAMPLES = f"""\
{TARGETS}
Dimensions that have names stay open: the file takes arrays of any size there.

examples:
  d2s export model.py:f --spec "f32[b, 784]" -o f.d2s
  d2s export model.py:f --spec "f32[b, 784]" --constraint "b >= 2" --gradients 1 -o f.d2s
  d2s export model.py:f --spec "f32[8, 784]" -o f.d2s --mlir    and f.mlir, for other tools
  d2s export model.py:f --spec "f32[8, 784]" -o f.mlir          plain StableHLO alone

exit codes: 0 done; 1 d2s refuses the function; 2 a mistake, told in one line on stderr.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "export", HELP, EXAMPLES)
    parser.add_argument("target", metavar="FILE.py:NAME", help="the function to save")
    add_specs(parser)
    parser.add_argument(
        "--constraint",
        dest="constraints",
        metavar="TEXT",
        action="append",
        default=[],
        help='what is known of named dimensions: "b >= 2"',
    )
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="where it goes")
    parser.add_argument(
        "--platform",
        dest="platforms",
        metavar="NAME",
        nargs="+",
        default=["cpu", "cuda", "tpu"],
        help="where it can run: cpu, cuda, rocm, tpu",
    )
    parser.add_argument(
        "--gradients", metavar="N", type=int, default=0, help="how often it can be differentiated"
    )
    parser.add_argument("--no-source", action="store_true", help="leave the source out")
    parser.add_argument(
        "--mlir", action="store_true", help="write the StableHLO beside it, as FILE.mlir"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    function = load(arguments.target)
    if arguments.constraints and not arguments.specs:
        raise Mistake("--constraint: the dimensions that it names are those of --spec")
    args, kwargs = _given(parsed(arguments.specs), _constraints(arguments.constraints))
    output = Path(arguments.output)

    def export() -> int:
        if output.suffix != ".mlir":
            _save(function, output, args, kwargs, arguments, arguments.platforms)
        if arguments.mlir or output.suffix == ".mlir":
            with tempfile.TemporaryDirectory() as folder:
                beside = Path(folder) / "graph.d2s"
                # for one platform: the graph of several has a switch in it
                _save(function, beside, args, kwargs, arguments, arguments.platforms[:1])
                text = saving.load(beside).hlo()
            output.with_suffix(".mlir").write_text(text, encoding="utf-8")
        return 0

    return told(arguments.target, export)


def _save(
    function: Any,
    path: Path,
    args: list[Any],
    kwargs: dict[str, Any],
    arguments: argparse.Namespace,
    platforms: list[str],
) -> None:
    saving.save_named(
        function,
        path,
        args,
        kwargs,
        platforms=platforms,
        vjp_order=arguments.gradients,
        source=not arguments.no_source,
    )


def _constraints(texts: list[str]) -> tuple[str, ...]:
    try:
        return known(texts)
    except Error as error:
        raise Mistake(f"--constraint: {error.what}; write {error.fix}") from error


def _given(value: Any, constraints: tuple[str, ...]) -> Any:
    """Specifications with what is known of their dimensions; texts as `d2s.save` takes them."""
    if isinstance(value, str):
        return repr(value)
    if isinstance(value, Spec):
        return Spec(value.dtype, value.shape, value.name, value.open, constraints)
    if isinstance(value, list | tuple):
        return type(value)(_given(part, constraints) for part in value)
    if isinstance(value, dict):
        return {key: _given(part, constraints) for key, part in value.items()}
    return value
