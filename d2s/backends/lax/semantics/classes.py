"""What a run-time value is in plain Python: `isinstance`, `type` and the like, as Python answers.

    isinstance(n, int)      # with a run-time `n` that was the Python number 3: True, as in Python
    x.bit_length            # for an array: Python's own AttributeError

Where a branch or a loop has joined a Python number and an array, and where plain Python has a
scalar of NumPy's, the question is refused.
"""

from __future__ import annotations

import abc
import functools
import types
import typing
from collections.abc import Callable
from typing import Any

import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.failures.texts import Text
from d2s.backends.lax.failures.whose import NotInGraph
from d2s.backends.lax.forms.dtypes import NUMBERS
from d2s.backends.lax.forms.origins import ARRAY, NUMPY, kind_of
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.regions.regions import is_traced
from d2s.backends.lax.semantics.sequences import Fresh, Sequence
from d2s.backends.lax.trace.namespaces import ask, note_attribute
from d2s.backends.lax.trace.provenance import needing
from d2s.errors import StagingError
from d2s.libraries import is_library_file
from d2s.runtime.calls import fn
from d2s.runtime.ops import any_

#: the classes that a run-time value can have in plain Python
_CANDIDATES = (bool, int, float, complex, ARRAY)


def _asked(value: Any) -> type:
    """The class of a run-time value in plain Python; refused where that is not known."""
    kind: type | None = kind_of(value)
    scopes.ask_kinds(True)
    if kind is None or kind is NUMPY:
        error = _refused(
            "what kind of Python value a run-time number is",
            "the test outside the static function, or the number as a static (hashable) argument",
        )
        raise needing(error, value)
    return kind


def _refused(what: str, fix: str) -> StagingError:
    return StagingError(what, code="D2S020", site=sites.where(), fix=fix)


def isinstance_(value: Any, wanted: Any) -> Any:
    """`isinstance`; a metaclass of the user's that answers it is code like any other."""
    classes = _classes(wanted)
    if not any(map(_users_check, classes)):
        return _is_instance(value, wanted)

    def asks(kind: Any) -> Callable[[], Any]:
        check = _users_check(kind)
        if check is None or type_(value) is kind:
            return lambda: _is_instance(value, kind)
        return lambda: fn(check)(kind, value)

    return any_(False, *map(asks, classes))


def issubclass_(kind: Any, wanted: Any) -> bool:
    """`issubclass`, whose answer for an abstract class may change: the graph depends on it."""
    if isinstance(kind, type):
        note_registered(kind, wanted)
    return issubclass(kind, wanted)


def note_registered(kind: type, wanted: Any) -> None:
    """Let the graph depend on what abstract classes say of a class.

    Somebody may register the class with one of them after the graph was built.
    """
    for one in _classes(wanted):
        if isinstance(one, abc.ABCMeta) and not _data_members(one) and kind is not one:
            answer = issubclass(kind, one)
            ask(functools.partial(_is_still, kind, one, answer))


def _is_still(kind: type, wanted: type, answer: bool) -> bool:
    return issubclass(kind, wanted) is answer


def _users_check(kind: Any) -> types.FunctionType | None:
    """The `__instancecheck__` of a metaclass of the user's; None for those of libraries."""
    check = getattr(type(kind), "__instancecheck__", None)
    if not isinstance(check, types.FunctionType) or is_library_file(check.__code__.co_filename):
        return None
    return check


def _is_a(kind: type, wanted: Any) -> bool:
    """Whether values of a type are instances of one of these classes.

    A protocol asks only which attributes they have.
    """
    return any(
        all(hasattr(kind, name) for name in members)
        if (members := _data_members(one))
        else issubclass(kind, one)
        for one in _classes(wanted)
    )


def _data_members(kind: Any) -> set[str]:
    """The names that a protocol with an attribute other than a method asks for; none for others.

    Python does not answer `issubclass` for such a protocol.
    """
    if not (getattr(kind, "_is_protocol", False) and getattr(kind, "_is_runtime_protocol", False)):
        return set()
    names: set[str] = typing._get_protocol_attrs(kind)  # type: ignore[attr-defined]
    return set() if all(callable(getattr(kind, name, None)) for name in names) else names


def _stood_for(value: Any) -> type | None:
    """The class in plain Python of what an object of d2s's stands for; None for other values."""
    if isinstance(value, Text):
        return str
    if not isinstance(value, Sequence | Fresh):
        return None
    if value.kind is None:
        raise _refused("what kind of iterator this is", "the loop over it by itself")
    return value.kind


