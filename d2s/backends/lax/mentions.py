"""The names that a function mentions, with those of the functions inside it."""

from __future__ import annotations

import dis
import functools
import types


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
