"""What a call hands out: its value, and what it leaves changed in the objects it was given.

Both are made from the outputs of the graph on every call. An object that was there before is that
very object again; one that the function made is made anew each time. For

    def f(m, x):
        m.n = m.n + 1
        return {"y": m.w * x, "m": m}

the outputs are [m.w * x, m.n + 1]; the value is built by

    lambda call: {"y": call.outs[0], "m": call.owners[0]}

and the one `Write` stores `call.outs[1]` in the attribute `n` of `call.owners[0]`.
"""

from __future__ import annotations

import functools
import types
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from d2s.backends.lax.boundary import chosen
from d2s.backends.lax.boundary.copies import Change, Copies
from d2s.backends.lax.boundary.write_back import Build, Call, Write, outside
from d2s.backends.lax.failures.after_failure import at_failure
from d2s.backends.lax.failures.texts import Text
from d2s.backends.lax.forms.dtypes import NUMBERS, is_dynamic, is_symbolic
from d2s.backends.lax.forms.exact import VALUES
from d2s.backends.lax.forms.kinds.attributes import attribute_names, getattr_raw, own_dict, set_raw
from d2s.backends.lax.forms.kinds.form import EMPTY
from d2s.backends.lax.forms.kinds.table import known_form
from d2s.backends.lax.forms.origins import ARRAY, kind_of, left
from d2s.backends.lax.forms.parts import (
    container_form,
    is_copied,
    is_sequence,
    is_users_class,
    new_object,
)
from d2s.backends.lax.forms.registered import STRUCTURES
from d2s.backends.lax.forms.trees import children, leaves
from d2s.backends.lax.forms.widths import narrowed
from d2s.backends.lax.graph import sites
from d2s.backends.lax.graph.scopes import Scope, method_change_of
from d2s.backends.lax.objects.contents import slot_of
from d2s.backends.lax.objects.nnx import is_constant, is_mark
from d2s.backends.lax.objects.refs import RefCopy
from d2s.backends.lax.objects.slots import OuterSlot, Slot
from d2s.backends.lax.trace.blame import made_or_returned
from d2s.backends.lax.trace.changed import assigned
from d2s.backends.lax.trace.snapshot import Snapshot
from d2s.errors import StagingError
from d2s.static import method

#: codes of the errors about two values that no graph can choose between
_DIFFERENT = ("D2S010", "D2S012", "D2S013")


def only_leaf(call: Call) -> Any:
    return call.outs[0]


def all_leaves(call: Call) -> Any:
    return tuple(call.outs)


