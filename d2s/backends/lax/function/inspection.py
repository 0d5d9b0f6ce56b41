"""What can be seen of a static function: its graphs, what they cost, why they were built."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp

from d2s import conversion
from d2s.backends.lax.forms.dtypes import type_of
from d2s.backends.lax.function.samples import LARGEST
from d2s.errors import boundary, wrong_option
from d2s.options.specs import Spec, sizes_for
from d2s.report import report
from d2s.runtime import record
from d2s.runtime.watching import Watched, observed
from d2s.static import StaticFunction, is_wrapper

#: the size that a named dimension of a specification has where somebody looks at a graph
SIZE = 4


@dataclass(frozen=True)
class Cost:
    """What XLA says of a compiled graph; None where it does not say."""

    flops: float | None
    bytes_accessed: float | None
    #: sizes in bytes
    arguments: int | None
    outputs: int | None
    temporaries: int | None
    code: int | None

    def __str__(self) -> str:
        def shown(value: float | None) -> str:
            return "unknown" if value is None else f"{value:,.0f}"

        memory = (self.arguments, self.outputs, self.temporaries)
        total = None if None in memory else sum(m for m in memory if m is not None)
        return (
            f"{shown(self.flops)} flops, {shown(self.bytes_accessed)} bytes accessed, "
            f"{shown(total)} bytes of memory ({shown(self.arguments)} arguments, "
            f"{shown(self.outputs)} outputs, {shown(self.temporaries)} temporaries)"
        )


@dataclass(frozen=True)
class BuiltGraph:
    """A graph that was built, for inputs of these types, and the reason."""

    inputs: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return f"({', '.join(self.inputs)}): {self.reason}"


@dataclass
class CacheInfo:
    """The graphs of a static function in the order they were built."""

    name: str
    graphs: list[BuiltGraph] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.graphs)

    def __str__(self) -> str:
        lines = [f"{n}. {graph}" for n, graph in enumerate(self.graphs, 1)]
        many = f"{len(lines)} graph{'s' * (len(lines) != 1)} built"
        return "\n".join([f"{self.name}: {many}", *lines])

    __repr__ = __str__


class Inspected(StaticFunction):
    """The methods of a static function that look at its graphs and do not run them.

    Arguments are as in a call; `d2s.spec(...)` or a `jax.ShapeDtypeStruct` may stand for an array.
    """

    LOOKS = frozenset({"jaxpr", "lower", "hlo", "compile", "cost", "grad_jaxpr", "explain"})

    def look(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], use: Callable[..., Any]
    ) -> Any:
        """What `use(graph, leaves)` says of the `JittedGraph` for these arguments."""
        raise NotImplementedError  # pragma: no cover - the engine knows its graphs

    @boundary
    def jaxpr(self, *args: Any, **kwargs: Any) -> Any:
        """The graph as JAX sees it."""
        return self.look(args, kwargs, lambda graph, leaves: graph.jitted.trace(*leaves).jaxpr)

    @boundary
    def lower(self, *args: Any, **kwargs: Any) -> jax.stages.Lowered:
        """The graph as StableHLO: `jax.stages.Lowered`."""
        lowered: jax.stages.Lowered = self.look(
            args, kwargs, lambda graph, leaves: graph.jitted.lower(*leaves)
        )
        return lowered

    @boundary
    def hlo(self, *args: Any, optimized: bool = False, **kwargs: Any) -> str:
        """The text of the graph: StableHLO, or what XLA has made of it."""
        lowered = self.lower(*args, **kwargs)
        return str(lowered.compile().as_text() if optimized else lowered.as_text())

    @boundary
    def compile(self, *args: Any, **kwargs: Any) -> jax.stages.Compiled:
        """Build and compile the graph ahead of time; calls with such arguments then just run."""
        compiled: jax.stages.Compiled = self.look(args, kwargs, _compile)
        return compiled

    @boundary
    def cost(self, *args: Any, **kwargs: Any) -> Cost:
        """What XLA says of the compiled graph: operations, bytes moved, memory."""
        compiled = self.lower(*args, **kwargs).compile()
        costs: Any = compiled.cost_analysis() or {}
        costs = costs[0] if isinstance(costs, list) else costs
        memory = compiled.memory_analysis()

        def size(name: str) -> int | None:
            return getattr(memory, f"{name}_size_in_bytes", None)

        return Cost(
            costs.get("flops"),
            costs.get("bytes accessed"),
            size("argument"),
            size("output"),
            size("temp"),
            size("generated_code"),
        )

    @boundary
    def grad_jaxpr(self, *args: Any, **kwargs: Any) -> Any:
        """The backward graph: from what the forward one kept and the cotangents to gradients."""
        return self.look(args, kwargs, _backward)

    @boundary
    def explain(self, *args: Any, **kwargs: Any) -> report.Report:
        """What became of each control-flow statement for such arguments, and why."""
        notes, inputs = self.look(args, kwargs, _notes)
        plain = getattr(self.function, "__wrapped__", self.function)
        code = plain.__code__
        own = report.statements(code.co_filename, code.co_firstlineno)
        return report.report(f"{self.function.__qualname__}({', '.join(inputs)})", notes, own)

    @boundary
    def watch(self, *names: str) -> Watched:
        """A copy of the function that also gives the values of variables: see `d2s.History`."""
        if not names or not all(isinstance(name, str) for name in names):
            raise wrong_option("watch takes names of variables", 'f.watch("x")(*args)')
        if is_wrapper(self.original):
            what = f"{self.function.__qualname__} is inside a wrapper, which has no variables"
            raise wrong_option(what, "watch of the function itself: d2s.to_static(f).watch(...)")
        plain = getattr(self.function, "__wrapped__", self.function)
        if conversion.is_written(plain):
            raise wrong_option(
                f"{plain.__qualname__} was written by d2s convert, and has no source of its own",
                "the file that it was made from",
            )
        return Watched(self.copy(observed(plain, names)), names, jax.effects_barrier)

    @property
    def examples(self) -> dict[str, Any] | None:
        """The specifications of all arguments, if `input_spec` has one for each."""
        raise NotImplementedError  # pragma: no cover - the engine knows its arguments

    def cache_info(self) -> CacheInfo:
        """Every graph that was built so far, with the reason."""
        raise NotImplementedError  # pragma: no cover - the engine knows its graphs

    def clear_cache(self) -> None:
        """Forget all graphs; the next call builds one again."""
        raise NotImplementedError  # pragma: no cover - the engine knows its graphs

    def copy(self, function: Any) -> StaticFunction:
        """A static function with the options of this one that runs another converted function."""
        raise NotImplementedError  # pragma: no cover - the engine knows how


def structs(value: Any, sizes: Mapping[str, int] | None = None, default: int = SIZE) -> Any:
    """An argument with the specifications in it as JAX's own."""
    sizes = sizes_for(value, sizes or {}, (default, *range(1, LARGEST)))
    return _structs(value, sizes, default)


