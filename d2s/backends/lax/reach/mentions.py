"""The names that a function mentions, with those of the functions inside it.

Of ``def f(): return scale * np.linalg.norm(config.x)`` the global names are `scale`, `np` and
`config`, the attributes `linalg`, `norm` and `x`, and the dotted names ``np.linalg``,
``np.linalg.norm`` and ``config.x``.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

import jax
from jax.experimental import io_callback

from d2s.backends.lax.forms.kinds.code import cell_contents
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.libraries import is_library_file, is_library_module
from d2s.static import StaticFunction


@functools.lru_cache(maxsize=4096)
def attribute_names_of(code: types.CodeType) -> tuple[str, ...]:
    """The attributes that a function, and the functions inside it, mention."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(attribute_names_of(constant))
    return tuple(names)


@functools.lru_cache(maxsize=4096)
def global_names(code: types.CodeType) -> tuple[str, ...]:
    """The names of its module that a function, and the functions inside it, read or write."""
    uses = ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL")
    names = {i.argval: None for i in dis.get_instructions(code) if i.opname in uses}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= dict.fromkeys(global_names(constant))
    return tuple(names)


_LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR")


@functools.lru_cache(maxsize=4096)
def dotted_names(code: types.CodeType) -> frozenset[tuple[str, ...]]:
    """The attributes of names from outside that a function, and those inside it, spell out.

    ``np.linalg.norm`` is ``("np", "linalg", "norm")``.
    """
    return _own_dotted_names(code).union(
        *(dotted_names(inner) for inner in code.co_consts if isinstance(inner, types.CodeType))
    )


@functools.lru_cache(maxsize=4096)
def _own_dotted_names(code: types.CodeType) -> frozenset[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    path: tuple[str, ...] = ()
    for instruction in dis.get_instructions(code):
        if instruction.opname in _LOADS:
            path = (instruction.argval,)
        elif path and instruction.opname in _ATTRIBUTES:
            path = (*path, instruction.argval)
            found.add(path)
        elif instruction.opname != "COPY":  # which is between the two parts of `f.k += 1`
            path = ()
    return frozenset(found)


def dotted(function: types.FunctionType, space: dict[str, Any]) -> Iterator[tuple[Any, str, Any]]:
    """Each attribute of a module or function that a function spells out: its holder, name, value.

    `space` are its globals; the value of an attribute that is not there is `EMPTY`.
    """
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    variables = {name: cell_contents(cell) for name, cell in cells}
    for root, *names in dotted_names(function.__code__):
        holder = variables.get(root, space.get(root, EMPTY))
        for name in names:
            if not isinstance(holder, types.ModuleType | types.FunctionType | StaticFunction):
                break
            value = vars(holder).get(name, EMPTY)
            yield holder, name, value
            holder = value


def imported(function: types.FunctionType) -> list[types.ModuleType]:
    """Modules of the user's that a function may import when it runs."""
    found = map(sys.modules.get, attribute_names_of(function.__code__))
    modules = [module for module in found if isinstance(module, types.ModuleType)]
    return [module for module in modules if not is_library_module(module)]


def users_modules() -> list[types.ModuleType]:
    """Every module that is loaded and belongs to no library."""
    modules = [m for m in list(sys.modules.values()) if isinstance(m, types.ModuleType)]
    return [module for module in modules if not is_library_module(module)]


@functools.lru_cache(maxsize=4096)
def codes_inside(code: types.CodeType) -> frozenset[types.CodeType]:
    """The code of the functions that running a code may make."""
    own = frozenset(constant for constant in code.co_consts if isinstance(constant, types.CodeType))
    return own.union(*map(codes_inside, own))


def may_print(function: Any) -> bool:
    """Whether code of the user's mentions `print`, or others that do."""
    return _mentions_print(function, set())


def _mentions_print(function: Any, seen: set[int]) -> bool:
    function = getattr(function, "__func__", function)
    if not isinstance(function, types.FunctionType):
        return False
    if is_library_file(function.__code__.co_filename):
        return False
    known, codes = function.__globals__, [function.__code__]
    while codes:
        code = codes.pop()
        if id(code) in seen:
            continue
        seen.add(id(code))
        if not _mentions_callback(code, known):
            # What is handed to a callback of JAX prints when the graph runs, and not before.
            codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        for name in code.co_names:
            if name == "print" and name not in known:
                return True
            if name in known and _mentions_print(known[name], seen):
                return True
    return False


#: functions of JAX that take a function to run it on the host, together with the graph
_CALLBACKS = (jax.debug.callback, jax.pure_callback, io_callback)


def _mentions_callback(code: types.CodeType, space: dict[str, Any]) -> bool:
    """Whether code itself, not the functions inside it, names one of JAX's callbacks."""
    for root, *names in (*_own_dotted_names(code), *((name,) for name in code.co_names)):
        value = space.get(root)
        for name in names:
            value = vars(value).get(name) if isinstance(value, types.ModuleType) else None
        if any(value is callback for callback in _CALLBACKS):
            return True
    return False
