"""Named dimensions: one symbol of JAX's for each name in the specifications of a file.

    d2s.save(f, path, "f32[b, 3]", "f32[b]")    both arguments get a shape with the same symbol `b`

A program that needs to know more about `b` than its constraints say gets an error in our words
(`explained`); which answers JAX's symbols give to the program is in `named_sizes`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np
from jax.errors import InconclusiveDimensionOperation

from d2s.backends.lax.forms.kinds.attributes import set_raw
from d2s.backends.lax.forms.trees import children
from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.sites import here
from d2s.backends.lax.objects.marks import FutureArray
from d2s.backends.lax.private import Phrase
from d2s.backends.lax.saving import named_sizes
from d2s.backends.lax.saving.writes import attributes
from d2s.errors import Error, StagingError, a
from d2s.options.constraints import refuse_strangers
from d2s.options.specs import Spec, spec

_TYPES = (int, float, complex)


class Symbols:
    """The dimensions of all specifications of a file: one name is one size."""

    def __init__(self, given: Sequence[Any]) -> None:
        found = list(_specs(given))
        self.constraints = tuple(dict.fromkeys(c for one in found for c in one.constraints))
        refuse_strangers(self.constraints, (name for one in found for name in one.names))
        self._scope = _scope(self.constraints)
        self._count = 0
        self._known: dict[str, Any] = {}
        for one in found:
            for name in one.names:
                if name not in self._known:
                    (self._known[name],) = jax.export.symbolic_shape(name, scope=self._scope)

    def argument(self, value: Any, loose: list[Any]) -> Any:
        """A specification, a type of number, or an example, as an argument to trace with."""
        if isinstance(value, str):
            value = _read(value)
        if isinstance(value, Spec):
            return self._struct(value)
        if value in _TYPES if isinstance(value, type) else False:
            # its value must not matter, so the program must not need it: see `Exporter._by_value`
            loose.append(_example(value))
            return loose[-1]
        if isinstance(value, jax.Array | np.ndarray | np.generic):
            kind = jax.typeof(jnp.asarray(value))
            return jax.ShapeDtypeStruct(kind.shape, kind.dtype, weak_type=kind.weak_type)
        if type(value) in (list, tuple):
            return type(value)(self.argument(part, loose) for part in value)
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*(self.argument(part, loose) for part in value))
        if type(value) is dict:
            return {key: self.argument(part, loose) for key, part in value.items()}
        return self._filled(value, {}) if any(_within(value, set())) else value

    def _filled(self, value: Any, made: dict[int, Any]) -> Any:
        """An object with arrays in the place of its specifications; it may contain itself."""
        if isinstance(value, Spec):
            return FutureArray(self._struct(value))
        if id(value) in made:
            return made[id(value)]
        parts = attributes(value)
        if parts is not None:
            new = made[id(value)] = object.__new__(type(value))
            for name, part in parts.items():
                set_raw(new, name, self._filled(part, made))
            return new
        found = children(value)
        if found is None:
            return value
        return found[1]([self._filled(part, made) for _, part in found[0]])

    def _struct(self, wanted: Spec) -> Any:
        if wanted.open:
            raise Error(
                f"{wanted} has any number of dimensions; a graph has a fixed one",
                code="D2S033",
                site=here(),
                fix="a name for each dimension",
            )
        shape = tuple(self._size(d) if isinstance(d, str) else d for d in wanted.shape)
        return jax.ShapeDtypeStruct(shape, jnp.dtype(wanted.dtype))

    def _size(self, name: str) -> Any:
        if name != "?":
            return self._known[name]
        self._count += 1
        return jax.export.symbolic_shape(f"any_{self._count}", scope=self._scope)[0]


def _example(kind: type) -> Any:
    # each example must be an object of its own, and Python has only one object for a small integer
    return kind(257.0) if kind is not int else int("257")


def _scope(constraints: tuple[str, ...]) -> Any:
    try:
        return jax.export.SymbolicScope(constraints)
    except ValueError as error:
        first = str(error).splitlines()[0]
        named = ", ".join(map(repr, constraints))
        raise _no_constraint(f"the constraints {named} cannot be read ({first})") from None


def _no_constraint(what: str) -> Error:
    fix = 'for example "b >= 2", "t <= 512" or "mod(t, 8) == 0"'
    return Error(what, code="D2S033", site=here(), fix=fix)


def _read(text: str) -> Any:
    """A specification, or a text that stands in quotes."""
    if text.strip()[:1] in ("'", '"'):
        with suppress(ValueError, SyntaxError):
            value = ast.literal_eval(text.strip())
            if isinstance(value, str):
                return value
    try:
        return spec(text)
    except Error as error:
        fix = f'{error.fix}; or, for the text itself, in quotes: "{text!r}"'
        raise Error(error.what, code=error.code, site=here(), fix=fix) from None


def _specs(value: Any) -> Iterator[Spec]:
    if isinstance(value, str):
        value = _read(value)
    if isinstance(value, list | tuple):
        for part in value:
            yield from _specs(part)
    elif isinstance(value, dict):
        for part in value.values():
            yield from _specs(part)
    elif not isinstance(value, str):
        yield from _within(value, set())


def _within(value: Any, seen: set[int]) -> Iterator[Spec]:
    """The specifications in an object, where texts are texts."""
    if isinstance(value, Spec):
        yield value
    if id(value) in seen or isinstance(value, Spec):
        return
    seen.add(id(value))
    own, parts = attributes(value), children(value)
    inner = [part for _, part in parts[0]] if own is None and parts is not None else []
    for part in inner if own is None else own.values():
        if isinstance(part, str) and "[" in part:
            _refuse_text(part, value)
        yield from _within(part, seen)


def _refuse_text(text: str, owner: Any) -> None:
    """Refuse a text that reads like a specification where it would be taken for a text."""
    try:
        spec(text)
    except Error:
        return
    raise Error(
        f"{text!r} in {a(type(owner))} is a text there and no specification",
        code="D2S033",
        site=here(),
        fix=f"d2s.spec({text!r})",
    )


@contextmanager
def explained() -> Iterator[None]:
    """What jax says of a dimension without a number, in our words."""
    try:
        with named_sizes.decided():
            yield
    except Exception as error:
        cause = error.__cause__ if isinstance(error, Error) and error.__cause__ else error
        is_about_sizes = isinstance(cause, InconclusiveDimensionOperation)
        is_about_sizes = is_about_sizes or Phrase.NAMED_DIMENSION.is_in(cause)
        if isinstance(cause, Error) or not is_about_sizes:
            raise
        fix = 'a constraint, d2s.spec("f32[b, 3]", constraints="b >= 2"), or a number for the '
        if Phrase.UNEVEN_DIVISION.is_in(cause):  # jax does not find that out from constraints
            fix = "the size in place of -1, x.reshape(x.shape[0] // 8, 8), with a constraint, "
            fix += 'd2s.spec("f32[b]", constraints="mod(b, 8) == 0"), or a number for the '
        raise StagingError(
            f"the graph needs to know more about a named dimension ({str(cause).splitlines()[0]})",
            code="D2S063",
            site=error.site if isinstance(error, Error) else sites.where(error),
            fix=f"{fix}dimension",
        ) from error
