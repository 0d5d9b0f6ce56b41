"""Where code assigns and returns values: the names, and the places in a line.

Messages name the user's variables and show the lines that gave them their values. For the block

    def then_3(y):
        y = x * 2
        z = 1.0
        return y, z

`stored` gives the place of ``z = 1.0`` for the name `z`. In ``y, z = d2s.cond(...)``, while the op
runs, `stored_after` gives ``("y", "z")``. Both are read from the bytecode, which has the places of
the user's lines and tells exactly which instruction runs; a code object is taken apart only once.
"""

from __future__ import annotations

import dis
import functools
import types

from d2s.errors import Site, function_name
from d2s.made_code import CodeRegistry

#: instructions that store something elsewhere than in a variable
_NO_VARIABLES = ("STORE_ATTR", "STORE_SUBSCR", "STORE_SLICE")
#: how the names of instructions begin that load a variable; some load two, some store one first
_LOADS = ("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "STORE_FAST_LOAD_FAST")


#: the instructions of code objects, for as long as those live
_known = CodeRegistry()


def instructions(code: types.CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions of a code object, which is disassembled once."""
    found: tuple[dis.Instruction, ...] | None = _known.get(code)
    if found is None:
        found = tuple(dis.get_instructions(code))
        _known.put(code, found)
    return found


def stored(code: types.CodeType, name: str, before: int | None = None) -> Site | None:
    """The last assignment to a variable, from its name to the end of the value.

    `before` is the offset of an instruction: assignments from there on do not count.
    """
    found, last = None, None
    for instruction in instructions(code):
        if before is not None and instruction.offset >= before:
            break
        if name in _targets(instruction):
            found = site(code, instruction, last)
        last = instruction
    return found


def returned(code: types.CodeType, name: str) -> Site | None:
    """The value that a block returns first; None if that is the variable of this name."""
    last = None
    for instruction in instructions(code):
        if instruction.opname == "RETURN_CONST":
            return site(code, instruction)
        if instruction.opname == "RETURN_VALUE" and last is not None:
            return None if _loaded(last) == name else site(code, last)
        last = instruction
    return None


def last_return(code: types.CodeType) -> Site | None:
    """The last `return` of a function."""
    ends = [i for i in instructions(code) if i.opname.startswith("RETURN_")]
    return site(code, ends[-1]) if ends else None


@functools.lru_cache(maxsize=4096)
def stored_after(code: types.CodeType, offset: int) -> tuple[str, ...] | None:
    """The variables that get the value of an instruction; None when it is returned."""
    names: tuple[str, ...] = ()
    for instruction in instructions(code):
        name = instruction.opname
        if instruction.offset <= offset or name in ("CACHE", "UNPACK_SEQUENCE"):
            continue
        if name.startswith("RETURN") and not names:
            return None
        targets = _targets(instruction)
        names += targets
        if not targets or name == "STORE_FAST_LOAD_FAST":
            break
    return names


def _targets(instruction: dis.Instruction) -> tuple[str, ...]:
    """The variables that an instruction stores to: some store two, others load the second."""
    name, value = instruction.opname, instruction.argval
    if not name.startswith("STORE_") or name in _NO_VARIABLES:
        return ()
    if not isinstance(value, tuple):
        return (value,)
    return value if name == "STORE_FAST_STORE_FAST" else value[:1]


def _loaded(instruction: dis.Instruction) -> str | None:
    """The variable that an instruction leaves on the stack."""
    if not instruction.opname.startswith(_LOADS):
        return None
    value = instruction.argval
    return str(value[-1] if isinstance(value, tuple) else value)


def site(
    code: types.CodeType, one: dis.Instruction, other: dis.Instruction | None = None
) -> Site | None:
    """The place of an instruction, stretched to that of another one on the same line."""
    place = one.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return None
    end = place.end_col_offset if place.end_lineno == place.lineno else 0
    value = other.positions if other is not None else None
    if value is not None and value.lineno == place.lineno == value.end_lineno:
        end = max(end or 0, value.end_col_offset or 0)
    return Site(code.co_filename, place.lineno, function_name(code), place.col_offset, end or 0)
