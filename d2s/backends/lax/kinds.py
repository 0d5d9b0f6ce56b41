"""What a run-time value is in plain Python: `isinstance`, `type` and the like, as Python answers.

Where a branch or a loop has joined a Python number and an array, and where plain Python has a
scalar of NumPy's, the question is refused.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.backends.lax import aliases, channels, sites
from d2s.backends.lax.dtypes import NUMBERS
from d2s.backends.lax.origins import ARRAY, NUMPY, kind_of
from d2s.backends.lax.provenance import needing
from d2s.backends.lax.regions import NotInGraph, is_traced
from d2s.backends.lax.texts import Text
from d2s.errors import StagingError

#: all that a run-time value can be in plain Python
_CANDIDATES = (bool, int, float, complex, ARRAY)


def _asked(value: Any) -> type:
    kind: type | None = kind_of(value)
    channels.ask_kinds(True)
    if kind is None or kind is NUMPY:
        error = _refused(
            "what kind of Python value a run-time number is",
            "the test outside the static function, or the number as a static (hashable) argument",
        )
        raise needing(error, value)
    return kind


def _refused(what: str, fix: str) -> StagingError:
    return StagingError(what, code="D2S020", site=sites.where(), fix=fix)


def isinstance_(value: Any, wanted: Any) -> bool:
    if isinstance(value, Text):
        return issubclass(str, wanted)
    if not is_traced(value):
        return isinstance(value, wanted)
    answers = {kind: issubclass(kind, wanted) for kind in _CANDIDATES}
    numpy = [kind for kind in _classes(wanted) if kind.__module__ == "numpy"]
    if len(set(answers.values())) == 1 and not numpy:
        return answers[int]  # it is the same for everything that can be in a graph
    kind = _asked(value)
    if kind is ARRAY and numpy and not answers[kind]:
        raise _refused(
            "whether a run-time value was a NumPy array",
            "the test outside the static function, or isinstance(x, jax.Array)",
        )
    return answers[kind]


def _classes(wanted: Any) -> list[Any]:
    if isinstance(wanted, tuple):
        return [kind for part in wanted for kind in _classes(part)]
    if isinstance(wanted, types.UnionType):
        return list(wanted.__args__)
    return [wanted]


def type_(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and is_traced(args[0]):
        return _asked(args[0])
    if len(args) == 1 and isinstance(args[0], Text):
        return str
    return type(*args, **kwargs)


def hasattr_(value: Any, name: str) -> bool:
    return _has(value, name) if is_traced(value) else hasattr(value, name)


def getattr_(value: Any, name: str, *default: Any) -> Any:
    if not is_traced(value) or _has(value, name):
        # the default is for what plain Python does not have either
        return getattr(value, name, *(() if is_traced(value) else default))
    if default:
        return default[0]
    raise missing(_asked(value), name)


def _has(value: Any, name: str) -> bool:
    """Whether a run-time value has an attribute in plain Python."""
    known = kind_of(value)
    answers = {hasattr(kind, name) for kind in ((known,) if known else _CANDIDATES)}
    return answers.pop() if len(answers) == 1 else hasattr(_asked(value), name)


def missing(kind: type, name: str) -> AttributeError:
    """What Python raises for an attribute that values of a kind do not have.

    It knows the class and not the value, which stays in the graph; that is enough for Python to
    find a name that was meant.
    """
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    text = f"'{module}{kind.__qualname__}' object has no attribute '{name}'"
    return AttributeError(text, name=name, obj=kind)


def attribute(lookup: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """The attributes of tracers, by the lookup that they have: what is missing is Python's error.

    Where only a graph lacks it, or the kind of the value is not known, it is no handler's.
    """

    def find(value: Any, name: str) -> Any:
        try:
            return lookup(value, name)
        except AttributeError as error:
            if channels.current() is None:
                raise
            text, kind = str(error), kind_of(value)
        if kind is None or hasattr(kind, name):
            raise NotInGraph(text)
        if kind is ARRAY and aliases.may_be_numpy(value) and hasattr(np.ndarray, name):
            raise NotInGraph(text)  # it may be an array of NumPy's
        raise missing(kind, name)

    return find


def is_(left: Any, right: Any) -> bool:
    """`is`: Python has one object for each bool and each small integer, a graph has none."""
    if left is right:
        return True
    numbers = [v for v in (left, right) if type(v) in NUMBERS]
    traced = [v for v in (left, right) if is_traced(v) and kind_of(v) is not ARRAY]
    if traced and len(numbers) + len(traced) == 2:
        raise _refused(
            "whether a run-time number is the same object as another number",
            "`==`, or an `if` statement on the truth of it instead of `is True`",
        )
    return False
