"""The names that a function mentions, with those of the functions inside it."""

from __future__ import annotations

import dis
import functools
import types
from typing import Any

from d2s.libraries import is_library_file


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
        if not any("callback" in name for name in code.co_names):
            # what is handed to a callback of jax's runs with the graph
            codes += [const for const in code.co_consts if isinstance(const, types.CodeType)]
        for name in code.co_names:
            if name == "print" and name not in known:
                return True
            if name in known and _mentions_print(known[name], seen):
                return True
    return False
