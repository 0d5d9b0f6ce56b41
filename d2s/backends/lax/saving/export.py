"""A static function, or the methods of an object, as the parts of a file.

    class Counter:
        def __init__(self): self.total = jnp.float32(0)
        def step(self, x): self.total = self.total + x.sum(); return self.total

    d2s.save(Counter(), "counter.d2s", methods={"step": ["f32[b]"]})

becomes a graph for `step` and a description (the manifest, JSON) of how to call it:

    inputs   [state "total", given "x": f32[b]]      where each input of the graph comes from
    result   ["out", 0]                              how to make the result from the outputs
    writes   [["total", ["out", 1]]]                 what a call leaves in the state
    state    {"total": 0.0}                          in a part of its own

All methods share one state. A method may leave another type in it than another method takes, so
the graphs are built until they agree (`_settle`).
"""

from __future__ import annotations

import inspect
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax import private
from d2s.backends.lax.graph.sites import here
from d2s.backends.lax.saving import exceptions
from d2s.backends.lax.saving.paths import changed, refuse_unfit
from d2s.backends.lax.saving.symbols import Symbols, explained
from d2s.backends.lax.saving.tensors import packed
from d2s.backends.lax.saving.traced import (
    Exporter,
    State,
    TracedGraph,
    is_given,
    is_weak,
    refuse_callbacks,
    retyped,
)
from d2s.backends.lax.saving.writes import Changes, outcome, result_tree, result_types
from d2s.errors import Error
from d2s.files.trees import Json, NotDescribed, described, refusal
from d2s.options.options import PLAIN
from d2s.static import StaticFunction
from d2s.version import __version__

logger = logging.getLogger("d2s")
#: constants of a graph that have at least this many bytes are in a part of their own
_LARGE = 1 << 20
#: how often the methods may be traced again because one changes what another reads
_ROUNDS = 16


@dataclass
class Given:
    """A function to save, and the specifications of its arguments."""

    function: Any
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclass
class _Method:
    """One function of the file, while its graph is being settled."""

    name: str
    exporter: Exporter
    #: of each argument the parameter it is for, and its position or name in `*args` or `**kwargs`
    slots: list[tuple[str, int | str | None]]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    graph: TracedGraph | None = None
    changes: Changes | None = None
    #: the types of the arrays in its result
    kinds: list[Any] | None = None


def parts_of(
    given: Mapping[str, Given], platforms: Sequence[str], vjp_order: int, source: bool
) -> tuple[dict[str, Any], dict[str, bytes]]:
    """The manifest and the parts of a file."""
    state = State()
    exporters = [_exporter(one, state) for one in given.values()]
    asked = [_asked(one, made) for one, made in zip(given.values(), exporters, strict=True)]
    symbols = Symbols(asked)
    methods = [
        _method(name, made, *specs, symbols)
        for name, made, specs in zip(given, exporters, asked, strict=True)
    ]
    # a graph names the user's lines without their folders, and not the lines that call `save`
    with explained(), private.source_lines(r".*[/\\]" if source else ".*", frames=1):
        _settle(methods, state)
        constants: dict[str, Any] = {}
        trees: list[Json] = []
        files: dict[str, bytes] = {}
        for n, method in enumerate(methods):
            _say_what_is_left_out(method)
            exported, tree = _exported(method, state, constants, platforms)
            files[f"methods/{n}.stablehlo"] = _serialized(exported, vjp_order)
            trees.append({**tree, "convention": exported.calling_convention_version})
            if source:
                files[f"source/{n}.py"] = method.exporter.source.encode()
                files[f"source/{n}.generated.py"] = method.exporter.code.encode()
    kinds, files["state.safetensors"] = packed(state.values)
    fixed, files["constants.safetensors"] = packed(constants)
    manifest = {
        "d2s": __version__,
        "jax": jax.__version__,
        "platforms": list(platforms),
        "vjp_order": vjp_order,
        "x64": bool(jax.config.read("jax_enable_x64")),
        "source": source,
        "constraints": list(symbols.constraints),
        "state": kinds,
        "constants": fixed,
        "methods": trees,
    }
    return manifest, files


