"""Texts with run-time values in them: written down while the graph is built, filled in when it ran.

An f-string, `str()`, `format()` and `%` of a run-time value give a `Text`, which knows its values
and how each is formatted: ``f"loss {x:.2f}"`` is ``Text(("loss ", Field(x, "", ".2f")))``. `print`,
`raise` and other texts take it. Code that needs its letters gets an error that says so.

Python itself formats f-strings and `%`, and makes nothing but a `str`. So a run-time value that is
formatted leaves a mark in the letters (`Quote`), and `read` turns marks into a `Text` again.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import cast, is_symbolic, type_of
from d2s.backends.lax.forms.registered import STRUCTURES
from d2s.backends.lax.forms.trees import InParts, Leaf, children, leaves, map_leaves
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.trace.questions import guarded, is_asked_by_us, unknown
from d2s.errors import StagingError

#: the mark that a formatted run-time value leaves, with its number; no text of a user's has such
_TOKEN = "\x00d2s:{}\x00"
_TOKENS = re.compile("\x00d2s:(\\d+)\x00")


def _is_tracer(value: Any) -> bool:
    return isinstance(value, jax.core.Tracer)


@dataclass
class Field:
    """A value in a text, and how it is shown: by a format, or by a whole template of its own."""

    value: Any
    how: str
    spec: str

    def render(self) -> str:
        return _WAYS[self.how](self.value, self.spec)


#: how a value is formatted, by what an f-string says behind the "!"; "%" is for templates
_WAYS: dict[str, Callable[[Any, str], str]] = {
    "": format,
    "s": lambda value, spec: format(str(value), spec),
    "r": lambda value, spec: format(repr(value), spec),
    "a": lambda value, spec: format(ascii(value), spec),
    "%": lambda value, template: template % value,
}


_not_yet = guarded(object.__repr__, everywhere=True)


class Text(InParts):
    """Letters and fields in turn. Once its values are known, its text is that of Python.

    It is no dataclass: `dataclasses.asdict` would take it apart.
    """

    __slots__ = ()

    def __copy__(self) -> Text:
        return self

    def __deepcopy__(self, memo: Any) -> Text:
        return self

    def __str__(self) -> str:
        if any(map(_is_tracer, leaves(self.parts))):
            return _not_yet(self)
        return "".join(part.render() if isinstance(part, Field) else part for part in self.parts)

    def __repr__(self) -> str:
        return repr(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __add__(self, other: Any) -> Any:
        return joined([self, other]) if isinstance(other, str | Text) else str(self) + other

    def __radd__(self, other: Any) -> Any:
        return joined([other, self]) if isinstance(other, str) else other + str(self)

    def __rtruediv__(self, other: Any) -> Any:
        return other / str(self)  # `pathlib.Path` takes nothing but a `str`

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Text) and not any(map(_is_tracer, leaves([self, other]))):
            return self.parts == other.parts
        if any(isinstance(leaf, Later) for leaf in leaves(self)):
            return False
        return str(self) == str(other) if isinstance(other, str | Text) else False

    def __hash__(self) -> int:
        return hash(str(self))

    def __getattr__(self, name: str) -> Any:
        # Where no graph is built, as when a saved function is copied, it is an object like others.
        ours = scopes.current() is None or is_asked_by_us(sys._getframe(1))
        if hasattr(str, name) and not (ours and name.startswith("__")):
            return getattr(str(self), name)
        if not ours:
            raise unknown()  # code of a library asks whether it can be used as something else
        raise AttributeError(f"'str' object has no attribute '{name}'")


def _asks(name: str) -> Any:
    def ask(self: Text, *args: Any) -> Any:
        return getattr(str(self), name)(*map(_letters, args))

    return ask


for _name in ("len", "iter", "contains", "getitem", "lt", "le", "gt", "ge", "mul", "rmul", "mod"):
    setattr(Text, f"__{_name}__", _asks(f"__{_name}__"))


def _is_not_empty(text: Text) -> bool:
    """Whether a text has letters: a number that is formatted as it is always has some."""
    plain = (part for part in text.parts if isinstance(part, Field) and part.how in ("", "s", "r"))
    known = any(isinstance(part, str) for part in text.parts)
    return known or any(_is_tracer(part.value) for part in plain) or bool(str(text))


Text.__bool__ = _is_not_empty  # type: ignore[attr-defined]


def _letters(value: Any) -> Any:
    """A `str` for a text whose values are known; refuses one whose values are not."""
    return str(value) if isinstance(value, Text) else value


def joined(values: list[Any]) -> Any:
    """One text of several; a plain one if none has a run-time value."""
    parts: list[Any] = []
    for value in values:
        for part in value.parts if isinstance(value, Text) else (value,):
            if parts and isinstance(part, str) and isinstance(parts[-1], str):
                parts[-1] += part
            elif not isinstance(part, str) or part:
                parts.append(part)
    plain = all(isinstance(part, str) for part in parts)
    return "".join(parts) if plain else Text(tuple(parts))


def of(value: Any, how: str = "", spec: str = "") -> Text:
    """The text of something with run-time values, as it is now: containers are copied."""
    text = Text((Field(_copied(value), how, spec),))
    _refuse_doubtful(text.parts[0])
    try:
        str(sample(text))  # a format that does not fit raises here, as it does in Python
    except (TypeError, ValueError) as error:
        if how == "%" and holds_ours(text.parts[0].value):
            raise unknown() from error  # Python's message would name a class of d2s
        if how == "%":
            _fail_as_jax(text)
        raise
    return text


def _fail_as_jax(text: Text) -> None:
    """Raise what Python says of a format that does not fit: it names the class of an array."""
    arrays = [leaf for leaf in leaves(text) if _is_tracer(leaf) and not are_numbers([leaf])[0]]
    if any(aliases.may_be_numpy(array) for array in arrays) or aliases.has_numpy_arguments():
        raise unknown(*arrays)
    with jax.ensure_compile_time_eval():
        str(map_leaves(lambda v: v.as_jax() if isinstance(v, _Some) else v, sample(text)))


def holds_ours(value: Any) -> bool:
    """Whether there is an object of d2s's in a value, whose class no message may name."""
    parts = children(value)
    # ranges of run-time values and the like are objects of d2s's
    return (
        isinstance(value, Shown | Text)
        or type(value).__module__.startswith("d2s.")
        or (parts is not None and any(holds_ours(part) for _, part in parts[0]))
    )


