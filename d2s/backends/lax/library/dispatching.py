"""Functions of `functools` that ask what an argument is: a run-time value is what it is in Python.

`singledispatch` looks at the class of its argument, which for a run-time value is none of those
that anybody has registered. `lru_cache` looks at which object it is.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from d2s.backends.lax.graph import scopes
from d2s.backends.lax.semantics import classes
from d2s.backends.lax.semantics.casts import has_traced, refuse
from d2s.backends.lax.trace.namespaces import ask
from d2s.runtime.calls import fn

_FUNCTOOLS = functools.singledispatch.__code__.co_filename
_Cached = type(functools.lru_cache(lambda: None))


def dispatched(function: Any) -> Callable[..., Any] | None:
    """What calls the implementation that a single dispatch chooses; None for other functions."""
    if not isinstance(function, types.FunctionType):
        return None
    code = function.__code__
    if code.co_filename != _FUNCTOOLS:
        return None
    held = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    if hasattr(function, "dispatch") and hasattr(function, "registry"):
        choose, bind = function.dispatch, _as_it_is
    elif code.co_qualname.startswith("singledispatchmethod."):
        choose = _contents(held, "dispatch") or _contents(held, "self").dispatcher.dispatch
        bind = functools.partial(_bound, _contents(held, "obj"), _contents(held, "cls"))
    else:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return function(**kwargs)  # says what is missing
        return fn(bind(choose(classes.type_(args[0]))))(*args, **kwargs)

    return call


class _Asked(threading.local):
    """The caches that the graph being built has asked, and how often they had not known then."""

    def __init__(self) -> None:
        self.caches: list[tuple[Any, int]] = []
        #: those that were asked by run-time values, which must not stay there
        self.traced: list[Any] = []


_asked = _Asked()


@contextmanager
def clean_caches() -> Iterator[None]:
    """What a graph that could not be built has left in caches was made of what is undone."""
    before, _asked.caches, _asked.traced = (_asked.caches, _asked.traced), [], []
    try:
        yield
    except BaseException:
        for cache, misses in _asked.caches:
            if cache.cache_info().misses != misses:
                cache.cache_clear()
        raise
    finally:
        for cache in _asked.traced:
            cache.cache_clear()
        _asked.caches, _asked.traced = before


def remembered(function: Any) -> Callable[..., Any] | None:
    """What calls a function of `lru_cache`; None for other functions.

    Nothing of the graph may get into the cache, which is there for everybody and for good.
    """
    cache = getattr(function, "__func__", function)
    if type(cache) is not _Cached:
        return None
    owner = () if cache is function else (function.__self__,)

    def call(*args: Any, **kwargs: Any) -> Any:
        given = (*owner, *args, *kwargs.values())
        copies = scopes.copies()
        copy = next((v for v in given if copies and copies.number(v) is not None), None)
        if copy is not None:
            raise _refused(cache, f"would look for a {type(copy).__name__} that is another one")
        _asked.caches.append((cache, cache.cache_info().misses))
        result = cache(*owner, *args, **kwargs)
        if has_traced(given):
            _asked.traced.append(cache)
        elif has_traced(result):
            raise _refused(cache, "would keep a run-time value")
        else:
            ask(functools.partial(_still_gives, cache, (*owner, *args), kwargs, result))
        return result

    return call


def _still_gives(cache: Any, args: Any, kwargs: Any, result: Any) -> bool:
    """Whether a cache has kept what it gave; what it has not, it computes now, as always."""
    try:
        return cache(*args, **kwargs) is result
    except Exception:
        return False  # the graph is built again, and the function raises it there


def _refused(cache: Any, why: str) -> BaseException:
    return refuse(
        f"functools.lru_cache around {cache.__name__} {why} while the graph is built",
        "the function without a cache, or the numbers that it needs as arguments",
        code="D2S023",
    )


def _contents(held: dict[str, types.CellType], name: str) -> Any:
    return held[name].cell_contents if name in held else None


def _as_it_is(implementation: Any) -> Any:
    return implementation


def _bound(instance: Any, owner: Any, implementation: Any) -> Any:
    return implementation.__get__(instance, owner)
