"""Whose an exception is: the program's own, or one of d2s's or JAX's about the graph."""

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
    """An attribute that a value has in plain Python, or may have, and its tracer has not."""


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


_SPEAKS_OF_TRACING = (
    "Tracer",
    "_DimExpr",
    "Symbolic dimension",
    "JAX arrays are immutable",
    "An overflow was encountered",
    "does not accept dtype bool",
)


def is_tracer_error(error: BaseException | None) -> bool:
    """Whether an exception says that a run-time value was used as a Python value."""
    if isinstance(error, TRACER_ERRORS):
        return True
    kinds = (TypeError, ValueError, IndexError, AttributeError, KeyError, OverflowError)
    if not isinstance(error, kinds):
        return False
    if any(isinstance(leaf, jax.core.Tracer) for arg in error.args for leaf in leaves(arg)):
        return False  # the user's own, raised with a run-time value
    text = str(error)
    # numpy wraps what jax raises into errors of its own
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
        return False  # the machine's, or of code that is not in the graph: it may not come again
    return sites.is_raise(error)


def is_internal(error: BaseException) -> bool:
    if isinstance(error, RunTimeError):
        return False  # a failure of the program as it runs, though no handler may see it
    return isinstance(error, Error | Halt | RecursionError) or is_tracer_error(error)
