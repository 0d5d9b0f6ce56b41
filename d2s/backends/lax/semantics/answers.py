"""What run-time values answer to libraries that ask what they are.

    rate = 0.1                          # a Python number, in the graph a tracer
    isinstance(rate, jax.Array)         # asked by Equinox: False, as in plain Python
                                        # asked by JAX or d2s: True, it is a value of the graph

A library that sorts values into arrays and others (Equinox partitions a module by `eqx.is_array`)
would take a Python number of a graph for an array, and train it. To the code of JAX and of d2s
every run-time value is an array; to all other code it is what plain Python has there. The question
comes without the one who asks it, so the file of the calling frame has to tell who that is.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from collections.abc import Callable
from typing import Any

import jax

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms.origins import ARRAY, NUMPY, PYTHON, kind_of
from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.semantics import operands
from d2s.backends.lax.semantics.casts import refuse
from d2s.backends.lax.trace.provenance import needing
from d2s.backends.lax.trace.questions import is_of_jax
from d2s.libraries import is_of_d2s, takes_functions, takes_numbers_as_arrays


def methods(tracer: Any) -> dict[str, Any]:
    """Methods of a class of tracers that give Python's answers; `patches` puts them in."""
    own, field = tracer._is_traced_array, tracer.__jax_array__

    def _is_traced_array(self: Any) -> Any:
        """What `isinstance(value, jax.Array)` asks a tracer."""
        kind = kind_of(self)
        if kind is ARRAY or not _is_asked_from_outside(sys._getframe(1)):
            return own(self)
        if kind is None:
            raise scopes.refuse(_in_doubt(self))
        return False

    def __jax_array__(self: Any) -> Any:
        """The field of a tracer, which is empty; for `hasattr` of a library there must be none."""
        found = field.fget(self)
        if found is None and _is_asked_from_outside(sys._getframe(1)):
            raise AttributeError("__jax_array__")
        return found

    of_containers = {
        name: _of_container(name, getattr(tracer, name), ask)
        for name, ask in _OF_CONTAINERS.items()
    }
    return {
        "_is_traced_array": _is_traced_array,
        "__jax_array__": property(__jax_array__),
        "__delitem__": _delete_item,
        **of_containers,
    }


#: what Python asks of a container, and of nothing else
_OF_CONTAINERS: dict[str, Callable[[Any], Any]] = {
    "__contains__": lambda number: 0 in number,
    "__getitem__": lambda number: number[0],
    "__iter__": iter,
    "__len__": len,
    "__reversed__": reversed,
}
#: unpacking has its own words for what is no iterable
_UNPACK = frozenset(
    dis.opmap[name]
    for name in ("UNPACK_SEQUENCE", "UNPACK_EX", "LIST_EXTEND", "SET_UPDATE", "CALL_FUNCTION_EX")
)


def _of_container(
    name: str, own: Callable[..., Any], ask: Callable[[Any], Any]
) -> Callable[..., Any]:
    """A method of arrays, which the numbers of Python have not, though JAX's have."""

    @functools.wraps(own)
    def answer(self: Any, *args: Any) -> Any:
        kind, frame = kind_of(self), sys._getframe(1)
        asker = frame.f_code.co_filename
        if kind is ARRAY or kind is NUMPY or scopes.current() is None or self.shape:
            if name == "__contains__" and not is_of_jax(asker):
                return _is_in_array(own, self, *args)
            return own(self, *args)
        # d2s gives numbers a dimension by way of `x[None]`
        if is_of_jax(asker) or (name == "__getitem__" and is_of_d2s(asker)):
            return own(self, *args)
        if kind is None or frame.f_code.co_code[frame.f_lasti] in _UNPACK:
            raise scopes.refuse(needing(_in_doubt(self), self))
        return _asked_of_number(ask, kind)

    return answer


def _is_in_array(own: Callable[..., Any], array: Any, item: Any) -> Any:
    if scopes.current() is None or not aliases.has_numpy_arguments():
        return own(array, item)
    if not array.shape:  # NumPy's arrays without a dimension can be asked, and its scalars cannot
        raise scopes.refuse(_in_doubt(array))
    return False if operands.unlike(array, item) else own(array, item)


def _asked_of_number(ask: Callable[[Any], Any], kind: Any) -> Any:
    """Raise what Python raises for any number of a kind."""
    try:
        return ask(kind())
    except TypeError as error:
        raise TypeError(*error.args) from None


def require_container(value: Any, is_read: bool = False) -> None:
    """Fail as Python does where an item of a run-time number is read, or written."""
    kind = kind_of(value) if isinstance(value, jax.core.Tracer) else ARRAY
    if kind in PYTHON and not value.shape:
        _asked_of_number(_OF_CONTAINERS["__getitem__"] if is_read else _set_item, kind)


def _set_item(number: Any) -> None:
    number[0] = 0


def _delete_item(value: Any, _: Any) -> None:
    kind = kind_of(value)
    if kind in PYTHON and not value.shape:
        _asked_of_number(lambda number: operator.delitem(number, 0), kind)
    if aliases.is_argument(value):
        raise ValueError("cannot delete array elements")  # NumPy's words
    if aliases.may_be_numpy(value):
        raise scopes.refuse(_in_doubt(value))
    raise AttributeError("__delitem__")


def _is_asked_from_outside(frame: Any) -> bool:
    """Whether a frame is of code that is neither JAX's nor d2s's, while d2s builds a graph."""
    if scopes.current() is None:
        return False
    asker = frame.f_code.co_filename
    return not (is_of_d2s(asker) or is_of_jax(asker))


def refuse_numbers(function: Any, values: Any) -> None:
    """Refuse to hand Python numbers of a graph to a library that may ask for their class.

    The refusal names the number. If it is an argument of the call, the graph is built again with
    the number as a constant, and the library gets the number itself.
    """
    if not takes_functions(function) or takes_numbers_as_arrays(function):
        return
    owner = getattr(function, "__self__", function)
    for leaf in leaves([owner, values]):
        if kind_of(leaf) in (*PYTHON, None) and hasattr(leaf, "aval"):
            name = getattr(function, "__qualname__", type(function).__name__)
            module = getattr(function, "__module__", None) or type(function).__module__
            error = refuse(
                f"{module}.{name} gets a Python number that is a run-time value here: a library "
                "may ask whether it is an array",
                "jnp.asarray(...) around the number, if the library may treat it as an array",
                code="D2S021",
            )
            raise needing(error, leaf)


def _in_doubt(value: Any) -> Any:
    error = refuse(
        "code that is not converted asks whether a run-time value is an array, which another "
        "run-time value decides",
        "jnp.asarray(...) around the number that it may be",
        code="D2S021",
    )
    return needing(error, value)