def _structs(value: Any, sizes: Mapping[str, int], default: int) -> Any:
    if isinstance(value, Spec):
        sized = value.with_sizes(sizes, default)
        return jax.ShapeDtypeStruct(sized.shape, jnp.dtype(sized.dtype))
    if type(value) in (list, tuple):
        return type(value)(_structs(part, sizes, default) for part in value)
    if type(value) is dict:
        return {key: _structs(part, sizes, default) for key, part in value.items()}
    return value


def shown(leaves: Sequence[Any]) -> tuple[str, ...]:
    return tuple(str(type_of(leaf)) for leaf in leaves)


def _compile(graph: Any, leaves: Sequence[Any]) -> jax.stages.Compiled:
    compiled: jax.stages.Compiled = graph.jitted.lower(*leaves).compile()
    weak = [type_of(leaf).weak for leaf in leaves]
    otherwise = graph.run

    def run(*given: Any) -> Any:
        """Run what was compiled if the types are the same, weak ones included.

        JAX's executables take a strong type for a weak one, and would give another type back.
        """
        if [
            getattr(leaf, "weak_type", type(leaf) in (int, float, complex)) for leaf in given
        ] != weak:
            return otherwise(*given)
        try:
            return compiled(*given)
        except TypeError:  # other shapes, or a transformation around
            return otherwise(*given)

    graph.replace(run)
    return compiled


def _notes(graph: Any, leaves: Sequence[Any]) -> tuple[list[record.Note], tuple[str, ...]]:
    with record.recorded() as notes:
        # a new function each time: JAX would not trace one again that it has traced before
        jax.make_jaxpr(lambda *inputs: graph.function(*inputs))(*leaves)
    return notes, shown(leaves[graph.skip :])


def _backward(graph: Any, leaves: Sequence[Any]) -> Any:
    wanted = [
        n for n, leaf in enumerate(leaves) if jnp.issubdtype(type_of(leaf).dtype, jnp.inexact)
    ]
    if not wanted:
        raise wrong_option(
            f"no argument of {graph.entry.owner.function.__qualname__} is a float",
            "floating-point arguments, which have gradients",
        )

    def forward(*inputs: Any) -> list[Any]:
        given = list(leaves)
        for n, value in zip(wanted, inputs, strict=True):
            given[n] = value
        outs = jax.tree_util.tree_leaves(graph.function(*given))
        return [out for out in outs if jnp.issubdtype(out.dtype, jnp.inexact)]

    inputs = [leaves[n] for n in wanted]
    both = jax.make_jaxpr(lambda *given: jax.vjp(forward, *given), return_shape=True)
    with record.recorded():  # the graph is only looked at: it is not counted as one that was built
        outs, pull = both(*inputs)[1]
    return jax.make_jaxpr(lambda back, cotangents: back(cotangents))(pull, outs)
