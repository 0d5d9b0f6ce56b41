"""Global names that a program gets at by a text, and not by mentioning them.

``globals()["K"]``, ``vars(module)["K"]`` and ``getattr(module, "K")`` read the global name `K`.
While a graph is built this has the same effect as a function that mentions `K`: the name becomes an
input of the graph, and an output where it is written; or its value is a constant of the graph, and
every call checks that it has not changed.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.objects.slots import Slot
from d2s.backends.lax.reach.mentions import attribute_names_of, codes_inside
from d2s.backends.lax.reach.reach import Restart
from d2s.conversion import is_made_code, is_made_inside
from d2s.errors import Site, StagingError
from d2s.libraries import is_library_module
from d2s.static import StaticFunction

#: attributes by which a program gets at all names of a function, behind the back of a graph
INNER = frozenset({"__globals__", "cell_contents", "f_globals", "f_locals"})


class ModuleNames(dict[str, Any]):
    """The names of a module; each that is read or written is noted.

    The dict itself is empty: it is one so that programs which ask for a dict get one, and every
    method of a dict that reads or writes entries is defined here.
    """

    def __init__(self, space: dict[str, Any], copies: Any) -> None:
        super().__init__()
        self._space, self._copies = space, copies

    def _read(self, name: Any) -> Any:
        if not isinstance(name, str):
            return self._space.get(name, EMPTY)
        if not self._copies.has_place(self._space, name):
            if self._copies.meets_name(self._space, name):
                raise Restart
            note_name(self._space, name)
        return self._copies.space_of(self._space).get(name, EMPTY)

    def _write(self, name: Any, value: Any) -> None:
        if not self._copies.has_place(self._space, name):
            if self._copies.meets_name(self._space, name, written=True):
                raise Restart
            raise _refused(
                f"the global name `{name}`, which code that is not converted reads, is changed by "
                "way of the names of its module"
            )
        space = self._copies.space_of(self._space)
        for snapshot in scopes.snapshots():
            if not snapshot.outside:  # of a branch or a loop, where nothing else mentions the name
                snapshot.add(Slot(space, name))
        if value is EMPTY:
            del space[name]
        else:
            space[name] = value

    def _names(self) -> list[str]:
        """All names of the module; the graph belongs to a module with these names in this order."""
        space, names = self._space, list(self._space)
        ask(lambda: list(space) == names)
        return list(self._copies.space_of(space))

    def __getitem__(self, name: Any) -> Any:
        value = self._read(name)
        if value is EMPTY:
            raise KeyError(name)
        return value

    def get(self, name: Any, default: Any = None, /) -> Any:
        value = self._read(name)
        return default if value is EMPTY else value

    def __contains__(self, name: Any) -> bool:
        return self._read(name) is not EMPTY

    def __iter__(self) -> Iterator[str]:
        return iter(self._names())

    def __len__(self) -> int:
        return len(self._names())

    def keys(self) -> Any:
        return dict.fromkeys(self._names()).keys()

    def copy(self) -> dict[str, Any]:
        return {name: self[name] for name in self._names()}

    def values(self) -> Any:
        return self.copy().values()

    def items(self) -> Any:
        return self.copy().items()

    def __reversed__(self) -> Iterator[str]:
        return reversed(self._names())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ModuleNames) and other._space is self._space:
            return True
        return bool(self.copy() == other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = None

    def __or__(self, other: Any) -> Any:
        return self.copy() | other

    def __ror__(self, other: Any) -> Any:
        return other | self.copy()

    def __repr__(self) -> str:
        return repr(self.copy())

    def __setitem__(self, name: Any, value: Any) -> None:
        self._write(name, value)

    def __delitem__(self, name: Any) -> None:
        self[name]  # raises KeyError if there is no such name
        self._write(name, EMPTY)

    def pop(self, name: Any, *default: Any) -> Any:
        value = self._read(name)
        if value is EMPTY and default:
            return default[0]
        value = self[name]
        del self[name]
        return value

    def setdefault(self, name: Any, default: Any = None, /) -> Any:
        if self._read(name) is EMPTY:
            self._write(name, default)
        return self[name]

    def update(self, *others: Any, **named: Any) -> None:
        for name, value in dict(*others, **named).items():
            self._write(name, value)

    def __ior__(self, other: Any) -> Any:
        self.update(other)
        return self

    def popitem(self) -> Any:
        raise _refused("`popitem()` takes whichever global name is the last")

    def clear(self) -> None:
        raise _refused("`clear()` takes all global names")


def _refused(what: str) -> StagingError:
    return StagingError(
        f"{what}; a compiled call would not repeat that",
        code="D2S079",
        site=sites.where(),
        fix="`global name` and an assignment in a function that d2s converts",
    )


def ask(is_same: Callable[[], bool]) -> None:
    """The graph depends on an answer; every call asks again whether it is the same."""
    for snapshot in scopes.snapshots():
        if snapshot.outside:
            snapshot.add_answer(is_same)


def note_name(space: dict[str, Any], name: str) -> None:
    """A global name is read, or is about to be written, in the module itself and not in a copy."""
    for snapshot in scopes.snapshots():
        if snapshot.outside:
            snapshot.add_name(space, name)


def globals_() -> dict[str, Any]:
    """`globals()` of the user's function that calls it."""
    frame = sys._getframe(1)
    while not is_made_code(frame.f_code) and frame.f_back is not None:
        frame = frame.f_back
    copies = scopes.copies()
    return (
        frame.f_globals
        if copies is None
        else ModuleNames(copies.real_space(frame.f_globals), copies)
    )


