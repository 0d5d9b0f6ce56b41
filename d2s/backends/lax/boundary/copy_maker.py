"""Copies made from a key: the walk of `objects/flatten.py` backwards, with other leaves.

A key is a flat tuple of tokens, in the order in which the walk met the values. Each token says of
one value what it was, and how many tokens after it are about its parts:

    key    = (tuple of 2, Layer with `w` and `n`, array, the number 3, array, ...)
    leaves = [t1, t2]
    makes    (<copy of the Layer: w = t1, n = 3>, t2), ...

The copies of mutable objects are numbered in the order of the walk, which is that of their owners
in a call. An object that the walk met again is one token with that number.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import jax
import numpy as np

from d2s.backends.lax.arrays import aliases
from d2s.backends.lax.forms import origins
from d2s.backends.lax.forms.dtypes import NUMBERS
from d2s.backends.lax.forms.exact import Contents
from d2s.backends.lax.forms.kinds.attributes import set_raw
from d2s.backends.lax.forms.kinds.buffers import copy_of_array
from d2s.backends.lax.forms.kinds.form import Form
from d2s.backends.lax.forms.parts import container_form, new_object
from d2s.backends.lax.forms.registered import Layout
from d2s.backends.lax.graph import sites
from d2s.backends.lax.objects.keys import Again, ChangingNumber, Itself, Node, Pairs, Static
from d2s.backends.lax.objects.nnx import is_mark
from d2s.errors import StagingError
from d2s.static import METHODS, StaticFunction, method


class CopyMaker:
    """Makes everything that a key describes, with the given leaves in the place of its arrays."""

    def __init__(self, key: tuple[Any, ...], leaves: tuple[Any, ...]) -> None:
        #: the copies of mutable objects, by their numbers
        self.made: list[Any] = []
        #: the arguments, the names and the values of keywords, then the value of each outer slot
        self.roots: list[Any] = []
        self._leaves = iter(leaves)
        # numbers that change from call to call are the last leaves
        changing = sum(type(token) is ChangingNumber for token in key)
        self._changing = iter(leaves[len(leaves) - changing :])
        self._tokens: Iterator[Any] = iter(key)
        for token in self._tokens:
            self.roots.append(self._make(token))

    def _make(self, token: Any) -> Any:
        kind = type(token)
        if kind is type:
            leaf = origins.made(next(self._leaves), token if token in NUMBERS else origins.ARRAY)
            if token is not origins.ARRAY:
                aliases.plain_argument(token)
            if token is np.ndarray:
                self.made.append(aliases.argument(leaf))
            return leaf
        if kind is ChangingNumber:
            return origins.made(next(self._changing), token.exact)
        if kind is Again:
            return self._made(token.exact)
        if kind is Contents:
            self.made.append(copy_of_array(token.value))
            return self.made[-1]
        if isinstance(token, Static | Itself):
            return token.value
        if isinstance(token, Node):
            return self._make_node(token)
        # the metaclass of arrays is not `type`
        return next(self._leaves)

    def _made(self, number: int) -> Any:
        """The copy of this number; what is made of its parts is not there before them."""
        copy = self.made[number]
        if copy is None:
            raise StagingError(
                "a tuple, a frozen set or a pytree contains itself",
                code="D2S079",
                site=sites.where(),
                fix="an object that is not part of itself",
            )
        return copy

    def _parts(self, count: int) -> list[Any]:
        return [self._make(next(self._tokens)) for _ in range(count)]

    def _keep(self, copy: Any) -> int:
        """Give a copy its number."""
        self.made.append(copy)
        return len(self.made) - 1

    def _make_node(self, node: Node) -> Any:
        """A value with parts: those that cannot change are made of them and have no number."""
        kind, names = node.kind, node.names
        if kind is tuple:
            return tuple(self._parts(names))
        if kind in METHODS:
            return method(names, self._parts(1)[0])
        if kind is slice:
            return slice(*self._parts(3))
        if kind is types.MappingProxyType:
            number = self._keep(None)
            self.made[number] = types.MappingProxyType(self._parts(1)[0])
            return self.made[number]
        if kind is functools.partial:
            function, args, keywords = self._parts(3)
            made: Any = functools.partial(function)
            made.__setstate__((function, args, keywords, None))  # with this very dict
            return made
        if is_mark(kind):
            return kind()
        if isinstance(names, StaticFunction):
            self._parts(len(names.bound))
            return names
        if issubclass(kind, tuple) and isinstance(names, int):
            return kind(*self._parts(names))
        if issubclass(kind, tuple | frozenset):
            return self._make_fixed(kind, names)
        if isinstance(names, jax.tree_util.PyTreeDef | Layout):
            number = self._keep(None)
            parts = self._parts(names.num_leaves)
            is_users = isinstance(names, Layout)
            made = names.made(parts) if is_users else jax.tree_util.tree_unflatten(names, parts)
            self.made[number] = made
            return made
        copy = self._make_mutable(kind, names)
        if node.has_attributes:
            object.__setattr__(copy, "__dict__", self._parts(1)[0])
        return copy

    def _make_mutable(self, kind: Any, names: Any) -> Any:
        """A container or an object: first itself, then its parts, since it may contain itself."""
        form = container_form(kind)
        if form is None:
            copy = self.made[self._keep(new_object(kind))]
            for name, part in zip(names, self._parts(len(names)), strict=True):
                set_raw(copy, name, part)
            return copy
        number = self._keep(None)
        extra = self._parts(1)[0] if form.extra_name is not None else None
        copy = self.made[number] = form.bare(kind, extra)
        form.restore(copy, self._held(form, names))
        return copy

    def _held(self, form: Form, names: Any) -> Any:
        """What a container holds, as its form takes it."""
        if isinstance(names, Pairs):
            parts = self._parts(names * 2 if form.is_by_key else names)
            return zip(parts[::2], parts[1::2], strict=True) if form.is_by_key else parts
        if form.is_by_key:
            return [(name, self._parts(1)[0]) for name in names]
        return self._parts(names) if form.has_slots else names

    def _make_fixed(self, kind: Any, names: Any) -> Any:
        """A tuple of the user's or a frozen set: the parts first, it is made of them."""
        number = self._keep(None)
        if kind is frozenset:
            self.made[number] = frozenset(self._parts(names))
            return self.made[number]
        count, attributes = names
        items = self._parts(count)
        copy = self.made[number] = tuple.__new__(kind, items)
        for name, part in zip(attributes, self._parts(len(attributes)), strict=True):
            set_raw(copy, name, part)
        return copy
