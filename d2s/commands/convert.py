"""``d2s convert``: write modules whose functions are converted."""

from __future__ import annotations

import argparse
import difflib
import io
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from d2s.commands.files import Job, Source, plan, read, write
from d2s.commands.mistakes import Mistake, from_os, from_syntax, say
from d2s.commands.parsers import add_paths, declare
from d2s.commands.progress import progress
from d2s.modules.rewrite import Rewritten, rewrite

HELP = "rewrite Python files: their functions become the code that d2s would run"
EXAMPLES = """\
The functions decorated with d2s.to_static are converted, or the ones you name, or all of them;
everything else is kept byte for byte. A converted function carries the decorator d2s.generated
and is never converted again. Your modules are read, not imported.

examples:
  d2s convert model.py                        print the converted module
  d2s convert model.py -o build/model.py      write it to a file
  d2s convert model.py -o model.py            in place
  d2s convert model.py --diff                 show what would change, write nothing
  d2s convert model.py --function Net.step    a method; repeat the option for more
  d2s convert package -o build/package --all  every function of a whole tree
  d2s convert model.py -o build/model.py --check   is that what would be written now?

exit codes: 0 done; 1 --check found an output that is missing or stale; 2 a mistake, told in one
line on stderr, and nothing was written. Having nothing to convert is a mistake, having converted
everything before is none.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "convert", HELP, EXAMPLES)
    add_paths(parser)
    parser.add_argument(
        "-o",
        dest="output",
        metavar="OUT",
        help="the file or folder to write to; needed for a folder. All Python files of a folder "
        "are written, also those without a function to convert",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--function",
        dest="functions",
        metavar="NAME",
        action="append",
        default=[],
        help="convert this function (f, Class.method, outer.inner); may be repeated",
    )
    which.add_argument(
        "--all",
        dest="everything",
        action="store_true",
        help="convert every function that can be; the others are named on stderr",
    )
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--diff", action="store_true", help="print a unified diff and write nothing")
    how.add_argument(
        "--check",
        action="store_true",
        help="write nothing; exit with 1 when what was written to -o before is missing or stale",
    )
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class _Done:
    job: Job
    source: Source
    result: Rewritten
    data: bytes


def run(arguments: argparse.Namespace) -> int:
    """Convert everything in memory, and write only when all of it went well."""
    output: str | None = arguments.output
    if arguments.diff and output is not None:
        raise Mistake("--diff writes nothing: leave -o out")
    if arguments.check and output is None:
        raise Mistake("--check needs -o: the file or folder that was written")
    names = frozenset(name.replace(".<locals>.", ".") for name in arguments.functions)
    work = plan(arguments.paths, output, needs_output=not arguments.diff)
    done: list[_Done] = []
    mistakes: list[Mistake] = []
    sources = {str(job.source): job for job in work.jobs}
    for name in progress(list(sources)) if work.has_folder else list(sources):
        try:
            done.append(_convert(sources[name], names, arguments.everything))
        except Mistake as mistake:
            mistakes.append(mistake)
    if mistakes:
        for found in mistakes:
            say(found)
        return 2
    _check(done, names, arguments.everything, arguments.paths)
    for one in done:
        for function, reason in one.result.left:
            place = f"{one.job.source}:{function.node.lineno}"
            say(f"{place}: {function.qualname} is left as it is: {reason}")
    if arguments.check:
        return int(any([_is_stale(one) for one in done]))
    for one in done:
        _put(one, arguments.diff)
    if work.has_folder and not arguments.diff:
        count = sum(len(one.result.converted) for one in done)
        changed = sum(bool(one.result.converted) for one in done)
        say(
            f"{count} functions converted in {changed} of {len(done)} Python files, written to "
            f"{output}; not copied: {len(work.others)} other files"
        )
    return 0


def _convert(job: Job, names: frozenset[str], everything: bool) -> _Done:
    source = read(job.source)
    try:
        result = rewrite(source.text, str(job.source), names, everything)
    except SyntaxError as error:
        raise from_syntax(error, job.source) from error
    return _Done(job, source, result, source.encoded(result.text))


def _check(
    done: Sequence[_Done], names: frozenset[str], everything: bool, paths: Sequence[Path]
) -> None:
    """Every name must mean a function, and something must have been converted, now or before."""
    known = frozenset[str]().union(*(one.result.names for one in done))
    place = paths[0] if len(paths) == 1 else None
    for name in sorted(names - known):
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise Mistake(f"no function {name}{hint}", place)
    if not any(one.result.converted or one.result.already for one in done):
        why = "no function is decorated with d2s.to_static; choose by --function or --all"
        if everything:
            why = "there is no function that can be converted"
            for function, reason in (pair for one in done for pair in one.result.left):
                why += f"; {function.qualname} is left as it is: {reason}"
                break  # one line tells one reason
        raise Mistake(f"nothing to convert: {why}", place)


def _is_stale(one: _Done) -> bool:
    """Whether the target is not what would be written; says so."""
    target = one.job.target
    assert target is not None, "--check needs -o"
    if not target.exists():
        say(f"{target} is missing; it would be made from {one.source.path}")
    elif read(target).data != one.data:
        say(f"{target} is stale: {one.source.path} has another conversion now")
    else:
        return False
    return True


def _put(one: _Done, diff: bool) -> None:
    source, target = one.source, one.job.target
    if diff:
        _print(_diff(source, one.data))
    elif target is None:
        _print(one.data)
    else:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise from_os(error, target.parent) from error
        write(target, one.data, source.path)


def _diff(source: Source, data: bytes) -> bytes:
    """A unified diff in the bytes of the file, so that it can be applied as a patch."""
    name = os.fsencode(source.path)
    before, after = (io.BytesIO(d).readlines() for d in (source.data, data))
    lines = difflib.diff_bytes(difflib.unified_diff, before, after, name, name)
    end = b"\n\\ No newline at end of file\n"
    return b"".join(line if line.endswith(b"\n") else line + end for line in lines)


def _print(data: bytes) -> None:
    if sys.stdout is None:
        raise Mistake("standard output is closed")
    rest = memoryview(data)
    while rest:  # unbuffered, it may take less than it is given
        rest = rest[sys.stdout.buffer.write(rest) :]
