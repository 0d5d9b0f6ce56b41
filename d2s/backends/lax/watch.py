"""What code under trial may have changed: found by comparing, undone without a trace.

A region of the graph is built by running the user's code, perhaps several times, perhaps for a
branch that is not taken. Whatever that run stored in a closure cell, a list, a dict or an object
is found afterwards (even when C code did it), taken out as a value where that is possible, and
undone.
"""

from __future__ import annotations

import array
import dis
import functools
import gc
import sys
import types
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

import jax
import numpy as np

from d2s.backends.lax.appended import Recorder
from d2s.conversion import MARKS, is_made_by_d2s, is_written
from d2s.errors import Site, StagingError
from d2s.libraries import is_library_file
from d2s.static import StaticFunction

EMPTY = object()
#: the key of a place that is all of a list, dict or deque, or of the attributes in `__slots__`
WHOLE = object()
_ATOMS = (str, bytes, int, float, complex, bool, type(None), types.ModuleType, range, slice)


_METHODS = (types.BuiltinMethodType, types.MethodWrapperType, types.MethodType)
_FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")


#: where lists, dicts and sets were last changed by a method, while graphs are built
changes: dict[int, Site] = {}


class Slot:
    """A place that holds one value: a closure cell, an entry of a list or dict, an attribute.

    With the key `WHOLE` it is all that a list, dict or object holds, because there is more or less
    in it than before.
    """

    def __init__(self, owner: Any, key: Any) -> None:
        self.owner, self.key = owner, key

    def get(self) -> Any:
        if isinstance(self.owner, types.CellType):
            return cell_contents(self.owner)
        if self.key is WHOLE:
            return _copy(self.owner)
        if isinstance(self.owner, _Slots):
            return getattr(self.owner.owner, self.key)
        return self.owner[self.key]

    def set(self, value: Any) -> None:
        if self.key is WHOLE:
            _refill(self.owner, value)
        elif isinstance(self.owner, _Slots):
            object.__setattr__(self.owner.owner, self.key, value)
        elif not isinstance(self.owner, types.CellType):
            self.owner[self.key] = value
        elif value is EMPTY:
            del self.owner.cell_contents
        else:
            self.owner.cell_contents = value

    @property
    def is_there(self) -> bool:
        """Whether there is such a place at all: an entry, an attribute."""
        if isinstance(self.owner, types.CellType) or self.key is WHOLE:
            return True
        if isinstance(self.owner, _Slots):
            return hasattr(self.owner.owner, self.key)
        if isinstance(self.owner, dict):
            return self.key in self.owner
        return bool(self.key < len(self.owner))

    @property
    def holder(self) -> Any:
        """What holds the value, for Python."""
        return self.owner.owner if isinstance(self.owner, _Slots) else self.owner

    @property
    def identity(self) -> tuple[int, Any]:
        return id(self.holder), self.key


def _copy(owner: Any) -> Any:
    if isinstance(owner, _Slots):
        kind: Any = type(owner.owner)
        names = slot_names(kind)
        return {n: getattr(owner.owner, n) for n in names if hasattr(owner.owner, n)}
    return dict(owner) if isinstance(owner, dict) else list(owner)


def _refill(owner: Any, value: Any) -> None:
    if isinstance(owner, _Slots):
        kind: Any = type(owner.owner)
        held = dict.fromkeys(slot_names(kind), EMPTY) | value
        _restore_attributes(owner, held)
    elif isinstance(owner, list):
        owner[:] = value
    else:
        owner.clear()
        owner.extend(value) if isinstance(owner, deque) else owner.update(value)


