"""Values that are equal and not the same: a graph that was built for one is not used for the other.

Every pair is handed to a static function in every way in which it can reach a value, the first and
the second in turns, and each call must see what plain Python sees.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime
import decimal
import enum
import fractions
import functools
import pathlib
import uuid
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import d2s

HELD: Any = None


class Text(str):
    tag: int


class Whole(int):
    tag: int


class Float(float):
    pass


class Row(tuple[Any, ...]):
    tag: int


class Ratio(fractions.Fraction):
    pass


class One(enum.IntEnum):
    A = 1


class Other(enum.IntEnum):
    A = 1


class Pair(collections.namedtuple("Pair", "a b")):
    pass


@dataclasses.dataclass(frozen=True)
class Config:
    a: Any
    b: Any = dataclasses.field(default=0, compare=False)


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    a: Any
    b: Any = dataclasses.field(default=0, compare=False)


class Lossy:
    def __init__(self, k: int, extra: int) -> None:
        self.k, self.extra = k, extra

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Lossy) and self.k == other.k

    def __hash__(self) -> int:
        return hash(self.k)


class LossySlots:
    """Its equality knows only objects of its own class, and nobody else's may be asked."""

    __slots__ = ("extra", "k")

    def __init__(self, k: int, extra: int) -> None:
        self.k, self.extra = k, extra

    def __eq__(self, other: Any) -> bool:
        return bool(self.k == other.k)

    def __hash__(self) -> int:
        return hash(self.k)


def tagged(value: Any, tag: int) -> Any:
    value.tag = tag
    return value


def zone(hours: int, *name: str) -> datetime.timezone:
    return datetime.timezone(datetime.timedelta(hours=hours), *name)


def first(v: Any) -> Any:
    return next(iter(v))


def exponent(v: Any) -> Any:
    return v.as_tuple().exponent


def is_minus(v: Any) -> int:
    return 1 if str(v)[0] == "-" else 2


NOON = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
D = decimal.Decimal