def _is_instance(value: Any, wanted: Any) -> bool:
    stood_for = _stood_for(value)
    if stood_for is not None:
        return issubclass(stood_for, wanted)
    if not is_traced(value):
        note_registered(type(value), wanted)
        return isinstance(value, wanted)
    answers = {kind: _is_a(kind, wanted) for kind in _CANDIDATES}
    numpy = [kind for kind in _classes(wanted) if _is_of_numpy(kind)]
    if len(set(answers.values())) == 1 and not numpy:
        return answers[int]  # the answer is the same for all that a run-time value can be
    kind = _asked(value)
    may_be_one = kind is ARRAY and any(_is_a(one, wanted) for one in _may_be(value))
    if kind is ARRAY and (numpy or may_be_one) and not answers[kind]:
        raise _refused(
            "whether a run-time value was a NumPy array",
            "the test outside the static function, or isinstance(x, jax.Array)",
        )
    return answers[kind]


def _is_of_numpy(kind: Any) -> bool:
    """Whether a class is one of NumPy's arrays or scalars."""
    return isinstance(kind, type) and issubclass(kind, np.ndarray | np.generic)


def _classes(wanted: Any) -> list[Any]:
    """The single classes that the second argument of `isinstance` names."""
    if isinstance(wanted, tuple):
        return [kind for part in wanted for kind in _classes(part)]
    if isinstance(wanted, types.UnionType):
        return list(wanted.__args__)
    return [wanted]


def type_(*args: Any, **kwargs: Any) -> Any:
    if len(args) == 1 and is_traced(args[0]):
        return _asked(args[0])
    stood_for = _stood_for(args[0]) if len(args) == 1 else None
    if stood_for is not None:
        return stood_for
    return type(*args, **kwargs)


def hasattr_(value: Any, name: str) -> bool:
    if is_traced(value):
        return _has(value, name)
    note_attribute(value, name)
    return hasattr(value, name)


def getattr_(value: Any, name: str, *default: Any) -> Any:
    if not is_traced(value):
        note_attribute(value, name)
    if not is_traced(value) or _has(value, name):
        # The default must not hide that a tracer lacks what the value has in plain Python.
        return getattr(value, name, *(() if is_traced(value) else default))
    if default:
        return default[0]
    raise missing(_asked(value), name)


def _has(value: Any, name: str) -> bool:
    """Whether a run-time value has an attribute in plain Python."""
    known = kind_of(value)
    answers = {hasattr(kind, name) for kind in (_may_be(value) if known else _CANDIDATES)}
    if len(answers) == 1:
        return answers.pop()
    if known is ARRAY:
        raise _refused(
            f"whether a run-time value has the attribute '{name}', which only arrays of JAX's or "
            "only those of NumPy's have",
            "the test outside the static function",
        )
    return hasattr(_asked(value), name)


def _may_be(value: Any) -> tuple[type, ...]:
    """What a run-time value may be in plain Python: an array, one of NumPy's or its scalars."""
    kind = kind_of(value)
    if kind in NUMBERS:
        return (kind,)
    numpy = kind is NUMPY or aliases.has_numpy_arguments() or aliases.may_be_numpy(value)
    if not numpy:
        return (kind,)
    # those with 64 bits have the most attributes: a scalar of NumPy's may be Python's float too
    wide = _SCALARS.get(value.dtype.kind, np.float64)
    return (kind, np.ndarray) if value.shape else (kind, np.ndarray, wide)


_SCALARS: dict[str, type] = {"b": np.bool_, "i": np.int64, "u": np.uint64, "c": np.complex128}


def missing(kind: type, name: str) -> AttributeError:
    """What Python raises for an attribute that values of a kind do not have.

    Its `obj` is the class instead of the value, which must not leave the graph; that is enough for
    Python to suggest a name that may have been meant.
    """
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    text = f"'{module}{kind.__qualname__}' object has no attribute '{name}'"
    return AttributeError(text, name=name, obj=kind)


def attribute(lookup: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """The lookup of attributes of tracers: an attribute that is missing raises Python's own error.

    Where the value has the attribute in plain Python, or may have it, the error is `NotInGraph`,
    which no handler of the user's catches.
    """

    def find(value: Any, name: str) -> Any:
        try:
            return lookup(value, name)
        except AttributeError as error:
            if scopes.current() is None:
                raise
            text, kind = str(error), kind_of(value)
        # In plain Python an array may be one of NumPy's, which has other attributes than JAX's.
        if kind is None or any(hasattr(one, name) for one in _may_be(value)):
            raise NotInGraph(text)
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