def vars_(*args: Any) -> Any:
    """`vars(value)`; the names of a module are noted when they are read or written."""
    copies = scopes.copies()
    if copies is None or len(args) != 1 or not isinstance(args[0], types.ModuleType):
        return vars(*args)
    return ModuleNames(vars(args[0]), copies)


def eval_(source: Any, names: Any = None, *others: Any) -> Any:
    """`eval`, which would look for global names in the memory of `ModuleNames`, an empty dict.

    So it gets a plain dict with the names that the code mentions.
    """
    if not isinstance(names, ModuleNames):
        return eval(source, names, *others)
    code = source if isinstance(source, types.CodeType) else compile(source, "<string>", "eval")
    if any(isinstance(constant, types.CodeType) for constant in code.co_consts):
        raise _refused_code(
            "a function in `eval` would read global names later, when nobody looks at them"
        )
    return eval(code, {name: names[name] for name in code.co_names if name in names}, *others)


def exec_(source: Any, names: Any = None, *others: Any, **named: Any) -> None:
    """`exec`, which is refused with the names of a module: it may bind any of them."""
    if isinstance(names, ModuleNames):
        raise _refused_code("`exec` may change any global name, and d2s cannot see which")
    exec(source, names, *others, **named)


def _refused_code(what: str) -> StagingError:
    return StagingError(
        what,
        code="D2S079",
        site=sites.where(),
        fix="the code as a function, or a dict of its own for `exec` and `eval`",
    )


def note_attribute(value: Any, name: Any) -> None:
    """An attribute is asked for by a text: that of a module or function is noted."""
    copies = scopes.copies()
    if copies is None or not isinstance(name, str):
        return
    if name in INNER:
        refuse_inner(name)
    if isinstance(value, types.ModuleType):
        if copies.sees_names(vars(value), [name]):
            raise Restart
        note_name(vars(value), name)
    elif isinstance(value, types.FunctionType) and is_made_inside(value):
        return  # it was made while the graph is built, so that nobody outside can change it
    elif isinstance(value, types.FunctionType | StaticFunction):
        note_name(vars(value), name)
    elif copies.meets_attribute(name):
        raise Restart


def note_module(module: types.ModuleType) -> None:
    """A module was found while the graph is built; any of its names may be read, or written."""
    copies = scopes.copies()
    if copies is None:
        return
    if copies.meets_module(module):
        raise Restart
    for snapshot in scopes.snapshots():
        if snapshot.outside:
            snapshot.add(module)


def note_all(module: types.ModuleType) -> None:
    """A module is handed to code that is not converted, which may read all its names."""
    copies = scopes.copies()
    if copies is not None and not is_library_module(module):
        if copies.sees_names(vars(module), list(vars(module))):
            raise Restart
        for name in list(vars(module)):
            note_name(vars(module), name)


def refuse_inner_of(function: types.FunctionType) -> None:
    """Refuse a function that gets at the variables of others by attributes such as `f_locals`."""
    if INNER.isdisjoint(attribute_names_of(function.__code__)):
        return
    for code in (function.__code__, *codes_inside(function.__code__)):
        for part in dis.get_instructions(code):
            if part.opname == "LOAD_ATTR" and part.argval in INNER:
                line = part.positions.lineno if part.positions else None
                site = Site(code.co_filename, line or code.co_firstlineno, function.__qualname__)
                refuse_inner(part.argval, site)


def refuse_inner(name: str, site: Site | None = None) -> None:
    raise StagingError(
        f"`{name}` gives variables of a function; d2s could not see whether they have changed when "
        "the graph is used again",
        code="D2S079",
        site=site or sites.where(),
        fix="the variables by their names, or globals()",
    )
