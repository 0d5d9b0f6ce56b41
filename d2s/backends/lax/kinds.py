"""What a run-time value is in plain Python, as far as that is known, and questions about it.

In a graph a Python number looks like an array of a weak type, and so do some arrays: the type alone
does not tell `3` from `jnp.asarray(3)`. What surely is a Python number is remembered where it comes
from: arguments of static functions, and results of builtins that give Python numbers. Questions
about other numbers of a weak type are refused; everything else in a graph is an array.
"""

from __future__ import annotations

import abc
import functools
import types
import typing
from collections.abc import Callable
from typing import Any

from d2s.backends.lax import sites
from d2s.backends.lax.namespaces import ask, note_attribute
from d2s.backends.lax.origins import ARRAY as ARRAY
from d2s.backends.lax.origins import kind_of as kind_of
from d2s.backends.lax.origins import remember as remember
from d2s.backends.lax.regions import is_traced
from d2s.backends.lax.texts import Text
from d2s.errors import StagingError
from d2s.libraries import is_library_file


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


def isinstance_(value: Any, wanted: Any) -> Any:
    """`isinstance`; a metaclass of the user's that answers it is code like any other."""
    classes = _classes(wanted)
    if not any(map(_users_check, classes)):
        return _is_instance(value, wanted)
    from d2s import ops

    def asks(kind: Any) -> Callable[[], Any]:
        check = _users_check(kind)
        if check is None or type_(value) is kind:
            return lambda: _is_instance(value, kind)
        return lambda: ops.fn(check)(kind, value)

    return ops.any_(False, *map(asks, classes))


def issubclass_(kind: Any, wanted: Any) -> bool:
    """`issubclass`, whose answer is another one once somebody has registered a class."""
    if isinstance(kind, type):
        note_registered(kind, wanted)
    return issubclass(kind, wanted)


def note_registered(kind: type, wanted: Any) -> None:
    """An abstract class may get to know a class after the graph was built."""
    for one in _classes(wanted):
        if isinstance(one, abc.ABCMeta) and not _data_members(one) and kind is not one:
            answer = issubclass(kind, one)
            ask(functools.partial(_is_still, kind, one, answer))


def _is_still(kind: type, wanted: type, answer: bool) -> bool:
    return issubclass(kind, wanted) is answer


def _users_check(kind: Any) -> types.FunctionType | None:
    """What a class of the user's asks about instances; None for those of Python and libraries."""
    check = getattr(type(kind), "__instancecheck__", None)
    if not isinstance(check, types.FunctionType) or is_library_file(check.__code__.co_filename):
        return None
    return check


def _is_a(kind: type, wanted: Any) -> bool:
    """Whether what is of a type is one of these: a protocol asks only which attributes it has."""
    return any(
        all(hasattr(kind, name) for name in members)
        if (members := _data_members(one))
        else issubclass(kind, one)
        for one in _classes(wanted)
    )


def _data_members(kind: Any) -> set[str]:
    """The names that a protocol asks for, if one of them is no method: no class answers for it."""
    if not (getattr(kind, "_is_protocol", False) and getattr(kind, "_is_runtime_protocol", False)):
        return set()
    names: set[str] = typing._get_protocol_attrs(kind)  # type: ignore[attr-defined]
    return set() if all(callable(getattr(kind, name, None)) for name in names) else names


def _is_instance(value: Any, wanted: Any) -> bool:
    if isinstance(value, Text):
        return issubclass(str, wanted)
    if not is_traced(value):
        note_registered(type(value), wanted)
        return isinstance(value, wanted)
    candidates = (bool, int, float, complex, ARRAY)
    answers = {kind: _is_a(kind, wanted) for kind in candidates}
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
        note_attribute(value, name)
        return hasattr(value, name)
    kind = _asked(value)
    return hasattr(value, name) if kind is ARRAY else hasattr(kind, name)


def getattr_(value: Any, name: str, *default: Any) -> Any:
    if is_traced(value):
        kind = _asked(value)
        if kind is not ARRAY and not hasattr(kind, name):
            return getattr(kind(), name, *default)
    else:
        note_attribute(value, name)
    return getattr(value, name, *default)
