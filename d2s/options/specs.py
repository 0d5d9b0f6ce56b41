"""What arguments look like: ``d2s.spec("f32[b, 784]")``.

>>> image = spec("f32[b, 784]", name="image")
>>> image.shape, image.dtype
(('b', 784), 'float32')
>>> print(image, spec("int32"), spec("bf16[?, ...]"))
f32[b, 784] i32[] bf16[?, ...]

A dimension is a number, a name (of one size wherever the name stands), ``?`` (of any size), or a
last ``...`` (any more dimensions).
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from d2s.errors import Error, Side, Site, a, boundary, wrong_option
from d2s.options.constraints import fitting, known, read, refuse_strangers

_SHORT = {
    "bool": "bool",
    "bf16": "bfloat16",
    **{f"f{n}": f"float{n}" for n in (16, 32, 64)},
    **{f"i{n}": f"int{n}" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}" for n in (8, 16, 32, 64)},
    **{f"c{n}": f"complex{n}" for n in (64, 128)},
}
_LONG = {long: short for short, long in _SHORT.items()}
_TEXT = re.compile(r"\s*(\w+)\s*(?:\[(.*)\])?\s*", re.DOTALL)
_EXAMPLE = 'for example "f32[b, 784]", "i32" or "bool[3]"'


@dataclass(frozen=True)
class Spec:
    """The dtype and the shape of an array; names of dimensions are kept for export."""

    dtype: str
    shape: tuple[int | str, ...] = ()
    name: str = ""
    #: whether more dimensions may follow
    open: bool = False
    #: what is known of named dimensions: "b >= 2"
    constraints: tuple[str, ...] = ()

    def __str__(self) -> str:
        dims = [*map(str, self.shape), *["..."] * self.open]
        return f"{_LONG.get(self.dtype, self.dtype)}[{', '.join(dims)}]"

    @property
    def names(self) -> tuple[str, ...]:
        """The named dimensions."""
        return tuple(d for d in self.shape if isinstance(d, str) and d != "?")

    def with_sizes(self, sizes: Mapping[str, int], default: int) -> Spec:
        """The same with numbers for all its dimensions."""
        shape = [sizes.get(d, default) if isinstance(d, str) else d for d in self.shape]
        return Spec(self.dtype, tuple(shape), self.name)


@boundary
def spec(text: str, name: str = "", constraints: str | Sequence[str] = ()) -> Spec:
    """The specification of an array: its dtype and, in brackets, its dimensions.

    ``constraints`` say what is known of named dimensions: ``"b >= 2"``, ``"mod(t, 8) == 0"``.
    """
    found = _TEXT.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        raise wrong_option(f"{text!r} is not a specification", _EXAMPLE)
    short, dims = found.groups()
    dtype = _SHORT.get(short) or (short if short in _LONG else None)
    if dtype is None:
        raise wrong_option(f"{text!r}: there is no dtype {short}", f"one of {', '.join(_SHORT)}")
    parts = [part.strip() for part in dims.split(",")] if dims and dims.strip() else []
    is_open = bool(parts) and parts[-1] == "..."
    shape = tuple(_dimension(part, text) for part in (parts[:-1] if is_open else parts))
    return Spec(dtype, shape, name, is_open, known(constraints))


def _dimension(part: str, text: str) -> int | str:
    if part.isdecimal():
        return int(part)
    if part in ("None", "True", "False"):
        raise wrong_option(
            f"{text!r}: {part} is no dimension",
            '? for a dimension of any size, or a name for one that others share: "f32[?, b]"',
        )
    if part == "?" or part.isidentifier():
        return part
    raise wrong_option(
        f"{text!r}: {part!r} is no dimension", f"a number, a name, ? or ...; {_EXAMPLE}"
    )


class Engine(Protocol):
    """What a backend knows of its arrays."""

    def spec_of(self, value: Any) -> Spec | None:
        """The specification behind an object of the backend's own kind, or None."""
        ...

    def actual(self, value: Any, wanted: Spec) -> tuple[str, tuple[int, ...]] | None:
        """The dtype and the shape of an argument, or None when it is no array and no number."""
        ...

    def where(self) -> Site:
        """The line of the user's that makes the call."""
        ...