def cell_contents(cell: types.CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


class Apart(Protocol):
    """What is not watched because it is an input of the graph."""

    def has(self, value: Any) -> bool: ...

    def has_place(self, owner: Any, name: str | None) -> bool: ...


class Watch:
    """A snapshot of everything mutable that some roots reach.

    `outside` says that it watches what exists beside a whole static function; functions made while
    that runs are none of its business. `apart` tells what of it has a twin in the graph, which is
    an input and not watched.
    """

    def __init__(self, *roots: Any, outside: bool = False, apart: Apart | None = None) -> None:
        self.outside = outside
        self._apart = apart
        self._seen: dict[int, Any] = {}
        self._snapshots: list[tuple[Any, Any]] = []
        self._names: list[tuple[dict[str, Any], str, Any]] = []
        self._functions: list[tuple[types.FunctionType, Any, Any, Any]] = []
        self._labels: dict[int, str] = {}
        self._variables: list[tuple[types.CellType, str]] = []
        #: what was met only after a region had begun: it may be of the region's own making
        self._late: set[int] = set()
        self.begun = False
        #: what nobody has but variables that the region binds anew
        self.alone: frozenset[int] = frozenset()
        for root in roots:
            self.add(root)

    def add(self, root: Any) -> None:
        stack = [root]
        while stack:
            value = stack.pop()
            if isinstance(value, _ATOMS) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            if self.begun:
                self._late.add(id(value))
            marks = len(self._snapshots)
            stack.extend(self._take(value))
            if self._apart is not None and self._apart.has(value):
                del self._snapshots[marks:]

    def forget(self) -> None:
        """Let go of what was looked at; what is watched stays."""
        self._seen = {}

    def reached(self) -> list[Any]:
        """Everything that was looked at."""
        return list(self._seen.values())

    def knows(self, value: Any) -> bool:
        return id(value) in self._seen

    def knew(self, value: Any) -> bool:
        """Whether something was there before the region began."""
        return id(value) in self._seen and id(value) not in self._late

    def _take(self, value: Any) -> list[Any]:
        """Snapshot one object; returns what it reaches."""
        if isinstance(value, Recorder):
            return [vars(value)]
        if isinstance(value, types.FunctionType):
            return self._take_function(value)
        if isinstance(value, type):
            return self._take_class(value)
        if isinstance(value, types.MethodType):
            return [value.__func__, value.__self__]
        if isinstance(value, types.BuiltinMethodType | types.MethodWrapperType):
            return [value.__self__]
        if isinstance(value, staticmethod | classmethod):
            return [value.__func__]
        if isinstance(value, property):
            return [value.fget, value.fset]
        if isinstance(value, functools.partial):
            return [value.func, value.args, value.keywords]
        if isinstance(value, tuple | frozenset):
            return list(value)
        if isinstance(value, types.CellType):
            if self._apart is None or not self._apart.has_place(value, None):
                self._snapshots.append((value, cell_contents(value)))
            return [cell_contents(value)]
        if isinstance(value, jax.core.Tracer | jax.Array):
            return []
        if isinstance(value, np.ndarray):
            if value.flags.writeable or value.base is not None:
                self._snapshots.append((value, value.copy()))
            return []
        if isinstance(value, list | deque | bytearray | array.array):
            self._snapshots.append((value, list(value)))
            return list(value)
        if isinstance(value, set):
            self._snapshots.append((value, set(value)))
            return list(value)
        if isinstance(value, dict):
            self._snapshots.append((value, dict(value)))
            return list(value.values())
        if isinstance(value, StaticFunction):
            return [value.original]
        if type(value).__module__.startswith("d2s."):
            return []
        reached: list[Any] = [type(value)]
        attributes = own_dict(value)
        if self._apart is not None and self._apart.has(value):
            reached += [*(attributes or {}).values()]
        elif attributes is not None:
            self._labels[id(attributes)] = f"an attribute of a {type(value).__name__}"
            reached.append(attributes)
        kind: Any = type(value)
        names = slot_names(kind)
        if names:
            held = {n: getattr(value, n, EMPTY) for n in names}
            owner = _Slots(value)
            self._labels[id(owner)] = f"an attribute of a {type(value).__name__}"
            self._snapshots.append((owner, held))
            reached += held.values()
        return reached

    def _take_class(self, kind: type) -> list[Any]:
        """Attributes of the user's classes; those of libraries stay as they are."""
        if is_library_class(kind):
            return []
        held = {n: v for n, v in vars(kind).items() if n not in ("__dict__", "__weakref__")}
        self._labels[id(kind)] = f"an attribute of the class {kind.__name__}"
        self._snapshots.append((kind, held))
        return [*held.values(), *kind.__bases__]

    def _take_function(self, function: types.FunctionType) -> list[Any]:
        reached: list[Any] = list(function.__closure__ or ())
        if is_library_file(function.__code__.co_filename) and not is_made_by_d2s(function):
            # d2s wraps the user's functions in functions of its own; those of others are theirs
            ours = function.__module__.startswith("d2s.")
            return [cell_contents(cell) for cell in reached] if ours else []
        for name, cell in zip(function.__code__.co_freevars, reached, strict=True):
            self._variables.append((cell, name))
            self._labels.setdefault(id(cell), f"the variable `{name}` of an enclosing function")
        space = function.__globals__
        for name in global_names(function.__code__):
            value = space.get(name, EMPTY)
            if self._apart is None or not self._apart.has_place(space, name):
                self._names.append((space, name, value))
            reached.append(value)
            if isinstance(value, types.ModuleType):
                reached += self._take_module(value, attribute_names_of(function.__code__))
        if not is_made_by_d2s(function) or is_written(function):
            self._labels[id(function)] = f"the function {function.__name__}"
            parts = function.__code__, function.__defaults__, function.__kwdefaults__
            self._functions.append((function, *parts))
            own = {n: v for n, v in function.__dict__.items() if n not in MARKS}
            view = _Attributes(function)
            self._labels[id(view)] = f"an attribute of the function {function.__name__}"
            self._snapshots.append((view, own))
        return [*reached, function.__defaults__, function.__kwdefaults__]

    def _take_module(self, module: types.ModuleType, names: tuple[str, ...]) -> list[Any]:
        """Of a module of the user's, the attributes whose names a function mentions."""
        filename = getattr(module, "__file__", None)
        if filename is None or is_library_file(filename):
            return []
        reached: list[Any] = []
        for name in names:
            value = vars(module).get(name, EMPTY)
            self._names.append((vars(module), name, value))
            reached.append(value)
            if isinstance(value, types.ModuleType) and value is not module:
                reached += self._take_module(value, names)
        return reached

    def changed(self) -> Iterator[tuple[Any, Any]]:
        for owner, before in self._snapshots:
            if not _unchanged(owner, before):
                yield owner, before
        for space, name, before in self._names:
            if space.get(name, EMPTY) is not before:
                yield _Global(space, name), before
        for function, *parts in self._functions:
            held = dict(zip(_FUNCTION_PARTS, parts, strict=True))
            if not _unchanged(function, held):
                yield function, held

    def is_unchanged(self) -> bool:
        """The same question as `changed` answers, asked on every call and therefore in short."""
        for space, name, before in self._names:
            if space.get(name, EMPTY) is not before:
                return False
        for function, code, defaults, kwdefaults in self._functions:
            if (
                function.__code__ is not code
                or function.__defaults__ is not defaults
                or function.__kwdefaults__ is not kwdefaults
            ):
                return False
        for owner, before in self._snapshots:
            if not (type(owner) is _Attributes and not before) and not _unchanged(owner, before):
                return False
        return True

    def label(self, owner: Any) -> str:
        """What a user calls the thing that changed."""
        if isinstance(owner, _Global):
            return f"the global name `{owner.name}`"
        return self._labels.get(id(owner), f"a {type(owner).__name__}")

    def label_of(self, slot: Slot) -> str:
        """What a user calls a place."""
        if isinstance(slot.owner, types.CellType):
            names = [f"`{name}`" for cell, name in self._variables if cell is slot.owner]
            return names[0] if names else self.label(slot.owner)
        path = self._path(slot.owner)
        if slot.key is WHOLE or not path:
            kind = type(slot.owner).__name__
            if path.endswith("."):
                return f"the object `{path[:-1]}`"
            return f"the {kind} `{path}`" if path else self.label(slot.owner)
        is_entry = not path.endswith(".")
        return f"`{path}[{slot.key!r}]`" if is_entry else f"`{path}{slot.key}`"

    def _path(self, owner: Any) -> str:
        """How a program gets to a list or dict; with a dot at the end, to the attributes."""
        wanted = owner.owner if isinstance(owner, _Slots) else owner
        queue = [(name, cell_contents(cell)) for cell, name in self._variables]
        queue += [(name, value) for _, name, value in self._names]
        seen: set[int] = set()
        for path, value in queue:
            if id(value) in seen or not self.knows(value) or isinstance(value, type):
                continue
            seen.add(id(value))
            attributes = getattr(value, "__dict__", None)
            if value is wanted:
                return f"{path}." if isinstance(owner, _Slots) else path
            if attributes is wanted:
                return f"{path}."
            if isinstance(value, list | tuple | deque):
                queue += [(f"{path}[{n}]", part) for n, part in enumerate(value)]
            elif isinstance(value, dict):
                queue += [(f"{path}[{key!r}]", part) for key, part in value.items()]
            elif type(attributes) is dict and not callable(value):
                queue += [(f"{path}.{name}", part) for name, part in attributes.items()]
        return ""

    def slots(self) -> list[Slot]:
        """The places whose value changed; refuses changes that are more than a new value."""
        found: list[Slot] = []
        for owner, before in self.changed():
            places = _slots(owner, before)
            if places is None:
                label = self.label_of(Slot(owner, WHOLE))
                raise StagingError(
                    f"{label} is changed where the change depends on a run-time value",
                    code="D2S024",
                    site=changes.get(id(owner)) or _here(),
                    fix="keep the values in variables or arrays of fixed size and assign those",
                )
            found += places
        return found

    def places(self) -> list[Slot]:
        """Every place that is watched and holds a value now."""
        found: list[Slot] = []
        for owner, _ in self._snapshots:
            if isinstance(owner, types.CellType):
                found.append(Slot(owner, None))
            elif isinstance(owner, list | deque):
                found += [Slot(owner, n) for n in range(len(owner))]
            elif isinstance(owner, dict):
                found += [Slot(owner, key) for key in owner]
            elif isinstance(owner, _Slots):
                kind: Any = type(owner.owner)
                names = [n for n in slot_names(kind) if hasattr(owner.owner, n)]
                found += [Slot(owner, n) for n in names]
        found += [Slot(space, name) for space, name, _ in self._names if name in space]
        return found

    def names(self) -> list[Slot]:
        """The global names that are watched and have a value."""
        return [Slot(space, name) for space, name, held in self._names if held is not EMPTY]

    def is_fixed_in_something(self, value: Any) -> bool:
        """Whether something that is no place has a value: a tuple, a bound method, a class."""
        for holder in self._seen.values():
            parts: Any = holder if isinstance(holder, tuple | frozenset) else ()
            if isinstance(holder, _METHODS):
                parts = (holder.__self__,)
            if any(part is value for part in parts):
                return True
        owners = (held for owner, held in self._snapshots if isinstance(owner, type | _Attributes))
        return any(part is value for held in owners for part in held.values())

    def wholes(self) -> list[Slot]:
        """Everything that is watched and can get more or fewer entries."""
        kinds = (list, dict, deque, _Slots)
        return [Slot(owner, WHOLE) for owner, _ in self._snapshots if isinstance(owner, kinds)]

    def undo(self) -> None:
        for owner, before in list(self.changed()):
            if isinstance(owner, types.CellType):
                Slot(owner, None).set(before)
            elif isinstance(owner, _Global):
                owner.restore(before)
            elif isinstance(owner, np.ndarray):
                owner[...] = before
            elif isinstance(owner, list | bytearray):
                owner[:] = before
            elif isinstance(owner, array.array):
                owner[:] = array.array(owner.typecode, before)
            elif isinstance(owner, type | types.FunctionType | _Slots):
                _restore_attributes(owner, before)
            elif isinstance(owner, _Attributes):
                marks = {n: v for n, v in owner.items.items() if n in MARKS}
                owner.items.clear()
                owner.items.update(before | marks)
            else:
                owner.clear()
                owner.extend(before) if isinstance(owner, deque) else owner.update(before)


class Effects:
    """What asking an iterator for more items has changed."""

    def __init__(self, iterator: Any) -> None:
        frame = getattr(iterator, "gi_frame", None)
        names = {} if frame is None else dict(frame.f_locals)
        source = names.pop(".0", None)
        self._is_shared = source is not None and sys.getrefcount(source) > _references()
        parts = iterator.__reduce__()[1] if isinstance(iterator, map | filter) else ()
        cells = [c for c in gc.get_referents(iterator) if isinstance(c, types.CellType)]
        self._watch = Watch(*cells, *names.values(), *parts)

    def happened(self) -> bool:
        return self._is_shared or any(True for _ in self._watch.changed())


def _references() -> int:
    """How many references there are to what a generator runs over when nobody else has it."""
    alone: Any = (_ for _ in (1, 2))
    next(alone)  # while it runs, its frame has one more
    frame = alone.gi_frame
    names = dict(frame.f_locals)
    source = names.pop(".0", None)
    return sys.getrefcount(source)


class _Global:
    """A global name."""

    def __init__(self, space: dict[str, Any], name: str) -> None:
        self.space, self.name = space, name

    def restore(self, before: Any) -> None:
        if before is EMPTY:
            self.space.pop(self.name, None)
        else:
            self.space[self.name] = before


class _Slots:
    """The attributes that a class keeps in `__slots__`."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner


def instance_slot(value: Any, name: str) -> Slot:
    """An attribute of an object, by the same owner whoever asks."""
    own = own_dict(value)
    if own is not None and name in own:
        return Slot(own, name)
    return Slot(_Slots(value), name)


class _Attributes:
    """The attributes of a function."""

    def __init__(self, function: types.FunctionType) -> None:
        self.items = function.__dict__


def _restore_attributes(owner: Any, before: dict[str, Any]) -> None:
    target = owner.owner if isinstance(owner, _Slots) else owner
    setter = setattr if isinstance(owner, type | types.FunctionType) else object.__setattr__
    for name in [n for n in _attributes(owner, before) if n not in before]:
        delattr(target, name)
    for name, value in before.items():
        if _attribute(owner, name) is not value:
            delattr(target, name) if value is EMPTY else setter(target, name, value)


def _attributes(owner: Any, before: dict[str, Any]) -> list[str]:
    if isinstance(owner, type):
        return [n for n in vars(owner) if n not in ("__dict__", "__weakref__")]
    return list(before)


def _attribute(owner: Any, name: str) -> Any:
    if isinstance(owner, type):
        return vars(owner).get(name, EMPTY)
    return getattr(owner.owner if isinstance(owner, _Slots) else owner, name, EMPTY)


def own_dict(value: Any) -> dict[str, Any] | None:
    """The attributes of an object, not those of something that it stands for."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if type(own) is dict else None


@functools.cache
def slot_names(kind: Any) -> tuple[str, ...]:
    names: list[str] = []
    for base in kind.__mro__:
        slots = vars(base).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else list(slots)
    hidden = ("__dict__", "__weakref__")
    return tuple(n for n in names if n not in hidden and not n.startswith("__"))


@functools.cache
def is_library_class(kind: Any) -> bool:
    if kind.__module__ in ("builtins", "__main__"):
        return bool(kind.__module__ == "builtins")
    module = sys.modules.get(kind.__module__)
    if module is None:
        return False  # made by exec, or of a module that is not there any more
    filename: str | None = getattr(module, "__file__", None)
    return filename is None or is_library_file(filename)


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


def _unchanged(owner: Any, before: Any) -> bool:
    if isinstance(owner, types.CellType):
        return cell_contents(owner) is before
    if isinstance(owner, type | types.FunctionType | _Slots):
        if len(_attributes(owner, before)) != len(before):
            return False
        return all(_attribute(owner, name) is value for name, value in before.items())
    if isinstance(owner, _Attributes):
        now = {n: v for n, v in owner.items.items() if n not in MARKS}
        return now.keys() == before.keys() and all(now[n] is before[n] for n in now)
    if isinstance(owner, np.ndarray):
        return bool(owner.tobytes() == before.tobytes())
    if isinstance(owner, dict):
        return len(owner) == len(before) and all(
            k is k2 and v is v2
            for (k, v), (k2, v2) in zip(owner.items(), before.items(), strict=True)
        )
    if isinstance(owner, set):
        return bool(owner == before)
    return len(owner) == len(before) and all(a is b for a, b in zip(owner, before, strict=True))


def _slots(owner: Any, before: Any) -> list[Slot] | None:
    """The places of an object whose value changed; None when it changed in another way."""
    if isinstance(owner, types.CellType):
        return [Slot(owner, None)]
    if isinstance(owner, _Global) and before is not EMPTY and owner.name in owner.space:
        return [Slot(owner.space, owner.name)]
    if isinstance(owner, list) and len(owner) == len(before):
        return [Slot(owner, n) for n, v in enumerate(owner) if v is not before[n]]
    if isinstance(owner, dict) and list(owner) == list(before):
        return [Slot(owner, k) for k, v in owner.items() if v is not before[k]]
    if isinstance(owner, _Slots):
        names = [n for n, v in before.items() if _attribute(owner, n) is not v]
        new = any(before[n] is EMPTY or _attribute(owner, n) is EMPTY for n in names)
        return [Slot(owner, WHOLE)] if new else [Slot(owner, n) for n in names]
    return [Slot(owner, WHOLE)] if isinstance(owner, list | dict | deque) else None


def _here() -> Site:
    """The line of the user's that is running."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_library_file(frame.f_code.co_filename):
        frame = frame.f_back
    return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
