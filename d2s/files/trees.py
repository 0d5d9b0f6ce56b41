"""Python values as JSON, and back: what a saved function returns, takes and quotes in messages.

Every value but texts, integers, bools and None is a list with its kind first. Whoever writes or
reads can have kinds of its own, for the leaves: outputs of a graph, for instance. A container that
is met twice is one container again.

>>> tree = described({"loss": (1.5, None), "names": ["a"]})
>>> made(tree)()
{'loss': (1.5, None), 'names': ['a']}
"""

from __future__ import annotations

import base64
import builtins
import collections
import decimal
import fractions
import functools
import types
from collections.abc import Callable, Mapping
from typing import Any

from d2s.errors import Error

Json = Any
#: makes a value from what is known when a call has ended
Maker = Callable[..., Any]
#: lists of JSON in lists; a container is two or three of them
_DEEPEST = 300
_FACTORIES = ("list", "dict", "set", "int", "float", "str", "bool", "tuple")
_MAPPINGS: dict[str, Any] = {"dict": dict, "ordered": collections.OrderedDict}


class Record(types.SimpleNamespace):
    """An object of a class that is not there when a saved function is loaded: its attributes."""

    @classmethod
    @functools.cache
    def named(cls, name: str) -> type[Record]:
        """The class of all records that stand for objects of one class."""
        return type(name, (cls,), {"__module__": "d2s"})


class NotDescribed(Exception):
    """There is something that JSON has no form for; the value itself comes along."""

    def __init__(self, value: Any) -> None:
        super().__init__(f"a {type(value).__name__}")


def _refuse(value: Any) -> Json:
    raise NotDescribed(value)


# -- to JSON --------------------------------------------------------------------------------------


def described(
    value: Any,
    special: Callable[[Any], Json] = lambda value: None,
    attributes: Callable[[Any], Mapping[str, Any] | None] = lambda value: None,
    other: Callable[[Any], Json] = _refuse,
) -> Json:
    """A value as JSON. `special` knows the leaves, `attributes` what is in an object.

    `other` has a form for what nobody knows.
    """
    known: dict[int, tuple[int, Any]] = {}

    def number(container: Any) -> int:
        known[id(container)] = len(known), container
        return len(known) - 1

    def of(value: Any) -> Json:
        own = special(value)
        if own is not None:
            return own
        kind = type(value)
        if value is None or kind in (bool, int, str):
            return value
        if id(value) in known:
            return ["again", known[id(value)][0]]
        how = _DESCRIBED.get(kind)
        if how is not None:
            return how(value)
        if kind is tuple:
            return ["tuple", [of(part) for part in value]]
        if isinstance(value, tuple) and hasattr(kind, "_fields"):
            return ["named", kind.__name__, list(kind._fields), [of(part) for part in value]]
        if kind in (list, set, collections.deque):
            more = [value.maxlen] if kind is collections.deque else []
            return [kind.__name__, number(value), [of(part) for part in value], *more]
        if kind is frozenset:
            return ["frozenset", [of(part) for part in value]]
        for name, mapping in _MAPPINGS.items():
            if kind is mapping:
                n = number(value)
                return [name, n, [[of(key), of(part)] for key, part in value.items()]]
        if kind is collections.defaultdict:
            factory = getattr(value.default_factory, "__name__", None)
            if factory is not None and value.default_factory is not _factory(factory):
                return other(value)
            n = number(value)
            return ["default", n, [[of(key), of(part)] for key, part in value.items()], factory]
        parts = attributes(value)
        if parts is None:
            return other(value)
        n = number(value)
        return ["record", n, kind.__name__, [[name, of(part)] for name, part in parts.items()]]

    tree = of(value)
    return other(value) if _depth(tree) > _DEEPEST else tree


_DESCRIBED: dict[type, Callable[[Any], Json]] = {
    float: lambda v: ["float", v.hex()],
    complex: lambda v: ["complex", v.real.hex(), v.imag.hex()],
    bytes: lambda v: ["bytes", base64.b64encode(v).decode()],
    fractions.Fraction: lambda v: ["fraction", v.numerator, v.denominator],
    decimal.Decimal: lambda v: ["decimal", str(v)],
    range: lambda v: ["range", v.start, v.stop, v.step],
    type(Ellipsis): lambda v: ["ellipsis"],
}