PAIRS: dict[str, tuple[Any, Any, Any]] = {
    "range": (range(1, 8, 3), range(1, 10, 3), lambda v: v.stop),
    "range_empty": (range(2, 2), range(5, 0), lambda v: v.start),
    "zone": (NOON, NOON.astimezone(zone(3)), lambda v: v.hour),
    "zone_name": (zone(1, "A"), zone(1, "B"), lambda v: ord(v.tzname(None))),
    "zone_name_inside": (
        NOON.replace(tzinfo=zone(0, "A")),
        NOON.replace(tzinfo=zone(0, "B")),
        lambda v: ord(v.tzname()),
    ),
    "fold": (
        datetime.datetime(2026, 1, 1, fold=0),
        datetime.datetime(2026, 1, 1, fold=1),
        lambda v: v.fold,
    ),
    "time": (
        datetime.time(12, tzinfo=zone(0)),
        datetime.time(13, tzinfo=zone(1)),
        lambda v: v.hour,
    ),
    "time_fold": (datetime.time(1, fold=0), datetime.time(1, fold=1), lambda v: v.fold),
    "decimal": (D("2"), D("2.000"), exponent),
    "decimal_zero": (D("0"), D("-0"), lambda v: v.as_tuple().sign),
    "frozenset": (frozenset({3, 4}), frozenset({3.0, 4.0}), lambda v: type(first(v)) is int),
    "frozenset_order": (frozenset([0, 8]), frozenset([8, 0]), first),
    "set": ({3, 4}, {3.0, 4.0}, lambda v: type(first(v)) is int),
    "set_order": ({0, 8}, {8, 0}, first),
    "dict_number": ({1: 5}, {1.0: 5}, lambda v: type(first(v)) is int),
    "dict_bool": ({1: 5}, {True: 5}, lambda v: first(v) is True),
    "dict_decimal": ({D("1"): 5}, {D("1.0"): 5}, lambda v: exponent(first(v))),
    "dict_range": ({range(0, 3, 2): 5}, {range(0, 4, 2): 5}, lambda v: first(v).stop),
    "dict_object": ({Lossy(1, 2): 5}, {Lossy(1, 3): 5}, lambda v: first(v).extra),
    "dict_text": ({"a": 5}, {tagged(Text("a"), 2): 5}, lambda v: type(first(v)) is str),
    "text": (tagged(Text("a"), 1), tagged(Text("a"), 2), lambda v: v.tag),
    "text_of_numpy": (np.str_("a"), "a", lambda v: type(v) is str),
    "int": (tagged(Whole(3), 1), tagged(Whole(3), 2), lambda v: v.tag),
    "enum": (One.A, Other.A, lambda v: type(v) is One),
    "float": (Float(0.0), Float(-0.0), is_minus),
    "complex": (complex(0.0, 0.0), complex(-0.0, 0.0), lambda v: is_minus(v.real)),
    "row": (tagged(Row((1, 2)), 5), tagged(Row((1, 2)), 6), lambda v: v.tag),
    "named": ((1, 2), Pair(1, 2), lambda v: type(v) is tuple),
    "named_decimal": (Pair(D("1"), 2), Pair(D("1.0"), 2), lambda v: exponent(v.a)),
    "fraction": (fractions.Fraction(1, 2), Ratio(1, 2), lambda v: type(v) is Ratio),
    "dataclass": (Config(1, 2), Config(1, 3), lambda v: v.b),
    "dataclass_slots": (Slotted(1, 2), Slotted(1, 3), lambda v: v.b),
    "dataclass_kind": (Config(1), Config(1.0), lambda v: type(v.a) is int),
    "dataclass_zero": (Config(0.0), Config(-0.0), lambda v: is_minus(v.a)),
    "dataclass_list": (Config(1, [2]), Config(1, [3]), lambda v: v.b[0]),
    "dataclass_object": (Config(Lossy(1, 2)), Config(Lossy(1, 3)), lambda v: v.a.extra),
    "object": (Lossy(1, 2), Lossy(1, 3), lambda v: v.extra),
    "object_slots": (LossySlots(1, 2), LossySlots(1, 3), lambda v: v.extra),
    "object_in_tuple": ((Lossy(1, 2),), (Lossy(1, 3),), lambda v: v[0].extra),
    "zero_in_tuple": ((0.0, "a"), (-0.0, "a"), lambda v: is_minus(v[0])),
    "dtype_order": (np.dtype("<i4"), np.dtype(">i4"), lambda v: v.byteorder in "=<"),
    "dtype_metadata": (
        np.dtype("i4", metadata={"a": 1}),
        np.dtype("i4", metadata={"a": 2}),
        lambda v: v.metadata["a"],
    ),
    "dtype_letter": (np.dtype("q"), np.dtype("l"), lambda v: ord(v.char)),
    "numpy_day": (
        np.datetime64("2026-01-01"),
        np.datetime64("2026-01-01T00"),
        lambda v: len(str(v)),
    ),
    "numpy_zero": (np.float32(0.0), np.float32(-0.0), np.signbit),
    "numpy_dtype": (np.float32(1), np.float16(1), lambda v: v.dtype.itemsize),
    "slice": (slice(1, 2), slice(True, 2), lambda v: type(v.start) is bool),
    "uuid": (
        uuid.UUID(int=1),
        uuid.UUID(int=1, is_safe=uuid.SafeUUID.safe),
        lambda v: v.is_safe is uuid.SafeUUID.safe,
    ),
    "path": (
        pathlib.PurePosixPath("a"),
        pathlib.PosixPath("a"),
        lambda v: isinstance(v, pathlib.Path),
    ),
    "ordered": (
        collections.OrderedDict(a=1, b=2),
        collections.OrderedDict(b=2, a=1),
        lambda v: ord(first(v)),
    ),
}


def as_argument(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v))
    return lambda v: f(2.0, v)


def as_static_argument(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v), static_argnums=(1,))
    return lambda v: f(2.0, v)


def as_keyword(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v))
    return lambda v: f(2.0, v=v)


def in_tuple(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v[0]))
    return lambda v: f(2.0, (v, 1))


def in_list(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v[0]))
    return lambda v: f(2.0, [v, 1])


def in_dict(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v["k"]))
    return lambda v: f(2.0, {"k": v})


def as_key(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(first(v)))
    return lambda v: f(2.0, {v: 1})


def in_frozen(make: Any, look: Any) -> Any:
    f = make(lambda x, v: x * look(v.a))
    return lambda v: f(2.0, Config(v))


def as_attribute(make: Any, look: Any) -> Any:
    class Holder:
        def go(self, x: Any) -> Any:
            return x * look(self.v)  # type: ignore[attr-defined]

    holder = Holder()
    f = make(holder.go)

    def go(v: Any) -> Any:
        holder.v = v  # type: ignore[attr-defined]
        return f(2.0)

    return go


def as_global(make: Any, look: Any) -> Any:
    f = make(lambda x: x * look(HELD))

    def go(v: Any) -> Any:
        global HELD
        HELD = v
        return f(2.0)

    return go


def as_cell(make: Any, look: Any) -> Any:
    held: Any = None
    f = make(lambda x: x * look(held))

    def go(v: Any) -> Any:
        nonlocal held
        held = v
        return f(2.0)

    return go


def as_item(make: Any, look: Any) -> Any:
    held: list[Any] = [None]
    f = make(lambda x: x * look(held[0]))

    def go(v: Any) -> Any:
        held[0] = v
        return f(2.0)

    return go


def in_partial(make: Any, look: Any) -> Any:
    f = make(lambda x, p: p(x))

    def use(v: Any, x: Any) -> Any:
        return x * look(v)

    return lambda v: f(2.0, functools.partial(use, v))


