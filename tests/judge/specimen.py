"""A small test module that the judge is tried on."""

from __future__ import annotations

import unittest
from collections.abc import Iterator


def double(x: int) -> int:
    return 2 * x if x else 0


def numbers() -> Iterator[int]:
    yield 1


class Box:
    triple = staticmethod(lambda x: 3 * x)

    @property
    def value(self) -> int:
        return 4

    @classmethod
    def make(cls) -> Box:
        return cls()


class Tests(unittest.TestCase):
    def test_double(self) -> None:
        def inner() -> int:
            return double(21)

        self.assertEqual(inner(), 42)

    def test_kinds(self) -> None:
        self.assertEqual((Box.make().value, Box.triple(2)), (4, 6))

    def test_generator(self) -> None:
        self.assertEqual(list(numbers()), [1])

    @unittest.expectedFailure
    def test_that_fails(self) -> None:
        self.assertEqual(1, 3)

    @unittest.skip("neither passes nor fails")
    def test_that_is_skipped(self) -> None:
        self.fail()
