"""Every private name of JAX that d2s uses, each with the reason; nobody else says `jax._src`.

A name is here only as long as JAX has no public one that does the same on every supported
version: 0.10, the last for Python 3.11, to 0.12. What JAX keeps in attributes that it does not
promise (`tracer._trace`, `trace.frame`) is read by the functions below. What d2s changes in JAX
is in `patches`.

A version of JAX that has moved one of these names fails here, at import, and not in the middle of
somebody's graph. Only the entry to tracing has a public way to stand in for it.
"""

from __future__ import annotations

import enum
import re
import weakref
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from jax._src import (
    array,
    config,
    core,
    dtypes,
    effects,
    linear_util,
    named_sharding,
    source_info_util,
    traceback_util,
)
from jax._src.export import shape_poly
from jax._src.interpreters import ad, batching, partial_eval
from jax._src.lax import lax
from jax.errors import JaxRuntimeError
from jax.extend.source_info_util import current as current_source

# The class of arrays that have a value: `jax.Array` says yes to tracers as well.
ArrayImpl = array.ArrayImpl

# The trace that writes a graph, and the trace and values of a `jax.vmap`: to see what is being
# traced. `jax.interpreters` has the class of the first one's tracers only.
DynamicJaxprTrace: Any = partial_eval.DynamicJaxprTrace
BatchTrace: Any = batching.BatchTrace

# Graphs mapped over lanes, differentiated, split by what is known: the rules of d2s's own loop
# need what those of `lax.scan` use. The last two are in `jax.interpreters` from 0.12 on.
batch_jaxpr: Any = batching.batch_jaxpr
jvp_jaxpr: Any = ad.jvp_jaxpr
partial_eval_jaxpr_nounits: Any = partial_eval.partial_eval_jaxpr_nounits

# A cast that keeps Python numbers weakly typed; `lax.convert_element_type` makes them strong.
convert_element_type: Any = lax._convert_element_type

# The class of named dimensions: `jax.export.is_symbolic_dim` only asks for it, and `patches`
# changes what sizes say of themselves.
SymbolicDimension: Any = shape_poly._DimExpr

# What a `jit` in a graph says of the placement of an argument that nobody has placed.
UNSPECIFIED: Any = named_sharding.UNSPECIFIED

# The user's frames behind an equation; `jax.extend.source_info_util` tells the innermost only.
user_frames = source_info_util.user_frames

# Frames of a folder hidden from the tracebacks that JAX filters. The public `register_exclusion`
# is for the locations of operations only.
hide_frames_of = traceback_util.register_exclusion

# How operations name the user's lines. `jax.config.update` would set these for the whole process;
# the objects behind the settings can set them for one thread, as JAX's own context managers do.
_SOURCE_FILES: Any = config.hlo_source_file_canonicalization_regex
_SOURCE_FRAMES: Any = config.traceback_in_locations_limit

# The module in which JAX makes arrays of NumPy's values, which d2s looks at on the way.
conversions: Any = dtypes

# An effect of one's own must be in sets that say that it happens in order, may be lowered, may be
# inside of control flow, is never dropped; `jax.extend` has no way to say so.
Effect: Any = effects.Effect
EFFECT_SETS = (
    effects.ordered_effects,
    effects.lowerable_effects,
    effects.control_flow_allowed_effects,
    effects.remat_allowed_effects,
    effects.custom_derivatives_allowed_effects,
    effects.partial_eval_kept_effects,
    # JAX refuses other ordered effects on several devices with a bare ValueError; d2s refuses
    # its own in the lowering, with an error that says what to do (`device_count`).
    effects.shardable_ordered_effects,
)
# The effect of an equation that reads or writes a `jax.Ref` of whoever called it.
JaxprInputEffect = effects.JaxprInputEffect

# A graph of a function of arrays. `jax.make_jaxpr` does it with the ceremony of a `jit`
# (signatures, caches, argument trees), which costs more than tracing where regions nest; where
# this is None, it is taken nevertheless.
trace_to_jaxpr: Any = getattr(partial_eval, "trace_to_jaxpr_dynamic", None)
wrap_init: Any = getattr(linear_util, "wrap_init", None)


