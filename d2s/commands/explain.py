"""``d2s explain``: what an error code means, or what became of a function's statements."""

from __future__ import annotations

import argparse
import json
from typing import Any

from d2s import manual
from d2s.commands.mistakes import Mistake
from d2s.commands.parsers import declare
from d2s.commands.targets import HELP as TARGETS
from d2s.commands.targets import add_sizes, add_specs, load
from d2s.commands.use import call
from d2s.errors import CODES

HELP = "explain an error code, or what becomes of each control-flow statement of a function"
EXAMPLES = f"""\
A code is explained by a program that stops with it and one that works. For a function, each
statement is shown with what it becomes for such arguments, why, and the variables it carries.

{TARGETS}
examples:
  d2s explain D2S012                        one code; also 12, or d2s012
  d2s explain                               all codes, one line each
  d2s explain model.py:f --spec "f32[3]"    a function
  d2s explain model.py:f --spec float --format json

exit codes: 0 done; 1 d2s refuses the function; 2 a mistake, told in one line on stderr.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "explain", HELP, EXAMPLES)
    parser.add_argument(
        "target", nargs="?", metavar="CODE|FILE.py:NAME", help="an error code, or a function"
    )
    add_specs(parser)
    add_sizes(parser)
    parser.add_argument(
        "--format",
        choices=("text", "json", "html"),
        default="text",
        help="how it is shown: text (in colours on a terminal), json, or html for a function",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.format == "html" and ":" not in (arguments.target or ""):
        raise Mistake("--format html is for functions; a code is shown as text or json")
    if arguments.target is None:
        lines = "\n".join(f"{code}  {meaning}" for code, meaning in CODES.items())
        print(json.dumps(CODES, indent=2) if arguments.format == "json" else lines)
        return 0
    if ":" in arguments.target:
        function = load(arguments.target)
        return call(
            arguments,
            function,
            lambda static, args, kwargs: _show(static, arguments.format, args, kwargs),
        )
    code = _code(arguments.target)
    text = manual.for_terminal(code)
    if arguments.format == "json":
        text = json.dumps({"code": code, "meaning": CODES[code], "text": text}, indent=2) + "\n"
    print(text, end="")
    return 0


def _show(static: Any, how: str, args: list[Any], kwargs: dict[str, Any]) -> int:
    found = static.explain(*args, **kwargs)
    texts = {"text": found.__str__, "json": found.json, "html": found.html}
    print(texts[how]())
    return 0


def _code(text: str) -> str:
    digits = text.upper().removeprefix("D2S")
    code = f"D2S{digits:0>3}"
    if code not in CODES:
        raise Mistake(f"there is no error code {text}; d2s explain shows them all")
    return code
