"""Who asks a run-time value what it is: its text, its truth, its number.

While a graph is built there is no answer. JAX asks all the same when it words an error, and a
person with a debugger may see what is there. All other code would take what a tracer, or an object
of d2s, says of itself for a value of the program: ``names[str(x)]`` would look for "Traced<...>".
That ends the graph, even where the code that asks catches the error.
"""

from __future__ import annotations

import bdb
import functools
import os
import sys
import types
from collections.abc import Callable
from typing import Any

import jax

from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.trace.provenance import needing
from d2s.conversion import is_made_code
from d2s.errors import Error, StagingError
from d2s.libraries import is_in_folder, is_of_d2s, is_standard_file

_JAX = os.path.dirname(os.path.abspath(jax.__file__))


def unknown(*values: Any) -> Error:
    """The error for code that asks for the text of run-time values; it will end the graph."""
    error = StagingError(
        "the text of a run-time value is not known while the graph is built",
        code="D2S020",
        site=sites.where(),
        fix="the text in a print, a raise or an assert, or made outside the static function",
    )
    return scopes.refuse(needing(error, *values) if values else error)


def guarded(show: Callable[..., str], everywhere: bool = False) -> Callable[..., str]:
    """A `__repr__` or `__str__` that answers JAX and debuggers, and refuses the program.

    A tracer is JAX's where no static function is around; what d2s has made is so `everywhere`.
    """

    @functools.wraps(show)
    def text(self: Any, *args: Any) -> str:
        outside = scopes.current() is None and not everywhere
        if outside or _is_by_jax() or _is_by_debugger():
            return show(self, *args)
        raise unknown(*(one for one in leaves(self) if isinstance(one, jax.core.Tracer)))

    return text


def kept(ask: Callable[..., Any]) -> Callable[..., Any]:
    """A method such as `__bool__` or `__int__`, whose error ends the graph even if it is caught."""

    def answer(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return ask(self, *args, **kwargs)
        except Exception as error:
            if scopes.current() is None or _is_by_jax() or _is_by_debugger():
                raise
            if isinstance(error, jax.errors.JAXTypeError):
                scopes.refuse(error)
                raise
            # JAX has no number for a bool, or for an array of NumPy, where Python has one.
            raise scopes.refuse(needing(_needed(), self)) from error

    return answer


def _needed() -> Error:
    return StagingError(
        "a run-time value is needed as a Python value here",
        code="D2S020",
        site=sites.where(),
        fix="array operations on it, or a Python number as argument, which becomes static",
    )


def _asker() -> types.FrameType | None:
    """The frame that asks, beyond those of this module: one guarded method may call another."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    return frame


def _is_by_jax() -> bool:
    """Whether JAX asks, itself or through code of Python's library that it called."""
    frame = _asker()
    while frame is not None and (
        # Methods of dataclasses are made by `exec` of a text: their file is called "<string>".
        is_standard_file(frame.f_code.co_filename) or frame.f_code.co_filename == "<string>"
    ):
        frame = frame.f_back
    return frame is not None and is_of_jax(frame.f_code.co_filename)


def is_asked_by_us(frame: types.FrameType) -> bool:
    """Whether code of d2s or of JAX asks, which looks at values of all kinds."""
    name = frame.f_code.co_filename
    return is_of_jax(name) or (is_of_d2s(name) and not is_made_code(frame.f_code))


def is_of_jax(filename: str) -> bool:
    return is_in_folder(filename, _JAX)


def _is_by_debugger() -> bool:
    """Whether a debugger has stopped the program that asks.

    Then there is no frame of d2s between the question and the debugger. A debugger further out has
    only started the program. Most debuggers are a `bdb.Bdb`; that of VS Code and PyCharm is not,
    and is known by the folder of its module.
    """
    pydevd = getattr(sys.modules.get("pydevd"), "__file__", None)
    folder = None if pydevd is None else os.path.dirname(os.path.abspath(pydevd))
    frame = _asker()
    while frame is not None:
        code = frame.f_code
        if is_made_code(code) or is_of_d2s(code.co_filename):
            return False
        if code.co_argcount and isinstance(frame.f_locals.get(code.co_varnames[0]), bdb.Bdb):
            return True
        if folder is not None and is_in_folder(code.co_filename, folder):
            return True
        frame = frame.f_back
    return False
