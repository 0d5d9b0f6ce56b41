"""``d2s verify``: plain against static on generated inputs."""

from __future__ import annotations

import argparse
import functools
import types
from typing import Any

from d2s import api
from d2s.commands import targets
from d2s.commands.mistakes import Mistake
from d2s.commands.parsers import declare
from d2s.commands.targets import add_target, load, static_of
from d2s.commands.use import told
from d2s.report.verification import Outcome, as_numpy, difference, needs_numpy, outcome
from d2s.static import plain

#: more seconds than the system counts
_LONG = 1e6
HELP = "run a function plain and static on generated inputs, and report the first difference"
EXAMPLES = f"""\
{targets.HELP}
Values, exceptions with their messages, printed text, changed arguments and globals are compared;
floats up to rounding. The module is loaded twice, so that each function has globals of its own.
Named dimensions take several sizes. An input on which the plain function does not end in time is
passed over.

examples:
  d2s verify model.py:f --spec "f32[b, 3]"
  d2s verify model.py:f --spec float --runs 100 --seed 7

exit codes: 0 no difference; 1 a difference, or d2s refuses the function; 2 a mistake.
"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command and its arguments."""
    parser = declare(commands, "verify", HELP, EXAMPLES)
    add_target(parser)
    parser.add_argument("--runs", type=int, default=20, help="how many inputs (20)")
    parser.add_argument("--seed", type=int, default=0, help="where the generator starts (0)")
    parser.add_argument(
        "--seconds", type=float, default=5.0, help="how long a plain call may take (5); 0: any time"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if arguments.runs < 1:
        raise Mistake("--runs must be at least 1")
    if not 0 <= arguments.seconds < _LONG:
        raise Mistake("--seconds must be a number of seconds; 0 is for no limit")
    if arguments.seed < 0:
        raise Mistake("--seed must not be negative")
    return told(arguments.target, lambda: _verify(arguments))


def _verify(arguments: argparse.Namespace) -> int:
    from d2s.backends.lax.function.samples import Generator

    static, _, owner = _apart(load(arguments.target))
    wanted = targets.wanted(arguments.specs, static)
    generator = Generator(arguments.seed, targets.sizes(arguments.sizes, wanted))
    passed, skipped = 0, 0
    plain_one: Any = None
    in_numpy = False
    for number in range(1, arguments.runs + 1):
        given = generator.next(wanted)
        if plain_one is None:
            plain_one = _apart(load(arguments.target))
        before = _plain_outcome(plain_one, given, in_numpy, arguments.seconds)
        if before is not None and not in_numpy and needs_numpy(before):
            in_numpy, plain_one = True, _apart(load(arguments.target))
            before = _plain_outcome(plain_one, given, in_numpy, arguments.seconds)
        if before is None:
            # what it did to its globals until then, the static one has not done
            plain_one, (static, _, owner) = None, _apart(load(arguments.target))
            skipped += 1
            continue
        after = outcome(static, [*owner, *given[0]], given[1], 0)
        assert after is not None, "without a limit every call ends"
        found = difference(before, after)
        if found:
            print(f"input {number}: {_shown(*given)}\n{found}")
            return 1
        passed += 1
    if not passed:
        raise Mistake(f"the plain function did not end once within {arguments.seconds:g} s")
    many = f"{passed} input{'s' * (passed != 1)}"
    print(f"{many}: plain and static agree{_skipped(skipped, arguments.seconds)}")
    return 0


def _plain_outcome(
    apart: tuple[Any, Any, list[Any]], given: Any, in_numpy: bool, seconds: float
) -> Outcome | None:
    _, original, owner = apart
    args, kwargs = as_numpy(given) if in_numpy else given
    return outcome(original, [*owner, *args], kwargs, seconds)


def _apart(function: Any) -> tuple[Any, Any, list[Any]]:
    """A function static and plain, and its object: each call then gets a copy of that, too."""
    static, original = static_of(function), plain(function)
    if isinstance(original, types.MethodType):
        inner = static.__func__ if isinstance(static, types.MethodType) else None
        return inner or api.to_static(original.__func__), original.__func__, [original.__self__]
    if not isinstance(original, types.FunctionType | functools.partial):
        call = type(original).__call__
        if isinstance(call, types.FunctionType):
            return api.to_static(call), call, [original]
    return static, original, []


def _shown(args: list[Any], kwargs: dict[str, Any]) -> str:
    parts = [*map(repr, args), *(f"{name}={value!r}" for name, value in kwargs.items())]
    return ", ".join(parts) or "no arguments"


def _skipped(count: int, seconds: float) -> str:
    return f"; {count} passed over, where plain took over {seconds:g} s" if count else ""
