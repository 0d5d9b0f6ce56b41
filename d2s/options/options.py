"""The options of `to_static`, checked where they are given."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from d2s.errors import a, wrong_option
from d2s.options import loop_options

#: what `checks=False` stands for
OFF = "off"
_CHECKS = (loop_options.NAN, OFF)


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
    #: the names of the options that were given
    given: frozenset[str] = field(default=frozenset(), repr=False, compare=False)

    @property
    def is_plain(self) -> bool:
        """Whether nothing was asked for."""
        return self is PLAIN

    def then(self, later: Options) -> Options:
        """These with the ones of a decorator around; where both say something, that one counts."""
        if self.is_plain or later.is_plain:
            return later if self.is_plain else self
        return replace(
            self,
            **{name: getattr(later, name) for name in later.given},
            given=self.given | later.given,
        )

    def without(self, positional: Sequence[str], bound: Collection[str]) -> Options:
        """The same for a function some arguments of which are bound: by name, those left out."""

        def left(option: str, numbers: tuple[int, ...]) -> tuple[str, ...]:
            names = (*getattr(self, option), *(positional[n] for n in numbers))
            return tuple(name for name in dict.fromkeys(names) if name not in bound)

        # an object is no part of the specification of its method
        specified = positional[1:] if positional[:1] == ["self"] else positional
        return replace(
            self,
            input_spec=_left(self.input_spec, specified, bound),
            in_shardings=_left(self.in_shardings, positional, bound),
            static_argnums=(),
            static_argnames=left("static_argnames", self.static_argnums),
            donate_argnums=(),
            donate_argnames=left("donate_argnames", self.donate_argnums),
            given=frozenset(name.replace("_argnums", "_argnames") for name in self.given),
        )


#: nothing was asked for
PLAIN = Options()


def options(**given: Any) -> Options:
    """Checked options: one number or name stands for a tuple of one."""
    known = {field.name for field in fields(Options)} - {"given"}
    for name in given:
        if name not in known:
            raise wrong_option(
                f"to_static has no option {name!r}", f"one of {', '.join(sorted(known))}"
            )
    given = {name: value for name, value in given.items() if value is not None}
    if given.get("checks") is False:
        given["checks"] = OFF
    elif given.get("checks") is True:
        given["checks"] = ()  # those of the program itself, which are always on
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
            raise wrong_option(f"there is no check {check!r}", f"one of {', '.join(_CHECKS)}")
    loop_options.check(given.get("max_iterations"), given.get("loops"))
    if given.get("backend", "jax") not in ("jax", "python"):
        raise wrong_option(f"there is no backend {given['backend']!r}", '"jax" or "python"')
    if not isinstance(given.get("compiler_options", {}), Mapping):
        raise wrong_option(
            "compiler_options is no dict", 'for example {"xla_cpu_enable_fast_math": True}'
        )
    return Options(**given, given=frozenset(given)) if given else PLAIN


def _left(given: Any, positional: Sequence[str], bound: Collection[str]) -> Any:
    """An option with an entry for each argument, by name, without those that are bound."""
    if isinstance(given, list | tuple):
        given = dict(zip(positional, given, strict=False))
    if isinstance(given, Mapping):
        return {name: one for name, one in given.items() if name not in bound}
    return given


def _several(name: str, value: Any, kind: type, what: str) -> tuple[Any, ...]:
    values = (
        tuple(value) if isinstance(value, Iterable) and not isinstance(value, str) else (value,)
    )
    for one in values:
        if type(one) is not kind:
            raise wrong_option(f"{name} has {one!r} in it", f"{what}, each {a(kind)}")
    return values