class Results:
    """Collects the outputs of a graph, and how to make Python values from them."""

    def __init__(self, copies: Copies, outside: Snapshot, function: types.FunctionType) -> None:
        self.outs: list[Any] = []
        self._function = function
        self._copies, self._outside = copies, outside
        self._known: dict[int, tuple[Any, Build]] = {}
        #: the objects that one made in the graph may stand for, by its identity: see `chosen`
        self._choices: dict[int, list[Build]] = {}

    def note_choices(self, choices: list[tuple[list[Any], list[Any]]]) -> None:
        """Let calls tell `chosen` of the objects that they make in the place of others."""
        sources: dict[int, list[Any]] = {}
        for made, replaced in choices:
            # what was made of others stands for those that they stand for
            every = [*replaced, *(one for old in replaced for one in sources.get(id(old), ()))]
            for one in made:
                sources.setdefault(id(one), []).extend(every)
        for identity, others in sources.items():
            if identity in self._known:
                builds = {id(one): self._leaves_too(one) for one in others}
                self._choices[identity] = [build for build in builds.values() if build is not None]

    def _leaves_too(self, value: Any) -> Build | None:
        """How to find an object that a call was given or has made; None if nobody gets it."""
        number = self._copies.number(value)
        if number is not None:
            return lambda call: call.owners[number]
        known = self._known.get(id(value))
        return None if known is None else known[1]

    def returned(self, value: Any) -> Build:
        """How to make what the function returns: a number by itself comes back as an array."""
        if isinstance(value, jax.core.Tracer) and self._copies.number(value) is None:
            self.outs.append(value)
            return only_leaf
        return self.of(value)

    def of(self, value: Any) -> Build:
        """How to make a value."""
        number = self._copies.number(value)
        if number is not None:
            return lambda call: call.owners[number]
        if isinstance(value, np.ndarray | np.generic) and is_dynamic(value):
            if narrowed(value) is None:  # it is known, and no output of a graph could hold it
                return lambda call: value.copy()
            return self._out(value)
        if isinstance(value, jax.Array):
            return self._out(value)
        if value is None or type(value) in NUMBERS or type(value) is str or is_symbolic(value):
            return lambda call: value
        if self._outside.knows(value):
            return lambda call: value
        if isinstance(value, Text):
            str(value)  # says that it is not known
        known = self._known.get(id(value))
        return known[1] if known is not None else self._fresh(value)

    def _out(self, value: Any) -> Build:
        position, kind = len(self.outs), kind_of(value)
        self.outs.append(value)
        if kind in NUMBERS:
            return lambda call: left(call.outs[position], kind)
        return (lambda call: call.outs[position]) if position else only_leaf

    def _fresh(self, value: Any) -> Build:
        """How to make an object again that the function has made."""
        kind: Any = type(value)
        if is_mark(kind):
            return lambda call: kind()
        if kind is tuple or (isinstance(value, tuple) and _is_record(value)):
            parts = [self.of(part) for part in value]
            make: Any = tuple if kind is tuple else (lambda items: kind(*items))
            return lambda call: make([part(call) for part in parts])
        if isinstance(value, tuple) and is_users_class(kind):
            return self._own_tuple(value)
        if kind is slice:
            # Python takes nothing but numbers for the bounds, so the caller gets those
            bounds = [_number(self.of(part)) for part in (value.start, value.stop, value.step)]
            return lambda call: slice(*(bound(call) for bound in bounds))
        if isinstance(value, types.MethodType):
            owner, function = self.of(value.__self__), value.__func__
            return lambda call: method(function, owner(call))
        if kind is RefCopy:
            return self._reference(value)
        filler = self._filler(value)
        if filler is None:
            return self._other(value)
        # first the object, then what is in it: it may contain itself
        number, identity, choices = len(self._known), id(value), self._choices

        def build(call: Call) -> Any:
            if number not in call.made:
                call.made[number] = made = empty()
                fill(call, made)
                if identity in choices:
                    chosen.note(made, [other(call) for other in choices[identity]])
            return call.made[number]

        self._known[id(value)] = value, build
        empty, fill = filler(value)
        return build

    def _own_tuple(self, value: Any) -> Build:
        """A tuple of a class of the user's: its items, then its attributes, which may be itself."""
        kind, number = type(value), len(self._known)

        def build(call: Call) -> Any:
            if number not in call.made:
                made = call.made[number] = tuple.__new__(kind, [item(call) for item in items])
                for name, part in attributes:
                    set_raw(made, name, part(call))
            return call.made[number]

        self._known[id(value)] = value, build
        items = [self.of(item) for item in tuple.__iter__(value)]
        names = attribute_names(value)
        attributes = [(name, self.of(getattr_raw(value, name))) for name in names]
        return build

    def _reference(self, value: RefCopy) -> Build:
        number, held = len(self._known), self.of(value.value)

        def build(call: Call) -> Any:
            if number not in call.made:
                call.made[number] = jax.new_ref(held(call))
            return call.made[number]

        self._known[id(value)] = value, build
        return build

    def _filler(self, value: Any) -> Any:
        """Gives, for a mutable object, how to make it empty and how to fill it."""
        kind: Any = type(value)
        if container_form(kind) is not None:
            return self._container
        return self._attributes if is_copied(kind) else None

    def _container(self, value: Any) -> Any:
        kind: Any = type(value)
        form = known_form(kind)
        held = form.held(value)
        keys = [self.of(key) for key in held] if form.is_by_key else None
        parts = [self.of(part) for part in form.reached(held)]
        own = own_dict(value) if kind is not form.base else None
        attributes = self.of(own) if own else None

        def fill(call: Call, made: Any) -> None:
            now: Any = [part(call) for part in parts]
            if keys is not None:
                now = zip([key(call) for key in keys], now, strict=True)
            form.restore(made, now)
            if attributes is not None:
                object.__setattr__(made, "__dict__", attributes(call))

        if not form.has_slots and not parts:  # nothing in it has to be made for each call
            return functools.partial(form.bare, kind, form.extra(value)), lambda call, made: None
        extra = form.extra(value) if form.has_slots else None
        return functools.partial(form.bare, kind, extra), fill

    def _attributes(self, value: Any) -> Any:
        kind = type(value)
        names = attribute_names(value)
        parts = [(n, self._fit(value, n, self.of(getattr_raw(value, n)))) for n in names]

        def fill(call: Call, made: Any) -> None:
            for name, part in parts:
                set_raw(made, name, part(call))

        return functools.partial(new_object, kind), fill

    def _other(self, value: Any) -> Build:
        parts = children(value)
        if parts is not None:
            builds, make = [self.of(part) for _, part in parts[0]], parts[1]
            return lambda call: make([build(call) for build in builds])
        if not _is_same_on_every_call(value):
            raise StagingError(
                f"a {type(value).__name__} made inside a static function cannot leave it",
                code="D2S031",
                site=made_or_returned(value, self._function),
                fix="arrays, numbers, texts, or lists, dicts and objects of those",
            )
        return lambda call: value

    # -- changes ----------------------------------------------------------------------------------

    def writes(self, scope: Scope) -> list[Write]:
        """What every call does to the objects and names that the function has changed."""
        found = [self._write(change, scope) for change in self._copies.changes()]
        for write in found:
            write.function = self._function
        return found

    def _write(self, change: Change, scope: Scope) -> Write:
        if isinstance(change.target, OuterSlot):
            place = change.target
            slot = self._copies.slot(place)
            entry = self._entry(slot, change.before is not EMPTY, change.after, scope)
            return Write(place, [(None, *entry)], [], None)
        copy = self._copies.made[change.target]
        before, after = change.before, change.after
        if isinstance(after, list):
            if len(before) != len(after):
                self._refuse_half_done(copy, scope)
                return self._resized(change, copy, scope)
            before, after = dict(enumerate(before)), dict(enumerate(after))
        if isinstance(after, set):
            self._refuse_half_done(copy, scope)
            return Write(change.target, [], [], [(self.of(item), _nothing) for item in after])
        if not isinstance(after, dict):
            self._refuse_half_done(copy, scope)
            return Write(change.target, [], [], after)
        if isinstance(copy, dict) and any(self._copies.number(key) is not None for key in after):
            self._refuse_half_done(copy, scope)
            return Write(
                change.target, [], [], [(self.of(k), self.of(v)) for k, v in after.items()]
            )
        kept = [key for key in before if key in after]
        gone = [key for key in before if key not in after]
        new = [key for key in after if key not in before]
        if list(after) != kept + new:
            gone, new = list(before), list(after)  # in another order: all of it again
        if gone:
            self._refuse_half_done(copy, scope)
        changed = [key for key in after if key in new or after[key] is not before.get(key, EMPTY)]
        entries = [
            (key, *self._entry(slot_of(copy, key), key in before, after[key], scope))
            for key in changed
        ]
        entries = [(key, self._fit(copy, key, build), flag) for key, build, flag in entries]
        return Write(change.target, entries, gone, None)

    def _fit(self, copy: Any, name: Any, build: Build) -> Build:
        """How to make what an attribute holds; one that is a constant to Flax gets no array."""
        if not is_constant(copy, name):
            return build
        now = getattr_raw(copy, name)
        traced = [leaf for leaf in leaves(now) if isinstance(leaf, jax.core.Tracer)]
        if any(kind_of(leaf) is ARRAY for leaf in traced):
            site = assigned(self._function, name)
            raise StagingError(
                f"an array is stored in {sites.target(site) or f'`{name}`'} of a "
                f"{type(copy).__name__}, where Flax wants a constant",
                code="D2S080",
                site=site or made_or_returned(now, self._function),
                fix=f"nnx.data(...) around the value that `{name}` gets first, or an nnx.Variable",
            )
        return _number(build) if traced and now is traced[0] else build

    def _resized(self, change: Change, copy: Any, scope: Scope) -> Write:
        """A list of another length: the items before the first that differs stay."""
        pairs = zip(change.before, change.after, strict=False)
        kept = next((n for n, (a, b) in enumerate(pairs) if a is not b), None)
        if kept is None:
            kept = min(len(change.before), len(change.after))
        if scope.at_failures:
            # Where the call has failed, an item may differ that is the same again at its end.
            slots = [slot_of(copy, n) for n in range(len(change.after))]
            pairs = zip(slots, change.after, strict=True)
            return Write(change.target, [], [], (0, [self._at_the_end(*p, scope) for p in pairs]))
        parts = [self.of(part) for part in change.after[kept:]]
        return Write(change.target, [], [], (kept, parts))

    def _entry(self, slot: Slot, was_there: bool, now: Any, scope: Scope) -> tuple[Build, Any]:
        """How to make what a slot holds when the call has ended, also where that has failed.

        And, if the slot may be empty then, the output that says whether it holds something.
        """
        if not scope.at_failures:
            return self.of(now) if now is not EMPTY else _nothing, None
        there: Any = now is not EMPTY
        for code, values in reversed(scope.at_failures):
            there_then = slot.identity in values
            if there_then is not there or not isinstance(there, bool):
                there = jnp.where(code != 0, there_then, there)
        flag = None if isinstance(there, bool) else self._out(there)
        return self._at_the_end(slot, now, scope) if now is not EMPTY else _nothing, flag

    def _at_the_end(self, slot: Slot, now: Any, scope: Scope) -> Build:
        """What a slot holds when the call has ended, which depends on where it has failed.

        The graph chooses between the values; where it cannot, the call does it on the host.
        """
        try:
            return self.of(at_failure(scope, slot, now))
        except StagingError as error:
            if error.code not in _DIFFERENT:
                raise
        ways = [
            (self._out(code != 0), self.of(values[slot.identity][1]))
            for code, values in scope.at_failures
            if slot.identity in values
        ]
        otherwise = self.of(now)

        def build(call: Call) -> Any:
            return next((then for failed, then in ways if bool(failed(call))), otherwise)(call)

        return build

    def _refuse_half_done(self, copy: Any, scope: Scope) -> None:
        """What has another shape after a failure than after a success cannot be written back."""
        for _, values in scope.at_failures:
            then = {key for owner, key in values if owner in (id(copy), id(_own(copy)))}
            now = set(range(len(copy))) if is_sequence(type(copy)) else None
            if now is None or then != now:
                site, kind = method_change_of(copy), type(copy).__name__
                name = sites.target(site)
                raise StagingError(
                    f"{f'the {kind} {name}' if name else f'a {kind}'} gets another size before or "
                    "after something that may fail at run time; how much of that happened cannot "
                    "be told",
                    code="D2S075",
                    site=site or made_or_returned(None, self._function),
                    fix="the checks first, then the change, in two static functions; or checks "
                    "of your own outside",
                )


def _is_record(value: Any) -> bool:
    """Whether a tuple is a named one, and nothing besides."""
    return hasattr(type(value), "_fields") and not own_dict(value)


def _number(build: Build) -> Build:
    """Makes a Python number where there would be an array without dimensions."""

    def made(call: Call) -> Any:
        value = outside(build(call))
        return value.item() if isinstance(value, jax.Array) and not value.shape else value

    return made


def _nothing(call: Call) -> Any:
    return EMPTY


def _own(value: Any) -> Any:
    return own_dict(value)


def _is_same_on_every_call(value: Any) -> bool:
    """Whether a value can be made once, while the graph is built, and returned by every call."""
    if isinstance(value, types.FunctionType):
        captured = [cell.cell_contents for cell in value.__closure__ or ()]
        return all(isinstance(held, types.ModuleType) for held in captured)
    plain = (*VALUES, *STRUCTURES, type, types.ModuleType)
    builtin = isinstance(value, types.BuiltinFunctionType) and value.__self__ is None
    return value is None or type(value) in NUMBERS or isinstance(value, plain) or builtin
