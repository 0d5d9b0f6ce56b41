"""Why a graph was built: what differs from the earlier calls, by the name that the user knows.

The tokens of a key get names in the order of the walk, and two keys are compared name by name:

    f(x, 3)    {"": (x, n), "x": array, "n": the number 3}
    f(x, 4)    {"": (x, n), "x": array, "n": the number 4}
               another static value: n: 3 became 4
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.forms.kinds.form import Form
from d2s.backends.lax.forms.origins import ARRAY
from d2s.backends.lax.forms.parts import container_form
from d2s.backends.lax.forms.registered import Layout
from d2s.backends.lax.forms.trees import leaves
from d2s.backends.lax.objects.keys import ChangingNumber, Itself, Node, Pairs, Static
from d2s.backends.lax.objects.nnx import is_mark
from d2s.static import METHODS, StaticFunction

#: the tokens of a key by the names of what they stand for
Labels = dict[str, Any]
#: the entry of `Labels` that has the names of the arguments of the call
_CALL = ""


def labels(
    key: Sequence[Any],
    function: Callable[..., Any],
    count: int,
    keywords: Iterable[str],
    places: Iterable[str],
) -> Labels:
    """The parts of a key by name; `count` is the number of positional arguments."""
    tokens = iter(key)
    positional, named = _positional(function, count), list(keywords)
    found: Labels = {_CALL: (*positional, *(f"{name}=" for name in named))}

    def several(names: Iterable[str]) -> None:
        next(tokens)  # the tuple of them
        for name in names:
            _label(name, tokens, found)

    several(positional)
    several(f"the name {name}" for name in named)
    several(named)
    for place in places:
        _label(place, tokens, found)
    return found


class BuildReasons:
    """Why the next graph of an entry is built."""

    def __init__(self, first: str, parts: Labels) -> None:
        #: the reason for the next graph; empty when only the types of the leaves are others
        self.next = first
        #: the parts of the key by name, and the names of the leaves
        self.labels = parts
        self._leaves = leaf_names(parts)
        #: the types of the inputs of the last graph
        self._inputs: tuple[str, ...] = ()

    def take(self, inputs: tuple[str, ...]) -> str:
        """The reason for a graph with inputs of these types, which was built just now."""
        reason = self.next or other_types(self._inputs, inputs, self._leaves)
        self.next, self._inputs = "", inputs
        return reason

    def by_value(self, fixed: Mapping[int, Any]) -> BuildReasons:
        """The reasons of an entry that has the leaves at these positions as constants."""
        needed = f"the value of a Python number is needed: {', '.join(map(repr, fixed.values()))}"
        made = BuildReasons("; ".join(filter(None, (self.next, needed))), self.labels)
        made._leaves = [name for n, name in enumerate(self._leaves) if n not in fixed]
        self.next = ""
        return made


def leaf_names(found: Labels) -> list[str]:
    """The names of the leaves of a call, in their order: numbers that change come last."""
    leaves = [name for name, token in found.items() if isinstance(token, type)]
    return leaves + [name for name, token in found.items() if isinstance(token, ChangingNumber)]


def _label(name: str, tokens: Iterator[Any], found: Labels) -> None:
    """Name the next part of a key, and what is in it."""
    token = next(tokens)
    while name in found:  # two variables of one name
        name += "'"
    found[name] = token
    if isinstance(token, Node):
        for part in _parts(token):
            _label(name + part, tokens, found)


def _parts(node: Node) -> Iterable[str]:
    """How the parts of an object are reached, in the order of the walk (`objects/flatten.py`)."""
    if node.has_attributes:
        return [*_entries_of(node), ".__dict__"]
    return _entries_of(node)


def _entries_of(node: Node) -> Iterable[str]:
    kind, names = node.kind, node.names
    if kind in METHODS:
        return [".__self__"]
    if kind is slice:
        return [".start", ".stop", ".step"]
    if kind is types.MappingProxyType:
        return [".copy()"]
    if kind is functools.partial:
        return [".func", ".args", ".keywords"]
    if is_mark(kind):
        return []
    if isinstance(names, StaticFunction):
        return _numbered(len(names.bound))
    if isinstance(names, Layout):
        return names.names
    if isinstance(names, jax.tree_util.PyTreeDef):
        return _numbered(names.num_leaves)
    if kind is frozenset:
        return _numbered(names)
    if issubclass(kind, tuple) and isinstance(names, tuple):  # of a class of the user's
        return [*_numbered(names[0]), *(f".{name}" for name in names[1])]
    form = container_form(kind)
    if form is not None:
        before = [] if form.extra_name is None else [f".{form.extra_name}"]
        return [*before, *_entries(form, names)]
    if issubclass(kind, tuple):
        fields = getattr(kind, "_fields", None)
        return _numbered(names) if fields is None else [f".{name}" for name in fields]
    return [f".{name}" for name in names]


def _numbered(count: int) -> list[str]:
    return [f"[{n}]" for n in range(count)]


def _entries(form: Form, names: Any) -> list[str]:
    """The entries of a container; where keys or items are objects, those are parts, too."""
    if isinstance(names, Pairs):
        kinds = ("key", "value") if form.is_by_key else ("item",)
        return [f"[{part} {n}]" for n in range(names) for part in kinds]
    if not form.has_slots:
        return []
    return [form.name(key) for key in names] if form.is_by_key else _numbered(names)


def _positional(function: Callable[..., Any], count: int) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "args")
    return [*names, *(f"{rest}[{n}]" for n in range(count - len(names)))][:count]


def argument_with(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], part: Any
) -> str:
    """The name of the argument that is `part`, or that has it in it, for a message."""
    named = dict(zip(_positional(function, len(args)), args, strict=True)) | kwargs
    for name, value in named.items():
        if any(leaf is part for leaf in leaves(value)):
            return f"the argument {name}"
    return "an argument"


def other_types(before: tuple[str, ...], now: tuple[str, ...], names: Sequence[str]) -> str:
    """The reason for a graph when everything but the types of inputs is as it was."""
    changed = [
        f"{names[n]}: {a} became {b}" if n < len(names) else f"{a} became {b}"
        for n, (a, b) in enumerate(zip(before, now, strict=False))
        if a != b
    ]
    return f"another type: {', '.join(changed)}" if changed else "it was built again"


def why(built: Iterable[Labels], now: Labels) -> str:
    """The reason for a graph with another key: where it differs from the one most like it."""
    likes = [(_differing(before, now), before) for before in built]
    if not likes:
        return "the first call"
    names, before = min(reversed(likes), key=lambda like: len(like[0]))
    if not names:
        return "it reaches other objects"
    return _difference(names[0], before, now)


def _differing(before: Labels, now: Labels) -> list[str]:
    names = [name for name, token in now.items() if name not in before or before[name] != token]
    return names + [name for name in before if name not in now]


def _difference(name: str, before: Labels, now: Labels) -> str:
    if name == _CALL:
        old, new = (", ".join(labelled[_CALL]) for labelled in (before, now))
        return f"other arguments are given: ({old}) became ({new})"
    if name not in before or name not in now:
        return f"it {'reaches' if name in now else 'no longer reaches'} {name}"
    was, token = before[name], now[name]
    if isinstance(was, Static) and isinstance(token, Static):
        return f"another static value: {name}: {was.value!r} became {token.value!r}"
    if isinstance(was, Node) and isinstance(token, Node) and was.kind is token.kind:
        return f"{name}: a {was.kind.__name__} with other entries"
    texts = [_token(was), _token(token)]
    if texts[0] == texts[1]:
        texts = [_array(was), _array(token)]
    return f"another kind: {name}: {texts[0]} became {texts[1]}"


def _token(token: Any) -> str:
    if isinstance(token, type):
        is_array = issubclass(token, jax.Array | np.ndarray)
        return "an array" if is_array else f"a Python {token.__name__}"
    if isinstance(token, Static | Itself):
        return repr(token.value)
    if isinstance(token, ChangingNumber):
        return "a number that changes"
    if isinstance(token, Node):
        return f"a {token.kind.__name__}"
    return "an object"


def _array(token: Any) -> str:
    """The kind of an array; a tracer of JAX's and a scalar of NumPy's are one kind."""
    known: Mapping[Any, str] = {ARRAY: "a JAX array", np.ndarray: "a NumPy array"}
    is_leaf = isinstance(token, type)
    return known.get(token, "a traced array or a scalar") if is_leaf else "another object"
