"""What all commands have in common: help with examples."""

from __future__ import annotations

import argparse
from pathlib import Path


def declare(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    summary: str,
    examples: str,
) -> argparse.ArgumentParser:
    """The parser of a command: one line on what it does, and examples below its arguments."""
    return commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=examples,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_paths(parser: argparse.ArgumentParser) -> None:
    """Declare the files of a command that reads modules and imports none."""
    parser.add_argument(
        "paths", nargs="+", type=Path, metavar="FILE|DIR", help="a Python file, or a tree of them"
    )


def add_many(
    parser: argparse.ArgumentParser, flag: str, dest: str, metavar: str, help: str
) -> None:
    """Declare an option that takes several words, and may be given several times."""
    parser.add_argument(
        flag, dest=dest, metavar=metavar, nargs="+", action="extend", default=[], help=help
    )