def _say_what_is_left_out(method: _Method) -> None:
    """Warn of what a saved function does not do, though the static one does."""
    for site in method.graph.prints if method.graph is not None else ():
        place = os.path.basename(site.filename)
        logger.warning("%s, line %d: print is left out of the saved function", place, site.line)
    for option in ("in_shardings", "donate_argnums", "donate_argnames", "compiler_options"):
        if getattr(method.exporter.options, option):
            what = "%s: %s is left out of the saved function, which takes its arguments as they are"
            logger.warning(what, method.exporter.function.__qualname__, option)


def _exporter(given: Given, state: State) -> Exporter:
    inner = getattr(given.function, "__func__", given.function)
    options = inner.options if isinstance(inner, StaticFunction) else PLAIN
    return Exporter(given.function, options, state)


def _asked(given: Given, exporter: Exporter) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The specifications: those that were given, or those of the function's own `input_spec`."""
    kwargs = dict(given.kwargs)
    if not given.args and not kwargs and exporter._edge is not None:
        kwargs = exporter._edge.examples() or {}
    return given.args, kwargs


def _method(
    name: str,
    exporter: Exporter,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    symbols: Symbols,
) -> _Method:
    plain, bound, keywords = exporter.function, exporter.bound, exporter.keywords
    signature = inspect.signature(plain)
    try:
        whole = signature.bind(*bound, *args, **{**keywords, **kwargs})
    except TypeError as error:
        raise Error(
            f"the specifications are not those of the arguments of {plain.__qualname__}: {error}",
            code="D2S033",
            site=here(),
            fix="one specification for each argument without a default",
        ) from None
    slots, args, kwargs = _in_order(signature, len(bound), keywords, whole.arguments)
    args = tuple(symbols.argument(value, exporter.loose) for value in args)
    kwargs = {n: symbols.argument(value, exporter.loose) for n, value in kwargs.items()}
    return _Method(name, exporter, slots, args, kwargs)


