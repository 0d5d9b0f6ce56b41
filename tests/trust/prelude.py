"""What the programs about texts may use; each takes in the parts that it mentions."""

import base64  # noqa: F401
import collections  # noqa: F401
import csv  # noqa: F401
import dataclasses  # noqa: F401
import datetime  # noqa: F401
import decimal  # noqa: F401
import enum  # noqa: F401
import fractions  # noqa: F401
import functools  # noqa: F401
import html  # noqa: F401
import io  # noqa: F401
import json  # noqa: F401
import pprint  # noqa: F401
import reprlib  # noqa: F401
import shlex  # noqa: F401
import string  # noqa: F401
import textwrap  # noqa: F401
import types  # noqa: F401
import urllib.parse  # noqa: F401

import jax.numpy as jnp  # noqa: F401
import numpy as np  # noqa: F401


class Plain:
    def __init__(self, v):
        self.v = v


class Shown(Plain):
    def __str__(self):
        return f"<{self.v}>"

    def __repr__(self):
        return "Shown(%r)" % (self.v,)

    def __format__(self, spec):
        return format(self.v, spec)


class Sloted:
    __slots__ = ("v",)

    def __init__(self, v):
        self.v = v


@dataclasses.dataclass
class Record:
    v: object
    w: object = 1


@dataclasses.dataclass(frozen=True)
class Frozen:
    v: object


Named = collections.namedtuple("Named", "v w")


class Words(dict):
    pass


class Row(list):
    pass


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Upper(string.Formatter):
    def format_field(self, value, spec):
        return super().format_field(value, spec).upper()


def csv_row(*v):
    out = io.StringIO()
    csv.writer(out).writerow(v)
    return out.getvalue()


def csv_dict(**v):
    out = io.StringIO()
    csv.DictWriter(out, list(v)).writerow(v)
    return out.getvalue()


def into_file(*v, **k):
    out = io.StringIO()
    print(*v, file=out, **k)
    return out.getvalue()


def written(v):
    out = io.StringIO()
    out.write(str(v))
    return out.getvalue()


def pretty(v):
    out = io.StringIO()
    pprint.PrettyPrinter(stream=out, width=20).pprint(v)
    return out.getvalue()


LOG = []
LAST = ""
BOX = Plain(1)
