"""What is behind objects that Python code cannot look into: objects of C, and weak references.

``itertools.cycle(layers)`` holds `layers`, but has no attribute that says so: `behind` asks the
garbage collector. A weak reference holds nothing, but code that runs may get its object all the
same (`Elsewhere`).
"""

from __future__ import annotations

import gc
import types
import weakref
from collections.abc import Callable
from typing import Any

from d2s.backends.lax.forms.kinds.attributes import slot_names
from d2s.backends.lax.forms.kinds.elsewhere import Elsewhere
from d2s.errors import Site, StagingError
from d2s.libraries import is_library_class

Reading = Callable[[Any], tuple[str, Site | None]]
#: of what an object of C holds, so many objects are looked at
_FAR = 2000
#: values that hold nothing that a program could change through them
_PASSING = (
    *(str, bytes, int, float, complex, type(None), range, slice),
    *(type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType),
)


def is_elsewhere(value: Any) -> bool:
    """Whether a value is a context variable, an object per thread, or a weak reference.

    A proxy is asked by its own type: to everybody else it says that it is what it stands for.
    """
    kind = type(value)
    return kind in weakref.ProxyTypes or issubclass(kind, Elsewhere.KINDS)


def refuse_kept(parts: dict[int, list[Any]], values: list[Any], read: Reading) -> None:
    """Refuse objects that are known only by weak references, and that guards would keep alive.

    A guard remembers what is in the lists and attributes of an object, not the object itself. If
    one of those leads back to the object, the guard keeps it alive. `parts` are what each value
    leads to, by its identity; `read` gives the name of one, and the line that reads it.
    """
    for value in values:
        there = Elsewhere(value) if is_elsewhere(value) else None
        for referent in there.held() if there is not None and there.is_weak else ():
            kind: Any = type(referent)
            if is_library_class(kind):
                continue  # libraries may keep their own objects as they like
            stack, seen = list(parts.get(id(referent), ())), set()
            while stack:
                held = stack.pop()
                is_weak = is_elsewhere(held) and Elsewhere(held).is_weak
                if id(held) in seen or is_weak or isinstance(held, _PASSING):
                    continue
                seen.add(id(held))
                stack += parts.get(id(held), ())
            if id(referent) in seen or slot_names(kind):
                name, site = read(value)
                raise StagingError(
                    f"{f'{name}, a weak reference,' if name else 'a weak reference'} leads to a "
                    f"{kind.__name__} "
                    "that d2s would keep alive, to see whether it has changed",
                    code="D2S079",
                    site=site,
                    fix="what is read of the object as an argument",
                )


def behind(value: Any) -> list[Any]:
    """Objects that an object of C holds, as far as the garbage collector knows them."""
    held = [value.obj] if isinstance(value, memoryview) else gc.get_referents(value)[:_FAR]
    return [one for one in held if not is_elsewhere(one) and not isinstance(one, _PASSING)]
