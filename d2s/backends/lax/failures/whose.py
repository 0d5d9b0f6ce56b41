"""Whose an exception is: the program's own, or one of d2s or JAX about the graph.

``raise ValueError("too large")`` in a branch is the program's own and becomes an error code. That
``range(x)`` needs a Python integer is about the graph: in plain Python there is no such exception,
so no handler of the program may see it.
"""

from __future__ import annotations

import jax
from jax.errors import InconclusiveDimensionOperation

from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.scopes import Halt
from d2s.conversion import is_made_code
from d2s.errors import Error, RunTimeError


class Escaped(BaseException):
    """Carries an exception through a region that must not make an error code of it."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


class NotInGraph(AttributeError):
    """Raised for an attribute that a value may have in plain Python, but that its tracer lacks."""


TRACER_ERRORS = (
    NotInGraph,
    jax.errors.ConcretizationTypeError,
    jax.errors.TracerArrayConversionError,
    jax.errors.TracerBoolConversionError,
    jax.errors.TracerIntegerConversionError,
    jax.errors.NonConcreteBooleanIndexError,
    jax.errors.UnexpectedTracerError,
    InconclusiveDimensionOperation,
)


#: Parts of messages of plain exceptions that are about the graph. Python, NumPy and JAX raise them
#: as `TypeError`, `ValueError` and the like, so nothing but the text tells them from the program's.
_SPEAKS_OF_TRACING = (
    "Tracer",  # the class of a run-time value: "unhashable type: 'DynamicJaxprTracer'"
    "_DimExpr",  # the class of a named dimension
    "Symbolic dimension",
    "JAX arrays are immutable",  # `x[i] = v` in code that is not converted
    "An overflow was encountered",  # a Python integer that does not fit the graph's integers
    "does not accept dtype bool",  # JAX refuses bools where Python counts with them
)


def is_tracer_error(error: BaseException | None) -> bool:
    """Whether an exception says that a run-time value was used as a Python value."""
    if isinstance(error, TRACER_ERRORS):
        return True
    kinds = (TypeError, ValueError, IndexError, AttributeError, KeyError, OverflowError)
    if not isinstance(error, kinds):
        return False
    if any(isinstance(leaf, jax.core.Tracer) for arg in error.args for leaf in leaves(arg)):
        return False  # the program raised it, with a run-time value as an argument
    text = str(error)
    # NumPy raises errors of its own from those of JAX.
    return any(part in text for part in _SPEAKS_OF_TRACING) or is_tracer_error(error.__cause__)


def is_raised_by_user(error: BaseException) -> bool:
    """Whether an exception belongs to the program; an interrupt from the keyboard does not."""
    passing = isinstance(error, OSError | MemoryError)
    if isinstance(error, Exception | SystemExit) and not passing:
        return True
    traceback = error.__traceback__
    while traceback is not None and traceback.tb_next is not None:
        traceback = traceback.tb_next
    if traceback is None or isinstance(error, Escaped):
        return False
    if passing and not is_made_code(traceback.tb_frame.f_code):
        # The machine raised it, or code that is not in the graph: the next call may not fail.
        return False
    return sites.is_raise(error)


def is_internal(error: BaseException) -> bool:
    """Whether an exception is about the graph that is built, and none of the program's."""
    if isinstance(error, RunTimeError):
        return False  # it happens when the graph runs, though no handler may see it
    return isinstance(error, Error | Halt | RecursionError) or is_tracer_error(error)
