"""All code that d2s made, by the function of the user's that it is part of.

Converted code has the names of the user's functions, so that tracebacks read as the user's own, and
a function has several code objects: its own and one for each block. Who looks at frames asks here
what their code is, and never goes by its name::

    def f(x):               code of f                a function
        if x > 0:           code of then_2           a block of f
            ...             code of ``lambda: y``    an operand, or a lambda of the user's

"""

from __future__ import annotations

import types
import weakref
from dataclasses import dataclass
from typing import Any


class CodeRegistry:
    """Objects by identity of a code object, dropped with it.

    Python takes two code objects for equal where their lines and their code are, so they cannot be
    keys themselves: the functions of two files would be confused.
    """

    def __init__(self) -> None:
        self._entries: dict[int, tuple[weakref.ref[types.CodeType], Any]] = {}

    def get(self, code: types.CodeType) -> Any:
        entry = self._entries.get(id(code))
        return None if entry is None else entry[1]

    def clear(self) -> None:
        self._entries.clear()

    def put(self, code: types.CodeType, value: object) -> None:
        key = id(code)
        self._entries[key] = (weakref.ref(code, lambda _: self._entries.pop(key, None)), value)


@dataclass(frozen=True, eq=False)
class _CodePart:
    """What a code object that d2s made is: a function of the user's, or a block of one."""

    #: the function that a block belongs to; None for a function
    function: _CodePart | None = None
    #: names of variables that d2s made up
    names: frozenset[str] = frozenset()


_made = CodeRegistry()  # code that d2s made -> what part of which function it is


def register(
    code: types.CodeType,
    around: str = "",
    function: _CodePart | None = None,
    names: frozenset[str] = frozenset(),
) -> None:
    """Remember code that d2s made, and the code inside it; `around` is the name of the next outer.

    `emit` has given a block the qualified name of its function. A function that the user wrote
    inside another has a longer one.
    """
    is_block = code.co_qualname == around
    part = _CodePart(function if is_block else None, names)
    _made.put(code, part)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            register(constant, code.co_qualname, function if is_block else part, names)


def register_written(code: types.CodeType) -> None:
    """`register` for a function of a text that d2s wrote, and that somebody has imported."""
    register(code, names=_unnamed_errors(code))


def _unnamed_errors(code: types.CodeType) -> frozenset[str]:
    """The parameters of handlers without a name of the user's, in text that d2s wrote.

    The text was read again since, so their names are all that is left to know them by.
    """
    inner = [c for c in code.co_consts if isinstance(c, types.CodeType)]
    own = frozenset(name for name in code.co_varnames if name.startswith("error_"))
    return own.union(*map(_unnamed_errors, inner))


def is_generated_name(code: types.CodeType, name: str) -> bool:
    """Whether d2s made up the name of a variable, in code of its making."""
    part = _made.get(code)
    return part is not None and name in part.names


def is_made_code(code: types.CodeType) -> bool:
    return _made.get(code) is not None


def is_statement_block(code: types.CodeType) -> bool:
    """Whether d2s made this code of a statement, or a part of one, inside a function."""
    part = _made.get(code)
    return part is not None and part.function is not None


def function_around(code: types.CodeType) -> object | None:
    """A mark of the function that code of d2s's making is, or is a block of; None for other code.

    Of two frames, one of a block and one around it, the marks tell whether they are one function.
    """
    part = _made.get(code)
    return None if part is None else part.function or part


def is_block(code: types.CodeType) -> bool:
    """Whether code is a block of a function, or a lambda: it has no statements of its own.

    Operands that may be left out (``x and f(y)``) become lambdas, and a lambda of the user's is
    part of the statement it stands in. Python tells the code of a lambda from that of a `def` by
    this name alone, which no `def` can have.
    """
    return code.co_name == "<lambda>" or is_statement_block(code)