def _factory(name: Any) -> Any:
    return getattr(builtins, name) if name in _FACTORIES else None


# -- and back -------------------------------------------------------------------------------------


def made(tree: Json, special: Mapping[str, Callable[..., Maker]] = {}) -> Maker:
    """How to make a value, again and again; `special` has the makers of leaves.

    The makers get the arguments of the call. A tree that is none raises `ValueError`.
    """
    try:
        if _depth(tree) > _DEEPEST:
            raise TypeError("it is nested too deeply")
        make = _maker(tree, special)
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(f"a description of a value that is none: {error}") from None
    return lambda *call: make(call, {})


def _depth(tree: Json) -> int:
    """How deep lists are nested, found without a recursion."""
    depth, level = 0, [tree]
    while level := [part for one in level if isinstance(one, list) for part in one]:
        depth += 1
    return depth


_Inner = Callable[[tuple[Any, ...], dict[int, Any]], Any]


def _maker(tree: Json, special: Mapping[str, Callable[..., Maker]]) -> _Inner:
    if tree is None or isinstance(tree, bool | int | str):
        return lambda call, known: tree
    kind, *rest = tree
    if kind in special:
        leaf = special[kind](*rest)
        return lambda call, known: leaf(*call)
    if kind in _MADE:
        value = _MADE[kind](*rest)
        return lambda call, known: value
    if kind == "again":
        (number,) = rest
        return lambda call, known: known[number]
    if kind in ("tuple", "frozenset"):
        parts, plain = _makers(rest[0], special), {"tuple": tuple, "frozenset": frozenset}[kind]
        return lambda call, known: plain([part(call, known) for part in parts])
    if kind == "named":
        named, parts = _named(rest[0], tuple(rest[1])), _makers(rest[2], special)
        return lambda call, known: named(*[part(call, known) for part in parts])
    empty, fill = _container(kind, rest, special)
    number = rest[0]

    def make(call: tuple[Any, ...], known: dict[int, Any]) -> Any:
        # first the object, then what is in it: it may contain itself
        known[number] = value = empty()
        fill(value, call, known)
        return value

    return make


def _makers(trees: Json, special: Mapping[str, Callable[..., Maker]]) -> list[_Inner]:
    return [_maker(tree, special) for tree in trees]


def _container(kind: str, rest: list[Any], special: Any) -> tuple[Any, Any]:
    if kind == "record":
        names = [str(name) for name, _ in rest[2]]
        parts = _makers([part for _, part in rest[2]], special)

        def set_all(value: Any, call: Any, known: Any) -> None:
            for name, part in zip(names, parts, strict=True):
                value.__dict__[name] = part(call, known)

        return Record.named(str(rest[1])), set_all
    if kind in ("list", "set", "deque"):
        items = _makers(rest[1], special)
        empty: Any = {"list": list, "set": set}.get(kind) or functools.partial(
            collections.deque, maxlen=rest[2]
        )
        add = "update" if kind == "set" else "extend"
        return empty, lambda value, call, known: getattr(value, add)(
            [item(call, known) for item in items]
        )
    if kind not in (*_MAPPINGS, "default"):
        raise TypeError(f"there is no kind {kind!r}")
    pairs = [(_maker(key, special), _maker(part, special)) for key, part in rest[1]]
    empty = _MAPPINGS.get(kind) or functools.partial(collections.defaultdict, _factory(rest[2]))
    return empty, lambda value, call, known: value.update(
        [(key(call, known), part(call, known)) for key, part in pairs]
    )


_MADE: dict[str, Callable[..., Any]] = {
    "float": float.fromhex,
    "complex": lambda real, imag: complex(float.fromhex(real), float.fromhex(imag)),
    "bytes": lambda text: base64.b64decode(text, validate=True),
    "fraction": lambda over, under: fractions.Fraction(int(over), int(under)),
    "decimal": lambda text: decimal.Decimal(str(text)),
    "range": range,
    "ellipsis": lambda: ...,
}


@functools.cache
def _named(name: str, fields: tuple[str, ...]) -> Any:
    return collections.namedtuple(name, fields, module="d2s")


def refusal(what: str, fix: str, site: Any = None) -> Error:
    """Something that a file cannot hold."""
    return Error(what, code="D2S060", site=site, fix=fix)
