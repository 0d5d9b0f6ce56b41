"""Using a function of the user's from the command line: what it raises is told, not thrown."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

from d2s.commands import targets
from d2s.commands.mistakes import Mistake
from d2s.errors import Error


def call(arguments: argparse.Namespace, run: Callable[[list[Any], dict[str, Any]], int]) -> int:
    """Run a command on the arguments that --spec describes; 1 when d2s refuses the function."""
    from d2s.backends.lax.inspection import structs
    from d2s.backends.lax.samples import example

    args, kwargs = targets.arguments(arguments.specs)
    sizes = targets.sizes(arguments.sizes)
    args, kwargs = structs(example((args, kwargs)), sizes)
    try:
        return run(args, kwargs)
    except (Mistake, OSError):
        raise
    except Error as error:
        print(error, file=sys.stderr)
        return 1
    except Exception as error:
        what = " ".join(str(error).split())
        raise Mistake(f"{arguments.target}: {type(error).__name__}: {what}") from error
