"""Saved functions again: graphs with their state, callable without the code that made them.

A call of a loaded method goes

    arguments  ->  leaves (arguments.py)  +  state  ->  the graph  ->  outputs
               ->  new state, changed arguments, the exception or the result (outcomes.py)

with what the manifest says of the method. A file may have been altered, so whatever goes wrong by
following it is an error about the file (`_believed`).
"""

from __future__ import annotations

import difflib
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.export
import jax.numpy as jnp

from d2s.backends.lax import private
from d2s.backends.lax.boundary.write_back import outside
from d2s.backends.lax.failures import failing
from d2s.backends.lax.failures.whose import is_tracer_error
from d2s.backends.lax.forms.dtypes import Type, cast, own_text
from d2s.backends.lax.graph import scopes
from d2s.backends.lax.graph.sites import here
from d2s.backends.lax.private import Phrase
from d2s.backends.lax.saving import exceptions, outcomes
from d2s.backends.lax.saving.arguments import Arguments, ExpectedLeaf, spec_of
from d2s.backends.lax.saving.gradients import Differentiable
from d2s.backends.lax.saving.outcomes import Ended
from d2s.errors import Error, hide_own_frames
from d2s.files.trees import Json, made

#: the exceptions that following a description ends with if it does not describe this graph
_BROKEN = (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError)


