"""How loops are staged, where a program wants a say: plain Python does not notice any of it."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any, Generic, Literal, TypeVar, get_args

from d2s.errors import boundary, wrong_option

Loops = Literal["auto", "roll", "unroll"]
#: the check for results that are no numbers
NAN = "nan"
T = TypeVar("T")


class _Settings(threading.local):
    def __init__(self) -> None:
        self.loops: Loops = "auto"
        self.max_iterations: int | None = None
        self.checkpoints: int | None = None
        self.checks: tuple[str, ...] = ()


_now = _Settings()


def check(max_iterations: Any, loops: Any, checkpoints: Any = None) -> None:
    """Refuse what cannot be meant, wherever it is said."""
    for name, value in (("max_iterations", max_iterations), ("checkpoints", checkpoints)):
        if value is not None and (type(value) is not int or not 0 < value < 2**31):
            raise wrong_option(f"{name} is {value!r}", "a positive number")
    if loops not in (None, *get_args(Loops)):
        raise wrong_option(f"loops is {loops!r}", f"one of {', '.join(get_args(Loops))}")


class options:
    """Settings for the loops inside a ``with`` block, those of functions it calls included.

    max_iterations  a bound for loops on run-time conditions that have none of their own. With a
                    bound, a loop has gradients in both modes; a call that needs more trips raises
                    `d2s.LoopLimit`.
    checkpoints     how many states of a loop without any bound are kept for reverse mode; others
                    are computed again. Such a loop has reverse mode and no other.
    loops           what becomes of loops with a known number of trips: ``"roll"`` (one body in the
                    graph, or an error), ``"unroll"``, or ``"auto"``
    """

    @boundary
    def __init__(
        self,
        *,
        max_iterations: int | None = None,
        checkpoints: int | None = None,
        loops: Loops | None = None,
    ) -> None:
        check(max_iterations, loops, checkpoints)
        self._max_iterations, self._loops = max_iterations, loops
        self._checkpoints = checkpoints

    def __enter__(self) -> None:
        self._before = _now.max_iterations, _now.checkpoints, _now.loops
        if self._max_iterations is not None:
            _now.max_iterations = self._max_iterations
        if self._checkpoints is not None:
            _now.checkpoints = self._checkpoints
        if self._loops is not None:
            _now.loops = self._loops

    def __exit__(self, *_: object) -> None:
        _now.max_iterations, _now.checkpoints, _now.loops = self._before


class within(options):
    """What a static function asks for, for its part of the graph of another.

    What it does not ask for is as it is around it.

    checks  the option of `to_static`; None when it was not given
    """

    def __init__(
        self,
        *,
        max_iterations: int | None = None,
        loops: Loops | None = None,
        checks: tuple[str, ...] | None = None,
    ) -> None:
        super().__init__(max_iterations=max_iterations, loops=loops)
        self._checks = checks

    def __enter__(self) -> None:
        super().__enter__()
        self._checked = _now.checks
        if self._checks is not None:
            # a graph is checked for NaN as a whole
            kept = {NAN} & {*_now.checks}
            _now.checks = tuple({*self._checks} | kept)

    def __exit__(self, *error: object) -> None:
        super().__exit__(*error)
        _now.checks = self._checked


class afresh(within):
    """The settings of a graph of its own: those around it do not count."""

    def __enter__(self) -> None:
        super().__enter__()
        _now.max_iterations, _now.loops = self._max_iterations, self._loops or "auto"
        _now.checkpoints = None
        _now.checks = self._checks or ()


def max_iterations() -> int | None:
    return _now.max_iterations


def checkpoints() -> int | None:
    return _now.checkpoints


def checks() -> tuple[str, ...]:
    return _now.checks


def loops() -> Loops:
    return _now.loops


class Chosen(Generic[T]):
    """Something to loop over, and how its loop is to be staged."""

    def __init__(self, items: Iterable[T], how: Loops) -> None:
        self.items, self.how = items, how

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)  # type: ignore[arg-type]


def roll(items: Iterable[T]) -> Chosen[T]:
    """``for i in d2s.roll(range(n))``: one body in the graph, or an error that says why not."""
    return Chosen(items, "roll")


def unroll(items: Iterable[T]) -> Chosen[T]:
    """``for i in d2s.unroll(range(n))``: every trip is in the graph."""
    return Chosen(items, "unroll")


def settled(items: Any) -> tuple[Any, Loops]:
    """What is looped over, and how."""
    return (items.items, items.how) if isinstance(items, Chosen) else (items, _now.loops)
