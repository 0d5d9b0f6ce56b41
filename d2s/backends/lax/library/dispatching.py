"""Functions of `functools` that look at their arguments: `singledispatch` and `lru_cache`.

    @functools.singledispatch           area(r) with a run-time `r` that is a float in plain Python
    def area(shape): ...                ->    the implementation for `float` is chosen, converted
    area.register(float)(circle)              and called, although `r` is a tracer

`singledispatch` looks at the class of its argument, and nobody has registered the class of tracers.
`lru_cache` keeps arguments and results, and nothing of a graph may stay in a cache.
"""

from __future__ import annotations

import functools
import threading
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, cast

from d2s.backends.lax.graph import scopes
from d2s.backends.lax.semantics import classes
from d2s.backends.lax.semantics.casts import has_traced, refuse
from d2s.backends.lax.trace.namespaces import ask
from d2s.runtime.calls import fn

_Cached = type(functools.lru_cache(lambda: None))
#: the code of the functions that `functools` makes around implementations, by an example of each:
#: their code is the only thing that all of them have in common
_DISPATCHING = cast(Any, functools.singledispatch(lambda value: value)).__code__
_METHOD: Any = functools.singledispatchmethod(lambda self, value: value).__get__(None, object)
#: None from Python 3.14 on, where a class takes the place of the function
_DISPATCHING_METHOD = getattr(_METHOD, "__code__", None)


def dispatched(function: Any) -> Callable[..., Any] | None:
    """What calls the implementation that a single dispatch chooses; None for other functions."""
    if not isinstance(function, types.FunctionType):
        return None
    code = function.__code__
    if code is _DISPATCHING:
        choose, bind = cast(Any, function).dispatch, _as_it_is
    elif code is _DISPATCHING_METHOD:
        # Python keeps the object and its dispatcher in the closure alone, under these names.
        held = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        choose = _contents(held, "dispatch") or _contents(held, "self").dispatcher.dispatch
        bind = functools.partial(_bound, _contents(held, "obj"), _contents(held, "cls"))
    else:
        return None

    def call(*args: Any, **kwargs: Any) -> Any:
        if not args:
            return function(**kwargs)  # Python raises the error about the missing argument
        return fn(bind(choose(classes.type_(args[0]))))(*args, **kwargs)

    return call


class _AskedCaches(threading.local):
    """The caches that the graph being built has asked."""

    def __init__(self) -> None:
        #: each cache, with the number of its misses before it was asked
        self.caches: list[tuple[Any, int]] = []
        #: the caches that were asked with run-time values, which must not stay in them
        self.traced: list[Any] = []


_asked = _AskedCaches()


@contextmanager
def clean_caches() -> Iterator[None]:
    """Around the building of a graph: no cache keeps anything of it.

    If the graph cannot be built, what it has put into caches was made of things that are undone.
    """
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
    """What calls a function with an `lru_cache`; None for other functions.

    A cache belongs to the whole program, so nothing of the graph may stay in it.
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
    """Whether a cache still gives the same result; if it has dropped it, it computes it now."""
    try:
        return cache(*args, **kwargs) is result
    except Exception:
        return False  # the graph is built again, and the function raises the exception there


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
