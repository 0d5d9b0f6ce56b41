"""The attributes of modules that functions read by a dot, such as ``config.rate``.

Nobody looks at all names of a module: only those that some function mentions can matter.
"""

from __future__ import annotations

import types
from collections.abc import MutableMapping
from typing import Any

from d2s.backends.lax.forms.kinds.table import CONTAINERS
from d2s.backends.lax.reach.mentions import attribute_names_of, dotted, imported
from d2s.backends.lax.trace.before import Before
from d2s.libraries import is_library_module

#: what the import of a module leaves in it: Python's own, from where all other modules are reached
_OF_IMPORT = ("__loader__", "__spec__", "__builtins__")


class ModulesRead:
    """Remembers the attributes of modules whose names functions mention."""

    def __init__(self, before: Before) -> None:
        self._before = before
        #: modules that were looked at, with the names that were looked for
        self._visited: set[tuple[int, tuple[str, ...]]] = set()
        #: modules that a function got by other means than by a global name
        self._found: dict[int, types.ModuleType] = {}
        #: the names of attributes that functions mention
        self._mentioned: dict[str, None] = {}

    def find(self, module: types.ModuleType) -> list[Any]:
        """A module was found among values: any name that is mentioned may be read of it."""
        self._found[id(module)] = module
        return self.visit(module, tuple(self._mentioned))

    def visit(self, module: types.ModuleType, names: tuple[str, ...]) -> list[Any]:
        """Remember the attributes of a module of the user's that have one of these names."""
        if (id(module), names) in self._visited or is_library_module(module):
            return []
        self._visited.add((id(module), names))
        reached: list[Any] = []
        for name in names if "__dict__" not in names else tuple(vars(module)):
            if name in _OF_IMPORT:
                continue
            value = self._before.remember_name(vars(module), name)
            reached.append(value)
            if isinstance(value, types.ModuleType) and value is not module:
                reached += self.visit(value, names)
        return reached

    def visit_function(self, function: types.FunctionType, space: dict[str, Any]) -> list[Any]:
        """Remember what a function may read by names of attributes; `space` are its globals."""
        names = attribute_names_of(function.__code__)
        self._mentioned |= dict.fromkeys(names)
        reached: list[Any] = list(imported(function))
        for module in self._found.values():
            reached += self.visit(module, names)
        for holder, name, value in dotted(function, space):
            is_module = isinstance(holder, types.ModuleType)
            if is_module and not is_library_module(holder):
                continue  # `visit` takes it with all names that are mentioned
            if not name.startswith("__"):
                self._before.names.append((vars(holder), name, value))
            if isinstance(value, (*CONTAINERS, MutableMapping)):
                reached.append(value)  # as `sys.argv` and `os.environ`
        return reached
