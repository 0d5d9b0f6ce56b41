"""The attributes of an object as they are stored, past `__getattr__`, properties and the like.

An object keeps them in a dict (`own_dict`), in the `__slots__` of its class (`slot_names`), or in
both. Nothing here runs code of the user's class.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterator
from typing import Any


def own_dict(value: Any) -> dict[str, Any] | None:
    """The dict of an object's attributes, whatever its class answers for `__dict__`."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return own if type(own) is dict else None


@functools.cache
def slot_names(kind: Any) -> tuple[str, ...]:
    """The attributes that objects of a class keep elsewhere than in a dict.

    Those are the ones in `__slots__`; of exceptions, also the fields of Python's own classes, such
    as `args` and the `filename` of an `OSError`.
    """
    if issubclass(kind, BaseException):
        fields = exception_fields(kind)
        return tuple(n for n in fields if inspect.getattr_static(kind, n) is fields[n])
    # A slot of a base that another class hides, as by a property of that name, cannot be set.
    names = [(name, base) for base in kind.__mro__ for name in _slots(base)]
    return tuple(n for n, base in names if inspect.getattr_static(kind, n) is vars(base).get(n))


def _slots(kind: type) -> Iterator[str]:
    """The attributes for which a class itself has slots, by the names that Python gives them."""
    slots = vars(kind).get("__slots__", ())
    for name in (slots,) if isinstance(slots, str) else slots:
        if not name.startswith("__"):
            yield name
        elif not name.endswith("__"):
            yield f"_{kind.__name__.lstrip('_')}{name}"  # private, as Python spells it


@functools.cache
def exception_fields(kind: Any) -> dict[str, Any]:
    """The descriptors of the fields of exceptions, by name, even if a subclass hides one."""
    kinds = (types.MemberDescriptorType, types.GetSetDescriptorType)
    # The fields of a group repeat its arguments, and cannot be set.
    bases = [base for base in reversed(kind.__mro__) if base is not BaseExceptionGroup]
    found = {n: v for base in bases for n, v in vars(base).items() if isinstance(v, kinds)}
    return {name: field for name, field in found.items() if not name.startswith("__")}


def attribute_names(value: Any) -> tuple[str, ...]:
    """The names of the attributes that an object has of its own, those in `__slots__` last."""
    kind: Any = type(value)
    names = tuple(own_dict(value) or ())
    slots = slot_names(kind)
    return names if not slots else (*names, *(n for n in slots if has_slot(value, n)))


def has_slot(value: Any, name: str) -> bool:
    try:
        object.__getattribute__(value, name)
    except AttributeError:
        return False
    return True


def getattr_raw(value: Any, name: str) -> Any:
    """The stored value of an attribute."""
    own = own_dict(value)
    return own[name] if own is not None and name in own else object.__getattribute__(value, name)


def set_raw(value: Any, name: str, part: Any) -> None:
    own = own_dict(value)
    kind: Any = type(value)
    if own is None or name in slot_names(kind):
        object.__setattr__(value, name, part)
    else:
        own[name] = part


def delete_raw(value: Any, name: str) -> None:
    own = own_dict(value)
    if own is not None and name in own:
        del own[name]
    else:
        object.__delattr__(value, name)