def _copied(value: Any) -> Any:
    """A value that stays what it is: containers are copied, other objects become their texts."""
    parts = children(value)
    if parts is not None and not isinstance(value, Shown):
        return parts[1]([_copied(part) for _, part in parts[0]])
    if isinstance(value, np.ndarray):
        return value.copy()
    if value is None or _is_tracer(value) or isinstance(value, _FIXED):
        return value
    if isinstance(value, Shown):
        return value
    return Shown(str(value), repr(value))


_NUMBERS = (bool, int, float, complex, np.generic, jax.Array)
_FIXED: tuple[Any, ...] = (*_NUMBERS, str, bytes, type, *STRUCTURES)


@dataclass(frozen=True)
class Shown:
    """What `str` and `repr` of an object gave while the graph was built; None if nobody asked."""

    text: Any
    own: Any
    #: the text is what `__format__` of its class made, so it is not formatted again
    is_formatted: bool = False

    def __str__(self) -> str:
        return str(_asked(self.text))

    def __repr__(self) -> str:
        return str(_asked(self.own))

    def __format__(self, spec: str) -> str:
        return str(self) if self.is_formatted else format(_asked(self.text), spec)


def _asked(text: Any) -> Any:
    if text is None:
        raise unknown()
    return text


def _refuse_doubtful(field: Field) -> None:
    """Refuse a text that depends on whose number a run-time value is, where that is not known.

    In a graph `2`, `Array(2)` and `np.int32(2)` are one thing. Their `str` is the same, but their
    `repr` is not, which is also what containers show.
    """
    by_repr = field.how in ("r", "a") or re.search(r"%[ra]", field.spec)
    inside = field.how in ("", "s") and not _is_tracer(field.value)
    shown = _shown_leaves(field.value) if by_repr or inside else _inner_leaves(field)
    for leaf in shown:
        if not isinstance(leaf, jax.core.Tracer):
            continue
        kind = origins.kind_of(leaf)
        # a scalar of NumPy's that is an argument, or taken from one, is known as an array
        scalar = kind is origins.ARRAY and not leaf.shape and aliases.has_numpy_arguments()
        if scalar or kind in (None, origins.NUMPY) or aliases.may_be_numpy(leaf):
            raise StagingError(
                "whether a run-time value shows as Python's, NumPy's or JAX's is not known here",
                code="D2S020",
                site=sites.where(),
                fix="the value by itself, not in a container or by repr(): print(x), f'{x}'",
            )


def _inner_leaves(field: Field) -> list[Any]:
    """What a template shows by its repr: what is in the values, not these themselves."""
    parts = children(field.value) if field.how == "%" else None
    values = [value for _, value in parts[0]] if parts is not None else []
    return [leaf for value in values if children(value) for leaf in _shown_leaves(value)]


def _shown_leaves(value: Any) -> list[Any]:
    """The leaves of a value; a text in it is one, since it formats its own values."""
    parts = None if isinstance(value, Text) else children(value)
    return [value] if parts is None else [v for _, part in parts[0] for v in _shown_leaves(part)]


def sample(text: Any) -> Any:
    """A text with some values in place of those that are not known yet."""

    def some(leaf: Any) -> Any:
        if not _is_tracer(leaf):
            return leaf
        kind = jax.typeof(leaf)
        if jnp.issubdtype(kind.dtype, jax.dtypes.extended):
            return leaf.dtype
        zeros = np.broadcast_to(np.zeros((), kind.dtype), kind.shape)
        return zeros.item() if are_numbers([leaf])[0] else _Some(zeros)

    return map_leaves(some, text)