def _in_order(
    signature: inspect.Signature, skip: int, keywords: Mapping[str, Any], given: Mapping[str, Any]
) -> tuple[list[tuple[str, int | str | None]], tuple[Any, ...], dict[str, Any]]:
    """Arguments in the order of the parameters, by position as long as none is left out."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    slots: list[tuple[str, int | str | None]] = []
    for parameter in list(signature.parameters.values())[skip:]:
        name, kind = parameter.name, parameter.kind
        if name in keywords or name not in given:
            continue
        value = given[name]
        if kind is parameter.VAR_POSITIONAL:
            args += value
            slots += [(name, n) for n in range(len(value))]
        elif kind is parameter.VAR_KEYWORD:
            kwargs.update({n: v for n, v in value.items() if n not in keywords})
            slots += [(name, n) for n in value if n not in keywords]
        else:
            before = list(signature.parameters)[: skip + len(args)]
            is_next = list(signature.parameters)[skip + len(args)] == name
            if is_next and kind is not parameter.KEYWORD_ONLY and not {*before} & {*keywords}:
                args.append(value)
            else:
                kwargs[name] = value
            slots.append((name, None))
    return slots, tuple(args), kwargs


# -- state that several graphs agree on -----------------------------------------------------------


def _settle(methods: Sequence[_Method], state: State) -> None:
    """Build the graphs until what each of them leaves in the state is what all of them take.

    Invariant: the graphs that are there were all built for the present types of the state. A graph
    that writes another type, or changes a number that is a constant of some graph, drops those
    that this concerns, and they are built again.
    """
    for _ in range(_ROUNDS):
        for method in methods:
            if method.graph is None:
                method.graph = method.exporter.graph(method.args, method.kwargs)
                refuse_callbacks(method.graph, method.name)
                kinds = result_types(method.graph)
                if method.kinds is not None and method.kinds != kinds:
                    raise refusal(
                        f"after a call of {method.name} its state has other types than before, and "
                        "so have its results",
                        "state of the types that it has after the first call; or call it once, "
                        "then save",
                        here(),
                    )
                method.kinds = kinds
        if not any([_adjust(method, methods, state) for method in methods]):
            return
    raise refusal(
        "the types of the state do not settle: each call leaves others",
        "an explicit .astype(...) where the state is written",
        here(),
    )


def _adjust(method: _Method, methods: Sequence[_Method], state: State) -> bool:
    """Whether graphs must be built again, because of what this one writes."""
    graph = method.graph
    if graph is None:
        return True
    method.changes = Changes(graph, state, method.name)
    state.changing |= method.changes.numbers
    again = False
    for position, slot in graph.walk.numbers.items():
        if graph.locate(slot) in state.changing and position not in method.exporter.changing:
            method.exporter.changing.add(position)
            again = True
    if again:
        # the number is an input now, so results made of it are arrays: other types than before
        method.graph = method.kinds = None
        return True
    for name, new in method.changes.state.items():
        old = state.values[name]
        kind = graph.types[new] if type(new) not in (bool, int, float, complex) else None
        if kind is None:
            kind = jax.typeof(jnp.asarray(new))
        if (old.shape, old.dtype, is_weak(old)) == (kind.shape, kind.dtype, is_weak(kind)):
            continue
        value = retyped(old, kind)
        if value is None:
            raise refusal(
                f"a call of {method.name} leaves {kind.str_short()} in {name}, which is "
                f"{jax.typeof(old).str_short()} now",
                f"{name} of that type and shape from the start; or call it once, then save",
                here(),
            )
        state.values[name] = value
        for one in methods:
            one.graph = None
        again = True
    return again


# -- one graph ------------------------------------------------------------------------------------


def _exported(
    method: _Method,
    state: State,
    constants: dict[str, Any],
    platforms: Sequence[str],
) -> tuple[jax.export.Exported, Json]:
    """The graph of a method for the platforms, and its description.

    inputs of the graph = [large constants] [leaves]; the constants are added to those of the file.
    """
    graph, changes = method.graph, method.changes
    assert graph is not None and changes is not None, "it was settled"
    consts = list(graph.jaxpr.consts)
    large = [n for n, const in enumerate(consts) if getattr(const, "nbytes", 0) >= _LARGE]
    names: list[str] = []
    for n in large:
        same = (name for name, value in constants.items() if value is consts[n])
        name = next(same, f"constant.{len(constants)}")
        constants[name] = consts[n]
        names.append(name)
    jaxpr = graph.jaxpr.jaxpr

    def run(*inputs: Any) -> Any:
        held = dict(zip(large, inputs, strict=False))
        every = [held.get(n, const) for n, const in enumerate(consts)]
        return jax.core.eval_jaxpr(jaxpr, every, *inputs[len(large) :])

    run.__name__ = run.__qualname__ = re.sub(r"\W", "_", method.exporter.function.__name__)
    kinds = [
        jax.ShapeDtypeStruct(kind.shape, kind.dtype)
        for kind in [*(jax.typeof(consts[n]) for n in large), *graph.jaxpr.in_avals]
    ]
    try:
        exported = jax.export.export(jax.jit(run), platforms=list(platforms))(*kinds)
    except (NotImplementedError, ValueError) as error:
        raise _not_exported(method.name, error) from error
    return exported, _tree(method, graph, changes, state, names)


def _not_exported(name: str, error: Exception) -> Error:
    first = str(error).strip().splitlines()[0]
    return refusal(
        f"jax does not export the graph of {name} ({first})",
        "other operations there, or platforms=(...) that have them",
        here(),
    )


def _serialized(exported: jax.export.Exported, vjp_order: int) -> bytes:
    try:
        return bytes(exported.serialize(vjp_order=vjp_order))
    except Error:
        raise
    except Exception as error:
        if not vjp_order:
            raise _not_exported(exported.fun_name, error) from error
        first = str(error).strip().splitlines()[0]
        raise refusal(
            f"{exported.fun_name} cannot be saved with its gradient ({first})",
            "vjp_order=0, or a loop over a range or over rows, whose gradient jax exports",
            here(),
        ) from error


def _tree(
    method: _Method, graph: TracedGraph, changes: Changes, state: State, constants: list[str]
) -> Json:
    """What the loader needs to know of a graph: see the head of this module."""
    inputs: list[Json] = []
    leaves: dict[int, int] = {}
    every = [n for n in range(len(graph.walk.leaves)) if n not in graph.fixed]
    for n, leaf, kind, slot in zip(
        every, graph.leaves, graph.jaxpr.in_avals, graph.slots, strict=True
    ):
        if is_given(slot):
            number = type(leaf).__name__ if type(leaf) in (int, float, complex) else None
            leaves[n] = len(leaves)
            inputs.append(
                ["given", slot.label, str(kind.dtype), list(map(str, kind.shape)), number]
            )
        else:
            inputs.append(["state", state.names[graph.locate(slot)]])

    def numbered(tree: Json) -> Json:
        if tree[0] != "leaf":
            return tree
        if tree[1] in graph.fixed:
            value = graph.fixed[tree[1]]
            return ["constant", value if type(value) is int else ["float", float(value).hex()]]
        return ["leaf", leaves[tree[1]]]

    count = len(method.exporter.bound)
    trees = graph.walk.trees[count : count + len(method.args)]
    named = dict(
        zip(
            method.exporter.given_names,
            graph.walk.trees[count + len(method.args) :],
            strict=False,
        )
    )
    every_tree = [changed(tree, numbered) for tree in [*trees, *(named[n] for n in method.kwargs)]]
    for tree in every_tree:
        refuse_unfit(tree)
    return {
        "name": method.name,
        "function": method.exporter.function.__qualname__,
        "doc": method.exporter.function.__doc__,
        "parameters": _parameters(method),
        "constants": constants,
        "inputs": inputs,
        "arguments": [[*slot, tree] for slot, tree in zip(method.slots, every_tree, strict=True)],
        "result": result_tree(graph.build(outcome(graph)), graph, method.name),
        "outputs": [[str(k.dtype), list(map(str, k.shape)), is_weak(k)] for k in graph.types],
        "count": graph.count,
        "code": graph.has_code,
        "numbers": sorted(graph.numbers),
        "quoted": [[n, count] for n, count in graph.quoted.items()],
        "failures": exceptions.saved(graph.failures),
        "writes": [[name, _written(new)] for name, new in changes.state.items()],
        "changes": changes.given,
    }


def _written(new: Any) -> Json:
    if type(new) in (bool, int, float, complex):
        value = np.asarray(jnp.asarray(new))
        return ["number", value.dtype.name, value.tobytes().hex()]
    return ["out", int(new)]


def _parameters(method: _Method) -> Json:
    """The parameters that a call may name, whether they were given, and their defaults."""
    exporter = method.exporter
    parameters = list(inspect.signature(exporter.function).parameters.values())
    found = []
    for parameter in parameters[len(exporter.bound) :]:
        if parameter.name not in exporter.keywords:
            given = any(parameter.name == name for name, _ in method.slots)
            default = _default(parameter) if given else None
            found.append([parameter.name, int(parameter.kind), given, default])
    return found


def _default(parameter: inspect.Parameter) -> Json:
    """The default of a parameter that was given a specification; arrays stay with the function."""
    if parameter.default is parameter.empty:
        return None
    try:
        return ["value", described(parameter.default)]
    except NotDescribed:
        return None
