"""The border to code that is not converted: what comes back over it as an exception.

Run-time values are tracers, and objects of d2s's stand for some of Python's while a graph is built:
for texts, ranges, lists that a loop appends to. Code behind the border may refuse such an object
for its class, where plain Python would go on with the value:

    try:
        price = decimal.Decimal(n)      # with a run-time `n`: TypeError, it takes no tracers
    except TypeError:
        price = None                    # plain Python never comes here

A handler of the user's cannot tell such an exception from one of the program's own. So it becomes
an error of d2s's, unless it surely is what plain Python raises too.
"""

from __future__ import annotations

import builtins
import gc
import types
from collections.abc import Iterator
from typing import Any

import jax

from d2s.backends.lax.failures.texts import Text
from d2s.backends.lax.failures.whose import is_internal, is_raised_by_user
from d2s.backends.lax.forms.appended import Recorder
from d2s.backends.lax.forms.dtypes import is_symbolic
from d2s.backends.lax.forms.kinds.table import CONTAINERS
from d2s.backends.lax.forms.origins import ARRAY, kind_of
from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.semantics.sequences import Fresh, Range, Sequence
from d2s.backends.lax.trace.provenance import needing
from d2s.backends.lax.trace.questions import is_of_jax
from d2s.conversion import is_made_code
from d2s.errors import StagingError
from d2s.libraries import is_library_file, is_of_d2s, is_standard_file

_OURS = (Text, Sequence, Fresh, Recorder)
#: the classes of Python's own exceptions
_PYTHONS_OWN = frozenset(
    kind for kind in vars(builtins).values()
    if isinstance(kind, type) and issubclass(kind, BaseException)
)  # fmt: skip
#: exceptions that say that something is not there, which does not depend on the class of a value
_NOT_THERE = (LookupError, AttributeError, StopIteration, StopAsyncIteration)


def refusal(function: Any, values: Any, error: Exception) -> Exception | None:
    """The error to raise instead of one from behind the border; None for one of the program's."""
    if scopes.current() is None or not is_raised_by_user(error):
        return None
    if isinstance(error, _NOT_THERE) or (is_internal(error) and type(error) is not RecursionError):
        return None
    found = list(_not_pythons([values, _with_parts(function)]))
    if _file(function) is not None and is_of_jax(_file(function) or ""):
        found = [one for one in found if isinstance(one, _OURS)]
    if not found or _is_the_programs(error, found):
        return None
    name = getattr(function, "__qualname__", None) or type(function).__name__
    module = getattr(function, "__module__", None)
    whole = name if module in (None, "builtins") else f"{module}.{name}"
    refused = StagingError(
        f"{whole} is not converted, and does not take {_described(found[0])} "
        f"({type(error).__name__})",
        code="D2S021",
        site=sites.where(),
        fix="the call outside of the static function; or a Python number as the argument that it "
        "depends on, which then becomes a constant",
    )
    behind = [one for value in found for one in _run_time_values(value)]
    return scopes.refuse(needing(refused, *behind) if behind else refused)


def _run_time_values(value: Any) -> list[Any]:
    """The run-time values that something which stands for a Python value is made of."""
    if isinstance(value, Range):
        value = [value.start, value.length, value.step]
    return [leaf for leaf in leaves(value) if isinstance(leaf, jax.core.Tracer)]


def _file(function: Any) -> str | None:
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    return code.co_filename if isinstance(code, types.CodeType) else None


def _with_parts(function: Any) -> Any:
    """The function, to look for run-time values in it; None for a method of a Python container.

    ``[x].pop(7)`` fails because of the 7, whatever is in the list.
    """
    return (
        None
        if isinstance(getattr(function, "__self__", None), (tuple, frozenset, *CONTAINERS))
        else function
    )


def _described(value: Any) -> str:
    if isinstance(value, Text):
        return "the text of a run-time value"
    if isinstance(value, Sequence | Fresh):
        return "a range or an iterator that depends on a run-time value"
    return "a list of a staged loop" if isinstance(value, Recorder) else "a run-time value"


def _is_the_programs(error: Exception, found: list[Any]) -> bool:
    """Whether plain Python would raise an exception, too.

    It does where converted code has raised it, or a `raise` of the user's; where JAX did; and
    where d2s itself has raised it in Python's stead. An installed library has its own exceptions
    for what it minds; one of Python's counts if nothing but arrays was not Python's.
    """
    code = sites.innermost(error)
    if code is None:
        return False
    if is_made_code(code):
        return True
    if is_of_jax(code.co_filename):
        # In plain Python a named dimension is an integer, about which JAX would not complain.
        return not any(map(is_symbolic, found))
    if not sites.is_explicit(error) or is_standard_file(code.co_filename):
        return False
    if is_of_d2s(code.co_filename) or not is_library_file(code.co_filename):
        return True
    if type(error) not in _PYTHONS_OWN:
        return True
    return all(isinstance(one, jax.core.Tracer) and kind_of(one) is ARRAY for one in found)


def _not_pythons(values: list[Any]) -> Iterator[Any]:
    """The objects in some values, however deep, that code behind the border may not know."""
    seen: set[int] = set()
    while values:
        value = values.pop()
        if isinstance(value, (jax.core.Tracer, *_OURS)) or is_symbolic(value):
            yield value
        elif id(value) not in seen and not isinstance(value, _WITHOUT_PARTS):
            seen.add(id(value))
            if isinstance(value, types.FunctionType):
                values += [value.__defaults__, value.__kwdefaults__, value.__closure__]
            else:
                values += gc.get_referents(value)


_WITHOUT_PARTS = (type, types.ModuleType, types.CodeType, types.FrameType, jax.Array)
