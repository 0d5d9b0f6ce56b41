"""What to say when a run-time value is needed as a Python value.

JAX says that a tracer was used as a bool, an integer or an array; the user has never heard of
tracers. For ``range(int(x))`` in a function that is not converted the message says that this
function needs a run-time value, and how to have it converted.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
import types
from typing import Any

import jax

from d2s.backends.lax.graph import sites
from d2s.conversion import RUNS_LATER, is_made_code
from d2s.errors import Error, IntegerOverflow, Site, StagingError
from d2s.libraries import is_library_file, may_be_included


def needs_value(error: Exception) -> Error:
    """The error for an exception of JAX or NumPy about a run-time value, at the user's line."""
    site, code = sites.place(error)
    first = re.sub(r"'?\b\w*Tracer\b'?", "a run-time value", str(error).splitlines()[0])
    if isinstance(error, jax.errors.UnexpectedTracerError):
        return StagingError(
            "a variable or an object of the function around is changed inside a function that jax "
            "transforms; the new value is known only in there",
            code="D2S078",
            site=site,
            fix="return the new value from the function that jax transforms",
        )
    if code is not None and not is_made_code(code) and not _is_nameless(code):
        return StagingError(
            f"{site.function} needs a run-time value; d2s did not convert it ({first})",
            code="D2S021",
            site=site,
            fix=f"`@d2s.convert` above the definition of {site.function}, if it is plain Python",
        )
    if isinstance(error, OverflowError):
        # JAX writes the number into the message, and nowhere else.
        (number,) = re.findall(r"with value (-?\d+)", str(error)) or ["an integer"]
        return IntegerOverflow(
            f"{number} meets a run-time value, and is beyond the graph's 32-bit integers",
            site=site,
            fix="set jax_enable_x64, or numbers below 2**31",
        )
    if "does not support ufuncs" in first:  # NumPy raises a plain TypeError
        return StagingError(
            f"{sites.target(site) or 'an array'}, a NumPy array, gets run-time values in place",
            code="D2S072",
            site=site,
            fix="jnp.zeros(...) and the like instead of np.zeros(...), or `a = a + x` for `a += x`",
        )
    if isinstance(error, _TRUTH_IS_ASKED) and _is_filter(site):
        return StagingError(
            "items are kept or left out by a run-time condition: how many stay is not known",
            code="D2S020",
            site=site,
            fix="a loop with an `if`, or another value instead of none: "
            "`sum(v if v > 0 else 0 for v in x)` for `sum(v for v in x if v > 0)`",
        )
    return StagingError(
        f"a run-time value is needed as a Python value here ({first})",
        code="D2S020",
        site=site,
        fix="array operations on it, or pass it as a Python number so that it can become static",
    )


#: what JAX raises where a run-time value would have to be true or false
_TRUTH_IS_ASKED = (
    jax.errors.TracerBoolConversionError,
    jax.errors.NonConcreteBooleanIndexError,
)


def _is_nameless(code: types.CodeType) -> bool:
    """Whether code is no function with a name: a lambda, a comprehension, the body of a module.

    Python names these with a bracket, which no name of a program has.
    """
    return code.co_name.startswith("<")


def needs_truth(function: Any, reason: str, error: BaseException) -> StagingError:
    """Code that is not converted asks a run-time value whether it is true."""
    site, code = sites.place(error)
    # an object that can be called has no name of its own
    name = getattr(function, "__qualname__", f"{type(function).__name__}.__call__")
    whole = f"{getattr(function, '__module__', '')}.{name}"
    if code is not None and _is_called_by(function, code):
        name = code.co_qualname.rpartition("<locals>.")[2]
        return StagingError(
            f"{name} needs the truth of a run-time value; d2s did not convert it, because "
            f"{whole} calls it, which is not converted: {reason}",
            code="D2S021",
            site=site,
            fix=f"`@d2s.convert` above the definition of {name}",
        )
    return StagingError(
        f"{whole} needs the truth of a run-time value; d2s did not convert it: {reason}",
        code="D2S021",
        site=site,
        fix=_how_to_convert(function, name)
        if hasattr(function, "__qualname__")
        else "d2s.convert(f) in place of each function f of yours that it holds",
    )


def _how_to_convert(function: Any, name: str) -> str:
    module = getattr(function, "__module__", None) or ""
    if may_be_included(module) and is_library_file(sys.modules[module].__file__ or ""):
        return f'd2s.include("{module.partition(".")[0]}"), if it is plain Python'
    return f"`@d2s.convert` above the definition of {name}, if it is plain Python"


def _is_called_by(function: Any, code: types.CodeType) -> bool:
    """Whether code belongs to another function of the user's, which `function` has called."""
    if is_made_code(code) or _is_nameless(code) or code.co_flags & RUNS_LATER:
        return False
    return code is not getattr(function, "__code__", None)


def _is_filter(site: Site) -> bool:
    """Whether a site is the condition of a comprehension, by the syntax tree of its file."""
    try:
        tree = ast.parse("".join(linecache.getlines(site.filename)))
    except (SyntaxError, ValueError, RecursionError):
        return False  # it is no plain Python, as a cell of a notebook with commands
    place = site.line, site.column
    found = [node for node in ast.walk(tree) if isinstance(node, _COMPREHENSIONS)]
    asked = [part for node in found for clause in node.generators for part in _parts(clause, node)]
    return any((part.lineno, part.col_offset) == place for part in asked)


_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def _parts(clause: ast.comprehension, whole: ast.expr) -> list[ast.expr]:
    """The expressions at whose place an error about a condition may be.

    From Python 3.12 on, that is the place of the whole comprehension.
    """
    return [part for test in clause.ifs for part in (whole, *_asked(test))]


def _asked(test: ast.expr) -> list[ast.expr]:
    """The expressions whose truth a test asks for."""
    if isinstance(test, ast.BoolOp):
        return [part for value in test.values for part in _asked(value)]
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return [test, *_asked(test.operand)]
    return [test]