def is_tracing() -> bool:
    """Whether operations go into a graph now, or into a transformation.

    The public `take_current_trace` tells as well, and sets another trace while one looks, which
    costs more than the rest of a call.
    """
    return core.trace_ctx.trace is not core.eval_trace


def running_traces() -> Iterator[Any]:
    """The traces that an operation would pass now, the innermost first."""
    trace: Any = core.trace_ctx.trace
    while trace is not None:
        yield trace
        trace = getattr(trace, "parent_trace", None)


def is_mapped() -> bool:
    """Whether an operation would pass a `jax.vmap` now."""
    return any(isinstance(trace, BatchTrace) for trace in running_traces())


def trace_of(tracer: Any) -> Any:
    """The trace that a tracer belongs to: equal for all values of one graph."""
    return tracer._trace


def frame_of(trace: Any) -> Any:
    """What the graph of a trace holds so far; None for a transformation, which has no graph."""
    return getattr(trace, "frame", None)


def count_of(frame: Any) -> int:
    """How many equations a graph has so far, those included that nobody needs any more."""
    return len(frame.tracing_eqns)


def numbered_equations(frame: Any) -> Iterator[tuple[int, Any]]:
    """The equations that a graph has so far, with their numbers; JAX drops what nobody needs."""
    for number, one in enumerate(frame.tracing_eqns):
        equation = one() if callable(one) else one
        if equation is not None:
            yield number, equation


def equations_of(frame: Any) -> list[Any]:
    """The equations that a graph has so far."""
    return [equation for _, equation in numbered_equations(frame)]


@contextmanager
def dropped_if_unused() -> Iterator[None]:
    """Equations that are made meanwhile stay in the graph only if something needs their results.

    JAX itself holds equations weakly where it can (`tracing_eqns` has references to them).
    """
    frames = [frame for frame in map(frame_of, running_traces()) if frame is not None]
    lists = [frame.tracing_eqns for frame in frames]
    before = [len(equations) for equations in lists]
    yield
    for equations, start in zip(lists, before, strict=True):
        for n in range(start, len(equations)):
            if not isinstance(equations[n], weakref.ref) and not equations[n].effects:
                equations[n] = weakref.ref(equations[n])


def aval_of(tracer: Any) -> Any:
    """The type of a tracer, also of one that d2s has marked as spent, which refuses to tell it."""
    slot: Any = core.Tracer.aval
    return slot.__get__(tracer)


class GraphEquation(NamedTuple):
    """An equation of a graph that is being built, as it will be in the finished one."""

    primitive: Any
    params: Any
    invars: list[Any]
    outvars: list[Any]


def finished(equation: Any) -> GraphEquation:
    """An equation of a graph that is being built, with variables in the place of its tracers."""
    given = equation.invars
    invars = [v if isinstance(v, core.Literal) else variable_of(v) for v in given]
    return GraphEquation(equation.primitive, equation.params, invars, equation.outvars)


def maker_of(tracer: Any) -> Any:
    """The equation that made a value of a graph that is being built; None for inputs and constants.

    JAX holds on to it there, so that nothing that is needed is dropped.
    """
    return getattr(tracer, "parent", None)


def constant_of(tracer: Any) -> Any:
    """The value from outside that a value of a graph stands for; None if it is none."""
    variable, frame = getattr(tracer, "val", None), frame_of(trace_of(tracer))
    if isinstance(variable, core.Literal):
        return variable.val
    return frame.constvar_to_val.get(variable) if isinstance(variable, core.Var) else None


def variable_of(tracer: Any) -> Any:
    """The variable of a graph that a tracer stands for, or the value itself."""
    return getattr(tracer, "val", tracer)


