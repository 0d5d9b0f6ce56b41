"""The attributes of an object as they are stored, past `__getattr__`, properties and the like."""

from __future__ import annotations

from typing import Any

from d2s.backends.lax.objects.slots import own_dict, slot_names


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
