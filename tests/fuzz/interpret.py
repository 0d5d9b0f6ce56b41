"""Run a graph without XLA: each equation by NumPy, control flow by Python.

Compiling a small graph takes five times as long as tracing it, so most programs are run this way.
What is tested is the graph that d2s built, and this runs all of it; that XLA runs the same graph to
the same end is checked on a share of the programs, and on every divergence.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal

from d2s.backends.lax.function import entries

Rule = Callable[..., Any]


def _div(a: Any, b: Any) -> Any:
    if np.issubdtype(np.result_type(a), np.integer):
        # Towards zero, and -1 for a zero divisor, as XLA does.
        safe = np.where(b == 0, 1, b)
        return np.where(b == 0, -1, (np.abs(a) // np.abs(safe)) * np.sign(a) * np.sign(safe))
    return np.true_divide(a, b)


def _rem(a: Any, b: Any) -> Any:
    if np.issubdtype(np.result_type(a), np.integer):
        return np.where(b == 0, a, np.fmod(a, np.where(b == 0, 1, b)))
    return np.fmod(a, b)


def _select(which: Any, *cases: Any) -> Any:
    if len(cases) == 2:
        return np.where(which, cases[1], cases[0])
    return np.choose(which, cases)


def _broadcast(a: Any, *, shape: Any, broadcast_dimensions: Any, **_: Any) -> Any:
    spread = [1] * len(shape)
    for size, place in zip(np.shape(a), broadcast_dimensions, strict=True):
        spread[place] = size
    return np.broadcast_to(np.reshape(a, spread), shape)


def _convert(a: Any, *, new_dtype: Any, **_: Any) -> Any:
    a = np.asarray(a)
    if a.dtype.kind != "f" or np.dtype(new_dtype).kind not in "iu":
        return a.astype(new_dtype)
    # What is no number becomes zero, and what does not fit the nearest that does, as XLA has it.
    least, most = np.iinfo(new_dtype).min, np.iinfo(new_dtype).max
    fits = np.where((a > least) & (a < most), a, 0).astype(new_dtype)
    return np.where(a >= most, most, np.where(a <= least, least, fits))


def _integer_pow(a: Any, *, y: int) -> Any:
    return np.power(a, y) if y >= 0 else np.true_divide(1, np.power(a, -y))


def _slice(a: Any, *, start_indices: Any, limit_indices: Any, strides: Any) -> Any:
    steps = strides or (1,) * len(start_indices)
    return a[tuple(map(slice, start_indices, limit_indices, steps))]


def _dynamic_slice(a: Any, *starts: Any, slice_sizes: Any) -> Any:
    first = [
        min(max(int(s), 0), n - k) for s, n, k in zip(starts, a.shape, slice_sizes, strict=True)
    ]
    return a[tuple(slice(s, s + k) for s, k in zip(first, slice_sizes, strict=True))]


def _dynamic_update(a: Any, new: Any, *starts: Any) -> Any:
    first = [min(max(int(s), 0), n - k) for s, n, k in zip(starts, a.shape, new.shape, strict=True)]
    made = np.array(a)
    made[tuple(slice(s, s + k) for s, k in zip(first, new.shape, strict=True))] = new
    return made


def _reduce(function: Callable[..., Any]) -> Rule:
    return lambda a, *, axes, **_: function(a, axis=tuple(axes))


def _whole(function: Callable[..., Any]) -> Rule:
    return lambda *args, **_: function(*args)


#: primitive -> what it does; anything else is handed to jax.
RULES: dict[str, Rule] = {
    "add": _whole(np.add),
    "sub": _whole(np.subtract),
    "mul": _whole(np.multiply),
    "add_any": _whole(np.add),
    "div": _whole(_div),
    "rem": _whole(_rem),
    "neg": _whole(np.negative),
    "abs": _whole(np.abs),
    "sign": _whole(np.sign),
    "floor": _whole(np.floor),
    "ceil": _whole(np.ceil),
    "sin": _whole(np.sin),
    "cos": _whole(np.cos),
    "tanh": _whole(np.tanh),
    "exp": _whole(np.exp),
    "max": _whole(np.maximum),
    "min": _whole(np.minimum),
    "eq": _whole(np.equal),
    "ne": _whole(np.not_equal),
    "lt": _whole(np.less),
    "le": _whole(np.less_equal),
    "gt": _whole(np.greater),
    "ge": _whole(np.greater_equal),
    "and": _whole(np.bitwise_and),
    "or": _whole(np.bitwise_or),
    "xor": _whole(np.bitwise_xor),
    "not": _whole(np.invert),
    "is_finite": _whole(np.isfinite),
    "stop_gradient": _whole(lambda a: a),
    "copy": _whole(np.array),
    "copy_p": _whole(np.array),
    "optimization_barrier": lambda *args: list(args),
    "square": _whole(np.square),
    "integer_pow": _integer_pow,
    "select_n": _select,
    "convert_element_type": _convert,
    "broadcast_in_dim": _broadcast,
    "reshape": lambda a, *, new_sizes, **_: np.reshape(a, new_sizes),
    "squeeze": lambda a, *, dimensions, **_: np.squeeze(a, tuple(dimensions)),
    "expand_dims": lambda a, *, dimensions: np.expand_dims(a, tuple(dimensions)),
    "transpose": lambda a, *, permutation: np.transpose(a, permutation),
    "concatenate": lambda *args, dimension: np.concatenate(args, dimension),
    "rev": lambda a, *, dimensions: np.flip(a, tuple(dimensions)),
    "slice": _slice,
    "dynamic_slice": _dynamic_slice,
    "dynamic_update_slice": _dynamic_update,
    "iota": lambda *, dtype, shape, dimension, **_: np.broadcast_to(
        np.arange(shape[dimension], dtype=dtype).reshape(
            [-1 if n == dimension else 1 for n in range(len(shape))]
        ),
        shape,
    ),
    "reduce_sum": _reduce(np.sum),
    "reduce_max": _reduce(np.max),
    "reduce_min": _reduce(np.min),
    "reduce_and": _reduce(np.all),
    "reduce_or": _reduce(np.any),
    "reduce_prod": _reduce(np.prod),
    "clamp": lambda low, a, high: np.minimum(np.maximum(a, low), high),
}

#: primitives that had no rule, and how often: what to write a rule for next
handed_on: dict[str, int] = {}


def evaluate(closed: ClosedJaxpr, *args: Any) -> list[Any]:
    """The outputs of a graph for these inputs."""
    return _run(closed.jaxpr, closed.consts, args)


def _run(jaxpr: Jaxpr, consts: Any, args: Any) -> list[Any]:
    values: dict[Any, Any] = {}
    for variables, given in ((jaxpr.constvars, consts), (jaxpr.invars, args)):
        for variable, value in zip(variables, given, strict=True):
            values[variable] = value
    for equation in jaxpr.eqns:
        inputs = [v.val if isinstance(v, Literal) else values[v] for v in equation.invars]
        outs = _apply(equation, [_numpy(value) for value in inputs])
        for variable, out in zip(equation.outvars, outs, strict=True):
            values[variable] = out
    return [v.val if isinstance(v, Literal) else values[v] for v in jaxpr.outvars]


def _numpy(value: Any) -> Any:
    if isinstance(value, jax.Array) and not jnp.issubdtype(value.dtype, jax.dtypes.extended):
        return np.asarray(value)
    return value


def _apply(equation: Any, args: list[Any]) -> list[Any]:
    name, params = equation.primitive.name, equation.params
    if name == "cond":
        index = min(max(int(args[0]), 0), len(params["branches"]) - 1)
        return evaluate(params["branches"][index], *args[1:])
    if name == "while":
        return _while(params, args)
    if name == "bounded_while" and _is_plain(params, args):
        return _while(_as_while(params), args)
    if name == "scan":
        # its parameters are others from jax 0.11 on
        return _scan(params, args) if "num_consts" in params else _by_jax(equation, args)
    inner = params.get("jaxpr") or params.get("call_jaxpr")
    if isinstance(inner, ClosedJaxpr):
        return evaluate(inner, *args)
    if isinstance(inner, Jaxpr):
        return _run(inner, (), args)
    rule = RULES.get(name)
    if rule is None:
        return _by_jax(equation, args)
    with np.errstate(all="ignore"):
        out = rule(*args, **params)
    outs = out if isinstance(out, list) else [out]
    return [
        np.asarray(o).astype(v.aval.dtype, copy=False)
        for o, v in zip(outs, equation.outvars, strict=True)
    ]


def _by_jax(equation: Any, args: list[Any]) -> list[Any]:
    handed_on[equation.primitive.name] = handed_on.get(equation.primitive.name, 0) + 1
    params = equation.primitive.get_bind_params(equation.params)
    subfuns, params = params if isinstance(params, tuple) else ((), params)  # older and newer jax
    given = [jnp.asarray(a) if isinstance(a, np.ndarray | np.generic) else a for a in args]
    out = equation.primitive.bind(*subfuns, *given, **params)
    return list(out) if equation.primitive.multiple_results else [out]


def _is_plain(params: Any, args: list[Any]) -> bool:
    """Whether a bounded loop is an ordinary one: no rows, no lanes, no trips to count."""
    form, body = params["form"], params["body"]
    operands = form.tests + form.consts + form.carry
    rows = len(args) > operands or len(body.out_avals) > form.carry
    other = params["test"] is None or form.checked or form.masked or form.trips
    return not (rows or other)


def _as_while(params: Any) -> dict[str, Any]:
    form = params["form"]
    return {
        "cond_nconsts": form.tests,
        "body_nconsts": form.consts,
        "cond_jaxpr": params["test"],
        "body_jaxpr": params["body"],
    }


def _while(params: Any, args: list[Any]) -> list[Any]:
    first, second = params["cond_nconsts"], params["body_nconsts"]
    for_test, for_body = args[:first], args[first : first + second]
    state = args[first + second :]
    while np.any(going := evaluate(params["cond_jaxpr"], *for_test, *state)[0]):
        after = evaluate(params["body_jaxpr"], *for_body, *state)
        # A mapped loop goes on while any lane does; lanes that are done keep what they have.
        state = after if np.all(going) else [*map(_lanes, repeat(going), after, state)]
    return state


def _lanes(going: Any, after: Any, before: Any) -> Any:
    spread = np.reshape(going, np.shape(going) + (1,) * (np.ndim(after) - np.ndim(going)))
    return np.where(spread, after, before)


def _scan(params: Any, args: list[Any]) -> list[Any]:
    consts, carried = params["num_consts"], params["num_carry"]
    fixed, state = args[:consts], args[consts : consts + carried]
    rows = args[consts + carried :]
    order = range(params["length"])
    stacks: list[list[Any]] = []
    for n in reversed(order) if params["reverse"] else order:
        outs = evaluate(params["jaxpr"], *fixed, *state, *(row[n] for row in rows))
        state = outs[:carried]
        stacks.append(outs[carried:])
    if params["reverse"]:
        stacks.reverse()
    kinds = params["jaxpr"].out_avals[carried:]
    if not stacks:
        return [*state, *(np.zeros((0, *kind.shape), kind.dtype) for kind in kinds)]
    return [*state, *(np.stack([row[n] for row in stacks]) for n in range(len(kinds)))]


class Interpreted:
    """Stands in for `jax.jit(function)`: one graph per types of arguments, run by NumPy."""

    def __init__(self, function: Callable[..., Any], seen: list[ClosedJaxpr]) -> None:
        self.function, self.jitted, self.seen = function, jax.jit(function), seen
        self.graphs: dict[Any, tuple[ClosedJaxpr, Any]] = {}

    def __call__(self, *leaves: Any) -> Any:
        if any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            return self.jitted(*leaves)  # part of a graph around it
        key = tuple((a.shape, a.dtype, a.weak_type) for a in map(jax.typeof, leaves))
        if key not in self.graphs:
            closed, shape = jax.make_jaxpr(self.function, return_shape=True)(*leaves)
            self.graphs[key] = closed, jax.tree.structure(shape)
            self.seen.append(closed)
        closed, tree = self.graphs[key]
        outs = evaluate(closed, *(_numpy(jnp.asarray(leaf)) for leaf in leaves))
        return jax.tree.unflatten(tree, [jnp.asarray(out) for out in outs])


@contextlib.contextmanager
def without_xla(seen: list[ClosedJaxpr] | None = None) -> Iterator[None]:
    """Static functions made inside are run by NumPy; their graphs are added to `seen`."""
    original, seen = entries.Entry.reset, [] if seen is None else seen

    def reset(self: Any) -> None:
        original(self)
        for graph in (self.plain, self.printing):
            graph.run = Interpreted(graph.run.__wrapped__, seen)

    entries.Entry.reset = reset  # type: ignore[method-assign]
    try:
        yield
    finally:
        entries.Entry.reset = original  # type: ignore[method-assign]