class Loaded:
    """A function, or an object with methods, out of a file.

    ``state`` has the arrays that it keeps from call to call, by name; they can be replaced.
    """

    def __init__(self, state: dict[str, Any], methods: Methods) -> None:
        self.state = state
        self._methods = methods

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._main(self, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        methods = vars(self).get("_methods")
        if methods is not None and name in methods.by_name:
            return types.MethodType(methods.by_name[name], self)
        raise AttributeError(f"there is no {name!r} in this file")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._methods.by_name]

    @property
    def _main(self) -> Method:
        found: Method | None = self._methods.by_name.get("__call__")
        if found is None:
            names = ", ".join(self._methods.by_name)
            raise Error(
                "the object that was saved is not called itself",
                code="D2S033",
                site=here(),
                fix=f"one of its methods: {names}",
            )
        return found

    def functional(self, state: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The result and the new state, without a change of this object's own state."""
        return self._main.functional(state, *args, **kwargs)

    @property
    def methods(self) -> dict[str, Any]:
        """The functions in the file, by name."""
        return {n: types.MethodType(m, self) for n, m in self._methods.by_name.items()}

    @property
    def manifest(self) -> dict[str, Any]:
        """What the file says of itself."""
        return self._methods.manifest

    @property
    def spec(self) -> dict[str, Any]:
        """What the arguments look like, by name."""
        return self._main.spec

    @property
    def constraints(self) -> tuple[str, ...]:
        """What the named dimensions keep to."""
        return self._main.constraints

    @property
    def source(self) -> str | None:
        """The original source, if it was saved."""
        return self._main.source

    @property
    def code(self) -> str | None:
        """The generated source, if it was saved."""
        return self._main.code

    def hlo(self) -> str:
        """The graph as StableHLO."""
        return self._main.hlo()

    def __repr__(self) -> str:
        return f"<loaded {', '.join(map(repr, self._methods.by_name.values()))}>"


# A loaded function is an object like the user's own, and no part of d2s's machinery: a static
# function that calls it takes its state as an input, and leaves what it changes as an output.
Loaded.__module__ = "d2s"


class Methods:
    """The graphs of a file, which do not change: only the state of a loaded function does."""

    def __init__(self, manifest: dict[str, Any], by_name: dict[str, Method]) -> None:
        self.manifest, self.by_name = manifest, by_name


class Method:
    """One graph of a file, and how to call it."""

    def __init__(
        self,
        tree: Json,
        exported: jax.export.Exported,
        constants: Mapping[str, Any],
        texts: tuple[str | None, str | None],
        known: frozenset[str],
        constraints: tuple[str, ...],
    ) -> None:
        self.constraints = constraints
        self.name: str = str(tree["name"])
        self.__name__ = self.__qualname__ = str(tree["function"])
        self.__doc__ = tree["doc"] if tree["doc"] is None else str(tree["doc"])
        self.source, self.code = texts
        self.exported = exported
        self._constants = [constants[name] for name in tree["constants"]]
        self._reads = [str(entry[1]) for entry in tree["inputs"] if entry[0] == "state"]
        self._arguments = Arguments(tree)
        self._order = self._arguments.order
        offset = len(self._constants)
        kinds = [
            aval
            for aval, label in zip(exported.in_avals[offset:], self._order, strict=False)
            if label is None
        ]
        self._wanted = {
            name: _Held(name, str(kind.dtype), list(map(str, kind.shape)), None)
            for name, kind in zip(self._reads, kinds, strict=True)
        }
        #: the names of everything in the state, also of what only other methods read
        self._known = known
        self._weak = [bool(weak) for _, _, weak in tree["outputs"]]
        if not {*self._reads, *(str(name) for name, _ in tree["writes"])} <= known:
            raise ValueError("a part of the state that is not there")
        self._failures = exceptions.loaded(tree["failures"])
        self._numbers = {int(n) for n in tree["numbers"]}
        if any(not 0 < n <= len(self._failures.all) for n in self._numbers):
            raise ValueError("a failure that is not there")
        self._count, self._has_code = int(tree["count"]), bool(tree["code"])
        self._quoted = [(int(n), int(count)) for n, count in tree["quoted"]]
        total = self._count + self._has_code + sum(count for _, count in self._quoted)
        if total != len(exported.out_avals) or total != len(self._weak):
            raise ValueError("the graph has other results than the manifest says")
        if len(self._order) + len(self._constants) != len(exported.in_avals):
            raise ValueError("the graph has other arguments than the manifest says")
        special = outcomes.leaves(self._count, self._arguments.owners, self._arguments.names)
        self._build = made(tree["result"], special)
        self._shown = outcomes.positions(tree["result"], special)
        self._writes = [
            (str(name), outcomes.new_value(new, special)) for name, new in tree["writes"]
        ]
        self._changes = [outcomes.change_of(change, special) for change in tree["changes"]]
        self._call = Differentiable.of(exported, self.name).call
        self._jitted = jax.jit(self._run)

    def __call__(self, owner: Loaded, *args: Any, **kwargs: Any) -> Any:
        try:
            call = self._ended(owner.state, args, kwargs)
            if self._writes:
                copies = scopes.copies()
                inside = copies is not None and copies.number(owner.state) is not None
                new = {name: value(call) for name, value in self._writes}
                if not inside:
                    new = {name: outside(value, f"`{name}`") for name, value in new.items()}
                owner.state.update(new)
            return self._finish(call)
        except Exception as error:
            hide_own_frames(error)
            raise

    def functional(self, state: Mapping[str, Any], *args: Any, **kwargs: Any) -> Any:
        """The result and the new state."""
        call = self._ended(state, args, kwargs)
        new = {**state, **{name: value(call) for name, value in self._writes}}
        return self._finish(call), new

    def _ended(
        self, state: Mapping[str, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> Ended:
        with self._believed():
            leaves, owners = self._arguments.leaves(args, kwargs)
            sizes = self._arguments.sizes(leaves)
        return Ended(self._outs(state, leaves), owners, sizes)

    @contextmanager
    def _believed(self) -> Iterator[None]:
        """What is done in here follows the description: where it fails, the file is broken."""
        try:
            yield
        except _BROKEN as error:
            if isinstance(error, Error) or is_tracer_error(error):
                raise
            raise self._broken(error) from None

    def _broken(self, error: BaseException) -> Error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        return Error(
            f"{self.name} cannot be run: its file was altered, or is none of d2s's ({first})",
            code="D2S061",
            site=here(),
            fix="a whole file that d2s.save has written",
        )

    def _can_be_read(self) -> bool:
        """Whether the graph itself is whole: MLIR looks at all of it only now."""
        try:
            self.exported.mlir_module()
        except ValueError:
            return False
        return True

    def _outs(self, state: Mapping[str, Any], leaves: list[Any]) -> list[Any]:
        held = self._held(state)
        outs: list[Any]
        try:
            outs = self._jitted(self._constants, held, leaves)
        except NotImplementedError:  # JAX has no rule to map a graph out of a file
            if not private.is_mapped():
                raise
            raise Error(
                f"{self.name} is one graph for arguments of its shapes: jax.vmap cannot change it",
                code="D2S062",
                site=here(),
                fix="jax.lax.map(function, xs), or a function saved with a named dimension",
            ) from None
        except TypeError as error:
            if not Phrase.REVERSE_MODE_ONLY.is_in(error):
                raise
            raise Error(
                f"{self.name} can be differentiated in reverse mode only",
                code="D2S062",
                site=here(),
                fix="jax.grad, jax.vjp, or the static function itself",
            ) from None
        except ValueError as error:
            if Phrase.OTHER_DEVICES.is_in(error):
                raise self._other_devices() from None
            if not self._can_be_read():
                raise self._broken(error) from None
            if not Phrase.OTHER_SHAPES.is_in(error):
                raise
            raise self._refused_shape(error.__cause__ or error) from None
        except (KeyError, jax.errors.JaxRuntimeError) as error:
            if isinstance(error, KeyError) or private.is_refused_by_xla(error):
                raise self._broken(error) from None
            raise
        return outs

    def _held(self, state: Mapping[str, Any]) -> list[Any]:
        """The values of the state that the graph takes, in its order."""
        if len(state) != len(self._known) or not self._wanted.keys() <= state.keys():
            for name in [name for name in state if name not in self._known]:
                close = difflib.get_close_matches(str(name), self._known, n=1)
                raise _wrong_state(f"there is no {name!r} in the state", *close)
            for name in sorted(self._known - {*state}):
                raise _wrong_state(f"the state has no {name!r}", name)
        held = [state[name] for name in self._wanted]
        if all(isinstance(value, jax.Array) for value in held):
            return held
        return [
            wanted.array(value, f"state[{name!r}]")
            for (name, wanted), value in zip(self._wanted.items(), held, strict=True)
        ]

    def _finish(self, call: Ended) -> Any:
        with self._believed():
            for change in self._changes:
                change(call)
        if self._has_code:
            self._check(call.outs)
        with self._believed():
            return self._build(call)

    def _check(self, outs: list[Any]) -> None:
        code, rest = outs[self._count], iter(outs[self._count + 1 :])
        payload = {n: [next(rest) for _ in range(count)] for n, count in self._quoted}
        if isinstance(code, jax.core.Tracer):
            failing.report(code, payload, self._numbers, self._failures)
        elif int(code) != 0:
            with self._believed():
                failure, _ = self._failures.all[int(code) - 1]
                error = failing.made_of(int(code), payload, self._failures)
            failing.raise_at(error, failure.site)

    def _run(self, constants: list[Any], held: list[Any], leaves: list[Any]) -> list[Any]:
        """Run the graph on arrays that fit. JAX calls this once for each type of the arguments."""
        self._refuse_platform()
        arguments, state = iter(leaves), iter(zip(self._reads, held, strict=True))
        inputs: list[Any] = []
        sizes: dict[str, tuple[int, str]] = {}
        count = len(constants)
        for n, label in enumerate(self._order):
            wanted = self.exported.in_avals[count + n]
            if label is None:
                name, value = next(state)
                inputs.append(_fitting(f"state[{name!r}]", value, wanted, sizes))
            else:
                inputs.append(_fitting(label, next(arguments), wanted, sizes))
        try:
            outs: Any = self._call(*constants, *inputs)  # type: ignore[no-untyped-call]
        except ValueError as error:
            raise self._refused_shape(error) from None
        return [
            cast(out, Type(out.shape, out.dtype, True)) if weak else out
            for out, weak in zip(outs, self._weak, strict=True)
        ]

    def _refused_shape(self, error: BaseException) -> Error:
        """The error about arguments whose sizes break the constraints of the file."""
        why = private.broken_constraint(error) or " ".join(str(error).split()).partition(". ")[0]
        known = ", ".join(("sizes from 1 on", *self.constraints))
        return Error(
            f"{self.name} does not take arguments of these shapes ({why})",
            code="D2S032",
            site=here(),
            fix=f"arguments that keep to its constraints: {known}",
        )

    def _other_devices(self) -> Error:
        return Error(
            f"{self.name} was saved for {self.exported.nr_devices} devices",
            code="D2S062",
            site=here(),
            fix="arguments on as many devices, or a function saved for these",
        )

    def _refuse_platform(self) -> None:
        now = jax.export.default_export_platform()
        if now not in self.exported.platforms:
            known = ", ".join(self.exported.platforms)
            raise Error(
                f"{self.name} was saved for {known}; this process runs on {now}",
                code="D2S062",
                site=here(),
                fix=f"d2s.save(..., platforms=({now!r}, ...))",
            )

    @property
    def spec(self) -> dict[str, Any]:
        """What the arguments look like, by name."""
        return self._arguments.spec

    @property
    def results(self) -> list[str]:
        """The types of the arrays in the result."""
        return [self.exported.out_avals[n].str_short() for n in self._shown]

    @property
    def failures(self) -> list[str]:
        """What it may raise, and where in its source."""
        return [
            f"{failure.kind.__name__} ({failure.site.filename}, line {failure.site.line})"
            for failure, _ in self._failures.all
        ]

    def hlo(self) -> str:
        """The graph as StableHLO."""
        return str(self.exported.mlir_module())

    def __repr__(self) -> str:
        known = f", {', '.join(self.constraints)}" if self.constraints else ""
        return f"{self.__qualname__}({', '.join(f'{n}: {s}' for n, s in self.spec.items())}){known}"


class _Held(ExpectedLeaf):
    """An array or a number of the state."""

    fix = "a value of that type and shape"


def _wrong_state(what: str, *names: str) -> Error:
    fix = f"state[{names[0]!r}]" if names else "the entries that it had when it was loaded"
    return Error(what, code="D2S032", site=here(), fix=fix)


def _fitting(label: str, value: Any, wanted: Any, sizes: dict[str, tuple[int, str]]) -> Any:
    """A value as the graph takes it."""
    value = jnp.asarray(value)
    if jnp.issubdtype(wanted.dtype, jax.dtypes.extended):
        if value.dtype == wanted.dtype and value.shape == wanted.shape:
            return value
        expected, got = str(wanted.dtype), str(value.dtype)
    else:
        expected, got = str(spec_of(wanted)), str(spec_of(value))
        if _fits(wanted, value, sizes, label):
            return value
    raise Error(
        f"{label} does not fit: expected {expected}, got {got}",
        code="D2S032",
        site=here(),
        fix="an array of that type and shape, or a function saved for this one",
    )


def _fits(wanted: Any, value: Any, sizes: dict[str, tuple[int, str]], label: str) -> bool:
    if value.dtype != wanted.dtype or len(value.shape) != len(wanted.shape):
        return False
    for size, now in zip(wanted.shape, value.shape, strict=True):
        name = own_text(size)
        if isinstance(size, int):
            if size != now:
                return False
        elif name.isidentifier() and isinstance(now, int):
            known, where = sizes.setdefault(name, (now, label))
            if known != now:
                raise Error(
                    f"{label} does not fit: {name} is {now} there, and {known} in {where}",
                    code="D2S032",
                    site=here(),
                    fix="arrays whose named dimensions agree",
                )
    return True
