"""What patterns of ``match`` take apart, by Python's rules: the parts, or None where it differs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from d2s.runtime.engines import active

# the bits by which Python itself tells what is a sequence, a mapping, or matched as a whole
_SEQUENCE, _MAPPING, _MATCHES_ITSELF = 1 << 5, 1 << 6, 1 << 22
_MISSING = object()


def match_sequence(
    subject: Any, before: int, after: int | None = None, star: bool = False
) -> tuple[Any, ...] | None:
    """Items of a sequence: `before` of them, or at least so many and `after` more at its end.

    With `star` what lies in between comes as a list.
    """
    if not type(subject).__flags__ & _SEQUENCE:
        return None
    if after == before == 0 and not star:
        return ()  # any sequence will do, even one that has no length
    length = len(subject)
    if after is None:
        return (tuple(subject) if before else ()) if length == before else None
    if length < before + after:
        return None
    if star:
        items = list(subject)
        return (*items[:before], items[before : length - after], *items[length - after :])
    ends = [subject[n] for n in range(before)]
    return (*ends, *(subject[length - n] for n in range(after, 0, -1)))


def match_mapping(subject: Any, *keys: Any, rest: bool = False) -> tuple[Any, ...] | None:
    """The values of a mapping for the keys, and with `rest` a dict of all others."""
    if not type(subject).__flags__ & _MAPPING or (keys and len(subject) < len(keys)):
        return None
    values, seen = [], set()
    for key in keys:
        if key in seen:
            raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
        seen.add(key)
        value = subject.get(key, _MISSING)
        if value is _MISSING:
            return None
        values.append(value)
    if rest:
        others = dict(subject)
        for key in keys:
            del others[key]
        values.append(others)
    return tuple(values)


def match_class(subject: Any, kind: Any, count: int, *names: str) -> tuple[Any, ...] | None:
    """The attributes of an instance: `count` of them by position, the others by name."""
    if not isinstance(kind, type):
        kinds = "type" if sys.version_info < (3, 12) else "class"
        raise TypeError(f"called match pattern must be a {kinds}")
    backend = active()
    is_one: Callable[..., Any] = isinstance
    if not (
        backend.builtin(is_one, (subject, kind), {}) if backend.staging() else is_one(subject, kind)
    ):
        return None
    values: list[Any] = []
    if count:
        positional = getattr(kind, "__match_args__", _MISSING)
        whole = positional is _MISSING and bool(kind.__flags__ & _MATCHES_ITSELF)
        if positional is _MISSING:
            positional = ()
        if type(positional) is not tuple:
            got = type(positional).__name__
            raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {got})")
        allowed = 1 if whole else len(positional)
        if allowed < count:
            plural = "" if allowed == 1 else "s"
            raise TypeError(
                f"{kind.__name__}() accepts {allowed} positional sub-pattern{plural} "
                f"({count} given)"
            )
        if whole:
            values.append(subject)
        else:
            for name in positional[:count]:
                if type(name) is not str:
                    got = type(name).__name__
                    raise TypeError(f"__match_args__ elements must be strings (got {got})")
            names = (*positional[:count], *names)
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise TypeError(f"{kind.__name__}() got multiple sub-patterns for attribute {name!r}")
        seen.add(name)
        try:
            values.append(getattr(subject, name))
        except AttributeError:
            return None
    return tuple(values)
