"""The options of `to_static`, checked where they are given."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from d2s.errors import Error

#: what `checks=False` stands for
OFF = "off"
_CHECKS = ("nan", OFF)
_LOOPS = ("auto", "roll", "unroll")


@dataclass(frozen=True)
class Options:
    """What a static function was asked for; everything is optional.

    input_spec        what the arguments must look like: `d2s.spec`, or a `jax.ShapeDtypeStruct`
    static_argnums    arguments that are constants of the graph, by position
    static_argnames   the same by name
    donate_argnums    arguments whose memory the graph may use for its results
    donate_argnames   the same by name
    in_shardings      how arguments are laid out on devices, as in `jax.jit`
    out_shardings     the same for results
    loops             how loops with a known number of trips are built
    max_iterations    a bound for loops whose number of trips is a run-time value
    checks            "nan": stop at the line that makes the first NaN; False: leave out `assert`
                      and `raise` that nothing in the function catches
    compiler_options  handed to XLA, as in `jax.jit`
    backend           "jax", or "python": no graph at all
    """

    input_spec: Any = None
    static_argnums: tuple[int, ...] = ()
    static_argnames: tuple[str, ...] = ()
    donate_argnums: tuple[int, ...] = ()
    donate_argnames: tuple[str, ...] = ()
    in_shardings: Any = None
    out_shardings: Any = None
    loops: Any = None
    max_iterations: int | None = None
    checks: tuple[str, ...] = ()
    compiler_options: Mapping[str, Any] | None = None
    backend: str = "jax"

    @property
    def is_plain(self) -> bool:
        """Whether nothing was asked for."""
        return self is PLAIN


#: nothing was asked for
PLAIN = Options()


def options(**given: Any) -> Options:
    """Checked options: one number or name stands for a tuple of one."""
    known = {field.name for field in fields(Options)}
    for name in given:
        if name not in known:
            raise _wrong(f"to_static has no option {name!r}", f"one of {', '.join(sorted(known))}")
    given = {name: value for name, value in given.items() if value is not None}
    if given.get("checks") is False:
        given["checks"] = OFF
    for name, kind, what in (
        ("static_argnums", int, "positions"),
        ("donate_argnums", int, "positions"),
        ("static_argnames", str, "names"),
        ("donate_argnames", str, "names"),
        ("checks", str, "names"),
    ):
        if name in given:
            given[name] = _several(name, given[name], kind, what)
    for check in given.get("checks", ()):
        if check not in _CHECKS:
            raise _wrong(f"there is no check {check!r}", f"one of {', '.join(_CHECKS)}")
    bound = given.get("max_iterations", 1)
    if type(bound) is not int or not 0 < bound < 2**31:
        raise _wrong(f"max_iterations is {bound!r}", "a positive number")
    if given.get("loops", "auto") not in _LOOPS:
        raise _wrong(f"loops is {given['loops']!r}", f"one of {', '.join(_LOOPS)}")
    if given.get("backend", "jax") not in ("jax", "python"):
        raise _wrong(f"there is no backend {given['backend']!r}", '"jax" or "python"')
    if not isinstance(given.get("compiler_options", {}), Mapping):
        raise _wrong(
            "compiler_options is no dict", 'for example {"xla_cpu_enable_fast_math": True}'
        )
    return Options(**given) if given else PLAIN


def _several(name: str, value: Any, kind: type, what: str) -> tuple[Any, ...]:
    values = (value,) if isinstance(value, str | int) else tuple(value)
    for one in values:
        if type(one) is not kind:
            raise _wrong(f"{name} has {one!r} in it", f"{what}, of type {kind.__name__}")
    return values


def _wrong(what: str, fix: str) -> Error:
    return Error(what, code="D2S033", fix=fix)