class _Some:
    """An array of zeros that can be formatted as an array of JAX; its text is thrown away."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def as_jax(self) -> Any:
        return jnp.asarray(self._value)

    def __format__(self, spec: str) -> str:
        return format(self._value[()] if not self._value.ndim else self._value, spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._value, name)

    def __getitem__(self, index: Any) -> Any:
        return self._value[index]

    def __index__(self) -> int:
        return int(self._value.__index__())

    def __float__(self) -> float:
        return float(self._value)

    def __int__(self) -> int:
        return int(self._value)


@dataclass(frozen=True)
class Later(Leaf):
    """Stands in a text or container for the n-th of the run-time values that come beside it."""

    number: int


def with_sizes(tree: Any) -> Any:
    """A tree with named dimensions as run-time values: their numbers are known when it runs."""
    return map_leaves(lambda leaf: jnp.asarray(leaf) if is_symbolic(leaf) else leaf, tree)


def taken(tree: Any, values: list[Any]) -> Any:
    """A text or container without its run-time values, which are added to a list."""

    def take(leaf: Any) -> Any:
        if not _is_tracer(leaf):
            return leaf
        values.append(leaf)
        return Later(len(values) - 1)

    return map_leaves(take, with_sizes(tree))


def filled(tree: Any, values: list[Any]) -> Any:
    """What `taken` left, with its values again; texts whose values are all known become `str`."""
    return _spelled(map_leaves(lambda v: values[v.number] if isinstance(v, Later) else v, tree))


def _spelled(tree: Any) -> Any:
    if isinstance(tree, Text):
        return tree if any(map(_is_tracer, leaves(tree))) else str(tree)
    parts = children(tree)
    return tree if parts is None else parts[1]([_spelled(part) for _, part in parts[0]])


def are_numbers(values: list[Any]) -> list[bool]:
    """Which run-time values are Python numbers, as far as that is known."""
    kinds = [(origins.kind_of(value), jax.typeof(value)) for value in values]
    return [k in origins.PYTHON or (k is None and t.weak_type) for k, t in kinds]


def shown(value: Any, is_number: bool, is_weak: bool = False) -> Any:
    """What a text shows of a value: a Python number for one, the array for the rest.

    `is_weak` says that the array was one of a weak type, which its text tells.
    """
    if _is_tracer(value):  # under `jax.grad` a tracer holds a value that is known
        value = value.to_concrete_value()
    if jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return value
    array = np.asarray(value)
    if is_number:
        return _number(array[()])
    made, kind = jnp.asarray(array), type_of(value)
    return cast(made, kind._replace(weak=True)) if kind.weak or is_weak else made


def _number(value: Any) -> Any:
    """A Python number; for a float32 the shortest decimal that rounds to it, as its text shows."""
    if isinstance(value, np.complexfloating):
        return complex(_number(value.real), _number(value.imag))
    return float(str(value)) if isinstance(value, np.floating) else value.item()


# -- while Python formats -------------------------------------------------------------------------


@dataclass(repr=False)
class Quote:
    """A run-time value inside an f-string; formatting it leaves a mark, noted in `known`."""

    value: Any
    how: str
    known: dict[int, Text]

    def __format__(self, spec: str) -> str:
        if isinstance(self.value, Text) and not spec and self.how in ("", "s"):
            text = self.value
        else:
            text = of(self.value, self.how, known_letters(spec, self.known))
        number = len(self.known)
        self.known[number] = text
        return _TOKEN.format(number)

    def __str__(self) -> str:
        return format(Quote(self.value, "s", self.known), "")

    def __repr__(self) -> str:
        return format(Quote(self.value, "r", self.known), "")


def quoted_letters(tree: Any, known: dict[int, Text]) -> Any:
    """Values with a `str` in the place of each `Text`, which has marks for run-time values."""
    if isinstance(tree, Text):
        return format(Quote(tree, "", known), "")
    parts = children(tree)
    return tree if parts is None else rebuilt(tree, parts, lambda v: quoted_letters(v, known))


def rebuilt(tree: Any, parts: Any, change: Callable[[Any], Any]) -> Any:
    """A container with changed parts; itself if none has changed."""
    new = [change(part) for _, part in parts[0]]
    same = all(a is b for a, (_, b) in zip(new, parts[0], strict=True))
    return tree if same else parts[1](new)


def read(letters: str, known: dict[int, Text]) -> Any:
    """The text that an f-string has left; itself where it quotes no run-time value."""
    found = _TOKENS.split(letters)
    if len(found) == 1:
        return letters
    return joined([known[int(part)] if n % 2 else part for n, part in enumerate(found)])


def known_letters(spec: str, known: dict[int, Text]) -> str:
    """The letters of a format; refuses one that quotes run-time values itself."""
    return str(read(spec, known))
