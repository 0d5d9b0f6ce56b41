"""Static functions in files: `d2s.save` and `d2s.load`."""

from __future__ import annotations

import os
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from d2s.errors import Error, boundary
from d2s.files import archive
from d2s.files.archive import Where
from d2s.files.trees import Record as Record

PLATFORMS = ("cpu", "cuda", "rocm", "tpu")


@boundary
def save(
    function: Any,
    path: Where,
    *specs: Any,
    methods: Mapping[str, Any] | Iterable[str] | None = None,
    platforms: Sequence[str] = ("cpu", "cuda", "tpu"),
    vjp_order: int = 0,
    source: bool = True,
) -> None:
    """Write a function, or an object with methods, into one file that runs without its source.

    specs      one for each argument: `d2s.spec`, a text like ``"f32[b, 784]"``, ``int`` or
               ``float`` for a Python number, an example, a text in quotes (``"'sum'"``), or
               containers of those; in objects, `d2s.spec` for arrays
    methods    of an object: from the name of each method to its specifications (a list, or a dict
               by name of argument)
    platforms  where it can run: "cpu", "cuda", "rocm", "tpu"
    vjp_order  how often it can be differentiated
    source     whether the original and the generated source go along, for reading
    """
    named: dict[str, tuple[Any, tuple[Any, ...], dict[str, Any]]]
    if methods is None:
        named = {"__call__": (function, specs, {})}
    else:
        if specs:
            raise _wrong("specifications beside methods", 'methods={"step": ["f32[b, 3]"]}')
        named = {name: _method(function, name, one) for name, one in _named(methods)}
    _save(path, named, platforms, vjp_order, source)


def save_named(
    function: Any,
    path: Where,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    *,
    platforms: Sequence[str],
    vjp_order: int,
    source: bool,
) -> None:
    """The same for one function with specifications by name, too: the command line has those."""
    _save(path, {"__call__": (function, tuple(args), dict(kwargs))}, platforms, vjp_order, source)


def _save(
    path: Where,
    named: Mapping[str, tuple[Any, tuple[Any, ...], dict[str, Any]]],
    platforms: Sequence[str],
    vjp_order: int,
    source: bool,
) -> None:
    from d2s.backends.lax.saving.export import Given, parts_of

    _refuse_path(path)
    if type(source) is not bool:
        raise _wrong(f"source is {source!r}", "True or False")
    if isinstance(platforms, str):
        platforms = (platforms,)
    elif not isinstance(platforms, Iterable):
        raise _wrong(f"platforms is {platforms!r}", f"some of {', '.join(PLATFORMS)}")
    wanted = tuple(platforms)
    for name in wanted:
        if name not in PLATFORMS:
            raise _wrong(f"there is no platform {name!r}", f"some of {', '.join(PLATFORMS)}")
    if not wanted:
        raise _wrong("no platform", f"some of {', '.join(PLATFORMS)}")
    if type(vjp_order) is not int or vjp_order < 0:
        raise _wrong(f"vjp_order is {vjp_order!r}", "0, 1, 2, ...")
    given = {name: Given(*one) for name, one in named.items()}
    archive.write(path, *parts_of(given, wanted, vjp_order, source))


def _named(methods: Mapping[str, Any] | Iterable[str]) -> list[tuple[str, Any]]:
    if isinstance(methods, str):
        return [(methods, ())]
    if not isinstance(methods, Iterable) or not all(isinstance(name, str) for name in methods):
        raise _wrong(f"methods is {methods!r}", 'methods={"step": ["f32[b, 3]"]}')
    return list(methods.items() if isinstance(methods, Mapping) else ((n, ()) for n in methods))


def _method(owner: Any, name: str, specs: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    found = getattr(owner, name, None)
    if name == "__call__" and not isinstance(found, types.MethodType):
        found = owner
    if not callable(found):
        raise _wrong(f"a {type(owner).__name__} has no method {name!r}", "the name of a method")
    if isinstance(specs, Mapping):
        return found, (), dict(specs)
    return found, tuple(specs) if isinstance(specs, list | tuple) else (specs,), {}


@boundary
def load(path: Where) -> Any:
    """The function or the object in a file; nothing but d2s and jax is needed to run it."""
    from d2s.backends.lax.saving.files import from_parts

    _refuse_path(path)
    return from_parts(path, *archive.read(path))


def _refuse_path(path: Any) -> None:
    """A number would be taken for a file that is open already."""
    if not isinstance(path, str | os.PathLike):
        raise _wrong(f"{path!r} is no path", "the name of a file: d2s.save(function, path, *specs)")


def _wrong(what: str, fix: str) -> Error:
    return Error(what, code="D2S033", fix=fix)
