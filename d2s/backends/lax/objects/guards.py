"""Guards: whether what a graph was built from is still the same, as code that every call runs.

A graph that has the global name `rate` and the function `helper` in it belongs to these two as they
were. The guard is one expression of Python, made of texts and compiled once:

    guarded1.get('rate', EMPTY) is guarded2 and guarded3.__code__ is guarded4 and ...

with the dict of the module, the value of `rate`, `helper` and its code as `guarded1` to `guarded4`.
"""

from __future__ import annotations

import itertools
import types
from collections.abc import Callable, Iterable
from typing import Any

from d2s.backends.lax.forms.kinds.code import Answer, attribute_of, cell_contents
from d2s.backends.lax.forms.kinds.form import EMPTY, WHOLE
from d2s.backends.lax.objects.slots import Slot, changed_slots, is_unchanged, path_to

_numbers = itertools.count()

#: the parts of a function that a program may assign, and that change what it does
FUNCTION_PARTS = ("__code__", "__defaults__", "__kwdefaults__")


#: values whose texts say what they are
_PLAIN = (str, bytes, int, float, complex, bool, type(None))


def _became(name: str, before: Any, now: Any) -> str:
    """The reason for another graph, with the two values where their texts say something."""
    if isinstance(before, _PLAIN) and isinstance(now, _PLAIN):
        return f"another static value: {name}: {before!r} became {now!r}"
    return f"{name} has changed"


class Guard:
    """An expression that is true while nothing has changed, and the values of its names.

    No two guards use a name for different things, so the code that runs on each call can have the
    expressions of several guards in it. The arguments are those of `trace.before.Before`.
    """

    def __init__(
        self,
        names: Iterable[tuple[dict[str, Any], str, Any]],
        functions: Iterable[tuple[types.FunctionType, Any, Any, Any]],
        snapshots: Iterable[tuple[Any, Any]],
        variables: Iterable[tuple[types.CellType, str]] = (),
    ) -> None:
        self.names: dict[str, Any] = {
            "EMPTY": EMPTY,
            "cell_contents": cell_contents,
            "is_unchanged": is_unchanged,
        }
        names, functions, snapshots = list(names), list(functions), list(snapshots)
        self._held, self._variables = (names, functions, snapshots), list(variables)
        tests = [f"{self._of(d)}.get({n!r}, EMPTY) is {self._of(v)}" for d, n, v in names]
        self._asked = [n for _, n, _ in names]
        for function, *parts in functions:
            name = self._of(function)
            pairs = zip(FUNCTION_PARTS, parts, strict=True)
            tests += [f"{name}.{part} is {self._of(value)}" for part, value in pairs]
        for owner, before in snapshots:
            if type(owner) is Answer:
                tests.append(f"{self._of(owner.is_same)}()")
                continue
            is_cell = type(owner) is types.CellType
            ask = "cell_contents({}) is {}" if is_cell else "is_unchanged({}, {})"
            tests.append(ask.format(self._of(owner), self._of(before)))
        self.test = " and ".join(tests)
        self.holds: Callable[[], bool] = eval(f"lambda: {self.test or True}", dict(self.names))

    def changed(self) -> str:
        """What has changed, in the user's words; called only when something has."""
        names, functions, snapshots = self._held
        for space, name, before in names:
            if space.get(name, EMPTY) is not before:
                return _became(name, before, space.get(name, EMPTY))
        for function, *parts in functions:
            pairs = zip(FUNCTION_PARTS, parts, strict=True)
            if any(getattr(function, part) is not before for part, before in pairs):
                return f"the function {function.__qualname__} has changed"
        for owner, before in snapshots:
            if not is_unchanged(owner, before):
                return self._change_of(owner, before)
        return "something it reads has changed"

    def _change_of(self, owner: Any, before: Any) -> str:
        """What has changed in a cell, a list, a dict, an object or a class."""
        names, _, snapshots = self._held
        if isinstance(owner, types.CellType):
            name = next((name for cell, name in self._variables if cell is owner), "a variable")
            return _became(name, before, cell_contents(owner))
        if isinstance(owner, type):
            for name, value in before.items():
                now = attribute_of(owner, name)
                if now is not value:
                    return _became(f"{owner.__qualname__}.{name}", value, now)
            return f"the class {owner.__qualname__} has changed"
        known = {id(one) for one, _ in snapshots}
        roots = [(name, value) for _, name, value in names]
        roots += [(name, cell_contents(cell)) for cell, name in self._variables]
        path = path_to(
            owner,
            roots,
            lambda value: id(value) in known or id(getattr(value, "__dict__", None)) in known,
        )
        slots = changed_slots(owner, before) or [Slot(owner, WHOLE)]
        if not path or slots[0].key is WHOLE:
            return f"{path.removesuffix('.') or f'a {type(owner).__name__}'} has changed"
        key = slots[0].key
        name = f"{path}{key}" if path.endswith(".") else f"{path}[{key!r}]"
        was = getattr(before, "get", before.__getitem__)(key)
        return _became(name, was, slots[0].get())

    def __eq__(self, other: object) -> bool:
        """Whether two guards ask for the very same things."""
        return isinstance(other, Guard) and self._meant() == other._meant()

    def __hash__(self) -> int:
        return hash(tuple(self._meant()))

    def _meant(self) -> list[Any]:
        return [*self._asked, *map(id, self.names.values())]

    def _of(self, value: Any) -> str:
        name = f"guarded{next(_numbers)}"
        self.names[name] = value
        return name
