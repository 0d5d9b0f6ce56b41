"""The edge of a static function: the options about its arguments and its results.

    @d2s.to_static(static_argnames="mode", donate_argnums=0, in_shardings=(rows, None))
    def f(x, mode): ...

    f(x, "fast")  ->  enter  ->  Donated(x, laid out as `rows`), Constant("fast", "mode")

The marks `Donated` and `Constant` tell the walk what to make of an argument. A function without
such options has no edge, and its arguments are used as they come.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.layout import Format

from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.marks import Constant, Donated
from d2s.errors import Site, wrong_option
from d2s.options.options import Options
from d2s.options.specs import Inputs, Spec

#: what JAX takes for the layout of an array
_LAYOUTS = (jax.sharding.Sharding, jax.sharding.PartitionSpec, Format, jax.Device)

Arguments = tuple[tuple[Any, ...], dict[str, Any]]


class Arrays:
    """What the types and shapes of arguments are, for the check against `input_spec`."""

    def where(self) -> Site:
        return sites.where()

    def spec_of(self, value: Any) -> Spec | None:
        if isinstance(value, jax.ShapeDtypeStruct):
            return Spec(str(value.dtype), tuple(value.shape))
        return None

    def actual(self, value: Any, wanted: Spec) -> tuple[str, tuple[int, ...]] | None:
        if type(value) in (bool, int, float, complex):
            fits = jnp.issubdtype(jnp.dtype(wanted.dtype), _KINDS[type(value)])
            return (wanted.dtype if fits else str(jnp.result_type(value))), ()
        if isinstance(value, np.ndarray | np.generic):
            return str(jax.dtypes.canonicalize_dtype(value.dtype)), value.shape
        if isinstance(value, jax.Array | jax.ShapeDtypeStruct):
            return str(value.dtype), tuple(value.shape)
        return None


_KINDS: dict[type, Any] = {
    bool: jnp.bool_,
    int: jnp.integer,
    float: jnp.floating,
    complex: jnp.complexfloating,
}


class Edge:
    """Checks arguments, marks those that are static or donated, and puts them on devices."""

    def __init__(self, function: Any, bound: int, keywords: Sequence[str], options: Options):
        self._signature = inspect.signature(function)
        self._label = function.__qualname__
        parameters = list(self._signature.parameters.values())[bound:]
        self._parameters = [p for p in parameters if p.name not in keywords]
        kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._positional = [p.name for p in self._parameters if p.kind in kinds]
        self._static = self._chosen("static", options.static_argnums, options.static_argnames)
        self._donated = self._chosen("donate", options.donate_argnums, options.donate_argnames)
        for name in ("in_shardings", "out_shardings"):
            _check_layouts(name, getattr(options, name))
        self._in, self._out = self._layouts(options.in_shardings), options.out_shardings
        self.inputs: Inputs | None = None
        #: how many arguments a specification says nothing about: the object of a method. A function
        #: in the body of a class is no method yet, so only the name of its parameter can tell
        self.own = int(not bound and self._positional[:1] == ["self"])
        if options.input_spec is not None:
            self.inputs = Inputs(function, options.input_spec, bound + self.own, Arrays())
        self._bound = bound
        #: whether arguments get marks, which no reader knows
        self.marks = bool(self._static or self._donated)

    def _chosen(self, what: str, numbers: Sequence[int], names: Sequence[str]) -> frozenset[str]:
        """The names of the arguments that an option names or counts."""
        known = [p.name for p in self._parameters]
        for number in numbers:
            if not -len(self._positional) <= number < len(self._positional):
                raise wrong_option(
                    f"{what}_argnums: {self._label} has no argument {number}",
                    f"a position below {len(self._positional)}",
                )
        for name in names:
            if name not in known:
                raise wrong_option(
                    f"{what}_argnames: {self._label} has no argument {name!r}",
                    f"one of {', '.join(known)}",
                )
        return frozenset(names) | {self._positional[n] for n in numbers}

    def _layouts(self, given: Any) -> dict[str, Any]:
        """The layout of each argument by name; one that is no tuple is for all of them."""
        if given is None:
            return {}
        if isinstance(given, Mapping):
            known = [p.name for p in self._parameters]
            for name in given:
                if name not in known:
                    raise wrong_option(
                        f"in_shardings: {self._label} has no argument {name!r}",
                        f"one of {', '.join(known)}",
                    )
            return dict(given)
        if not isinstance(given, list | tuple):
            return {name: given for name in self._positional if name not in self._static}
        if len(given) != len(self._positional):
            raise wrong_option(
                f"in_shardings has {len(given)} entries; {self._label} takes "
                f"{len(self._positional)} arguments",
                "one entry for each argument, None for those that stay where they are",
            )
        return dict(zip(self._positional, given, strict=True))

    def enter(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Arguments:
        """The arguments as the graph gets them, without those that the function is bound to."""
        if self.inputs is not None:
            self.inputs.check((*[None] * self._bound, *args), kwargs)
        names = [*self._positional, *[""] * (len(args) - len(self._positional))]
        changed = tuple(map(self._one, names, args))
        return changed, {name: self._one(name, value) for name, value in kwargs.items()}

    def _one(self, name: str, value: Any) -> Any:
        if name in self._static:
            return Constant(value, name)
        layout = self._in.get(name)
        # a Python number is on no device, and a specification has no value to put there
        stays = (jax.ShapeDtypeStruct, bool, int, float, complex)
        if layout is not None and not isinstance(value, stays):
            value = jax.device_put(value, layout)
        return Donated(value) if name in self._donated else value

    def leave(self, value: Any) -> Any:
        """The result, laid out on devices."""
        if self._out is None:
            return value
        try:
            layouts = _for_each(self._out, value)
        except ValueError as error:
            raise wrong_option(
                f"out_shardings does not fit what {self._label} returns "
                f"({str(error).splitlines()[0]})",
                "one layout for all of it, or a container like the result with one for each part",
            ) from error
        return jax.tree.map(_laid_out, value, layouts)

    def examples(self) -> dict[str, Any] | None:
        """The specifications of all arguments without a default; None if one of them has none."""
        if self.inputs is None:
            return None
        needed = [
            p.name
            for p in self._parameters
            if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
        ]
        found = {name: one for name, one in self.inputs.specs.items() if one is not None}
        return found if set(needed) - {"self"} <= set(found) else None


def _is_layout(value: Any) -> bool:
    return value is None or isinstance(value, _LAYOUTS)


def _check_layouts(option: str, given: Any) -> None:
    """Refuse what is no layout, wherever it is in the option."""
    for one in jax.tree.leaves(given, is_leaf=_is_layout):
        if not _is_layout(one):
            raise wrong_option(
                f"{option} has {one!r} in it, which is no layout",
                "a sharding of JAX's, for example jax.sharding.NamedSharding(mesh, spec), or None",
            )


def _for_each(layouts: Any, value: Any) -> Any:
    """A layout for each array of a value; that of a container is for all arrays in it."""

    def spread(layout: Any, part: Any) -> Any:
        return jax.tree.map(lambda _: _Layout(layout), part)

    return jax.tree.map(spread, layouts, value, is_leaf=_is_layout)


class _Layout:
    """Wraps a layout, because `jax.tree` takes None for an empty container and not for a leaf."""

    def __init__(self, layout: Any) -> None:
        self.layout = layout


def _laid_out(array: Any, wanted: _Layout) -> Any:
    layout = wanted.layout
    if layout is None:
        return array
    explicit = jax.sharding.AxisType.Explicit
    mesh = getattr(layout, "mesh", None)
    if mesh is not None and explicit in getattr(mesh, "axis_types", ()):
        return jax.sharding.reshard(array, layout)
    return jax.lax.with_sharding_constraint(array, layout)


def edge(function: Any, bound: int, keywords: Sequence[str], options: Options) -> Edge | None:
    """The edge of a function, or None if it has no options that need one."""
    wanted = (
        options.static_argnums,
        options.static_argnames,
        options.donate_argnums,
        options.donate_argnames,
    )
    others = (options.input_spec, options.in_shardings, options.out_shardings)
    if not any(wanted) and all(other is None for other in others):
        return None
    return Edge(function, bound, keywords, options)