def input_tracers(trace: Any) -> list[Any]:
    """The inputs of a graph that is being built, as values to compute with."""
    here = current_source()
    make: Any = partial_eval.DynamicJaxprTracer
    return [make(trace, var.aval, var, here) for var in trace.frame.invars]


def device_count(context: Any) -> int:
    """On how many devices the graph runs that is being lowered."""
    axes = context.module_context.axis_context
    # Inside of `jax.shard_map` there is a mesh instead of a number.
    return int(axes.mesh.size if hasattr(axes, "mesh") else axes.num_devices)


def behind(tracer: Any) -> Any:
    """The value that a tracer of a transformation stands for, outside of the transformation.

    For `jax.grad` that is the value without its tangent, for `jax.vmap` a value that all lanes
    share. None where there is no such value.
    """
    plain = getattr(tracer, "primal", None)
    if plain is None and getattr(tracer, "batch_dim", _MISSING) is None:
        plain = tracer.val
    return plain


_MISSING = object()


def names_in(size: Any) -> set[str]:
    """The named dimensions that a size is computed from."""
    return {*size._get_vars()}


def size_for(size: Any, sizes: Mapping[str, Any]) -> Any:
    """A size that is computed from named dimensions, with these in their place."""
    return size._evaluate(dict(sizes))


def is_of_lanes(kind: type) -> bool:
    """Whether a class of tracers is that of values of a `jax.vmap`."""
    return issubclass(kind, batching.BatchTracer)


def lanes_of(trace: Any, values: Any) -> Any:
    """A value of a `jax.vmap` that is being traced, from the values of all lanes."""
    return batching.BatchTracer(trace, values, 0, current_source())


@contextmanager
def source_lines(left_out: str, frames: int) -> Iterator[None]:
    """Graphs that this thread lowers meanwhile name so many lines of the user's for an operation.

    What the pattern `left_out` matches is taken out of the names of the files.
    """
    with ExitStack() as settings:
        settings.enter_context(_SOURCE_FILES(left_out))
        settings.enter_context(_SOURCE_FRAMES(frames))
        yield


# -- what JAX says in errors that have no type of their own ---------------------------------------


class Phrase(enum.Enum):
    """Parts of the texts of JAX's errors, as jax 0.10 to 0.12 word them: any of several.

    Each stands for something that JAX tells by no type and no attribute. A version that words one
    of them in another way shows its own error in place of d2s's: less clear, and never another
    result. `tests/deploy` and `tests/backends/lax/boundary/test_arguments.py` ask for each of them.
    """

    #: a `JaxRuntimeError`: XLA does not know a compiler option, or not this value of it
    COMPILER_OPTION = ("No such compile option", "setting option")
    #: a `TypeError`: what has a rule for reverse mode only is differentiated in forward mode
    REVERSE_MODE_ONLY = ("forward-mode",)
    #: a `ValueError`: a graph out of a file runs on another number of devices
    OTHER_DEVICES = ("was exported for",)
    #: a `ValueError`: a graph out of a file gets shapes that break its constraints
    OTHER_SHAPES = ("refining shapes",)
    #: errors of several types: something is asked of a named dimension that needs its number
    NAMED_DIMENSION = ("_DimExpr", "ymbolic dim")
    #: errors of several types: `reshape(-1, ...)` needs to know that a named dimension is divisible
    UNEVEN_DIVISION = ("divide evenly",)

    def is_in(self, error: BaseException) -> bool:
        """Whether the text of an error has it."""
        return any(part in str(error) for part in self.value)


def is_refused_by_xla(error: BaseException) -> bool:
    """Whether XLA cannot make anything of a graph: the text begins with the status of the error."""
    return isinstance(error, JaxRuntimeError) and str(error).startswith("INVALID_ARGUMENT")


def broken_constraint(error: BaseException) -> str | None:
    """The constraint that the shapes of arguments break, if that is what an error is about."""
    text = " ".join(str(error).split())
    found = re.search(r"Input shapes do not match the symbolic shape constraint ([^.]*)\.", text)
    return None if found is None else found[1].strip()
