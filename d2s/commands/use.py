"""Using a function of the user's from the command line: what it raises is told, not thrown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from d2s.commands import targets
from d2s.commands.mistakes import Mistake, from_os
from d2s.errors import Error


def call(
    arguments: argparse.Namespace,
    function: Any,
    run: Callable[[Any, list[Any], dict[str, Any]], int],
) -> int:
    """Run a command on a static function and the arguments that --spec describes."""
    from d2s.backends.lax.function.inspection import structs
    from d2s.backends.lax.function.samples import example

    def use() -> int:
        static = targets.static_of(function)
        wanted: Any = targets.wanted(arguments.specs, static)
        sizes = targets.sizes(arguments.sizes, wanted)
        return run(static, *structs(example(wanted), sizes))

    return told(arguments.target, use)


def told(target: str, run: Callable[[], int]) -> int:
    """Run a command; 1 when d2s refuses the function, which is told as any other error."""
    try:
        return run()
    except (Mistake, BrokenPipeError):
        raise
    except OSError as error:
        raise from_os(error) from error
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        what = " ".join(str(error).split())
        raise Mistake(f"{target}: {type(error).__name__}: {what}") from error
