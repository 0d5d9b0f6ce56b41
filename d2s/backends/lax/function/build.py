"""Building a graph: the converted function runs once, on copies of what it reaches.

JAX calls `build` with run-time values for the leaves of a call, and what that returns is the graph:

    leaves  ->  copies of the arguments, objects and globals, with the leaves in them   (copies.py)
            ->  the function runs on the copies; what it returns is a value of the graph
            ->  the value, and what became of the copies, taken apart into outputs      (results.py)

For `def f(m, x): m.n = m.n + 1; return m.w * x` the leaves are [m.n, m.w, x]; the function runs on
a copy of `m`; the outputs are [m.w * x, m.n + 1], and each call writes the second one into the `m`
that it was given. Whatever has no copy is compared with a snapshot and must not change.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.boundary.copies import Copies
from d2s.backends.lax.boundary.results import Results, all_leaves, only_leaf
from d2s.backends.lax.boundary.write_back import Build, Write
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.after_failure import keep_transient
from d2s.backends.lax.failures.failing import Failures
from d2s.backends.lax.failures.whose import Escaped, is_raised_by_user, is_tracer_error
from d2s.backends.lax.forms.dtypes import type_of
from d2s.backends.lax.forms.exact import is_opaque
from d2s.backends.lax.forms.trees import Out
from d2s.backends.lax.function.entries import Entry, Result, ResultInfo
from d2s.backends.lax.function.inspection import shown
from d2s.backends.lax.function.running import tracing
from d2s.backends.lax.graph import scopes, sites
from d2s.backends.lax.graph.scopes import Halt, Scope
from d2s.backends.lax.jaxprs.ranges.wraps import Unchecked, require_checks
from d2s.backends.lax.library.dispatching import clean_caches
from d2s.backends.lax.objects.keys import Itself, Node, Static
from d2s.backends.lax.output import printing
from d2s.backends.lax.reach.opaque import refuse_kept
from d2s.backends.lax.regions.trace import Role, trace
from d2s.backends.lax.trace import observers
from d2s.backends.lax.trace.changed import assigned, changed_names, loaded
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import Error, Site, StagingError
from d2s.options import loop_options
from d2s.recursion import deep
from d2s.runtime import record
from d2s.runtime.values import Unbound


def build(entry: Entry, leaves: tuple[Any, ...], ticket: Any, reached: Any) -> Any:
    """Build a graph of an entry: run the converted function once on abstract values."""
    owner = entry.owner
    owners, tracing.owners = tracing.owners, ()
    inputs = shown(leaves)  # once they are written to, nobody may look at them
    scope = Scope(Failures())
    exact = entry.checks_integers or any(_is_python_int(leaf) for leaf in leaves)
    prints = printing.into(ticket, reached, leaves, entry.key)
    aside = scopes.set_aside(exact)
    with (
        deep,
        record.counted(fresh=True),
        _running(owner),
        loop_options.afresh(
            max_iterations=owner.options.max_iterations,
            loops=owner.options.loops,
            checks=owner.options.checks,
        ),
        aside,
        aliases.arguments(),
        scopes.entered(scope),
        prints,
        printing.refused(),
        clean_caches(),
    ):
        try:
            if exact:
                result = _exact(entry, leaves, owners, scope)
            else:
                result = _result(scope, *_call(entry, leaves, owners, scope))
                require_checks()
        except (printing.NeedsTicket, Unchecked):
            tracing.owners = owners  # the call goes on with another graph
            raise
        entry.calls_back |= scope.failures.calls_back
        entry.is_final = not any(map(scope.failures.is_of_the_graph, scope.numbers))
        entry.settle()
        if not record.is_on():
            owner._note(entry, inputs)
        return result


@contextmanager
def _running(owner: Any) -> Iterator[None]:
    """The graph of a function is being built, in which it may call other static functions.

    Whoever looks at this graph does not look at theirs.
    """
    before, tracing.running = tracing.running, {*tracing.running, owner}
    look, tracing.look = tracing.look, None
    try:
        yield
    finally:
        tracing.running, tracing.look = before, look


def _call(
    entry: Entry, leaves: tuple[Any, ...], owners: Any, scope: Scope
) -> tuple[list[Any], Build, list[Write]]:
    """Run the function on copies, and take apart what it returns and what it did to them.

    Gives the outputs of the graph, how each call makes its value from them, and what it writes.
    Afterwards everything outside is as it was before, also where this fails.
    """
    function, name = entry.owner.function, entry.owner._name
    copies = Copies(entry.key, entry.fill(leaves), owners, entry.places, entry.owner._reach)
    copies.function = function
    outside = _snapshot(entry, owners, copies)
    scopes.root().inputs = leaves
    scope.snapshot, scope.observed, scope.is_whole = copies, not copies.is_empty, True
    try:
        value = _value(entry, copies, outside, scope)
        _refuse_changes(outside, copies, name, function)
        observers.refuse_aliases(scopes.root(), name, _definition(function))
        keep_transient(scope, copies.changed())
        results = Results(copies, outside, function)
        build = results.returned(value)
        writes = results.writes(scope)
        results.note_choices(scopes.root().choices)
        if type(value) is tuple and list(map(id, value)) == list(map(id, results.outs)):
            build = all_leaves
        aliases.refuse_held(results.outs)
        aliases.check_views(results.outs)
        aliases.refuse_held(slot.get() for slot in copies.filled_slots())
        parts = {id(v): held for v, held in outside.reached_from()}
        refuse_kept(parts, outside.reached(), functools.partial(loaded, function))
    finally:
        outside.undo()
        outside.forget_objects()
        copies.take_back()
    entry.guard(outside)
    return results.outs, build, writes


def _snapshot(entry: Entry, owners: Any, copies: Copies) -> Snapshot:
    """What stays itself while the graph is built: it is read as it is, and must not change."""
    tokens = [token for token in entry.key if isinstance(token, Static | Itself)]
    pins = entry.owner._reach.pins
    known = [t.value for t in tokens if isinstance(t.value, type | BaseException)]
    # what is known by its identity alone may hold things that change
    known += [t.value for t in tokens if is_opaque(t.value)]
    known += [t.value for t in tokens if type(t) is Itself and id(t.value) in pins]
    # the classes of named tuples, which are no owners
    known += {t.kind for t in entry.key if type(t) is Node and issubclass(t.kind, tuple)}
    return Snapshot(entry.owner.function, *owners, *known, outside=True, apart=copies)


def _value(entry: Entry, copies: Copies, outside: Snapshot, scope: Scope) -> Any:
    """What the function returns on the copies; None where it is certain to fail."""
    function, edge = entry.owner.function, entry.owner._edge
    args, names, values = copies.roots[:3]
    with scopes.with_snapshot(outside), scopes.with_copies(copies):
        try:
            kwargs = dict(zip(names, values, strict=True))
            value = copies.enter(function)(*args, **kwargs)
            if edge is not None:
                value = edge.leave(value)
            if isinstance(value, Unbound) and not value.name:
                value = None  # nothing was returned on any way that did not fail
            scopes.raise_refused()
            return value
        except Halt:
            failing.fail_at_last(scope)
        except Exception as error:
            if isinstance(error, Error) or is_tracer_error(error):
                raise
            if not is_raised_by_user(error):
                raise
            if _is_all_it_does(error, entry, scope, copies):
                _refuse_changes(outside, copies, entry.owner._name, function)
                raise
            failing.fail(scope, error)
    return None


def _is_all_it_does(error: Exception, entry: Entry, scope: Scope, copies: Copies) -> bool:
    """Whether every call would raise this very exception and do nothing else: it needs no graph.

    What was changed or printed before would have to happen on each call, and what an exception
    shows of run-time values is known only then.
    """
    if scope.code is not None or scopes.root().quotes or entry.prints:
        return False
    if failing.shows_containers(error) or failing.hides_tracers(error):
        return False
    return not any(True for _ in copies.changes())


def _exact(entry: Entry, leaves: tuple[Any, ...], owners: Any, scope: Scope) -> Any:
    """The same where integers stand for Python's, whose range is checked: the function is a region.

    The checks of a region need its whole graph, so the function is traced into one first, which is
    then run on the leaves.
    """
    seen: list[tuple[Build, list[Write]]] = []

    def run(*inputs: Any) -> Any:
        inner = scopes.current()
        assert inner is not None, "a region has a scope"
        try:
            outs, build, writes = _call(entry, inputs, owners, inner)
        except Exception as error:
            raise Escaped(error) from error
        seen.append((build, writes))
        return outs

    try:
        kinds = [type_of(leaf) for leaf in leaves]
        region = trace(run, kinds, Snapshot(outside=True), Role(is_root=True))
    except Escaped as escaped:
        raise escaped.error from escaped.error.__cause__
    computed = region.run(*leaves)

    def put(leaf: Any) -> Any:
        return computed[leaf.index] if isinstance(leaf, Out) else leaf

    if region.code is not None:
        payload = {n: [put(v) for v in values] for n, values in region.payload.items()}
        scope.merge(put(region.code), payload, region.numbers)
    return _result(scope, [put(leaf) for leaf in region.value], *seen[-1])


def _result(scope: Scope, outs: list[Any], build: Build, writes: list[Write]) -> Any:
    plain = scope.code is None and not writes and not scope.failures.calls_back
    if plain and build is only_leaf:
        return outs[0]
    if plain and build is all_leaves:
        return tuple(outs)
    return Result(
        outs,
        scope.code,
        scope.payload,
        ResultInfo(build, writes, scope.failures, scope.numbers),
    )


def _is_python_int(leaf: Any) -> bool:
    kind = type_of(leaf)
    return kind.weak and bool(jnp.issubdtype(kind.dtype, jnp.integer))


def _definition(function: types.FunctionType) -> Site:
    code = function.__code__
    return Site(code.co_filename, code.co_firstlineno, function.__qualname__)


def _refuse_changes(
    outside: Snapshot, copies: Copies, name: str, function: types.FunctionType
) -> None:
    """What has no copy must not change: a compiled call would not do it again."""
    changed, before = next(outside.changed(), (None, None))
    label = None if changed is None else outside.label(changed)
    stray = copies.stray()
    names = [stray] if changed is None else changed_names(changed, before)
    if copies.take_back() and label is None:
        label = "an object that it reaches in more than one way"
    if label is None and stray is not None:
        label = f"the global name `{stray}`"
    if label is not None:
        outside.undo()
        site = scopes.method_change_of(changed) or assigned(function, *names)
        target = sites.target(site)
        label = f"{label}, {target}" if target and target not in label else label
        raise StagingError(
            f"{name} changes {label}; a compiled call would not repeat that",
            code="D2S071" if isinstance(changed, np.ndarray) else "D2S080",
            site=site or _definition(function),
            fix="return the new value and store it outside",
        )
