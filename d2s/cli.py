"""The command ``d2s``: its commands, and how they end."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from d2s import __version__
from d2s.commands import check, convert, explain, export, inspect, run, verify
from d2s.commands.mistakes import Mistake, from_os, say

COMMANDS = (convert, check, inspect, explain, verify, export, run)
EXAMPLES = """\
examples:
  d2s convert model.py --diff    what becomes of the decorated functions of a file
  d2s check package              which functions d2s would refuse, for CI
  d2s explain D2S012             what an error means and what to write instead
  d2s explain model.py:f --spec float    what became of each statement, and why
  d2s inspect model.py:f --spec float    the generated code, the graph, its cost
  d2s verify model.py:f --spec float     plain against static on generated inputs
  d2s export model.py:f --spec "f32[b]" -o f.d2s    a file that runs without the source
  d2s run f.d2s --input x.npy            run it

`d2s COMMAND --help` tells more, with examples.
"""


class _Parser(argparse.ArgumentParser):
    """A parser that tells a mistake in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"d2s: {message} (see {self.prog} --help)\n")


def parser() -> argparse.ArgumentParser:
    """The arguments of all commands."""
    made = _Parser(
        prog="d2s",
        description="Plain Python control flow becomes static JAX graphs.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--version", action="version", version=f"d2s {__version__}")
    commands = made.add_subparsers(metavar="COMMAND", required=True)
    for command in COMMANDS:
        command.add(commands)
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code."""
    try:
        options = parser().parse_args(arguments)
        code: int = options.run(options)
        if sys.stdout is not None:
            sys.stdout.flush()
        return code
    except Mistake as mistake:
        say(mistake)
        return 2
    except BrokenPipeError:
        _drop_output()
        return 141  # as a program that the closed pipe has ended
    except OSError as error:
        _drop_output()
        say(from_os(error, error.filename or "standard output"))
        return 2
    except KeyboardInterrupt:
        return 130


def _drop_output() -> None:
    """What is still buffered has nowhere to go; Python would complain at its end."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
