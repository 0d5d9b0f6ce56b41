"""``d2s check``: which functions would not convert."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict, dataclass
from pathlib import Path

from d2s.commands.files import plan, read
from d2s.commands.mistakes import Mistake, from_syntax, say
from d2s.commands.parsers import add_paths, declare
from d2s.commands.progress import progress
from d2s.modules.rewrite import Unconverted, check

HELP = "say which functions d2s would refuse to convert"
EXAMPLES = """\
Every function of the files is converted in memory; nothing is written and nothing imported.
Generators, coroutines and functions marked with d2s.do_not_convert run as they are, which is no
error; --verbose names them.

examples:
  d2s check package                   every function of a tree
  d2s check model.py --decorated      only what is decorated with d2s.to_static
  d2s check package --json            the same as data

exit codes: 0 everything converts; 1 something does not; 2 a mistake, told in one line on stderr.
"""


@dataclass(frozen=True)
class Finding:
    """A function that would not convert."""

    path: str
    line: int
    column: int
    function: str
    code: str
    what: str
    fix: str

    def __str__(self) -> str:
        fix = f"; write instead: {self.fix}" if self.fix else ""
        what = " ".join(self.what.split())
        return f"{self.path}:{self.line}:{self.column}: {self.code}: {self.function}: {what}{fix}"


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "check", HELP, EXAMPLES)
    add_paths(parser)
    parser.add_argument(
        "--decorated", action="store_true", help="only functions decorated with d2s.to_static"
    )
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    parser.add_argument(
        "--verbose", action="store_true", help="name the functions that run as they are, too"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    jobs = plan(arguments.paths, None, needs_output=False).jobs
    names = list(dict.fromkeys(str(job.source) for job in jobs))
    count, findings, as_they_are = 0, list[Finding](), list[str]()
    mistakes: list[Mistake] = []
    for name in progress(names) if len(names) > 1 else names:
        try:
            converted, refused = _check(name, arguments.decorated)
        except Mistake as mistake:
            mistakes.append(mistake)
            continue
        count += converted
        findings += [_finding(name, one) for one in refused if not one.reason]
        as_they_are += [
            f"{name}:{one.function.node.lineno}: {one.function.qualname} runs as it is: "
            f"{one.reason}"
            for one in refused
            if one.reason
        ]
    for told in mistakes:
        say(told)
    failed = 2 if mistakes else int(bool(findings))
    if arguments.json:
        unread = [{"path": str(one.place), "line": one.line, "what": one.what} for one in mistakes]
        found = {"converts": count, "refused": [asdict(f) for f in findings], "unread": unread}
        print(json.dumps(found, indent=2))
        return failed
    for line in [*map(str, findings), *(as_they_are if arguments.verbose else ())]:
        print(line)
    print(
        f"{_many(count)} would be converted, {len(findings)} refused, "
        f"{len(as_they_are)} run as they are, in {len(names)} file{'s' * (len(names) != 1)}"
    )
    return failed


def _check(path: str, decorated: bool) -> tuple[int, list[Unconverted]]:
    source = read(Path(path))
    try:
        return check(source.text, path, decorated)
    except SyntaxError as error:
        raise from_syntax(error, path) from error
    except RecursionError as error:
        raise Mistake("nested too deeply to parse", path) from error


def _many(count: int) -> str:
    return f"{count} function{'s' * (count != 1)}"


def _finding(path: str, refused: Unconverted) -> Finding:
    error, node = refused.error, refused.function.node
    line, column = node.lineno, node.col_offset
    if error.site is not None:
        line, column = error.site.line, error.site.column
    name = refused.function.qualname
    return Finding(path, line, column + 1, name, error.code, error.what, error.fix)
