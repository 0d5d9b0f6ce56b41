"""Functions that stand for those of Python: a call that Python does not take fails as there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Call = Callable[..., Any]


def called(plain: Call, ours: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Call ours; where it does not take such arguments, Python says what is wrong with them."""
    try:
        return ours(*args, **kwargs)
    except TypeError as error:
        # not from inside: the call itself has failed
        if error.__traceback__ is None or error.__traceback__.tb_next is not None:
            raise
    return plain(*args, **kwargs)


def like(plain: Call, ours: Call) -> Call:
    """Ours, called as Python's function is."""

    def call(*args: Any, **kwargs: Any) -> Any:
        return called(plain, ours, args, kwargs)

    return call
