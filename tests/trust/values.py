"""Classes and functions whose values the programs about keys tell apart, or take for the same."""

import collections  # noqa: F401
import dataclasses  # noqa: F401
import datetime  # noqa: F401
import decimal  # noqa: F401
import enum  # noqa: F401
import fractions  # noqa: F401
import functools  # noqa: F401
import math  # noqa: F401
import pathlib  # noqa: F401
import re  # noqa: F401
import types  # noqa: F401
import uuid  # noqa: F401
import zoneinfo  # noqa: F401

import jax.numpy as jnp  # noqa: F401
import numpy as np  # noqa: F401

UTC = datetime.timezone.utc
EAST = datetime.timezone(datetime.timedelta(hours=1))


class Text(str):
    pass


class Tagged(str):
    def __new__(cls, text, tag):
        made = super().__new__(cls, text)
        made.tag = tag
        return made


class Whole(int):
    pass


class Real(float):
    pass


class Raw(bytes):
    pass


class Items(tuple):
    pass


class Row(list):
    pass


class Book(dict):
    pass


class Bag(frozenset):
    pass


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Name(enum.StrEnum):
    A = "a"


class Bits(enum.IntFlag):
    A = 1
    B = 2


Point = collections.namedtuple("Point", "x y")
Other = collections.namedtuple("Other", "a b")


@dataclasses.dataclass(frozen=True)
class Frozen:
    k: object
    note: object = dataclasses.field(default=0, compare=False)


@dataclasses.dataclass(eq=True, unsafe_hash=True)
class Record:
    k: object
    note: object = dataclasses.field(default=0, compare=False, hash=False)


class Same:
    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return isinstance(other, Same)

    def __hash__(self):
        return 1


class Sloted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 1


def one(x):
    return x


def two(x):
    return -x


def made(k):
    def inner(x):
        return x * k

    return inner
