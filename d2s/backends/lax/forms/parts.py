"""Values with an identity, taken apart and made again: lists, dicts, sets, objects.

    taken_apart({"a": x})    ->    Opened(keys ["a"], parts [x], extra None)
    made(dict, ["a"], [y], None)    ->    {"a": y}

A class of the user's that is made from a builtin one has the parts of that, and its attributes as
one more part, a dict. An object of any other class is nothing but its attributes.
"""

from __future__ import annotations

import argparse
import enum
import sys
import types
import weakref
from collections import ChainMap, Counter, UserDict, UserList
from typing import Any, NamedTuple

import jax

from d2s.backends.lax.forms.kinds.attributes import own_dict, slot_names
from d2s.backends.lax.forms.kinds.form import Form, per_class
from d2s.backends.lax.forms.kinds.table import form_of
from d2s.backends.lax.forms.registered import is_registered, when_registered
from d2s.libraries import is_d2s_class, is_library_class, is_library_file
from d2s.static import StaticFunction

#: the flag of classes that a class statement made, and not C (`Py_TPFLAGS_HEAPTYPE`)
_HEAP_TYPE = 1 << 9


#: classes of Python's own whose objects are nothing but their attributes
ATTRIBUTES_ONLY = (types.SimpleNamespace, argparse.Namespace, UserDict, UserList, ChainMap)


class _Attributes:
    """The key of the part that is the dict of attributes of a list or dict of the user's."""

    def __repr__(self) -> str:
        return "__dict__"


ATTRIBUTES = _Attributes()


class Opened(NamedTuple):
    """What a value consists of; `holders` are what its parts are in, as slots know them."""

    keys: list[Any]
    parts: list[Any]
    extra: Any
    #: for each part the identity of the owner whose slot it is in; None for no slot
    holders: list[int | None]


def taken_apart(value: Any) -> Opened | None:
    """The parts of a value with an identity, by key; None for other values."""
    kind: Any = type(value)
    if is_registered(kind):
        return None
    form = container_form(kind)
    if form is not None:
        return _opened_container(value, form)
    if not _is_plain(kind) or not _is_leaf(kind, value):
        return None
    own, names = own_dict(value), slot_names(kind)
    found = Opened([], [], None, [])
    _add(found, own or {}, id(own))
    if names:
        _add(found, {n: getattr(value, n) for n in names if hasattr(value, n)}, id(value))
    return found


def _opened_container(value: Any, form: Form) -> Opened:
    found = Opened([], [], form.extra(value), [])
    if form.has_slots:
        held = form.held(value)
        _add(found, held if form.is_by_key else dict(enumerate(held)), id(value))
    own = own_dict(value) if type(value) is not form.base else None
    if own is not None:
        _add(found, {ATTRIBUTES: own}, None)
    return found


def _add(found: Opened, parts: dict[Any, Any], holder: int | None) -> None:
    found.keys.extend(parts)
    found.parts.extend(parts.values())
    found.holders.extend([holder] * len(parts))


def made(kind: Any, keys: list[Any], parts: list[Any], extra: Any) -> Any:
    """The value with these parts."""
    form = container_form(kind)
    if form is None:
        return _made_object(kind, keys, parts)
    attributes = None
    if keys and keys[-1] is ATTRIBUTES:
        keys, parts, attributes = keys[:-1], parts[:-1], parts[-1]
    value = form.bare(kind, extra)
    form.fill(value, dict(zip(keys, parts, strict=True)) if form.is_by_key else parts)
    if attributes is not None:
        object.__setattr__(value, "__dict__", attributes)
    return value


def _made_object(kind: Any, keys: list[Any], parts: list[Any]) -> Any:
    value = new_object(kind)
    slots = slot_names(kind)
    for name, part in zip(keys, parts, strict=True):
        if name in slots:
            object.__setattr__(value, name, part)
        else:
            value.__dict__[name] = part
    return value


def new_object(kind: Any) -> Any:
    """An object of a class, without attributes; nothing of the class runs for that."""
    return kind.__new__(kind) if kind is types.SimpleNamespace else object.__new__(kind)


def entry_name(kind: Any, key: Any) -> str:
    """A part as a program writes it, behind the name of the value."""
    form = container_form(kind)
    return f".{key}" if form is None or key is ATTRIBUTES else form.name(key)


def is_sequence(kind: Any) -> bool:
    """Whether the keys of a value's parts are nothing but positions."""
    form = container_form(kind)
    return form is not None and form.has_slots and not form.is_by_key


#: classes of the standard library that are a builtin one, with code in Python around it
WRITTEN_IN_PYTHON = (Counter,)


@per_class
def container_form(kind: Any) -> Form | None:
    """The form of a class of containers: a builtin one, or one that a class statement made of it.

    What a library has made of a list or dict may be more than its items, so it is none.
    """
    form = form_of(kind)
    if form is None or not form.is_container:
        return None
    if kind is form.base or kind in WRITTEN_IN_PYTHON:
        return form
    between = kind.__mro__[: kind.__mro__.index(form.base)]
    if any(not one.__flags__ & _HEAP_TYPE for one in between) or hasattr(kind, "__del__"):
        return None
    return form if is_users_class(kind) and not slot_names(kind) else None


def is_users_class(kind: Any) -> bool:
    """Whether the program has made a class, and no library.

    A class whose module has no file was made by the program itself.
    """
    file = getattr(sys.modules.get(kind.__module__), "__file__", None)
    return kind.__module__ not in sys.builtin_module_names and not is_library_file(file or "<none>")


@per_class
def _is_plain(kind: Any) -> bool:
    """Whether objects of a class are their attributes and nothing else."""
    if kind in ATTRIBUTES_ONLY:
        return True
    params = getattr(kind, "__dataclass_params__", None)
    if params is None and not is_users_class(kind):
        return False
    if any(not base.__flags__ & _HEAP_TYPE for base in kind.__mro__[:-1]):
        return False
    if (params is not None and params.frozen) or hasattr(kind, "__del__"):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        return False  # something of C's is in it
    return True


_LEAVES: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def _is_leaf(kind: type, value: Any) -> bool:
    """Whether JAX has no way of its own to take objects of a class apart."""
    found = _LEAVES.get(kind)
    if found is None:
        found = _LEAVES[kind] = bool(jax.tree_util.all_leaves([value]))
    return found


def is_copied(kind: Any) -> bool:
    """Whether an object of a class has a copy in the graph."""
    known = _COPIED.get(kind)
    if known is None:
        known = _COPIED[kind] = _can_be_made(kind)
    return known


_COPIED: weakref.WeakKeyDictionary[type, bool] = weakref.WeakKeyDictionary()


def _can_be_made(kind: Any) -> bool:
    """Whether objects of a class can be made anew from their attributes alone."""
    if is_registered(kind):
        return False
    if hasattr(kind, "__del__") or issubclass(kind, (type, enum.Enum, StaticFunction)):
        return False
    if kind in ATTRIBUTES_ONLY:
        return True
    if kind is object or kind.__module__ == "builtins" or is_d2s_class(kind):
        return False
    try:
        object.__new__(kind)
    except TypeError:
        return False  # a part of it is kept in C
    root = kind.__module__.partition(".")[0]
    return not (is_library_class(kind) and root in sys.stdlib_module_names)


# what was found out about a class before it was registered
when_registered.append(lambda kind: _COPIED.pop(kind, None))
