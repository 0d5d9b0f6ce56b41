"""The families of programs by name: each makes endless programs out of a source of chance."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from . import border, keys, names, numbers, texts, views
from .judge import Program

FAMILIES: dict[str, Callable[[random.Random], Iterator[Program]]] = {
    "texts": texts.programs,
    "names": names.programs,
    "keys": keys.programs,
    "numbers": numbers.programs,
    "border": border.programs,
    "views": views.programs,
}