class Inputs:
    """The specifications of a function's arguments, by name."""

    def __init__(
        self, function: Callable[..., Any], given: Any, bound: int, engine: Engine
    ) -> None:
        self.signature = inspect.signature(function)
        self._skipped, self._engine = bound, engine
        self.specs = self._named(given, function.__qualname__)
        found = list(specs_in(list(self.specs.values())))
        refuse_strangers(*_rules(found))
        #: the specifications that have constraints
        self._constrained = [one for one in found if one.constraints]

    def _named(self, given: Any, label: str) -> dict[str, Any]:
        """Every form of the option as one dict of nested specifications."""
        parameters = list(self.signature.parameters.values())[self._skipped :]
        names = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        known = [p.name for p in parameters]
        if isinstance(given, Mapping):
            for name in given:
                if name not in known:
                    what = f"input_spec: {label} has no argument {name!r}"
                    raise wrong_option(what, f"one of {', '.join(known)}")
            return {name: self._parsed(value) for name, value in given.items()}
        if not isinstance(given, list | tuple):
            raise wrong_option(
                f"input_spec is {given!r}",
                f"a list with one entry for each argument, such as [{given!r}], or a dict",
            )
        if len(given) > len(names):
            what = f"input_spec has {len(given)} entries; {label} takes {len(names)} arguments"
            raise wrong_option(what, "one entry for each argument, None for those of any type")
        return {n: self._parsed(value) for n, value in zip(names, given, strict=False)}

    def _parsed(self, value: Any) -> Any:
        if value is None or isinstance(value, Spec):
            return value
        if isinstance(value, str):
            return spec(value)
        if isinstance(value, Mapping):
            return {key: self._parsed(part) for key, part in value.items()}
        own = self._engine.spec_of(value)
        if own is not None:
            return own
        if isinstance(value, list | tuple):
            return [self._parsed(part) for part in value]
        raise wrong_option(f"{value!r} is not a specification", _EXAMPLE)

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Refuse arguments that do not fit, by name, with what was expected and what came."""
        try:
            bound = self.signature.bind(*args, **kwargs)
        except TypeError:
            return  # Python says it better
        bound.apply_defaults()
        sizes: dict[str, tuple[int, str]] = {}
        try:
            for name, wanted in self.specs.items():
                if name in bound.arguments:
                    for path, one, value in _pairs(name, wanted, bound.arguments[name]):
                        self._check_one(path, one, value, sizes)
            self._check_constraints(sizes)
        except _Unfit as unfit:
            path, expected, got = unfit.args
            raise Error(
                f"the argument {path} does not fit its specification",
                code="D2S032",
                site=self._engine.where(),
                sides=(Side("expected", expected), Side("got", got)),
                fix="an argument of that type and shape, or another input_spec",
            ) from None

    def _check_one(
        self, path: str, wanted: Spec, value: Any, sizes: dict[str, tuple[int, str]]
    ) -> None:
        label = f"{path} ({wanted.name})" if wanted.name else path
        actual = self._engine.actual(value, wanted) if value is not _Missing else None
        if actual is None:
            got = "nothing" if value is _Missing else _described(value)
            raise _unfit(label, str(wanted), got)
        dtype, shape = actual
        got = str(Spec(dtype, shape))
        count = len(wanted.shape)
        fits = len(shape) >= count if wanted.open else len(shape) == count
        if dtype != wanted.dtype or not fits:
            raise _unfit(label, str(wanted), got)
        for dimension, size in zip(wanted.shape, shape, strict=False):
            if dimension == "?":
                continue
            if isinstance(dimension, int):
                if dimension != size:
                    raise _unfit(label, str(wanted), got)
            elif sizes.setdefault(dimension, (size, path))[0] != size:
                known, where = sizes[dimension]
                raise _unfit(label, f"{wanted} with {dimension} = {known}, as in {where}", got)

    def _check_constraints(self, sizes: dict[str, tuple[int, str]]) -> None:
        """Refuse sizes that a constraint excludes, at the argument that has the first of them."""
        for rule in (read(text) for one in self._constrained for text in one.constraints):
            if not rule.names <= set(sizes):
                continue  # an argument that is not there
            now = {name: sizes[name][0] for name in sorted(rule.names)}
            if not rule.holds(now):
                path = next(sizes[name][1] for name in now)
                got = ", ".join(f"{name} = {size}" for name, size in now.items())
                raise _unfit(path, rule.text, got)


def specs_in(value: Any) -> Iterator[Spec]:
    """The specifications in a nested one."""
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, Mapping | list | tuple):
        for part in value.values() if isinstance(value, Mapping) else value:
            yield from specs_in(part)


def _rules(found: Sequence[Spec]) -> tuple[list[str], list[str]]:
    """All constraints, and all names of dimensions."""
    texts = [text for one in found for text in one.constraints]
    return texts, [name for one in found for name in one.names]


def sizes_for(value: Any, fixed: Mapping[str, int], candidates: Sequence[int]) -> dict[str, int]:
    """Sizes of the named dimensions that keep to the constraints; empty where there are none."""
    texts, names = _rules(list(specs_in(value)))
    return fitting(texts, names, fixed, candidates) if texts else dict(fixed)


class _Unfit(Exception):
    """An argument, what was expected and what came."""


class _Missing:
    """Stands for an entry that an argument does not have."""


def _pairs(path: str, wanted: Any, value: Any) -> Iterator[tuple[str, Spec, Any]]:
    """The specifications in a nested one, each with its part of the argument."""
    if wanted is None:
        return
    if isinstance(wanted, Spec):
        yield path, wanted, value
    elif isinstance(wanted, Mapping):
        for key, inner in wanted.items():
            part = getattr(value, key, _Missing) if isinstance(key, str) else _Missing
            is_mapping = isinstance(value, Mapping)
            found = value.get(key, _Missing) if is_mapping else part
            label = f"{path}[{key!r}]" if is_mapping else f"{path}.{key}"
            yield from _pairs(label, inner, found)
    else:
        items = value if isinstance(value, list | tuple) else ()
        if len(items) != len(wanted):
            got = _described(value) + (f" of {len(items)}" if items else "")
            raise _unfit(path, f"{len(wanted)} entries", got)
        for n, (inner, item) in enumerate(zip(wanted, items, strict=True)):
            yield from _pairs(f"{path}[{n}]", inner, item)


def _unfit(path: str, expected: str, got: str) -> _Unfit:
    return _Unfit(path, expected, got)


def _described(value: Any) -> str:
    return "None" if value is None else a(type(value))