WAYS = [
    *(as_argument, as_static_argument, as_keyword, in_tuple, in_list, in_dict, as_key, in_frozen),
    *(as_attribute, as_global, as_cell, as_item, in_partial),
]


def plain(function: Any, **options: Any) -> Any:
    return function


def outcome(call: Any, value: Any) -> Any:
    try:
        return float(call(value))
    except TypeError as error:  # what has no hash is no key
        return str(error)


@pytest.mark.full
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("name", PAIRS)
def test_equal_is_not_the_same(name: str, way: Any) -> None:
    one, other, look = PAIRS[name]
    values = (one, other, one, other)
    expected = [outcome(way(plain, look), value) for value in values]
    if any(isinstance(value, str) for value in expected):
        return
    call = way(d2s.to_static, look)
    if way is as_static_argument and isinstance(one, set | dict):
        with pytest.raises(d2s.StagingError, match="D2S030"):
            call(one)
        return
    assert [float(call(value)) for value in values] == expected


@pytest.mark.parametrize("way", [as_argument, as_static_argument, in_tuple, in_frozen, in_dict])
@pytest.mark.parametrize(
    "make",
    [
        lambda: Config(1, 2),
        lambda: Slotted(1, (2.0, "a")),
        lambda: range(2, 5),
        lambda: D("1.50"),
        lambda: NOON.replace(hour=3),
        lambda: Pair(1, "b"),
        lambda: pathlib.PurePosixPath("a") / "b",
        lambda: slice(1, 3),
        lambda: tagged(Text("ab"), 7),
    ],
)
def test_one_graph_for_values_that_are_made_anew(way: Any, make: Any) -> None:
    made: list[Any] = []

    def keep(function: Any, **options: Any) -> Any:
        made.append(d2s.to_static(function, **options))
        return made[-1]

    call = way(keep, lambda v: len(str(v)))
    results = [float(call(make())) for _ in range(4)]
    assert len(set(results)) == 1
    assert len(made[0].cache_info().graphs) == 1


class Plain:
    k = 1


def change_attribute(value: Any) -> None:
    value.tag += 1


@pytest.mark.parametrize(
    ("value", "look", "change"),
    [
        (tagged(Text("a"), 1), lambda v: v.tag, change_attribute),
        (tagged(Row((1,)), 1), lambda v: v.tag, change_attribute),
        (tagged(Whole(1), 1), lambda v: v.tag, change_attribute),
        (Config(1, 2), lambda v: v.b, lambda v: object.__setattr__(v, "b", v.b + 1)),
        (Slotted(1, 2), lambda v: v.b, lambda v: object.__setattr__(v, "b", v.b + 1)),
        (Config(Plain()), lambda v: v.a.k, lambda v: setattr(v.a, "k", v.a.k + 1)),
        (Config((Plain(),)), lambda v: v.a[0].k, lambda v: setattr(v.a[0], "k", v.a[0].k + 1)),
        (Config(1, [1]), lambda v: len(v.b), lambda v: v.b.append(1)),
        (Lossy(1, 1), lambda v: v.extra, lambda v: setattr(v, "extra", v.extra + 1)),
    ],
)
@pytest.mark.parametrize("way", [as_argument, as_static_argument, in_tuple, as_attribute, as_cell])
def test_what_changes_inside_of_a_value_is_seen(
    way: Any, value: Any, look: Any, change: Any
) -> None:
    call = way(d2s.to_static, look)
    for _ in range(3):
        for _ in range(2):
            assert float(call(value)) == 2.0 * look(value)
        change(value)


def test_a_slice_is_an_argument_like_others() -> None:
    f = d2s.to_static(lambda x, s: x[s])
    x = jnp.arange(6.0)
    for s in (slice(1, 3), slice(None), slice(None, None, -2), slice(1, 3)):
        assert f(x, s).tolist() == x[s].tolist()
    g = d2s.to_static(lambda x, d: x[d["rows"], d["columns"]].sum())
    y = jnp.arange(12.0).reshape(3, 4)
    assert float(g(y, {"rows": slice(0, 2), "columns": slice(1, None)})) == 24.0


def test_arrays_in_a_frozen_dataclass_are_inputs() -> None:
    f = d2s.to_static(lambda c: c.a * 1 + c.b)
    for n in range(4):
        assert float(f(Config(2, jnp.float32(n)))) == 2.0 + n
    assert len(f.cache_info().graphs) == 1


def test_variables_that_are_equal_are_two() -> None:
    a, b = 1.0, 1.0

    def f(x: Any) -> Any:
        nonlocal b
        b = b + x
        return a * x

    g = d2s.to_static(f)
    assert [float(g(2.0)), float(b), float(g(2.0)), float(b), a] == [2.0, 3.0, 2.0, 5.0, 1.0]
