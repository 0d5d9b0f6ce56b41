"""The arguments of a loaded function: taken apart as they were when it was saved.

The manifest describes each argument by a tree whose leaves are inputs of the graph:

    f({"a": x, "mode": "sum"})    ["dict", 0, "dict", [["a", ["leaf", 0]],
                                                       ["mode", ["constant", "sum"]]]]

The number after the kind is that of the object among those that the call may change.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.forms.dtypes import own_text
from d2s.backends.lax.forms.exact import exact_key
from d2s.backends.lax.forms.kinds.table import SEQUENCES
from d2s.backends.lax.forms.widths import narrowed, refusal
from d2s.backends.lax.graph.sites import here
from d2s.errors import Error, a
from d2s.files.trees import Json, made
from d2s.options.specs import Spec

_LISTS: dict[str, Any] = {kind.__name__: kind for kind in SEQUENCES}
_NUMBERS: dict[str, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "complex": (int, float, complex),
}
_LIKE_THOSE = "arguments like those that it was saved for: see `.spec`"
#: stands for an argument that was left at its default when the function was saved
_DEFAULT = object()


class Arguments:
    """Finds the leaves of a graph in the arguments of a call."""

    def __init__(self, tree: Json) -> None:
        #: for each input of the graph the label of the argument it comes from, or None for state
        self.order = [str(e[1]) if e[0] == "given" else None for e in tree["inputs"]]
        self._leaves = [ExpectedLeaf(*entry[1:]) for entry in tree["inputs"] if entry[0] == "given"]
        #: named dimensions: the leaf and the axis that tell their sizes
        self._named = {
            size: (n, axis)
            for n, leaf in reversed([*enumerate(self._leaves)])
            for axis, size in enumerate(leaf.spec.shape)
            if isinstance(size, str)
        }
        #: the numbers of the lists, dicts and objects among the arguments
        self.owners: set[int] = set()
        self._slots = [(str(name), part, inner) for name, part, inner in tree["arguments"]]
        for _, _, inner in self._slots:
            self._check(inner)
        self._signature = inspect.Signature(
            [
                inspect.Parameter(
                    str(name),
                    list(inspect._ParameterKind)[int(kind)],
                    default=_default(int(kind), given, default),
                )
                for name, kind, given, default in tree["parameters"]
            ]
        )
        #: whether all arguments are arrays by position: most calls look like that, and are faster
        self._is_simple = (
            [inner for _, _, inner in self._slots]
            == [["leaf", n] for n in range(len(self._leaves))]
            and [name for name, _, _ in self._slots]
            == list(self._signature.parameters)[: len(self._slots)]
            and all(leaf.number is None for leaf in self._leaves)
        )

    def _check(self, tree: Json) -> None:
        """Raise an exception where the tree of an argument is none, and note its objects."""
        kind = tree[0]
        if kind in ("list", "record", "dict"):
            self.owners.add(int(tree[1]))
        if kind in ("tuple", "list"):
            for part in tree[3]:
                self._check(part)
        elif kind in ("record", "dict"):
            for key, part in tree[3]:
                made(key)() if kind == "dict" else str(key)
                self._check(part)
        elif kind == "leaf":
            self._leaves[tree[1]]
        elif kind == "constant":
            made(tree[1])()
        elif kind != "same":
            raise ValueError(f"there is no kind {kind!r}")

    @property
    def names(self) -> set[str]:
        """The named dimensions."""
        return {*self._named}

    def sizes(self, leaves: list[Any]) -> dict[str, Any]:
        """The sizes of named dimensions in the leaves of a call."""
        return {name: leaves[n].shape[axis] for name, (n, axis) in self._named.items()}

    @property
    def spec(self) -> dict[str, Any]:
        """What the arguments look like, by name."""
        return {_label(name, part): self._shown(inner) for name, part, inner in self._slots}

    def _shown(self, tree: Json) -> Any:
        kind = tree[0]
        if kind == "leaf":
            return self._leaves[tree[1]].shown
        if kind == "tuple":
            return tuple(map(self._shown, tree[3]))
        if kind == "list":
            return list(map(self._shown, tree[3]))
        if kind == "dict":
            return {made(key)(): self._shown(part) for key, part in tree[3]}
        if kind == "record":
            return {name: self._shown(part) for name, part in tree[3]}
        return made(tree[1])() if kind == "constant" else "the same object as before"

    def leaves(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> tuple[list[Any], dict[int, Any]]:
        """The leaves of a call, and the mutable objects that it may change, by number."""
        if self._is_simple and not kwargs and len(args) == len(self._leaves):
            for value in args:
                if not isinstance(value, jax.Array):
                    break
            else:
                return list(args), {}
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError as error:
            raise _refused(str(error)) from None
        for name, value in bound.arguments.items():
            if self._signature.parameters[name].default is _DEFAULT:
                raise _refused(f"the argument {name} was left at its default, and got {value!r}")
        bound.apply_defaults()
        taken = _Taken(self._leaves)
        for name, part, inner in self._slots:
            value = bound.arguments[name]
            try:
                value = value if part is None else value[part]
            except LookupError:
                raise _refused(f"there is no {_label(name, part)}") from None
            taken.take(inner, value, _label(name, part))
        several = [name for name, part, _ in self._slots if part is not None]
        for name, parameter in self._signature.parameters.items():
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            if len(bound.arguments.get(name, ())) != several.count(name):
                raise _refused(f"it takes {several.count(name)} values in {name}")
        return taken.leaves, taken.owners


def _default(kind: int, given: bool, default: Json) -> Any:
    """The default of a parameter, or a mark for one that was left at its default in the file."""
    if kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        return inspect.Parameter.empty
    if not given:
        return _DEFAULT
    return inspect.Parameter.empty if default is None else made(default[1])()


def _label(name: str, part: int | str | None) -> str:
    return name if part is None else f"{name}[{part}]" if isinstance(part, int) else part


class ExpectedLeaf:
    """An array or a number, of an argument or of the state."""

    fix = _LIKE_THOSE

    def __init__(self, label: str, dtype: str, shape: list[str], number: str | None) -> None:
        self.label, self.number = str(label), number
        sizes = tuple(int(d) if str(d).isdecimal() else str(d) for d in shape)
        self.spec = Spec(str(dtype), sizes)
        #: PRNG keys have types of their own
        self.dtype = None if "<" in dtype else jnp.dtype(dtype)
        if number is not None and number not in _NUMBERS:
            raise ValueError(f"there is no number {number!r}")

    @property
    def shown(self) -> Any:
        return self.number if self.number is not None else str(self.spec)

    def array(self, value: Any, label: str) -> Any:
        """The value as the graph takes it; whether its type fits is seen when that is traced."""
        kind = type(value)
        if kind in (bool, int, float, complex):
            fits = kind in _NUMBERS.get(self.number or "", ()) or (
                self.dtype is not None
                and not self.spec.shape
                and jnp.issubdtype(self.dtype, _KINDS[kind])
            )
            if not fits:
                raise self._unfit(label, a(kind))
            try:
                return jnp.asarray(value, self.dtype)
            except OverflowError:
                raise self._unfit(label, f"{value}, which {self.dtype} cannot hold") from None
        if isinstance(value, np.ndarray | np.generic) and narrowed(value) is None:
            raise refusal(value, label, here())
        try:
            return jnp.asarray(value)
        except (TypeError, ValueError):
            raise self._unfit(label, a(kind)) from None

    def _unfit(self, label: str, got: str) -> Error:
        return _refused(f"{label} does not fit: expected {self.shown}, got {got}", self.fix)


_KINDS: dict[type, Any] = {
    bool: jnp.bool_,
    int: jnp.integer,
    float: jnp.floating,
    complex: jnp.complexfloating,
}


class _Taken:
    """Takes the arguments of one call apart, along their trees."""

    def __init__(self, leaves: list[ExpectedLeaf]) -> None:
        self._known = leaves
        self.leaves: list[Any] = [None] * len(leaves)
        self.owners: dict[int, Any] = {}

    def take(self, tree: Json, value: Any, label: str) -> None:
        kind = tree[0]
        if kind == "leaf":
            self.leaves[tree[1]] = self._known[tree[1]].array(value, f"the argument {label}")
        elif kind == "constant":
            self._constant(made(tree[1])(), value, label)
        elif kind == "same":
            if self.owners.get(tree[1]) is not value:
                raise _refused(f"{label} was the same object as another one when it was saved")
        elif kind == "tuple":
            if not isinstance(value, tuple) or len(value) != len(tree[3]):
                raise _refused(f"{label} is no tuple of {len(tree[3])}")
            self._parts(tree[3], list(value), label, tree[2] or range(len(value)))
        elif kind == "list":
            if not isinstance(value, _LISTS[tree[2]]) or len(value) != len(tree[3]):
                raise _refused(f"{label} is no {tree[2]} of {len(tree[3])}")
            self.owners[tree[1]] = value
            self._parts(tree[3], list(value), label, range(len(value)))
        elif kind == "dict":
            keys = [made(key)() for key, _ in tree[3]]
            if not isinstance(value, dict) or {*value} != {*keys}:
                raise _refused(f"{label} is no dict with the keys {', '.join(map(repr, keys))}")
            self.owners[tree[1]] = value
            self._parts([part for _, part in tree[3]], [value[key] for key in keys], label, keys)
        else:
            names = [name for name, _ in tree[3]]
            missing = [name for name in names if not hasattr(value, name)]
            if missing:
                raise _refused(f"{label} has no attribute {missing[0]!r}, which a {tree[2]} has")
            self.owners[tree[1]] = value
            parts = [getattr(value, name) for name in names]
            self._parts([part for _, part in tree[3]], parts, label, names)

    def _parts(self, trees: list[Json], values: list[Any], label: str, keys: Any) -> None:
        for tree, value, key in zip(trees, values, keys, strict=True):
            self.take(tree, value, f"{label}.{key}" if isinstance(key, str) else f"{label}[{key}]")

    def _constant(self, known: Any, value: Any, label: str) -> None:
        try:
            same = exact_key(known) == exact_key(value)
        except Exception:
            same = False
        if not same:
            raise _refused(
                f"{label} was {known!r} when the function was saved, and is a constant of its "
                f"graph; it got {value!r}"
            )


def spec_of(kind: Any) -> Spec:
    """The specification behind a type of jax's, with the names of its dimensions."""
    shape = tuple(d if isinstance(d, int) else own_text(d) for d in kind.shape)
    return Spec(str(kind.dtype), shape)


def _refused(what: str, fix: str = _LIKE_THOSE) -> Error:
    return Error(what, code="D2S032", site=here(), fix=fix)
