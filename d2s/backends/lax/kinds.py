"""What a run-time value is in plain Python: `isinstance`, `type` and the like, as Python answers.

Where a branch or a loop has joined a Python number and an array, and where plain Python has a
scalar of NumPy's, the question is refused.
"""

from __future__ import annotations

import types
from typing import Any

from d2s.backends.lax import channels, sites
from d2s.backends.lax.origins import ARRAY, NUMPY, kind_of
from d2s.backends.lax.provenance import needing
from d2s.backends.lax.regions import is_traced
from d2s.backends.lax.texts import Text
from d2s.errors import StagingError


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
    candidates = (bool, int, float, complex, ARRAY)
    answers = {kind: issubclass(kind, wanted) for kind in candidates}
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
    if not is_traced(value):
        return hasattr(value, name)
    kind = _asked(value)
    return hasattr(value, name) if kind is ARRAY else hasattr(kind, name)


def getattr_(value: Any, name: str, *default: Any) -> Any:
    if is_traced(value):
        kind = _asked(value)
        if kind is not ARRAY and not hasattr(kind, name):
            return getattr(kind(), name, *default)
    return getattr(value, name, *default)
