"""What a run-time value is in plain Python, as far as that is known, and questions about it.

In a graph a Python number looks like an array of a weak type, and so do some arrays: the type alone
does not tell `3` from `jnp.asarray(3)`. What surely is a Python number is remembered where it comes
from: arguments of static functions, and results of builtins that give Python numbers. Questions
about other numbers of a weak type are refused; everything else in a graph is an array.
"""

from __future__ import annotations

import types
from typing import Any

from d2s.backends.lax import sites
from d2s.backends.lax.dtypes import NUMBERS
from d2s.backends.lax.origins import ARRAY as ARRAY
from d2s.backends.lax.origins import kind_of as kind_of
from d2s.backends.lax.origins import remember as remember
from d2s.backends.lax.regions import is_traced
from d2s.backends.lax.texts import Text
from d2s.errors import StagingError


def _asked(value: Any) -> type:
    kind = kind_of(value)
    if kind is None:
        raise _refused(
            "what kind of Python value a run-time number is",
            "the test outside the static function, or the number as a static (hashable) argument",
        )
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
